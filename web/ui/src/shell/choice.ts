// What the next question is asked with: assistant, tier and data. It lives beside
// the page before the first question, so that a command can change it, too.
import { useSyncExternalStore } from "react";
import type { Choice } from "../composer/Composer";
import { go } from "../lib/router";

const at = "footnote-sources"; // what was asked last is asked again after a reload

function kept(): string[] | undefined {
  try {
    const names: unknown = JSON.parse(localStorage.getItem(at) ?? "null");
    return Array.isArray(names) && names.length > 0 && names.every((n) => typeof n === "string") ? names : undefined;
  } catch {
    return undefined; // no storage, or not ours
  }
}

let choice: Choice = { sources: kept() };
let fresh: readonly string[] = []; // uploads that the list may not have yet
const listeners = new Set<() => void>();

/** Chooses. The assistant of charts has a page of its own, and is asked there. */
export function setChoice(c: Choice): void {
  if (c.assistant === "chart") return go({ chart: {} });
  choice = c;
  try {
    if (c.sources) localStorage.setItem(at, JSON.stringify(c.sources));
    else localStorage.removeItem(at);
  } catch {
    // It holds for this page only, then.
  }
  for (const f of listeners) f();
}

/** Asks a file that was just uploaded, with the assistant that asks sources. */
export function chooseUpload(name: string): void {
  fresh = [...fresh, name];
  setChoice({ ...choice, assistant: choice.assistant === "explore" ? undefined : choice.assistant, sources: [name] });
}

/** Whether a source is in the list, or will be. */
export function isThere(name: string, there: readonly string[]): boolean {
  return there.includes(name) || fresh.includes(name);
}

/** Forgets a chosen source that is no longer there, such as an upload that was deleted. */
export function forgetMissing(there: readonly string[]): void {
  fresh = fresh.filter((name) => !there.includes(name));
  if (choice.sources?.some((name) => !isThere(name, there))) setChoice({ ...choice, sources: undefined });
}

/** Asks the files that are open in this browser. */
export function chooseLocal(): void {
  setChoice({ assistant: "explore", sources: choice.sources });
}

export function useChoice(): Choice {
  return useSyncExternalStore(
    (f) => (listeners.add(f), () => void listeners.delete(f)),
    () => choice,
  );
}
