// Helpers for DuckDB statements.
import { RefusedError } from "./cells";

export const quote = (name: string) => `"${name.replaceAll('"', '""')}"`;
export const text = (s: string) => `'${s.replaceAll("'", "''")}'`;

const readingKeywords = new Set([
  "select",
  "with",
  "from",
  "values",
  "table",
  "describe",
  "summarize",
  "show",
  "pivot",
  "unpivot",
  "(",
]);

/** Returns the statement without its semicolon. Throws if there is not exactly one statement, or if it does not read.
 *  The engine also uses a read-only transaction. */
export function oneSelect(sql: string): string {
  const parts = split(sql);
  if (parts.length !== 1)
    throw new RefusedError(parts.length ? "Only one statement can be run at a time." : "There is no statement.");
  const first = /^[\s]*(\(|[a-z]+)/i.exec(bare(parts[0]!))?.[1]?.toLowerCase() ?? "";
  if (!readingKeywords.has(first))
    throw new RefusedError(
      "Only statements that read can be run here: SELECT, WITH, FROM, VALUES, PIVOT, DESCRIBE, SUMMARIZE.",
    );
  return parts[0]!.trim();
}

/** Returns the results that a statement reads, such as r1, other than tables of that name. */
export function resultsIn(
  sql: string,
  results: Readonly<Record<string, unknown>>,
  tables: readonly string[],
): string[] {
  const names = new Set(
    bare(sql)
      .replace(/'[^']*'/g, "")
      .toLowerCase()
      .match(/\br\d{1,9}\b/g),
  );
  return [...names].filter((n) => n in results && !tables.some((t) => t.toLowerCase() === n));
}

/** Returns a statement in which earlier results are tables named r1, r2, …: their own statements come first. */
export function overResults(
  sql: string,
  results: Readonly<Record<string, { sql?: string }>>,
  tables: readonly string[],
): string {
  const parts = new Map<string, string>();
  const add = (statement: string, below: readonly string[]) => {
    for (const id of resultsIn(statement, results, tables)) {
      const own = results[id]?.sql;
      if (!own || parts.has(id) || below.includes(id)) continue;
      const one = oneSelect(own);
      add(one, [...below, id]);
      parts.set(id, `${id} AS (\n${asSelect(one)}\n)`);
    }
  };
  const one = oneSelect(sql);
  add(one, []);
  if (!parts.size) return sql;
  const first = [...parts.values()].join(", ");
  const begin = /^\s*with\s+(recursive\s+)?/i.exec(one)?.[0];
  return begin ? `${begin}${first}, ${one.slice(begin.length)}` : `WITH ${first} ${asSelect(one)}`;
}

/** Returns a statement that DESCRIBE accepts: DESCRIBE, SUMMARIZE and SHOW become subqueries. */
export function asSelect(sql: string): string {
  return /^(describe|summarize|show)\b/i.test(bare(sql)) ? `SELECT * FROM (${sql}\n)` : sql;
}

/** Matches semicolons, and texts, names and comments to skip. */
const token = /'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(\w*)\$[\s\S]*?\$\1\$|--[^\n]*|\/\*[\s\S]*?\*\/|;/g;

function split(sql: string): string[] {
  const parts: string[] = [];
  let from = 0;
  for (const m of sql.matchAll(token)) {
    if (m[0] !== ";") continue;
    parts.push(sql.slice(from, m.index));
    from = m.index + 1;
  }
  parts.push(sql.slice(from));
  return parts.filter((p) => bare(p).trim());
}

const bare = (sql: string) => sql.replace(/^(?:\s|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)+/, "").replace(/--[^\n]*$/, "");

/** Returns the kind of column for a DuckDB type. */
export function kindOf(type: string): string {
  const base = type.toUpperCase().replace(/\(.*$/, "").trim();
  if (/\[\d*\]$/.test(type) || /^(STRUCT|MAP|UNION)/.test(base)) return "json";
  if (/^U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)$/.test(base)) return "integer";
  if (/^(FLOAT|DOUBLE|DECIMAL)$/.test(base)) return "number";
  if (base === "BOOLEAN") return "boolean";
  if (base === "DATE") return "date";
  if (base.startsWith("TIMESTAMP")) return "timestamp";
  if (base.startsWith("TIME")) return "time";
  if (/^(VARCHAR|UUID|ENUM)$/.test(base)) return "text";
  return base === "BLOB" ? "blob" : base === "JSON" ? "json" : "";
}

const isNumber = (type: string) => ["integer", "number"].includes(kindOf(type));

/** Returns the statement for the statistics of a column. */
export function statsSQL(table: string, column: string, type: string): string {
  const c = quote(column);
  const average = isNumber(type) ? `avg(${c})` : "NULL";
  return `SELECT count(*) AS rows, count(*) - count(${c}) AS nulls, count(DISTINCT ${c}) AS "distinct", min(${c}) AS min, max(${c}) AS max, ${average} AS avg FROM ${quote(table)}`;
}

/** Returns the statement for the most frequent values of a column. */
export function distributionSQL(table: string, column: string, limit: number): string {
  const c = quote(column);
  return `SELECT ${c} AS value, count(*) AS count FROM ${quote(table)} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ${limit}`;
}
