// Asking: what was sent is shown at once, until the log has it.
import { useSyncExternalStore } from "react";
import { api, type ChartContext, type Question } from "../api/client";
import type { Turn } from "../log/conversation";
import { logOf, useLog, type Log } from "../log/store";
import { go } from "../lib/router";

interface Pending {
  turn: Turn;
  after: number; // the newest question when it was asked
}

const pending = new WeakMap<Log, Pending>();
const listeners = new Set<() => void>();

function set(log: Log, p: Pending | undefined): void {
  if (p) pending.set(log, p);
  else pending.delete(log);
  for (const f of listeners) f();
}

function shown(text: string): Turn {
  return { seq: -1, text, time: new Date().toISOString(), state: "idle", parts: [] };
}

/** The question that was asked and is not in the log yet. */
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

/** Opens a conversation with its first question and goes there. */
export async function open(
  q: Question,
  there: (conversation: string) => void = (conversation) => go({ conversation }),
): Promise<void> {
  const { conversation } = await api.open({ ...q, text: q.text.trim() });
  set(logOf(conversation), { turn: shown(q.text.trim()), after: 0 });
  there(conversation);
}

/** Asks the next question of a conversation. */
export async function askNext(log: Log, text: string, context?: string | ChartContext): Promise<void> {
  set(log, { turn: shown(text.trim()), after: log.conversation().turns.at(-1)?.seq ?? 0 });
  try {
    await api.turn(log.id, { text: text.trim(), ...(context ? { context } : {}) });
  } catch (err) {
    set(log, undefined);
    throw err;
  }
}
