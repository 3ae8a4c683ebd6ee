// An observable value. When it changes, only the components that use it render again.
import { useSyncExternalStore } from "react";

export class Observable<T> {
  private listeners = new Set<() => void>();
  constructor(private value: T) {}

  get = (): T => this.value;

  set(value: T): void {
    if (value === this.value) return;
    this.value = value;
    for (const f of this.listeners) f();
  }

  subscribe = (f: () => void): (() => void) => {
    this.listeners.add(f);
    return () => this.listeners.delete(f);
  };
}

export function useObservable<T>(c: Observable<T>): T {
  return useSyncExternalStore(c.subscribe, c.get);
}
