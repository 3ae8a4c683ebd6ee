// What of a result leaves the browser: no cells but those that the person sends, and
// names of columns that hold nothing but what the statement and the schema say.
import type { Cell, Column } from "../../log/events";

/** How many cells of each result can be sent. */
export const allowances = [0, 50, 1000] as const;
export type Allowance = (typeof allowances)[number];

export interface Whole {
  columns: Column[];
  rows: Cell[][]; // may be cut; rowCount is the true number
  rowCount: number;
}

export interface Sent {
  columns: Column[];
  rows: Cell[][];
  rowCount: number;
}

const words = (s: string) => s.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

// Names that DuckDB gives by itself.
const usual = new Set(
  words(
    "count star sum avg min max value rows column_name column_type null key default extra approx_unique q25 q50 q75 std null_percentage n",
  ),
);

/** Reports whether a column's name says nothing of the data. DuckDB takes the names of a
 *  statement's columns from its text. A pivot and a model's code choose them while they
 *  read rows: from a list of texts of theirs, they could choose one for each value. So
 *  theirs must be names of the schema. Names of earlier results will not do: a statement
 *  makes as many as it likes, and the next call could choose among them. */
function plainName(statement: string, code: string, schema: Iterable<string>): (name: string) => boolean {
  const names = [...schema];
  if (!code && !/pivot/i.test(statement)) {
    const known = new Set([...usual, ...words(statement), ...names.flatMap(words)]);
    return (name) => words(name).every((w) => known.has(w));
  }
  const known = new Set(names.map((n) => n.toLowerCase()));
  return (name) => known.has(name.toLowerCase());
}

/** What a call says of the columns that it makes. */
export interface Said {
  sql: string;
  code: string; // that a model wrote
}

/** The first whole rows within the allowance. A name that could hold a value counts as
 *  a cell, and is hidden when there is none left. */
export function allowed(r: Whole, allowance: number, said: Said, schema: Iterable<string>): Sent {
  const plain = plainName(said.sql, said.code, schema);
  let left = allowance;
  const columns = r.columns.map((c, i) => {
    if (plain(c.name)) return c;
    return left-- > 0 ? c : { ...c, name: `column ${i + 1}` };
  });
  const fits = columns.length ? Math.floor(Math.max(0, left) / columns.length) : 0;
  return { columns, rows: r.rows.slice(0, fits), rowCount: r.rowCount };
}

/** How many values a sent result has: its cells, and names that no one without them
 *  would have. */
export function cellsOf(sent: Sent, blind: Sent): number {
  return (
    sent.rows.length * sent.columns.length + sent.columns.filter((c, i) => c.name !== blind.columns[i]?.name).length
  );
}

/** An error in words of ours, without anything of the data. It is told in full. */
export class OurError extends Error {}

/** A statement that the page refused to run. */
export class RefusedError extends OurError {}

/** Work that was stopped because it took too long. */
export class LateError extends OurError {}

/** What became of a statement. */
export type Outcome = "executed" | "refused" | "failed" | "timed_out";

/** Why a statement gave no rows. DuckDB itself refuses to read files and the network. */
export function outcomeOf(err: unknown): Outcome {
  if (err instanceof RefusedError) return "refused";
  if (err instanceof LateError) return "timed_out";
  return err instanceof QueryError && errorKinds.exec(err.message)?.[1] === "Permission Error" ? "refused" : "failed";
}

/** A statement that failed. Early: before it read any row. */
export class QueryError extends Error {
  constructor(
    message: string,
    readonly early: boolean,
  ) {
    super(message);
  }
}

/** An error of code that a model wrote. Early: before the code was given any data. */
export class CodeError extends Error {
  constructor(
    message: string,
    readonly early: boolean,
  ) {
    super(message);
  }
}

// Messages of JavaScript engines that help to mend code. What stands for NAME is sent only
// where it is a name of the schema: code can choose any other by the values that it reads.
const messages = [
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

/** An error of code that a model wrote, without anything that the data may have put
 *  into it: a known message with no names but the schema's, of any other only its type. */
export function withoutValues(message: string, schema: Iterable<string> = []): string {
  const known = new Set([...schema].map((n) => n.toLowerCase()));
  const match = messages.map((m) => m.exec(message)).find((m) => m);
  if (match) {
    const name = match[1];
    return !name || known.has(name.toLowerCase()) ? message : message.replace(name, () => "…");
  }
  const kind = /^(?:Type|Reference|Range|Syntax|URI|Eval)?Error(?=:|$)/.exec(message)?.[0] ?? "Error";
  return `${kind}: the code failed after it was given the rows. The message stays in the browser, because it may hold values.`;
}

// The kinds of errors that DuckDB has. A message that begins with other words may
// begin with a value.
const errorKinds =
  /^(?:Error: )?((?:Binder|Catalog|Constraint|Conversion|Decimal|Dependency|Divide by Zero|Internal|INTERNAL|Interrupt|Invalid|Invalid Input|Invalid Type|IO|Mismatch Type|Not implemented|Out of Memory|Out of Range|Parser|Permission|Sequence|Serialization|Syntax|Transaction) Error)\b/;

/** What a statement's failure may say: one that was found before any row was read
 *  says all but texts that the statement does not have; another only what kind it is.
 *  A pivot reads rows to find its columns, so its errors may name values at once. */
export function failure(message: string, beforeRows: boolean, said = ""): string {
  const kind = errorKinds.exec(message)?.[1] ?? "Error";
  if (beforeRows && !/pivot/i.test(said))
    return message
      .replace(/^Error: /, "")
      .replace(/'([^']*)'/g, (all, t: string) => (said.includes(t) ? all : "'…'"))
      .slice(0, 2000);
  const why = "The words of the error stay in the browser, because they may hold values.";
  if (kind === "Out of Memory Error")
    return `${kind}: the statement needs more memory than the browser gives it. ${why} Filter or aggregate before you join or sort.`;
  const hint = /pivot/i.test(said)
    ? "Check the names of columns; those of a pivot are values."
    : "Look for casts, divisions and dates that not every row allows (TRY_CAST helps).";
  return `${kind}: the statement failed while it read rows. ${why} ${hint}`;
}
