// The footnotes of an answer: their positions in the text and their numbers, in reading order.
import type { Answer } from "../log/conversation";
import type { Cite, Unresolved } from "../log/events";
import { resultName } from "../lib/format";
import { fromBytes } from "../lib/utf8";

export interface Note {
  from: number; // in UTF-16 units of the answer's text
  to: number;
  /** The evidence. Undefined if no footnote was found. */
  cite?: Cite;
  open?: Unresolved;
  /** Undefined without evidence. */
  number?: number;
  /** The number is not displayed in a table, where nearly every cell has a footnote. */
  inTable?: boolean;
}

/** Returns the notes of an answer in the order of its text. */
export function notesOf(a: Answer): readonly Note[] {
  const known = cache.get(a);
  if (known) return known;
  const at = fromBytes(a.text);
  const notes: Note[] = [
    ...a.cites
      .filter((c) => c.formula !== "question")
      .map((cite) => ({ from: at(cite.start), to: at(cite.end), cite })),
    ...a.unresolved.map((open) => ({ from: at(open.start), to: at(open.end), open })),
  ].sort((x, y) => x.from - y.from);
  const numbers = new Map<string, number>();
  for (const n of notes) n.inTable = inTable(a.text, n.from);
  // Those of tables come last, so that the displayed numbers have no gaps.
  for (const n of [...notes].sort((x, y) => Number(x.inTable) - Number(y.inTable))) {
    if (!n.cite) continue;
    const key = `${n.cite.result}|${n.cite.row}|${n.cite.column}|${n.cite.formula}`;
    n.number = numbers.get(key) ?? numbers.size + 1;
    numbers.set(key, n.number);
  }
  cache.set(a, notes);
  return notes;
}

const cache = new WeakMap<Answer, readonly Note[]>();

function inTable(text: string, at: number): boolean {
  const line = text.slice(text.lastIndexOf("\n", at - 1) + 1, at);
  return /^\s*\|/.test(line);
}

/** Returns the numbered notes in the order of their numbers, each number once. */
export function numbered(notes: readonly Note[]): readonly Note[] {
  const seen = new Set<number>();
  return notes
    .filter((n) => n.number !== undefined && !seen.has(n.number) && seen.add(n.number))
    .sort((x, y) => x.number! - y.number!);
}

/** Describes where a number comes from: "revenue, row 3 of result 1". Without withResult, omits the result. */
export function origin(c: Cite, withResult = true): string {
  if (c.formula) return c.formula;
  const row = c.row === undefined ? "" : `, row ${c.row + 1}`;
  const result = withResult ? ` of ${resultName(c.result ?? "the result")}` : "";
  return `${c.column ?? "value"}${row}${result}`;
}
