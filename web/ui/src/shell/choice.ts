// What the next question is asked with: assistant, tier and data. It lives beside
// the page before the first question, so that a command can change it, too.
import { useSyncExternalStore } from "react";
import type { Choice } from "../composer/Composer";
import { go } from "../lib/router";

const at = "footnote-choice"; // the data of the last question; a reload keeps them
const files = "explore"; // the assistant that reads files in this browser

const isNames = (v: unknown): v is string[] =>
  Array.isArray(v) && v.length > 0 && v.every((n) => typeof n === "string");

function kept(): Choice {
  try {
    const { assistant, sources }: { assistant?: unknown; sources?: unknown } = JSON.parse(
      localStorage.getItem(at) ?? "{}",
    );
    return { assistant: assistant === files ? files : undefined, sources: isNames(sources) ? sources : undefined };
  } catch {
    return {}; // no storage, or not ours
  }
}

let choice: Choice = kept();
const atStart = choice;
let fresh: readonly string[] = []; // uploads that the list may not have yet
const listeners = new Set<() => void>();

/** Chooses. The assistant of charts has a page of its own, and is asked there. */
export function setChoice(c: Choice): void {
  if (c.assistant === "chart") return go({ chart: {} });
  choice = c;
  try {
    localStorage.setItem(
      at,
      JSON.stringify({ assistant: c.assistant === files ? files : undefined, sources: c.sources }),
    );
  } catch {
    // It holds for this page only, then.
  }
  for (const f of listeners) f();
}

/** Asks a file that was just uploaded, with the assistant that asks sources. */
export function chooseUpload(name: string): void {
  fresh = [...fresh, name];
  setChoice({ ...choice, assistant: choice.assistant === files ? undefined : choice.assistant, sources: [name] });
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
  setChoice({ assistant: files, sources: choice.sources });
}

/** Asks the server's data again when a reload has closed the files. */
export function forgetClosed(): void {
  if (choice === atStart && choice.assistant === files) setChoice({ ...choice, assistant: undefined });
}

export function useChoice(): Choice {
  return useSyncExternalStore(
    (f) => (listeners.add(f), () => void listeners.delete(f)),
    () => choice,
  );
}
