// The assistant's calls that this page answers: drawings, which the server has checked and stores once the page accepts
// them, and moves of the chart. One tab answers each call.
import { useEffect } from "react";
import { api, ApiError, type ToolAnswer } from "../api/client";
import type { ToolPart } from "../log/conversation";
import { Log, logOf, useLog } from "../log/store";
import { familyOf, useTools } from "../log/tools";
import { seconds } from "./types";
import type { Parts } from "./useBoard";

const none: readonly ToolPart[] = [];
const waitingCalls = new WeakMap<object, readonly ToolPart[]>();

export const isDrawing = (p: ToolPart): boolean => familyOf(p) === "drawing";
const isChartCall = (p: ToolPart) => isDrawing(p) || familyOf(p) === "chart_view";

/** Returns the calls that wait for a client. Their families may not be known yet. */
function waiting(parts: readonly unknown[]): readonly ToolPart[] {
  let some = waitingCalls.get(parts);
  if (!some) {
    some = (parts as ToolPart[]).filter((p) => p.kind === "tool" && p.parked && p.state === "waiting" && !p.approval);
    waitingCalls.set(parts, some);
  }
  return some;
}

/** Answers the open calls of a conversation that are for this page. */
export function useChartCalls(log: Log | undefined, parts: Parts | undefined): void {
  const waits = useCalls(log);
  const known = useTools(); // calls in older logs get their family from the tools
  useEffect(() => {
    if (!log || !parts) return;
    for (const p of waits) if (isChartCall(p)) void answer(log, p, parts);
  }, [log, waits, parts, known]);
}

const waitAtMost = 30_000; // for an older conversation

/** Makes the drawings that wait in an older conversation. */
async function finishDrawings(log: Log, parts: Parts, signal: AbortSignal): Promise<void> {
  const unfollow = log.follow();
  let unsubscribe = () => {};
  await new Promise<void>((end) => {
    const work = () => {
      const last = log.conversation().turns.at(-1);
      const calls = last?.state === "parked" ? waiting(last.parts).filter(isDrawing) : [];
      for (const p of calls) void answer(log, p, parts);
      if (last && !calls.length && last.state !== "running" && last.state !== "idle") end();
    };
    unsubscribe = log.subscribe(work);
    signal.addEventListener("abort", () => end());
    setTimeout(end, waitAtMost);
    work();
  });
  unsubscribe();
  unfollow();
}

/** Makes the drawings of a chart that wait in conversations other than the one that is shown. */
export function useWaitingDrawings(symbol: string, shown: string | undefined, parts: Parts | undefined): void {
  const known = useTools();
  useEffect(() => {
    if (!parts) return;
    const stop = new AbortController();
    const finish = async () => {
      const { conversations } = await api.conversationsAbout(symbol, "parked");
      for (const c of conversations)
        if (c.id !== shown && !stop.signal.aborted) await finishDrawings(logOf(c.id), parts, stop.signal);
    };
    finish().catch(() => {}); // they are made when the chart is opened again
    return () => stop.abort();
  }, [symbol, shown, parts, known]);
}

/** An empty log, used if there is no conversation. */
export const emptyLog = new Log("");

function useCalls(log: Log | undefined): readonly ToolPart[] {
  return useLog(log ?? emptyLog, (c) => {
    const last = c.turns.at(-1);
    return last?.state === "parked" ? waiting(last.parts) : none;
  });
}

const running = new Set<string>();

/** Answers one call. Only the tab with the lock answers; the others wait for the lock and then find the call answered. */
async function answer(log: Log, part: ToolPart, parts: Parts): Promise<void> {
  const key = `footnote-call ${log.id}.${part.key}`;
  if (running.has(key)) return;
  running.add(key);
  try {
    await locked(key, async (waited) => {
      if (waited) await closed(log, part);
      if (!isOpen(log, part) || answeredCalls().includes(key)) return;
      await send(log, part, await execute(part, parts));
      recordAnswered(key);
      await closed(log, part);
    });
  } finally {
    running.delete(key);
  }
}

const closesWithin = 2000; // ms, unless the connection is lost or the other tab has failed

/** Waits until the log says that a call is answered, or the time is up. */
function closed(log: Log, part: ToolPart): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      unsubscribe();
      clearTimeout(timer);
      resolve();
    };
    const look = () => {
      if (!isOpen(log, part)) end();
    };
    const unsubscribe = log.subscribe(look);
    const timer = setTimeout(end, closesWithin);
    look();
  });
}

// The calls that tabs of this browser have answered: a tab may get the lock before it receives the other's result.
const storageKey = "footnote-answered";

function answeredCalls(): string[] {
  try {
    return JSON.parse(localStorage.getItem(storageKey) ?? "[]") as string[];
  } catch {
    return []; // storage is disabled; the server rejects a second answer
  }
}

function recordAnswered(key: string): void {
  try {
    localStorage.setItem(storageKey, JSON.stringify([...answeredCalls().slice(-50), key]));
  } catch {
    // Storage is disabled; the server rejects a second answer.
  }
}

/** Runs work once no other tab does; work learns whether it had to wait. */
async function locked(name: string, work: (waited: boolean) => Promise<void>): Promise<void> {
  // Without locks, several tabs may answer, and the server accepts the first answer.
  if (!navigator.locks) return work(false);
  const ran = await navigator.locks.request(name, { ifAvailable: true }, async (lock) => {
    if (lock) await work(false);
    return lock !== null;
  });
  if (!ran) await navigator.locks.request(name, () => work(true));
}

const isOpen = (log: Log, part: ToolPart) => {
  const last = log.conversation().turns.at(-1);
  return (
    last?.state === "parked" && last.parts.some((p) => p.kind === "tool" && p.key === part.key && p.state === "waiting")
  );
};

async function execute(part: ToolPart, { feed, plot }: Parts): Promise<ToolAnswer> {
  if (familyOf(part) !== "chart_view") return { call_id: part.key, content: '{"ok":true}' };
  const input = (part.input ?? {}) as Record<string, unknown>;
  const time = seconds((input.timestamp ?? input.time) as string | number | undefined);
  if (!Number.isFinite(time)) return { call_id: part.key, is_error: true, content: "The timestamp is not a time." };
  await feed.reach(time);
  plot.center(time);
  return { call_id: part.key, content: '{"ok":true}' };
}

async function send(log: Log, part: ToolPart, result: ToolAnswer): Promise<void> {
  for (let wait = 500; isOpen(log, part); wait = Math.min(wait * 2, 15_000)) {
    try {
      await api.turn(log.id, { answers: [result] });
      return;
    } catch (err) {
      // Another device answered first, or the call is closed.
      if (!(err instanceof ApiError) || (err.status > 0 && err.status < 500 && err.status !== 429)) return;
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }
}
