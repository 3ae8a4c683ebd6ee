// Pure functions that create, move and copy drawings.
import type { Bars } from "./bars";
import { isPosition, type HandleName } from "./shape";
import type { Anchor, Bar, Drawing, DrawingType, Extend, MarkerType } from "./types";

/** A drawing tool of the toolbar. */
export interface Tool {
  id: string;
  name: string;
  type: DrawingType;
  clicks: 1 | 2;
  extend?: Extend;
  markerType?: MarkerType;
  /** The key that selects it together with Alt. */
  key?: string;
}

export const tools: readonly Tool[] = [
  { id: "trendline", name: "Trend line", type: "trendline", clicks: 2, key: "T" },
  { id: "ray", name: "Trend ray", type: "trendline", extend: "ray", clicks: 2 },
  { id: "arrow", name: "Arrow", type: "trendline", extend: "arrow", clicks: 2 },
  { id: "extended", name: "Extended line", type: "trendline", extend: "extended", clicks: 2 },
  { id: "horizontal_line", name: "Horizontal line", type: "horizontal_line", clicks: 1, key: "H" },
  { id: "horizontal_ray", name: "Horizontal ray", type: "horizontal_ray", clicks: 1, key: "J" },
  { id: "vertical_line", name: "Vertical line", type: "vertical_line", clicks: 1, key: "V" },
  { id: "fibonacci", name: "Fibonacci retracement", type: "fibonacci", clicks: 2, key: "F" },
  { id: "rectangle", name: "Rectangle", type: "rectangle", clicks: 2, key: "R" },
  { id: "circle", name: "Circle", type: "circle", clicks: 2, key: "C" },
  { id: "text", name: "Text", type: "text", clicks: 1, key: "X" },
  { id: "marker", name: "Marker", type: "marker", clicks: 1, key: "M" },
  { id: "long_position", name: "Long position", type: "long_position", clicks: 1, key: "L" },
  { id: "short_position", name: "Short position", type: "short_position", clicks: 1, key: "S" },
];

const positionBars = 24;

/** Returns the average height of the bars before a position. */
function averageRange(bars: Bars, index: number): number {
  const to = Math.max(1, Math.min(bars.length, Math.round(index) + 1));
  const from = Math.max(0, to - 50);
  let sum = 0;
  for (let i = from; i < to; i++) sum += bars.columns.high[i]! - bars.columns.low[i]!;
  return sum / Math.max(1, to - from);
}

/** Creates a drawing from the points that were clicked. */
export function created(
  tool: Tool,
  points: readonly Anchor[],
  symbol: string,
  timeframe: string,
  bars: Bars,
  digits: number,
): Omit<Drawing, "id"> {
  const [a, b] = points as [Anchor, Anchor | undefined];
  const base = { type: tool.type, symbol, timeframe };
  switch (tool.type) {
    case "horizontal_line":
      return { ...base, price: a.price };
    case "text":
      return { ...base, anchors: [a], text: "Text" };
    case "marker":
      return { ...base, anchors: [a], markerType: tool.markerType ?? "arrow_up" };
    case "long_position":
    case "short_position": {
      const at = bars.index(a.time);
      const risk = averageRange(bars, at) * (tool.type === "long_position" ? 1 : -1);
      const end = { time: bars.time(at + positionBars), price: a.price };
      return {
        ...base,
        anchors: [a, end],
        entry: a.price,
        takeProfit: round(a.price + 2 * risk, digits),
        stopLoss: round(a.price - risk, digits),
        status: "signal",
      };
    }
    default: {
      const anchors = tool.clicks === 1 ? [a] : [a, b ?? a];
      return { ...base, anchors, ...(tool.extend ? { extend: tool.extend } : {}) };
    }
  }
}

export const round = (price: number, digits: number): number => Number(price.toFixed(digits));

