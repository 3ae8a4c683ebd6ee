// Chooses the type and columns of a chart: those of the model's chart, or a suggestion based on the columns.
import type { Cell, ChartSpec, Column } from "../../log/events";
import { isNumeric, isIdentifier, numberOf } from "../numbers";
import { periods } from "./time";

export type Type = ChartSpec["type"];

export interface Data {
  columns: readonly Column[];
  rows: readonly (readonly Cell[])[];
  sql?: string;
}

/** A chart to draw. Columns are indices. */
export interface Plan {
  type: Type | "number" | "none";
  x?: number;
  y: number[];
  series?: number;
  sort?: string;
}

export const maxParts = 6;
export const maxSeries = 8;

const column = (d: Data, j: number): Cell[] => d.rows.map((r) => r[j] ?? null);

function roles(d: Data) {
  const time: number[] = [],
    measures: number[] = [],
    names: number[] = [];
  d.columns.forEach((c, j) => {
    if (d.rows.length > 0 && periods(c, column(d, j))) time.push(j);
    else if (
      isNumeric(c) ||
      (!c.kind &&
        d.rows.some((r) => numberOf(r[j]) !== null) &&
        d.rows.every((r) => r[j] === null || numberOf(r[j]) !== null))
    ) {
      (isIdentifier(c) ? names : measures).push(j);
    } else if (c.kind !== "blob" && c.kind !== "json") names.push(j);
  });
  return { time, measures, names };
}

/** Returns the columns that are measures. */
export const measuresOf = (d: Data): number[] => roles(d).measures;

/** Returns a label for the figures of a single row, from its other columns. */
export function labelOf(d: Data): string {
  const { time, names } = roles(d);
  return [...names, ...time]
    .map((j) => d.rows[0]?.[j] ?? null)
    .filter((v) => v !== null && v !== "")
    .join(" · ")
    .slice(0, 200);
}

let codes: Set<string> | undefined;

/** Returns the currencies in a column of the result if there are several. Their amounts must not be added. */
export function currencies(d: Data): string[] | undefined {
  codes ??= new Set([...Intl.supportedValuesOf("currency"), "€", "$", "£", "¥"]);
  for (const j of d.columns.keys()) {
    const found = new Set<string>();
    for (const r of d.rows) {
      const v = r[j] ?? null;
      if (v === null) continue;
      if (typeof v !== "string" || !codes.has(v)) {
        found.clear();
        break;
      }
      found.add(v);
    }
    if (found.size > 1) return [...found];
  }
  return undefined;
}

const distinct = (d: Data, j: number) => new Set(column(d, j)).size;

/** Returns the measures that fit on the axis of the first one: none is 20 times larger or smaller. */
function comparable(d: Data, measures: number[]): number[] {
  const top = (j: number) => Math.max(...d.rows.map((r) => Math.abs(numberOf(r[j]) ?? 0)));
  const [first, ...rest] = measures;
  if (first === undefined) return [];
  const max = top(first);
  return [first, ...rest.filter((j) => top(j) > max / 20 && top(j) < max * 20)].slice(0, maxSeries);
}

/** Suggests a chart for a result without a spec. */
function suggest(d: Data): Plan {
  const { time, measures, names } = roles(d);
  if (!d.rows.length || !measures.length) return { type: "none", y: [] };
  if (d.rows.length === 1)
    return measures.length <= 4 ? { type: "number", y: measures } : { type: "none", y: measures };
  if (time.length) {
    const x = time[0]!;
    const series = names.find((j) => distinct(d, j) > 1 && distinct(d, j) <= 3 * maxSeries);
    const type = distinct(d, x) > 2 ? "line" : "bar"; // two points do not show a trend
    return series === undefined || distinct(d, x) === d.rows.length
      ? { type, x, y: comparable(d, measures) }
      : { type, x, y: measures.slice(0, 1), series };
  }
  if (names.length) {
    const x =
      names.find((j) => distinct(d, j) === d.rows.length && !isIdentifier(d.columns[j]!)) ??
      names.find((j) => distinct(d, j) === d.rows.length);
    if (x !== undefined || names.length === 1) return { type: "bar", x: x ?? names[0]!, y: comparable(d, measures) };
    const [a, b] = [...names].sort((i, j) => distinct(d, j) - distinct(d, i));
    return { type: "bar", x: a!, y: measures.slice(0, 1), series: b! };
  }
  if (measures.length >= 2) return { type: "scatter", x: measures[0]!, y: measures.slice(1, 2) };
  return d.rows.length > 12 ? { type: "histogram", x: measures[0]!, y: [] } : { type: "none", y: measures };
}

/** Returns the chart to draw. `type` is the user's choice; it keeps the columns. */
export function pick(d: Data, spec?: ChartSpec, type?: Type): Plan {
  const suggested = suggest(d);
  const at = (name?: string) => (name === undefined ? -1 : d.columns.findIndex((c) => c.name === name));
  const x = at(spec?.x),
    series = at(spec?.series);
  const y = (spec?.y ?? []).map(at).filter((j) => j >= 0);
  let plan: Plan = suggested;
  // A spec is ignored if its columns are missing in a newer version of the result.
  if (spec && x >= 0 && (y.length > 0 || spec.type === "histogram")) {
    plan = { type: spec.type, x, y, ...(series >= 0 ? { series } : {}), ...(spec.sort ? { sort: spec.sort } : {}) };
  }
  const singleFigure = d.rows.length === 1 && plan.y.length === 1 && plan.series === undefined;
  if (!type) return singleFigure && plan.type !== "table" ? { ...plan, type: "number" } : plan;
  if (plan.x === undefined || (plan.y.length === 0 && type !== "histogram")) {
    const j = roles(d).measures[0];
    if (plan.x === undefined || j === undefined || type === "histogram") return plan;
    return { ...plan, type, y: [j] };
  }
  return { ...plan, type };
}

/** Reports whether a column's values can be added, unlike averages, shares or counts of distinct values. */
export function additive(c: Column, sql = ""): boolean {
  if (
    /(^|_|\b)(avg|average|mean|median|rate|ratio|share|percent|percentage|pct|min|max|growth|change|rank|per|price|age|score|rating|distinct|unique)(_|\b|$)/i.test(
      c.name,
    )
  )
    return false;
  const name = c.name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const made = new RegExp(
    `\\b(avg|median|min|max|stddev\\w*|quantile\\w*|percentile\\w*)\\s*\\([^()]*\\)\\s*(?:as\\s+)?["\`]?${name}["\`]?(?![\\w])|count\\s*\\(\\s*distinct[^()]*\\)\\s*(?:as\\s+)?["\`]?${name}["\`]?(?![\\w])`,
    "i",
  );
  return !made.test(sql);
}
