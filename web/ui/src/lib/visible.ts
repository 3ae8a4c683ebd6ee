// Long lists: only the rows that can be seen are drawn.
import { useEffect, useState, type RefObject } from "react";

/** How many rows beyond the edges are drawn, so that scrolling shows no gaps. */
const beyond = 12;

/** The rows of a list that are in view: from, up to and without to. TopOf is where a
 *  row begins, in pixels, and topOf(count) where the last one ends. */
export function useVisible(
  scroller: RefObject<HTMLElement | null>,
  count: number,
  topOf: (i: number) => number,
): { from: number; to: number } {
  const [at, setAt] = useState({ top: 0, height: 0 });
  useEffect(() => {
    const el = scroller.current;
    if (!el) return;
    let asked = 0;
    const look = () => {
      asked = 0;
      setAt((old) =>
        old.top === el.scrollTop && old.height === el.clientHeight
          ? old
          : { top: el.scrollTop, height: el.clientHeight },
      );
    };
    const soon = () => (asked ||= requestAnimationFrame(look));
    look();
    const seen = new ResizeObserver(soon);
    seen.observe(el);
    el.addEventListener("scroll", soon, { passive: true });
    return () => {
      cancelAnimationFrame(asked);
      seen.disconnect();
      el.removeEventListener("scroll", soon);
    };
  }, [scroller]);
  return {
    from: Math.max(0, rowAt(at.top, count, topOf) - beyond),
    to: Math.min(count, rowAt(at.top + at.height, count, topOf) + 1 + beyond),
  };
}

/** The row at a height. */
function rowAt(y: number, count: number, topOf: (i: number) => number): number {
  let low = 0,
    high = Math.max(0, count - 1);
  while (low < high) {
    const mid = (low + high + 1) >> 1;
    if (topOf(mid) <= y) low = mid;
    else high = mid - 1;
  }
  return low;
}

/** A length in rem, in pixels. */
export function rem(n: number): number {
  return n * (parseFloat(getComputedStyle(document.documentElement).fontSize) || 16);
}
