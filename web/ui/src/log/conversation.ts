// Reduces the log of a conversation to what the page shows, with pure functions. A turn that does not change keeps its
// identity, so memoised components do not render again.
import type {
  Block,
  CalledTool,
  ChartSpec,
  Cite,
  Cost,
  Delta,
  LogEvent,
  Place,
  StoredResult,
  Unresolved,
  Verified,
  Usage,
} from "./events";
import { familyOf } from "./tools";

interface TextPart {
  kind: "text";
  key: string;
  seq: number;
  text: string;
  /** Set when the model call broke off after this text. */
  broken?: string;
}

interface ThinkingPart {
  kind: "thinking";
  key: string;
  seq: number;
  text: string;
}

export type ToolState = "running" | "waiting" | "done" | "failed";

export interface ToolPart {
  kind: "tool";
  key: string; // the id of the call
  seq: number;
  name: string;
  /** How to show the call. Undefined in older logs; see log/tools. */
  tool?: CalledTool;
  input: unknown;
  began?: string; // when the model asked for it
  state: ToolState;
  /** The approval that the call waits or waited for. Cost says why a statement that reads much needs one, and outside
   * which text from outside does. */
  approval?: { id: string; approved?: boolean; reason?: string; cost?: string; outside?: string };
  /** Set if the call waits for the browser or a person. */
  parked?: boolean;
  content?: string; // what the model read
  millis?: number;
  cached?: boolean;
  /** The age of rows from the cache, in milliseconds. */
  age?: number;
  by?: string;
  result?: StoredResult;
  chart?: ChartSpec;
  detail?: unknown; // more to show, such as a diff
}

export type Part = TextPart | ThinkingPart | ToolPart;

export interface Answer {
  seq: number;
  text: string;
  cites: readonly Cite[];
  unresolved: readonly Unresolved[];
  chart?: ChartSpec;
  verified?: readonly Verified[];
}

export type TurnState = "idle" | "running" | "parked" | "finished" | "failed" | "stopped";

/** A question with its steps and its answer. */
export interface Turn {
  seq: number; // of the question
  text: string;
  time: string;
  run?: string;
  state: TurnState;
  parts: readonly Part[];
  answer?: Answer;
  failure?: { code: string; message: string; retryAfter?: number };
  stoppedBy?: string;
  deadline?: string; // a parked run waits until then
  reason?: string; // why a finished run ended
  model?: string;
  tier?: string;
  weight?: number; // how often each of its tokens counts; undefined: once
  usage?: Usage;
  cost?: Cost;
  millis?: number;
  feedback?: { good: boolean; words?: string };
}

interface LiveBlock {
  index: number;
  kind: "text" | "thinking" | "tool_use";
  id?: string;
  name?: string;
  text: string;
  ended: boolean;
}

/** The message that the model is writing. */
export interface Live {
  run: string;
  step: number;
  attempt: number;
  blocks: readonly LiveBlock[];
  retrying?: { code: string; wait: number };
}

/** A result and its origin. */
export interface ShownResult extends StoredResult {
  seq: number; // of the event that stored it
  turn: number; // seq of the question
  by: string; // "server", "client" or "user"
  author?: string; // the user, if a person ran the statement
  version: number; // from 1
  replaces?: string;
  replacedBy?: string; // the newest version
  millis?: number;
  chart?: ChartSpec; // the latest chart of it
}

export interface Conversation {
  id: string;
  last: number; // seq of the newest event
  assistant?: string;
  model?: string;
  tier?: string; // undefined for an assistant without tiers
  sources: readonly string[];
  title: string;
  /** What the page of a module showed when the newest question was asked. */
  where?: Place;
  turns: readonly Turn[];
  results: Readonly<Record<string, ShownResult>>;
  live?: Live;
}

export function empty(id: string): Conversation {
  return { id, last: 0, sources: [], title: "", turns: [], results: {} };
}

/** Returns the tokens of an answer, as the model counted them. */
export function tokensOf({ usage: u }: Turn): number {
  return u ? u.input + u.output + (u.cache_read ?? 0) + (u.cache_write_5m ?? 0) + (u.cache_write_1h ?? 0) : 0;
}

/** Applies an event. Ignores an event that was applied before. */
export function applyEvent(c: Conversation, ev: LogEvent): Conversation {
  if (ev.seq <= c.last) return c;
  return { ...reduce(c, ev), last: ev.seq };
}

