// The chat of the chart page: whether it is open, and what happens in it while it is closed. On a wide screen the
// preference is stored; on a narrow screen the chat covers the chart, so it starts closed.
import { useCallback, useEffect, useMemo, useState } from "react";
import { useWide } from "../lib/media";
import { busy, type TurnState } from "../log/conversation";
import { logOf, useLog, type Log } from "../log/store";
import { emptyLog, useChartCalls } from "./calls";
import { Observable, useObservable } from "../lib/observable";
import { setPrefs, usePrefs } from "./prefs";
import type { Parts } from "./useBoard";

export interface ChatState {
  open: boolean;
  setOpen: (open: boolean) => void;
  /** An answer that is in progress or finished while the chat is closed. */
  unseen?: "answering" | "answered";
}

const covers = new Observable(false); // whether the chat covers the chart on a narrow screen
const endStates: ReadonlySet<TurnState> = new Set(["finished", "failed", "stopped"]);

/** Opens the chat. */
export function openChat(): void {
  covers.set(true);
  setPrefs({ talk: true });
}

/** Returns the state of the chat. Follows the conversation even if the chat is closed, to answer its calls. */
export function useChat(conversation: string | undefined, parts: Parts | undefined): ChatState {
  const wide = useWide();
  const { talk } = usePrefs();
  const covered = useObservable(covers);
  const open = wide ? talk : covered;
  const setOpen = useCallback((to: boolean) => (wide ? setPrefs({ talk: to }) : covers.set(to)), [wide]);
  const log = useMemo(() => (conversation ? logOf(conversation) : undefined), [conversation]);
  useEffect(() => log?.follow(), [log]);
  useChartCalls(log, parts);
  const answering = useLog(log ?? emptyLog, (c) => c.turns.length > 0 && busy(c));
  const answers = useLog(log ?? emptyLog, (c) => c.turns.filter((t) => endStates.has(t.state)).length);
  const [seen, setSeen] = useState<{ log: Log | undefined; answers: number }>();
  useEffect(() => {
    if (open) setSeen({ log, answers });
  }, [open, log, answers]);
  const answered = seen !== undefined && seen.log === log && answers > seen.answers;
  return { open, setOpen, unseen: open ? undefined : answering ? "answering" : answered ? "answered" : undefined };
}
