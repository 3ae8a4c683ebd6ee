// The turns of a conversation, oldest first. A new question scrolls to the top of the view, and its answer grows in the
// space reserved below. If the reader scrolls, the view stays where they put it.
import { Suspense, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { busy, type Conversation, type Turn } from "../log/conversation";
import { useConnection, useLog, type Log } from "../log/store";
import { lazyComponent } from "../lib/lazy";
import { Boundary } from "../ui/Boundary";
import { Button } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { go } from "../lib/router";
import { LogContext, NoteContext, StaleContext, FullResultContext } from "./context";
import { notesOf, type Note } from "./notes";
import { TurnView } from "./TurnView";
import { usePending } from "./ask";

const FootnotePopover = lazyComponent(() => import("../panes/footnote/FootnotePopover"));

/** The thread. It shows a skeleton while it loads, once its place is known. */
export function Thread({ log, skeleton = true }: { log: Log; skeleton?: boolean }) {
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
  const fullResultOf = useCallback(
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
            <LogContext value={log}>
              <FullResultContext value={fullResultOf}>
                {shown.map((t, i) => (
                  <div
                    key={t.seq}
                    data-last={i === shown.length - 1 || undefined}
                    className={i === shown.length - 1 ? "last-turn pb-6" : "pb-2"}
                  >
                    <TurnView turn={t} log={log} last={i === shown.length - 1} onNote={openAt} />
                  </div>
                ))}
              </FullResultContext>
            </LogContext>
            {skeleton && shown.length === 0 && <Loading log={log} />}
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
          <ConnectionState log={log} />
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

interface Position {
  id: string;
  turn: string; // seq of the turn at the top of the view
  below: number; // distance from the top of the view to the top of the turn
  newest?: number;
}

const positionKey = "footnote-place";

/** Returns and removes the scroll position that was stored when the page was left. */
function takePosition(id: string): Position | undefined {
  try {
    const p = JSON.parse(sessionStorage.getItem(positionKey) ?? "null") as Position | null;
    if (p?.id !== id) return undefined;
    sessionStorage.removeItem(positionKey);
    return p;
  } catch {
    return undefined;
  }
}

/** Stores the scroll position for the next page that is loaded in this tab. */
function storePosition(id: string, el: HTMLElement, newest: number | undefined): void {
  const top = el.getBoundingClientRect().top;
  const turn = [...el.querySelectorAll<HTMLElement>("[data-turn]")].find((t) => t.getBoundingClientRect().bottom > top);
  if (!turn) return;
  const p: Position = { id, turn: turn.dataset.turn!, below: turn.getBoundingClientRect().top - top, newest };
  try {
    sessionStorage.setItem(positionKey, JSON.stringify(p));
  } catch {
    // Storage is disabled: the next page opens at the newest question.
  }
}

const followWithin = 24; // pixels from the end
const showJumpBeyond = 128; // pixels from the end

/** Controls scrolling. A new question moves to the top and stays there while its answer grows. If the reader scrolls to
 *  the end, the view follows the end until they scroll away. */
function useScroll(log: Log, newest: number | undefined) {
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const following = useRef(false);
  const [away, setAway] = useState(false);
  // The position before a reload, restored until the reader scrolls or asks a question.
  const position = useRef<Position>(undefined);
  useLayoutEffect(() => {
    position.current = takePosition(log.id);
  }, [log]);
  const restorePosition = useCallback((): boolean => {
    const el = scroller.current!;
    const p = position.current;
    const turn = p && content.current!.querySelector(`[data-turn="${p.turn}"]`);
    if (!p || !turn) return false;
    el.scrollTop += turn.getBoundingClientRect().top - el.getBoundingClientRect().top - p.below;
    return true;
  }, []);
  useEffect(() => {
    const el = scroller.current!;
    const onLeave = () => storePosition(log.id, el, newest);
    const onInput = () => (position.current = undefined);
    const inputs = ["wheel", "touchmove", "pointerdown", "keydown"] as const;
    addEventListener("pagehide", onLeave);
    for (const e of inputs) addEventListener(e, onInput, { passive: true });
    return () => {
      removeEventListener("pagehide", onLeave);
      for (const e of inputs) removeEventListener(e, onInput);
    };
  }, [log, newest]);

  // The newest turn is at least as high as the view.
  useLayoutEffect(() => {
    const el = scroller.current!;
    const setHeight = () => el.style.setProperty("--view", `${el.clientHeight}px`);
    setHeight();
    const resize = new ResizeObserver(setHeight);
    resize.observe(el);
    return () => resize.disconnect();
  }, []);

  useEffect(() => {
    const el = scroller.current!;
    const toEnd = () => el.scrollHeight - el.scrollTop - el.clientHeight;
    const updateButton = () => setAway(toEnd() > showJumpBeyond);
    // If the newest turn fits into the view, being at the end does not mean that the reader wants to follow it.
    const lastFits = () => (content.current!.querySelector("[data-last]")?.clientHeight ?? 0) <= el.clientHeight;
    const onScroll = () => {
      following.current = toEnd() < followWithin && !lastFits();
      updateButton();
    };
    const resize = new ResizeObserver(() => {
      if (following.current) el.scrollTop = el.scrollHeight;
      else restorePosition();
      updateButton();
    });
    el.addEventListener("scroll", onScroll, { passive: true });
    resize.observe(content.current!);
    return () => {
      el.removeEventListener("scroll", onScroll);
      resize.disconnect();
    };
  }, [log, restorePosition]);

  useLayoutEffect(() => {
    const el = scroller.current!;
    const turn = content.current!.querySelector(`[data-turn="${newest}"]`);
    if (!turn) return;
    following.current = false;
    if (position.current && (newest ?? 0) > (position.current.newest ?? 0)) position.current = undefined;
    if (!restorePosition()) el.scrollTop += turn.getBoundingClientRect().top - el.getBoundingClientRect().top;
  }, [newest, log, restorePosition]);

  const toEnd = useCallback(() => {
    const el = scroller.current!;
    following.current = true;
    el.scrollTop = el.scrollHeight; // not smoothly, because the end moves while the answer grows
  }, []);
  return { scroller, content, away, toEnd };
}

function Loading({ log }: { log: Log }) {
  const connection = useConnection(log);
  if (connection.state === "refused") return null;
  return (
    <div className="space-y-4 pt-10" aria-hidden="true">
      <div className="ml-auto h-10 w-2/5 rounded-lg bg-hover" />
      <div className="h-4 w-1/4 rounded-sm bg-hover" />
      <div className="h-4 w-4/5 rounded-sm bg-hover" />
    </div>
  );
}

/** Says when the connection to the server is lost. */
function ConnectionState({ log }: { log: Log }) {
  const connection = useConnection(log);
  const running = useLog(log, (c) => c.turns.length > 0 && busy(c));
  if (connection.state === "waiting") {
    return (
      <div role="status" className="mb-2 flex items-center gap-2 rounded-md bg-warn-soft px-3 py-1.5 text-sm text-warn">
        <Icon name="spinner" small className="turning" />
        <span className="min-w-0 flex-1">
          {connection.why} {running ? "Reconnecting; the answer continues in the meantime." : "Reconnecting."}
        </span>
        <button type="button" onClick={log.retry} className="rounded-sm font-medium underline underline-offset-2">
          Reconnect now
        </button>
      </div>
    );
  }
  if (connection.state === "refused") {
    return (
      <div role="alert" className="mb-2 flex items-center gap-2 rounded-md bg-bad-soft px-3 py-2 text-sm text-bad">
        <Icon name="alert" small />
        <span className="min-w-0 flex-1">{connection.why}</span>
        <button type="button" onClick={log.retry} className="rounded-sm font-medium underline underline-offset-2">
          Try again
        </button>
      </div>
    );
  }
  return null;
}

/** Announces each state of the answer to screen readers, but not its growing text. */
function Announcer({ turns }: { turns: readonly Turn[] }) {
  const last = turns.at(-1);
  let words = "";
  if (last?.state === "running" || last?.state === "idle") words = "Answering.";
  else if (last?.state === "parked") words = "The answer is waiting for you.";
  else if (last?.answer) words = `Answer: ${last.answer.text.replace(/[*_`|#]/g, "").split("\n", 1)[0]}`;
  else if (last?.failure) words = last.failure.message;
  return (
    <div role="status" aria-live="polite" className="sr-only">
      {words}
    </div>
  );
}
