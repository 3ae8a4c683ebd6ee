// The theme: light, dark or the system's. tokens.css has both colours of each token; the attribute data-theme selects
// one.
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
    return null; // storage is disabled
  }
}

export function setTheme(t: Theme): void {
  try {
    if (t === "system") localStorage.removeItem(key);
    else localStorage.setItem(key, t);
  } catch {
    // Storage is disabled: the choice lasts until the page is reloaded.
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

/** Reports whether the dark theme is shown, for code that draws on a canvas. */
export function useDark(): boolean {
  return useSyncExternalStore(subscribe, () => {
    const t = theme();
    return t === "dark" || (t === "system" && Boolean(system?.matches));
  });
}

/** Resolves a colour token to its current value, because a canvas cannot use CSS variables. */
export function color(token: `--${string}`): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${token})`;
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}
