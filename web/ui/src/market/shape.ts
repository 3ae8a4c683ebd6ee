// Computes the shape of a drawing on the chart, and hit tests it. These are pure functions, so that painting, hit tests
// and unit tests use the same shape.
import type { Anchor, Drawing, MarkerType } from "./types";

export interface Point {
  x: number;
  y: number;
}

/** Maps times and prices to pixels. */
export interface Scale {
  width: number;
  height: number;
  x(time: number): number;
  y(price: number): number;
}

export type Role = "line" | "gain" | "loss" | "band" | "box" | "text";

export type Piece =
  | { kind: "line"; a: Point; b: Point; role: Role; arrow?: boolean; thin?: boolean; tone?: number }
  | { kind: "box"; x: number; y: number; w: number; h: number; role: Role; border?: boolean; tone?: number }
  | { kind: "circle"; at: Point; r: number }
  | { kind: "mark"; at: Point; mark: MarkerType; size: number }
  | {
      kind: "text";
      at: Point;
      text: string;
      align: "left" | "center" | "right";
      base: "top" | "middle" | "bottom";
      role: Role;
      plate?: boolean;
      tone?: number;
    };

/** A point with which a drawing can be dragged. */
export interface Handle extends Point {
  name: HandleName;
}
export type HandleName = "a0" | "a1" | "price" | "entry" | "takeProfit" | "stopLoss" | "end";

export interface Shape {
  pieces: Piece[];
  handles: Handle[];
}

/** The least width in pixels of a Fibonacci. A position can be narrower. */
export const minWidth = 60;

export const defaultLevels = [0, 0.236, 0.382, 0.5, 0.618, 0.786, 1];

const nothing: Shape = { pieces: [], handles: [] };

/** Returns the prices of a drawing, for labels on the axis. */
export function pricesOf(d: Drawing): number[] {
  switch (d.type) {
    case "horizontal_line":
      return [d.price ?? d.anchors?.[0]?.price ?? NaN].filter(Number.isFinite);
    case "horizontal_ray":
      return d.anchors?.slice(0, 1).map((a) => a.price) ?? [];
    case "long_position":
    case "short_position":
      return [d.entry, d.takeProfit, d.stopLoss].filter((p) => p !== undefined);
    case "vertical_line":
      return []; // the price of its anchor has no meaning
    default:
      return d.anchors?.map((a) => a.price) ?? [];
  }
}

export const isPosition = (d: Pick<Drawing, "type">): boolean =>
  d.type === "long_position" || d.type === "short_position";

/** Returns the name of a drawing: its label, text or type. */
export function nameOf(d: Pick<Drawing, "type" | "label" | "text" | "extend">): string {
  return d.label || d.text || kindOf(d);
}

export function kindOf(d: Pick<Drawing, "type" | "extend">): string {
  if (d.type === "trendline")
    return { ray: "Trend ray", arrow: "Arrow", extended: "Extended line", none: "Trend line" }[d.extend ?? "none"];
  return {
    horizontal_line: "Horizontal line",
    horizontal_ray: "Horizontal ray",
    vertical_line: "Vertical line",
    fibonacci: "Fibonacci",
    rectangle: "Rectangle",
    circle: "Circle",
    text: "Text",
    marker: "Marker",
    long_position: "Long position",
    short_position: "Short position",
  }[d.type];
}

/** Returns the ratio of the possible gain to the possible loss. */
export function riskReward(d: Pick<Drawing, "entry" | "takeProfit" | "stopLoss">): number | undefined {
  const { entry, takeProfit, stopLoss } = d;
  if (entry === undefined || takeProfit === undefined || stopLoss === undefined || entry === stopLoss) return undefined;
  return Math.abs(takeProfit - entry) / Math.abs(entry - stopLoss);
}

