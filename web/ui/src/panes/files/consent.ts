// Records how many cells of local results the user sends to the model. By default the page asks each time and shows the
// exact cells. A choice applies to one conversation and the files that are open in it.
import { useSyncExternalStore } from "react";
import type { ToolPart } from "../../log/conversation";
import { allowances, limitCells, cellsOf, type Allowance, type CallText, type Sent, type LocalResult } from "./cells";
import { local } from "./store";

export type Choice = "ask" | Allowance;

/** A result that waits for the user's decision. */
export interface Ask {
  key: string; // of the call
  conversation: string;
  why: string; // the model's reason for the call
  result: LocalResult;
  /** Returns what would be sent with an allowance. */
  sent: (allowance: Allowance) => Sent;
  answer: (allowance: Allowance) => void;
}

const storageKey = "footnote-cells";
const maxChoices = 300; // the oldest are dropped
let choices: Record<string, Choice> = stored();
let asks: readonly Ask[] = [];
const listeners = new Set<() => void>();

function stored(): Record<string, Choice> {
  try {
    const all = JSON.parse(localStorage.getItem(storageKey) ?? "{}") as Record<string, unknown>;
    return Object.fromEntries(
      Object.entries(all).filter((e): e is [string, Choice] => allowances.some((a) => a === e[1])),
    );
  } catch {
    return {}; // storage is disabled, or the value is invalid
  }
}

function changed(): void {
  for (const f of listeners) f();
}

// A choice in one tab applies to the others.
addEventListener("storage", (e) => {
  if (e.key !== storageKey) return;
  choices = stored();
  for (const c of new Set(asks.map((a) => a.conversation))) settle(c);
  changed();
});

const subscribe = (f: () => void) => {
  listeners.add(f);
  return () => listeners.delete(f);
};

/** The key of a choice contains the open files, so that opening another file asks again. */
const keyOf = (conversation: string) =>
  [
    conversation,
    ...local()
      .files.map((f) => f.id)
      .sort(),
  ].join(" ");

function choiceOf(conversation: string): Choice {
  return choices[keyOf(conversation)] ?? "ask";
}

export const useChoice = (conversation: string): Choice =>
  useSyncExternalStore(subscribe, () => choiceOf(conversation));

/** Sets the choice for later results, and for those that wait. */
export function choose(conversation: string, choice: Choice): void {
  const { [keyOf(conversation)]: _, ...others } = choices;
  choices = {
    ...Object.fromEntries(Object.entries(others).slice(1 - maxChoices)),
    ...(choice === "ask" ? {} : { [keyOf(conversation)]: choice }),
  };
  try {
    localStorage.setItem(storageKey, JSON.stringify(choices));
  } catch {
    // Storage is disabled: the choice lasts until the page is reloaded.
  }
  settle(conversation);
  changed();
}

/** Answers the results that wait, if the user has made a choice. */
function settle(conversation: string): void {
  const choice = choiceOf(conversation);
  if (choice !== "ask") for (const a of asks.filter((x) => x.conversation === conversation)) a.answer(choice);
}

const none: readonly Ask[] = [];
const known = new Map<string, readonly Ask[]>();

/** Returns the results of a conversation that wait for a decision, oldest first. */
export function useAsks(conversation: string): readonly Ask[] {
  return useSyncExternalStore(subscribe, () => {
    const some = asks.filter((a) => a.conversation === conversation);
    const before = known.get(conversation) ?? none;
    if (some.length === before.length && some.every((a, i) => a === before[i])) return before;
    known.set(conversation, some);
    return some;
  });
}

/** Returns the part of a result to send to the model. Asks the user if there is no choice and there are cells to send.
 *  The offline planner gets no cells. */
export async function approvedCells(
  conversation: string,
  part: ToolPart,
  result: LocalResult,
  call: CallText,
  schema: readonly string[],
  planner: boolean,
  signal: AbortSignal,
): Promise<Sent> {
  const sent = (allowance: Allowance) => limitCells(result, allowance, call, schema);
  const withoutCells = sent(0);
  if (planner || cellsOf(sent(allowances.at(-1)!), withoutCells) === 0) return withoutCells;
  const choice = choiceOf(conversation);
  if (choice !== "ask") return sent(choice);
  const why = (part.input as { thought?: unknown } | null)?.thought;
  return new Promise((resolve, reject) => {
    const end = () => {
      asks = asks.filter((a) => a !== ask);
      signal.removeEventListener("abort", stopped);
      changed();
    };
    const stopped = () => {
      end();
      reject(new DOMException("stopped", "AbortError"));
    };
    const ask: Ask = {
      key: part.key,
      conversation,
      why: typeof why === "string" ? why : "",
      result,
      sent,
      answer: (allowance) => {
        end();
        resolve(sent(allowance));
      },
    };
    if (signal.aborted) return reject(new DOMException("stopped", "AbortError"));
    signal.addEventListener("abort", stopped);
    asks = [...asks, ask];
    changed();
  });
}
