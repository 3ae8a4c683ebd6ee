// Navigation between symbols, timeframes and times.
import { useCallback, useRef, useState } from "react";
import { go, type Route } from "../lib/router";
import { chartPage } from "./address";
import { whenWords } from "./plot";
import type { Wanted } from "./ranges";
import type { SymbolInfo, Timeframe } from "./types";
import { seek, type Parts } from "./useBoard";

export interface Place {
  /** Returns the range to show once the bars are loaded, and clears it. */
  wanted: () => Wanted | undefined;
  goTo: (parts: Parts | undefined, symbol: string, timeframe: Timeframe) => void;
  show: (parts: Parts | undefined, wanted: Wanted, timeframe: Timeframe) => Promise<void>;
  /** Why a range could not be shown. */
  note: string;
  clearNote: () => void;
}

export function usePlace(info: SymbolInfo, timeframe: Timeframe, at: Route): Place {
  const next = useRef<Wanted>(undefined);
  const [note, setNote] = useState("");
  const wanted = useCallback(() => {
    const w = next.current;
    next.current = undefined;
    return w;
  }, []);
  const goTo: Place["goTo"] = (parts, symbol, tf) => {
    const around = symbol === info.symbol ? parts?.plot.middle() : undefined;
    if (around !== undefined) next.current ??= { around }; // keep the same time in view
    go({ ...at, ...chartPage(symbol, tf) });
  };
  const show: Place["show"] = async (parts, w, tf) => {
    setNote("");
    if (tf !== timeframe || !parts) {
      next.current = w;
      return goTo(parts, info.symbol, tf);
    }
    const first = await seek(parts, w);
    if (first !== undefined) setNote(`The ${tf} bars start on ${whenWords(first, tf)}.`);
  };
  return { wanted, goTo, show, note, clearNote: () => setNote("") };
}
