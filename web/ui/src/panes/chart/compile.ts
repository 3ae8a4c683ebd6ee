// A chart as Vega-Lite 6: data inside, no addresses, fields with names of our own,
// and no text of the database in a place where Vega would interpret it.
import { numberOf, styleOf, written } from "../numbers";
import { list, marksOf, type Mark, type Marks } from "./marks";
import { currencies, labelOf, measuresOf, mostParts, pick, type Data, type Plan, type Type } from "./pick";
import type { Unit } from "./time";
import type { ChartSpec } from "../../log/events";

export interface Look {
  series: readonly string[];
  ink: string;
  quiet: string;
  line: string;
  surface: string;
  font: string;
}

export interface Options {
  width: number;
  height: number;
  look: Look;
  /** What a person chose instead of the spec's type. */
  type?: Type;
  /** The time now, and where the data ends, when that is known: ms. */
  now: number;
  data?: number;
  /** Puts the title into the picture, for one that leaves the page. */
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
  if (plan.type === "none") return { kind: "none", why: "There is nothing to measure in these columns." };
  if (plan.type === "number") return numbers(d, plan);
  if (plan.type === "histogram") return histogram(d, plan, spec, o);
  if (plan.x === undefined || !plan.y.length)
    return { kind: "none", why: "There is nothing to measure in these columns." };
  const m = marksOf(d, plan, o);
  if (!m.marks.some((k) => k.y !== null)) return { kind: "none", why: "Every value is missing." };
  m.notes.push(...unsaid(d, plan, spec));
  if (plan.type === "pie") return pie(d, plan, m, spec, o);
  return plan.type === "bar" && m.axis !== "moments" ? bars(d, plan, m, spec, o) : xy(d, plan, m, spec, o);
}

function numbers(d: Data, plan: Plan): Drawing {
  const figures = plan.y.map((j) => ({
    name: d.columns[j]!.name,
    value: written(d.rows[0]![j], styleOf(d.columns[j]!, [d.rows[0]![j]])) || "no value",
  }));
  const of = labelOf(d);
  return {
    kind: "numbers",
    figures,
    ...(of ? { of } : {}),
    description: `${of ? `${of}. ` : ""}${figures.map((f) => `${f.name}: ${f.value}`).join(", ")}`,
  };
}

/** What the picture itself does not show: measures that found no place beside the
 *  others, and that an axis carries several currencies. */
function unsaid(d: Data, plan: Plan, spec?: ChartSpec): string[] {
  const out: string[] = [];
  const left = spec ? [] : measuresOf(d).filter((j) => j !== plan.x && !plan.y.includes(j));
  if (left.length)
    out.push(
      `${list(left.map((j) => words(d.columns[j]!.name)))} ${left.length === 1 ? "is" : "are"} in the table, and not drawn here.`,
    );
  const money = currencies(d);
  if (money) out.push(`One axis carries several currencies: ${list(money)}.`);
  return out;
}

const words = (name: string) => name.replaceAll("_", " ");

function measure(d: Data, plan: Plan): string {
  return plan.y.length === 1 ? words(d.columns[plan.y[0]!]!.name) : "value";
}

/** What is said of a chart to who does not see it. */
function describe(kind: string, d: Data, plan: Plan, m: Marks, spec?: ChartSpec): string {
  const known = m.marks.filter((k) => k.y !== null && !k.o);
  const high = known.reduce((a, b) => (b.y! > a.y! ? b : a)),
    low = known.reduce((a, b) => (b.y! < a.y! ? b : a));
  const of = (k: Mark) => `${k.v} (${[k.l, k.s].filter(Boolean).join(", ")})`;
  const parts = [`${kind} of ${measure(d, plan)} by ${words(d.columns[plan.x!]!.name)}`];
  if (m.series.length) parts.push(`in ${m.series.length} series: ${m.series.join(", ")}`);
  const span = m.axis === "periods" ? ` from ${m.domain[0]} to ${m.domain.at(-1)}` : "";
  return `${spec?.title ? `${spec.title}. ` : ""}${parts.join(", ")}; ${known.length} values${span}. Highest: ${of(high)}. Lowest: ${of(low)}.${m.notes.length ? ` ${m.notes.join(" ")}` : ""}`;
}

// The labels of an axis of numbers: 1.2 M, all with the same unit; powers of ten
// where there is no word for it.
const units: [number, string][] = [
  [1e12, " T"],
  [1e9, " B"],
  [1e6, " M"],
  [1e5, " K"],
];

