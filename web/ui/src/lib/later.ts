// Parts of the page that come when they are first needed, also when the server is away
// just then: they wait for it.
import { createElement, lazy, useState, type ComponentType } from "react";
import { answers } from "./answers";

/** Loads a module. One that cannot be had is asked for again once the server answers;
 *  when it does and still has no such file, it is a newer one: a reload is due. */
export async function patiently<T>(get: () => Promise<T>): Promise<T> {
  try {
    return await get();
  } catch {
    await answers();
    return get();
  }
}

/** A component of a module that is loaded when it is first drawn, within Suspense and a
 *  Boundary. What is there already is drawn at once, without what stands in for it. */
export function later<P extends object>(
  get: () => Promise<{ default: ComponentType<P> }>,
): ComponentType<P> & { preload: () => void } {
  let there: ComponentType<P> | undefined;
  const load = async () => {
    const m = await patiently(get);
    there = m.default;
    return m;
  };
  const Coming = lazy<ComponentType<P>>(load);
  function Later(props: P) {
    const [Now] = useState(() => there ?? (Coming as unknown as ComponentType<P>));
    return createElement(Now, props);
  }
  // What fails is tried again when it is drawn.
  return Object.assign(Later, { preload: () => void load().catch(() => {}) });
}
