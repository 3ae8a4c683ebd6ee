// The bar below the chart: the visible range, and the price scale.
import { useSyncExternalStore } from "react";
import { ChartIcon } from "./icons";
import { Attribution } from "./Legend";
import type { Spread } from "./plot";
import { setPrefs, usePrefs } from "./prefs";
import { rangesOf, type Wanted } from "./ranges";
import type { SymbolInfo, Timeframe } from "./types";
import type { Parts } from "./useBoard";

interface Props {
  info: SymbolInfo;
  parts: Parts | undefined;
  onShow: (wanted: Wanted, timeframe: Timeframe) => void;
  onDate: () => void;
}

const look =
  "inline-flex h-7 shrink-0 items-center rounded-md px-1.5 text-xs text-ink-soft hover:bg-hover hover:text-ink " +
  "aria-pressed:bg-accent-soft aria-pressed:font-medium aria-pressed:text-accent @dialog:px-2";

export function RangeBar({ info, parts, onShow, onDate }: Props) {
  const { spread } = usePrefs();
  const turn = (to: Spread) => setPrefs({ spread: spread === to ? "linear" : to });
  return (
    <div className="chart-rail flex h-9 shrink-0 items-center gap-0.5 overflow-x-auto border-t bg-surface px-1">
      <div role="group" aria-label="Range" className="flex shrink-0">
        {rangesOf(info).map((r) => (
          <button
            key={r.name}
            type="button"
            aria-label={`${r.name}: ${r.label.toLowerCase()}`}
            title={`${r.label}, in bars of ${r.timeframe}`}
            onClick={() => onShow({ days: r.days }, r.timeframe)}
            className={look}
          >
            {r.name}
          </button>
        ))}
      </div>
      <button type="button" aria-label="Go to a date" title="Go to a date (Alt+G)" onClick={onDate} className={look}>
        <ChartIcon name="calendar" small />
      </button>
      <Attribution className="hidden @dialog:inline" />
      <span className="flex-1" />
      <span title="All times are UTC" className="hidden px-1 text-xs text-ink-quiet @dialog:inline">
        UTC
      </span>
      <div role="group" aria-label="Price scale" className="flex shrink-0 gap-0.5">
        <button
          type="button"
          title="Prices in percent of the first visible bar"
          aria-pressed={spread === "percent"}
          onClick={() => turn("percent")}
          className={look}
        >
          %
        </button>
        <button
          type="button"
          title="Logarithmic: equal percentages have equal height"
          aria-pressed={spread === "log"}
          onClick={() => turn("log")}
          className={look}
        >
          log
        </button>
        {parts && <Auto parts={parts} />}
      </div>
    </div>
  );
}

/** The button for automatic scaling, which dragging the price scale turns off. */
function Auto({ parts: { moves, plot } }: { parts: Parts }) {
  const on = useSyncExternalStore(moves.subscribe, () => plot.auto);
  return (
    <button
      type="button"
      title="Fit the height to the bars in view"
      aria-pressed={on}
      onClick={() => plot.autoScale(!on)}
      className={look}
    >
      auto
    </button>
  );
}
