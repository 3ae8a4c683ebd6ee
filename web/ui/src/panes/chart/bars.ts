// Bars: upright, or lying if their names do not fit below them; stacked or side by side if there are several series.
import { scaleBand, scaleLinear } from "d3-scale";
import { numberOf } from "../numbers";
import { entries, labelCount, legend, margin, numberAxis, scene, upright, type Entry, type Numbers } from "./frame";
import { guessWidth, letterWidth, shortenNames, ticks } from "./labels";
import { colorOf, fit, widest, type Options } from "./look";
import { stackable, type Mark, type Marks } from "./marks";
import { barPath, barSpot, px, upward, type Bar, type Path, type Scene, type Shape } from "./scene";

interface Layout {
  domain: string[]; // the names or periods
  many: boolean; // whether there are several series
  stacked: boolean;
  lying: boolean;
}

function layout(split: boolean, m: Marks, o: Options): Layout {
  const many = m.series.length > 0;
  const domain = m.axis === "numbers" ? [...new Set(m.marks.map((k) => k.l))] : m.domain;
  const stacked = split && stackable(m);
  const lying =
    m.axis === "names" &&
    (guessWidth(domain) + 12) * domain.length > room(o) &&
    !domain.every((l) => numberOf(l) !== null);
  return { domain, many, stacked, lying };
}

const room = (o: Options) => o.width - 70; // for upright bars

/** A mark with the values between which its bar is drawn. */
interface Piece {
  mark: Mark;
  from: number;
  to: number;
}

/** Returns the pieces in drawing order. In a stack, the largest series starts at zero. */
function pieces(m: Marks, stacked: boolean): Piece[] {
  const sums = new Map<string, number>();
  const order = stacked
    ? [...m.marks].sort((a, b) => m.series.indexOf(a.s ?? "") - m.series.indexOf(b.s ?? ""))
    : m.marks;
  return order.map((mark) => {
    const from = stacked ? (sums.get(mark.l) ?? 0) : 0;
    const to = from + (mark.y ?? 0);
    if (stacked) sums.set(mark.l, to);
    return { mark, from, to };
  });
}

/** Draws bars. `split` is set if a column divides the rows into series. */
export function bars(m: Marks, o: Options, named: { y: string; split: boolean; write: Numbers["write"] }): Scene {
  const l = layout(named.split, m, o);
  const all = pieces(m, l.stacked);
  return l.lying ? lying(l, all, m, o, named) : standing(l, all, m, o, named);
}

const key = (m: Marks, o: Options): Entry[] => entries(m, (s) => ({ color: colorOf(m.series, s, o.look) }));

/** Returns a bar in its colour. That of a period that is not over is paler, and hides the grid as well. */
function paint(d: string, { mark }: Piece, m: Marks, o: Options): Path[] {
  const fill = mark.o ? o.look.quiet : colorOf(m.series, mark.s, o.look);
  return mark.p
    ? [
        { d, fill: o.look.surface },
        { d, fill, opacity: 0.45 },
      ]
    : [{ d, fill }];
}

const maxThickness = 96; // two bars in a wide pane would be walls

/** Returns a function that finds the edges of a mark's bar. */
function edges(l: Layout, m: Marks, range: [number, number], inner: number) {
  const band = scaleBand(l.domain, range)
    .paddingInner(l.many && !l.stacked ? 0.2 : inner)
    .paddingOuter(0.14);
  const beside = l.many && !l.stacked ? scaleBand(m.series, [0, 1]) : undefined;
  const lanes = beside ? m.series.length : 1;
  const thick = Math.min(band.bandwidth(), maxThickness * lanes);
  const inset = (band.bandwidth() - thick) / 2;
  return {
    middle: (name: string) => band(name)! + band.bandwidth() / 2,
    side: (k: Mark): [number, number] => {
      const from = band(k.l)! + inset + (beside ? beside(k.s ?? "")! * thick : 0);
      return [from, from + thick / lanes];
    },
  };
}

const sides = (all: readonly Piece[]) => all.flatMap((p) => [p.from, p.to]);

interface Named {
  y: string;
  write: Numbers["write"];
}

