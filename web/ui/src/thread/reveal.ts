// Shows a call in the thread, from another part of the page: expands its steps, opens its card and focuses it.
import { useSyncExternalStore } from "react";
import type { Part } from "../log/conversation";

let wanted: { call: string } | undefined;
const listeners = new Set<() => void>();
const subscribe = (f: () => void) => (listeners.add(f), () => void listeners.delete(f));

/** Shows the call with this id. */
export function reveal(call: string): void {
  wanted = { call };
  for (const f of listeners) f();
}

/** Ends the request for a call that is shown, so that its card does not take the focus again. */
export function revealed(call: string): void {
  if (wanted?.call !== call) return;
  wanted = undefined;
  for (const f of listeners) f();
}

/** Returns the request to show a call. It is a new object for each request, and undefined if there is none. */
export function useRevealed(call: string): object | undefined {
  return useSyncExternalStore(subscribe, () => (wanted?.call === call ? wanted : undefined));
}

/** Returns the request to show any of the calls among parts. */
export function useAnyRevealed(parts: readonly Part[]): object | undefined {
  return useSyncExternalStore(subscribe, () =>
    wanted && parts.some((p) => p.kind === "tool" && p.key === wanted?.call) ? wanted : undefined,
  );
}
