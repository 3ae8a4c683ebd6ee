// Calls of the assistant that this page carries out: drawings, which the server has
// checked already and writes into the document once the page says that it takes them,
// and moves of the chart. One tab answers, whichever is quicker.
import { useEffect } from "react";
import { api, ApiError, type ToolAnswer } from "../api/client";
import type { ToolPart } from "../log/conversation";
import { Log, useLog } from "../log/store";
import { familyOf, useTools } from "../log/tools";
import { seconds } from "./types";
import type { Parts } from "./useBoard";

const none: readonly ToolPart[] = [];
const waitingOf = new WeakMap<object, readonly ToolPart[]>();

export const isDrawing = (p: ToolPart): boolean => familyOf(p) === "drawing";
const ours = (p: ToolPart) => isDrawing(p) || familyOf(p) === "chart_view";

/** The calls that wait, for this page or another: whose they are may be known only later. */
function waiting(parts: readonly unknown[]): readonly ToolPart[] {
  let some = waitingOf.get(parts);
  if (!some) {
    some = (parts as ToolPart[]).filter((p) => p.kind === "tool" && p.parked && p.state === "waiting" && !p.approval);
    waitingOf.set(parts, some);
  }
  return some;
}

/** Answers the calls of a conversation that wait for this page. */
export function useChartCalls(log: Log | undefined, parts: Parts | undefined): void {
  const waits = useCalls(log);
  const known = useTools(); // the calls of older logs get their family from there
  useEffect(() => {
    if (!log || !parts) return;
    for (const p of waits) if (ours(p)) void answer(log, p, parts);
  }, [log, waits, parts, known]);
}

/** Stands where there is no conversation. */
export const nobody = new Log("");

function useCalls(log: Log | undefined): readonly ToolPart[] {
  return useLog(log ?? nobody, (c) => {
    const last = c.turns.at(-1);
    return last?.state === "parked" ? waiting(last.parts) : none;
  });
}

const running = new Set<string>();

/** Answers one call. A tab that has the lock works; the others wait for it, and find
 *  the call answered when it is done. */
async function answer(log: Log, part: ToolPart, parts: Parts): Promise<void> {
  const key = `footnote-call ${log.id}.${part.key}`;
  if (running.has(key)) return;
  running.add(key);
  try {
    await locked(key, async () => {
      if (!open(log, part) || done().includes(key)) return;
      await send(log, part, await carryOut(part, parts));
      note(key);
    });
  } finally {
    running.delete(key);
  }
}

// What tabs of this browser have answered: a tab that gets the lock next may not have
// read the result yet.
const kept = "footnote-answered";

function done(): string[] {
  try {
    return JSON.parse(localStorage.getItem(kept) ?? "[]") as string[];
  } catch {
    return []; // the server takes no second answer
  }
}

function note(key: string): void {
  try {
    localStorage.setItem(kept, JSON.stringify([...done().slice(-50), key]));
  } catch {
    // As above.
  }
}

function locked(name: string, work: () => Promise<void>): Promise<void> {
  // Where there are no locks, the server takes the first answer and no other.
  return navigator.locks ? navigator.locks.request(name, work) : work();
}

const open = (log: Log, part: ToolPart) => {
  const last = log.conversation().turns.at(-1);
  return (
    last?.state === "parked" && last.parts.some((p) => p.kind === "tool" && p.key === part.key && p.state === "waiting")
  );
};

async function carryOut(part: ToolPart, { feed, plot }: Parts): Promise<ToolAnswer> {
  if (familyOf(part) !== "chart_view") return { call_id: part.key, content: '{"ok":true}' };
  const input = (part.input ?? {}) as Record<string, unknown>;
  const time = seconds((input.timestamp ?? input.time) as string | number | undefined);
  if (!Number.isFinite(time)) return { call_id: part.key, is_error: true, content: "The timestamp is not a time." };
  await feed.reach(time);
  plot.center(time);
  return { call_id: part.key, content: '{"ok":true}' };
}

async function send(log: Log, part: ToolPart, given: ToolAnswer): Promise<void> {
  for (let wait = 500; open(log, part); wait = Math.min(wait * 2, 15_000)) {
    try {
      await api.turn(log.id, { answers: [given] });
      return;
    } catch (err) {
      // Another device was quicker, or the call is closed: that is its answer.
      if (!(err instanceof ApiError) || (err.status > 0 && err.status < 500 && err.status !== 429)) return;
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }
}
