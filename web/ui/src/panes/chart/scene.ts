// A drawn chart as a list of paths and texts in pixels, which draw.ts shows as SVG or on a canvas. Text from the
// database is only in `text`, and neither of them interprets it.

/** An outline in the notation of SVG. Its points are relative to `at`. */
export interface Path {
  d: string;
  at?: readonly [number, number];
  fill?: string;
  stroke?: string;
  width?: number; // of the stroke
  dash?: readonly number[];
  opacity?: number;
  fillOpacity?: number;
}

/** A line of text. `at` is its baseline. */
export interface Words {
  text: string;
  at: readonly [number, number];
  fill: string;
  anchor?: "middle" | "end"; // instead of the start
  size?: number;
  bold?: boolean;
  font?: string;
  tick?: true; // set for the labels along x
}

export type Shape = Path | Words;

/** The place of a mark: where it is marked, and where the pointer finds it if not only nearby. */
export interface Spot {
  i: number; // of the mark
  x: number;
  y: number;
  holds?: (x: number, y: number) => boolean;
}

export interface Scene {
  width: number;
  height: number;
  background: string;
  font: string;
  shapes: Shape[];
  spots: Spot[];
}

/** Rounds a coordinate, so that paths stay short. */
export const px = (v: number): number => Math.round(v * 100) / 100;

/** Returns a coordinate at which a line of one pixel is sharp. */
const sharp = (v: number): number => Math.floor(v) + 0.5;

export const across = (y: number, from: number, to: number, stroke: string): Path => ({
  d: `M${px(from)},${sharp(y)}H${px(to)}`,
  stroke,
  width: 1,
});

export const upward = (x: number, from: number, to: number, stroke: string): Path => ({
  d: `M${sharp(x)},${px(from)}V${px(to)}`,
  stroke,
  width: 1,
});

export interface Bar {
  side: readonly [number, number]; // its edges across its direction
  base: number; // where it begins, in its direction
  end: number;
  flat?: boolean; // its end is not rounded
  lying?: boolean; // its direction is to the right or left instead of up or down
}

/** Returns the outline of a bar, with rounded corners at its end. */
export function barPath({ side: [a, b], base, end, flat, lying }: Bar): string {
  const r = flat ? 0 : Math.min(2, Math.abs(end - base), (b - a) / 2);
  const inner = end > base ? end - r : end + r;
  const at = (along: number, side: number) => (lying ? `${px(along)},${px(side)}` : `${px(side)},${px(along)}`);
  if (!r) return `M${at(base, a)}L${at(end, a)}L${at(end, b)}L${at(base, b)}Z`;
  const corners = `Q${at(end, a)} ${at(end, a + r)}L${at(end, b - r)}Q${at(end, b)} ${at(inner, b)}`;
  return `M${at(base, a)}L${at(inner, a)}${corners}L${at(base, b)}Z`;
}

/** Returns the place of a bar. A few pixels around it count, too, because it may be thin. */
export function barSpot(i: number, { side: [a, b], base, end, lying }: Bar): Spot {
  const near = 3;
  const [low, high] = [Math.min(base, end) - near, Math.max(base, end) + near];
  const inside = (along: number, side: number) => along >= low && along <= high && side >= a && side <= b;
  const middle = (a + b) / 2;
  return lying
    ? { i, x: px(end), y: px(middle), holds: (x, y) => inside(x, y) }
    : { i, x: px(middle), y: px(end), holds: (x, y) => inside(y, x) };
}

const reach = 20; // from the pointer to a point, in pixels

/** Returns the mark at a place, or the nearest one if it is not far. */
export function spotAt(spots: readonly Spot[], x: number, y: number): Spot | undefined {
  let best: Spot | undefined;
  let least = reach * reach;
  for (const s of spots) {
    if (s.holds) {
      if (s.holds(x, y)) return s;
      continue;
    }
    const far = (s.x - x) ** 2 + (s.y - y) ** 2;
    if (far < least) [best, least] = [s, far];
  }
  return best;
}

/** Moves a shape down. */
export function lower(s: Shape, by: number): Shape {
  const [x, y] = s.at ?? [0, 0];
  return { ...s, at: [x, y + by] };
}
