// The rows of stored results, in pages. Panes ask for rows through here, so that a
// chart, a table and a popover that show the same result load it once.
import { useSyncExternalStore } from "react";
import { api, type ResultPage } from "./client";
import { useLoad, type Loaded } from "./load";
import type { Cell, Column } from "../log/events";

/** What a result is known by in its conversation. */
export interface ResultRef {
  conversation: string;
  id: string; // r3
}

/** Rows that never were on the server: results of files that stay in the browser. */
export interface LocalRows {
  columns: Column[];
  rows: Cell[][];
  rowCount?: number; // of the query, when not all rows were kept
}

const mostFirst = 10_000;

const local = new Map<string, LocalRows & { first: ResultPage }>();
const listeners = new Set<() => void>();
const subscribe = (f: () => void) => {
  listeners.add(f);
  return () => listeners.delete(f);
};
const mostLocal = 40; // results; the oldest are computed again, or read from the server
const keyOf = (r: ResultRef) => `${r.conversation}.${r.id}`;

/** Keeps the whole rows of a result in this page; the server has at most a few. */
export function keepLocalRows(ref: ResultRef, rows: LocalRows): void {
  const first = {
    id: ref.id,
    columns: rows.columns,
    row_count: rows.rowCount ?? rows.rows.length,
    offset: 0,
    rows: rows.rows.slice(0, mostFirst),
  };
  local.set(keyOf(ref), { ...rows, first });
  if (local.size > mostLocal) local.delete(local.keys().next().value!);
  for (const f of listeners) f();
}

export function localRows(ref: ResultRef): LocalRows | undefined {
  return local.get(keyOf(ref));
}

/** The rows of a result that are only here, as they come. */
export function useLocalRows(ref: ResultRef): LocalRows | undefined {
  return useSyncExternalStore(subscribe, () => local.get(keyOf(ref)));
}

/** The first page: enough for charts (10,000 rows at most) and the top of a table. */
export function useFirstRows(ref: ResultRef | undefined): Loaded<ResultPage> {
  const here = useSyncExternalStore(subscribe, () => ref && local.get(keyOf(ref)));
  const loaded = useLoad<ResultPage>(ref && !here ? `rows:${keyOf(ref)}:0` : "", () => page(ref!, 0, 10_000));
  if (!here) return loaded;
  return { data: here.first, loading: false, reload: () => {} };
}

/** Any page of at most 10,000 rows. */
export async function page(ref: ResultRef, offset: number, limit: number, signal?: AbortSignal): Promise<ResultPage> {
  const here = local.get(keyOf(ref));
  if (here) {
    return {
      id: ref.id,
      columns: here.columns,
      row_count: here.rowCount ?? here.rows.length,
      offset,
      rows: here.rows.slice(offset, offset + limit),
    };
  }
  return api.result(ref.conversation, ref.id, offset, limit, signal);
}
