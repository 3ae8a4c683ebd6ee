// A histogram: how many values fall into ranges of equal width.
import { scaleLinear } from "d3-scale";
import type { Cell, Column } from "../../log/events";
import { formatCell, numberOf, signOf, styleOf, title } from "../numbers";
import { labelCount, numberAxis, scene, upright } from "./frame";
import { numberLabels } from "./labels";
import type { Options } from "./look";
import type { Mark } from "./marks";
import { barPath, barSpot, type Scene } from "./scene";

/** The values of a column in ranges. */
export interface Ranges {
  name: string;
  marks: Mark[];
  from: number;
  step: number;
  known: number; // how many values there are
  missing: number;
  write: (v: number) => string;
}

/** Counts the values of a column in ranges. Returns undefined if it has no numbers. */
export function ranges(column: Column, raw: readonly Cell[]): Ranges | undefined {
  const known = raw.map((v) => numberOf(v)).filter((v): v is number => v !== null);
  if (!known.length) return undefined;
  const style = styleOf(column, raw);
  const low = known.reduce((a, b) => Math.min(a, b)),
    high = known.reduce((a, b) => Math.max(a, b));
  const step = nice((high - low) / Math.max(4, Math.min(30, Math.ceil(Math.sqrt(known.length)))) || 1);
  const from = Math.floor(low / step) * step;
  const n = Math.max(1, Math.floor((high - from) / step + 1e-9) + 1);
  const counts = new Array<number>(n).fill(0);
  for (const v of known) counts[Math.min(n - 1, Math.floor((v - from) / step + 1e-9))]!++;
  const edge = (i: number) => Number((from + i * step).toPrecision(12));
  const write = (v: number) => formatCell(v, { ...style, decimals: undefined });
  const marks = counts.map((y, i) => ({
    i,
    x: edge(i),
    l: `${write(edge(i))} to ${write(edge(i + 1))}`,
    y,
    v: formatCell(y, { numeric: true, grouped: true, decimals: 0 }),
  }));
  const labels = numberLabels(Math.max(Math.abs(low), Math.abs(high)), signOf(style));
  const missing = raw.length - known.length;
  return { name: title(column.name), marks, from, step, known: known.length, missing, write: labels };
}

function nice(step: number): number {
  const power = 10 ** Math.floor(Math.log10(step));
  return power * ([1, 2, 2.5, 5, 10].find((k) => k * power >= step * 0.999) ?? 10);
}

/** Draws ranges. */
export function histogram({ name, marks, from, step, write }: Ranges, o: Options): Scene {
  const counts = marks.map((k) => k.y!);
  const plot = upright({
    o,
    y: numberAxis(counts, { zero: true, count: 5, write: numberLabels(Math.max(...counts)) }),
    yTitle: "rows",
    x: (range) => {
      const scale = scaleLinear([from, from + marks.length * step], range);
      const few = scale.ticks(labelCount(o.width, 90));
      return { scale, ticks: few.map((v) => ({ text: write(v), at: scale(v) })) };
    },
    xTitle: name,
  });
  const out = { ...scene(o, o.height), shapes: plot.shapes };
  marks.forEach((k, i) => {
    const [a, b] = [plot.x.scale(from + i * step) + 0.5, plot.x.scale(from + (i + 1) * step) - 0.5];
    const bar = { side: [a, b] as const, base: plot.box.bottom, end: plot.y(k.y!) };
    if (k.y) out.shapes.push({ d: barPath(bar), fill: o.look.series[0]! });
    out.spots.push(barSpot(k.i, bar));
  });
  return out;
}
