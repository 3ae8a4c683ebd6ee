// Converts rows to the marks of a chart, in drawing order. Missing periods become gaps, and names or series beyond the
// maximum are combined.
import type { Cell } from "../../log/events";
import { numberOf, styleOf, stylesOf, formatCell, type Style } from "../numbers";
import { additive, currencies, maxSeries, type Data, type Plan } from "./pick";
import { label, periods, withoutGaps, unfinished, type Unit } from "./time";

/** One mark. */
export interface Mark {
  i: number; // its index, for the keyboard
  x: string | number;
  l: string; // x, formatted
  y: number | null;
  v: string; // y, formatted
  s?: string; // the series
  p?: 1; // set if the period is not over
  o?: 1; // set if it combines all other names
}

type Axis = "periods" | "moments" | "numbers" | "names";

export interface Marks {
  axis: Axis;
  unit?: Unit;
  marks: Mark[];
  /** The periods or names along x, in order. */
  domain: string[];
  /** The start times of the periods in domain. */
  begins: number[];
  series: string[];
  currency: string | undefined; // of all measures
  notes: string[];
  additive: boolean;
  partial?: string;
}

/** Reports whether the series can be drawn on top of each other. */
export const stackable = (m: Marks): boolean =>
  m.series.length > 0 && m.additive && m.marks.every((k) => (k.y ?? 0) >= 0);

export const maxBars = 12;
const maxNameLength = 100;

export function nameOf(v: Cell): string {
  if (v === null) return "(none)";
  const text = String(v);
  return text.length > maxNameLength ? `${text.slice(0, maxNameLength - 1)}…` : text.trim() ? text : "(empty)";
}

interface Point {
  x: Cell;
  at: number | null;
  y: number | null;
  raw: Cell;
  s?: string;
  style: Style;
}

function points(d: Data, plan: Plan, at?: (number | null)[]): Point[] {
  const look = stylesOf(d.columns, d.rows);
  const styles = plan.y.map((j) => look[j]!);
  const out: Point[] = [];
  d.rows.forEach((r, i) => {
    plan.y.forEach((j, k) => {
      const s =
        plan.series !== undefined ? nameOf(r[plan.series] ?? null) : plan.y.length > 1 ? d.columns[j]!.name : undefined;
      const raw = r[j] ?? null;
      out.push({
        x: r[plan.x!] ?? null,
        at: at?.[i] ?? null,
        y: numberOf(raw),
        raw,
        style: styles[k]!,
        ...(s !== undefined ? { s } : {}),
      });
    });
  });
  return out;
}

export const list = (names: string[]) =>
  names.length <= 3 ? names.join(", ") : `${names.slice(0, 2).join(", ")} and ${names.length - 2} more`;

/** Converts rows to marks, for the types that have an x and a y. */
export function marksOf(d: Data, plan: Plan, to: { now: number; data?: number }): Marks {
  const column = d.columns[plan.x!]!;
  const time = periods(
    column,
    d.rows.map((r) => r[plan.x!] ?? null),
  );
  const all = points(d, plan, time?.at);
  const sums = plan.y.length > 0 && plan.y.every((j) => additive(d.columns[j]!, d.sql)) && !currencies(d);
  const currency = new Set(all.map((p) => p.style.currency)).size === 1 ? all[0]!.style.currency : undefined;
  const out: Marks = {
    axis: "names",
    marks: [],
    domain: [],
    begins: [],
    series: [],
    currency,
    notes: [],
    additive: sums,
  };
  const empty = all.filter((p) => p.y === null).length;
  if (empty) out.notes.push(`${empty === 1 ? "1 value is" : `${empty} values are`} missing, and not drawn as zero.`);
  const few = limitSeries(all, plan, sums, out);
  const regular =
    time &&
    withoutGaps(
      time.unit,
      time.at.filter((t): t is number => t !== null),
    );
  if (time && regular) byPeriod(few, time.unit, regular, to, out);
  else if (time)
    continuous(
      few,
      (p) => p.at,
      (p) => label("moment", p.at!),
      out,
      "moments",
    );
  else if (plan.type !== "bar" && plan.type !== "pie" && numeric(few)) {
    const style = styleOf(
      column,
      few.map((p) => p.x),
    );
    continuous(
      few,
      (p) => numberOf(p.x),
      (p) => formatCell(p.x, style),
      out,
      "numbers",
    );
  } else byName(few, plan, out);
  out.marks.forEach((m, i) => (m.i = i));
  return out;
}

const numeric = (ps: Point[]) => ps.every((p) => p.x === null || (typeof p.x !== "boolean" && numberOf(p.x) !== null));

