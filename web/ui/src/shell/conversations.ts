// The list of conversations, newest first, with search.
import { useEffect, useSyncExternalStore } from "react";
import { noteFailure, onServerBack } from "../api/away";
import { api, errorMessage, type ConversationHead } from "../api/client";

interface List {
  query: string;
  items: readonly ConversationHead[];
  next?: string;
  loading: boolean;
  error?: string;
}

let list: List = { query: "", items: [], loading: true };
let pending: AbortController | undefined;
const listeners = new Set<() => void>();

function set(change: Partial<List>): void {
  list = { ...list, ...change };
  for (const f of listeners) f();
}

export function useConversations(): List {
  return useSyncExternalStore(
    (f) => {
      listeners.add(f);
      return () => listeners.delete(f);
    },
    () => list,
  );
}

/** Loads the first page again. */
export async function refresh(query = list.query): Promise<void> {
  pending?.abort();
  const mine = (pending = new AbortController());
  set({ query, loading: true });
  try {
    const page = await api.conversations(query, "", mine.signal);
    set({ items: page.conversations, next: page.next, loading: false, error: undefined });
  } catch (err) {
    if (mine.signal.aborted) return;
    set({ loading: false, error: errorMessage(err) });
    noteFailure(err);
  }
}

/** Loads the next page. */
export async function loadMore(): Promise<void> {
  if (!list.next || list.loading) return;
  const query = list.query;
  set({ loading: true });
  try {
    const page = await api.conversations(query, list.next);
    if (query === list.query) set({ items: [...list.items, ...page.conversations], next: page.next, loading: false });
  } catch (err) {
    set({ loading: false, error: errorMessage(err) });
    noteFailure(err);
  }
}

onServerBack(() => void refresh());

/** Changes an entry of the list without loading it. null removes it. */
export function patch(id: string, change: Partial<ConversationHead> | null): void {
  set({
    items:
      change === null
        ? list.items.filter((c) => c.id !== id)
        : list.items.map((c) => (c.id === id ? { ...c, ...change } : c)),
  });
}

/** Refreshes the list every 30 s while the page is visible, and when it gets the focus. */
export function useFreshList(): void {
  useEffect(() => {
    void refresh();
    const refreshIfVisible = () => {
      if (!document.hidden) void refresh();
    };
    addEventListener("focus", refreshIfVisible);
    const timer = setInterval(refreshIfVisible, 30_000);
    return () => {
      removeEventListener("focus", refreshIfVisible);
      clearInterval(timer);
    };
  }, []);
}
