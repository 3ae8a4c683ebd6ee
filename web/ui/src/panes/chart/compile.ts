// Compiles a chart to Vega-Lite 6. The specification contains the data and no addresses. Its fields have fixed names,
// and text from the database is only in places where Vega does not interpret it.
import { formatCell, numberOf, signOf, styleOf, stylesOf, title } from "../numbers";
import { list, marksOf, type Mark, type Marks } from "./marks";
import { currencies, labelOf, measuresOf, maxParts, pick, type Data, type Plan, type Type } from "./pick";
import type { Unit } from "./time";
import type { ChartSpec } from "../../log/events";

export interface Look {
  series: readonly string[];
  ink: string;
  quiet: string;
  line: string;
  surface: string;
  font: string;
  heading: string; // the font of titles
}

export interface Options {
  width: number;
  height: number;
  look: Look;
  /** The type that the user chose instead of the spec's. */
  type?: Type;
  /** The current time in ms. */
  now: number;
  /** The time where the data ends in ms, if it is known. */
  data?: number;
  /** Draws the title, for a chart that is saved as a file. */
  titled?: boolean;
}

type Json = { [key: string]: unknown };

export type Drawing =
  | {
      kind: "chart";
      type: Type;
      spec: Json;
      height: number;
      notes: string[];
      description: string;
      marks: Mark[];
      x: string;
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
  if (plan.type === "histogram") return histogram(d, plan, spec, o);
  if (plan.x === undefined || !plan.y.length) return { kind: "none", why: "These columns have no numbers to chart." };
  const m = marksOf(d, plan, o);
  if (!m.marks.some((k) => k.y !== null)) return { kind: "none", why: "Every value is missing." };
  m.notes.push(...omissions(d, plan, spec));
  if (plan.type === "pie") return pie(d, plan, m, spec, o);
  return plan.type === "bar" && m.axis !== "moments" ? bars(d, plan, m, spec, o) : xy(d, plan, m, spec, o);
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

// Units for the labels of an axis of numbers, such as 1.2 M. All labels of an axis have the same unit; numbers outside
// these units are written as powers of ten.
const units: [number, string][] = [
  [1e12, " T"],
  [1e9, " B"],
  [1e6, " M"],
  [1e5, " K"],
];

export function numberLabels(top: number, sign = ""): Json {
  const powers = top >= 1e17 || (top > 0 && top < 1e-3);
  const [from, unit] = (!powers && units.find(([from]) => top >= from)) || [1, ""];
  const by = from === 1e5 ? 1e3 : from;
  const size = (value: string) => `format(${value}${by === 1 ? "" : ` / ${by}`}, '${powers ? "~e" : ",~r"}')`;
  if (sign) {
    const amount = `(datum.value < 0 ? '-' : '') + '${sign}' + ${size("abs(datum.value)")}`;
    return { labelExpr: `datum.value == 0 ? '${sign}0' : ${amount}${unit && ` + '${unit}'`}` };
  }
  if (!unit && !powers) return { format: ",~r" };
  return { labelExpr: `datum.value == 0 ? '0' : ${size("datum.value")}${unit && ` + '${unit}'`}` };
}

const letterWidth = 6.4; // approximate, at 12 px

const maxWidth = (texts: readonly string[]) => Math.max(0, ...texts.map((t) => t.length)) * letterWidth;

/** Shortens names that would look the same if they were truncated, so that the part that differs stays visible. Returns
 *  undefined if truncating is enough. */
export function shortenNames(names: readonly string[], maxLength: number): string[] | undefined {
  const cut = names.filter((n) => n.length > maxLength);
  if (cut.length < 2 || new Set(names.map((n) => n.slice(0, maxLength - 1))).size === names.length) return undefined;
  let same = 0;
  while (cut.every((n) => n[same] === cut[0]![same] && same < n.length)) same++;
  const from = Math.max(0, same - Math.floor(maxLength / 3));
  return names.map((n) => {
    if (n.length <= maxLength) return n;
    const rest = n.slice(from);
    return `${from ? "…" : ""}${rest.length < maxLength ? rest : `${rest.slice(0, maxLength - 2)}…`}`;
  });
}

// Text from the database is passed to Vega as data, and never as part of an expression.
const shortNameExpr = (what: string) => `${what}_short[indexof(${what}_names, datum.value)]`;

function shortNameParams(what: string, names: readonly string[], maxLength: number): Json[] {
  const short = shortenNames(names, maxLength);
  return short
    ? [
        { name: `${what}_names`, value: names },
        { name: `${what}_short`, value: short },
      ]
    : [];
}

const legendLimit = 160;
const legendLetters = Math.floor(legendLimit / letterWidth);

/** Returns the periods to label so that the labels do not overlap: every second, third and so on, aligned with years
 *  and quarters. */
export function ticks(
  domain: readonly string[],
  begins: readonly number[],
  unit: Unit | undefined,
  room: number,
): string[] {
  const slot = room / Math.max(1, domain.length);
  const need = (maxWidth(domain) + 14) / slot;
  if (need <= 1) return [...domain];
  const steps = {
    year: [2, 5, 10, 20, 50, 100],
    quarter: [2, 4, 8, 20, 40],
    month: [2, 3, 6, 12, 24, 60, 120],
    week: [2, 4, 8, 13, 26, 52],
    day: [2, 7, 14, 28, 56, 112, 365],
    moment: [],
  }[unit ?? "moment"];
  const step = steps.find((s) => s >= need) ?? Math.ceil(need);
  const month = (t: number) => new Date(t).getUTCFullYear() * 12 + new Date(t).getUTCMonth();
  let first = 0;
  if (unit === "month") first = (step - (month(begins[0]!) % step)) % step;
  else if (unit === "quarter") first = (step - ((month(begins[0]!) / 3) % step)) % step;
  else if (unit === "year") first = (step - (new Date(begins[0]!).getUTCFullYear() % step)) % step;
  const out = domain.filter((_, i) => i >= first && (i - first) % step === 0);
  return out.length ? out : [domain[0]!];
}

function top(m: Marks, stacked: boolean): number {
  if (!stacked) return Math.max(...m.marks.map((k) => Math.abs(k.y ?? 0)));
  const sums = new Map<string | number, number>();
  for (const k of m.marks) sums.set(k.x, (sums.get(k.x) ?? 0) + (k.y ?? 0));
  return Math.max(...sums.values());
}

/** Returns how many entries of the legend fit beside each other, to the right of the axis labels. */
const legendColumns = (m: Marks, o: Options, labels = 60) =>
  Math.max(1, Math.floor((o.width - labels) / (Math.min(legendLimit, maxWidth(m.series)) + 44)));

const color = (m: Marks, o: Options, lines = false, labels?: number): Json =>
  m.series.length
    ? {
        field: "s",
        type: "nominal",
        sort: null,
        scale: {
          domain: m.series,
          range: m.series.map((s, i) =>
            s.startsWith("Other (") ? o.look.quiet : o.look.series[i % o.look.series.length],
          ),
        },
        legend: {
          title: null,
          offset: 34,
          ...(lines ? { symbolType: "stroke", symbolStrokeWidth: 2.5, symbolSize: 240 } : {}),
          columns: legendColumns(m, o, labels),
          labelLimit: legendLimit,
          ...(shortenNames(m.series, legendLetters)
            ? { labelLimit: legendLimit + 20, labelExpr: shortNameExpr("series") }
            : {}),
        },
      }
    : { value: o.look.series[0] };

function tips(d: Data, plan: Plan, m: Marks): Json[] {
  return [
    { field: "l", type: "nominal", title: title(d.columns[plan.x!]!.name) },
    ...(m.series.length
      ? [
          {
            field: "s",
            type: "nominal",
            title: plan.series === undefined ? "series" : title(d.columns[plan.series]!.name),
          },
        ]
      : []),
    { field: "v", type: "nominal", title: measure(d, plan) },
  ];
}

const typeNames: Partial<Record<Type, string>> = {
  bar: "Bar chart",
  line: "Line chart",
  area: "Area chart",
  scatter: "Scatter plot",
  pie: "Pie chart",
};

function chart(
  type: Type,
  d: Data,
  plan: Plan,
  m: Marks,
  spec: ChartSpec | undefined,
  o: Options,
  body: Json,
  height = o.height,
  params: Json[] = [],
): Drawing {
  const short = [...shortNameParams("series", m.series, legendLetters), ...params];
  const description = describe(typeNames[type] ?? "Chart", d, plan, m, spec);
  return {
    kind: "chart",
    type,
    height,
    notes: m.notes,
    description,
    marks: m.marks,
    x: title(d.columns[plan.x!]!.name),
    y: measure(d, plan),
    spec: {
      ...frame(
        o,
        height,
        description,
        o.titled ? spec?.title || `${measure(d, plan)} by ${title(d.columns[plan.x!]!.name)}` : undefined,
      ),
      ...(short.length ? { params: [at, ...short] } : {}),
      ...body,
    },
  };
}

const at: Json = { name: "at", value: -1 }; // the mark that was chosen with the keyboard

// In pixels. A title makes a saved chart higher, so that the rest is as on the page.
const titleSize = 18;
const titleGap = 12;
const titleHeight = titleSize + titleGap;

function frame(o: Options, height: number, description: string, title?: string): Json {
  const { look } = o;
  return {
    $schema: "https://vega.github.io/schema/vega-lite/v6.json",
    description,
    width: o.width,
    height: title ? height + titleHeight : height,
    autosize: { type: "fit", contains: "padding" },
    padding: 4,
    background: look.surface,
    ...(title ? { title: { text: title, anchor: "start", fontSize: titleSize, offset: titleGap } } : {}),
    params: [at],
    config: {
      font: look.font,
      view: { stroke: null },
      title: { color: look.ink, font: look.heading },
      text: { color: look.ink, font: look.font },
      axis: {
        labelColor: look.quiet,
        titleColor: look.quiet,
        labelFontSize: 12,
        titleFontSize: 12,
        titleFontWeight: "normal",
        domainColor: look.line,
        tickColor: look.line,
        gridColor: look.line,
        titlePadding: 8,
        labelPadding: 6,
      },
      legend: {
        orient: "top",
        labelColor: look.ink,
        labelFontSize: 12,
        symbolType: "circle",
        symbolSize: 90,
        columnPadding: 18,
        offset: 10,
        padding: 0,
      },
    },
  };
}

/** Returns the axis of the measure. It starts at zero for bars and areas. */
function measureAxis(
  d: Data,
  plan: Plan,
  m: Marks,
  o: { stacked: boolean; zero: boolean; horizontal?: boolean; room: number },
): Json {
  const max = top(m, o.stacked);
  const flat = max === 0;
  return {
    field: "y",
    type: "quantitative",
    title: measure(d, plan),
    scale: flat ? { domain: [0, 1] } : { zero: o.zero, nice: true }, // if all values are zero, draw them at the bottom
    axis: {
      ...(flat ? { values: [0] } : {}),
      grid: true,
      ticks: false,
      domain: false,
      tickCount: Math.max(2, Math.min(6, Math.floor(o.room / (o.horizontal ? 80 : 45)))),
      ...numberLabels(max, signOf({ numeric: true, grouped: true, currency: m.currency })),
      ...(o.horizontal
        ? { orient: "top" }
        : { titleAngle: 0, titleAlign: "left", titleAnchor: "end", titleX: 0, titleY: -10, titleBaseline: "bottom" }),
    },
    stack: o.stacked ? "zero" : null,
  };
}

/** The layout of bars. They are horizontal if the names do not fit below upright bars. */
interface BarLayout {
  domain: string[];
  many: boolean; // whether there are several series
  stacked: boolean;
  horizontal: boolean;
  maxLetters: number; // that fit into a label
  labels?: number; // the width of the labels to the left of horizontal bars
}

function barLayout(plan: Plan, m: Marks, o: Options): BarLayout {
  const many = m.series.length > 0;
  const domain = m.axis === "numbers" ? [...new Set(m.marks.map((k) => k.l))] : m.domain;
  const stacked = many && plan.series !== undefined && m.additive && m.marks.every((k) => (k.y ?? 0) >= 0);
  const horizontal =
    m.axis === "names" &&
    (maxWidth(domain) + 12) * domain.length > barRoom(o) &&
    !domain.every((l) => numberOf(l) !== null);
  const labels = horizontal ? Math.min(maxWidth(domain), o.width * 0.36) + 20 : undefined;
  return { domain, many, stacked, horizontal, maxLetters: Math.floor((o.width * 0.36) / letterWidth), labels };
}

const barRoom = (o: Options) => o.width - 70; // for upright bars

/** Returns the axis of the names or periods. */
function categoryAxis(m: Marks, b: BarLayout, o: Options): Json {
  const axis: Json = { ticks: false };
  if (b.horizontal) {
    const limit = Math.round(o.width * 0.36);
    Object.assign(axis, { domain: false, labelLimit: limit });
    if (shortenNames(b.domain, b.maxLetters))
      Object.assign(axis, { labelLimit: limit + 20, labelExpr: shortNameExpr("place") });
  } else {
    axis.labelAngle = 0;
    if (b.domain.length > 1) axis.values = ticks(b.domain, m.begins, m.unit, barRoom(o));
  }
  return {
    field: "x",
    type: "ordinal",
    sort: null,
    scale: { domain: b.domain, paddingInner: b.many && !b.stacked ? 0.2 : 0.28, paddingOuter: 0.14 },
    title: null,
    axis,
  };
}

/** Returns a scale with room for the figures at the ends of horizontal bars. */
function withFigures(m: Marks, b: BarLayout, o: Options, low: number, high: number): Json {
  const figures = maxWidth(m.marks.map((k) => k.v)) * 1.1 + 10;
  const sides = low < 0 && high > 0 ? 2 : 1;
  const plot = Math.max(40, o.width - Math.min(maxWidth(b.domain), o.width * 0.36) - 16 - sides * figures);
  const spare = ((high - low) * figures) / plot;
  return {
    domain: low === high ? [0, 1] : [low < 0 ? low - spare : 0, high > 0 ? high + spare : 0],
    nice: false,
  };
}

/** Returns layers with the figure beyond the end of each bar. */
const figureLayers = (x: Json, y: Json, o: Options): Json[] =>
  (
    [
      ["datum.y >= 0", "left", 5],
      ["datum.y < 0", "right", -5],
    ] as const
  ).map(([test, align, dx]) => ({
    transform: [{ filter: test }],
    mark: { type: "text", align, dx, baseline: "middle", fontSize: 12, color: o.look.quiet },
    encoding: { x, y, text: { field: "v", type: "nominal" } },
  }));

function barHeight(m: Marks, b: BarLayout, o: Options): number {
  if (!b.horizontal) return o.height;
  const step = b.many && !b.stacked ? Math.max(26, 12 * m.series.length + 10) : 28;
  const legend = b.many ? 80 + 18 * Math.ceil(m.series.length / legendColumns(m, o, b.labels)) : 24;
  return Math.max(120, b.domain.length * step + legend);
}

function bars(d: Data, plan: Plan, m: Marks, spec: ChartSpec | undefined, o: Options): Drawing {
  const b = barLayout(plan, m, o);
  const { many, stacked, horizontal } = b;
  const marks = m.marks.map((k) => ({ ...k, x: k.l, ...(many ? { k: m.series.indexOf(k.s ?? "") } : {}) }));
  const values = m.marks.map((k) => k.y ?? 0);
  const low = Math.min(0, ...values);
  const high = Math.max(0, stacked ? top(m, true) : Math.max(...values));
  const figures = horizontal && !many;
  const across = categoryAxis(m, b, o);
  const along = measureAxis(d, plan, m, {
    stacked,
    zero: true,
    horizontal,
    room: horizontal ? o.width * 0.6 : o.height,
  });
  if (figures) Object.assign(along, { scale: withFigures(m, b, o, low, high), axis: null });
  const encoding: Json = {
    x: horizontal ? along : across,
    y: horizontal ? across : along,
    color: many
      ? color(m, o, false, b.labels)
      : { condition: { test: "datum.o === 1", value: o.look.quiet }, value: o.look.series[0] },
    opacity: { condition: { test: "datum.p === 1", value: 0.45 }, value: 1 },
    tooltip: tips(d, plan, m),
    ...(stacked ? { order: { field: "k", type: "quantitative" } } : {}), // the largest series starts at zero
  };
  if (many && !stacked)
    encoding[horizontal ? "yOffset" : "xOffset"] = {
      field: "s",
      type: "nominal",
      sort: null,
      scale: { domain: m.series },
    };
  const layer: Json[] = [{ mark: { type: "bar", cornerRadiusEnd: stacked ? 0 : 2 }, encoding }];
  if (figures) layer.push(...figureLayers(along, across, o));
  if (low < 0)
    layer.push({
      mark: { type: "rule", color: o.look.quiet },
      encoding: { [horizontal ? "x" : "y"]: { datum: 0, type: "quantitative", ...(figures ? { axis: null } : {}) } },
    });
  if (!many) layer.push(selectionRing(o, { x: encoding.x, y: encoding.y }));
  const params = horizontal ? shortNameParams("place", b.domain, b.maxLetters) : [];
  return chart("bar", d, plan, m, spec, o, { data: { values: marks }, layer }, barHeight(m, b, o), params);
}

/** Returns a ring around the mark that was chosen with the keyboard. */
function selectionRing(o: Options, encoding: Json): Json {
  return {
    transform: [{ filter: "datum.i === at" }],
    mark: { type: "point", filled: false, size: 180, strokeWidth: 2, color: o.look.ink },
    encoding,
  };
}

function xy(d: Data, plan: Plan, m: Marks, spec: ChartSpec | undefined, o: Options): Drawing {
  const type = plan.type === "bar" ? "area" : (plan.type as Type);
  const stacked = type === "area" && m.series.length > 0 && m.additive && m.marks.every((k) => (k.y ?? 0) >= 0);
  const x = xAxis(d, plan, m, o);
  const zero = type === "area" || (type === "line" && fromZero(m));
  if (type === "line" && !zero) m.notes.push("The axis does not start at zero.");
  const y = measureAxis(d, plan, m, { stacked, zero, room: o.height });
  const shared: Json = { x, y, color: color(m, o, type === "line") };
  const tooltip = tips(d, plan, m);
  const layer = type === "scatter" ? [cloud(m, shared, tooltip)] : lines(type, m, shared, tooltip, stacked, o);
  if (!stacked) layer.push(selectionRing(o, { x, y }));
  return chart(type, d, plan, m, spec, o, { data: { values: m.marks }, layer });
}

const bySeries = (m: Marks, more: Json = {}): Json => ({
  field: "s",
  type: "nominal",
  sort: null,
  scale: { domain: m.series, ...more },
});

/** Returns the points of a scatter plot. They are smaller if there are many. */
const cloud = (m: Marks, shared: Json, tooltip: Json[]): Json => ({
  mark: {
    type: "point",
    filled: true,
    size: m.marks.length > 500 ? 20 : 50,
    opacity: m.marks.length > 200 ? 0.5 : 0.8,
  },
  encoding: { ...shared, ...(m.series.length ? { shape: { ...bySeries(m), legend: null } } : {}), tooltip },
});

/** Returns the layers of lines or areas: the marks, a dashed part for a period that is not over, and the points. */
function lines(type: Type, m: Marks, shared: Json, tooltip: Json[], stacked: boolean, o: Options): Json[] {
  const gaps = { invalid: "break-paths-show-path-domains" };
  const many = m.series.length > 0;
  const encoding = { ...shared };
  // Dashes distinguish the series for people who cannot distinguish the colours.
  if (type === "line" && many) encoding.strokeDash = bySeries(m, { range: dashes.slice(0, m.series.length) });
  const mark =
    type === "area"
      ? { type, fillOpacity: many ? (stacked ? 0.75 : 0.15) : 0.18, line: { strokeWidth: 2, ...gaps }, ...gaps }
      : { type: "line", strokeWidth: 2.25, strokeCap: "round", strokeJoin: "round", ...gaps };
  const layer: Json[] = [{ ...(m.partial ? { transform: [{ filter: "datum.p !== 1" }] } : {}), mark, encoding }];
  if (m.partial && !stacked)
    layer.push({
      data: { values: toPartial(m) },
      mark: { type: "line", strokeWidth: 2.25, strokeDash: [3, 4], opacity: 0.7, ...gaps },
      encoding: shared,
    });
  if (!stacked) layer.push(...dots(m, shared, o));
  // Invisible and larger than the mark, so that it is easy to point at.
  layer.push({ mark: { type: "point", size: 500, opacity: 0, filled: true }, encoding: { ...shared, tooltip } });
  return layer;
}

const dashes = [
  [1, 0],
  [7, 3],
  [2, 3],
  [10, 3, 2, 3],
  [5, 2],
  [1, 2],
  [12, 4],
  [4, 4, 1, 4],
];

/** Returns points on a line: all points if there are few, otherwise only those without neighbours. */
function dots(m: Marks, shared: Json, o: Options): Json[] {
  const per = m.marks.length / Math.max(1, m.series.length);
  const marks = per <= 40 ? m.marks : isolated(m);
  if (!marks.length) return [];
  const full = marks.filter((k) => k.p !== 1),
    open = marks.filter((k) => k.p === 1);
  return [
    ...(full.length
      ? [{ data: { values: full }, mark: { type: "point", filled: true, size: 34, opacity: 1 }, encoding: shared }]
      : []),
    ...(open.length
      ? [
          {
            data: { values: open },
            mark: { type: "point", filled: true, fill: o.look.surface, strokeWidth: 2, size: 44, opacity: 1 },
            encoding: shared,
          },
        ]
      : []),
  ];
}

function isolated(m: Marks): Mark[] {
  const of = (s?: string) => m.marks.filter((k) => k.s === s);
  return (m.series.length ? m.series : [undefined]).flatMap((s) => {
    const mine = of(s);
    return mine.filter(
      (k, i) => k.y !== null && (mine[i - 1]?.y ?? null) === null && (mine[i + 1]?.y ?? null) === null,
    );
  });
}

/** Returns the last two marks of each series: the last complete period and the one that is not over. */
function toPartial(m: Marks): Mark[] {
  return (m.series.length ? m.series : [undefined]).flatMap((s) => m.marks.filter((k) => k.s === s).slice(-2));
}

/** Reports whether the axis of a line starts at zero. It does not if the variation would be too small to see. */
function fromZero(m: Marks): boolean {
  const ys = m.marks.flatMap((k) => (k.y === null ? [] : [k.y]));
  const low = Math.min(...ys),
    high = Math.max(...ys);
  return low < 0 || low < high * 0.9;
}

function xAxis(d: Data, plan: Plan, m: Marks, o: Options): Json {
  const room = o.width - 70;
  if (m.axis === "periods" || m.axis === "names") {
    const few = m.axis === "names" ? ticks(m.domain, [], undefined, room) : ticks(m.domain, m.begins, m.unit, room);
    return {
      field: "x",
      type: "ordinal",
      sort: null,
      title: null,
      scale: { domain: m.domain, padding: 0.4 },
      axis: { ticks: false, labelAngle: 0, values: few, labelLimit: 200 },
    };
  }
  if (m.axis === "moments") {
    const at = m.marks.map((k) => k.x as number);
    const first = Math.min(...at),
      last = Math.max(...at),
      days = (last - first) / 86_400_000;
    const hours = Math.floor(first / 86_400_000) === Math.floor(last / 86_400_000) ? "%H:%M" : "%-d %b, %H:%M";
    const most = Math.max(2, Math.floor(room / 110));
    return {
      field: "x",
      type: "temporal",
      title: null,
      scale: { type: "utc" },
      axis: {
        grid: false,
        labelAngle: 0,
        labelOverlap: "greedy",
        tickCount: days < 2 ? most : Math.min(most, Math.floor(days)),
        format: days < 2 ? hours : days < 200 ? "%-d %b" : days < 2000 ? "%b %Y" : "%Y",
      },
    };
  }
  const top = Math.max(...m.marks.map((k) => Math.abs(k.x as number)));
  const years =
    m.marks.every((k) => Number.isInteger(k.x) && (k.x as number) > 1000 && (k.x as number) < 3000) &&
    !styleOf(d.columns[plan.x!]!, []).grouped;
  return {
    field: "x",
    type: "quantitative",
    title: title(d.columns[plan.x!]!.name),
    scale: { zero: false, nice: true },
    axis: {
      grid: plan.type === "scatter",
      labelAngle: 0,
      labelOverlap: "greedy",
      tickCount: Math.max(2, Math.floor(room / 90)),
      ...(years ? { format: "d" } : numberLabels(top, signOf(styleOf(d.columns[plan.x!]!, [])))),
    },
  };
}

function pie(d: Data, plan: Plan, m: Marks, spec: ChartSpec | undefined, o: Options): Drawing {
  const parts = m.marks.filter((k) => k.y !== null);
  if (parts.length > maxParts || plan.series !== undefined || plan.y.length > 1 || parts.some((k) => k.y! < 0)) {
    m.notes.push(
      parts.length > maxParts
        ? `Too many slices for a pie; showing bars.`
        : "These values aren't parts of a whole; showing bars.",
    );
    return bars(d, { ...plan, type: "bar" }, m, spec, o);
  }
  const sum = parts.reduce((a, k) => a + k.y!, 0);
  if (sum <= 0) return { kind: "none", why: "The parts add up to zero." };
  const sorted = [...parts].sort((a, b) => b.y! - a.y!);
  const share = (k: Mark) => `${((k.y! / sum) * 100).toFixed(k.y! / sum < 0.1 ? 1 : 0)}%`;
  const values = sorted.map((k, i) => ({
    ...k,
    i,
    s: k.l,
    v: `${k.v} (${share(k)})`,
    t: k.y! / sum >= 0.06 ? share(k) : "",
  }));
  const radius = Math.max(60, Math.min(o.width * 0.34, (o.height - 50) / 2));
  const theta = { field: "y", type: "quantitative", stack: true },
    order = { field: "i", type: "quantitative" };
  const slices: Marks = { ...m, series: sorted.map((k) => k.l), marks: values };
  return chart("pie", d, plan, { ...slices, series: [], marks: values.map(({ s: _, ...k }) => k) }, spec, o, {
    data: { values },
    layer: [
      {
        mark: { type: "arc", outerRadius: radius, innerRadius: radius * 0.5, stroke: o.look.surface, strokeWidth: 2 },
        encoding: {
          theta,
          order,
          color: color(slices, o),
          tooltip: [
            { field: "l", type: "nominal", title: title(d.columns[plan.x!]!.name) },
            { field: "v", type: "nominal", title: measure(d, plan) },
          ],
        },
      },
      {
        mark: { type: "text", radius: radius * 0.75, fontSize: 12, fontWeight: 600, color: o.look.surface },
        encoding: { theta, order, text: { field: "t", type: "nominal" } },
      },
    ],
  });
}

/** Draws how many values fall into ranges of equal width. */
function histogram(d: Data, plan: Plan, spec: ChartSpec | undefined, o: Options): Drawing {
  const column = d.columns[plan.x!]!;
  const raw = d.rows.map((r) => r[plan.x!] ?? null);
  const known = raw.map((v) => numberOf(v)).filter((v): v is number => v !== null);
  if (!known.length) return { kind: "none", why: "There are no numbers in this column." };
  const style = styleOf(column, raw);
  const low = Math.min(...known),
    high = Math.max(...known);
  const step = nice((high - low) / Math.max(4, Math.min(30, Math.ceil(Math.sqrt(known.length)))) || 1);
  const from = Math.floor(low / step) * step;
  const n = Math.max(1, Math.floor((high - from) / step + 1e-9) + 1);
  const counts = new Array<number>(n).fill(0);
  for (const v of known) counts[Math.min(n - 1, Math.floor((v - from) / step + 1e-9))]!++;
  const values = counts.map((y, i) => {
    const a = Number((from + i * step).toPrecision(12)),
      b = Number((from + (i + 1) * step).toPrecision(12));
    return {
      i,
      a,
      b,
      x: a,
      l: `${formatCell(a, { ...style, decimals: undefined })} to ${formatCell(b, { ...style, decimals: undefined })}`,
      y,
      v: formatCell(y, { numeric: true, grouped: true, decimals: 0 }),
    };
  });
  const name = title(column.name);
  const notes = known.length < raw.length ? [`${raw.length - known.length} values are missing.`] : [];
  const peak = values.reduce((a, b) => (b.y > a.y ? b : a));
  const description = `${spec?.title ? `${spec.title}. ` : ""}Histogram of ${name}: ${known.length} values in ${n} ranges from ${values[0]!.l.split(" to ")[0]} to ${values.at(-1)!.l.split(" to ")[1]}. Most, ${peak.v}, from ${peak.l}.`;
  const x = {
    field: "a",
    bin: { binned: true, step },
    type: "quantitative",
    title: name,
    axis: {
      grid: false,
      tickCount: Math.max(2, Math.floor(o.width / 90)),
      labelOverlap: "greedy",
      ...numberLabels(Math.max(Math.abs(low), Math.abs(high)), signOf(style)),
    },
  };
  const y = {
    field: "y",
    type: "quantitative",
    title: "rows",
    scale: { zero: true, nice: true },
    axis: {
      ticks: false,
      domain: false,
      tickCount: 5,
      format: ",~r",
      titleAngle: 0,
      titleAlign: "left",
      titleAnchor: "end",
      titleX: 0,
      titleY: -10,
      titleBaseline: "bottom",
    },
  };
  return {
    kind: "chart",
    type: "histogram",
    height: o.height,
    notes,
    description,
    marks: values,
    x: name,
    y: "rows",
    spec: {
      ...frame(o, o.height, description, o.titled ? spec?.title || `Distribution of ${name}` : undefined),
      data: { values },
      layer: [
        {
          mark: { type: "bar", binSpacing: 1, color: o.look.series[0] },
          encoding: {
            x,
            x2: { field: "b" },
            y,
            tooltip: [
              { field: "l", type: "nominal", title: name },
              { field: "v", type: "nominal", title: "rows" },
            ],
          },
        },
      ],
    },
  };
}

function nice(step: number): number {
  const power = 10 ** Math.floor(Math.log10(step));
  return power * ([1, 2, 2.5, 5, 10].find((k) => k * power >= step * 0.999) ?? 10);
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