function standing(l: Layout, all: readonly Piece[], m: Marks, o: Options, named: Named): Scene {
  const y = numberAxis(sides(all), { zero: true, count: labelCount(o.height, 45, 6), write: named.write });
  const few = l.domain.length > 1 ? ticks(l.domain, m.begins, m.unit, room(o), widest(l.domain, o.look)) : l.domain;
  const plot = upright({
    o,
    legend: key(m, o),
    y,
    yTitle: named.y,
    x: (range) => {
      const place = edges(l, m, range, 0.28);
      return { ...place, ticks: few.map((text) => ({ text, at: place.middle(text) })) };
    },
  });
  const out = { ...scene(o, o.height), shapes: plot.shapes };
  for (const p of all) {
    if (p.mark.y === null) continue;
    const bar: Bar = { side: plot.x.side(p.mark), base: plot.y(p.from), end: plot.y(p.to), flat: l.stacked };
    out.shapes.push(...paint(barPath(bar), p, m, o));
    out.spots.push(barSpot(p.mark.i, bar));
  }
  return out;
}

const nameShare = 0.36; // of the width

/** Returns the names as they are written to the left of lying bars. */
function names(l: Layout, o: Options): string[] {
  const most = o.width * nameShare;
  return (shortenNames(l.domain, Math.floor(most / letterWidth)) ?? l.domain).map((n) => fit(n, most + 20, o.look));
}

function lying(l: Layout, all: readonly Piece[], m: Marks, o: Options, named: Named): Scene {
  const written = names(l, o);
  const step = l.many && !l.stacked ? Math.max(26, 12 * m.series.length + 10) : 28;
  const list = legend(key(m, o), margin, o);
  const top = margin + list.height + (l.many ? 44 : 0);
  const bottom = Math.max(120 - margin, top + l.domain.length * step);
  const place = edges(l, m, [top, bottom], 0.28);
  const left = margin + widest(written, o.look) + 10;
  const out = { ...scene(o, bottom + margin), shapes: list.shapes };
  const x = l.many ? topAxis(all, o, named, { left, top, bottom }, out.shapes) : figureScale(all, o, left);
  l.domain.forEach((name, i) =>
    out.shapes.push({
      ...{ text: written[i]!, anchor: "end", fill: o.look.quiet },
      at: [px(left - 10), px(place.middle(name) + 4)],
    }),
  );
  for (const p of all) {
    const bar: Bar = { side: place.side(p.mark), base: x(p.from), end: x(p.to), flat: l.stacked, lying: true };
    if (!l.many) out.shapes.push(figure(p.mark, bar, o));
    if (p.mark.y === null) continue;
    out.shapes.push(...paint(barPath(bar), p, m, o));
    out.spots.push(barSpot(p.mark.i, bar));
  }
  if (x.domain()[0]! < 0) out.shapes.push(upward(x(0), top, bottom, o.look.quiet));
  return out;
}

/** Adds an axis of numbers above lying bars, with a grid, and returns its scale. */
function topAxis(
  all: readonly Piece[],
  o: Options,
  named: Named,
  { left, top, bottom }: { left: number; top: number; bottom: number },
  shapes: Shape[],
) {
  const { look } = o;
  const axis = numberAxis(sides(all), { zero: true, count: labelCount(o.width * 0.6, 80, 6), write: named.write });
  const written = axis.values.map(axis.write);
  const x = axis.scale.copy().range([left, o.width - margin - widest(written, look) / 2]);
  shapes.push({ text: fit(named.y, o.width - left, look), at: [px(left), top - 28], fill: look.quiet });
  axis.values.forEach((v, i) =>
    shapes.push(
      { text: written[i]!, at: [px(x(v)), top - 8], anchor: "middle", fill: look.quiet },
      upward(x(v), top, bottom, look.line),
    ),
  );
  return x;
}

const figureGap = 5; // between a bar and its figure

/** Returns a scale with room for the figures at the ends of lying bars. */
function figureScale(all: readonly Piece[], o: Options, left: number) {
  const values = sides(all);
  const low = Math.min(0, ...values);
  const high = Math.max(0, ...values);
  const figures =
    figureGap +
    widest(
      all.map((p) => p.mark.v),
      o.look,
    );
  const from = left + (low < 0 ? figures : 0);
  const to = o.width - margin - (high > 0 || low === 0 ? figures : 0);
  return scaleLinear(low === high ? [0, 1] : [low, high], [from, Math.max(from + 40, to)]);
}

/** Returns the figure beyond the end of a bar. */
function figure(k: Mark, { side: [a, b], end }: Bar, o: Options): Shape {
  const y = px((a + b) / 2 + 4);
  return (k.y ?? 0) < 0
    ? { text: k.v, at: [px(end - figureGap), y], anchor: "end", fill: o.look.quiet }
    : { text: k.v, at: [px(end + figureGap), y], fill: o.look.quiet };
}
