// A React hook that loads data through a small cache. For data that does not change while the page is open, such as
// schemas, assistants and pages of results.
import { useCallback, useEffect, useState, useSyncExternalStore } from "react";
import { noteFailure, onServerBack } from "./away";
import { errorMessage } from "./client";

export interface Loaded<T> {
  data?: T;
  error?: string;
  loading: boolean;
  reload: () => void;
}

interface Entry {
  value: { data?: unknown; error?: string; loading: boolean };
  started: boolean;
  get?: () => Promise<unknown>; // of the last attempt
  listeners: Set<() => void>;
}

const maxEntries = 200;
const cache = new Map<string, Entry>();

function entry(key: string): Entry {
  let e = cache.get(key);
  if (!e) {
    e = { value: { loading: true }, started: false, listeners: new Set() };
    cache.set(key, e);
    for (const [k, old] of cache) {
      if (cache.size <= maxEntries) break;
      if (old.listeners.size === 0 && k !== key) cache.delete(k);
    }
  }
  return e;
}

function put(e: Entry, value: Entry["value"]): void {
  e.value = value;
  for (const f of e.listeners) f();
}

async function load(e: Entry, get: () => Promise<unknown>): Promise<void> {
  e.started = true;
  e.get = get;
  put(e, { ...e.value, loading: true });
  try {
    put(e, { data: await get(), loading: false });
  } catch (err) {
    put(e, { ...e.value, error: errorMessage(err), loading: false });
    noteFailure(err);
  }
}

if (typeof addEventListener === "function") addEventListener("online", retryFailed);
onServerBack(retryFailed);

const nothing: Entry = { value: { loading: false }, started: true, listeners: new Set() };

/** Loads data once per key. An empty key loads nothing. */
export function useLoad<T>(key: string, get: () => Promise<T>): Loaded<T> {
  const e = key ? entry(key) : nothing;
  const subscribe = useCallback((f: () => void) => (e.listeners.add(f), () => void e.listeners.delete(f)), [e]);
  const value = useSyncExternalStore(subscribe, () => e.value) as { data?: T; error?: string; loading: boolean };
  useEffect(() => {
    if (!e.started) void load(e, get);
  });
  // A component that is mounted after a failure tries again.
  useEffect(() => {
    if (e.value.error !== undefined && !e.value.loading) void load(e, get);
  }, [e]);
  const reload = useCallback(() => void (key && load(e, get)), [key, e]);
  return { ...value, reload };
}

/** Marks all entries whose key has the prefix as stale. Mounted components load them again at once. */
export function invalidate(prefix: string): void {
  for (const [key, e] of cache) {
    if (!key.startsWith(prefix)) continue;
    e.started = false;
    put(e, { ...e.value }); // makes mounted components load again
  }
}

/** Repeats the failed loads whose result a mounted component waits for. */
export function retryFailed(): void {
  for (const e of cache.values()) {
    if (e.get && e.value.error !== undefined && !e.value.loading && e.listeners.size > 0) void load(e, e.get);
  }
}

/** Returns the value once it has not changed for the given time. */
export function useDebounced<T>(value: T, ms: number): T {
  const [debounced, setDebounced] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setDebounced(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return debounced;
}
