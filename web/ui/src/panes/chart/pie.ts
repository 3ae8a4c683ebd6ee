// A pie: a ring of slices, the largest first, clockwise from the top.
import { arc } from "d3-shape";
import { legend, legendNames, margin, scene, type Entry } from "./frame";
import { textSize, widthOf, type Options } from "./look";
import type { Mark } from "./marks";
import { px, type Scene, type Shape } from "./scene";

const wide = 420; // from this width on, there is room beside the ring

const gap = 32; // between the ring and the names
const maxListed = 300; // the width of the names with their values
const line = 22; // of a name
const least = 60; // of the radius

const share = (part: number) => `${(part * 100).toFixed(part < 0.1 ? 1 : 0)}%`;

/** Returns the parts of a pie as marks, largest first, whose values include their share. */
export function slices(parts: readonly Mark[], sum: number): Mark[] {
  const sorted = [...parts].sort((a, b) => b.y! - a.y!);
  return sorted.map(({ s: _, ...k }, i) => ({ ...k, i, v: k.v.endsWith("%") ? k.v : `${k.v} (${share(k.y! / sum)})` }));
}

/** Where the parts of a pie are: its ring, and the names of the slices with their values, if there is room. */
interface Layout {
  x: number; // the middle of the ring
  y: number;
  radius: number;
  list?: { x: number; y: number; width: number }; // y is its middle
}

/** Puts the names beside the ring, or below it, or, where there is little room, as a legend above it. */
function layout(count: number, legendHeight: number, o: Options): Layout {
  const [width, height] = [o.width - 2 * margin, o.height - 2 * margin];
  if (o.width >= wide) {
    const radius = Math.max(least, Math.min(o.width * 0.25, height / 2 - 4));
    const listed = Math.min(maxListed, width - 2 * radius - gap);
    const x = px((o.width - gap - listed) / 2);
    return { x, y: px(o.height / 2), radius, list: { x: px(x + radius + gap), y: px(o.height / 2), width: listed } };
  }
  const x = px(o.width / 2);
  const under = count * line + gap;
  if (height - under >= 2 * least) {
    const radius = Math.min(o.width * 0.34, (height - under) / 2 - 4);
    const listed = Math.min(maxListed, width);
    const list = { x: px(x - listed / 2), y: px(margin + 2 * radius + gap + (count * line) / 2), width: listed };
    return { x, y: px(margin + radius + 4), radius, list };
  }
  const radius = Math.max(least, Math.min(o.width * 0.34, (height - legendHeight) / 2 - 4));
  return { x, y: px(margin + legendHeight + (height - legendHeight) / 2), radius };
}

/** Draws a pie of slices whose sum is positive. */
export function pie(parts: readonly Mark[], sum: number, o: Options): Scene {
  const colors = parts.map((_, i) => o.look.series[i % o.look.series.length]!);
  const entries: Entry[] = legendNames(parts.map((k) => k.l)).map((text, i) => ({ text, color: colors[i]! }));
  const above = legend(entries, margin, o);
  const { x, y, radius, list } = layout(parts.length, above.height, o);
  const out = scene(o, o.height);
  let from = 0;
  parts.forEach((k, i) => {
    const to = from + (k.y! / sum) * 2 * Math.PI;
    slice(out, k, { x, y, from, to, radius, color: colors[i]!, part: k.y! / sum }, o);
    from = to;
  });
  out.shapes.push(...(list ? names(entries, parts, list, o) : above.shapes));
  return out;
}

interface Slice {
  x: number; // the middle of the pie
  y: number;
  from: number; // angles
  to: number;
  radius: number;
  color: string;
  part: number; // of the whole
}

/** Adds a slice with its share, if that fits. */
function slice(out: Scene, k: Mark, { x, y, from, to, radius, color, part }: Slice, { look }: Options): void {
  const hole = radius * 0.5;
  const ring = arc().digits(2);
  const one = { innerRadius: hole, outerRadius: radius, startAngle: from, endAngle: to };
  const [dx, dy] = ring.centroid(one);
  out.shapes.push({ d: ring(one)!, at: [x, y], fill: color, stroke: look.surface, width: 2 });
  if (part >= 0.06)
    out.shapes.push({
      ...{ text: share(part), at: [px(x + dx), px(y + dy + textSize * 0.35)] },
      ...{ fill: look.surface, anchor: "middle", bold: true },
    });
  out.spots.push({
    ...{ i: k.i, x: px(x + dx), y: px(y + dy) },
    holds: (atX, atY) => {
      const far = Math.hypot(atX - x, atY - y);
      const angle = (Math.atan2(atX - x, y - atY) + 2 * Math.PI) % (2 * Math.PI);
      return far >= hole && far <= radius && angle >= from && angle < to;
    },
  });
}

/** Returns the names of the slices with their values. */
function names(
  list: readonly Entry[],
  parts: readonly Mark[],
  { x, y, width }: { x: number; y: number; width: number },
  o: Options,
): Shape[] {
  const top = y - ((list.length - 1) * line) / 2 + 4;
  return list.flatMap((e, i): Shape[] => {
    const value = parts[i]!.v;
    const room = width - widthOf(value, o.look) - 12;
    const one = legend([e], top + i * line - 14, { ...o, width: room }).shapes;
    return [
      ...one.map((s) => ({ ...s, at: [px((s.at?.[0] ?? 0) + x), s.at?.[1] ?? 0] as const })),
      { text: value, at: [px(x + width), px(top + i * line)], anchor: "end", fill: o.look.quiet },
    ];
  });
}
