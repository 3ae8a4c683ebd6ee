// Loads the rows of a result for a grid, in pages as they come into view. Sorting needs all of them.
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { errorMessage } from "../../api/client";
import { localRows, page, type ResultRef } from "../../api/rows";
import type { Cell, Column } from "../../log/events";
import { isNumeric, numberOf } from "../numbers";

const pageSize = 10_000;

export interface Sort {
  column: number;
  down: boolean;
}

export interface Rows {
  /** Returns the row at a position of the grid, or undefined if it is not loaded. */
  at: (place: number) => readonly Cell[] | undefined;
  /** Returns the row's index in the result. */
  original: (place: number) => number;
  /** Returns the position of a row of the result. */
  placeOf: (row: number) => number;
  need: (from: number, to: number) => void;
  needAll: () => Promise<boolean>;
  loaded: number;
  error: string;
}

/** Returns a function that compares cells of a column that are not NULL. */
function comparer(column: Column): (a: Cell, b: Cell) => number {
  if (isNumeric(column)) return (a, b) => (numberOf(a) ?? 0) - (numberOf(b) ?? 0);
  const words = new Intl.Collator("en", { numeric: true });
  return (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : words.compare(String(a), String(b)));
}

/** Returns the indices of rows sorted by one column. The sort is stable, and NULL is always last. */
export function order(rows: readonly (readonly Cell[])[], column: Column, sort: Sort): Int32Array {
  const compare = comparer(column);
  const sign = sort.down ? -1 : 1;
  const keys = rows.map((r) => r[sort.column] ?? null);
  return Int32Array.from(rows.keys()).sort((i, j) => {
    const a = keys[i]!,
      b = keys[j]!;
    if (a === null || b === null) return a === b ? i - j : a === null ? 1 : -1;
    return sign * compare(a, b) || i - j;
  });
}

export function useRows(
  source: ResultRef,
  columns: readonly Column[],
  count: number,
  sort: Sort | undefined,
  first?: readonly (readonly Cell[])[],
): Rows {
  const key = `${source.conversation}.${source.id}`;
  const pages = useRef<{ key: string; got: (readonly (readonly Cell[])[] | undefined)[]; asked: Set<number> }>({
    key: "",
    got: [],
    asked: new Set(),
  });
  const [version, setVersion] = useState(0);
  const [error, setError] = useState("");
  if (pages.current.key !== key) pages.current = { key, got: first ? [first] : [], asked: new Set(first ? [0] : []) };
  const alive = useRef(true);
  useEffect(() => {
    alive.current = true;
    return () => void (alive.current = false);
  }, []);

  const fetchPage = useCallback(
    async (n: number) => {
      const mine = pages.current;
      if (mine.asked.has(n) || n * pageSize >= count) return;
      mine.asked.add(n);
      try {
        const p = await page({ conversation: source.conversation, id: source.id }, n * pageSize, pageSize);
        mine.got[n] = p.rows;
        if (alive.current && pages.current === mine) {
          setError("");
          setVersion((v) => v + 1);
        }
      } catch (err) {
        mine.asked.delete(n);
        if (alive.current && pages.current === mine) setError(errorMessage(err));
        throw err;
      }
    },
    [source.conversation, source.id, count],
  );
  const need = useCallback(
    (from: number, to: number) => {
      for (let n = Math.floor(from / pageSize); n <= Math.floor(Math.max(from, to - 1) / pageSize); n++)
        fetchPage(n).catch(() => {}); // fetchPage sets the error
    },
    [fetchPage],
  );
  const needAll = useCallback(async () => {
    try {
      for (let n = 0; n * pageSize < count; n++) await fetchPage(n);
      return true;
    } catch {
      return false;
    }
  }, [fetchPage, count]);

  const local = localRows(source)?.rows;
  const loaded = local ? local.length : pages.current.got.reduce((sum, p) => sum + (p?.length ?? 0), 0);
  const places = useMemo(() => {
    if (!sort || loaded < count) return undefined;
    const all = local ?? pages.current.got.flatMap((p) => p ?? []);
    return order(all, columns[sort.column]!, sort);
    // loaded and key change with the pages.
  }, [sort, loaded, count, local, columns, key]);
  const back = useMemo(() => {
    if (!places) return undefined;
    const out = new Int32Array(places.length);
    places.forEach((row, place) => (out[row] = place));
    return out;
  }, [places]);

  return useMemo(() => {
    const row = (i: number) => (local ? local[i] : pages.current.got[Math.floor(i / pageSize)]?.[i % pageSize]);
    const original = (place: number) => places?.[place] ?? place;
    return {
      at: (place) => row(original(place)),
      original,
      placeOf: (r) => back?.[r] ?? r,
      need: local ? () => {} : need,
      needAll,
      loaded,
      error,
    };
    // version changes when a page is loaded.
  }, [places, back, local, need, needAll, loaded, error, version]);
}
