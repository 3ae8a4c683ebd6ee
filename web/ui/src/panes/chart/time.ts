// Periods of time: recognises them in a column, lists them without gaps, and formats them for an axis. All times are
// UTC, so that dates are shown as they are stored.
import type { Cell, Column } from "../../log/events";

export type Unit = "year" | "quarter" | "month" | "week" | "day" | "moment";

export interface Period {
  unit: Unit;
  at: number; // start time in ms
}

const day = 86_400_000;

const forms: [RegExp, Unit, (m: RegExpExecArray) => number][] = [
  [/^(\d{4})-(\d{2})-(\d{2})$/, "day", (m) => Date.UTC(+m[1]!, +m[2]! - 1, +m[3]!)],
  [/^(\d{4})-(\d{2})$/, "month", (m) => Date.UTC(+m[1]!, +m[2]! - 1, 1)],
  [/^(\d{4})[-\s]?Q([1-4])$/i, "quarter", (m) => Date.UTC(+m[1]!, 3 * (+m[2]! - 1), 1)],
  [/^Q([1-4])[-\s]?(\d{4})$/i, "quarter", (m) => Date.UTC(+m[2]!, 3 * (+m[1]! - 1), 1)],
  [/^(\d{4})-?W(\d{2})$/i, "week", (m) => isoWeek(+m[1]!, +m[2]!)],
  [/^(1[89]|20|21)\d{2}$/, "year", (m) => Date.UTC(+m[0]!, 0, 1)],
  [/^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}/, "moment", (m) => moment(m.input)],
];

function moment(s: string): number {
  const iso = s.trim().replace(" ", "T");
  return Date.parse(/(Z|[+-]\d{2}:?\d{2})$/.test(iso) ? iso : `${iso}Z`);
}

function isoWeek(year: number, week: number): number {
  const fourth = Date.UTC(year, 0, 4);
  return fourth - ((new Date(fourth).getUTCDay() + 6) % 7) * day + (week - 1) * 7 * day;
}

function read(v: Cell, named: boolean): Period | undefined {
  if (typeof v !== "string" && typeof v !== "number") return undefined;
  const text = String(v);
  for (const [form, unit, at] of forms) {
    const m = form.exec(text);
    if (!m || (unit === "year" && !named)) continue;
    const ms = at(m);
    return Number.isNaN(ms) ? undefined : { unit, at: ms };
  }
  return undefined;
}

/** Reads a column as periods of one unit. Returns undefined if it has other values. Dates that are all the first day of
 *  a month, as date_trunc returns, are months. */
export function periods(column: Column, values: readonly Cell[]): { unit: Unit; at: (number | null)[] } | undefined {
  const named = /year|yr|jahr/i.test(column.name);
  const at: (number | null)[] = [];
  let unit: Unit | undefined;
  for (const v of values) {
    if (v === null) {
      at.push(null);
      continue;
    }
    const p = read(v, named);
    if (!p || (unit && p.unit !== unit && !mixed(p.unit, unit))) return undefined;
    unit = unit && p.unit !== unit ? "moment" : p.unit;
    at.push(p.at);
  }
  if (!unit) return undefined;
  return { unit: unit === "day" || unit === "moment" ? coarser(column, unit, at) : unit, at };
}

const mixed = (a: Unit, b: Unit) => (a === "day" || a === "moment") && (b === "day" || b === "moment");

function coarser(column: Column, unit: Unit, at: (number | null)[]): Unit {
  const known = at.filter((t): t is number => t !== null);
  const all = (f: (d: Date) => boolean) => known.every((t) => f(new Date(t)));
  if (!all((d) => d.getTime() % day === 0)) return unit;
  if (known.length < 2) return "day";
  if (all((d) => d.getUTCDate() === 1)) {
    if (all((d) => d.getUTCMonth() === 0) && !/month/i.test(column.name)) return "year";
    if (all((d) => d.getUTCMonth() % 3 === 0) && !/month/i.test(column.name)) return "quarter";
    return "month";
  }
  const sorted = [...new Set(known)].sort((a, b) => a - b);
  const steps = sorted.slice(1).map((t, i) => t - sorted[i]!);
  if (steps.length > 1 && steps.every((s) => s % (7 * day) === 0)) return "week";
  return "day";
}

/** Returns the start of the period after the one that starts at t. */
export function after(unit: Unit, t: number): number {
  const d = new Date(t);
  switch (unit) {
    case "year":
      return Date.UTC(d.getUTCFullYear() + 1, 0, 1);
    case "quarter":
      return Date.UTC(d.getUTCFullYear(), d.getUTCMonth() + 3, 1);
    case "month":
      return Date.UTC(d.getUTCFullYear(), d.getUTCMonth() + 1, 1);
    case "week":
      return t + 7 * day;
    default:
      return t + day;
  }
}

const maxPeriods = 2000;

/** Returns all periods from the first to the last, including those without rows. Returns undefined if there are too
 *  many, or if a value is not the start of a period. */
export function withoutGaps(unit: Unit, at: readonly number[]): number[] | undefined {
  if (unit === "moment" || at.length === 0) return undefined;
  const last = Math.max(...at);
  const out: number[] = [];
  for (let t = Math.min(...at); t <= last; t = after(unit, t)) {
    if (out.push(t) > maxPeriods) return undefined;
  }
  const have = new Set(out);
  return at.every((t) => have.has(t)) ? out : undefined;
}

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** Formats a period: 2025, Q1 2025, Mar 2025, 3 Mar 2025. */
export function label(unit: Unit, t: number): string {
  const d = new Date(t);
  const year = d.getUTCFullYear();
  switch (unit) {
    case "year":
      return `${year}`;
    case "quarter":
      return `Q${d.getUTCMonth() / 3 + 1} ${year}`;
    case "month":
      return `${months[d.getUTCMonth()]} ${year}`;
    case "moment":
      if (t % day !== 0)
        return `${d.getUTCDate()} ${months[d.getUTCMonth()]} ${year}, ${d.toISOString().slice(11, 16)}`;
      return `${d.getUTCDate()} ${months[d.getUTCMonth()]} ${year}`;
    default:
      return `${d.getUTCDate()} ${months[d.getUTCMonth()]} ${year}`;
  }
}

/** Reports whether the period that starts at t is not over, or the data ends before it does. A few days without rows at
 *  its end do not count. */
export function unfinished(unit: Unit, t: number, to: { now: number; data?: number }): boolean {
  if (unit === "moment" || unit === "day") return false;
  const end = after(unit, t);
  if (to.now >= t && to.now < end) return true;
  return to.data !== undefined && to.data >= t && to.data < end - Math.max(2 * day, (end - t) / 8);
}
