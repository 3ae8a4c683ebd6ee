// Compiles the chart of a result: which marks it has, how they are drawn, and what is said about it in words.
import { formatCell, numberOf, signOf, styleOf, stylesOf, title } from "../numbers";
import { bars } from "./bars";
import { histogram, ranges } from "./histogram";
import { numberLabels } from "./labels";
import { points } from "./lines";
import type { Options } from "./look";
import { list, marksOf, stackable, type Mark, type Marks } from "./marks";
import { pie, slices } from "./pie";
import { currencies, labelOf, measuresOf, maxParts, pick, type Data, type Plan, type Type } from "./pick";
import type { Scene } from "./scene";
import type { ChartSpec } from "../../log/events";

export type Drawing =
  | {
      kind: "chart";
      type: Type;
      scene: Scene;
      title: string; // of a chart that is saved as a file
      notes: string[];
      description: string;
      marks: Mark[];
      /** What the parts of a mark are called: its place along x, its series if there are several, and its value. */
      x: string;
      s?: string;
      y: string;
    }
  | { kind: "numbers"; figures: { name: string; value: string }[]; of?: string; description: string }
  | { kind: "table" }
  | { kind: "none"; why: string };

/** Compiles a chart of a result's rows. */
export function compile(d: Data, spec: ChartSpec | undefined, o: Options): Drawing {
  const plan = pick(d, spec, o.type);
  if (plan.type === "table") return { kind: "table" };
  if (!d.rows.length) return { kind: "none", why: "The result has no rows." };
  if (plan.type === "none") return { kind: "none", why: "These columns have no numbers to chart." };
  if (plan.type === "number") return numbers(d, plan);
  if (plan.type === "histogram") return distribution(d, plan, spec, o);
  if (plan.x === undefined || !plan.y.length) return { kind: "none", why: "These columns have no numbers to chart." };
  const m = marksOf(d, plan, o);
  if (!m.marks.some((k) => k.y !== null)) return { kind: "none", why: "Every value is missing." };
  m.notes.push(...omissions(d, plan, spec));
  if (plan.type === "pie") return parts(d, plan, m, spec, o);
  return plan.type === "bar" && m.axis !== "moments" ? barChart(d, plan, m, spec, o) : pointChart(d, plan, m, spec, o);
}

function numbers(d: Data, plan: Plan): Drawing {
  const styles = stylesOf(d.columns, d.rows);
  const figures = plan.y.map((j) => ({
    name: d.columns[j]!.name,
    value: formatCell(d.rows[0]![j], styles[j]!) || "no value",
  }));
  const of = labelOf(d);
  return {
    kind: "numbers",
    figures,
    ...(of ? { of } : {}),
    description: `${of ? `${of}. ` : ""}${figures.map((f) => `${f.name}: ${f.value}`).join(", ")}`,
  };
}

/** Returns notes about measures that are not drawn, and about an axis with several currencies. */
function omissions(d: Data, plan: Plan, spec?: ChartSpec): string[] {
  const out: string[] = [];
  const omitted = spec ? [] : measuresOf(d).filter((j) => j !== plan.x && !plan.y.includes(j));
  if (omitted.length)
    out.push(
      `${list(omitted.map((j) => title(d.columns[j]!.name)))} ${omitted.length === 1 ? "is" : "are"} not drawn here, only in the table.`,
    );
  const money = currencies(d);
  if (money) out.push(`One axis shows several currencies: ${list(money)}.`);
  return out;
}

function measure(d: Data, plan: Plan): string {
  return plan.y.length === 1 ? title(d.columns[plan.y[0]!]!.name) : "value";
}

/** Describes a chart for people who cannot see it. */
function describe(kind: string, d: Data, plan: Plan, m: Marks, spec?: ChartSpec): string {
  const known = m.marks.filter((k) => k.y !== null && !k.o);
  const high = known.reduce((a, b) => (b.y! > a.y! ? b : a)),
    low = known.reduce((a, b) => (b.y! < a.y! ? b : a));
  const of = (k: Mark) => `${k.v} (${[k.l, k.s].filter(Boolean).join(", ")})`;
  const parts = [`${kind} of ${measure(d, plan)} by ${title(d.columns[plan.x!]!.name)}`];
  if (m.series.length) parts.push(`in ${m.series.length} series: ${m.series.join(", ")}`);
  const span = m.axis === "periods" ? ` from ${m.domain[0]} to ${m.domain.at(-1)}` : "";
  return `${spec?.title ? `${spec.title}. ` : ""}${parts.join(", ")}; ${known.length} values${span}. Highest: ${of(high)}. Lowest: ${of(low)}.${m.notes.length ? ` ${m.notes.join(" ")}` : ""}`;
}

const typeNames: Partial<Record<Type, string>> = {
  bar: "Bar chart",
  line: "Line chart",
  area: "Area chart",
  scatter: "Scatter plot",
  pie: "Pie chart",
};

function chart(type: Type, d: Data, plan: Plan, m: Marks, spec: ChartSpec | undefined, scene: Scene): Drawing {
  const [x, y] = [title(d.columns[plan.x!]!.name), measure(d, plan)];
  return {
    kind: "chart",
    type,
    title: spec?.title || `${y} by ${x}`,
    notes: m.notes,
    description: describe(typeNames[type] ?? "Chart", d, plan, m, spec),
    marks: m.marks,
    x,
    ...(m.series.length ? { s: plan.series === undefined ? "series" : title(d.columns[plan.series]!.name) } : {}),
    y,
    scene,
  };
}

