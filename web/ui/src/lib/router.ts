// The addresses of the app: / is a new question, /c/{id} a conversation, /c/{id}/{result} one of its results. The
// query names the view of the right pane: ?view=sql. For administrators, /usage shows everyone's usage, /inbox the
// answers that they should check, and /tests the tests of answers. Every other address is the page of a module, or
// leads nowhere; ?talk= names the conversation beside a module's page.
import { useSyncExternalStore, type MouseEvent } from "react";

export const views = ["chart", "table", "sql", "trace", "data", "files"] as const;
export type View = (typeof views)[number];

export interface Route {
  conversation?: string;
  result?: string;
  view?: View;
  /** What is selected within the view: a table in the data browser, or a file. */
  at?: string;
  /** The segments of any other address. `conversation` is then the one beside the module's page. */
  page?: readonly string[];
  /** The page with everyone's usage, for administrators. */
  usage?: boolean;
  /** The page with the answers to check, for administrators. */
  inbox?: boolean;
  /** The page with the tests of answers, for administrators. */
  tests?: boolean;
}

export function parse(url: string): Route {
  const { pathname, searchParams } = new URL(url, "http://page");
  const route: Route = {};
  const segments = pathname.split("/").filter(Boolean).map(decode);
  if (segments[0] === "c" && (segments.length === 2 || segments.length === 3)) {
    [, route.conversation, route.result] = segments;
  } else if (segments[0] === "usage" && segments.length === 1) {
    route.usage = true;
  } else if (segments[0] === "inbox" && segments.length === 1) {
    route.inbox = true;
  } else if (segments[0] === "tests" && segments.length === 1) {
    route.tests = true;
  } else if (segments.length) {
    route.page = segments;
    const talk = searchParams.get("talk");
    if (talk) route.conversation = talk;
  }
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
  if (r.page) {
    path = `/${r.page.map(e).join("/")}`;
    if (r.conversation) query.set("talk", r.conversation);
  }
  if (r.usage) path = "/usage";
  if (r.inbox) path = "/inbox";
  if (r.tests) path = "/tests";
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

/** Goes to an address. With "replace", the browser's back button does not return to the current one. */
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

/** Follows a link within the app. A click with a modifier key is left to the browser, which opens a new tab. */
export function follow(e: MouseEvent, to: Route, then?: () => void): void {
  if (e.ctrlKey || e.metaKey || e.shiftKey || e.button !== 0) return;
  e.preventDefault();
  go(to);
  then?.();
}