/** Moves a drawing, or one of its handles, by a number of bars and a price. */
export function moved(
  d: Drawing,
  handle: HandleName | undefined,
  bars: Bars,
  by: { bars: number; price: number },
  digits: number,
): Drawing {
  const shift = (a: Anchor): Anchor => ({
    time: by.bars ? bars.time(bars.index(a.time) + by.bars) : a.time,
    price: by.price ? round(a.price + by.price, digits) : a.price,
  });
  const plus = (p: number | undefined) => (p === undefined ? p : round(p + by.price, digits));
  if (handle === "takeProfit" || handle === "stopLoss")
    return { ...d, [handle]: clampToSide(d, handle, plus(d[handle])!, digits) };
  if (isPosition(d)) return position(d, handle, shift, plus);
  if (handle === "a0" || handle === "a1") {
    const i = handle === "a0" ? 0 : 1;
    return { ...d, anchors: d.anchors?.map((a, j) => (j === i ? shift(a) : a)) };
  }
  return {
    ...d,
    ...(d.price === undefined ? {} : { price: plus(d.price) }),
    ...(d.anchors ? { anchors: d.anchors.map(shift) } : {}),
  };
}

function position(
  d: Drawing,
  handle: HandleName | undefined,
  shift: (a: Anchor) => Anchor,
  plus: (p: number | undefined) => number | undefined,
): Drawing {
  const [a, b] = d.anchors as [Anchor, Anchor];
  if (handle === "end") return { ...d, anchors: [a, { ...shift(b), price: b.price }] };
  if (handle === "entry") {
    const entry = plus(d.entry)!;
    const [low, high] = [Math.min(d.takeProfit!, d.stopLoss!), Math.max(d.takeProfit!, d.stopLoss!)];
    const time = shift(a).time;
    const inside = entry > low && entry < high ? entry : d.entry!;
    return {
      ...d,
      entry: inside,
      anchors: [
        { time: time < b.time ? time : a.time, price: inside },
        { ...b, price: inside },
      ],
    };
  }
  return {
    ...d,
    entry: plus(d.entry),
    takeProfit: plus(d.takeProfit),
    stopLoss: plus(d.stopLoss),
    anchors: [shift(a), shift(b)],
  };
}

/** Copies a drawing and moves the copy. The copy is unlocked and visible; a position becomes a signal. */
export function copied(
  d: Drawing,
  bars: Bars,
  by: { bars: number; price: number },
  digits: number,
): Omit<Drawing, "id"> {
  const {
    id: _,
    locked: _l,
    hidden: _h,
    version: _v,
    created: _c,
    changed: _g,
    placed: _p,
    riskReward: _r,
    ...rest
  } = moved(d, undefined, bars, by, digits);
  return isPosition(d) ? { ...rest, status: "signal" } : rest;
}

/** Keeps a target or stop on its side of the entry. */
function clampToSide(d: Drawing, handle: "takeProfit" | "stopLoss", price: number, digits: number): number {
  const above = (d.type === "long_position") === (handle === "takeProfit");
  const least = 10 ** -digits;
  return round(above ? Math.max(price, d.entry! + least) : Math.min(price, d.entry! - least), digits);
}

/** Returns the open, high, low or close that is nearest to a price if one is within reach, and otherwise the price. */
export function snapped(bar: Bar | undefined, price: number, reach: number): number {
  if (!bar) return price;
  let best = price;
  let least = reach;
  for (const p of [bar.open, bar.high, bar.low, bar.close]) {
    const d = Math.abs(p - price);
    if (d <= least) [best, least] = [p, d];
  }
  return best;
}

/** Returns the fields of a drawing to send, without those that the server sets. */
export function toSend(d: Drawing): Partial<Drawing> {
  const { version: _v, created: _c, changed: _g, placed: _p, riskReward: _r, ...rest } = d;
  if (rest.id.startsWith(temporaryPrefix)) return (({ id: _, ...noId }) => noId)(rest);
  return rest;
}

/** The prefix of temporary ids. */
export const temporaryPrefix = "new:";

/** Reports whether a drawing is shown on a timeframe. */
export function visible(d: Drawing, timeframe: string): boolean {
  if (d.hidden) return false;
  return (
    d.visibility === undefined ||
    d.visibility === "all" ||
    d.visibility.length === 0 ||
    d.visibility.includes(timeframe)
  );
}
