// Runs an edited statement on the local files. The statement, its columns and the number of rows are recorded in the
// log; the rows stay in the browser.
import { useMemo } from "react";
import { api, type Schema } from "../../api/client";
import { keepLocalRows } from "../../api/rows";
import type { ShownResult } from "../../log/conversation";
import type { LocalRun } from "../slots";
import { logOf } from "../../log/store";
import { limitCells } from "./cells";
import { overResults } from "./sql";
import { query, tables, useLocal } from "./store";

/** Returns what the panes need to run a result's statement in this browser, or undefined if it belongs to the server. */
export function useLocalRun(conversation: string, result: ShownResult | undefined): LocalRun | undefined {
  const { files } = useLocal();
  const id = result?.source === "client" && result.sql ? result.id : undefined;
  return useMemo(() => {
    if (!id) return undefined;
    const schema: Schema = {
      name: "this browser",
      editor_dialect: "PostgreSQL", // the closest to DuckDB
      tables: files.flatMap((f) => f.tables).map((t) => ({ name: t.name, rows: t.rows, columns: t.columns })),
    };
    return { schema, ready: schema.tables.length > 0, run: (sql, signal) => rerun(conversation, id, sql, signal) };
  }, [conversation, id, files]);
}

async function rerun(conversation: string, replaces: string, sql: string, signal: AbortSignal): Promise<string> {
  const began = performance.now();
  const files = (await tables()).map((t) => t.name);
  const result = await query(overResults(sql, logOf(conversation).conversation().results, files), signal);
  const millis = Math.round(performance.now() - began);
  const names = (await tables()).flatMap((t) => [t.name, ...t.columns.map((c) => c.name)]);
  const { columns, rowCount } = limitCells(result, 0, { sql, code: "" }, names);
  const { id } = await api.recordLocalQuery(
    conversation,
    { sql, replaces, columns, row_count: rowCount, ms: millis },
    signal,
  );
  const resultId = id.slice(id.lastIndexOf(".") + 1);
  keepLocalRows({ conversation, id: resultId }, { columns: result.columns, rows: result.rows, rowCount });
  return resultId;
}
