// DuckDB in a web worker, loaded with the first file. Once the tables are created, it cannot read other files, use the
// network or extensions, or change its settings. Only ending the worker stops a query, so a cancelled query needs a new
// engine with the same files.
import { AsyncDuckDB, VoidLogger, type AsyncDuckDBConnection } from "@duckdb/duckdb-wasm";
import wasmUrl from "@duckdb/duckdb-wasm/dist/duckdb-eh.wasm?url";
import workerUrl from "@duckdb/duckdb-wasm/dist/duckdb-browser-eh.worker.js?url";
import type { Cell } from "../../log/events";
import { TimeoutError, QueryError, type LocalResult } from "./cells";
import type { Ingest, Ingested } from "./ingest.worker";
import { asSelect, kindOf, oneSelect, quote, text } from "./sql";
import { noValue } from "./tables";

export interface LocalTable {
  name: string;
  rows: number;
  columns: { name: string; type: string }[];
}

export const maxRows = 100_000; // of a result
const queryTimeout = 30_000; // ms
const loadTimeout = 180_000;

/** A DuckDB with the tables of some files. */
export class Engine {
  private queue: Promise<unknown> = Promise.resolve();
  private hasEnded = false;

  private constructor(
    private readonly worker: Worker,
    private readonly conn: AsyncDuckDBConnection,
    readonly tables: ReadonlyMap<File, LocalTable[]>,
    readonly failures: ReadonlyMap<File, string>,
  ) {}

  /** Starts an engine and loads files. `failures` has the files that could not be read. */
  static async start(files: readonly File[]): Promise<Engine> {
    const worker = new Worker(workerUrl);
    try {
      return await withTimeout(loadTimeout, Engine.load(worker, files));
    } catch (err) {
      worker.terminate();
      throw err;
    }
  }

  private static async load(worker: Worker, files: readonly File[]): Promise<Engine> {
    const db = new AsyncDuckDB(new VoidLogger(), worker);
    await db.instantiate(wasmUrl);
    await db.open({ query: { castDecimalToDouble: true } });
    const conn = await db.connect();
    await conn.query("SET autoinstall_known_extensions=false; SET autoload_known_extensions=false");
    const tables = new Map<File, LocalTable[]>(),
      failures = new Map<File, string>();
    const taken: string[] = [];
    for (const file of files) {
      try {
        const some: LocalTable[] = [];
        for (const t of await ingest({ file, taken })) {
          await create(db, conn, t);
          taken.push(t.name);
          some.push(await describe(conn, t.name));
        }
        tables.set(file, some);
      } catch (err) {
        failures.set(file, err instanceof Error ? err.message : "The file cannot be read.");
      }
    }
    await conn.query("SET enable_external_access=false; SET lock_configuration=true");
    return new Engine(worker, conn, tables, failures);
  }

  /** Runs one statement that reads. A signal or a timeout ends the engine, and the caller must start another. */
  query(sql: string, signal: AbortSignal): Promise<LocalResult> {
    const statement = oneSelect(sql);
    const next = this.queue.then(() => this.stoppable(statement, signal));
    this.queue = next.catch(() => {});
    return next;
  }

  get ended(): boolean {
    return this.hasEnded;
  }

  end(): void {
    this.hasEnded = true;
    this.worker.terminate();
  }

  private async stoppable(sql: string, signal: AbortSignal): Promise<LocalResult> {
    if (this.hasEnded || signal.aborted) throw new DOMException("stopped", "AbortError");
    let stop = () => {};
    const stopped = new Promise<never>((_, reject) => {
      stop = () => reject(new DOMException("stopped", "AbortError"));
      signal.addEventListener("abort", stop);
    });
    try {
      return await withTimeout(queryTimeout, Promise.race([this.read(sql), stopped]));
    } catch (err) {
      if (!(err instanceof QueryError)) this.end(); // the query is still running
      throw err;
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  /** Runs a statement in a read-only transaction, so that it cannot change the tables. */
  private async read(given: string): Promise<LocalResult> {
    const sql = asSelect(given);
    let types: { name: string; type: string }[];
    try {
      const described = await this.conn.query(`DESCRIBE ${sql}`);
      types = described
        .toArray()
        .map((r: { column_name: string; column_type: string }) => ({ name: r.column_name, type: r.column_type }));
    } catch (err) {
      throw new QueryError(messageOf(err), true);
    }
    await this.conn.query("BEGIN TRANSACTION READ ONLY");
    try {
      const columns = types.map((t) => ({ name: t.name, kind: kindOf(t.type) }));
      const rows: Cell[][] = [];
      let rowCount = 0;
      for await (const batch of await this.conn.send(sql)) {
        const room = Math.min(batch.numRows, maxRows - rows.length);
        const vectors = columns.map((_, i) => batch.getChildAt(i));
        for (let r = 0; r < room; r++) rows.push(vectors.map((v, i) => cell(v?.get(r) as unknown, columns[i]!.kind)));
        rowCount += batch.numRows;
      }
      return { columns, rows, rowCount };
    } catch (err) {
      throw new QueryError(messageOf(err), false);
    } finally {
      await this.conn.query("ROLLBACK").catch(() => {});
    }
  }
}

const messageOf = (err: unknown) => (err instanceof Error ? err.message : String(err));

function withTimeout<T>(ms: number, p: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout>;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TimeoutError(`It took longer than ${ms / 1000} seconds and was stopped.`)), ms);
  });
  return Promise.race([p, late]).finally(() => clearTimeout(timer));
}

