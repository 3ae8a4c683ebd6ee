// DuckDB in a worker of this page, from our own origin. It is loaded with the first
// file. Once the tables are in, its doors are shut: no other files, no network, no
// extension, and its settings cannot be changed. To cancel is to end the worker and
// begin a new one with the same files, because nothing else stops a query.
import { AsyncDuckDB, VoidLogger, type AsyncDuckDBConnection } from "@duckdb/duckdb-wasm";
import wasmUrl from "@duckdb/duckdb-wasm/dist/duckdb-eh.wasm?url";
import workerUrl from "@duckdb/duckdb-wasm/dist/duckdb-browser-eh.worker.js?url";
import type { Cell } from "../../log/events";
import { LateError, QueryError, type Whole } from "./cells";
import type { Ingest, Ingested } from "./ingest.worker";
import { asSelect, kindOf, oneSelect, quote, text } from "./sql";
import { noValue } from "./tables";

export interface LocalTable {
  name: string;
  rows: number;
  columns: { name: string; type: string }[];
}

export const mostKept = 100_000; // rows of a result that this page keeps
const queryLimit = 30_000; // ms
const loadLimit = 180_000;

/** One DuckDB with the tables of some files. */
export class Engine {
  private queue: Promise<unknown> = Promise.resolve();
  private over = false;

  private constructor(
    private readonly worker: Worker,
    private readonly conn: AsyncDuckDBConnection,
    readonly tables: ReadonlyMap<File, LocalTable[]>,
    readonly failures: ReadonlyMap<File, string>,
  ) {}