/** Returns the shape of a drawing. A strong one is selected or highlighted, and shows all labels. */
// complexity: one case for each type of drawing
export function shapeOf(d: Drawing, s: Scale, digits: number, strong = false): Shape {
  const at = (a: Anchor): Point => ({ x: s.x(a.time), y: s.y(a.price) });
  const [p, q] = (d.anchors ?? []).map(at);
  switch (d.type) {
    case "horizontal_line":
      return level(d, s, { x: 0, y: s.y(d.price ?? d.anchors?.[0]?.price ?? NaN) }, "price");
    case "horizontal_ray":
      return p ? level(d, s, p, "a0") : nothing;
    case "vertical_line":
      return vertical(d, s);
    case "trendline":
      return p && q ? trend(d, s, p, q) : nothing;
    case "fibonacci":
      return p && q ? fibonacci(d, s, p, q, digits) : nothing;
    case "rectangle":
      return p && q ? rectangle(d, p, q) : nothing;
    case "circle":
      return p && q ? circle(d, p, q) : nothing;
    case "text":
      return p
        ? {
            pieces: [
              {
                kind: "text",
                at: { x: p.x + 12, y: p.y },
                text: d.text || d.label || "Text",
                align: "left",
                base: "middle",
                role: "line",
                plate: true,
              },
            ],
            handles: [{ ...p, name: "a0" }],
          }
        : nothing;
    case "marker":
      return p ? marker(d, p) : nothing;
    case "long_position":
    case "short_position":
      return position(d, s, digits, strong);
  }
}

const textGap = 4;
const plateGap = 12;
const letterWidth = 6.5; // approximate
const textHeight = 14;

function level(d: Drawing, s: Scale, from: Point, name: HandleName): Shape {
  const y = from.y;
  const pieces: Piece[] = [{ kind: "line", a: from, b: { x: s.width, y }, role: "line" }];
  const label = d.label || d.text;
  // The label is above the right end of the line, where it is always in view.
  if (label)
    pieces.push({
      kind: "text",
      at: { x: s.width - 8, y: y - textGap },
      text: label,
      align: "right",
      base: "bottom",
      role: "line",
    });
  const handle = name === "a0" ? from : { x: s.width / 2, y };
  return { pieces, handles: [{ ...handle, name }] };
}

function vertical(d: Drawing, s: Scale): Shape {
  const time = d.anchors?.[0]?.time;
  if (time === undefined) return nothing;
  const x = s.x(time);
  const pieces: Piece[] = [{ kind: "line", a: { x, y: 0 }, b: { x, y: s.height }, role: "line" }];
  const label = d.label || d.text;
  if (label)
    pieces.push({
      kind: "text",
      at: { x: x + 6, y: s.height - 8 },
      text: label,
      align: "left",
      base: "bottom",
      role: "line",
    });
  return { pieces, handles: [{ x, y: s.height / 2, name: "a0" }] };
}

/** Returns the point where a line from a through b leaves the pane. */
export function edgePoint(a: Point, b: Point, s: Pick<Scale, "width" | "height">): Point {
  const dx = b.x - a.x;
  const dy = b.y - a.y;
  if (!dx && !dy) return b;
  // The nearest edge beyond b, or b itself if it is outside the pane.
  const toX = dx > 0 ? (s.width - b.x) / dx : dx < 0 ? -b.x / dx : Infinity;
  const toY = dy > 0 ? (s.height - b.y) / dy : dy < 0 ? -b.y / dy : Infinity;
  const k = Math.max(0, Math.min(toX, toY));
  return { x: b.x + dx * k, y: b.y + dy * k };
}

function trend(d: Drawing, s: Scale, p: Point, q: Point): Shape {
  const extend = d.extend ?? "none";
  const a = extend === "extended" ? edgePoint(q, p, s) : p;
  const b = extend === "extended" || extend === "ray" ? edgePoint(p, q, s) : q;
  const pieces: Piece[] = [{ kind: "line", a, b, role: "line", arrow: extend === "arrow" }];
  const label = d.label || d.text;
  if (label)
    pieces.push({
      kind: "text",
      at: { x: (p.x + q.x) / 2, y: (p.y + q.y) / 2 - 6 },
      text: label,
      align: "center",
      base: "bottom",
      role: "line",
    });
  return {
    pieces,
    handles: [
      { ...p, name: "a0" },
      { ...q, name: "a1" },
    ],
  };
}

