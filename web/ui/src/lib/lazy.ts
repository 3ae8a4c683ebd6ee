// Loads parts of the app when they are first needed. If the server is unreachable then, loading waits for it.
import { createElement, lazy, useState, type ComponentType } from "react";
import { serverReady } from "./serverReady";

/** Loads a module, and if that fails, once more when the server is ready. A second failure means that the server was
 *  updated and no longer has the file, so the page must be reloaded. */
export async function loadWithRetry<T>(get: () => Promise<T>): Promise<T> {
  try {
    return await get();
  } catch {
    await serverReady();
    return get();
  }
}

/** Makes a component that is loaded when it is first rendered. Use it within Suspense and a Boundary. A component that
 *  is already loaded renders without the fallback. */
export function lazyComponent<P extends object>(
  get: () => Promise<{ default: ComponentType<P> }>,
): ComponentType<P> & { preload: () => void } {
  let loaded: ComponentType<P> | undefined;
  const load = async () => {
    const m = await loadWithRetry(get);
    loaded = m.default;
    return m;
  };
  const Lazy = lazy<ComponentType<P>>(load);
  function Later(props: P) {
    const [Component] = useState(() => loaded ?? (Lazy as unknown as ComponentType<P>));
    return createElement(Component, props);
  }
  // If preloading fails, rendering the component tries again.
  return Object.assign(Later, { preload: () => void load().catch(() => {}) });
}

/** Does something when the browser has nothing else to do, in three seconds at the latest. */
export function whenIdle(f: () => void): void {
  if (typeof requestIdleCallback === "function") requestIdleCallback(f, { timeout: 3000 });
  else setTimeout(f, 500);
}
