// Sends questions. A question is shown immediately, before it is in the log.
import { useSyncExternalStore } from "react";
import { api, type Asking, type Context, type Question } from "../api/client";
import type { Turn } from "../log/conversation";
import { logOf, useLog, type Log } from "../log/store";
import { go } from "../lib/router";

interface Pending {
  turn: Turn;
  after: number; // seq of the newest question when this one was sent
}

const pending = new WeakMap<Log, Pending>();
const listeners = new Set<() => void>();

function set(log: Log, p: Pending | undefined): void {
  if (p) pending.set(log, p);
  else pending.delete(log);
  for (const f of listeners) f();
}

function pendingTurn(text: string): Turn {
  return { seq: -1, text, time: new Date().toISOString(), state: "idle", parts: [] };
}

/** Returns the question that was sent and is not in the log yet. */
export function usePending(log: Log): Turn | undefined {
  const p = useSyncExternalStore(
    (f) => {
      listeners.add(f);
      return () => listeners.delete(f);
    },
    () => pending.get(log),
  );
  const newest = useLog(log, (c) => c.turns.at(-1)?.seq ?? 0);
  return p && newest <= p.after ? p.turn : undefined;
}

/** Starts a conversation with a question and shows it. */
export async function startConversation(
  q: Question,
  onOpen: (conversation: string) => void = (conversation) => go({ conversation }),
): Promise<void> {
  const { conversation } = await api.open({ ...q, text: q.text.trim() });
  const log = logOf(conversation);
  log.opened(q.assistant ?? "");
  set(log, { turn: pendingTurn(q.text.trim()), after: 0 });
  onOpen(conversation);
}

const chosen = new WeakMap<Log, string>();

/** Chooses the tier for the next question of a conversation and those after it. */
export function chooseTier(log: Log, tier: string): void {
  chosen.set(log, tier);
  for (const f of listeners) f();
}

/** Returns the tier of the next question in a conversation. */
export function useTier(log: Log): string | undefined {
  const own = useLog(log, (c) => c.tier);
  return useSyncExternalStore(
    (f) => {
      listeners.add(f);
      return () => listeners.delete(f);
    },
    () => chosen.get(log) ?? own,
  );
}

/** Sends a question, an edit or a request to answer again, with the chosen tier if it is another one. */
export async function sendTurn(log: Log, body: Asking): Promise<void> {
  const tier = chosen.get(log);
  await api.turn(log.id, tier === undefined || tier === log.conversation().tier ? body : { ...body, tier });
}

/** Asks the next question in a conversation. */
export async function askNext(log: Log, text: string, context?: Context): Promise<void> {
  set(log, { turn: pendingTurn(text.trim()), after: log.conversation().turns.at(-1)?.seq ?? 0 });
  try {
    await sendTurn(log, { text: text.trim(), ...(context ? { context } : {}) });
  } catch (err) {
    set(log, undefined);
    throw err;
  }
}
