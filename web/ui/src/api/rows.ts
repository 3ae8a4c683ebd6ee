// The rows of results, in pages. All panes load rows through this file, so that a chart, a table and a popover of the
// same result share one request.
import { useSyncExternalStore } from "react";
import { api, type ResultPage } from "./client";
import { useLoad, type Loaded } from "./load";
import type { Cell, Column } from "../log/events";

/** Identifies a result. */
export interface ResultRef {
  conversation: string;
  id: string; // r3
}

/** Rows that are only in this browser: results of queries on local files. */
export interface LocalRows {
  columns: Column[];
  rows: Cell[][];
  rowCount?: number; // of the whole result, if rows has only a part
}

const maxPageRows = 10_000;

const local = new Map<string, LocalRows & { first: ResultPage }>();
const listeners = new Set<() => void>();
const subscribe = (f: () => void) => {
  listeners.add(f);
  return () => listeners.delete(f);
};
const maxLocalResults = 40; // older ones are computed again, or read from the server
const keyOf = (r: ResultRef) => `${r.conversation}.${r.id}`;

/** Keeps the rows of a result in this page. The server has none of them, or only a few. */
export function keepLocalRows(ref: ResultRef, rows: LocalRows): void {
  const first = {
    id: ref.id,
    columns: rows.columns,
    row_count: rows.rowCount ?? rows.rows.length,
    offset: 0,
    rows: rows.rows.slice(0, maxPageRows),
  };
  local.set(keyOf(ref), { ...rows, first });
  if (local.size > maxLocalResults) local.delete(local.keys().next().value!);
  for (const f of listeners) f();
}

const settled = new Set<string>();

/** Says that the rows of a result on local files will not come, or have come. */
export function settleRows(ref: ResultRef): void {
  settled.add(keyOf(ref));
  for (const f of listeners) f();
}

/** Reports whether this browser may still compute the rows of a result on local files. */
export function useRowsComing(ref: ResultRef): boolean {
  return useSyncExternalStore(subscribe, () => !local.has(keyOf(ref)) && !settled.has(keyOf(ref)));
}

export function localRows(ref: ResultRef): LocalRows | undefined {
  return local.get(keyOf(ref));
}

/** Returns the local rows of a result and updates when they change. */
export function useLocalRows(ref: ResultRef): LocalRows | undefined {
  return useSyncExternalStore(subscribe, () => local.get(keyOf(ref)));
}

/** Loads the first page of a result: enough for a chart and the top of a table. */
export function useFirstRows(ref: ResultRef | undefined): Loaded<ResultPage> {
  const here = useSyncExternalStore(subscribe, () => ref && local.get(keyOf(ref)));
  const loaded = useLoad<ResultPage>(ref && !here ? `rows:${keyOf(ref)}:0` : "", () => page(ref!, 0, maxPageRows));
  if (!here) return loaded;
  return { data: here.first, loading: false, reload: () => {} };
}

/** Loads a page of a result, or of a view of one on the server. The limit is at most 10,000 rows. */
export async function page(
  ref: ResultRef,
  offset: number,
  limit: number,
  signal?: AbortSignal,
  view = "",
): Promise<ResultPage> {
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
  return api.result(ref.conversation, ref.id, offset, limit, signal, view);
}
