// A statement over the files of this browser, run again by a person. The log learns
// the statement, its columns and how many rows it gave; the rows stay here.
import { useMemo } from "react";
import { api, type Schema } from "../../api/client";
import { keepLocalRows } from "../../api/rows";
import type { ShownResult } from "../../log/conversation";
import type { Here } from "../slots";
import { allowed } from "./cells";
import { query, tables, useLocal } from "./store";

/** What the panes need to run a result's statement in this browser; nothing for one
 *  of the server's. */
export function useHere(conversation: string, result: ShownResult | undefined): Here | undefined {
  const { files } = useLocal();
  const id = result?.source === "client" && result.sql ? result.id : undefined;
  return useMemo(() => {
    if (!id) return undefined;
    const schema: Schema = {
      name: "this browser",
      engine: "duckdb",
      tables: files.flatMap((f) => f.tables).map((t) => ({ name: t.name, rows: t.rows, columns: t.columns })),
    };
    return { schema, ready: schema.tables.length > 0, run: (sql, signal) => rerun(conversation, id, sql, signal) };
  }, [conversation, id, files]);
}

async function rerun(conversation: string, replaces: string, sql: string, signal: AbortSignal): Promise<string> {
  const began = performance.now();
  const whole = await query(sql, signal);
  const millis = Math.round(performance.now() - began);
  const names = (await tables()).flatMap((t) => [t.name, ...t.columns.map((c) => c.name)]);
  const { columns, rowCount } = allowed(whole, 0, { sql, code: "" }, names);
  const { id } = await api.ranHere(conversation, { sql, replaces, columns, row_count: rowCount, ms: millis }, signal);
  const short = id.slice(id.lastIndexOf(".") + 1);
  keepLocalRows({ conversation, id: short }, { columns: whole.columns, rows: whole.rows, rowCount });
  return short;
}
