// Tools for local files. This runs the calls that wait for this browser, and sends back
// as much of their results as the person agrees to send.
import { useEffect } from "react";
import { api, ApiError, type Session, type ToolAnswer } from "../../api/client";
import { keepLocalRows, localRows } from "../../api/rows";
import type { Conversation, ToolPart } from "../../log/conversation";
import type { StoredResult } from "../../log/events";
import { familyOf, useTools, type Family } from "../../log/tools";
import { useLog, type Log } from "../../log/store";
import { CodeError, failure, OurError, QueryError, withoutValues, type Whole } from "./cells";
import { agreed } from "./consent";
import { distributionSQL, statsSQL } from "./sql";
import { local, query, tables, useLocal } from "./store";
import { transform, type Step } from "./transform";
import { Statements } from "./tried";

const none: readonly ToolPart[] = [];
const ours = new Set<Family | undefined>(["query", "column_stats", "column_values", "transform"]);

/** Runs the calls of a conversation that wait for this browser, and returns them. */
export function useClientTools(log: Log, session: Session): readonly ToolPart[] {
  const waits = useLog(log, (c) => {
    const last = c.turns.at(-1);
    return last?.state === "parked" ? waiting(last.parts) : none;
  });
  const { files } = useLocal();
  const known = useTools(); // the calls of older logs get their family from there
  const results = useLog(log, (c) => (c.assistant === "explore" ? c.results : undefined));
  useEffect(() => {
    for (const p of waits) if (ours.has(familyOf(p))) void work(log, p, session.offline);
  }, [log, waits, files, session.offline, known]); // a call that waits for a file goes on when it is there
  useEffect(() => {
    if (results) settle(log.conversation());
  }, [log, results, files, known]);
  return waits;
}

const waitingOf = new WeakMap<object, readonly ToolPart[]>();

function waiting(parts: readonly unknown[]): readonly ToolPart[] {
  let some = waitingOf.get(parts);
  if (!some) {
    some = (parts as ToolPart[]).filter((p) => p.kind === "tool" && p.parked && !p.approval);
    waitingOf.set(parts, some);
  }
  return some;
}

// The results of calls that ran here. They are kept until the log says which id the server
// gave them, and as input for later transforms.
const given = new Map<string, Whole>();
const running = new Map<string, AbortController>();
const mostGiven = 40;

function give(key: string, whole: Whole): void {
  given.set(key, whole);
  if (given.size > mostGiven) given.delete(given.keys().next().value!);
}

/** Answers one call. While its file is not open here, the call keeps waiting: another tab
 *  or device may have the file, or the person may open it again. */
async function work(log: Log, part: ToolPart, offline: boolean): Promise<void> {
  const key = `${log.id}.${part.key}`;
  if (running.has(key)) return;
  const stop = new AbortController();
  running.set(key, stop);
  const unsubscribe = log.subscribe(() => {
    if (!open(log, part)) stop.abort(); // stopped, timed out, or answered by another tab
  });
  try {
    const answer = await compute(log, part, offline, stop.signal);
    if (answer && !stop.signal.aborted) await send(log.id, answer);
  } catch {
    // Stopped.
  } finally {
    unsubscribe();
    running.delete(key);
  }
}

/** Reports whether a call has no result yet, in a turn that is not over. */
function open(log: Log, part: ToolPart): boolean {
  const last = log.conversation().turns.at(-1);
  if (last?.state !== "parked" && last?.state !== "running") return false;
  return last.parts.some((p) => p.kind === "tool" && p.key === part.key && p.state !== "done" && p.state !== "failed");
}