export function numberLabels(top: number): Json {
  if (top >= 1e17 || (top > 0 && top < 1e-3))
    return { labelExpr: "datum.value == 0 ? '0' : format(datum.value, '~e')" };
  const unit = units.find(([from]) => top >= from);
  if (unit) {
    const by = unit[0] === 1e5 ? 1e3 : unit[0];
    return { labelExpr: `datum.value == 0 ? '0' : format(datum.value / ${by}, ',~r') + '${unit[1]}'` };
  }
  return { format: ",~r" };
}

const letter = 6.4; // about the width of one at 12 px

const wide = (texts: readonly string[]) => Math.max(0, ...texts.map((t) => t.length)) * letter;

/** Names that would look alike when they are cut at their end, with the part in which
 *  they differ. Nothing when they need none of it. */
export function apart(names: readonly string[], most: number): string[] | undefined {
  const cut = names.filter((n) => n.length > most);
  if (cut.length < 2 || new Set(names.map((n) => n.slice(0, most - 1))).size === names.length) return undefined;
  let same = 0;
  while (cut.every((n) => n[same] === cut[0]![same] && same < n.length)) same++;
  const from = Math.max(0, same - Math.floor(most / 3));
  return names.map((n) => {
    if (n.length <= most) return n;
    const rest = n.slice(from);
    return `${from ? "…" : ""}${rest.length < most ? rest : `${rest.slice(0, most - 2)}…`}`;
  });
}

// Texts of the database are data for Vega, never a part of an expression.
const shortened = (what: string) => `${what}_short[indexof(${what}_names, datum.value)]`;

function shortParams(what: string, names: readonly string[], most: number): Json[] {
  const short = apart(names, most);
  return short
    ? [
        { name: `${what}_names`, value: names },
        { name: `${what}_short`, value: short },
      ]
    : [];
}

const legendLimit = 160;
const legendLetters = Math.floor(legendLimit / letter);

/** Of periods side by side, those whose label finds room: every second, third, …
 *  with years and quarters where they begin. */
export function ticks(
  domain: readonly string[],
  begins: readonly number[],
  unit: Unit | undefined,
  room: number,
): string[] {
  const slot = room / Math.max(1, domain.length);
  const need = (wide(domain) + 14) / slot;
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

/** How many entries of a legend stand beside each other, past the labels at the left. */
const legendColumns = (m: Marks, o: Options, labels = 60) =>
  Math.max(1, Math.floor((o.width - labels) / (Math.min(legendLimit, wide(m.series)) + 44)));

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
          ...(apart(m.series, legendLetters) ? { labelLimit: legendLimit + 20, labelExpr: shortened("series") } : {}),
        },
      }
    : { value: o.look.series[0] };

function tips(d: Data, plan: Plan, m: Marks): Json[] {
  return [
    { field: "l", type: "nominal", title: words(d.columns[plan.x!]!.name) },
    ...(m.series.length
      ? [
          {
            field: "s",
            type: "nominal",
            title: plan.series === undefined ? "series" : words(d.columns[plan.series]!.name),
          },
        ]
      : []),
    { field: "v", type: "nominal", title: measure(d, plan) },
  ];
}

const called: Partial<Record<Type, string>> = {
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
  const short = [...shortParams("series", m.series, legendLetters), ...params];
  const description = describe(called[type] ?? "Chart", d, plan, m, spec);
  return {
    kind: "chart",
    type,
    height,
    notes: m.notes,
    description,
    marks: m.marks,
    x: words(d.columns[plan.x!]!.name),
    y: measure(d, plan),
    spec: {
      ...frame(
        o,
        height,
        description,
        o.titled ? spec?.title || `${measure(d, plan)} by ${words(d.columns[plan.x!]!.name)}` : undefined,
      ),
      ...(short.length ? { params: [at, ...short] } : {}),
      ...body,
    },
  };
}

const at: Json = { name: "at", value: -1 }; // the mark that the keyboard is at

