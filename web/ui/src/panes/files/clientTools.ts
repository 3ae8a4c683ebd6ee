// Tools for local files. Runs the calls that wait for this browser, and sends back as many cells of their results as
// the user allows.
import { useEffect } from "react";
import { api, ApiError, type Session, type ToolAnswer } from "../../api/client";
import { keepLocalRows, localRows, settleRows } from "../../api/rows";
import type { Conversation, ToolPart } from "../../log/conversation";
import type { StoredResult } from "../../log/events";
import { familyOf, useTools, type Family } from "../../log/tools";
import { logOf, useLog, type Log } from "../../log/store";
import { CodeError, failure, OurError, QueryError, withoutValues, type LocalResult } from "./cells";
import { approvedCells } from "./consent";
import { distributionSQL, overResults, statsSQL } from "./sql";
import { local, query, tables, useLocal } from "./store";
import { transform, type Step } from "./transform";
import { Statements } from "./statements";

const none: readonly ToolPart[] = [];
const clientFamilies = new Set<Family | undefined>(["query", "column_stats", "column_values", "transform"]);

/** Runs the calls of a conversation that wait for this browser, and returns them. */
export function useClientTools(log: Log, session: Session): readonly ToolPart[] {
  const pending = useLog(log, (c) => {
    const last = c.turns.at(-1);
    return last?.state === "parked" ? pendingCalls(last.parts) : none;
  });
  const { files } = useLocal();
  const known = useTools(); // calls in older logs get their family from the tools
  const results = useLog(log, (c) => (c.assistant === "explore" ? c.results : undefined));
  useEffect(() => {
    for (const p of pending) if (clientFamilies.has(familyOf(p))) void answerCall(log, p, session.offline);
  }, [log, pending, files, session.offline, known]); // runs again when the user opens a file that a call waits for
  useEffect(() => {
    if (results) publishRows(log.conversation());
  }, [log, results, files, known]);
  return pending;
}

const pendingByParts = new WeakMap<object, readonly ToolPart[]>(); // so that equal parts return the identical list

function pendingCalls(parts: readonly unknown[]): readonly ToolPart[] {
  let pending = pendingByParts.get(parts);
  if (!pending) {
    pending = (parts as ToolPart[]).filter((p) => p.kind === "tool" && p.parked && !p.approval);
    pendingByParts.set(parts, pending);
  }
  return pending;
}

// The results of calls that ran in this browser, by conversation and call. They are kept until the log has their ids,
// and as input for later transforms.
const computed = new Map<string, LocalResult>();
const running = new Map<string, AbortController>();
const maxComputed = 40;

function keepComputed(key: string, result: LocalResult): void {
  computed.set(key, result);
  if (computed.size > maxComputed) computed.delete(computed.keys().next().value!);
}

/** Answers one call. If its file is not open here, the call keeps waiting, because the file may be open in another tab
 *  or device, or may be opened again. */
async function answerCall(log: Log, part: ToolPart, offline: boolean): Promise<void> {
  const key = `${log.id}.${part.key}`;
  if (running.has(key)) return;
  const stop = new AbortController();
  running.set(key, stop);
  const unsubscribe = log.subscribe(() => {
    if (!isOpen(log, part)) stop.abort(); // stopped, timed out, or answered by another tab
  });
  try {
    const answer = await compute(log, part, offline, stop.signal);
    if (answer && !stop.signal.aborted) await send(log.id, answer);
  } catch {
    // The call was stopped.
  } finally {
    unsubscribe();
    running.delete(key);
  }
}

/** Reports whether a call has no result yet, in a turn that is not over. */
function isOpen(log: Log, part: ToolPart): boolean {
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
      // Another tab answered first, or the call is closed.
      if (!(err instanceof ApiError) || (err.status > 0 && err.status < 500) || wait > 60_000) return;
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }
}

/** The model name of the offline planner. A conversation may have started with it. */
const plannerModel = "offline-planner";

const input = (part: ToolPart) => (part.input ?? {}) as Record<string, unknown>;
const stringOf = (v: unknown) => (typeof v === "string" ? v : "");

async function compute(
  log: Log,
  part: ToolPart,
  offline: boolean,
  signal: AbortSignal,
): Promise<ToolAnswer | undefined> {
  const all = await tables();
  if (!all.length) return undefined;
  const schema = all.flatMap((t) => [t.name, ...t.columns.map((c) => c.name)]);
  const text = { sql: stringOf(input(part).sql), code: stringOf(input(part).code) };
  const statements = new Statements();
  try {
    const { result, sql } = await run(log, part, signal, statements);
    keepComputed(`${log.id}.${part.key}`, result);
    const planner = offline || log.conversation().turns.at(-1)?.model === plannerModel;
    const sent = await approvedCells(log.id, part, result, { ...text, sql: sql ?? text.sql }, schema, planner, signal);
    return {
      call_id: part.key,
      columns: sent.columns,
      rows: sent.rows,
      row_count: sent.rowCount,
      ...(sql ? { sql } : {}),
      statements: statements.all(),
    };
  } catch (err) {
    if (signal.aborted) throw err;
    return { call_id: part.key, is_error: true, content: safeMessage(part, err, schema), statements: statements.all() };
  }
}

