// What the next question is asked with: assistant, tier and data. It lives beside
// the page before the first question, so that a command can change it, too.
import { useSyncExternalStore } from "react";
import type { Choice } from "../composer/Composer";
import { go } from "../lib/router";

let choice: Choice = {};
const listeners = new Set<() => void>();

/** Chooses. The assistant of charts has a page of its own, and is asked there. */
export function setChoice(c: Choice): void {
  if (c.assistant === "chart") return go({ chart: {} });
  choice = c;
  for (const f of listeners) f();
}

export function useChoice(): Choice {
  return useSyncExternalStore(
    (f) => (listeners.add(f), () => void listeners.delete(f)),
    () => choice,
  );
}