function fibonacci(d: Drawing, s: Scale, p: Point, q: Point, digits: number): Shape {
  const [a, b] = d.anchors as [Anchor, Anchor];
  const levels = [...(d.levels?.length ? d.levels : defaultLevels)].sort((x, y) => x - y);
  const left = Math.min(p.x, q.x);
  const right = Math.max(p.x, q.x, left + minWidth);
  const pieces: Piece[] = [];
  const price = (l: number) => b.price + (a.price - b.price) * l;
  levels.forEach((l, i) => {
    const y = s.y(price(l));
    const next = levels[i + 1];
    if (next !== undefined) {
      const to = s.y(price(next));
      pieces.push({
        kind: "box",
        x: left,
        y: Math.min(y, to),
        w: right - left,
        h: Math.abs(to - y),
        role: "band",
        tone: i,
      });
    }
    pieces.push({ kind: "line", a: { x: left, y }, b: { x: right, y }, role: "line", tone: i });
  });
  pieces.push(
    ...levelLabels(
      levels.map((l, i) => ({ y: s.y(price(l)), text: `${l} (${price(l).toFixed(digits)})`, tone: i })),
      left,
      right,
    ),
  );
  pieces.push({ kind: "line", a: p, b: q, role: "line", thin: true });
  if (d.label)
    pieces.push({
      kind: "text",
      at: { x: left, y: Math.min(p.y, q.y) - 8 },
      text: d.label,
      align: "left",
      base: "bottom",
      role: "line",
    });
  return {
    pieces,
    handles: [
      { ...p, name: "a0" },
      { ...q, name: "a1" },
    ],
  };
}

const lineHeight = 13;
const labelSpace = 100; // for the label of a level beside its line

/** Returns the labels of levels. They are to the left of the lines, or above them if there is no space. If levels are
 *  close, some get no label. */
function levelLabels(
  levels: readonly { y: number; text: string; tone: number }[],
  left: number,
  right: number,
): Piece[] {
  const above = left < labelSpace && right > labelSpace;
  let last = Infinity;
  return levels.flatMap(({ y, text, tone }): Piece[] => {
    if (Math.abs(y - last) < lineHeight) return [];
    last = y;
    return above
      ? [
          {
            kind: "text",
            at: { x: Math.max(left, 0) + textGap, y: y - 1 },
            text,
            align: "left",
            base: "bottom",
            role: "line",
            tone,
          },
        ]
      : [{ kind: "text", at: { x: left - textGap, y }, text, align: "right", base: "middle", role: "line", tone }];
  });
}

function rectangle(d: Drawing, p: Point, q: Point): Shape {
  const x = Math.min(p.x, q.x);
  const y = Math.min(p.y, q.y);
  const pieces: Piece[] = [
    { kind: "box", x, y, w: Math.abs(q.x - p.x), h: Math.abs(q.y - p.y), role: "box", border: true },
  ];
  const label = d.label || d.text;
  if (label)
    pieces.push({ kind: "text", at: { x: x + 6, y: y + 6 }, text: label, align: "left", base: "top", role: "line" });
  return {
    pieces,
    handles: [
      { ...p, name: "a0" },
      { ...q, name: "a1" },
    ],
  };
}

function circle(d: Drawing, p: Point, q: Point): Shape {
  const r = Math.hypot(q.x - p.x, q.y - p.y);
  const pieces: Piece[] = [{ kind: "circle", at: p, r }];
  const label = d.label || d.text;
  if (label)
    pieces.push({
      kind: "text",
      at: { x: p.x, y: p.y - r - 6 },
      text: label,
      align: "center",
      base: "bottom",
      role: "line",
    });
  return {
    pieces,
    handles: [
      { ...p, name: "a0" },
      { ...q, name: "a1" },
    ],
  };
}