function frame(o: Options, height: number, description: string, title?: string): Json {
  const { look } = o;
  return {
    $schema: "https://vega.github.io/schema/vega-lite/v6.json",
    description,
    width: o.width,
    height,
    autosize: { type: "fit", contains: "padding" },
    padding: 4,
    background: look.surface,
    ...(title ? { title: { text: title, anchor: "start", fontSize: 16, offset: 12 } } : {}),
    params: [at],
    config: {
      font: look.font,
      view: { stroke: null },
      title: { color: look.ink, font: look.font },
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

/** The axis of what is measured. From zero for bars and areas. */
function measured(
  d: Data,
  plan: Plan,
  m: Marks,
  o: { stacked: boolean; zero: boolean; lying?: boolean; room: number },
): Json {
  const max = top(m, o.stacked);
  const flat = max === 0;
  return {
    field: "y",
    type: "quantitative",
    title: measure(d, plan),
    scale: flat ? { domain: [0, 1] } : { zero: o.zero, nice: true }, // nothing but noughts: they stand at the bottom
    axis: {
      ...(flat ? { values: [0] } : {}),
      grid: true,
      ticks: false,
      domain: false,
      tickCount: Math.max(2, Math.min(6, Math.floor(o.room / (o.lying ? 80 : 45)))),
      ...numberLabels(max),
      ...(o.lying
        ? { orient: "top" }
        : { titleAngle: 0, titleAlign: "left", titleAnchor: "end", titleX: 0, titleY: -10, titleBaseline: "bottom" }),
    },
    stack: o.stacked ? "zero" : null,
  };
}

function bars(d: Data, plan: Plan, m: Marks, spec: ChartSpec | undefined, o: Options): Drawing {
  const many = m.series.length > 0;
  const domain = m.axis === "numbers" ? [...new Set(m.marks.map((k) => k.l))] : m.domain;
  const stacked = many && plan.series !== undefined && m.additive && m.marks.every((k) => (k.y ?? 0) >= 0);
  const room = o.width - 70;
  const lying =
    m.axis === "names" && (wide(domain) + 12) * domain.length > room && !domain.every((l) => numberOf(l) !== null);
  const letters = Math.floor((o.width * 0.36) / letter);
  const marks = m.marks.map((k) => ({ ...k, x: k.l, ...(many ? { k: m.series.indexOf(k.s ?? "") } : {}) }));
  const band = {
    field: "x",
    type: "ordinal",
    sort: null,
    scale: { domain, paddingInner: many && !stacked ? 0.2 : 0.28, paddingOuter: 0.14 },
  };
  const across: Json = {
    ...band,
    title: null,
    axis: lying
      ? {
          ticks: false,
          domain: false,
          labelLimit: Math.round(o.width * 0.36),
          ...(apart(domain, letters)
            ? { labelLimit: Math.round(o.width * 0.36) + 20, labelExpr: shortened("place") }
            : {}),
        }
      : {
          ticks: false,
          labelAngle: 0,
          ...(domain.length > 1 ? { values: ticks(domain, m.begins, m.unit, room) } : {}),
        },
  };
  const max = top(m, stacked),
    low = Math.min(0, ...m.marks.map((k) => k.y ?? 0)),
    high = Math.max(0, stacked ? max : Math.max(...m.marks.map((k) => k.y ?? 0)));
  const said = lying && !many;
  const left = lying ? Math.min(wide(domain), o.width * 0.36) + 20 : undefined;
  const along = measured(d, plan, m, { stacked, zero: true, lying, room: lying ? o.width * 0.6 : o.height });
  // Room for the figures at the ends of the bars.
  if (said) {
    const figures = wide(m.marks.map((k) => k.v)) * 1.1 + 10;
    const plot = Math.max(
      40,
      o.width - Math.min(wide(domain), o.width * 0.36) - 16 - (low < 0 && high > 0 ? 2 : 1) * figures,
    );
    const spare = ((high - low) * figures) / plot;
    along.scale = {
      domain: low === high ? [0, 1] : [low < 0 ? low - spare : 0, high > 0 ? high + spare : 0],
      nice: false,
    };
  }
  if (said) along.axis = null;
  const e: Json = {
    x: lying ? along : across,
    y: lying ? across : along,
    color: many
      ? color(m, o, false, left)
      : { condition: { test: "datum.o === 1", value: o.look.quiet }, value: o.look.series[0] },
    opacity: { condition: { test: "datum.p === 1", value: 0.45 }, value: 1 },
    tooltip: tips(d, plan, m),
    ...(stacked ? { order: { field: "k", type: "quantitative" } } : {}), // the largest series stands at zero
  };
  if (many && !stacked)
    e[lying ? "yOffset" : "xOffset"] = { field: "s", type: "nominal", sort: null, scale: { domain: m.series } };
  const layer: Json[] = [{ mark: { type: "bar", cornerRadiusEnd: stacked ? 0 : 2 }, encoding: e }];
  if (said) {
    for (const [test, align, dx] of [
      ["datum.y >= 0", "left", 5],
      ["datum.y < 0", "right", -5],
    ] as const) {
      layer.push({
        transform: [{ filter: test }],
        mark: { type: "text", align, dx, baseline: "middle", fontSize: 12, color: o.look.quiet },
        encoding: { x: along, y: across, text: { field: "v", type: "nominal" } },
      });
    }
  }
  if (low < 0)
    layer.push({
      mark: { type: "rule", color: o.look.quiet },
      encoding: { [lying ? "x" : "y"]: { datum: 0, type: "quantitative", ...(said ? { axis: null } : {}) } },
    });
  if (!many) layer.push(here(o, { x: e.x, y: e.y }));
  const step = many && !stacked ? Math.max(26, 12 * m.series.length + 10) : 28;
  const height = lying
    ? Math.max(
        120,
        domain.length * step + (many ? 80 + 18 * Math.ceil(m.series.length / legendColumns(m, o, left)) : 24),
      )
    : o.height;
  return chart(
    "bar",
    d,
    plan,
    m,
    spec,
    o,
    { data: { values: marks }, layer },
    height,
    lying ? shortParams("place", domain, letters) : [],
  );
}

/** A ring around the mark that the keyboard is at. */
function here(o: Options, encoding: Json): Json {
  return {
    transform: [{ filter: "datum.i === at" }],
    mark: { type: "point", filled: false, size: 180, strokeWidth: 2, color: o.look.ink },
    encoding,
  };
}

function xy(d: Data, plan: Plan, m: Marks, spec: ChartSpec | undefined, o: Options): Drawing {
  const type = plan.type === "bar" ? "area" : (plan.type as Type);
  const many = m.series.length > 0;
  const stacked = type === "area" && many && m.additive && m.marks.every((k) => (k.y ?? 0) >= 0);
  const x = along(d, plan, m, o);
  const zero = type === "area" || (type === "line" && fromZero(m));
  if (type === "line" && !zero) m.notes.push("The axis does not begin at zero.");
  const y = measured(d, plan, m, { stacked, zero, room: o.height });
  const shared: Json = { x, y, color: color(m, o, type === "line") };
  const tooltip = tips(d, plan, m);
  const data = { values: m.marks };
  const finished = { transform: [{ filter: "datum.p !== 1" }] };
  const layer: Json[] = [];
  if (type === "scatter") {
    layer.push({
      mark: {
        type: "point",
        filled: true,
        size: m.marks.length > 500 ? 20 : 50,
        opacity: m.marks.length > 200 ? 0.5 : 0.8,
      },
      encoding: {
        ...shared,
        ...(many
          ? { shape: { field: "s", type: "nominal", sort: null, scale: { domain: m.series }, legend: null } }
          : {}),
        tooltip,
      },
    });
  } else {
    const gaps = { invalid: "break-paths-show-path-domains" };
    // Who cannot tell the colours apart has the dashes.
    const dash: Json =
      many && !stacked
        ? {
            strokeDash: {
              field: "s",
              type: "nominal",
              sort: null,
              scale: { domain: m.series, range: dashes.slice(0, m.series.length) },
            },
          }
        : {};
    const mark =
      type === "area"
        ? {
            type: "area",
            fillOpacity: many ? (stacked ? 0.75 : 0.15) : 0.18,
            line: { strokeWidth: 2, ...gaps },
            ...gaps,
          }
        : { type: "line", strokeWidth: 2.25, strokeCap: "round", strokeJoin: "round", ...gaps };
    layer.push({ ...(m.partial ? finished : {}), mark, encoding: { ...shared, ...(type === "line" ? dash : {}) } });
    if (m.partial && !stacked)
      layer.push({
        data: { values: toPartial(m) },
        mark: { type: "line", strokeWidth: 2.25, strokeDash: [3, 4], opacity: 0.7, ...gaps },
        encoding: shared,
      });
    if (!stacked) layer.push(...dots(m, shared, o));
    // Larger than what is seen, so that a pointer finds it.
    layer.push({ mark: { type: "point", size: 500, opacity: 0, filled: true }, encoding: { ...shared, tooltip } });
  }
  if (!stacked) layer.push(here(o, { x, y }));
  return chart(type, d, plan, m, spec, o, { data, layer });
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

/** Points on a line: all of few; of many those that no line reaches. */
function dots(m: Marks, shared: Json, o: Options): Json[] {
  const per = m.marks.length / Math.max(1, m.series.length);
  const alone = per <= 40 ? m.marks : lonely(m);
  if (!alone.length) return [];
  const full = alone.filter((k) => k.p !== 1),
    open = alone.filter((k) => k.p === 1);
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

function lonely(m: Marks): Mark[] {
  const of = (s?: string) => m.marks.filter((k) => k.s === s);
  return (m.series.length ? m.series : [undefined]).flatMap((s) => {
    const mine = of(s);
    return mine.filter(
      (k, i) => k.y !== null && (mine[i - 1]?.y ?? null) === null && (mine[i + 1]?.y ?? null) === null,
    );
  });
}

/** The last whole period and the one that is not over, of each series. */
function toPartial(m: Marks): Mark[] {
  return (m.series.length ? m.series : [undefined]).flatMap((s) => m.marks.filter((k) => k.s === s).slice(-2));
}

/** Lines start at zero, save where all they tell would be lost. */
function fromZero(m: Marks): boolean {
  const ys = m.marks.flatMap((k) => (k.y === null ? [] : [k.y]));
  const low = Math.min(...ys),
    high = Math.max(...ys);
  return low < 0 || low < high * 0.9;
}

function along(d: Data, plan: Plan, m: Marks, o: Options): Json {
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
    title: words(d.columns[plan.x!]!.name),
    scale: { zero: false, nice: true },
    axis: {
      grid: plan.type === "scatter",
      labelAngle: 0,
      labelOverlap: "greedy",
      tickCount: Math.max(2, Math.floor(room / 90)),
      ...(years ? { format: "d" } : numberLabels(top)),
    },
  };
}

function pie(d: Data, plan: Plan, m: Marks, spec: ChartSpec | undefined, o: Options): Drawing {
  const parts = m.marks.filter((k) => k.y !== null);
  if (parts.length > mostParts || plan.series !== undefined || plan.y.length > 1 || parts.some((k) => k.y! < 0)) {
    m.notes.push(
      parts.length > mostParts
        ? `A pie of ${parts.length} parts cannot be read: these are bars.`
        : "These values are no parts of a whole: they are drawn as bars.",
    );
    return bars(d, { ...plan, type: "bar" }, m, spec, o);
  }
  const sum = parts.reduce((a, k) => a + k.y!, 0);
  if (sum <= 0) return { kind: "none", why: "The parts add up to nothing." };
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
            { field: "l", type: "nominal", title: words(d.columns[plan.x!]!.name) },
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

/** How often values fall into ranges of the same width. */
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
      l: `${written(a, { ...style, decimals: undefined })} to ${written(b, { ...style, decimals: undefined })}`,
      y,
      v: written(y, { numeric: true, grouped: true, decimals: 0 }),
    };
  });
  const name = words(column.name);
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
      ...numberLabels(Math.max(Math.abs(low), Math.abs(high))),
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

/** The types that make sense for a result, each with the reason why not. */
export function choices(d: Data, spec?: ChartSpec): { type: Type; off?: string }[] {
  const plan = pick(d, spec);
  if (plan.type === "none" || plan.type === "number") return [];
  if (plan.x === undefined) return [{ type: "table" }];
  const xs = d.rows.map((r) => r[plan.x!] ?? null);
  const names = new Set(xs).size;
  const numbers = xs.every((v) => v === null || numberOf(v) !== null);
  const several = plan.series !== undefined || plan.y.length > 1;
  const pies = several
    ? "A pie shows one series."
    : names > mostParts
      ? `A pie shows at most ${mostParts} parts.`
      : undefined;
  const time = plan.type === "line" || plan.type === "area" || numbers;
  return [
    { type: "bar" },
    { type: "line", ...(time || names > 2 ? {} : { off: "A line needs at least three places." }) },
    { type: "area", ...(time || names > 2 ? {} : { off: "An area needs at least three places." }) },
    { type: "scatter" },
    { type: "pie", ...(pies ? { off: pies } : {}) },
    ...(plan.type === "histogram" ? [{ type: "histogram" as const }] : []),
    { type: "table" },
  ];
}