  /** Begins with some files. What cannot be read of them is said in failures. */
  static async start(files: readonly File[]): Promise<Engine> {
    const worker = new Worker(workerUrl);
    try {
      return await within(loadLimit, Engine.load(worker, files));
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

  /** Runs one statement that reads. When the signal comes, or its time is over, this
   *  engine is at its end; the caller begins another. */
  query(sql: string, signal: AbortSignal): Promise<Whole> {
    const statement = oneSelect(sql);
    const next = this.queue.then(() => this.stoppable(statement, signal));
    this.queue = next.catch(() => {});
    return next;
  }

  get ended(): boolean {
    return this.over;
  }

  end(): void {
    this.over = true;
    this.worker.terminate();
  }

  private async stoppable(sql: string, signal: AbortSignal): Promise<Whole> {
    if (this.over || signal.aborted) throw new DOMException("stopped", "AbortError");
    let stop = () => {};
    const stopped = new Promise<never>((_, reject) => {
      stop = () => reject(new DOMException("stopped", "AbortError"));
      signal.addEventListener("abort", stop);
    });
    try {
      return await within(queryLimit, Promise.race([this.read(sql), stopped]));
    } catch (err) {
      if (!(err instanceof QueryError)) this.end(); // it still works on it
      throw err;
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  /** Nothing it does can change the tables: it runs in a transaction that only reads. */
  private async read(given: string): Promise<Whole> {
    const sql = asSelect(given);
    let types: { name: string; type: string }[];
    try {
      const described = await this.conn.query(`DESCRIBE ${sql}`);
      types = described
        .toArray()
        .map((r: { column_name: string; column_type: string }) => ({ name: r.column_name, type: r.column_type }));
    } catch (err) {
      throw new QueryError(words(err), true);
    }
    await this.conn.query("BEGIN TRANSACTION READ ONLY");
    try {
      const columns = types.map((t) => ({ name: t.name, kind: kindOf(t.type) }));
      const rows: Cell[][] = [];
      let rowCount = 0;
      for await (const batch of await this.conn.send(sql)) {
        const room = Math.min(batch.numRows, mostKept - rows.length);
        const vectors = columns.map((_, i) => batch.getChildAt(i));
        for (let r = 0; r < room; r++) rows.push(vectors.map((v, i) => cell(v?.get(r) as unknown, columns[i]!.kind)));
        rowCount += batch.numRows;
      }
      return { columns, rows, rowCount };
    } catch (err) {
      throw new QueryError(words(err), false);
    } finally {
      await this.conn.query("ROLLBACK").catch(() => {});
    }
  }
}

const words = (err: unknown) => (err instanceof Error ? err.message : String(err));

function within<T>(ms: number, p: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout>;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new LateError(`It took longer than ${ms / 1000} seconds and was stopped.`)), ms);
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
  return within(loadLimit, answer).finally(() => worker.terminate());
}

async function create(db: AsyncDuckDB, conn: AsyncDuckDBConnection, t: Ingested): Promise<void> {
  const path = "incoming.csv";
  await db.registerFileBuffer(path, t.data);
  try {
    await conn.query(`CREATE TABLE ${quote(t.name)} AS SELECT * FROM read_csv(${text(path)}, ${options(t)})`);
  } finally {
    await db.dropFile(path);
  }
  if (t.csv) await tidy(conn, t.name, t.csv.decimalComma);
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

/** Gives texts that are numbers, dates or yes and no their types, where all of a
 *  column are; and moments without a zone, which needs an extension. */
async function tidy(conn: AsyncDuckDBConnection, name: string, comma: boolean): Promise<void> {
  const { columns } = await describe(conn, name);
  const texts = columns.filter((c) => c.type === "VARCHAR");
  const changes: string[] = columns
    .filter((c) => c.type.includes("TIME ZONE"))
    .map((c) => `make_timestamp(epoch_us(${quote(c.name)})) AS ${quote(c.name)}`);
  for (const c of texts) {
    const v = `trim(${quote(c.name)})`;
    const tests = comma
      ? [`'[-+]?[1-9]\\d{0,17}|0'`, `'[-+]?(\\d{1,3}(\\.\\d{3})+|\\d+)(,\\d+)?( ?[€%])?'`]
      : [`'[-+]?(\\d{1,3}(,\\d{3})+)( ?[$€£%])?'`, `'[-+]?[$€£]?(\\d{1,3}(,\\d{3})+|\\d+)(\\.\\d+)?( ?[$€£%])?'`];
    const full = [
      ...tests,
      "'\\d{1,2}\\.\\d{1,2}\\.\\d{4}'",
      "'\\d{4}-\\d\\d-\\d\\d'",
      "'\\d{4}-\\d\\d-\\d\\d[ T]\\d\\d:\\d\\d(:\\d\\d(\\.\\d+)?)?'",
      "'0\\d+'",
      "'\\d{1,2}/\\d{1,2}/\\d{4}'",
      "'(1[3-9]|2\\d|3[01])/\\d{1,2}/\\d{4}'",
      "'\\d{1,2}/(1[3-9]|2\\d|3[01])/\\d{4}'",
    ];
    const counts = full.map((t) => `count(*) FILTER (regexp_full_match(${v}, ${t}))`).join(", ");
    const asked = await conn.query(`SELECT count(*) FILTER (${v} <> ''), ${counts} FROM ${quote(name)}`);
    const n = Object.values(asked.toArray()[0]!.toJSON() as Record<string, unknown>).map(Number);
    const [
      all = 0,
      whole = 0,
      number = 0,
      dotted = 0,
      day = 0,
      moment = 0,
      code = 0,
      slashed = 0,
      dayFirst = 0,
      monthFirst = 0,
    ] = n;
    if (!all) continue;
    const value = `nullif(${v}, '')`;
    const digits = comma ? `replace(replace(${strip(value)}, '.', ''), ',', '.')` : `replace(${strip(value)}, ',', '')`;
    if (code > 0 && whole + number < all) continue;
    if (comma && whole === all && !code) changes.push(`CAST(${value} AS BIGINT) AS ${quote(c.name)}`);
    else if (number === all && !code)
      changes.push(`CAST(${digits} AS ${!comma && whole === all ? "BIGINT" : "DOUBLE"}) AS ${quote(c.name)}`);
    else if (dotted === all) changes.push(`CAST(strptime(${value}, '%d.%m.%Y') AS DATE) AS ${quote(c.name)}`);
    // 1/2/2025 may be either; one day past the twelfth tells for all.
    else if (slashed === all && dayFirst > 0 !== monthFirst > 0)
      changes.push(`CAST(strptime(${value}, '${dayFirst ? "%d/%m/%Y" : "%m/%d/%Y"}') AS DATE) AS ${quote(c.name)}`);
    else if (day === all && comma) changes.push(`CAST(${value} AS DATE) AS ${quote(c.name)}`);
    else if (moment === all && comma) changes.push(`CAST(${value} AS TIMESTAMP) AS ${quote(c.name)}`);
  }
  if (!changes.length) return;
  try {
    await conn.query(
      `CREATE OR REPLACE TABLE ${quote(name)} AS SELECT * REPLACE (${changes.join(", ")}) FROM ${quote(name)}`,
    );
  } catch {
    // A value does not fit after all, such as the 31st of a short month: texts they stay.
  }
}

const strip = (v: string) => `regexp_replace(${v}, '[ $€£%]', '', 'g')`;

async function describe(conn: AsyncDuckDBConnection, name: string): Promise<LocalTable> {
  const columns = (await conn.query(`DESCRIBE ${quote(name)}`))
    .toArray()
    .map((r: { column_name: string; column_type: string }) => ({ name: r.column_name, type: r.column_type }));
  const rows = Number((await conn.query(`SELECT count(*) AS n FROM ${quote(name)}`)).getChildAt(0)?.get(0));
  return { name, rows, columns };
}

/** A value of Arrow as a cell. */
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
