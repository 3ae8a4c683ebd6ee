// The list of conversations, newest first, with search.
import { useEffect, useSyncExternalStore } from "react";
import { noteFailure, whenBack } from "../api/away";
import { api, sentence, type ConversationHead } from "../api/client";

interface List {
  query: string;
  items: readonly ConversationHead[];
  next?: string;
  loading: boolean;
  error?: string;
}

let list: List = { query: "", items: [], loading: true };
let asked: AbortController | undefined;
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
  asked?.abort();
  const mine = (asked = new AbortController());
  set({ query, loading: true });
  try {
    const page = await api.conversations(query, "", mine.signal);
    set({ items: page.conversations, next: page.next, loading: false, error: undefined });
  } catch (err) {
    if (mine.signal.aborted) return;
    set({ loading: false, error: sentence(err) });
    noteFailure(err);
  }
}

export async function more(): Promise<void> {
  if (!list.next || list.loading) return;
  const query = list.query;
  set({ loading: true });
  try {
    const page = await api.conversations(query, list.next);
    if (query === list.query) set({ items: [...list.items, ...page.conversations], next: page.next, loading: false });
  } catch (err) {
    set({ loading: false, error: sentence(err) });
    noteFailure(err);
  }
}

whenBack(() => void refresh());

/** Shows a change at once; the next load has it from the server. */
export function patch(id: string, change: Partial<ConversationHead> | null): void {
  set({
    items:
      change === null
        ? list.items.filter((c) => c.id !== id)
        : list.items.map((c) => (c.id === id ? { ...c, ...change } : c)),
  });
}

/** Keeps the list fresh while the page is looked at. */
export function useFreshList(): void {
  useEffect(() => {
    void refresh();
    const look = () => {
      if (!document.hidden) void refresh();
    };
    addEventListener("focus", look);
    const timer = setInterval(look, 30_000);
    return () => {
      removeEventListener("focus", look);
      clearInterval(timer);
    };
  }, []);
}
