// What a person lets a model see of the results of their files. Nothing, until they
// say so: the first cells of a conversation wait for a yes, beside a table of exactly
// these. What was said holds for one conversation and the files that are open in it.
import { useSyncExternalStore } from "react";
import type { ToolPart } from "../../log/conversation";
import { allowances, allowed, cellsOf, type Allowance, type Said, type Sent, type Whole } from "./cells";
import { local } from "./store";

export type Choice = "ask" | Allowance;

/** A result that waits for a yes or a no. */
export interface Ask {
  key: string; // of the call
  conversation: string;
  why: string; // the model's reason for the call
  whole: Whole;
  /** Exactly what would be sent with so many cells allowed. */
  sent: (allowance: Allowance) => Sent;
  answer: (allowance: Allowance) => void;
}

const at = "footnote-cells";
const mostKept = 300; // choices; the oldest are asked again
let choices: Record<string, Choice> = kept();
let asks: readonly Ask[] = [];
const listeners = new Set<() => void>();

function kept(): Record<string, Choice> {
  try {
    const all = JSON.parse(localStorage.getItem(at) ?? "{}") as Record<string, unknown>;
    return Object.fromEntries(
      Object.entries(all).filter((e): e is [string, Choice] => allowances.some((a) => a === e[1])),
    );
  } catch {
    return {}; // no storage, or not ours
  }
}

function changed(): void {
  for (const f of listeners) f();
}

// What is chosen in one tab holds in the others.
addEventListener("storage", (e) => {
  if (e.key !== at) return;
  choices = kept();
  for (const c of new Set(asks.map((a) => a.conversation))) settle(c);
  changed();
});

const subscribe = (f: () => void) => {
  listeners.add(f);
  return () => listeners.delete(f);
};

/** A choice is about these files; another one beside them is asked about anew. */
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

/** Holds for the results to come, and for those that wait. */
export function choose(conversation: string, choice: Choice): void {
  const { [keyOf(conversation)]: _, ...others } = choices;
  choices = {
    ...Object.fromEntries(Object.entries(others).slice(1 - mostKept)),
    ...(choice === "ask" ? {} : { [keyOf(conversation)]: choice }),
  };
  try {
    localStorage.setItem(at, JSON.stringify(choices));
  } catch {
    // It holds for this page only, then.
  }
  settle(conversation);
  changed();
}

/** Answers what waits, once there is a choice. */
function settle(conversation: string): void {
  const choice = choiceOf(conversation);
  if (choice !== "ask") for (const a of asks.filter((x) => x.conversation === conversation)) a.answer(choice);
}

const none: readonly Ask[] = [];
const known = new Map<string, readonly Ask[]>();

/** The results of a conversation that wait for a yes or a no, the oldest first. */
export function useAsks(conversation: string): readonly Ask[] {
  return useSyncExternalStore(subscribe, () => {
    const some = asks.filter((a) => a.conversation === conversation);
    const before = known.get(conversation) ?? none;
    if (some.length === before.length && some.every((a, i) => a === before[i])) return before;
    known.set(conversation, some);
    return some;
  });
}

/** What of a result goes to the model. It asks where nothing has been chosen and there
 *  is something to send. A planner without a model gets no cells at all. */
export async function agreed(
  conversation: string,
  part: ToolPart,
  whole: Whole,
  said: Said,
  schema: readonly string[],
  planner: boolean,
  signal: AbortSignal,
): Promise<Sent> {
  const sent = (allowance: Allowance) => allowed(whole, allowance, said, schema);
  const blind = sent(0);
  if (planner || cellsOf(sent(allowances.at(-1)!), blind) === 0) return blind;
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
      whole,
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