function ingest(order: Ingest): Promise<Ingested[]> {
  const worker = new Worker(new URL("./ingest.worker.ts", import.meta.url), { type: "module" });
  const answer = new Promise<Ingested[]>((resolve, reject) => {
    worker.onmessage = (e: MessageEvent<{ tables?: Ingested[]; error?: string }>) =>
      e.data.tables ? resolve(e.data.tables) : reject(new Error(e.data.error));
    worker.onerror = () => reject(new Error("The file cannot be read in this browser."));
    worker.postMessage(order);
  });
  return withTimeout(loadTimeout, answer).finally(() => worker.terminate());
}

async function create(db: AsyncDuckDB, conn: AsyncDuckDBConnection, t: Ingested): Promise<void> {
  const path = "incoming.csv";
  await db.registerFileBuffer(path, t.data);
  try {
    await conn.query(`CREATE TABLE ${quote(t.name)} AS SELECT * FROM read_csv(${text(path)}, ${options(t)})`);
  } finally {
    await db.dropFile(path);
  }
  if (t.csv) await convertColumns(conn, t.name, t.csv.decimalComma);
}

function options({ columns, csv }: Ingested): string {
  if (columns) {
    const types = columns.map((c) => `${text(c.name)}: ${text(c.type)}`).join(", ");
    return `columns = {${types}}, header = false, delim = ',', quote = '"', escape = '"', nullstr = ${text(noValue)}, auto_detect = false, max_line_size = 16777216`;
  }
  const { delimiter, header, decimalComma, codes } = csv!;
  const list = [`delim = ${text(delimiter)}`, "null_padding = true", "strict_mode = false", "max_line_size = 16777216"];
  if (header) list.push("header = true");
  if (decimalComma) list.push("all_varchar = true");
  else {
    list.push("sample_size = -1");
    if (codes.length) list.push(`types = {${codes.map((c) => `${text(c)}: 'VARCHAR'`).join(", ")}}`);
  }
  return list.join(", ");
}

/** Converts columns of texts to numbers or dates if all values fit, and timestamps with a time zone, which need an
 *  extension, to plain timestamps. */
async function convertColumns(conn: AsyncDuckDBConnection, name: string, comma: boolean): Promise<void> {
  const { columns } = await describe(conn, name);
  const changes = columns
    .filter((c) => c.type.includes("TIME ZONE"))
    .map((c) => `make_timestamp(epoch_us(${quote(c.name)})) AS ${quote(c.name)}`);
  for (const c of columns.filter((c) => c.type === "VARCHAR")) {
    const typed = asType(await countForms(conn, name, c.name, comma), quote(c.name), comma);
    if (typed) changes.push(`${typed} AS ${quote(c.name)}`);
  }
  if (!changes.length) return;
  try {
    await conn.query(
      `CREATE OR REPLACE TABLE ${quote(name)} AS SELECT * REPLACE (${changes.join(", ")}) FROM ${quote(name)}`,
    );
  } catch {
    // A value does not fit after all, such as the 31st of a short month: the columns stay texts.
  }
}

