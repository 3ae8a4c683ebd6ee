// Addresses of charts: /chart/{symbol}/{timeframe}, with the conversation beside the chart in ?talk=.
import type { Route } from "../lib/router";

/** Returns the page of a chart. Without a symbol, the page chooses one. */
export function chartPage(symbol?: string, timeframe?: string): Pick<Route, "page"> {
  return { page: ["chart", symbol, symbol && timeframe].filter((s) => s !== undefined && s !== "") as string[] };
}

/** Returns the chart that an address names. */
export function chartAt(at: Route): { symbol?: string; timeframe?: string } {
  const [, symbol, timeframe] = at.page ?? [];
  return { symbol, timeframe };
}
