// Light, dark, or what the system says. Colours are in tokens.css; the page only
// says which of each pair is meant.
import { useSyncExternalStore } from "react";

type Theme = "system" | "light" | "dark";
const key = "footnote-theme";
const listeners = new Set<() => void>();

export function theme(): Theme {
  const t = stored();
  return t === "light" || t === "dark" ? t : "system";
}

function stored(): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null; // the browser keeps nothing
  }
}

export function setTheme(t: Theme): void {
  try {
    if (t === "system") localStorage.removeItem(key);
    else localStorage.setItem(key, t);
  } catch {
    // It then lasts as long as the page.
  }
  applyTheme(t);
  for (const f of listeners) f();
}

export function applyTheme(t = theme()): void {
  if (t === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = t;
}

const system = typeof matchMedia === "function" ? matchMedia("(prefers-color-scheme: dark)") : undefined;

function subscribe(f: () => void): () => void {
  listeners.add(f);
  system?.addEventListener("change", f);
  return () => {
    listeners.delete(f);
    system?.removeEventListener("change", f);
  };
}

export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, theme);
}

/** Which of each pair is shown, for what draws on a canvas. */
export function useDark(): boolean {
  return useSyncExternalStore(subscribe, () => {
    const t = theme();
    return t === "dark" || (t === "system" && Boolean(system?.matches));
  });
}

/** The value of a colour token now, resolved: for canvases, which know no names. */
export function color(token: `--${string}`): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${token})`;
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}
