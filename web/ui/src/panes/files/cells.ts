// Decides which parts of a result leave the browser: the cells that the user sends, and column names that cannot
// contain values.
import type { Cell, Column } from "../../log/events";

/** The numbers of cells of each result that can be sent. */
export const allowances = [0, 50, 1000] as const;
export type Allowance = (typeof allowances)[number];

/** A result in this browser. */
export interface LocalResult {
  columns: Column[];
  rows: Cell[][]; // may be truncated; rowCount is the full number
  rowCount: number;
}

/** The part of a result that is sent to the model. */
export interface Sent {
  columns: Column[];
  rows: Cell[][];
  rowCount: number;
}

const words = (s: string) => s.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

// Column names that DuckDB generates.
const generatedNames = new Set(
  words(
    "count star sum avg min max value rows column_name column_type null key default extra approx_unique q25 q50 q75 std null_percentage n",
  ),
);

/** Returns a function that reports whether a column's name cannot reveal values. DuckDB takes the column names of a
 *  statement from its text. A pivot and the model's code choose names while they read rows, and could encode values by
 *  choosing from a list of texts. Their names must therefore be in the schema. Names of earlier results do not count,
 *  because a statement could create a list to choose from. */
function plainName(statement: string, code: string, schema: Iterable<string>): (name: string) => boolean {
  const names = [...schema];
  if (!code && !/pivot/i.test(statement)) {
    const known = new Set([...generatedNames, ...words(statement), ...names.flatMap(words)]);
    return (name) => words(name).every((w) => known.has(w));
  }
  const known = new Set(names.map((n) => n.toLowerCase()));
  return (name) => known.has(name.toLowerCase());
}

/** The statement and the model's code of a call. */
export interface CallText {
  sql: string;
  code: string;
}

/** Returns the first complete rows within the allowance. A column name that may contain a value counts as a cell, and
 *  is replaced if the allowance is used up. */
export function limitCells(r: LocalResult, allowance: number, call: CallText, schema: Iterable<string>): Sent {
  const plain = plainName(call.sql, call.code, schema);
  let left = allowance;
  const columns = r.columns.map((c, i) => {
    if (plain(c.name)) return c;
    return left-- > 0 ? c : { ...c, name: `column ${i + 1}` };
  });
  const fits = columns.length ? Math.floor(Math.max(0, left) / columns.length) : 0;
  return { columns, rows: r.rows.slice(0, fits), rowCount: r.rowCount };
}

/** Returns the number of values that are sent: the cells, and the names that differ from those sent without cells. */
export function cellsOf(sent: Sent, withoutCells: Sent): number {
  return (
    sent.rows.length * sent.columns.length +
    sent.columns.filter((c, i) => c.name !== withoutCells.columns[i]?.name).length
  );
}

/** An error whose message is our own and contains no data. It can be sent in full. */
export class OurError extends Error {}

/** A statement that the page refused to run. */
export class RefusedError extends OurError {}

/** Thrown when work was stopped because it took too long. */
export class TimeoutError extends OurError {}

/** The outcome of a statement. */
export type Outcome = "executed" | "refused" | "failed" | "timed_out";

/** Classifies the error of a statement. DuckDB itself refuses to read files and the network. */
export function outcomeOf(err: unknown): Outcome {
  if (err instanceof RefusedError) return "refused";
  if (err instanceof TimeoutError) return "timed_out";
  return err instanceof QueryError && errorKinds.exec(err.message)?.[1] === "Permission Error" ? "refused" : "failed";
}

/** Thrown when a statement fails. `early` is set if it failed before it read any row. */
export class QueryError extends Error {
  constructor(
    message: string,
    readonly early: boolean,
  ) {
    super(message);
  }
}

/** Thrown when the model's code fails. `early` is set if it failed before it got any data. */
export class CodeError extends Error {
  constructor(
    message: string,
    readonly early: boolean,
  ) {
    super(message);
  }
}

// Messages of JavaScript engines that help the model to fix its code. The text in place of NAME is sent only if it is a
// name in the schema, because the code could choose any other name to reveal a value.
const helpfulMessages = [
  "TypeError: Cannot read properties of undefined (reading 'NAME')",
  "TypeError: Cannot read properties of null (reading 'NAME')",
  "TypeError: Cannot set properties of undefined (setting 'NAME')",
  "TypeError: Cannot set properties of null (setting 'NAME')",
  "TypeError: Cannot convert undefined or null to object",
  "TypeError: Cannot mix BigInt and other types, use explicit conversions",
  "TypeError: Reduce of empty array with no initial value",
  "TypeError: Assignment to constant variable.",
  "TypeError: NAME is not a function",
  "TypeError: NAME is not a constructor",
  "TypeError: NAME is not iterable",
  "TypeError: NAME is undefined",
  "TypeError: NAME is null",
  "ReferenceError: NAME is not defined",
  "ReferenceError: Cannot access 'NAME' before initialization",
  "RangeError: Invalid array length",
  "RangeError: Invalid time value",
  "RangeError: Maximum call stack size exceeded",
].map((m) => new RegExp(`^${m.replace(/[.()]/g, "\\$&").replace("NAME", "([\\p{L}\\p{N}_$.() ]{1,200})")}$`, "u"));

/** Removes everything from a code error that may come from the data. A known message keeps only names of the schema,
 *  and any other is reduced to its type. */
export function withoutValues(message: string, schema: Iterable<string> = []): string {
  const known = new Set([...schema].map((n) => n.toLowerCase()));
  const match = helpfulMessages.map((m) => m.exec(message)).find((m) => m);
  if (match) {
    const name = match[1];
    return !name || known.has(name.toLowerCase()) ? message : message.replace(name, () => "…");
  }
  const kind = /^(?:Type|Reference|Range|Syntax|URI|Eval)?Error(?=:|$)/.exec(message)?.[0] ?? "Error";
  return `${kind}: the code failed after it was given the rows. The message stays in the browser, because it may hold values.`;
}

// The kinds of DuckDB errors. A message that begins differently may begin with a value.
const errorKinds =
  /^(?:Error: )?((?:Binder|Catalog|Constraint|Conversion|Decimal|Dependency|Divide by Zero|Internal|INTERNAL|Interrupt|Invalid|Invalid Input|Invalid Type|IO|Mismatch Type|Not implemented|Out of Memory|Out of Range|Parser|Permission|Sequence|Serialization|Syntax|Transaction) Error)\b/;

/** Returns the part of a statement's error that can be sent. An error from before any row was read keeps its message,
 *  but quoted texts only if they are in the statement. A later error keeps only its kind. A pivot reads rows to find
 *  its columns, so its errors count as later ones. */
export function failure(message: string, beforeRows: boolean, sql = ""): string {
  const kind = errorKinds.exec(message)?.[1] ?? "Error";
  if (beforeRows && !/pivot/i.test(sql))
    return message
      .replace(/^Error: /, "")
      .replace(/'([^']*)'/g, (all, t: string) => (sql.includes(t) ? all : "'…'"))
      .slice(0, 2000);
  const why = "The error text stays in the browser, because it may contain values.";
  if (kind === "Out of Memory Error")
    return `${kind}: the statement needs more memory than the browser gives it. ${why} Filter or aggregate before you join or sort.`;
  const hint = /pivot/i.test(sql)
    ? "Check the column names; a pivot makes its column names from values."
    : "Look for casts, divisions and dates that not every row allows (TRY_CAST helps).";
  return `${kind}: the statement failed while it read rows. ${why} ${hint}`;
}
