// The rows of the trace: a summary of each event, its time, and its duration.
import { count, duration, money, plural } from "../../lib/format";
import type { Bodies, Cost, LogEvent, Usage } from "../../log/events";

export type Group = "people" | "model" | "tools" | "run" | "other";

export const groups: Record<Group, string> = {
  people: "People",
  model: "Model",
  tools: "Tools",
  run: "Runs",
  other: "Other",
};

const groupOf: Record<string, Group> = {
  user_message: "people",
  approval_given: "people",
  feedback: "people",
  query_run: "people",
  rewound: "people",
  imported: "people",
  assistant_message: "model",
  step_failed: "model",
  answered: "model",
  titled: "model",
  segmented: "model",
  tool_result: "tools",
  approval_asked: "tools",
  workspace_changed: "tools",
  drawing_changed: "tools",
  run_started: "run",
  run_parked: "run",
  run_resumed: "run",
  run_finished: "run",
  run_failed: "run",
  run_stopped: "run",
};

export interface Row {
  event: LogEvent;
  group: Group;
  name: string; // the kind in words
  words: string; // a summary of the body
  bad: boolean;
  facts: string[]; // tokens, cost
  since: number; // ms since the question
  took?: number; // ms
  waited?: boolean; // whether the duration was waiting for a person
  /** The position of the duration within the turn, from 0 to 1. */
  bar?: { from: number; to: number };
}

interface Totals {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  microUSD: number;
}

/** Returns the rows of a log and the sums of its tokens and cost. */
export function rows(events: readonly LogEvent[]): { rows: Row[]; totals: Totals } {
  const out: Row[] = [];
  const totals: Totals = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, microUSD: 0 };
  let turn: Row[] = [];
  let start = 0,
    before = 0;
  const close = () => {
    // The turn ends with the last event that has a duration. Feedback may follow days later.
    const length = Math.max(1, ...turn.map((r) => (r.took === undefined ? 0 : r.since)));
    for (const r of turn)
      if (r.took !== undefined) r.bar = { from: Math.max(0, (r.since - r.took) / length), to: r.since / length };
    turn = [];
  };
  for (const ev of events) {
    const at = Date.parse(ev.time);
    if (ev.kind === "user_message" || !out.length) {
      close();
      start = at;
      before = at;
    }
    const row: Row = {
      event: ev,
      group: groupOf[ev.kind] ?? "other",
      name: ev.kind.replaceAll("_", " "),
      ...summary(ev),
      since: Math.max(0, at - start),
      ...took(ev, at - before),
    };
    if (ev.kind === "assistant_message" || ev.kind === "step_failed") {
      add(totals, ev.body.usage, ev.body.cost);
      row.facts = spent(ev.body.usage, ev.body.cost);
    }
    out.push(row);
    turn.push(row);
    before = at;
  }
  close();
  return { rows: out, totals };
}

function add(t: Totals, u: Usage | undefined, c: Cost | undefined): void {
  t.input += u?.input ?? 0;
  t.output += u?.output ?? 0;
  t.cacheRead += u?.cache_read ?? 0;
  t.cacheWrite += (u?.cache_write_5m ?? 0) + (u?.cache_write_1h ?? 0);
  t.microUSD += c?.micro_usd ?? 0;
}

/** Returns the tokens and cost of a message, as texts. */
export function spent(u: Usage | undefined, c: Cost | undefined): string[] {
  const words: string[] = [];
  if (u?.input) words.push(`${count(u.input)} in`);
  if (u?.cache_read) words.push(`${count(u.cache_read)} cache read`);
  const written = (u?.cache_write_5m ?? 0) + (u?.cache_write_1h ?? 0);
  if (written) words.push(`${count(written)} cache write`);
  if (u?.output) words.push(`${count(u.output)} out`);
  if (c?.micro_usd) words.push(`${c.unpriced ? "at most " : ""}${money(c.micro_usd)}`);
  return words;
}

/** Returns the duration of what an event ends: its own figure, or the time since the previous event. */
function took(ev: LogEvent, gap: number): Pick<Row, "took" | "waited"> {
  const b = ev.body as { millis?: number };
  switch (ev.kind) {
    case "tool_result":
    case "query_run":
    case "run_finished":
    case "run_failed":
    case "run_stopped":
      return b.millis === undefined ? {} : { took: b.millis };
    case "assistant_message":
    case "step_failed":
      return { took: Math.max(0, gap) };
    case "approval_given":
      return { took: Math.max(0, gap), waited: true };
    default:
      return {};
  }
}

const line = (s: string | undefined): string => (s ?? "").trim().split("\n", 1)[0]!.slice(0, 300);
const quoted = (s: string | undefined): string => (line(s) ? `“${line(s)}”` : "");

