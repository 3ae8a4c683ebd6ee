import { useSyncExternalStore } from "react";

/** Whether a media query holds. */
export function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (f) => {
      const m = matchMedia(query);
      m.addEventListener("change", f);
      return () => m.removeEventListener("change", f);
    },
    () => matchMedia(query).matches,
  );
}

/** Wide enough for the thread and a pane beside each other. */
export const useWide = (): boolean => useMedia("(min-width: 64rem)");