/** Returns the size of a marker in pixels. A value up to 5 is a multiple of the default size. */
function sizeOf(size: number | undefined): number {
  if (!size) return defaultSize;
  return Math.min(48, Math.max(8, size <= 5 ? size * defaultSize : size));
}

const defaultSize = 14;

function marker(d: Drawing, p: Point): Shape {
  const size = sizeOf(d.size);
  const mark = d.markerType ?? "circle";
  const pieces: Piece[] = [{ kind: "mark", at: p, mark, size }];
  const label = d.label || d.text;
  const above = mark === "arrow_down" || mark === "flag";
  // The tip of an arrow is at its price, so the label is at the other end.
  const far = mark.startsWith("arrow") ? size * 1.5 : size;
  if (label)
    pieces.push({
      kind: "text",
      at: { x: p.x, y: p.y + (above ? -far : far) + (above ? -4 : 4) },
      text: label,
      align: "center",
      base: above ? "bottom" : "top",
      role: "line",
    });
  return { pieces, handles: [{ ...p, name: "a0" }] };
}

function position(d: Drawing, s: Scale, digits: number, strong: boolean): Shape {
  const { entry, takeProfit, stopLoss } = d;
  const [a, b] = d.anchors ?? [];
  if (entry === undefined || takeProfit === undefined || stopLoss === undefined || !a || !b) return nothing;
  const left = Math.min(s.x(a.time), s.x(b.time));
  const right = Math.max(s.x(a.time), s.x(b.time), left + 24);
  const [e, t, l] = [s.y(entry), s.y(takeProfit), s.y(stopLoss)];
  const zone = (to: number, role: Role): Piece => ({
    kind: "box",
    x: left,
    y: Math.min(e, to),
    w: right - left,
    h: Math.abs(to - e),
    role,
  });
  const flat = (y: number, role: Role): Piece => ({ kind: "line", a: { x: left, y }, b: { x: right, y }, role });
  return {
    pieces: [
      zone(t, "gain"),
      zone(l, "loss"),
      flat(t, "gain"),
      flat(l, "loss"),
      flat(e, "line"),
      ...(strong ? positionPlates(d, digits, left, right, e, t, l) : positionLabel(d, s, left, e, t)),
    ],
    handles: [
      { x: left, y: t, name: "takeProfit" },
      { x: left, y: l, name: "stopLoss" },
      { x: left, y: e, name: "entry" },
      { x: right, y: e, name: "end" },
    ],
  };
}

/** Returns the short label of a position that is not selected: beside the entry or, if the target is too close, beyond
 *  the target. It stays within the
 *  pane. */
function positionLabel(d: Drawing, s: Scale, left: number, entry: number, target: number): Piece[] {
  const up = target < entry;
  const words = [d.label, riskReward(d)?.toFixed(2), d.status].filter(Boolean).join(" · ");
  if (!words || left > s.width) return [];
  const y = Math.abs(target - entry) < 1.5 * lineHeight ? target : entry;
  return [
    {
      kind: "text",
      at: {
        x: Math.min(Math.max(left, 0) + textGap, s.width - textGap - words.length * letterWidth),
        y: y + (up ? -textGap : textGap),
      },
      text: words,
      align: "left",
      base: up ? "bottom" : "top",
      role: "line",
    },
  ];
}

