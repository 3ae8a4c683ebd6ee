// The bars of one symbol and timeframe, and where a time stands among them. A chart
// counts in bars, not in seconds: nothing is drawn for a weekend. A time between two
// bars stands between them, and one outside goes on in the pace of the timeframe.
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

/** The time at which the bar of a moment begins. Weeks begin on Monday, all in UTC. */
export function begins(t: number, timeframe: Timeframe): number {
  if (timeframe === "1M") {
    const d = new Date(t * 1000);
    return Date.UTC(d.getUTCFullYear(), d.getUTCMonth(), 1) / 1000;
  }
  const monday = 4 * day; // the first one of Unix time
  if (timeframe === "1W") return Math.floor((t - monday) / (7 * day)) * 7 * day + monday;
  return Math.floor(t / lengths[timeframe]) * lengths[timeframe];
}

const none: Columns = { time: [], open: [], high: [], low: [], close: [], volume: [] };
const names = ["time", "open", "high", "low", "close", "volume"] as const;

/** Bars in order. A value: what changes them gives new ones. */
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

  /** With older bars before them; what overlaps is left out. */
  before(older: Columns): Bars {
    const first = this.columns.time[0] ?? Infinity;
    let n = older.time.length;
    while (n > 0 && older.time[n - 1]! >= first) n--;
    return n ? new Bars(this.timeframe, both(older, n, this.columns)) : this;
  }

  /** With newer bars at the end; a last one that is there already is replaced. */
  after(newer: Columns): Bars {
    const from = newer.time[0];
    if (from === undefined) return this;
    const kept = lowerBound(this.columns.time, from);
    return new Bars(this.timeframe, both(this.columns, kept, newer));
  }

  /** With a price that was just seen; undefined when it is older than the last bar. */
  tick(price: number, time: number): Bar | undefined {
    const last = this.at(this.length - 1);
    const start = begins(time, this.timeframe);
    if (last && start < last.time) return undefined;
    if (!last || start > last.time)
      return { time: start, open: price, high: price, low: price, close: price, volume: 0 };
    return { ...last, high: Math.max(last.high, price), low: Math.min(last.low, price), close: price };
  }

  /** Where a time stands, counted in bars. */
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

  /** The time of a whole number of bars; beyond the last one it goes on. */
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

function both(a: Columns, n: number, b: Columns): Columns {
  const out = {} as Columns;
  for (const k of names) out[k] = (n === a[k].length ? a[k] : a[k].slice(0, n)).concat(b[k]);
  return out;
}

/** The first place that is not before a value. */
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
