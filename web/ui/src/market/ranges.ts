// The ranges that the chart offers, each with a suitable timeframe.
import { lengths } from "./bars";
import { seconds, timeframes, type SymbolInfo, type Timeframe } from "./types";

export interface Range {
  name: string;
  label: string;
  days: number;
  timeframe: Timeframe;
}

const day = 86_400;

// Five trading days are seven calendar days.
const fixed: readonly Range[] = [
  { name: "1D", label: "The last day", days: 1, timeframe: "5m" },
  { name: "5D", label: "The last five days", days: 7, timeframe: "15m" },
  { name: "1M", label: "The last month", days: 30, timeframe: "1h" },
  { name: "3M", label: "The last three months", days: 91, timeframe: "4h" },
  { name: "1Y", label: "The last year", days: 365, timeframe: "1D" },
];

const maxBars = 400;

/** Returns the ranges for a symbol, in its timeframes. */
export function rangesOf(info: SymbolInfo): Range[] {
  const [from, to] = [seconds(info.from), seconds(info.to)];
  const days = Number.isFinite(to - from) ? (to - from) / day + 1 : 3650;
  const forAll = (["1D", "1W", "1M"] as const).find((t) => (days * day) / lengths[t] <= maxBars) ?? "1M";
  return [...fixed.filter((r) => r.days < days), { name: "All", label: "All data", days, timeframe: forAll }].map(
    (r) => ({ ...r, timeframe: nearest(info, r.timeframe) }),
  );
}

/** Returns the timeframe if the symbol has it, otherwise the next longer one, or the longest. */
function nearest(info: SymbolInfo, wanted: Timeframe): Timeframe {
  const has = timeframes.filter((t) => info.timeframes.includes(t));
  return has.find((t) => lengths[t] >= lengths[wanted]) ?? has.at(-1) ?? wanted;
}

/** The range to show once the bars are loaded: the newest days, or the time around a moment. */
export type Wanted = { days: number } | { around: number };
