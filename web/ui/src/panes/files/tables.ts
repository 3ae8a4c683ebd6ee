// Tables that were read by us, from JSON, workbooks and Parquet: columns of plain
// values. They reach DuckDB as CSV with their types, because that is what it reads
// without an extension from another host.

export type Plain = string | number | bigint | boolean | null;

export interface ReadTable {
  name: string;
  columns: { name: string; type: string }[];
  rows: Plain[][];
}

const isoDate = /^\d{4}-\d\d-\d\d$/;
const isoTime = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?$/;

/** The DuckDB type that all values of a column have. */
export function typeOf(values: Iterable<Plain>): string {
  let type = "";
  for (const v of values) {
    if (v === null) continue;
    const t = one(v);
    if (type === "" || type === t) type = t;
    else if ((type === "BIGINT" && t === "DOUBLE") || (type === "DOUBLE" && t === "BIGINT")) type = "DOUBLE";
    else if ((type === "DATE" && t === "TIMESTAMP") || (type === "TIMESTAMP" && t === "DATE")) type = "TIMESTAMP";
    else return "VARCHAR";
  }
  return type || "VARCHAR";
}

function one(v: Exclude<Plain, null>): string {
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

/** Values of anything as a plain value: what is nested becomes JSON text. */
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

/** A moment without its zone, which is UTC; a midnight is a date. */
export function isoOf(d: Date): string {
  const s = d.toISOString();
  return s.endsWith("T00:00:00.000Z") ? s.slice(0, 10) : s.slice(0, -1);
}

/** Makes a table of objects, whose keys are the columns in the order they come. */
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

/** What stands for no value in the CSV we write: nothing that a file would hold. */
export const noValue = "\u0001N";

/** The rows as CSV, in pieces that are put together once. */
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

/** A time as one of UTC, without a zone. */
function utc(v: string): string {
  if (!/(Z|[+-]\d\d:?\d\d)$/.test(v)) return v;
  const d = new Date(v.replace(" ", "T").replace(/([+-]\d\d)(\d\d)$/, "$1:$2"));
  return Number.isNaN(d.getTime()) ? v : d.toISOString().slice(0, -1);
}

/** A name for a table, from that of a file or a sheet. */
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