// Regular expressions for the forms of values in texts.
const patterns = {
  dotted: "\\d{1,2}\\.\\d{1,2}\\.\\d{4}",
  day: "\\d{4}-\\d\\d-\\d\\d",
  moment: "\\d{4}-\\d\\d-\\d\\d[ T]\\d\\d:\\d\\d(:\\d\\d(\\.\\d+)?)?",
  code: "0\\d+",
  slashed: "\\d{1,2}/\\d{1,2}/\\d{4}",
  dayFirst: "(1[3-9]|2\\d|3[01])/\\d{1,2}/\\d{4}",
  monthFirst: "\\d{1,2}/(1[3-9]|2\\d|3[01])/\\d{4}",
};
const numberPatterns = {
  comma: { whole: "[-+]?[1-9]\\d{0,17}|0", number: "[-+]?(\\d{1,3}(\\.\\d{3})+|\\d+)(,\\d+)?( ?[€%])?" },
  point: {
    whole: "[-+]?(\\d{1,3}(,\\d{3})+)( ?[$€£%])?",
    number: "[-+]?[$€£]?(\\d{1,3}(,\\d{3})+|\\d+)(\\.\\d+)?( ?[$€£%])?",
  },
};

/** The number of values of a column in each form. `all` counts those that are not empty. */
type Counts = Record<"all" | "whole" | "number" | keyof typeof patterns, number>;

async function countForms(conn: AsyncDuckDBConnection, table: string, column: string, comma: boolean): Promise<Counts> {
  const v = `trim(${quote(column)})`;
  const forms = { ...(comma ? numberPatterns.comma : numberPatterns.point), ...patterns };
  const counts = Object.entries(forms).map(
    ([form, pattern]) => `count(*) FILTER (regexp_full_match(${v}, ${text(pattern)})) AS ${quote(form)}`,
  );
  const answer = await conn.query(
    `SELECT count(*) FILTER (${v} <> '') AS "all", ${counts.join(", ")} FROM ${quote(table)}`,
  );
  const row = answer.toArray()[0]!.toJSON() as Record<string, unknown>;
  return Object.fromEntries(Object.entries(row).map(([form, n]) => [form, Number(n)])) as Counts;
}

/** Returns the expression that converts a column of texts, or "" if it stays texts. */
function asType(n: Counts, column: string, comma: boolean): string {
  const value = `nullif(trim(${column}), '')`;
  const date = (format: string) => `CAST(strptime(${value}, '${format}') AS DATE)`;
  if (!n.all) return "";
  if (n.code > 0 && n.whole + n.number < n.all) return "";
  if (!n.code) {
    if (comma && n.whole === n.all) return `CAST(${value} AS BIGINT)`;
    const bare = strip(value);
    if (n.number === n.all)
      return comma
        ? `CAST(replace(replace(${bare}, '.', ''), ',', '.') AS DOUBLE)`
        : `CAST(replace(${bare}, ',', '') AS ${n.whole === n.all ? "BIGINT" : "DOUBLE"})`;
  }
  if (n.dotted === n.all) return date("%d.%m.%Y");
  // 1/2/2025 is ambiguous; a day after the 12th decides for the whole column.
  if (n.slashed === n.all && n.dayFirst > 0 !== n.monthFirst > 0) return date(n.dayFirst ? "%d/%m/%Y" : "%m/%d/%Y");
  if (n.day === n.all && comma) return `CAST(${value} AS DATE)`;
  if (n.moment === n.all && comma) return `CAST(${value} AS TIMESTAMP)`;
  return "";
}

const strip = (v: string) => `regexp_replace(${v}, '[ $€£%]', '', 'g')`;

async function describe(conn: AsyncDuckDBConnection, name: string): Promise<LocalTable> {
  const columns = (await conn.query(`DESCRIBE ${quote(name)}`))
    .toArray()
    .map((r: { column_name: string; column_type: string }) => ({ name: r.column_name, type: r.column_type }));
  const rows = Number((await conn.query(`SELECT count(*) AS n FROM ${quote(name)}`)).getChildAt(0)?.get(0));
  return { name, rows, columns };
}

/** Converts an Arrow value to a cell. */
function cell(v: unknown, kind: string): Cell {
  if (v === null || v === undefined) return null;
  switch (typeof v) {
    case "number":
      if (!Number.isFinite(v)) return null;
      if (kind === "date") return new Date(v).toISOString().slice(0, 10);
      if (kind === "timestamp") return moment(v);
      return v;
    case "bigint":
      if (kind === "time") return new Date(Number(v / 1000n)).toISOString().slice(11, 19);
      return Number.isSafeInteger(Number(v)) ? Number(v) : String(v);
    case "string":
    case "boolean":
      return v;
  }
  if (v instanceof Date) return kind === "date" ? v.toISOString().slice(0, 10) : moment(v.getTime());
  if (v instanceof Uint8Array) return `(${v.length} bytes)`;
  return JSON.stringify(v, (_, x: unknown) => (typeof x === "bigint" ? Number(x) : x)) ?? String(v);
}

function moment(ms: number): string {
  return new Date(ms).toISOString().replace(/(\.000)?Z$/, "");
}
