// Naming a table with @: what stands before the caret, and what fits it.
import { api, type Schema } from "../api/client";
import { useLoad } from "../api/load";

export interface TableName {
  source: string;
  table: string;
  /** It is a file in this browser, and source its name. */
  here?: boolean;
}

/** The word that is being written after an @, and where it begins. */
export function mentionAt(text: string, caret: number): { from: number; word: string } | undefined {
  const m = /(?:^|\s)@([\p{L}\p{N}_.]*)$/u.exec(text.slice(0, caret));
  return m ? { from: caret - m[1]!.length - 1, word: m[1]!.toLowerCase() } : undefined;
}

const most = 8;

/** The tables whose name fits: those that begin so come first. */
export function fitting(tables: readonly TableName[], word: string): readonly TableName[] {
  const named = (t: TableName) => [t.table.toLowerCase(), `${t.source}.${t.table}`.toLowerCase()];
  const begins = tables.filter((t) => named(t).some((n) => n.startsWith(word)));
  const has = tables.filter((t) => !begins.includes(t) && named(t).some((n) => n.includes(word)));
  return [...begins, ...has].slice(0, most);
}

/** All tables of some sources, once somebody wants to name one. */
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

/** Names a table in the question that is being written, from elsewhere on the page. */
export function nameTable(t: TableName): void {
  const field = document.getElementById("composer");
  field?.dispatchEvent(new CustomEvent<TableName>(naming, { detail: t }));
  field?.focus();
}

/** Calls back for tables that are named elsewhere. */
export function whenNamed(field: HTMLElement, f: (t: TableName) => void): () => void {
  const heard = (e: Event) => f((e as CustomEvent<TableName>).detail);
  field.addEventListener(naming, heard);
  return () => field.removeEventListener(naming, heard);
}

/** What the model is told of the tables that a person named. */
export function pinned(tables: readonly TableName[]): string | undefined {
  if (!tables.length) return undefined;
  return `The user means ${tables.length === 1 ? "this table" : "these tables"}: ${tables.map((t) => (t.here ? t.table : `${t.source}.${t.table}`)).join(", ")}.`;
}
