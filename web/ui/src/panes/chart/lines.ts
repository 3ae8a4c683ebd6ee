// Charts whose marks are points: lines, areas and scatter plots.
import { scaleLinear, scalePoint, scaleUtc } from "d3-scale";
import {
  area,
  line,
  symbol,
  symbolCircle,
  symbolCross,
  symbolDiamond,
  symbolDiamond2,
  symbolSquare,
  symbolStar,
  symbolTriangle,
  symbolWye,
} from "d3-shape";
import { dot, entries, labelCount, numberAxis, scene, upright, type Entry, type Numbers, type Tick } from "./frame";
import { ticks } from "./labels";
import { colorOf, widest, type Options } from "./look";
import { stackable, type Mark, type Marks } from "./marks";
import { px, type Path, type Scene } from "./scene";

export interface PointsOptions {
  type: "line" | "area" | "scatter";
  zero: boolean; // the axis of the measure includes zero
  y: string;
  write: Numbers["write"];
  /** The name of the axis along x and how its numbers are written, if they are numbers. */
  x: string;
  writeX: Numbers["write"];
}

/** A mark with the values between which it is drawn; only in a stack does it not begin at zero. */
interface Point {
  mark: Mark;
  from: number;
  to: number | null;
}

type Placed = { x: number; base: number; y: number | null };

interface X {
  ticks: Tick[];
  at: (k: Mark) => number;
}

/** Draws lines, areas or points. */
export function points(m: Marks, o: Options, p: PointsOptions): Scene {
  const stacked = p.type === "area" && stackable(m);
  const all = stack(m, stacked);
  const known = all.flatMap((q) => (q.to === null ? [] : [q.to]));
  const plot = upright<X>({
    o,
    legend: key(m, o, p.type),
    y: numberAxis(known, { zero: p.zero, count: labelCount(o.height, 45, 6), write: p.write }),
    yTitle: p.y,
    x: (range) => along(m, o, p, range),
    ...(m.axis === "numbers" ? { xTitle: p.x } : {}),
    grid: p.type === "scatter",
  });
  const place = ({ mark, from, to }: Point): Placed => ({
    x: px(plot.x.at(mark)),
    base: px(plot.y(Math.max(from, plot.y.domain()[0]!))),
    y: to === null ? null : px(plot.y(to)),
  });
  const out = { ...scene(o, o.height), shapes: plot.shapes };
  const drawn = bySeries(m, all).map(({ s, i, mine }) => ({ s, i, mine, at: mine.map(place) }));
  if (p.type === "scatter") for (const d of drawn) out.shapes.push(...cloud(d, m, o));
  // Those of a stack are drawn from the top, so that each border is above the area below it.
  else for (const d of stacked ? drawn.reverse() : drawn) out.shapes.push(...strokes(d, m, o, p.type, stacked));
  for (const { mine, at } of drawn)
    mine.forEach(({ mark }, j) => {
      const { x, y } = at[j]!;
      if (y !== null) out.spots.push({ i: mark.i, x, y });
    });
  return out;
}

/** Returns where each mark begins and ends. In a stack, the largest series starts at zero. */
function stack(m: Marks, stacked: boolean): Point[] {
  if (!stacked) return m.marks.map((mark) => ({ mark, from: 0, to: mark.y }));
  const sums = new Map<string | number, number>();
  const ordered = [...m.marks].sort((a, b) => m.series.indexOf(a.s ?? "") - m.series.indexOf(b.s ?? ""));
  return ordered.map((mark) => {
    const from = sums.get(mark.x) ?? 0;
    sums.set(mark.x, from + (mark.y ?? 0));
    return { mark, from, to: mark.y === null ? null : from + mark.y };
  });
}

interface Series {
  s: string | undefined;
  i: number;
  mine: Point[];
}

function bySeries(m: Marks, all: readonly Point[]): Series[] {
  if (!m.series.length) return [{ s: undefined, i: 0, mine: [...all] }];
  const of = new Map<string, Point[]>(m.series.map((s) => [s, []]));
  for (const p of all) of.get(p.mark.s ?? "")?.push(p);
  return m.series.map((s, i) => ({ s, i, mine: of.get(s)! }));
}

type Drawn = Series & { at: Placed[] };

// Dashes and shapes distinguish the series for people who cannot distinguish the colours.
const dashes = [[], [7, 3], [2, 3], [10, 3, 2, 3], [5, 2], [1, 2], [12, 4], [4, 4, 1, 4]];
const outlines = [
  symbolCircle,
  symbolSquare,
  symbolTriangle,
  symbolDiamond,
  symbolCross,
  symbolStar,
  symbolWye,
  symbolDiamond2,
];

const outline = (i: number, size: number) => symbol(outlines[i % outlines.length], size).digits(2)()!;

function key(m: Marks, o: Options, type: PointsOptions["type"]): Entry[] {
  return entries(m, (s, i) => {
    const color = colorOf(m.series, s, o.look);
    if (type === "line") return { color, dash: dashes[i % dashes.length] };
    return type === "scatter" ? { color, symbol: outline(i, 90) } : { color };
  });
}

