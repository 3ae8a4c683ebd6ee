// The marks of a chart: rows as they are drawn, in their order, with what is missing
// left open and what is too much put together.
import type { Cell } from "../../log/events";
import { numberOf, styleOf, written, type Style } from "../numbers";
import { additive, currencies, mostSeries, type Data, type Plan } from "./pick";
import { label, periods, unbroken, unfinished, type Unit } from "./time";

/** One mark. Its keys are the fields of the specification: a column may be called
 *  "a.b[0]", which Vega-Lite takes for a path. */
export interface Mark {
  i: number; // its place, for who goes through them by keyboard
  x: string | number;
  l: string; // x as it is read
  y: number | null;
  v: string; // y as it is read
  s?: string; // series
  p?: 1; // the period is not over
  o?: 1; // all others together
}

type Axis = "periods" | "moments" | "numbers" | "names";

export interface Marks {
  axis: Axis;
  unit?: Unit;
  marks: Mark[];
  /** What stands along x, in order: for periods and names. */
  domain: string[];
  /** The beginnings of the periods of domain. */
  begins: number[];
  series: string[];
  style: Style;
  notes: string[];
  additive: boolean;
  partial?: string;
}

export const mostBars = 12;
const longest = 100;

export function nameOf(v: Cell): string {
  if (v === null) return "(none)";
  const text = String(v);
  return text.length > longest ? `${text.slice(0, longest - 1)}…` : text.trim() ? text : "(empty)";
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
  const styles = plan.y.map((j) =>
    styleOf(
      d.columns[j]!,
      d.rows.map((r) => r[j]),
    ),
  );
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

/** Rows as marks, for the types that have an x and a y. */
export function marksOf(d: Data, plan: Plan, to: { now: number; data?: number }): Marks {
  const column = d.columns[plan.x!]!;
  const time = periods(
    column,
    d.rows.map((r) => r[plan.x!] ?? null),
  );
  const all = points(d, plan, time?.at);
  const sums = plan.y.length > 0 && plan.y.every((j) => additive(d.columns[j]!, d.sql)) && !currencies(d);
  const style = styleOf(
    d.columns[plan.y[0]!]!,
    all.map((p) => p.raw),
  );
  const out: Marks = { axis: "names", marks: [], domain: [], begins: [], series: [], style, notes: [], additive: sums };
  const empty = all.filter((p) => p.y === null).length;
  if (empty) out.notes.push(`${empty === 1 ? "1 value is" : `${empty} values are`} missing, and not drawn as zero.`);
  const few = fewSeries(all, plan, sums, out);
  const regular =
    time &&
    unbroken(
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
  else if (plan.type !== "bar" && plan.type !== "pie" && numeric(few))
    continuous(
      few,
      (p) => numberOf(p.x),
      (p) =>
        written(
          p.x,
          styleOf(
            column,
            few.map((q) => q.x),
          ),
        ),
      out,
      "numbers",
    );
  else byName(few, plan, out);
  out.marks.forEach((m, i) => (m.i = i));
  return out;
}

const numeric = (ps: Point[]) => ps.every((p) => p.x === null || (typeof p.x !== "boolean" && numberOf(p.x) !== null));

/** More series than colours: the largest keep theirs. */
function fewSeries(all: Point[], plan: Plan, sums: boolean, out: Marks): Point[] {
  const size = new Map<string, number>();
  for (const p of all) if (p.s !== undefined) size.set(p.s, (size.get(p.s) ?? 0) + Math.abs(p.y ?? 0));
  out.series =
    plan.series === undefined ? [...size.keys()] : [...size.keys()].sort((a, b) => size.get(b)! - size.get(a)!);
  if (out.series.length <= mostSeries) return all;
  const kept = new Set(out.series.slice(0, mostSeries - 1));
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
      `The ${kept.size} largest of ${rest + kept.size} series are shown; all others together would dwarf them.`,
    );
    return those;
  }
  return [...those, ...sum.values()];
}

/** All others together are no bar when beside it nothing can be seen of the rest. */
const dwarfs = (sum: number | null, most: number) => Math.abs(sum ?? 0) > 10 * most;

function mark(p: Point, x: string | number, l: string): Mark {
  return {
    i: 0,
    x,
    l,
    y: p.y,
    v: p.y === null ? "no value" : written(p.raw, p.style),
    ...(p.s !== undefined ? { s: p.s } : {}),
  };
}

