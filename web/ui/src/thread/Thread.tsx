// The conversation: turns from old to new. A new question goes to the top of the
// view and its answer grows below it, in room that is kept for it. A reader who
// scrolled away is left alone.
import { Suspense, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { busy, type Conversation, type Turn } from "../log/conversation";
import { useLine, useLog, type Log } from "../log/store";
import { later } from "../lib/later";
import { Boundary } from "../ui/Boundary";
import { Button } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { go } from "../lib/router";
import { NoteContext, StaleContext, WholeContext } from "./context";
import { notesOf, type Note } from "./notes";
import { TurnView } from "./TurnView";
import { usePending } from "./ask";

const FootnotePopover = later(() => import("../panes/footnote/FootnotePopover"));

export function Thread({ log }: { log: Log }) {
  const turns = useLog(log, (c) => c.turns);
  const results = useLog(log, (c) => c.results);
  const pending = usePending(log);
  const [note, setNote] = useState<{ note: Note; anchor: HTMLElement } | null>(null);
  const open = useCallback((n: Note, anchor: HTMLElement) => setNote({ note: n, anchor }), []);
  const openAt = useCallback((t: Turn, index: number, anchor: HTMLElement) => {
    const n = t.answer && notesOf(t.answer)[index];
    if (n) setNote({ note: n, anchor });
  }, []);
  const stale = useLog(log, staleResults);
  const wholeOf = useCallback(
    (id: string) => {
      const r = log.conversation().results[id];
      return r && { rows: r.row_count, show: () => go({ conversation: log.id, result: id, view: "table" }) };
    },
    [log],
  );
  const shown = useMemo(() => (pending ? [...turns, pending] : turns), [turns, pending]);
  const { scroller, content, away, toEnd } = useScroll(log, shown.at(-1)?.seq);
  return (
    <NoteContext value={open}>
      <StaleContext value={stale}>
        <div ref={scroller} className="scroll min-h-0 flex-1" tabIndex={-1}>
          <div
            ref={content}
            role="log"
            aria-live="off"
            aria-label="Conversation"
            className="mx-auto w-full max-w-thread px-5"
          >
            <WholeContext value={wholeOf}>
              {shown.map((t, i) => (
                <div
                  key={t.seq}
                  data-last={i === shown.length - 1 || undefined}
                  className={i === shown.length - 1 ? "last-turn pb-6" : "pb-2"}
                >
                  <TurnView turn={t} log={log} last={i === shown.length - 1} onNote={openAt} />
                </div>
              ))}
            </WholeContext>
            <Loading log={log} empty={shown.length === 0} />
          </div>
        </div>
        <div className="relative mx-auto w-full max-w-thread px-5">
          {away && (
            <Button
              icon="down"
              onClick={toEnd}
              className="absolute -top-12 left-1/2 -translate-x-1/2 rounded-full! bg-raised shadow-raised max-sm:right-3 max-sm:left-auto max-sm:translate-x-0 print:hidden"
            >
              <span className="max-sm:sr-only">Jump to latest</span>
            </Button>
          )}
          <LineState log={log} />
        </div>
        <Announcer turns={turns} />
        {note && (
          <Boundary instead={null} of={note}>
            <Suspense fallback={null}>
              <FootnotePopover
                note={note.note}
                anchor={note.anchor}
                conversation={log.id}
                result={note.note.cite?.result ? results[note.note.cite.result] : undefined}
                onClose={() => setNote(null)}
              />
            </Suspense>
          </Boundary>
        )}
      </StaleContext>
    </NoteContext>
  );
}

function staleResults(c: Conversation): string {
  let out = "";
  for (const r of Object.values(c.results)) if (r.replacedBy) out += `${r.id},`;
  return out;
}

interface Place {
  id: string;
  turn: string; // seq of the turn at the top of the view
  below: number; // how far its beginning is below the top
  newest?: number;
}

const placeKey = "footnote-place";

/** Where a reader of this conversation was when the page was left, once. */
function placeOf(id: string): Place | undefined {
  try {
    const p = JSON.parse(sessionStorage.getItem(placeKey) ?? "null") as Place | null;
    if (p?.id !== id) return undefined;
    sessionStorage.removeItem(placeKey);
    return p;
  } catch {
    return undefined;
  }
}

/** Keeps the place for the page that is loaded next in this tab. */
function keepPlace(id: string, el: HTMLElement, newest: number | undefined): void {
  const top = el.getBoundingClientRect().top;
  const turn = [...el.querySelectorAll<HTMLElement>("[data-turn]")].find((t) => t.getBoundingClientRect().bottom > top);
  if (!turn) return;
  const p: Place = { id, turn: turn.dataset.turn!, below: turn.getBoundingClientRect().top - top, newest };
  try {
    sessionStorage.setItem(placeKey, JSON.stringify(p));
  } catch {
    // The page then opens at the newest question.
  }
}

const near = 48;
const far = 128; // less below the view is no reason for a button over the text

/** Scrolling. A new question goes to the top and stays there while its answer grows
 *  below. Only who goes to the end by hand follows it, until they go elsewhere. */
function useScroll(log: Log, newest: number | undefined) {
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const following = useRef(false);
  const [away, setAway] = useState(false);
  // After a reload the reader finds the place again, until they move or ask.
  const place = useRef<Place>(undefined);
  useLayoutEffect(() => {
    place.current = placeOf(log.id);
  }, [log]);
  const toPlace = useCallback((): boolean => {
    const el = scroller.current!;
    const p = place.current;
    const turn = p && content.current!.querySelector(`[data-turn="${p.turn}"]`);
    if (!p || !turn) return false;
    el.scrollTop += turn.getBoundingClientRect().top - el.getBoundingClientRect().top - p.below;
    return true;
  }, []);
  useEffect(() => {
    const el = scroller.current!;
    const leave = () => keepPlace(log.id, el, newest);
    const moved = () => (place.current = undefined);
    const moves = ["wheel", "touchmove", "pointerdown", "keydown"] as const;
    addEventListener("pagehide", leave);
    for (const m of moves) addEventListener(m, moved, { passive: true });
    return () => {
      removeEventListener("pagehide", leave);
      for (const m of moves) removeEventListener(m, moved);
    };
  }, [log, newest]);

  // The newest turn has at least the height of the view.
  useLayoutEffect(() => {
    const el = scroller.current!;
    const fit = () => el.style.setProperty("--view", `${el.clientHeight}px`);
    fit();
    const seen = new ResizeObserver(fit);
    seen.observe(el);
    return () => seen.disconnect();
  }, []);

  useEffect(() => {
    const el = scroller.current!;
    const left = () => el.scrollHeight - el.scrollTop - el.clientHeight;
    const show = () => setAway(left() > far);
    // A turn that fits is at its end wherever it stands: that is no wish to follow.
    const fits = () => (content.current!.querySelector("[data-last]")?.clientHeight ?? 0) <= el.clientHeight;
    const scrolled = () => {
      following.current = left() < near / 2 && !fits();
      show();
    };
    const grown = new ResizeObserver(() => {
      if (following.current) el.scrollTop = el.scrollHeight;
      else toPlace();
      show();
    });
    el.addEventListener("scroll", scrolled, { passive: true });
    grown.observe(content.current!);
    return () => {
      el.removeEventListener("scroll", scrolled);
      grown.disconnect();
    };
  }, [log, toPlace]);

  useLayoutEffect(() => {
    const el = scroller.current!;
    const turn = content.current!.querySelector(`[data-turn="${newest}"]`);
    if (!turn) return;
    following.current = false;
    if (place.current && (newest ?? 0) > (place.current.newest ?? 0)) place.current = undefined;
    if (!toPlace()) el.scrollTop += turn.getBoundingClientRect().top - el.getBoundingClientRect().top;
  }, [newest, log, toPlace]);

  const toEnd = useCallback(() => {
    const el = scroller.current!;
    following.current = true;
    el.scrollTop = el.scrollHeight; // at once: the end would run away from a slow way there
  }, []);
  return { scroller, content, away, toEnd };
}

function Loading({ log, empty }: { log: Log; empty: boolean }) {
  const line = useLine(log);
  if (!empty || line.state === "refused") return null;
  return (
    <div className="space-y-4 pt-10" aria-hidden="true">
      <div className="ml-auto h-10 w-2/5 rounded-lg bg-hover" />
      <div className="h-4 w-1/4 rounded-sm bg-hover" />
      <div className="h-4 w-4/5 rounded-sm bg-hover" />
    </div>
  );
}

/** Says when the line is lost, and that nothing else is. */
function LineState({ log }: { log: Log }) {
  const line = useLine(log);
  const running = useLog(log, (c) => c.turns.length > 0 && busy(c));
  if (line.state === "waiting") {
    return (
      <div role="status" className="mb-2 flex items-center gap-2 rounded-md bg-warn-soft px-3 py-1.5 text-sm text-warn">
        <Icon name="spinner" small className="turning" />
        <span className="min-w-0 flex-1">
          {line.why} {running ? "Connecting again; the answer goes on meanwhile." : "Connecting again."}
        </span>
        <button type="button" onClick={log.retry} className="rounded-sm font-medium underline underline-offset-2">
          Now
        </button>
      </div>
    );
  }
  if (line.state === "refused") {
    return (
      <div role="alert" className="mb-2 flex items-center gap-2 rounded-md bg-bad-soft px-3 py-2 text-sm text-bad">
        <Icon name="alert" small />
        <span className="min-w-0 flex-1">
          {line.status === 404 ? "There is no such conversation. It may have been deleted." : line.why}
        </span>
        <button
          type="button"
          onClick={line.status === 404 ? () => go({}) : log.retry}
          className="rounded-sm font-medium underline underline-offset-2"
        >
          {line.status === 404 ? "New question" : "Try again"}
        </button>
      </div>
    );
  }
  return null;
}

/** Tells a screen reader where things stand: once per state, never per word. */
function Announcer({ turns }: { turns: readonly Turn[] }) {
  const last = turns.at(-1);
  let words = "";
  if (last?.state === "running" || last?.state === "idle") words = "Answering.";
  else if (last?.state === "parked") words = "The answer waits for you.";
  else if (last?.answer) words = `Answer: ${last.answer.text.replace(/[*_`|#]/g, "").split("\n", 1)[0]}`;
  else if (last?.failure) words = last.failure.message;
  return (
    <div role="status" aria-live="polite" className="sr-only">
      {words}
    </div>
  );
}
