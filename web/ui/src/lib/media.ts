import { useSyncExternalStore } from "react";

/** Reports whether a media query matches. */
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

/** Reports whether the screen has room for the thread and a pane side by side. */
export const useWide = (): boolean => useMedia("(min-width: 64rem)");
