// A pie: a ring of slices, the largest first, clockwise from the top.
import { arc } from "d3-shape";
import { legend, legendNames, margin, scene, type Entry } from "./frame";
import { textSize, widthOf, type Options } from "./look";
import type { Mark } from "./marks";
import { px, type Scene, type Shape } from "./scene";

const wide = 420; // from this width on, the names are beside the ring

const gap = 32; // between the ring and the names
const maxListed = 300; // the width of the names with their values

const share = (part: number) => `${(part * 100).toFixed(part < 0.1 ? 1 : 0)}%`;

/** Returns the parts of a pie as marks, largest first, whose values include their share. */
export function slices(parts: readonly Mark[], sum: number): Mark[] {
  const sorted = [...parts].sort((a, b) => b.y! - a.y!);
  return sorted.map(({ s: _, ...k }, i) => ({ ...k, i, v: k.v.endsWith("%") ? k.v : `${k.v} (${share(k.y! / sum)})` }));
}

/** Draws a pie of slices whose sum is positive. */
export function pie(parts: readonly Mark[], sum: number, o: Options): Scene {
  const beside = o.width >= wide;
  const colors = parts.map((_, i) => o.look.series[i % o.look.series.length]!);
  const list: Entry[] = legendNames(parts.map((k) => k.l)).map((text, i) => ({ text, color: colors[i]! }));
  const above = beside ? { shapes: [], height: 0 } : legend(list, margin, o);
  const room = o.height - above.height - 2 * margin;
  const radius = Math.max(60, Math.min(o.width * (beside ? 0.25 : 0.34), room / 2 - 4));
  const listed = beside ? Math.min(maxListed, o.width - 2 * (radius + margin) - gap) : -gap;
  const x = px((o.width - gap - listed) / 2);
  const y = px(above.height + margin + room / 2);
  const out = { ...scene(o, o.height), shapes: [...above.shapes] };
  let from = 0;
  parts.forEach((k, i) => {
    const to = from + (k.y! / sum) * 2 * Math.PI;
    slice(out, k, { x, y, from, to, radius, color: colors[i]!, part: k.y! / sum }, o);
    from = to;
  });
  if (beside) out.shapes.push(...names(list, parts, { x: px(x + radius + gap), y, width: listed }, o));
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

/** Returns the names of the slices with their values, to the right of the ring. */
function names(
  list: readonly Entry[],
  parts: readonly Mark[],
  { x, y, width }: { x: number; y: number; width: number },
  o: Options,
): Shape[] {
  const line = 22;
  const top = y - ((list.length - 1) * line) / 2;
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