/** Returns how the numbers of the measure's axis are written, all in one unit. */
function writer(m: Marks, stacked: boolean) {
  const top = stacked ? highest(m) : m.marks.reduce((a, k) => Math.max(a, Math.abs(k.y ?? 0)), 0);
  return numberLabels(top, signOf({ numeric: true, grouped: true, currency: m.currency }));
}

/** Returns the height of the highest stack. */
function highest(m: Marks): number {
  const sums = new Map<string | number, number>();
  for (const k of m.marks) sums.set(k.x, (sums.get(k.x) ?? 0) + (k.y ?? 0));
  return [...sums.values()].reduce((a, b) => Math.max(a, b), 0);
}

function barChart(d: Data, plan: Plan, m: Marks, spec: ChartSpec | undefined, o: Options): Drawing {
  const split = plan.series !== undefined;
  const write = writer(m, split && stackable(m));
  return chart("bar", d, plan, m, spec, bars(m, o, { y: measure(d, plan), split, write }));
}

function pointChart(d: Data, plan: Plan, m: Marks, spec: ChartSpec | undefined, o: Options): Drawing {
  const type = plan.type === "line" || plan.type === "scatter" ? plan.type : "area";
  const zero = type === "area" || (type === "line" && fromZero(m));
  if (type === "line" && !zero) m.notes.push("The axis does not start at zero.");
  const scene = points(m, o, {
    ...{ type, zero, y: measure(d, plan), x: title(d.columns[plan.x!]!.name) },
    ...{ write: writer(m, type === "area" && stackable(m)), writeX: writerX(d, plan, m) },
  });
  return chart(type, d, plan, m, spec, scene);
}

/** Returns how the numbers along x are written. Years have no commas. */
function writerX(d: Data, plan: Plan, m: Marks): (v: number) => string {
  if (m.axis !== "numbers") return String;
  const style = styleOf(d.columns[plan.x!]!, []);
  const at = m.marks.map((k) => k.x as number);
  if (!style.grouped && at.every((x) => Number.isInteger(x) && x > 1000 && x < 3000)) return (v) => v.toFixed(0);
  const top = at.reduce((a, x) => Math.max(a, Math.abs(x)), 0);
  return numberLabels(top, signOf(style));
}

/** Reports whether the axis of a line starts at zero. It does not if the variation would be too small to see. */
function fromZero(m: Marks): boolean {
  const ys = m.marks.flatMap((k) => (k.y === null ? [] : [k.y]));
  const low = Math.min(...ys),
    high = Math.max(...ys);
  return low < 0 || low < high * 0.9;
}

function parts(d: Data, plan: Plan, m: Marks, spec: ChartSpec | undefined, o: Options): Drawing {
  const known = m.marks.filter((k) => k.y !== null);
  const tooMany = known.length > maxParts;
  if (tooMany || plan.series !== undefined || plan.y.length > 1 || known.some((k) => k.y! < 0)) {
    m.notes.push(
      tooMany ? `Too many slices for a pie; showing bars.` : "These values aren't parts of a whole; showing bars.",
    );
    return barChart(d, { ...plan, type: "bar" }, m, spec, o);
  }
  const sum = known.reduce((a, k) => a + k.y!, 0);
  if (sum <= 0) return { kind: "none", why: "The parts add up to zero." };
  const marks = slices(known, sum);
  return chart("pie", d, plan, { ...m, series: [], marks }, spec, pie(marks, sum, o));
}

function distribution(d: Data, plan: Plan, spec: ChartSpec | undefined, o: Options): Drawing {
  const found = ranges(
    d.columns[plan.x!]!,
    d.rows.map((r) => r[plan.x!] ?? null),
  );
  if (!found) return { kind: "none", why: "There are no numbers in this column." };
  const { name, marks } = found;
  const peak = marks.reduce((a, b) => (b.y! > a.y! ? b : a));
  const [from, to] = [marks[0]!.l.split(" to ")[0], marks.at(-1)!.l.split(" to ")[1]];
  const text = `Histogram of ${name}: ${found.known} values in ${marks.length} ranges from ${from} to ${to}.`;
  return {
    kind: "chart",
    type: "histogram",
    title: spec?.title || `Distribution of ${name}`,
    notes: found.missing ? [`${found.missing} values are missing.`] : [],
    description: `${spec?.title ? `${spec.title}. ` : ""}${text} Most, ${peak.v}, from ${peak.l}.`,
    marks,
    x: name,
    y: "rows",
    scene: histogram(found, o),
  };
}

/** Returns the types that the user can choose for a result. A disabled type has a reason in `off`. */
export function choices(d: Data, spec?: ChartSpec): { type: Type; off?: string }[] {
  const plan = pick(d, spec);
  if (plan.type === "none" || plan.type === "number") return [];
  if (plan.x === undefined) return [{ type: "table" }];
  const xs = d.rows.map((r) => r[plan.x!] ?? null);
  const names = new Set(xs).size;
  const numbers = xs.every((v) => v === null || numberOf(v) !== null);
  const several = plan.series !== undefined || plan.y.length > 1;
  const noPie = several
    ? "A pie shows one series."
    : names > maxParts
      ? `A pie shows at most ${maxParts} parts.`
      : undefined;
  const time = plan.type === "line" || plan.type === "area" || numbers;
  return [
    { type: "bar" },
    { type: "line", ...(time || names > 2 ? {} : { off: "A line needs at least three points." }) },
    { type: "area", ...(time || names > 2 ? {} : { off: "An area needs at least three points." }) },
    { type: "scatter" },
    { type: "pie", ...(noPie ? { off: noPie } : {}) },
    ...(plan.type === "histogram" ? [{ type: "histogram" as const }] : []),
    { type: "table" },
  ];
}
