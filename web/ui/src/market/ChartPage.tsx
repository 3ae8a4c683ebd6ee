// The chart page: a market, what is drawn on it, and the assistant beside it.
import { useEffect, useRef, useState } from "react";
import { api } from "../api/client";
import { useLoad } from "../api/load";
import { go, type Route } from "../lib/router";
import { Button } from "../ui/Button";
import { Logo } from "../ui/Icon";
import { market } from "./api";
import { Board } from "./Board";
import { prefs, setPrefs } from "./prefs";
import { timeframes, type SymbolInfo, type Timeframe } from "./types";
import { openTalk } from "./useTalk";
import "./market.css";

export default function ChartPage({ at }: { at: Route }) {
  const { data, error, loading, reload } = useLoad("market:symbols", market.symbols);
  const symbols = data?.symbols;
  useEffect(() => {
    if (!error || loading) return;
    const again = setTimeout(reload, 3000); // what is away or still being made comes by itself
    return () => clearTimeout(again);
  }, [error, loading, reload]);
  const info = choose(symbols, at.chart?.symbol);
  const timeframe = timeframeOf(info, at.chart?.timeframe);
  const [loose] = useState(at.chart?.symbol === undefined ? at.conversation : undefined);
  useWhere(loose === at.conversation ? loose : undefined, at);
  const known = info?.symbol === at.chart?.symbol && timeframe === at.chart?.timeframe;
  useEffect(() => {
    // An address that says too little is completed; one that is wrong is left alone.
    if (!info || !timeframe) return;
    if (!known && !wrong(symbols, at)) go({ ...at, chart: { symbol: info.symbol, timeframe } }, "replace");
    setPrefs({ symbol: info.symbol, timeframe });
  }, [info, timeframe, known, symbols, at]);
  useEffect(() => {
    document.title = info ? `${info.symbol} ${timeframe} · Footnote` : "Chart · Footnote";
    return () => void (document.title = "Footnote");
  }, [info, timeframe]);
  if (symbols && wrong(symbols, at))
    return (
      <Nothing
        words={`There is no chart of ${at.chart?.symbol ?? ""} ${at.chart?.timeframe ?? ""} here.`}
        act="To the first chart"
        onAct={() => go({ chart: {} })}
      />
    );
  if (info && timeframe)
    return <Board key={info.symbol} info={info} symbols={symbols!} timeframe={timeframe} at={at} />;
  if (loading && !error) return <main className="flex-1" aria-busy="true" aria-label="Chart" />;
  if (symbols)
    return (
      <Nothing
        words="No market data is loaded. footnote market import loads candles, a calendar and more from CSV files."
        act="To the questions"
        onAct={() => go({})}
      />
    );
  return <Nothing words={`${error ?? ""} The chart comes as soon as it can be had.`} act="Try again" onAct={reload} />;
}

/** Goes to the chart that a conversation was last about, when the address names none. */
function useWhere(conversation: string | undefined, at: Route): void {
  const went = useRef(false);
  const where = useLoad(conversation ? `where:${conversation}` : "", () => api.conversation(conversation!)).data?.where;
  useEffect(() => {
    if (!where?.symbol || went.current) return;
    went.current = true;
    openTalk();
    go({ ...at, chart: { symbol: where.symbol, timeframe: where.timeframe } }, "replace");
  }, [where, at]);
}

function choose(symbols: readonly SymbolInfo[] | undefined, symbol: string | undefined): SymbolInfo | undefined {
  return symbols?.find((s) => s.symbol === (symbol ?? prefs().symbol)) ?? symbols?.[0];
}

function timeframeOf(info: SymbolInfo | undefined, asked: string | undefined): Timeframe | undefined {
  const has = (t: string | undefined) => timeframes.find((x) => x === t && info?.timeframes.includes(x));
  return info && (has(asked) ?? has(prefs().timeframe) ?? has("1h") ?? has(info.timeframes[0]));
}

/** Whether the address names something that is not there. */
function wrong(symbols: readonly SymbolInfo[] | undefined, at: Route): boolean {
  const { symbol, timeframe } = at.chart ?? {};
  const info = symbols?.find((s) => s.symbol === symbol);
  if (!symbols || !symbols.length || symbol === undefined) return false;
  return !info || (timeframe !== undefined && !info.timeframes.includes(timeframe));
}

function Nothing({ words, act, onAct }: { words: string; act: string; onAct: () => void }) {
  return (
    <main className="flex h-full flex-1 flex-col items-center justify-center gap-4 p-5 text-center">
      <Logo className="size-9" />
      <p role="alert" className="max-w-drawer text-ink-soft">
        {words}
      </p>
      <Button look="primary" onClick={onAct}>
        {act}
      </Button>
    </main>
  );
}