/** Returns the reason why a call failed, without values from the data. Our own messages are sent unchanged. */
function safeMessage(part: ToolPart, err: unknown, schema: readonly string[]): string {
  if (err instanceof OurError) return err.message;
  if (err instanceof CodeError) return err.early ? err.message.slice(0, 500) : withoutValues(err.message, schema);
  if (err instanceof QueryError) return failure(err.message, err.early, stringOf(input(part).sql));
  return "The call failed in the browser. The error text stays there, because it may contain values.";
}

async function run(
  log: Log,
  part: ToolPart,
  signal: AbortSignal,
  statements: Statements,
): Promise<{ result: LocalResult; sql?: string }> {
  const { sql, code, sourceStep } = input(part);
  const names = (await tables()).map((t) => t.name);
  const runSQL = (statement: string) =>
    statements.run(statement, (s) => query(overResults(s, log.conversation().results, names), signal));
  if (familyOf(part) === "query") return { result: await runSQL(stringOf(sql)), sql: stringOf(sql) };
  if (familyOf(part) === "transform") {
    const steps = await stepsBefore(log, part, signal, statements);
    checkStep(steps, Number(sourceStep));
    return { result: await transform(stringOf(code), Number(sourceStep), steps, signal) };
  }
  const statement = await columnSQL(part);
  return { result: await runSQL(statement), sql: statement };
}

/** Throws if step n does not exist or has no columns. The code would otherwise see an empty list of rows. */
function checkStep(steps: readonly Step[], n: number): void {
  const step = steps[n];
  if (!step) throw new OurError(`There is no step ${n}: this question has ${steps.length} so far, counted from 0.`);
  if (!step.columns.length) throw new OurError(`Step ${n} failed, so it has no rows. Choose another sourceStep.`);
}

async function columnSQL(part: ToolPart): Promise<string> {
  const { table, column, limit } = input(part);
  const all = await tables();
  const same = (a: string, b: unknown) => a.toLowerCase() === stringOf(b).toLowerCase();
  const t = stringOf(table)
    ? all.find((x) => same(x.name, table))
    : (all.find((x) => x.columns.some((c) => same(c.name, column))) ?? all[0]);
  if (!t) throw new OurError(`There is no table ${stringOf(table)}; there are ${all.map((x) => x.name).join(", ")}.`);
  const c = t.columns.find((x) => same(x.name, column));
  if (!c)
    throw new OurError(
      `The table ${t.name} has no column ${stringOf(column)}; it has ${t.columns.map((x) => x.name).join(", ")}.`,
    );
  if (familyOf(part) === "column_stats") return statsSQL(t.name, c.name, c.type);
  return distributionSQL(t.name, c.name, Math.min(100, Math.max(1, Math.round(Number(limit) || 10))));
}

/** Returns the results of earlier calls for the same question, in order. Results that were lost in a reload are
 *  computed again. */
async function stepsBefore(log: Log, part: ToolPart, signal: AbortSignal, statements: Statements): Promise<Step[]> {
  const turn = log.conversation().turns.at(-1);
  const steps: Step[] = [];
  for (const p of turn?.parts ?? []) {
    if (p.kind !== "tool" || !clientFamilies.has(familyOf(p))) continue;
    if (p.key === part.key) break;
    steps.push(await stepOf(log, p, signal, statements));
  }
  return steps;
}

async function stepOf(log: Log, part: ToolPart, signal: AbortSignal, statements: Statements): Promise<Step> {
  const known = computed.get(`${log.id}.${part.key}`);
  if (known) return known;
  if (part.state !== "done") return { columns: [], rows: [] };
  const { result } = await run(log, part, signal, statements);
  keepComputed(`${log.id}.${part.key}`, result);
  return result;
}

/** Makes all rows of local results available to the panes. The server has only some of them, or none. */
function publishRows(c: Conversation): void {
  for (const t of c.turns) {
    for (const p of t.parts) {
      if (p.kind !== "tool" || !p.result || !clientFamilies.has(familyOf(p))) continue;
      const ref = { conversation: c.id, id: p.result.id };
      if (localRows(ref)) continue;
      const known = computed.get(`${c.id}.${p.key}`);
      if (known) keepLocalRows(ref, { columns: known.columns, rows: known.rows, rowCount: known.rowCount });
      else if (t.state !== "parked") void recompute(c.id, p.result);
      else settleRows(ref);
    }
  }
  for (const r of Object.values(c.results)) if (r.by === "user" && r.source === "client") void recompute(c.id, r);
}

const recomputed = new Map<string, readonly unknown[]>(); // the files with which each result was computed again

/** Computes the rows of a result again after a reload, if the files are open. */
async function recompute(conversation: string, r: StoredResult): Promise<void> {
  const ref = { conversation, id: r.id };
  const key = `${conversation}.${r.id}`;
  const { files } = local();
  if (!r.sql) return settleRows(ref);
  if (localRows(ref) || recomputed.get(key) === files || files.some((f) => f.state === "loading")) return;
  recomputed.set(key, files);
  try {
    if (!(await tables()).length) return;
    const names = (await tables()).map((t) => t.name);
    const all = logOf(conversation).conversation().results;
    const result = await query(overResults(r.sql, all, names), AbortSignal.timeout(60_000));
    // A result of different size comes from another file of the same name, so it is not used.
    const same = result.rowCount === r.row_count && result.columns.length === r.columns.length;
    if (same && !localRows(ref))
      keepLocalRows(ref, { columns: result.columns, rows: result.rows, rowCount: result.rowCount });
  } catch {
    // The file has changed or is closed: the panes show the rows that the server has.
  } finally {
    settleRows(ref);
  }
}
