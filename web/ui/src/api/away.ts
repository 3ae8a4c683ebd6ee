// Whether the server answers. Once a call found it away it is asked until it is back;
// then what could not be had is loaded again.
import { useSyncExternalStore } from "react";
import { answers } from "../lib/answers";
import { ApiError } from "./client";

let gone = false;
const watchers = new Set<() => void>();
const waiting = new Set<() => void>();

/** Calls f each time the server is back. */
export function whenBack(f: () => void): void {
  waiting.add(f);
}

/** Whether a failure is that of a server which is away: no answer, or one of a proxy
 *  before it. */
function isAway(err: unknown): boolean {
  return (
    err instanceof ApiError &&
    (err.code === "unreachable" || (err.code === "" && err.status >= 502 && err.status <= 504))
  );
}

/** Notes what a call failed with. */
export function noteFailure(err: unknown): void {
  if (!gone && isAway(err)) void waitForIt();
}

async function waitForIt(): Promise<void> {
  set(true);
  await answers();
  set(false);
  for (const f of waiting) f();
}

function set(now: boolean): void {
  gone = now;
  for (const f of watchers) f();
}

export function useAway(): boolean {
  return useSyncExternalStore(
    (f) => {
      watchers.add(f);
      return () => watchers.delete(f);
    },
    () => gone,
  );
}
