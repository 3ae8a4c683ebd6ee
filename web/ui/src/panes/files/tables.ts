// Tables that are read in the browser from JSON, workbooks and Parquet. They are passed to DuckDB as CSV with types,
// because DuckDB would load an extension from another host for these formats.

export type Plain = string | number | bigint | boolean | null;

export interface ReadTable {
  name: string;
  columns: { name: string; type: string }[];
  rows: Plain[][];
}

const isoDate = /^\d{4}-\d\d-\d\d$/;
const isoTime = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?$/;

/** Returns the DuckDB type that fits all values of a column. */
export function typeOf(values: Iterable<Plain>): string {
  let type = "";
  for (const v of values) {
    if (v === null) continue;
    const t = typeOfValue(v);
    if (type === "" || type === t) type = t;
    else if ((type === "BIGINT" && t === "DOUBLE") || (type === "DOUBLE" && t === "BIGINT")) type = "DOUBLE";
    else if ((type === "DATE" && t === "TIMESTAMP") || (type === "TIMESTAMP" && t === "DATE")) type = "TIMESTAMP";
    else return "VARCHAR";
  }
  return type || "VARCHAR";
}

function typeOfValue(v: Exclude<Plain, null>): string {
  switch (typeof v) {
    case "boolean":
      return "BOOLEAN";
    case "bigint":
      return v >= -(2n ** 63n) && v < 2n ** 63n ? "BIGINT" : "VARCHAR";
    case "number":
      return Number.isSafeInteger(v) ? "BIGINT" : "DOUBLE";
    default:
      return isoDate.test(v) ? "DATE" : isoTime.test(v) ? "TIMESTAMP" : "VARCHAR";
  }
}

/** Converts any value to a plain one. Nested values become JSON text. */
export function plain(v: unknown): Plain {
  if (v === null || v === undefined) return null;
  switch (typeof v) {
    case "string":
    case "boolean":
    case "bigint":
      return v;
    case "number":
      return Number.isFinite(v) ? v : null;
  }
  if (v instanceof Date) return Number.isNaN(v.getTime()) ? null : isoOf(v);
  if (v instanceof Uint8Array) return `(${v.length} bytes)`;
  return JSON.stringify(v, (_, x: unknown) => (typeof x === "bigint" ? String(x) : x));
}

/** Formats a time in UTC without its zone. Midnight is formatted as a date. */
export function isoOf(d: Date): string {
  const s = d.toISOString();
  return s.endsWith("T00:00:00.000Z") ? s.slice(0, 10) : s.slice(0, -1);
}

/** Makes a table from objects. Their keys are the columns, in order of appearance. */
export function ofObjects(name: string, objects: readonly Record<string, unknown>[]): ReadTable {
  const at = new Map<string, number>();
  for (const o of objects) for (const k of Object.keys(o)) if (!at.has(k)) at.set(k, at.size);
  const names = [...at.keys()];
  const rows = objects.map((o) => names.map((n) => plain(o[n])));
  return { name, columns: names.map((n, i) => ({ name: n, type: typeOf(column(rows, i)) })), rows };
}

export function* column(rows: readonly Plain[][], i: number): Generator<Plain> {
  for (const r of rows) yield r[i] ?? null;
}

/** Represents NULL in the CSV that we write. Unlikely to occur in a file. */
export const noValue = "\u0001N";

/** Writes the rows as CSV. */
export function toCSV(t: ReadTable): Uint8Array<ArrayBuffer> {
  const enc = new TextEncoder();
  const pieces: Uint8Array[] = [];
  let text = "";
  for (const row of t.rows) {
    text += row.map((v, i) => cell(v, t.columns[i]!.type)).join(",") + "\n";
    if (text.length > 1 << 20) {
      pieces.push(enc.encode(text));
      text = "";
    }
  }
  pieces.push(enc.encode(text));
  const out = new Uint8Array(pieces.reduce((n, p) => n + p.length, 0));
  let n = 0;
  for (const p of pieces) {
    out.set(p, n);
    n += p.length;
  }
  return out;
}

function cell(v: Plain, type: string): string {
  if (v === null) return noValue;
  if (type === "TIMESTAMP" && typeof v === "string") return utc(v);
  if (typeof v === "string") return `"${v.replaceAll('"', '""')}"`;
  return String(v);
}

/** Converts a time to UTC and removes the zone. */
function utc(v: string): string {
  if (!/(Z|[+-]\d\d:?\d\d)$/.test(v)) return v;
  const d = new Date(v.replace(" ", "T").replace(/([+-]\d\d)(\d\d)$/, "$1:$2"));
  return Number.isNaN(d.getTime()) ? v : d.toISOString().slice(0, -1);
}

/** Makes a table name from the name of a file or sheet. */
export function tableName(from: string, taken: ReadonlySet<string>): string {
  const base =
    from
      .replace(/\.(csv|tsv|txt|parquet|json|jsonl|ndjson|xlsx)$/i, "")
      .normalize("NFKC")
      .toLowerCase()
      .replace(/[^\p{L}\p{N}]+/gu, "_")
      .replace(/^_+|_+$/g, "")
      .slice(0, 60) || "file";
  const name = /^\p{N}/u.test(base) ? `t_${base}` : base;
  for (let n = 1; ; n++) {
    const free = n === 1 ? name : `${name}_${n}`;
    if (!taken.has(free)) return free;
  }
}
