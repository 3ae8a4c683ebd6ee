// The user's preferences for the chart page, stored in the browser.
import { useSyncExternalStore } from "react";
import type { Kind, Spread } from "./plot";

interface Prefs {
  kind: Kind;
  spread: Spread;
  volume: boolean;
  events: boolean;
  magnet: boolean;
  drawings: boolean; // whether drawings are shown
  talk: boolean; // whether the chat is open
  share: number; // the width of the chat in percent
  side: "drawings" | "trail" | null;
  symbol?: string; // the last one
  timeframe?: string;
}

const key = "footnote-chart";
const defaults: Prefs = {
  kind: "candles",
  spread: "linear",
  volume: true,
  events: true,
  magnet: true,
  drawings: true,
  talk: true,
  share: 25,
  side: null,
};
const listeners = new Set<() => void>();
let now: Prefs | undefined;

export function prefs(): Prefs {
  if (now) return now;
  try {
    now = { ...defaults, ...(JSON.parse(localStorage.getItem(key) ?? "{}") as Partial<Prefs>) };
  } catch {
    now = defaults; // storage is disabled
  }
  return now;
}

export function setPrefs(change: Partial<Prefs>): void {
  now = { ...prefs(), ...change };
  try {
    localStorage.setItem(key, JSON.stringify(now));
  } catch {
    // Storage is disabled: the preferences last until the page is reloaded.
  }
  for (const f of listeners) f();
}

export function usePrefs(): Prefs {
  return useSyncExternalStore((f) => (listeners.add(f), () => void listeners.delete(f)), prefs);
}