function summary(ev: LogEvent): Pick<Row, "words" | "bad" | "facts"> {
  return { words: words(ev).filter(Boolean).join(" · "), bad: isFailure(ev), facts: [] };
}

function isFailure(ev: LogEvent): boolean {
  return (
    ev.kind === "run_failed" || ev.kind === "step_failed" || (ev.kind === "tool_result" && ev.body.is_error === true)
  );
}

// complexity: one case for each kind
function words(ev: LogEvent): string[] {
  switch (ev.kind) {
    case "opened":
      return [ev.body.assistant, ev.body.model, (ev.body.sources ?? []).join(", ")];
    case "user_message":
      return [line(ev.body.text)];
    case "imported":
      return [plural(ev.body.turns.length, "turn")];
    case "assistant_message":
      return messageWords(ev.body);
    case "tool_result": {
      const { name, result: r, chart, content, is_error, cache_hit, by } = ev.body;
      const what = r ? `${r.id}, ${plural(r.row_count, "row")}` : chart ? `chart of ${chart.result}` : line(content);
      return [
        name,
        is_error ? line(content) : what,
        cache_hit ? "cached" : "",
        by && by !== "server" ? `by the ${by}` : "",
      ];
    }
    case "approval_asked":
      return [
        ev.body.call_id,
        ev.body.reason ?? "",
        ev.body.outside ? `after text from outside: ${ev.body.outside}` : "",
      ];
    case "approval_given":
      return [
        ev.body.approved ? "allowed" : "declined",
        quoted(ev.body.reason),
        ev.body.user ? `by ${ev.body.user}` : "",
      ];
    case "run_started":
      return [`protocol ${ev.body.door}`];
    case "run_parked":
      return [`waits for ${plural(ev.body.calls.length, "call")}`];
    case "run_resumed":
      return [ev.body.reason];
    case "run_finished":
      return [ev.body.reason, ev.body.steps ? plural(ev.body.steps, "step") : ""];
    case "run_failed":
      return [ev.body.code, ev.body.message];
    case "run_stopped":
      return [`by ${ev.body.by}`];
    case "step_failed":
      return [ev.body.code, `attempt ${ev.body.attempt}`];
    case "segmented":
      return [line(ev.body.summary)];
    case "rewound":
      return [`to ${ev.body.to_seq}`];
    case "answered":
      return [plural(ev.body.footnotes?.length ?? 0, "footnote"), line(ev.body.text)];
    case "titled":
      return [ev.body.title];
    case "feedback":
      return [ev.body.good ? "good" : "bad", quoted(ev.body.words)];
    case "query_run":
      return [`${ev.body.result.id}, ${plural(ev.body.result.row_count, "row")}`, ev.body.by ? `by ${ev.body.by}` : ""];
    default:
      return []; // a newer server may write other kinds
  }
}

function messageWords(m: Bodies["assistant_message"]): string[] {
  const calls = m.blocks.filter((b) => b.type.endsWith("tool_use")).map((b) => b.name ?? "");
  const text = m.blocks.find((b) => b.type === "text" && b.text)?.text;
  const thought = m.blocks.some((b) => b.type === "thinking");
  return [
    `step ${m.step}`,
    calls.length ? `calls ${calls.join(", ")}` : "",
    line(text) || (thought && !calls.length ? "thinks" : ""),
    m.stop_reason && m.stop_reason !== "end_turn" && m.stop_reason !== "tool_use" ? m.stop_reason : "",
  ];
}

/** Formats a time to the millisecond, in the local time zone. */
export function exactTime(time: string): string {
  const d = new Date(time);
  return `${d.toLocaleTimeString("en-GB")}.${String(d.getMilliseconds()).padStart(3, "0")}`;
}

/** Formats a time since the question: +0.012, +45.68, +2:05. */
export function since(ms: number): string {
  if (ms < 10_000) return `+${(ms / 1000).toFixed(3)}`;
  if (ms < 100_000) return `+${(ms / 1000).toFixed(2)}`;
  return `+${Math.floor(ms / 60_000)}:${String(Math.floor((ms % 60_000) / 1000)).padStart(2, "0")}`;
}

/** Reports whether a row is in the group and its summary or body contains the query. */
export function matchesFilter(r: Row, query: string, group: Group | ""): boolean {
  if (group && r.group !== group) return false;
  if (!query) return true;
  const q = query.toLowerCase();
  return (
    `${r.event.seq} ${r.name} ${r.words}`.toLowerCase().includes(q) ||
    JSON.stringify(r.event.body).toLowerCase().includes(q)
  );
}

/** Formats the duration of a row. */
export const durationText = (r: Row): string =>
  r.took === undefined ? "" : `${r.waited ? "waited " : ""}${duration(r.took)}`;
