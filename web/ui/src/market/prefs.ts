// How a person has set up the chart page, kept in this browser.
import { useSyncExternalStore } from "react";
import type { Kind, Spread } from "./plot";

interface Prefs {
  kind: Kind;
  spread: Spread;
  volume: boolean;
  events: boolean;
  magnet: boolean;
  drawings: boolean; // they are shown at all
  talk: boolean; // the chat is open
  share: number; // its width, in percent
  side: "drawings" | "trail" | null;
  symbol?: string; // the last one
  timeframe?: string;
}

const key = "footnote-chart";
const usual: Prefs = {
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
    now = { ...usual, ...(JSON.parse(localStorage.getItem(key) ?? "{}") as Partial<Prefs>) };
  } catch {
    now = usual; // the browser keeps nothing
  }
  return now;
}

export function setPrefs(change: Partial<Prefs>): void {
  now = { ...prefs(), ...change };
  try {
    localStorage.setItem(key, JSON.stringify(now));
  } catch {
    // It then lasts as long as the page.
  }
  for (const f of listeners) f();
}

export function usePrefs(): Prefs {
  return useSyncExternalStore((f) => (listeners.add(f), () => void listeners.delete(f)), prefs);
}