/** Keeps the largest series if there are more than colours, and combines the others if their values can be added. */
function limitSeries(all: Point[], plan: Plan, sums: boolean, out: Marks): Point[] {
  const size = new Map<string, number>();
  for (const p of all) if (p.s !== undefined) size.set(p.s, (size.get(p.s) ?? 0) + Math.abs(p.y ?? 0));
  out.series =
    plan.series === undefined ? [...size.keys()] : [...size.keys()].sort((a, b) => size.get(b)! - size.get(a)!);
  if (out.series.length <= maxSeries) return all;
  const kept = new Set(out.series.slice(0, maxSeries - 1));
  const rest = out.series.length - kept.size;
  out.series = [...kept];
  const those = all.filter((p) => kept.has(p.s!));
  if (!sums) {
    out.notes.push(`The ${kept.size} largest of ${rest + kept.size} series are shown; the table has them all.`);
    return those;
  }
  const other = `Other (${rest})`;
  out.series.push(other);
  const sum = new Map<Cell, Point>();
  let most = 0;
  for (const p of those) most = Math.max(most, Math.abs(p.y ?? 0));
  for (const p of all) {
    if (kept.has(p.s!)) continue;
    const at = sum.get(p.x);
    if (!at) sum.set(p.x, { ...p, s: other });
    else if (p.y !== null) sum.set(p.x, { ...at, y: (at.y ?? 0) + p.y, raw: (at.y ?? 0) + p.y });
  }
  if (plan.type === "line" && [...sum.values()].some((p) => dwarfs(p.y, most))) {
    out.series.pop();
    out.notes.push(
      `The ${kept.size} largest of ${rest + kept.size} series are shown; the sum of the others would dwarf them.`,
    );
    return those;
  }
  return [...those, ...sum.values()];
}

/** Reports whether a sum is so large that the other values would be invisible beside it. */
const dwarfs = (sum: number | null, most: number) => Math.abs(sum ?? 0) > 10 * most;

function mark(p: Point, x: string | number, l: string): Mark {
  return {
    i: 0,
    x,
    l,
    y: p.y,
    v: p.y === null ? "no value" : formatCell(p.raw, p.style),
    ...(p.s !== undefined ? { s: p.s } : {}),
  };
}

/** Adds a mark for each period. Missing periods become gaps. */
function byPeriod(all: Point[], unit: Unit, regular: number[], to: { now: number; data?: number }, out: Marks): void {
  out.axis = "periods";
  out.unit = unit;
  out.begins = regular;
  out.domain = regular.map((t) => label(unit, t));
  const none = all.filter((p) => p.at === null).length;
  if (none)
    out.notes.push(
      `${none === 1 ? "1 value has" : `${none} values have`} no date and ${none === 1 ? "is" : "are"} not drawn.`,
    );
  const have = new Set(all.map((p) => p.at));
  const gaps = regular.filter((t) => !have.has(t)).map((t) => label(unit, t));
  if (gaps.length) out.notes.push(`There are no rows for ${list(gaps)}.`);
  const last = regular.at(-1)!;
  const open = unfinished(unit, last, to);
  if (open) {
    out.partial = label(unit, last);
    out.notes.push(
      unfinished(unit, last, { now: to.now })
        ? `${out.partial} is not over yet.`
        : `${out.partial} is not complete: its data ends on ${label("day", to.data! - (to.data! % 86_400_000))}.`,
    );
  }
  const series = out.series.length ? out.series : [undefined];
  for (const s of series) {
    const mine = new Map<number, Point[]>();
    for (const p of all) {
      if (p.s !== s || p.at === null) continue;
      const same = mine.get(p.at);
      if (same) same.push(p);
      else mine.set(p.at, [p]);
    }
    regular.forEach((t, k) => {
      const l = out.domain[k]!;
      const here = mine.get(t);
      for (const p of here ?? [])
        out.marks.push({ ...mark(p, l, l), ...(open && t === last ? { p: 1 as const } : {}) });
      if (!here) out.marks.push({ i: 0, x: l, l, y: null, v: "no value", ...(s !== undefined ? { s } : {}) });
    });
  }
}

function continuous(
  all: Point[],
  at: (p: Point) => number | null,
  l: (p: Point) => string,
  out: Marks,
  axis: Axis,
): void {
  out.axis = axis;
  const known = all.filter((p) => at(p) !== null);
  if (known.length < all.length)
    out.notes.push(`${all.length - known.length} values without a position on the axis are not drawn.`);
  known.sort((a, b) => at(a)! - at(b)!);
  out.marks = known.map((p) => mark(p, at(p)!, l(p)));
}

const weekdays = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
const monthNames = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/** Returns the natural order of names, such as weekdays or ranges: a function, "given" for the order of the rows, or
 *  undefined if they have none. */
