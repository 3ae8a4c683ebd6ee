// What surrounds the marks of a chart: the legend, the axes with their labels, and the grid.
import { scaleLinear, type ScaleLinear } from "d3-scale";
import { shortenNames, letterWidth } from "./labels";
import { fit, textSize, widest, widthOf, type Look, type Options } from "./look";
import type { Marks } from "./marks";
import { across, px, upward, type Scene, type Shape, type Words } from "./scene";

export const margin = 4;
const labelGap = 8; // between a label and its axis
const lineHeight = 20; // of labels below and above the plot
const middle = textSize * 0.35; // from the middle of a line of text to its baseline
const labelLimit = 200;

/** The part of a chart that has the marks, in pixels. */
export interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

export interface Tick {
  at: number;
  text: string;
}

/** An axis of numbers: its scale, which has no range yet, the numbers to label, and how they are written. */
export interface Numbers {
  scale: ScaleLinear<number, number>;
  values: number[];
  write: (v: number) => string;
}

export interface NumberOptions {
  zero: boolean; // the axis includes zero
  count: number; // about as many labels
  write: (v: number) => string;
}

/** Returns the axis for some values. If all are zero, they are drawn at its beginning. */
export function numberAxis(values: readonly number[], { zero, count, write }: NumberOptions): Numbers {
  const low = values.reduce((a, b) => Math.min(a, b), zero ? 0 : Infinity);
  const high = values.reduce((a, b) => Math.max(a, b), zero ? 0 : -Infinity);
  if (low === 0 && high === 0) return { scale: scaleLinear([0, 1], [0, 1]), values: [0], write };
  const scale = scaleLinear([low, high], [0, 1]).nice();
  const whole = values.every(Number.isInteger);
  const labelled = scale.ticks(count).filter((v) => !whole || Number.isInteger(v)); // half an order is none
  return { scale, values: labelled, write };
}

/** An entry of a legend. Its symbol is a dot, or what the marks of the series look like. */
export interface Entry {
  text: string;
  color: string;
  dash?: readonly number[]; // a piece of a line
  symbol?: string; // a path around 0, 0
}

export const dot = (r: number) => `M${r},0A${r},${r},0,1,1,${-r},0A${r},${r},0,1,1,${r},0Z`;

const entryLimit = 160;

/** Returns the names of series for a legend. */
export const legendNames = (series: readonly string[]) =>
  shortenNames(series, Math.floor(entryLimit / letterWidth)) ?? series;

/** Returns the entries of a legend for the series of a chart. */
export const entries = (m: Marks, look: (s: string, i: number) => Omit<Entry, "text">): Entry[] =>
  legendNames(m.series).map((text, i) => ({ text, ...look(m.series[i]!, i) }));

/** Returns the symbol of an entry, at the left end and the middle of its line. */
function symbol({ dash, symbol, color }: Entry, x: number, y: number): Shape {
  if (dash) return { d: `M${px(x)},${px(y)}h24`, stroke: color, width: 2.5, dash };
  return { d: symbol ?? dot(5.5), at: [x + 6, y], fill: color };
}

/** Returns a legend in columns, and its height. */
export function legend(of: readonly Entry[], top: number, o: Options): { shapes: Shape[]; height: number } {
  if (!of.length) return { shapes: [], height: 0 };
  const room = o.width - 2 * margin;
  const gap = 18;
  const head = of[0]!.dash ? 31 : 18; // the width of the symbol
  const texts = of.map((e) => fit(e.text, Math.min(entryLimit + 20, room - head), o.look));
  const column = head + widest(texts, o.look) + gap;
  const columns = Math.max(1, Math.floor((room + gap) / column));
  const shapes = of.flatMap((e, i): Shape[] => {
    const x = margin + (i % columns) * column;
    const y = top + Math.floor(i / columns) * lineHeight + lineHeight / 2;
    return [symbol(e, x, y), { text: texts[i]!, at: [px(x + head), px(y + middle)], fill: o.look.ink }];
  });
  return { shapes, height: Math.ceil(of.length / columns) * lineHeight + 6 };
}