/** Returns the points of a series of a scatter plot. They are smaller and paler if there are many. */
function cloud({ s, i, at }: Drawn, m: Marks, o: Options): Path[] {
  const d = outline(i, m.marks.length > 500 ? 20 : 50);
  const look = { d, fill: colorOf(m.series, s, o.look), opacity: m.marks.length > 200 ? 0.5 : 0.8 };
  return at.flatMap(({ x, y }) => (y === null ? [] : [{ ...look, at: [x, y] as const }]));
}

const strokeWidth = 2.25;
const toPartial = { dash: [3, 4], opacity: 0.7 };

// Missing values are gaps.
const path = line<Placed>()
  .x((p) => p.x)
  .y((p) => p.y!)
  .defined((p) => p.y !== null)
  .digits(2);
const filled = area<Placed>()
  .x((p) => p.x)
  .y0((p) => p.base)
  .y1((p) => p.y!)
  .defined((p) => p.y !== null)
  .digits(2);

/** Returns the line or area of a series, a dashed part for a period that is not over, and its points. */
function strokes(d: Drawn, m: Marks, o: Options, type: "line" | "area", stacked: boolean): Path[] {
  const { s, i, mine, at } = d;
  const stroke = colorOf(m.series, s, o.look);
  const ended = at.filter((_, j) => mine[j]!.mark.p !== 1);
  const last = mine.at(-1)?.mark.p === 1 ? at.slice(-2) : [];
  const out: Path[] = [];
  const opacity = m.series.length ? (stacked ? 0.75 : 0.15) : 0.18;
  if (type === "area") {
    out.push({ d: filled(ended) ?? "", fill: stroke, fillOpacity: opacity });
    if (last.length) out.push({ d: filled(last) ?? "", fill: stroke, fillOpacity: opacity / 2.5 });
  }
  const dash = type === "line" && m.series.length ? dashes[i % dashes.length] : undefined;
  const width = type === "line" ? strokeWidth : 2;
  out.push({ d: path(ended) ?? "", stroke, width, ...(dash?.length ? { dash } : {}) });
  if (last.length) out.push({ d: path(last) ?? "", stroke, width, ...toPartial });
  if (!stacked) out.push(...dots(d, stroke, m, o));
  return out.filter((p) => p.d);
}

/** Returns points on a line: all points if there are few, otherwise only those without neighbours. The point of a
 *  period that is not over is hollow. */
function dots({ mine, at }: Drawn, color: string, m: Marks, o: Options): Path[] {
  const all = m.marks.length / Math.max(1, m.series.length) <= 40;
  const missing = (j: number) => (at[j]?.y ?? null) === null;
  return at.flatMap((p, j): Path[] => {
    if (p.y === null || !(all || (missing(j - 1) && missing(j + 1)))) return [];
    const place = [p.x, p.y] as const;
    return mine[j]!.mark.p === 1
      ? [{ d: dot(3.75), at: place, fill: o.look.surface, stroke: color, width: 2 }]
      : [{ d: dot(3.3), at: place, fill: color }];
  });
}

/** Returns the axis along x: periods or names, points in time, or numbers. */
function along(m: Marks, o: Options, p: PointsOptions, range: [number, number]): X {
  const room = o.width - 70;
  if (m.axis === "periods" || m.axis === "names") {
    const scale = scalePoint(m.domain, range).padding(0.4);
    const few = ticks(m.domain, m.axis === "names" ? [] : m.begins, m.unit, room, widest(m.domain, o.look));
    return {
      ticks: few.map((text) => ({ text, at: scale(text)! })),
      at: (k) => scale(k.x as string)!,
    };
  }
  const at = m.marks.map((k) => k.x as number);
  const first = at.reduce((a, b) => Math.min(a, b), Infinity);
  const last = at.reduce((a, b) => Math.max(a, b), -Infinity);
  if (m.axis === "moments") return times(first, last, room, range);
  const scale = scaleLinear([first, last], range).nice();
  return {
    ticks: scale.ticks(labelCount(room, 90)).map((v) => ({ text: p.writeX(v), at: scale(v) })),
    at: (k) => scale(k.x as number),
  };
}

const dayLength = 86_400_000;

/** Returns an axis of points in time. */
function times(first: number, last: number, room: number, range: [number, number]): X {
  const scale = scaleUtc([first, last], range);
  const days = (last - first) / dayLength;
  const oneDay = Math.floor(first / dayLength) === Math.floor(last / dayLength);
  const short = oneDay ? "%H:%M" : "%-d %b, %H:%M";
  const form = days < 2 ? short : days < 200 ? "%-d %b" : days < 2000 ? "%b %Y" : "%Y";
  const most = labelCount(room, 110);
  const count = days < 2 ? most : Math.min(most, Math.floor(days));
  const write = scale.tickFormat(count, form);
  return {
    ticks: scale.ticks(count).map((t) => ({ text: write(t), at: scale(t) })),
    at: (k) => scale(k.x as number),
  };
}