export function ordinal(names: readonly Cell[]): ((v: Cell) => number) | "given" | undefined {
  if (names.length > 1 && names.every((v) => v === null || (typeof v !== "boolean" && numberOf(v) !== null)))
    return (v) => numberOf(v) ?? Infinity;
  const word = (v: Cell) =>
    String(v ?? "")
      .trim()
      .toLowerCase();
  for (const known of [weekdays, monthNames]) {
    const place = (v: Cell) =>
      known.findIndex((k) => word(v) === k || (word(v).startsWith(k) && /^[a-z]{3,9}$/.test(word(v))));
    if (names.length > 1 && names.every((v) => v === null || place(v) >= 0))
      return (v) => (v === null ? Infinity : place(v));
  }
  // Ranges (0–10, 100+, under 5) and steps (Q1, H2, XS to XXL) are expected in the right order.
  const range = /^(?:[<>≤≥]=?\s*|under\s+|over\s+|up to\s+)?[$€£]?[\d.,]+[km]?\s*(?:[-–—]|to|\+|and|or|$|<)/i;
  if (
    names.every((v) => range.test(word(v)) || /^(q[1-4]|h[12])$/.test(word(v)) || /^(x{0,3}s|m|x{0,3}l)$/.test(word(v)))
  )
    return "given";
  return undefined;
}

/** Adds a mark for each name, largest value first. Names beyond the maximum are combined. */
function byName(all: Point[], plan: Plan, out: Marks): void {
  const of = new Map<Cell, Point[]>();
  for (const p of all) {
    const same = of.get(p.x);
    if (same) same.push(p);
    else of.set(p.x, [p]);
  }
  const total = new Map([...of].map(([name, ps]) => [name, ps.reduce((sum, p) => sum + (p.y ?? 0), 0)]));
  const order = ordinal([...of.keys()]);
  const sorted = sortNames(of, total, order, plan.sort);
  let names = sorted;
  if (names.length > maxBars && !(order && plan.sort !== "-y")) {
    const bySize = [...names].sort((a, b) => Math.abs(total.get(b)!) - Math.abs(total.get(a)!));
    const largest = new Set(bySize.slice(0, maxBars));
    names = names.filter((n) => largest.has(n));
  }
  const shown = uniqueNames(names);
  out.domain = names.map((n) => shown.get(n)!);
  for (const n of names) for (const p of of.get(n)!) out.marks.push(mark(p, shown.get(n)!, shown.get(n)!));
  const drawn = new Set(names);
  const rest = sorted.filter((n) => !drawn.has(n));
  if (rest.length) combineRest(rest, of, out);
}

function sortNames(
  of: Map<Cell, Point[]>,
  total: Map<Cell, number>,
  order: ReturnType<typeof ordinal>,
  sort: Plan["sort"],
): Cell[] {
  const names = [...of.keys()];
  const value = (v: Cell) => (of.get(v)!.some((p) => p.y !== null) ? total.get(v)! : -Infinity);
  const place = typeof order === "function" ? order : undefined;
  if (sort === "x" || sort === "-x") {
    const sign = sort === "x" ? 1 : -1;
    return names.sort((a, b) => sign * (place ? place(a) - place(b) : nameOf(a).localeCompare(nameOf(b))));
  }
  if (sort === "y") return names.sort((a, b) => value(a) - value(b));
  if (sort === "-y" || !order) return names.sort((a, b) => value(b) - value(a));
  return place ? names.sort((a, b) => place(a) - place(b)) : names;
}

/** Returns the displayed names. Names that would look the same are numbered. */
function uniqueNames(names: readonly Cell[]): Map<Cell, string> {
  const counts = new Map<string, number>();
  const out = new Map<Cell, string>();
  for (const n of names) {
    const text = nameOf(n);
    const count = (counts.get(text) ?? 0) + 1;
    counts.set(text, count);
    out.set(n, count > 1 ? `${text} (${count})` : text);
  }
  return out;
}

/** Adds a mark or a note for the names that have no mark of their own. The values of the mark must be additive. */
function combineRest(rest: readonly Cell[], of: Map<Cell, Point[]>, out: Marks): void {
  if (!out.additive) {
    out.notes.push(`The ${maxBars} largest of ${maxBars + rest.length} are shown; the table has them all.`);
    return;
  }
  const other = `Other (${rest.length})`;
  const most = Math.max(0, ...out.marks.map((m) => Math.abs(m.y ?? 0)));
  const others: Mark[] = [];
  for (const s of out.series.length ? out.series : [undefined]) {
    const mine = rest.flatMap((n) => of.get(n)!.filter((p) => p.s === s && p.y !== null));
    if (!mine.length) continue;
    const sum = mine.reduce((a, p) => a + p.y!, 0);
    others.push({ ...mark({ ...mine[0]!, y: sum, raw: sum }, other, other), o: 1 });
  }
  if (!others.some((m) => dwarfs(m.y, most))) {
    out.domain.push(other);
    out.marks.push(...others);
    return;
  }
  const count = (n: number) => formatCell(n, { numeric: true, grouped: true, decimals: 0 });
  const sum = others.length === 1 ? ` The sum of the other ${count(rest.length)} is ${others[0]!.v}.` : "";
  out.notes.push(`The ${maxBars} largest of ${count(of.size)} are shown; the table has them all.${sum}`);
}