/** Drops the labels that would touch the one before. */
function apart(ticks: readonly Tick[], look: Look): Tick[] {
  let end = -Infinity;
  return ticks.filter((t) => {
    const half = widthOf(t.text, look) / 2;
    if (t.at - half < end + 8) return false;
    end = t.at + half;
    return true;
  });
}

/** Returns how far the labels along x stand out of the chart to the left and to the right. */
function overhang(ticks: readonly Tick[], o: Options): [number, number] {
  const ends = ticks.map((t) => [t.at - widthOf(t.text, o.look) / 2, t.at + widthOf(t.text, o.look) / 2] as const);
  const left = Math.min(margin, ...ends.map(([a]) => a));
  const right = Math.max(o.width - margin, ...ends.map(([, b]) => b));
  return [margin - left, right - (o.width - margin)];
}

export interface Plot<X extends { ticks: Tick[] }> {
  o: Options;
  legend?: readonly Entry[];
  y: Numbers;
  yTitle: string;
  /** Makes the axis along x for a range of pixels. */
  x: (range: [number, number]) => X;
  xTitle?: string;
  grid?: boolean; // also for x
}

/** Returns the frame of a chart whose values go up, and where its marks are. */
export function upright<X extends { ticks: Tick[] }>(p: Plot<X>) {
  const { o } = p;
  const { look } = o;
  const key = legend(p.legend ?? [], margin, o);
  const top = margin + key.height + lineHeight + 8;
  const bottom = o.height - margin - lineHeight - (p.xTitle ? lineHeight : 0);
  const written = p.y.values.map((v) => p.y.write(v));
  let left = margin + widest(written, look) + labelGap;
  let right = o.width - margin;
  let x = p.x([left, right]);
  const [before, beyond] = overhang(x.ticks, o);
  if (before || beyond) {
    left += before;
    right -= beyond;
    x = p.x([left, right]);
  }
  const box: Box = { left, right, top, bottom };
  const y = p.y.scale.copy().range([bottom, top]);
  const shapes: Shape[] = [...key.shapes, ...yAxis(p, y, written, box), ...xAxis(p, x.ticks, box)];
  const zero = y.domain()[0]! < 0 && y.domain()[1]! > 0;
  const base = zero ? across(y(0), left, right, look.quiet) : across(bottom, left, right, look.line);
  shapes.push(base);
  return { box, x, y, shapes };
}

function yAxis(
  p: Plot<{ ticks: Tick[] }>,
  y: ScaleLinear<number, number>,
  written: readonly string[],
  { left, right, top }: Box,
): Shape[] {
  const { look, width } = p.o;
  return [
    { text: fit(p.yTitle, width - 2 * margin, look), at: [margin, top - 15], fill: look.quiet },
    ...p.y.values.flatMap((v, i): Shape[] => [
      across(y(v), left, right, look.line),
      { text: written[i]!, at: [px(left - labelGap), px(y(v) + middle)], fill: look.quiet, anchor: "end" },
    ]),
  ];
}

function xAxis(p: Plot<{ ticks: Tick[] }>, ticks: readonly Tick[], { left, right, top, bottom }: Box): Shape[] {
  const { look } = p.o;
  const below = (text: string, at: number, line: number): Words => ({
    text,
    at: [px(at), bottom + line * lineHeight - 3],
    fill: look.quiet,
    anchor: "middle",
  });
  const short = ticks.map((t) => ({ ...t, text: fit(t.text, Math.min(labelLimit, p.o.width - 2 * margin), look) }));
  return [
    ...(p.grid ? ticks.map((t) => upward(t.at, top, bottom, look.line)) : []),
    ...apart(short, look).map((t): Words => ({ ...below(t.text, t.at, 1), tick: true })),
    ...(p.xTitle ? [below(fit(p.xTitle, right - left, look), (left + right) / 2, 2)] : []),
  ];
}

/** Returns about how many labels fit along an axis of some length. */
export const labelCount = (length: number, each: number, most = Infinity) =>
  Math.max(2, Math.min(most, Math.floor(length / each)));

export const scene = (o: Options, height: number): Scene => ({
  width: o.width,
  height,
  background: o.look.surface,
  font: o.look.font,
  shapes: [],
  spots: [],
});
