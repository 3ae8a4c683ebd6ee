// Addresses: / is a new question, /c/{id} a conversation, /c/{id}/{result} one of
// its results. What the right pane shows is in the query: ?view=sql. /chart/{symbol}/{timeframe}
// is a chart, with the conversation beside it in ?talk=. /usage is what people have used.
import { useSyncExternalStore } from "react";

export const views = ["chart", "table", "sql", "trace", "data", "files"] as const;
export type View = (typeof views)[number];

export interface Route {
  conversation?: string;
  result?: string;
  view?: View;
  /** What is selected within the view: a table of the data browser, a file. */
  at?: string;
  /** The chart page: what it shows. The conversation is the one beside it. */
  chart?: { symbol?: string; timeframe?: string };
  /** The page that tells administrators what people have used. */
  usage?: boolean;
}

export function parse(url: string): Route {
  const { pathname, searchParams } = new URL(url, "http://page");
  const route: Route = {};
  const m = /^\/c\/([^/]+)(?:\/([^/]+))?\/?$/.exec(pathname);
  if (m) {
    route.conversation = decode(m[1]!);
    if (m[2]) route.result = decode(m[2]);
  }
  const chart = /^\/chart(?:\/([^/]+)(?:\/([^/]+))?)?\/?$/.exec(pathname);
  if (chart) {
    route.chart = { symbol: chart[1] && decode(chart[1]), timeframe: chart[2] && decode(chart[2]) };
    const talk = searchParams.get("talk");
    if (talk) route.conversation = talk;
  }
  if (/^\/usage\/?$/.test(pathname)) route.usage = true;
  const view = searchParams.get("view");
  if (views.includes(view as View)) route.view = view as View;
  const at = searchParams.get("at");
  if (at) route.at = at;
  return route;
}

function decode(s: string): string {
  try {
    return decodeURIComponent(s);
  } catch {
    return s;
  }
}

export function href(r: Route): string {
  const e = encodeURIComponent;
  const query = new URLSearchParams();
  let path = r.conversation ? `/c/${e(r.conversation)}${r.result ? `/${e(r.result)}` : ""}` : "/";
  if (r.chart) {
    const { symbol, timeframe } = r.chart;
    path = `/chart${symbol ? `/${e(symbol)}${timeframe ? `/${e(timeframe)}` : ""}` : ""}`;
    if (r.conversation) query.set("talk", r.conversation);
  }
  if (r.usage) path = "/usage";
  if (r.view) query.set("view", r.view);
  if (r.at) query.set("at", r.at);
  const q = query.toString();
  return q ? `${path}?${q}` : path;
}

const listeners = new Set<() => void>();
let current: Route | undefined;

function changed(): void {
  current = undefined;
  for (const f of listeners) f();
}

if (typeof addEventListener === "function") addEventListener("popstate", changed);

/** Goes to an address. Replace leaves no trace in the history. */
export function go(r: Route, how: "push" | "replace" = "push"): void {
  const to = href(r);
  if (to === location.pathname + location.search) return;
  if (how === "push") history.pushState(null, "", to);
  else history.replaceState(null, "", to);
  changed();
}

export function route(): Route {
  return (current ??= parse(location.href));
}

export function useRoute(): Route {
  return useSyncExternalStore((f) => {
    listeners.add(f);
    return () => listeners.delete(f);
  }, route);
}