// complexity: one case for each kind
function reduce(c: Conversation, ev: LogEvent): Conversation {
  switch (ev.kind) {
    case "opened":
      return {
        ...c,
        assistant: ev.body.assistant,
        model: ev.body.model,
        tier: ev.body.tier,
        sources: ev.body.sources ?? [],
      };
    case "titled":
      return { ...c, title: ev.body.title };
    case "imported":
      return { ...c, turns: [...c.turns, ...importedTurns(ev.seq, ev.time, ev.body.turns)] };
    case "user_message":
      return asked(ev.body.where ? { ...c, where: ev.body.where } : c, ev.seq, ev.time, ev.run, ev.body.text);
    case "run_started": {
      const { choice, weight } = ev.body;
      const next = choice ? { ...c, model: choice.model, tier: choice.tier } : c;
      return withLast(next, (t) => ({ ...t, run: ev.run, state: "running", tier: next.tier, weight }));
    }
    case "assistant_message": {
      const { blocks, tools, step } = ev.body;
      const parts = blocks.flatMap((b, i) => part(b, ev, `${ev.run}.${step}.${i}`, tools));
      return endLive(
        withLast(c, (t) => ({ ...t, model: ev.body.model, parts: [...t.parts, ...parts] })),
        ev.run,
        step,
      );
    }
    case "step_failed": {
      const broken: TextPart = {
        kind: "text",
        key: `${ev.seq}`,
        seq: ev.seq,
        text: ev.body.partial ?? "",
        broken: ev.body.code,
      };
      return endLive(
        withLast(c, (t) => ({ ...t, parts: [...t.parts, broken] })),
        ev.run,
        ev.body.step,
      );
    }
    case "tool_result":
      return returned(c, ev);
    case "approval_asked": {
      const { approval_id: id, call_id, reason: cost, outside } = ev.body;
      return withCall(c, call_id, (p) => ({
        ...p,
        state: "waiting",
        approval: { id, ...(cost && { cost }), ...(outside && { outside }) },
      }));
    }
    case "approval_given":
      return withCall(c, ev.body.call_id, (p) => ({
        ...p,
        state: p.state === "waiting" ? "running" : p.state,
        approval: { id: ev.body.approval_id, approved: ev.body.approved, reason: ev.body.reason },
      }));
    case "run_parked": {
      const calls = new Set(ev.body.calls);
      return withLast(c, (t) => ({
        ...t,
        state: "parked",
        deadline: ev.body.deadline,
        parts: t.parts.map((p) =>
          p.kind === "tool" && calls.has(p.key) && p.state !== "done" ? { ...p, state: "waiting", parked: true } : p,
        ),
      }));
    }
    case "run_resumed":
      return withLast(c, (t) => ({ ...t, state: "running", deadline: undefined }));
    case "answered": {
      const { text, footnotes, unresolved, chart, verified } = ev.body;
      // Without data to query, numbers need no footnotes. Those of the coder are sizes and line counts.
      const data = (c.sources.length > 0 && c.assistant !== "coder") || Object.keys(c.results).length > 0;
      const answer: Answer = {
        seq: ev.seq,
        text,
        cites: footnotes ?? [],
        unresolved: data ? (unresolved ?? []) : [],
        chart,
        verified,
      };
      return withLast(c, (t) => ({ ...t, answer }));
    }
    case "run_finished":
      return ended(c, { state: "finished", reason: ev.body.reason }, ev.body);
    case "run_failed": {
      const failure = { code: ev.body.code, message: ev.body.message, retryAfter: ev.body.retry_after_ms };
      return ended(c, { state: "failed", failure }, ev.body);
    }
    case "run_stopped":
      return ended(c, { state: "stopped", stoppedBy: ev.body.by }, ev.body);
    case "rewound":
      return rewound(c, ev.body.to_seq);
    case "feedback":
      return {
        ...c,
        turns: c.turns.map((t) =>
          t.answer?.seq === ev.body.seq ? { ...t, feedback: { good: ev.body.good, words: ev.body.words } } : t,
        ),
      };
    case "query_run": {
      const { result, replaces, by, millis } = ev.body;
      return withResult(c, result, { seq: ev.seq, by: "user", author: by, millis, replaces });
    }
    default:
      return c; // a newer server may write more than this app shows
  }
}

/** Adds a question. Regenerating may repeat it in the log, so it replaces an equal one without an answer. */
function asked(c: Conversation, seq: number, time: string, run: string | undefined, text: string): Conversation {
  const turn: Turn = { seq, text, time, run, state: "idle", parts: [] };
  const last = c.turns.at(-1);
  const kept = last?.state === "idle" && last.parts.length === 0 && last.text === text ? c.turns.slice(0, -1) : c.turns;
  return { ...c, turns: [...kept, turn], live: undefined };
}

