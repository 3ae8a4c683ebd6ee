// Mentions of tables with @: the word before the caret, and the tables that match it.
import { api, type Schema } from "../api/client";
import { useLoad } from "../api/load";

export interface TableName {
  source: string;
  table: string;
  /** Set if the table is a file in this browser. The source is then the file's name. */
  here?: boolean;
}

/** Returns the word between an @ and the caret, and the position of the @. */
export function mentionAt(text: string, caret: number): { from: number; word: string } | undefined {
  const m = /(?:^|\s)@([\p{L}\p{N}_.]*)$/u.exec(text.slice(0, caret));
  return m ? { from: caret - m[1]!.length - 1, word: m[1]!.toLowerCase() } : undefined;
}

const maxMatches = 8;

/** Returns the tables whose name contains the word. Names that begin with it come first. */
export function matchingTables(tables: readonly TableName[], word: string): readonly TableName[] {
  const named = (t: TableName) => [t.table.toLowerCase(), `${t.source}.${t.table}`.toLowerCase()];
  const begins = tables.filter((t) => named(t).some((n) => n.startsWith(word)));
  const has = tables.filter((t) => !begins.includes(t) && named(t).some((n) => n.includes(word)));
  return [...begins, ...has].slice(0, maxMatches);
}

/** Loads the tables of the sources once they are wanted. */
export function useTables(sources: readonly string[], wanted: boolean): readonly TableName[] {
  const { data } = useLoad<readonly TableName[]>(
    wanted && sources.length ? `tables:${sources.join("\n")}` : "",
    async () => {
      const schemas: Schema[] = await Promise.all(sources.map((s) => api.schema(s)));
      return schemas.flatMap((s) => s.tables.map((t) => ({ source: s.name, table: t.name })));
    },
  );
  return data ?? none;
}

const none: readonly TableName[] = [];
const naming = "name-table";

/** Adds a table to the question in the composer, from another part of the page. */
export function nameTable(t: TableName): void {
  const field = document.getElementById("composer");
  field?.dispatchEvent(new CustomEvent<TableName>(naming, { detail: t }));
  field?.focus();
}

/** Calls f for each table that nameTable adds. Returns a function that ends this. */
export function onTableNamed(field: HTMLElement, f: (t: TableName) => void): () => void {
  const heard = (e: Event) => f((e as CustomEvent<TableName>).detail);
  field.addEventListener(naming, heard);
  return () => field.removeEventListener(naming, heard);
}

/** Returns the context that tells the model which tables the question mentions. */
export function contextOf(tables: readonly TableName[]): string | undefined {
  if (!tables.length) return undefined;
  return `The user means ${tables.length === 1 ? "this table" : "these tables"}: ${tables.map((t) => (t.here ? t.table : `${t.source}.${t.table}`)).join(", ")}.`;
}
