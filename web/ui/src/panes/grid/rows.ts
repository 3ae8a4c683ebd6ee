// Loads the rows of a result for a grid, in pages as they come into view. The server sorts and filters all rows of a
// result; rows that are only in this browser are sorted and filtered here.
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { errorMessage } from "../../api/client";
import { localRows, page, type ResultRef } from "../../api/rows";
import type { Cell, Column } from "../../log/events";
import { isNumeric, numberOf } from "../numbers";
import { matches, type Filter } from "./filter";

const pageSize = 10_000;

export interface Sort {
  column: number;
  down: boolean;
}

/** What a grid shows of a result. */
export interface View {
  sort?: Sort;
  filters: readonly Filter[];
}

export interface Rows {
  /** Returns the row at a position of the grid, or undefined if it is not loaded. */
  at: (place: number) => readonly Cell[] | undefined;
  /** Returns the row's index in the result, or undefined if it is not loaded. */
  original: (place: number) => number | undefined;
  /** Returns the position of a row of the result, or undefined if it is not loaded. */
  placeOf: (row: number) => number | undefined;
  need: (from: number, to: number) => void;
  /** The number of rows in view; undefined until the server has said so. */
  count: number | undefined;
  error: string;
}

/** Returns a function that compares cells of a column that are not NULL. */
function comparer(column: Column): (a: Cell, b: Cell) => number {
  if (isNumeric(column)) return (a, b) => (numberOf(a) ?? 0) - (numberOf(b) ?? 0);
  const words = new Intl.Collator("en", { numeric: true });
  return (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : words.compare(String(a), String(b)));
}

/** Returns the indices of the rows in a view. The sort is stable, and NULL is always last. */
export function order(rows: readonly (readonly Cell[])[], columns: readonly Column[], view: View): Int32Array {
  const { sort, filters } = view;
  const places = Int32Array.from(rows.keys()).filter((i) =>
    filters.every((f) => matches(rows[i]![f.column] ?? null, f, columns[f.column]!)),
  );
  if (!sort) return places;
  const compare = comparer(columns[sort.column]!);
  const sign = sort.down ? -1 : 1;
  const keys = rows.map((r) => r[sort.column] ?? null);
  return places.sort((i, j) => {
    const a = keys[i]!,
      b = keys[j]!;
    if (a === null || b === null) return a === b ? i - j : a === null ? 1 : -1;
    return sign * compare(a, b) || i - j;
  });
}

/** Returns the names by which the server knows columns: the second n is n_2. */
export function distinctNames(columns: readonly Column[]): string[] {
  const seen = new Set<string>();
  return columns.map((c) => {
    let name = c.name;
    for (let n = 2; seen.has(name); n++) name = `${c.name}_${n}`;
    seen.add(name);
    return name;
  });
}

/** Returns a view as parameters of the server; "" is the result itself. */
export function parameters(columns: readonly Column[], { sort, filters }: View): string {
  const names = distinctNames(columns);
  const q = new URLSearchParams();
  for (const f of filters) {
    const valued = f.op !== "empty" && f.op !== "filled";
    q.append("filter", `${names[f.column]}:${f.op}${valued ? `:${f.value}` : ""}`);
  }
  if (sort) q.append("sort", `${names[sort.column]}:${sort.down ? "desc" : "asc"}`);
  return q.toString();
}

interface Pages {
  key: string;
  got: ({ rows: readonly (readonly Cell[])[]; numbers?: readonly number[] } | undefined)[];
  asked: Set<number>;
  count?: number;
}

export function useRows(
  source: ResultRef,
  columns: readonly Column[],
  total: number,
  view: View,
  first?: readonly (readonly Cell[])[],
): Rows {
  const query = parameters(columns, view);
  const key = `${source.conversation}.${source.id}?${query}`;
  const pages = useRef<Pages>({ key: "", got: [], asked: new Set() });
  const [version, setVersion] = useState(0);
  const [error, setError] = useState("");
  if (pages.current.key !== key) {
    const known = query ? undefined : first;
    pages.current = {
      key,
      got: known ? [{ rows: known }] : [],
      asked: new Set(known ? [0] : []),
      count: query ? undefined : total,
    };
  }
  useEffect(() => setError(""), [key]);
  const alive = useRef(true);
  useEffect(() => {
    alive.current = true;
    return () => void (alive.current = false);
  }, []);

  const fetchPage = useCallback(
    async (n: number) => {
      const mine = pages.current;
      if (mine.asked.has(n) || n * pageSize >= (mine.count ?? 1)) return;
      mine.asked.add(n);
      const ours = () => alive.current && pages.current === mine;
      try {
        const ref = { conversation: source.conversation, id: source.id };
        const p = await page(ref, n * pageSize, pageSize, undefined, query);
        mine.got[n] = { rows: p.rows, numbers: p.row_numbers };
        if (query) mine.count = p.matching;
        if (ours()) {
          setError("");
          setVersion((v) => v + 1);
        }
      } catch (err) {
        mine.asked.delete(n);
        if (ours()) setError(errorMessage(err));
      }
    },
    [source.conversation, source.id, query],
  );
  const need = useCallback(
    (from: number, to: number) => {
      const last = Math.floor(Math.max(from, to - 1) / pageSize);
      for (let n = Math.floor(from / pageSize); n <= last; n++) void fetchPage(n);
    },
    [fetchPage],
  );

  const local = localRows(source)?.rows;
  const places = useMemo(
    () => (local && query ? order(local, columns, view) : undefined),
    // query stands for the columns and the view.
    [local, query],
  );
  return useMemo(() => {
    if (local) {
      return {
        at: (place) => local[places ? (places[place] ?? -1) : place],
        original: (place) => (places ? places[place] : place),
        placeOf: (row) => (places ? found(places.indexOf(row)) : row),
        need: () => {},
        count: places ? places.length : total,
        error: "",
      };
    }
    const { got, count } = pages.current;
    return {
      at: (place) => got[Math.floor(place / pageSize)]?.rows[place % pageSize],
      original: (place) => (query ? got[Math.floor(place / pageSize)]?.numbers?.[place % pageSize] : place),
      placeOf: (row) => {
        if (!query) return row;
        const n = got.findIndex((p) => p?.numbers?.includes(row));
        return n < 0 ? undefined : n * pageSize + got[n]!.numbers!.indexOf(row);
      },
      need,
      count,
      error,
    };
    // version changes when a page is loaded.
  }, [places, local, need, error, version, key, total]);
}

const found = (i: number) => (i < 0 ? undefined : i);
