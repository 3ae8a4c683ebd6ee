// Which lines closes have crossed since somebody put them there: a level that the market has left behind looks like any
// other.
import { useMemo, useSyncExternalStore } from "react";
import { plural } from "../lib/format";
import { barEnd, type Bars } from "./bars";
import type { Feed } from "./feed";
import { seconds, type Drawing } from "./types";
import { when } from "./words";

export interface Crossing {
  above: boolean; // the side on which the closes are
  closes: number;
  first: number; // start of the bar of the first one, Unix seconds
}

/** Returns the closes that lie on the other side of a line than the last close before it was put there. Undefined if
 *  there are none, or if the bars do not reach back to that time. The server computes the same, with the same test
 *  cases. */
export function crossing(d: Drawing, bars: Bars, now: number): Crossing | undefined {
  const price = priceAt(d, bars);
  const { time, close } = bars.columns;
  const end = (i: number) => barEnd(time[i]!, bars.timeframe);
  const placed = seconds(d.placed);
  if (!price || !time.length || !(placed >= end(0))) return undefined;
  let found: Crossing | undefined;
  let side = 0; // of the closes before
  for (let i = 0; i < time.length && end(i) <= now; i++) {
    const gap = Math.sign(close[i]! - price(i));
    if (Number.isNaN(gap)) continue; // the line is not there
    if (end(i) <= placed || !side) side = gap || side;
    else if (gap === -side) {
      found ??= { above: gap > 0, closes: 0, first: time[i]! };
      found.closes++;
    }
  }
  return found;
}

/** Returns the price of a line at the position of a bar; NaN where the line does not reach. */
function priceAt(d: Drawing, bars: Bars): ((i: number) => number) | undefined {
  const [a, b] = d.anchors ?? [];
  if (d.type === "horizontal_line" && d.price !== undefined) return () => d.price!;
  if (d.type === "horizontal_ray" && a) {
    const from = bars.index(a.time);
    return (i) => (i < from ? NaN : a.price);
  }
  if (d.type !== "trendline" || !a || !b || Math.min(a.time, b.time) < bars.columns.time[0]!) return undefined;
  const [x, y] = [bars.index(a.time), bars.index(b.time)];
  if (x === y) return undefined;
  const [from, to] = d.extend === "extended" ? [-Infinity, Infinity] : [Math.min(x, y), Math.max(x, y)];
  const end = d.extend === "ray" ? Infinity : to;
  return (i) => (i < from || i > end ? NaN : a.price + ((b.price - a.price) * (i - x)) / (y - x));
}

export function crossingWords({ above, closes, first }: Crossing): string {
  const side = above ? "above" : "below";
  return closes === 1
    ? `Crossed: the close of ${when.format(first * 1000)} lies ${side}.`
    : `Crossed: ${plural(closes, "close")} since ${when.format(first * 1000)} lie ${side}.`;
}

export type Crossings = ReadonlyMap<string, Crossing>;

/** Returns the crossings of drawings by id. They are computed again with each new bar, but not with each price. */
export function useCrossings(feed: Feed | undefined, drawings: readonly Drawing[]): Crossings {
  const loaded = useSyncExternalStore(feed?.bars.subscribe ?? never, () => extent(feed?.bars.get()));
  return useMemo(() => {
    const found = new Map<string, Crossing>();
    const bars = feed?.bars.get();
    if (!bars || !loaded) return found;
    for (const d of drawings) {
      const c = crossing(d, bars, Date.now() / 1000);
      if (c) found.set(d.id, c);
    }
    return found;
  }, [feed, loaded, drawings]);
}

const never = () => () => {};

const extent = (b: Bars | undefined): string => (b ? `${b.columns.time[0]} ${b.length}` : "");