async function send(conversation: string, answer: ToolAnswer): Promise<void> {
  for (let wait = 500; ; wait *= 2) {
    try {
      await api.turn(conversation, { answers: [answer] });
      return;
    } catch (err) {
      // Another tab answered first, or the call is closed. Either way there is nothing left to do.
      if (!(err instanceof ApiError) || (err.status > 0 && err.status < 500) || wait > 60_000) return;
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }
}

/** The name of the planner that answers without a model. A conversation may have begun with it. */
const plannerModel = "offline-planner";

const input = (part: ToolPart) => (part.input ?? {}) as Record<string, unknown>;
const word = (v: unknown) => (typeof v === "string" ? v : "");

async function compute(
  log: Log,
  part: ToolPart,
  offline: boolean,
  signal: AbortSignal,
): Promise<ToolAnswer | undefined> {
  const all = await tables();
  if (!all.length) return undefined;
  const schema = all.flatMap((t) => [t.name, ...t.columns.map((c) => c.name)]);
  const said = { sql: word(input(part).sql), code: word(input(part).code) };
  const tried = new Statements();
  try {
    const { whole, sql } = await result(log, part, signal, tried);
    give(`${log.id}.${part.key}`, whole);
    const planner = offline || log.conversation().turns.at(-1)?.model === plannerModel;
    const sent = await agreed(log.id, part, whole, { ...said, sql: sql ?? said.sql }, schema, planner, signal);
    return {
      call_id: part.key,
      columns: sent.columns,
      rows: sent.rows,
      row_count: sent.rowCount,
      ...(sql ? { sql } : {}),
      statements: tried.all(),
    };
  } catch (err) {
    if (signal.aborted) throw err;
    return { call_id: part.key, is_error: true, content: explained(part, err, schema), statements: tried.all() };
  }
}

/** Says why a call failed without quoting the data. Messages of ours are sent as they are. */
function explained(part: ToolPart, err: unknown, schema: readonly string[]): string {
  if (err instanceof OurError) return err.message;
  if (err instanceof CodeError) return err.early ? err.message.slice(0, 500) : withoutValues(err.message, schema);
  if (err instanceof QueryError) return failure(err.message, err.early, word(input(part).sql));
  return "The call failed in the browser. The words of the error stay there, because they may hold values.";
}

async function result(
  log: Log,
  part: ToolPart,
  signal: AbortSignal,
  tried: Statements,
): Promise<{ whole: Whole; sql?: string }> {
  const { sql, code, sourceStep } = input(part);
  const run = (statement: string) => tried.run(statement, (s) => query(s, signal));
  if (familyOf(part) === "query") return { whole: await run(word(sql)), sql: word(sql) };
  if (familyOf(part) === "transform") {
    const steps = await stepsBefore(log, part, signal, tried);
    checkStep(steps, Number(sourceStep));
    return { whole: await transform(word(code), Number(sourceStep), steps, signal) };
  }
  const statement = await columnSQL(part);
  return { whole: await run(statement), sql: statement };
}

/** Without an error, code on a step that does not exist would report that there are no rows. */
function checkStep(steps: readonly Step[], n: number): void {
  const step = steps[n];
  if (!step) throw new OurError(`There is no step ${n}: this question has ${steps.length} so far, counted from 0.`);
  if (!step.columns.length) throw new OurError(`Step ${n} failed, so it has no rows. Choose another sourceStep.`);
}

async function columnSQL(part: ToolPart): Promise<string> {
  const { table, column, limit } = input(part);
  const all = await tables();
  const same = (a: string, b: unknown) => a.toLowerCase() === word(b).toLowerCase();
  const t = word(table)
    ? all.find((x) => same(x.name, table))
    : (all.find((x) => x.columns.some((c) => same(c.name, column))) ?? all[0]);
  if (!t) throw new OurError(`There is no table ${word(table)}; there are ${all.map((x) => x.name).join(", ")}.`);
  const c = t.columns.find((x) => same(x.name, column));
  if (!c)
    throw new OurError(
      `The table ${t.name} has no column ${word(column)}; it has ${t.columns.map((x) => x.name).join(", ")}.`,
    );
  if (familyOf(part) === "column_stats") return statsSQL(t.name, c.name, c.type);
  return distributionSQL(t.name, c.name, Math.min(100, Math.max(1, Math.round(Number(limit) || 10))));
}

/** The results of this question's earlier calls, in order. Results lost to a reload are
 *  computed again. */
async function stepsBefore(log: Log, part: ToolPart, signal: AbortSignal, tried: Statements): Promise<Step[]> {
  const turn = log.conversation().turns.at(-1);
  const steps: Step[] = [];
  for (const p of turn?.parts ?? []) {
    if (p.kind !== "tool" || !ours.has(familyOf(p))) continue;
    if (p.key === part.key) break;
    steps.push(await stepOf(log, p, signal, tried));
  }
  return steps;
}

async function stepOf(log: Log, part: ToolPart, signal: AbortSignal, tried: Statements): Promise<Step> {
  const here = given.get(`${log.id}.${part.key}`);
  if (here) return here;
  if (part.state !== "done") return { columns: [], rows: [] };
  const { whole } = await result(log, part, signal, tried);
  give(`${log.id}.${part.key}`, whole);
  return whole;
}

/** Gives the panes all rows of each result. The server has only some of them, or none. */
function settle(c: Conversation): void {
  for (const t of c.turns) {
    for (const p of t.parts) {
      if (p.kind !== "tool" || !p.result || !ours.has(familyOf(p))) continue;
      const ref = { conversation: c.id, id: p.result.id };
      if (localRows(ref)) continue;
      const whole = given.get(`${c.id}.${p.key}`);
      if (whole) keepLocalRows(ref, { columns: whole.columns, rows: whole.rows, rowCount: whole.rowCount });
      else if (t.state !== "parked") void again(c.id, p.result);
    }
  }
  for (const r of Object.values(c.results)) if (r.by === "user" && r.source === "client") void again(c.id, r);
}

const recomputed = new Map<string, readonly unknown[]>(); // with which files

/** Computes the rows again after a reload, when the files are still here. */
async function again(conversation: string, r: StoredResult): Promise<void> {
  const ref = { conversation, id: r.id };
  const key = `${conversation}.${r.id}`;
  const { files } = local();
  if (!r.sql || localRows(ref) || recomputed.get(key) === files || files.some((f) => f.state === "loading")) return;
  recomputed.set(key, files);
  try {
    if (!(await tables()).length) return;
    const whole = await query(r.sql, AbortSignal.timeout(60_000));
    // A different file of the same name gives a different result, which is not used.
    const same = whole.rowCount === r.row_count && whole.columns.length === r.columns.length;
    if (same && !localRows(ref))
      keepLocalRows(ref, { columns: whole.columns, rows: whole.rows, rowCount: whole.rowCount });
  } catch {
    // The file has changed or is gone; the rows that the server has are shown.
  }
}
