// The assistant, tier and sources for the next new conversation. Kept outside the start page, so that commands can
// change them, too.
import { useSyncExternalStore } from "react";
import type { Choice } from "../composer/Composer";
import { pageOf } from "../lib/modules";
import { go } from "../lib/router";

const storageKey = "footnote-choice";
const filesAssistant = "explore"; // it reads files in this browser

const isNames = (v: unknown): v is string[] =>
  Array.isArray(v) && v.length > 0 && v.every((n) => typeof n === "string");

function stored(): Choice {
  try {
    const { assistant, sources }: { assistant?: unknown; sources?: unknown } = JSON.parse(
      localStorage.getItem(storageKey) ?? "{}",
    );
    return {
      assistant: assistant === filesAssistant ? filesAssistant : undefined,
      sources: isNames(sources) ? sources : undefined,
    };
  } catch {
    return {}; // storage is disabled, or the value is invalid
  }
}

let choice: Choice = stored();
const atStart = choice;
let uploaded: readonly string[] = []; // not in the list of sources yet
const listeners = new Set<() => void>();

/** Sets the choice. If the assistant has a page of its own, opens that page instead. */
export function setChoice(c: Choice): void {
  const page = pageOf(c.assistant);
  if (page) return go(page);
  choice = c;
  try {
    localStorage.setItem(
      storageKey,
      JSON.stringify({ assistant: c.assistant === filesAssistant ? filesAssistant : undefined, sources: c.sources }),
    );
  } catch {
    // Storage is disabled: the choice lasts until the page is reloaded.
  }
  for (const f of listeners) f();
}

/** Chooses a new upload as the source, with an assistant that queries sources. */
export function chooseUpload(name: string): void {
  uploaded = [...uploaded, name];
  setChoice({
    ...choice,
    assistant: choice.assistant === filesAssistant ? undefined : choice.assistant,
    sources: [name],
  });
}

/** Reports whether a source is listed or was just uploaded. */
export function isAvailable(name: string, listed: readonly string[]): boolean {
  return listed.includes(name) || uploaded.includes(name);
}

/** Resets the chosen source if it no longer exists, such as a deleted upload. */
export function forgetMissing(listed: readonly string[]): void {
  uploaded = uploaded.filter((name) => !listed.includes(name));
  if (choice.sources?.some((name) => !isAvailable(name, listed))) setChoice({ ...choice, sources: undefined });
}

/** Chooses the files that are open in this browser. */
export function chooseLocal(): void {
  setChoice({ assistant: filesAssistant, sources: choice.sources });
}

/** Returns to the server's sources if a reload has closed the files. */
export function forgetClosed(): void {
  if (choice === atStart && choice.assistant === filesAssistant) setChoice({ ...choice, assistant: undefined });
}

export function useChoice(): Choice {
  return useSyncExternalStore(
    (f) => (listeners.add(f), () => void listeners.delete(f)),
    () => choice,
  );
}
