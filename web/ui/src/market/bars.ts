// The bars of one symbol and timeframe. The horizontal axis of a chart counts bars and not seconds, so that weekends
// take no space. A time between two bars is between them on the axis; times outside continue at the pace of the
// timeframe.
import type { Bar, Columns, Timeframe } from "./types";

const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;

export const lengths: Record<Timeframe, number> = {
  "1m": minute,
  "5m": 5 * minute,
  "15m": 15 * minute,
  "30m": 30 * minute,
  "1h": hour,
  "4h": 4 * hour,
  "1D": day,
  "1W": 7 * day,
  "1M": 30 * day,
};

/** Returns the start of the bar that contains a time. Weeks start on Monday, in UTC. */
export function barStart(t: number, timeframe: Timeframe): number {
  if (timeframe === "1M") {
    const d = new Date(t * 1000);
    return Date.UTC(d.getUTCFullYear(), d.getUTCMonth(), 1) / 1000;
  }
  const monday = 4 * day; // the first Monday of Unix time
  if (timeframe === "1W") return Math.floor((t - monday) / (7 * day)) * 7 * day + monday;
  return Math.floor(t / lengths[timeframe]) * lengths[timeframe];
}

/** Returns the end of the bar that starts at a time. */
export function barEnd(start: number, timeframe: Timeframe): number {
  if (timeframe !== "1M") return start + lengths[timeframe];
  const d = new Date(start * 1000);
  return Date.UTC(d.getUTCFullYear(), d.getUTCMonth() + 1, 1) / 1000;
}

const none: Columns = { time: [], open: [], high: [], low: [], close: [], volume: [] };
const names = ["time", "open", "high", "low", "close", "volume"] as const;

/** A list of bars in order. It is immutable: methods that change it return a new list. */
export class Bars {
  constructor(
    readonly timeframe: Timeframe,
    readonly columns: Columns = none,
  ) {}

  get length(): number {
    return this.columns.time.length;
  }

  at(i: number): Bar | undefined {
    const c = this.columns;
    if (i < 0 || i >= c.time.length) return undefined;
    return {
      time: c.time[i]!,
      open: c.open[i]!,
      high: c.high[i]!,
      low: c.low[i]!,
      close: c.close[i]!,
      volume: c.volume[i]!,
    };
  }

  /** Adds older bars at the start, except those that overlap. */
  before(older: Columns): Bars {
    const first = this.columns.time[0] ?? Infinity;
    let n = older.time.length;
    while (n > 0 && older.time[n - 1]! >= first) n--;
    return n ? new Bars(this.timeframe, concat(older, n, this.columns)) : this;
  }

  /** Adds newer bars at the end. They replace bars from the same time on. */
  after(newer: Columns): Bars {
    const from = newer.time[0];
    if (from === undefined) return this;
    const kept = lowerBound(this.columns.time, from);
    return new Bars(this.timeframe, concat(this.columns, kept, newer));
  }

  /** Returns the last bar with a new price, or a new bar. Undefined if the price is older than the last bar. */
  tick(price: number, time: number): Bar | undefined {
    const last = this.at(this.length - 1);
    const start = barStart(time, this.timeframe);
    if (last && start < last.time) return undefined;
    if (!last || start > last.time)
      return { time: start, open: price, high: price, low: price, close: price, volume: 0 };
    return { ...last, high: Math.max(last.high, price), low: Math.min(last.low, price), close: price };
  }

  /** Returns the position of a time on the axis, in bars. */
  index(time: number): number {
    const t = this.columns.time;
    const n = t.length;
    const step = lengths[this.timeframe];
    if (!n) return 0;
    if (time <= t[0]!) return (time - t[0]!) / step;
    if (time >= t[n - 1]!) return n - 1 + (time - t[n - 1]!) / step;
    const i = lowerBound(t, time);
    if (t[i] === time) return i;
    return i - 1 + (time - t[i - 1]!) / (t[i]! - t[i - 1]!);
  }

  /** Returns the time at a position, rounded to a bar. Positions outside continue at the pace of the timeframe. */
  time(index: number): number {
    const t = this.columns.time;
    const n = t.length;
    const step = lengths[this.timeframe];
    if (!n) return 0;
    const i = Math.round(index);
    if (i < 0) return t[0]! + i * step;
    if (i >= n) return t[n - 1]! + (i - n + 1) * step;
    return t[i]!;
  }
}

function concat(a: Columns, n: number, b: Columns): Columns {
  const out = {} as Columns;
  for (const k of names) out[k] = (n === a[k].length ? a[k] : a[k].slice(0, n)).concat(b[k]);
  return out;
}

/** Returns the first index whose value is not less than the given one. */
function lowerBound(sorted: readonly number[], value: number): number {
  let from = 0;
  let to = sorted.length;
  while (from < to) {
    const mid = (from + to) >> 1;
    if (sorted[mid]! < value) from = mid + 1;
    else to = mid;
  }
  return from;
}