/** Returns the labels for entry, target and stop. */
function positionPlates(
  d: Drawing,
  digits: number,
  left: number,
  right: number,
  entry: number,
  target: number,
  stop: number,
): Piece[] {
  const x = (left + right) / 2;
  const up = target < entry; // the target is above
  const words = (name: string, p: number) =>
    `${name} ${p.toFixed(digits)} (${p > d.entry! ? "+" : ""}${(((p - d.entry!) / d.entry!) * 100).toFixed(2)}%)`;
  const rr = riskReward(d);
  const heading = [d.label, rr === undefined ? "" : `Risk/reward ${rr.toFixed(2)}`, d.status]
    .filter(Boolean)
    .join(" · ");
  // A heading on the line would be covered by the handles at its ends.
  const beside = heading.length * letterWidth + 2 * plateGap > right - left;
  return [
    {
      kind: "text",
      at: { x, y: up ? target - 6 : target + 6 },
      text: words("Target", d.takeProfit!),
      align: "center",
      base: up ? "bottom" : "top",
      role: "gain",
      plate: true,
    },
    {
      kind: "text",
      at: { x, y: up ? stop + 6 : stop - 6 },
      text: words("Stop", d.stopLoss!),
      align: "center",
      base: up ? "top" : "bottom",
      role: "loss",
      plate: true,
    },
    {
      kind: "text",
      at: { x, y: beside ? entry + (up ? -plateGap : plateGap) : entry },
      text: heading,
      align: "center",
      base: beside ? (up ? "bottom" : "top") : "middle",
      role: "line",
      plate: true,
    },
  ];
}

const hitDistance = 6;
const handleDistance = 9;

/** Returns the distance of a point from a drawing, or Infinity if it does not hit it. */
export function distance(shape: Shape, at: Point): number {
  let least = Infinity;
  for (const p of shape.pieces) least = Math.min(least, fromPiece(p, at));
  return least <= hitDistance ? least : Infinity;
}

function fromPiece(p: Piece, at: Point): number {
  switch (p.kind) {
    case "line":
      return toSegment(at, p.a, p.b);
    case "circle": {
      const d = Math.hypot(at.x - p.at.x, at.y - p.at.y);
      return d < p.r ? Math.min(Math.abs(d - p.r), hitDistance) : d - p.r;
    }
    case "mark":
      return Math.max(0, Math.hypot(at.x - p.at.x, at.y - p.at.y) - p.size);
    case "box":
      return inBox(p, at, p.role === "band" ? 0 : hitDistance);
    case "text":
      return p.plate || p.role === "line" ? inText(p, at) : Infinity;
  }
}

/** A point in a box counts as a hit, with a greater distance than one on a line. */
function inBox(p: { x: number; y: number; w: number; h: number }, at: Point, within: number): number {
  const inside = at.x >= p.x && at.x <= p.x + p.w && at.y >= p.y && at.y <= p.y + p.h;
  return inside && within ? within : Infinity;
}

function inText(p: { at: Point; text: string; align: string; base: string }, at: Point): number {
  const w = p.text.length * letterWidth + 8;
  const x = p.align === "left" ? p.at.x : p.align === "right" ? p.at.x - w : p.at.x - w / 2;
  const y = p.base === "top" ? p.at.y : p.base === "bottom" ? p.at.y - textHeight : p.at.y - textHeight / 2;
  return at.x >= x && at.x <= x + w && at.y >= y && at.y <= y + textHeight ? 2 : Infinity;
}

function toSegment(p: Point, a: Point, b: Point): number {
  const dx = b.x - a.x;
  const dy = b.y - a.y;
  const len = dx * dx + dy * dy;
  const k = len ? Math.max(0, Math.min(1, ((p.x - a.x) * dx + (p.y - a.y) * dy) / len)) : 0;
  return Math.hypot(p.x - a.x - k * dx, p.y - a.y - k * dy);
}

/** Returns the handle at a point. A coarse pointer, such as a finger, can be further away. */
export function handleAt(shape: Shape, at: Point, coarse = false): HandleName | undefined {
  let best: HandleName | undefined;
  let least = coarse ? 2 * handleDistance : handleDistance;
  for (const h of shape.handles) {
    const d = Math.hypot(at.x - h.x, at.y - h.y);
    if (d <= least) [best, least] = [h.name, d];
  }
  return best;
}
