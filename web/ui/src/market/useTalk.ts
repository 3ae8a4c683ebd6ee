// The chat of the chart page: whether it is seen, and what goes on in it when it is not.
// Beside the chart it stays as it was left; on a narrow screen it covers the chart, and
// waits to be asked for.
import { useCallback, useEffect, useMemo, useState } from "react";
import { useWide } from "../lib/media";
import { busy, type TurnState } from "../log/conversation";
import { logOf, useLog, type Log } from "../log/store";
import { nobody, useChartCalls } from "./calls";
import { Cell, useCell } from "./cell";
import { setPrefs, usePrefs } from "./prefs";
import type { Parts } from "./useBoard";

export interface Talking {
  on: boolean;
  show: (on: boolean) => void;
  /** What is not seen of it: an answer that is being made, or one that is there. */
  unseen?: "answering" | "answered";
}

const covers = new Cell(false);
const over: ReadonlySet<TurnState> = new Set(["finished", "failed", "stopped"]);

/** Whoever opens a conversation wants to see it, however the chart was left. */
export function openTalk(): void {
  covers.set(true);
  setPrefs({ talk: true });
}

/** Follows the conversation, seen or not: its calls wait for this page. */
export function useTalk(conversation: string | undefined, parts: Parts | undefined): Talking {
  const wide = useWide();
  const { talk } = usePrefs();
  const covered = useCell(covers);
  const on = wide ? talk : covered;
  const show = useCallback((to: boolean) => (wide ? setPrefs({ talk: to }) : covers.set(to)), [wide]);
  const log = useMemo(() => (conversation ? logOf(conversation) : undefined), [conversation]);
  useEffect(() => log?.follow(), [log]);
  useChartCalls(log, parts);
  const answering = useLog(log ?? nobody, (c) => c.turns.length > 0 && busy(c));
  const answers = useLog(log ?? nobody, (c) => c.turns.filter((t) => over.has(t.state)).length);
  const [seen, setSeen] = useState<{ log: Log | undefined; answers: number }>();
  useEffect(() => {
    if (on) setSeen({ log, answers });
  }, [on, log, answers]);
  const answered = seen !== undefined && seen.log === log && answers > seen.answers;
  return { on, show, unseen: on ? undefined : answering ? "answering" : answered ? "answered" : undefined };
}
