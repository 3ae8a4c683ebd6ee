import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";
import { api, request, errorMessage } from "../../api/client";
import { useDebounced } from "../../api/load";
import type { LogEvent } from "../../log/events";
import { useLog, type Log } from "../../log/store";
import { download } from "../../lib/download";
import { money, plural, short } from "../../lib/format";
import { rem, useVisible } from "../../lib/visible";
import { Button } from "../../ui/Button";
import type { TraceProps } from "../slots";
import { exactTime, matchesFilter, groups, durationText, rows, since, type Group, type Row } from "./trace";
import "./trace.css";

/** All events of a conversation, in order. */
export default function Trace({ log }: TraceProps) {
  const { events, error } = useEvents(log);
  const all = useMemo(() => rows(events), [events]);
  const [words, setWords] = useState("");
  const [group, setGroup] = useState<Group | "">("");
  const query = useDebounced(words.trim(), 120);
  const shown = useMemo(
    () => (query || group ? all.rows.filter((r) => matchesFilter(r, query, group)) : all.rows),
    [all, query, group],
  );
  const t = all.totals;
  const prompt = t.input + t.cacheRead + t.cacheWrite;
  const facts = [
    shown.length === events.length
      ? plural(events.length, "event")
      : `${shown.length} of ${plural(events.length, "event")}`,
    prompt + t.output ? `${short(prompt)} tokens in, ${short(t.output)} out` : "",
    t.cacheRead ? `${Math.round((t.cacheRead / prompt) * 100)}% from the cache` : "",
    t.microUSD ? money(t.microUSD) : "",
  ];
  return (
    <>
      <div className="flex shrink-0 flex-wrap items-center gap-2 border-b px-3 py-2">
        <input
          type="search"
          aria-label="Filter events"
          placeholder="Filter"
          value={words}
          onChange={(e) => setWords(e.target.value)}
          className="h-9 min-w-24 flex-1 rounded-md border bg-surface px-3 text-sm"
        />
        <select
          aria-label="Kind of events"
          value={group}
          onChange={(e) => setGroup(e.target.value as Group | "")}
          className="h-9 rounded-md border bg-surface px-2 text-sm"
        >
          <option value="">All kinds</option>
          {Object.entries(groups).map(([id, name]) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
        <Button icon="download" onClick={() => download(api.eventsUrl(log.id), log.conversation().title)}>
          JSON lines
        </Button>
        <p className="tabular w-full text-xs text-ink-quiet" role="status">
          {facts.filter(Boolean).join(" · ")}
        </p>
      </div>
      {error && (
        <p role="alert" className="p-4 text-sm text-bad">
          {error}
        </p>
      )}
      {events.length > 0 && shown.length === 0 && <p className="p-4 text-sm text-ink-quiet">No events match.</p>}
      <List rows={shown} />
    </>
  );
}

/** Loads the stored events, and adds new ones. */
function useEvents(log: Log): { events: readonly LogEvent[]; error: string } {
  const last = useLog(log, (c) => c.last);
  const [state, setState] = useState<{ id: string; events: readonly LogEvent[]; error: string }>({
    id: log.id,
    events: [],
    error: "",
  });
  const have = useRef(state);
  have.current = state;
  const debouncedLast = useDebounced(last, 150);
  useEffect(() => {
    const abort = new AbortController();
    const old = have.current.id === log.id ? have.current.events : [];
    const after = old.at(-1)?.seq ?? 0;
    if (debouncedLast > 0 && after >= debouncedLast) return;
    read(log.id, after, abort.signal).then(
      (more) =>
        setState((s) => ({
          id: log.id,
          events: [
            ...(s.id === log.id ? s.events : []),
            ...more.filter((e) => e.seq > (s.id === log.id ? (s.events.at(-1)?.seq ?? 0) : 0)),
          ],
          error: "",
        })),
      (err) => !abort.signal.aborted && setState((s) => ({ ...s, error: errorMessage(err) })),
    );
    return () => abort.abort();
  }, [log.id, debouncedLast]);
  return state.id === log.id ? state : { events: [], error: "" };
}

async function read(id: string, after: number, signal: AbortSignal): Promise<LogEvent[]> {
  const text = await (await request(`${api.eventsUrl(id)}&after=${after}`, { signal })).text();
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as LogEvent);
}

const rowHeight = 3.25; // rem

/** The list of rows. Arrow keys, Page, Home and End move the focus; Enter expands a row. */
function List({ rows }: { rows: readonly Row[] }) {
  const scroller = useRef<HTMLDivElement>(null);
  const closed = useMemo(() => rem(rowHeight), []);
  // From the seq of each expanded row to the height of its body.
  const [open, setOpen] = useState<ReadonlyMap<number, number>>(new Map());
  const [at, setAt] = useState(0);
  const tops = useMemo(() => {
    const out = new Float64Array(rows.length + 1);
    rows.forEach((r, i) => (out[i + 1] = out[i]! + closed + (open.get(r.event.seq) ?? 0)));
    return out;
  }, [rows, open, closed]);
  const { from, to } = useVisible(scroller, rows.length, (i) => tops[i]!);
  const now = Math.min(at, rows.length - 1);
  const focusRow = useRef<number>(undefined); // the row to focus once it is rendered

  const toggle = useCallback((seq: number) => {
    setOpen((old) => {
      const next = new Map(old);
      if (!next.delete(seq)) next.set(seq, 0);
      return next;
    });
  }, []);
  const onHeight = useCallback((seq: number, height: number) => {
    setOpen((old) => (old.has(seq) && old.get(seq) !== height ? new Map(old).set(seq, height) : old));
  }, []);

  const move = (e: KeyboardEvent<HTMLElement>) => {
    if (!(e.target as HTMLElement).matches("[data-row]")) return;
    const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 0) / closed) - 1);
    const to = {
      ArrowDown: now + 1,
      ArrowUp: now - 1,
      PageDown: now + page,
      PageUp: now - page,
      Home: 0,
      End: rows.length - 1,
    }[e.key];
    if (to === undefined) return;
    e.preventDefault();
    const next = Math.max(0, Math.min(rows.length - 1, to));
    const el = scroller.current!;
    if (tops[next]! < el.scrollTop) el.scrollTop = tops[next]!;
    else if (tops[next]! + closed > el.scrollTop + el.clientHeight)
      el.scrollTop = tops[next]! + closed - el.clientHeight;
    focusRow.current = next;
    setAt(next);
  };
  useLayoutEffect(() => {
    if (focusRow.current === undefined) return;
    const el = scroller.current?.querySelector<HTMLElement>(`[data-row="${focusRow.current}"]`);
    if (!el) return; // not rendered yet
    focusRow.current = undefined;
    el.focus({ preventScroll: true });
  });

  return (
    <div ref={scroller} className="scroll min-h-0 flex-1" onKeyDown={move}>
      <ol className="relative" aria-label="Events" style={{ height: tops[rows.length] }}>
        {rows.slice(from, to).map((r, k) => {
          const i = from + k;
          const isOpen = open.has(r.event.seq);
          return (
            <li
              key={r.event.seq}
              aria-setsize={rows.length}
              aria-posinset={i + 1}
              className="absolute inset-x-0 border-b"
              style={{ top: tops[i] }}
            >
              <button
                type="button"
                data-row={i}
                tabIndex={i === now || (now < from && i === from) || (now >= to && i === to - 1) ? 0 : -1}
                aria-expanded={isOpen}
                onFocus={() => setAt(i)}
                onClick={() => toggle(r.event.seq)}
                style={{ height: closed }}
                className="trace-row"
              >
                <Line row={r} />
              </button>
              {isOpen && <Body row={r} onHeight={onHeight} />}
            </li>
          );
        })}
      </ol>
    </div>
  );
}

