// The chart page: a price chart with drawings, and the assistant beside it.
import { useEffect, useRef, useState } from "react";
import { api } from "../api/client";
import { useLoad } from "../api/load";
import { go, route, type Route } from "../lib/router";
import { Button } from "../ui/Button";
import { HomeLink } from "../ui/HomeLink";
import { NotFound } from "../ui/NotFound";
import { chartAt, chartPage } from "./address";
import { market } from "./api";
import { Board } from "./Board";
import { prefs, setPrefs } from "./prefs";
import { timeframes, type SymbolInfo, type Timeframe } from "./types";
import { openChat } from "./useChat";
import "./market.css";

export default function ChartPage({ at }: { at: Route }) {
  const { data, error, loading, reload } = useLoad("market:symbols", market.symbols);
  const symbols = data?.symbols;
  useEffect(() => {
    if (!error || loading) return;
    const retry = setTimeout(reload, 3000); // the server may be unreachable, or still be importing the data
    return () => clearTimeout(retry);
  }, [error, loading, reload]);
  const named = chartAt(at);
  const info = choose(symbols, named.symbol);
  const timeframe = timeframeOf(info, named.timeframe);
  const [withoutChart] = useState(named.symbol === undefined ? at.conversation : undefined);
  useLastChart(withoutChart === at.conversation ? withoutChart : undefined, at);
  const chatKnown = useLastChat(info?.symbol, at);
  const known = info?.symbol === named.symbol && timeframe === named.timeframe;
  useEffect(() => {
    // Completes an incomplete address. An invalid one is not changed.
    if (!info || !timeframe) return;
    if (!known && !isInvalid(symbols, at)) go({ ...at, ...chartPage(info.symbol, timeframe) }, "replace");
    setPrefs({ symbol: info.symbol, timeframe });
  }, [info, timeframe, known, symbols, at]);
  const invalid = symbols !== undefined && isInvalid(symbols, at);
  useEffect(() => {
    if (invalid) return; // the page below sets the title
    document.title = info ? `${info.symbol} ${timeframe} · Footnote` : "Chart · Footnote";
    return () => void (document.title = "Footnote");
  }, [info, timeframe, invalid]);
  if (invalid)
    return (
      <main id="chart" tabIndex={-1} className="flex min-w-0 flex-1 flex-col">
        <NotFound
          title="Chart not found"
          action={<Button onClick={() => go(chartPage())}>Open the first chart</Button>}
        >
          There is no chart of {[named.symbol, named.timeframe].filter(Boolean).join(", ")} on this server.
        </NotFound>
      </main>
    );
  if (info && timeframe)
    return (
      <Board key={info.symbol} info={info} symbols={symbols!} timeframe={timeframe} at={at} chatKnown={chatKnown} />
    );
  if (loading && !error) return <main className="flex-1" aria-busy="true" aria-label="Chart" />;
  if (symbols)
    return (
      <Message
        words="There is no market data yet. Load candles, a calendar and more from CSV files with footnote market import."
        act="Go to the questions"
        onAct={() => go({})}
      />
    );
  return <Message words={`${error ?? ""} The chart will appear as soon as it loads.`} act="Try again" onAct={reload} />;
}

/** Goes to the chart that a conversation was last about, if the address has none. */
function useLastChart(conversation: string | undefined, at: Route): void {
  const went = useRef(false);
  const where = useLoad(conversation ? `where:${conversation}` : "", () => api.conversation(conversation!)).data?.where;
  useEffect(() => {
    if (!where?.symbol || went.current) return;
    went.current = true;
    openChat();
    go({ ...at, ...chartPage(where.symbol, where.timeframe) }, "replace");
  }, [where, at]);
}

/** Opens the last conversation about each chart that the page shows, unless the address has one. That also answers the
 *  calls that have waited for the page. Returns whether the search for this chart has ended. */
function useLastChat(symbol: string | undefined, at: Route): boolean {
  const [searched, setSearched] = useState<readonly string[]>([]);
  const known = at.conversation !== undefined || (symbol !== undefined && searched.includes(symbol));
  useEffect(() => {
    if (!symbol || searched.includes(symbol)) return;
    const end = () => setSearched((old) => [...old, symbol]);
    if (known) return end(); // so that a new conversation about this chart stays one
    const open = (conversation: string | undefined) => {
      const now = route();
      if (conversation && !now.conversation && chartAt(now).symbol === symbol) go({ ...now, conversation }, "replace");
      end();
    };
    api.conversationsAbout(symbol).then(
      ({ conversations }) => open(conversations[0]?.id),
      () => open(undefined),
    );
  }, [symbol, known, searched]);
  return known;
}

function choose(symbols: readonly SymbolInfo[] | undefined, symbol: string | undefined): SymbolInfo | undefined {
  return symbols?.find((s) => s.symbol === (symbol ?? prefs().symbol)) ?? symbols?.[0];
}

function timeframeOf(info: SymbolInfo | undefined, asked: string | undefined): Timeframe | undefined {
  const has = (t: string | undefined) => timeframes.find((x) => x === t && info?.timeframes.includes(x));
  return info && (has(asked) ?? has(prefs().timeframe) ?? has("1h") ?? has(info.timeframes[0]));
}

/** Reports whether the address names a symbol or timeframe that does not exist. */
function isInvalid(symbols: readonly SymbolInfo[] | undefined, at: Route): boolean {
  const { symbol, timeframe } = chartAt(at);
  const info = symbols?.find((s) => s.symbol === symbol);
  if (!symbols || !symbols.length || symbol === undefined) return false;
  return !info || (timeframe !== undefined && !info.timeframes.includes(timeframe));
}

function Message({ words, act, onAct }: { words: string; act: string; onAct: () => void }) {
  return (
    <main className="flex h-full flex-1 flex-col items-center justify-center gap-4 p-5 text-center">
      <HomeLink />
      <p role="alert" className="max-w-drawer text-ink-soft">
        {words}
      </p>
      <Button look="primary" onClick={onAct}>
        {act}
      </Button>
    </main>
  );
}
