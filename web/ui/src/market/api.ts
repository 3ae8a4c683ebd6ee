// API calls of the chart page.
import { ApiError, errorFrom, request } from "../api/client";
import { read } from "../api/sse";
import type { Change, Columns, Drawing, MarketEvent, Price, PriceDown, SymbolInfo } from "./types";

const enc = encodeURIComponent;

async function json<T>(path: string, call?: Parameters<typeof request>[1]): Promise<T> {
  return (await (await request(path, call)).json()) as T;
}

export interface Page extends Columns {
  symbol: string;
  timeframe: string;
  synthetic?: boolean;
}

export interface Document {
  version: number;
  drawings: Drawing[];
  can_undo?: boolean;
  can_redo?: boolean;
}

export const market = {
  /** Returns no symbols if the server has no market module. */
  symbols: (signal?: AbortSignal) =>
    json<{ symbols: SymbolInfo[] }>("/api/market/symbols", { signal }).catch((err: unknown) => {
      if (err instanceof ApiError && err.status === 404) return { symbols: [] };
      throw err;
    }),
  /** Returns the newest bars, or those before a time. */
  candles: (
    symbol: string,
    timeframe: string,
    { before, limit = 2000 }: { before?: number; limit?: number } = {},
    signal?: AbortSignal,
  ) =>
    json<Page>(
      `/api/market/candles?symbol=${enc(symbol)}&timeframe=${enc(timeframe)}&limit=${limit}${before === undefined ? "" : `&to=${before}`}`,
      { signal },
    ),
  events: (symbol: string, from: number, to: number, signal?: AbortSignal) =>
    json<{ events: MarketEvent[] }>(`/api/market/events?symbol=${enc(symbol)}&from=${from}&to=${to}`, { signal }),
};

export const drawings = {
  all: (symbol: string, signal?: AbortSignal) => json<Document>(`/api/drawings?symbol=${enc(symbol)}`, { signal }),
  /** Saves a drawing, or creates it if it has no id. Sending it twice with the same key makes one change. */
  save: (symbol: string, drawing: Partial<Drawing>, key: string, base?: number) =>
    json<{ version: number; drawing: Drawing }>("/api/drawings", {
      method: "POST",
      body: { symbol, key, ...(base === undefined ? {} : { base_version: base }), drawing },
    }),
  remove: (symbol: string, id: string, base?: number) =>
    json<{ version: number }>(
      `/api/drawings/${enc(id)}?symbol=${enc(symbol)}${base === undefined ? "" : `&base_version=${base}`}`,
      { method: "DELETE" },
    ),
  /** Undoes or redoes the last step, or the given one. */
  undoOrRedo: (symbol: string, which: "undo" | "redo", step?: number) =>
    json<Document>(`/api/drawings/${which}`, {
      method: "POST",
      body: { symbol, ...(step === undefined ? {} : { version: step }) },
    }),
  history: (symbol: string, { before, limit = 50 }: { before?: number; limit?: number } = {}, signal?: AbortSignal) =>
    json<{ changes: Change[] }>(
      `/api/drawings/history?symbol=${enc(symbol)}&limit=${limit}${before === undefined ? "" : `&before=${before}`}`,
      { signal },
    ),
  exportUrl: (symbol: string) => `/api/drawings/export?symbol=${enc(symbol)}`,
  import: (file: unknown) => json<Document>("/api/drawings/import", { method: "POST", body: file }),
};

const firstWait = 500;
const longestWait = 15_000;

type Shared<T> = { messages: readonly T[] } | { connected: boolean } | { reset: true };

/** Follows a stream until the signal ends it. Browsers limit the connections to a host, so one tab reads the stream and
 *  sends its messages to the other tabs that follow it. path is called for each connection, the first time after ready.
 *  onMessages gets all messages that arrive together. reset is called if the server was restored from a backup and no
 *  longer has the messages that were read. */
export async function follow<T>(
  name: string,
  path: () => string,
  onMessages: (messages: readonly T[]) => void,
  onConnection: (open: boolean) => void,
  signal: AbortSignal,
  ready?: Promise<unknown>,
  reset: () => void = () => {},
): Promise<void> {
  if (typeof BroadcastChannel !== "function" || !navigator.locks) {
    await ready;
    return keepReading(path, onMessages, onConnection, signal, reset);
  }
  const others = new BroadcastChannel(name);
  others.onmessage = (e: MessageEvent<Shared<T>>) =>
    "messages" in e.data
      ? onMessages(e.data.messages)
      : "connected" in e.data
        ? onConnection(e.data.connected)
        : reset();
  const share = (m: Shared<T>) => {
    if (!signal.aborted) others.postMessage(m);
  };
  signal.addEventListener("abort", () => others.close());
  try {
    await navigator.locks.request(name, { signal }, async () => {
      await ready;
      await keepReading<T>(
        path,
        (all) => (onMessages(all), share({ messages: all })),
        (on) => (onConnection(on), share({ connected: on })),
        signal,
        () => (reset(), share({ reset: true })),
      );
    });
  } catch (err) {
    if (!signal.aborted) throw err;
  }
}

/** Reads a stream, and reconnects when the connection is lost. */
async function keepReading<T>(
  path: () => string,
  onMessages: (messages: readonly T[]) => void,
  onConnection: (open: boolean) => void,
  signal: AbortSignal,
  reset: () => void,
): Promise<void> {
  let wait = firstWait;
  while (!signal.aborted) {
    const abort = new AbortController();
    const stop = () => abort.abort();
    signal.addEventListener("abort", stop);
    try {
      const res = await fetch(path(), {
        headers: { Accept: "text/event-stream" },
        signal: abort.signal,
        cache: "no-store",
      });
      if (!res.ok) throw await errorFrom(res);
      onConnection(true);
      wait = firstWait;
      await read(res, abort, (messages) => {
        if (messages.some((m) => m.event === "reset")) reset();
        const all = messages.filter((m) => m.event === "message").map((m) => JSON.parse(m.data) as T);
        if (all.length) onMessages(all);
      });
    } catch {
      if (signal.aborted) return;
      onConnection(false);
    } finally {
      signal.removeEventListener("abort", stop);
    }
    await new Promise((resolve) => setTimeout(resolve, wait * (0.75 + Math.random() / 2)));
    wait = Math.min(wait * 2, longestWait);
  }
}

/** Follows the last price, which changes about once a second. */
export function followPrice(
  symbol: string,
  onPrice: (p: Price | PriceDown) => void,
  signal: AbortSignal,
): Promise<void> {
  return follow<Price | PriceDown>(
    `footnote price ${symbol}`,
    () => `/api/market/price?symbol=${enc(symbol)}`,
    (all) => all.forEach(onPrice),
    (open) => open || signal.aborted || onPrice({ down: true, reason: "The connection was lost." }),
    signal,
  );
}
