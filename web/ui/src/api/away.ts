// Tracks whether the server is reachable. After a call fails because it is not, this polls until the server responds
// and then runs the callbacks of onServerBack, which repeat what failed.
import { useSyncExternalStore } from "react";
import { serverReady } from "../lib/serverReady";
import { ApiError } from "./client";

let away = false;
const watchers = new Set<() => void>();
const backListeners = new Set<() => void>();

/** Calls f each time the server becomes reachable again. */
export function onServerBack(f: () => void): void {
  backListeners.add(f);
}

/** Reports whether an error means that the server is unreachable: no response, or a proxy's 502 to 504. */
function isUnreachable(err: unknown): boolean {
  return (
    err instanceof ApiError &&
    (err.code === "unreachable" || (err.code === "" && err.status >= 502 && err.status <= 504))
  );
}

/** Starts polling the server if err means that it is unreachable. */
export function noteFailure(err: unknown): void {
  if (!away && isUnreachable(err)) void pollUntilBack();
}

async function pollUntilBack(): Promise<void> {
  setAway(true);
  await serverReady();
  setAway(false);
  for (const f of backListeners) f();
}

function setAway(now: boolean): void {
  away = now;
  for (const f of watchers) f();
}

/** Reports whether the server is unreachable. */
export function useAway(): boolean {
  return useSyncExternalStore(
    (f) => {
      watchers.add(f);
      return () => watchers.delete(f);
    },
    () => away,
  );
}
