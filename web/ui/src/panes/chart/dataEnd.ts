// Finds where the data of a result ends: the latest date in the column behind its periods. It shows whether the last
// month is complete.
import { api, type Schema } from "../../api/client";
import { useLoad } from "../../api/load";
import type { ShownResult } from "../../log/conversation";

/** Returns the date column that a statement mentions, if there is exactly one in its tables. */
export function dateColumn(sql: string, schema: Schema): { table: string; column: string } | undefined {
  const words = new Set([...sql.toLowerCase().matchAll(/[\p{L}_][\p{L}\p{N}_]*/gu)].map((m) => m[0]));
  const found = schema.tables
    .filter((t) => words.has(t.name.split(".").at(-1)!.toLowerCase()))
    .flatMap((t) =>
      t.columns
        .filter((c) => /date|time/i.test(c.type) && words.has(c.name.toLowerCase()))
        .map((c) => ({ table: t.name, column: c.name })),
    );
  return found.length === 1 ? found[0] : undefined;
}

/** Returns the end of a result's data in ms, or undefined if it is unknown. It is unknown for a statement that filters
 *  rows. */
export function useDataEnd(r: ShownResult, wanted: boolean): { at?: number; known: boolean } {
  const ask = wanted && Boolean(r.source && r.sql) && r.by !== "client" && !/\bwhere\b|\bhaving\b/i.test(r.sql!);
  const { data, error } = useLoad(ask ? `data-end:${r.source}:${r.sql}` : "", async () => {
    const found = dateColumn(r.sql!, await api.schema(r.source!));
    if (!found) return {};
    const { max } = await api.distribution(r.source!, found.table, found.column);
    const at =
      typeof max === "string" ? Date.parse(max.length > 10 ? `${max.replace(" ", "T").replace(/Z$/, "")}Z` : max) : NaN;
    return { at: Number.isNaN(at) ? undefined : at };
  });
  return { at: data?.at, known: !ask || data !== undefined || error !== undefined };
}
