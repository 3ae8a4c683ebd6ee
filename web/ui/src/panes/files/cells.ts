// What of a result leaves the browser: as many cells as the person allows, and names
// of columns that hold nothing but what the statement and the schema say.
import type { Cell, Column } from "../../log/events";

/** What a visible control can allow, in cells of each result. */
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
const usual = new Set(words("count star sum avg min max value rows column_name column_type null key default extra approx_unique q25 q50 q75 std null_percentage n"));

/** The first whole rows within the allowance. A name that could hold a value, as a
 *  pivot makes them, counts as a cell, and is hidden when there is none left. */
export function allowed(r: Whole, allowance: number, said: string, schema: Iterable<string>): Sent {
  const known = new Set([...usual, ...words(said)]);
  for (const name of schema) for (const w of words(name)) known.add(w);
  let left = allowance;
  const columns = r.columns.map((c, i) => {
    if (words(c.name).every((w) => known.has(w))) return c;
    return left-- > 0 ? c : { ...c, name: `column ${i + 1}` };
  });
  const fits = columns.length ? Math.floor(Math.max(0, left) / columns.length) : 0;
  return { columns, rows: r.rows.slice(0, fits), rowCount: r.rowCount };
}

// The words that a JavaScript engine's own messages are made of.
const engine = new Set(
  words(
    `a an and are argument array assignment at be before call called cannot class constant constructor convert could data declared defined does end error exceeded expected expression failed find
    for from function got identifier in initialization initialize input instance invalid is iterable iterator json length map maximum missing must nan near not null number object of on only options or property
    properties rangeerror read reading redeclare reduce referenceerror required result return set setting size stack statement string symbol syntaxerror the this to token type typeerror undefined
    unexpected unterminated valid value variable was while with allsteps async await rows`,
  ),
);

/** An error of code that a model wrote, without anything that the data may have put
 *  into it. */
export function withoutValues(message: string, code: string): string {
  const known = new Set([...engine, ...words(code)]);
  return message.slice(0, 500).replace(/[\p{L}\p{N}_.$-]+/gu, (w) => (words(w).every((x) => known.has(x)) ? w : "…"));
}

/** What a statement's failure may say: one that was found before any row was read
 *  says all but texts that the statement does not have; another only what kind it is. */
export function failure(message: string, beforeRows: boolean, said = ""): string {
  const kind = /^(?:Error: )?((?:[A-Z][A-Za-z]+ )+Error|Error)\b/.exec(message)?.[1] ?? "Error";
  if (beforeRows) return message.replace(/^Error: /, "").replace(/'([^']*)'/g, (all, t: string) => (said.includes(t) ? all : "'…'")).slice(0, 2000);
  return `${kind}: the statement failed while it read rows. The words of the error stay in the browser, because they may hold values. Look for casts, divisions and dates that not every row allows (TRY_CAST helps).`;
}