function importedTurns(seq: number, time: string, said: { role: string; text: string }[]): Turn[] {
  const turns: Turn[] = [];
  said.forEach(({ role, text }, i) => {
    const key = seq + i / 10_000; // unique, and below the sequence of the next event
    const last = turns.at(-1);
    if (role === "user" || !last) {
      turns.push({ seq: key, text: role === "user" ? text : "", time, state: "finished", parts: [] });
    }
    if (role === "assistant") {
      const t = turns[turns.length - 1]!;
      turns[turns.length - 1] = { ...t, parts: [...t.parts, { kind: "text", key: `${key}`, seq, text }] };
    }
  });
  return turns;
}

function part(b: Block, { seq, time }: LogEvent, key: string, tools?: Record<string, CalledTool>): Part[] {
  switch (b.type) {
    case "text":
      return b.text ? [{ kind: "text", key, seq, text: b.text }] : [];
    case "thinking":
      return b.thinking ? [{ kind: "thinking", key, seq, text: b.thinking }] : [];
    case "tool_use":
    case "server_tool_use":
    case "mcp_tool_use": {
      const name = b.name ?? "";
      const tool = tools && (tools[name] ?? {});
      return [{ kind: "tool", key: b.id ?? key, seq, name, tool, input: b.input, began: time, state: "running" }];
    }
    default:
      return [];
  }
}

/** Removes the growing message once the step is in the log. */
function endLive(c: Conversation, run: string | undefined, step: number): Conversation {
  return c.live && c.live.run === run && c.live.step <= step ? { ...c, live: undefined } : c;
}

function withLast(c: Conversation, change: (t: Turn) => Turn): Conversation {
  const last = c.turns.at(-1);
  return last ? { ...c, turns: [...c.turns.slice(0, -1), change(last)] } : c;
}

/** Changes an open call. Searches the newest turns first, because a new question closes the calls that were open. */
function withCall(c: Conversation, call: string, change: (p: ToolPart) => ToolPart): Conversation {
  for (let i = c.turns.length - 1; i >= 0; i--) {
    const t = c.turns[i]!;
    const at = t.parts.findLastIndex((p) => p.kind === "tool" && p.key === call && p.content === undefined);
    if (at < 0) continue;
    const parts = t.parts.with(at, change(t.parts[at] as ToolPart));
    return { ...c, turns: c.turns.with(i, { ...t, parts }) };
  }
  return c;
}

function returned(c: Conversation, ev: Extract<LogEvent, { kind: "tool_result" }>): Conversation {
  const b = ev.body;
  let next = withCall(c, b.call_id, (p) => ({
    ...p,
    state: b.is_error ? "failed" : "done",
    parked: false,
    content: b.content,
    millis: b.millis,
    cached: b.cache_hit,
    age: b.ran_at ? Date.parse(ev.time) - Date.parse(b.ran_at) : undefined,
    by: b.by,
    result: b.result,
    chart: b.chart,
    detail: b.detail,
  }));
  if (b.result) next = withResult(next, b.result, { seq: ev.seq, by: b.by ?? "server", millis: b.millis });
  const drawn = b.chart && next.results[b.chart.result];
  if (drawn) next = { ...next, results: { ...next.results, [drawn.id]: { ...drawn, chart: b.chart } } };
  return next;
}

function withResult(
  c: Conversation,
  r: StoredResult,
  from: Pick<ShownResult, "seq" | "by" | "author" | "millis" | "replaces">,
): Conversation {
  const { replaces } = from;
  const old = replaces ? c.results[replaces] : undefined;
  const shown: ShownResult = {
    ...r,
    ...from,
    turn: old?.turn ?? c.turns.at(-1)?.seq ?? 0,
    version: (old?.version ?? 0) + 1,
    chart: old?.chart,
  };
  const results = { ...c.results, [r.id]: shown };
  // Every earlier version points to the newest, so that texts citing it can mention the newer one.
  for (let id = replaces; id && results[id]; id = results[id]?.replaces) {
    results[id] = { ...results[id]!, replacedBy: r.id };
  }
  return { ...c, results };
}

function ended(
  c: Conversation,
  change: Partial<Turn>,
  e: { usage?: Usage; cost?: Cost; millis: number },
): Conversation {
  const next = withLast(c, (t) => ({
    ...t,
    ...change,
    deadline: undefined,
    usage: e.usage,
    cost: e.cost,
    millis: e.millis,
    // Calls that are still open get no result any more.
    parts: t.parts.map((p) =>
      p.kind === "tool" && (p.state === "running" || p.state === "waiting")
        ? { ...p, state: "failed", parked: false }
        : p,
    ),
  }));
  return { ...next, live: undefined };
}