function Line({ row: r }: { row: Row }) {
  const took = durationText(r);
  return (
    <>
      <span className="seq">{r.event.seq}</span>
      <span className="when">
        <span>{since(r.since)}</span>
        <span className="sr-only"> s, </span>
        <span className="clock">{exactTime(r.event.time)}</span>
      </span>
      <span className="what">
        <span className="kind">
          <span className={`dot ${r.group}`} aria-hidden="true" />
          <span className={`name ${r.bad ? "text-bad" : ""}`}>{r.name}</span>
          <span className="facts">{[...r.facts, took].filter(Boolean).join(" · ")}</span>
        </span>
        <span className="words">{r.words || "\u00a0"}</span>
        <span className="track" aria-hidden="true">
          {r.bar && (
            <span
              className={`bar ${r.waited ? "waited" : r.group}`}
              style={{ left: `${r.bar.from * 100}%`, width: `${Math.max(0, r.bar.to - r.bar.from) * 100}%` }}
            />
          )}
        </span>
      </span>
    </>
  );
}

const maxShown = 60_000; // characters

function Body({ row, onHeight }: { row: Row; onHeight: (seq: number, height: number) => void }) {
  const ref = useRef<HTMLDivElement>(null);
  const { seq } = row.event;
  useLayoutEffect(() => {
    const el = ref.current!;
    const report = () => onHeight(seq, el.offsetHeight);
    report();
    const resize = new ResizeObserver(report);
    resize.observe(el);
    return () => resize.disconnect();
  }, [seq, onHeight]);
  const text = useMemo(() => JSON.stringify(row.event.body, null, 2), [row]);
  return (
    <div ref={ref} className="px-3 pt-1 pb-3">
      <pre
        tabIndex={0}
        role="region"
        aria-label={`Event ${seq}`}
        className="max-h-80 overflow-auto rounded-md bg-sunken p-3 font-mono text-xs wrap-anywhere whitespace-pre-wrap"
      >
        {text.length > maxShown
          ? `${text.slice(0, maxShown)}\n… ${plural(text.length - maxShown, "more character")} in the file`
          : text}
      </pre>
      {row.event.run && <p className="mt-1 truncate font-mono text-xs text-ink-quiet">{row.event.run}</p>}
    </div>
  );
}