/** Periods side by side, the missing ones as gaps. */
function byPeriod(all: Point[], unit: Unit, regular: number[], to: { now: number; data?: number }, out: Marks): void {
  out.axis = "periods";
  out.unit = unit;
  out.begins = regular;
  out.domain = regular.map((t) => label(unit, t));
  const none = all.filter((p) => p.at === null).length;
  if (none)
    out.notes.push(
      `${none === 1 ? "1 value has" : `${none} values have`} no date, and ${none === 1 ? "is" : "are"} not drawn.`,
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
      const there = mine.get(p.at);
      if (there) there.push(p);
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
    out.notes.push(`${all.length - known.length} without a place on the axis are not drawn.`);
  known.sort((a, b) => at(a)! - at(b)!);
  out.marks = known.map((p) => mark(p, at(p)!, l(p)));
}

const weekdays = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
const monthNames = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/** The order that names have by themselves, where they have one. */
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
  // Ranges (0–10, 100+, under 5) and steps (Q1, H2, XS … XXL) come as they should be read.
  const range = /^(?:[<>≤≥]=?\s*|under\s+|over\s+|up to\s+)?[$€£]?[\d.,]+[km]?\s*(?:[-–—]|to|\+|and|or|$|<)/i;
  if (
    names.every((v) => range.test(word(v)) || /^(q[1-4]|h[12])$/.test(word(v)) || /^(x{0,3}s|m|x{0,3}l)$/.test(word(v)))
  )
    return "given";
  return undefined;
}

/** Names by their value, the largest first; beyond twelve they are put together. */
function byName(all: Point[], plan: Plan, out: Marks): void {
  const total = new Map<Cell, number>(),
    of = new Map<Cell, Point[]>();
  for (const p of all) {
    total.set(p.x, (total.get(p.x) ?? 0) + (p.y ?? 0));
    const there = of.get(p.x);
    if (there) there.push(p);
    else of.set(p.x, [p]);
  }
  let names = [...total.keys()];
  const order = ordinal(names);
  const known = new Set(names.filter((n) => of.get(n)!.some((p) => p.y !== null)));
  const value = (v: Cell) => (known.has(v) ? total.get(v)! : -Infinity);
  if (plan.sort === "x" || plan.sort === "-x") {
    const sign = plan.sort === "x" ? 1 : -1;
    names.sort(
      (a, b) => sign * (order && order !== "given" ? order(a) - order(b) : nameOf(a).localeCompare(nameOf(b))),
    );
  } else if (plan.sort === "y") names.sort((a, b) => value(a) - value(b));
  else if (plan.sort === "-y" || !order) names.sort((a, b) => value(b) - value(a));
  else if (order !== "given") names.sort((a, b) => order(a) - order(b));
  let rest: Cell[] = [];
  if (names.length > mostBars && !(order && plan.sort !== "-y")) {
    const largest = new Set(
      [...names].sort((a, b) => Math.abs(total.get(b)!) - Math.abs(total.get(a)!)).slice(0, mostBars),
    );
    rest = names.filter((n) => !largest.has(n));
    names = names.filter((n) => largest.has(n));
  }
  const clash = new Map<string, number>();
  const shown = new Map<Cell, string>();
  for (const n of names) {
    const text = nameOf(n);
    const seen = (clash.get(text) ?? 0) + 1;
    clash.set(text, seen);
    shown.set(n, seen > 1 ? `${text} (${seen})` : text);
  }
  out.domain = names.map((n) => shown.get(n)!);
  for (const n of names) for (const p of of.get(n)!) out.marks.push(mark(p, shown.get(n)!, shown.get(n)!));
  if (!rest.length) return;
  if (!out.additive) {
    out.notes.push(`The ${mostBars} largest of ${mostBars + rest.length} are shown; the table has them all.`);
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
  if (others.some((m) => dwarfs(m.y, most))) {
    const sum =
      others.length === 1
        ? ` The other ${written(rest.length, { numeric: true, grouped: true, decimals: 0 })} together: ${others[0]!.v}.`
        : "";
    out.notes.push(
      `The ${mostBars} largest of ${written(total.size, { numeric: true, grouped: true, decimals: 0 })} are shown; the table has them all.${sum}`,
    );
    return;
  }
  out.domain.push(other);
  out.marks.push(...others);
}