/** Removes everything after toSeq. */
function rewound(c: Conversation, toSeq: number): Conversation {
  const turns = c.turns
    .filter((t) => t.seq <= toSeq)
    .map((t, i, all): Turn => {
      if (i < all.length - 1 && (t.answer?.seq ?? 0) <= toSeq) return t;
      const parts = t.parts.filter((p) => p.seq <= toSeq);
      const kept = t.answer && t.answer.seq <= toSeq;
      if (kept && parts.length === t.parts.length) return t;
      return { seq: t.seq, text: t.text, time: t.time, state: "idle", parts };
    });
  return { ...c, turns, live: undefined };
}

/** Applies a delta to the growing message. */
export function applyDelta(c: Conversation, d: Delta): Conversation {
  const live = c.live;
  if (live && live.run === d.run && (d.step < live.step || (d.step === live.step && d.attempt < live.attempt)))
    return c;
  const same = live && live.run === d.run && live.step === d.step && live.attempt === d.attempt;
  const now: Live = same ? live : { run: d.run, step: d.step, attempt: d.attempt, blocks: [] };
  switch (d.op) {
    case "retrying":
      return { ...c, live: { ...now, retrying: { code: d.code ?? "", wait: d.wait_ms ?? 0 } } };
    case "broke":
      return { ...c, live: { ...now, blocks: now.blocks.map((b) => ({ ...b, ended: true })) } };
    default:
      return { ...c, live: { ...now, retrying: undefined, blocks: grown(now.blocks, d) } };
  }
}

function grown(blocks: readonly LiveBlock[], d: Delta): readonly LiveBlock[] {
  const index = d.index ?? 0;
  const at = blocks.findIndex((b) => b.index === index);
  const old = blocks[at];
  const fresh: LiveBlock = { index, kind: d.kind ?? "text", id: d.id, name: d.name, text: "", ended: false };
  let next: LiveBlock;
  if (d.op === "start")
    next = fresh; // after a reconnect, the block starts from the beginning
  else if (d.op === "end") next = { ...(old ?? fresh), ended: true };
  else next = { ...(old ?? fresh), text: (old?.text ?? "") + (d.text ?? "") };
  return old ? blocks.with(at, next) : [...blocks, next];
}

/** Reports whether the conversation has a run that is not finished. */
export function busy(c: Conversation): boolean {
  const s = c.turns.at(-1)?.state;
  return s === "running" || s === "parked" || s === "idle";
}

/** Reports whether a call waits for a person's approval or answer. */
export function waitsForPerson(p: Part): p is ToolPart {
  if (p.kind !== "tool" || p.state !== "waiting") return false;
  return familyOf(p) === "question" ? p.parked === true : p.approval !== undefined && p.approval.approved === undefined;
}

/** Returns the parts of a turn that are not part of its answer. */
export function steps(t: Turn): readonly Part[] {
  return t.parts.slice(0, answerFrom(t));
}

/** Returns the text of the answer, even before its footnotes are known. */
export function answerText(t: Turn): string {
  if (t.answer) return t.answer.text;
  return t.parts
    .slice(answerFrom(t))
    .map((p) => (p.kind === "text" ? p.text : ""))
    .join("\n\n");
}

function answerFrom(t: Turn): number {
  let i = t.parts.length;
  // An answer that was stopped or broke off keeps its text.
  const last = t.parts[i - 1];
  if ((t.state === "stopped" || t.state === "failed") && last?.kind === "text" && last.broken && last.text) i--;
  while (i > 0 && t.parts[i - 1]!.kind === "text" && !(t.parts[i - 1] as TextPart).broken) i--;
  return i;
}

const lookups = new Set(["column_stats", "column_values"]);

/** Returns the main result of a turn: that of its chart, or that of the last call that is not a lookup in a column. */
export function mainResult(c: Conversation, t: Turn): string | undefined {
  const chart =
    t.answer?.chart?.result ??
    t.parts.findLast((p) => p.kind === "tool" && p.chart !== undefined && p.state === "done");
  if (typeof chart === "string") return chart;
  if (chart?.kind === "tool" && chart.chart) return chart.chart.result;
  const last = t.parts.findLast((p) => p.kind === "tool" && p.result !== undefined && !lookups.has(familyOf(p) ?? ""));
  if (last?.kind === "tool" && last.result) return last.result.id;
  const cited = t.answer?.cites.find((x) => x.result && c.results[x.result]);
  return cited?.result;
}
