// How much of the past is asked for at once, and in which bars it is best seen.
import { lengths } from "./bars";
import { seconds, timeframes, type SymbolInfo, type Timeframe } from "./types";

export interface Range {
  name: string;
  says: string;
  days: number;
  timeframe: Timeframe;
}

const day = 86_400;

// Five days of trading are a week of the calendar.
const fixed: readonly Range[] = [
  { name: "1D", says: "The last day", days: 1, timeframe: "5m" },
  { name: "5D", says: "The last five days", days: 7, timeframe: "15m" },
  { name: "1M", says: "The last month", days: 30, timeframe: "1h" },
  { name: "3M", says: "The last three months", days: 91, timeframe: "4h" },
  { name: "1Y", says: "The last year", days: 365, timeframe: "1D" },
];

const mostBars = 400;

/** What is offered for a symbol, in bars that it has. */
export function rangesOf(info: SymbolInfo): Range[] {
  const [from, to] = [seconds(info.from), seconds(info.to)];
  const days = Number.isFinite(to - from) ? (to - from) / day + 1 : 3650;
  const whole = (["1D", "1W", "1M"] as const).find((t) => (days * day) / lengths[t] <= mostBars) ?? "1M";
  return [...fixed.filter((r) => r.days < days), { name: "All", says: "All there is", days, timeframe: whole }].map(
    (r) => ({ ...r, timeframe: nearest(info, r.timeframe) }),
  );
}

/** The timeframe itself, or the next longer one that there is, or the longest. */
function nearest(info: SymbolInfo, wanted: Timeframe): Timeframe {
  const has = timeframes.filter((t) => info.timeframes.includes(t));
  return has.find((t) => lengths[t] >= lengths[wanted]) ?? has.at(-1) ?? wanted;
}

/** What a chart is to show once its bars are there: the newest so many days, or the
 *  time around a moment. */
export type Wanted = { days: number } | { around: number };
