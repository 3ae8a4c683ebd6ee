// The texts over the bars: the name, the bar under the crosshair, the live price, and the releases at a mark of the
// calendar.
import { useSyncExternalStore } from "react";
import { ago } from "../lib/format";
import { Button } from "../ui/Button";
import { useObservable } from "../lib/observable";
import { useWide } from "../lib/media";
import { GlyphButton } from "./TopBar";
import { seconds, type MarketEvent, type SymbolInfo, type Timeframe } from "./types";
import type { Parts } from "./useBoard";

const volumeFormat = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });

export function Legend({ parts, info, timeframe }: { parts: Parts; info: SymbolInfo; timeframe: Timeframe }) {
  const { loading, error, synthetic, older, behind } = useObservable(parts.feed.state);
  return (
    <>
      <div className="pointer-events-none absolute top-2 left-3 z-10 flex max-w-[calc(100%-5.5rem)] flex-col items-start text-sm *:rounded-sm *:bg-surface/75 *:px-1">
        <div className="flex flex-wrap items-baseline gap-x-3">
          <h1 className="font-semibold">
            {info.name || info.symbol} <span className="font-normal text-ink-quiet">· {timeframe}</span>
          </h1>
          {(synthetic || info.synthetic) && (
            <span className="rounded-sm bg-warn-soft px-1.5 text-xs text-warn">Synthetic data</span>
          )}
          {older && <span className="text-xs text-ink-quiet">Loading older bars</span>}
          {behind && !older && <span className="text-xs text-warn">No older bars: {behind}</span>}
        </div>
        <Readout parts={parts} digits={info.digits} />
        <Quote parts={parts} digits={info.digits} />
      </div>
      <Calendar parts={parts} />
      <End parts={parts} />
      {loading && !error && (
        <p role="status" className="absolute inset-0 grid place-items-center text-sm text-ink-quiet">
          Loading the bars
        </p>
      )}
      {error && (
        <div className="absolute inset-0 grid place-content-center gap-3 p-5 text-center">
          <p role="alert" className="max-w-drawer text-sm text-ink-soft">
            {error} The bars will appear when the server responds.
          </p>
          <Button icon="retry" onClick={() => void parts.feed.load()} className="justify-self-center">
            Try again
          </Button>
        </div>
      )}
      <Attribution className="absolute bottom-8 left-3 z-10 bg-surface/75 @dialog:hidden" />
    </>
  );
}

/** The attribution that the licence of the chart library requires. */
export function Attribution({ className }: { className: string }) {
  return (
    <a
      href="https://www.tradingview.com/"
      target="_blank"
      rel="noopener noreferrer"
      title="Charting by TradingView Lightweight Charts"
      className={`rounded-sm px-1 text-xs whitespace-nowrap text-ink-quiet hover:text-ink hover:underline ${className}`}
    >
      Charts by TradingView
    </a>
  );
}

/** Open, high, low, close, change and volume of the bar under the crosshair. */
function Readout({ parts, digits }: { parts: Parts; digits: number }) {
  const { bar: pointed } = useObservable(parts.pointed);
  const bars = useObservable(parts.feed.bars);
  const bar = pointed ?? bars.at(bars.length - 1);
  if (!bar) return null;
  const change = ((bar.close - bar.open) / bar.open) * 100;
  const tone = bar.close >= bar.open ? "text-up" : "text-down";
  return (
    <dl className="tabular flex flex-wrap gap-x-2 text-xs" data-readout>
      {(["open", "high", "low", "close"] as const).map((k) => (
        <div key={k} className="flex gap-1">
          <dt className="text-ink-quiet uppercase">
            <abbr title={k} className="no-underline">
              {k[0]}
            </abbr>
          </dt>
          <dd className={tone}>{bar[k].toFixed(digits)}</dd>
        </div>
      ))}
      <div className="flex gap-1">
        <dt className="sr-only">Change</dt>
        <dd className={tone}>
          {change >= 0 ? "+" : "−"}
          {Math.abs(change).toFixed(2)}%
        </dd>
      </div>
      <div className="flex gap-1">
        <dt className="text-ink-quiet">Vol</dt>
        <dd className="text-ink-soft">{volumeFormat.format(bar.volume)}</dd>
      </div>
    </dl>
  );
}

const staleAfter = 120; // seconds

/** The live bid and ask, or the reason why there is none. */
function Quote({ parts, digits }: { parts: Parts; digits: number }) {
  const live = useObservable(parts.feed.live);
  if (!live) return null;
  if ("down" in live)
    return (
      <p className="text-xs text-warn" data-live="down">
        No live price: {live.down}
      </p>
    );
  const { bid, ask, age_seconds: age } = live.price;
  return (
    <p className="tabular flex items-center gap-1.5 text-xs text-ink-quiet" data-live={age > staleAfter ? "old" : "on"}>
      <span aria-hidden="true" className={`size-1.5 rounded-full ${age > staleAfter ? "bg-warn" : "bg-good"}`} />
      <span>
        {bid.toFixed(digits)} / {ask.toFixed(digits)}
      </span>
      {age > staleAfter && <span className="text-warn">{ago(age * 1000)}</span>}
    </p>
  );
}

const when = new Intl.DateTimeFormat("en-GB", {
  timeZone: "UTC",
  weekday: "short",
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
});

/** The releases at the mark under the pointer. */
function Calendar({ parts }: { parts: Parts }) {
  const { point } = useObservable(parts.pointed);
  const mark = point && parts.plot.events.at(point);
  if (!mark) return null;
  const left = Math.max(0, Math.min(mark.x - 120, parts.plot.chart.paneSize(0).width - 260));
  return (
    <div
      role="tooltip"
      className="pointer-events-none absolute z-20 w-64 rounded-md border bg-raised px-3 py-2 text-xs shadow-over"
      style={{ left, bottom: `calc(100% - ${parts.plot.events.y() - 14}px)` }}
    >
      <ul className="space-y-1.5">
        {mark.events.slice(0, 5).map((e) => (
          <Published key={e.id} e={e} />
        ))}
        {mark.events.length > 5 && <li className="text-ink-quiet">and {mark.events.length - 5} more</li>}
      </ul>
    </div>
  );
}

function Published({ e }: { e: MarketEvent }) {
  const values = (["actual", "forecast", "previous"] as const).filter(
    (k) => e[k] !== null && e[k] !== undefined && e[k] !== "",
  );
  return (
    <li>
      <div className="text-ink-quiet">
        {when.format(seconds(e.time) * 1000)} UTC · {e.currency} · {e.impact}
      </div>
      <div className="text-sm font-medium">{e.title}</div>
      {values.length > 0 && (
        <div className="tabular text-ink-soft">{values.map((k) => `${k} ${e[k]}`).join(" · ")}</div>
      )}
    </li>
  );
}

/** The button that scrolls to the newest bar. */
function End({ parts }: { parts: Parts }) {
  const wide = useWide();
  const away = useSyncExternalStore(parts.moves.subscribe, () => {
    const r = parts.plot.range();
    return r !== undefined && r.right < parts.plot.bars.length - 5;
  });
  if (!away) return null;
  return (
    <div
      className={`absolute bottom-8 z-10 rounded-md border bg-raised shadow-raised ${wide ? "right-20" : "right-18"}`}
    >
      <GlyphButton small glyph="toEnd" label="Go to the newest bar" onClick={() => parts.plot.newest()} />
    </div>
  );
}
