// Shows a call in the thread from elsewhere: its steps unfold, its card opens and
// takes the focus.
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

/** The call is shown: what is drawn anew later does not take the focus again. */
export function revealed(call: string): void {
  if (wanted?.call !== call) return;
  wanted = undefined;
  for (const f of listeners) f();
}

/** Changes each time the call is to be shown; undefined while another is. */
export function useRevealed(call: string): object | undefined {
  return useSyncExternalStore(subscribe, () => (wanted?.call === call ? wanted : undefined));
}

/** The same for any of the calls among parts. */
export function useAnyRevealed(parts: readonly Part[]): object | undefined {
  return useSyncExternalStore(subscribe, () =>
    wanted && parts.some((p) => p.kind === "tool" && p.key === wanted?.call) ? wanted : undefined,
  );
}
