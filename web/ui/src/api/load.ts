// Loading with React: a small cache by key, for what does not change while the page
// is open (schemas, assistants, pages of results).
import { useCallback, useEffect, useState, useSyncExternalStore } from "react";
import { noteFailure, whenBack } from "./away";
import { sentence } from "./client";

export interface Loaded<T> {
  data?: T;
  error?: string;
  loading: boolean;
  reload: () => void;
}

interface Entry {
  value: { data?: unknown; error?: string; loading: boolean };
  started: boolean;
  get?: () => Promise<unknown>; // of the last try
  listeners: Set<() => void>;
}

const kept = 200;
const cache = new Map<string, Entry>();

function entry(key: string): Entry {
  let e = cache.get(key);
  if (!e) {
    e = { value: { loading: true }, started: false, listeners: new Set() };
    cache.set(key, e);
    for (const [k, old] of cache) {
      if (cache.size <= kept) break;
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
    put(e, { ...e.value, error: sentence(err), loading: false });
    noteFailure(err);
  }
}

if (typeof addEventListener === "function") addEventListener("online", retryFailed);
whenBack(retryFailed);

const nothing: Entry = { value: { loading: false }, started: true, listeners: new Set() };

/** Loads once per key; an empty key loads nothing. */
export function useLoad<T>(key: string, get: () => Promise<T>): Loaded<T> {
  const e = key ? entry(key) : nothing;
  const subscribe = useCallback((f: () => void) => (e.listeners.add(f), () => void e.listeners.delete(f)), [e]);
  const value = useSyncExternalStore(subscribe, () => e.value) as { data?: T; error?: string; loading: boolean };
  useEffect(() => {
    if (!e.started) void load(e, get);
  });
  useEffect(() => {
    if (e.value.error !== undefined && !e.value.loading) void load(e, get);
  }, [e]); // what failed is tried again by whoever shows it next
  const reload = useCallback(() => void (key && load(e, get)), [key, e]);
  return { ...value, reload };
}

/** Forgets what begins with a prefix, so that the next look loads it anew. */
export function invalidate(prefix: string): void {
  for (const [key, e] of cache) {
    if (!key.startsWith(prefix)) continue;
    e.started = false;
    put(e, { ...e.value }); // those who show it load again
  }
}

/** Tries again what is shown as failed: the server is back. */
export function retryFailed(): void {
  for (const e of cache.values()) {
    if (e.get && e.value.error !== undefined && !e.value.loading && e.listeners.size > 0) void load(e, e.get);
  }
}

/** A value that follows another after a pause. */
export function useDebounced<T>(value: T, ms: number): T {
  const [late, setLate] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setLate(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return late;
}
