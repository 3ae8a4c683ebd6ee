// Windowing for long lists: only the visible rows are rendered.
import { useEffect, useState, type RefObject } from "react";

/** Rows to render beyond each edge, so that scrolling shows no gaps. */
const overscan = 12;

/** Returns the range of rows to render, without `to`. topOf returns the top of a row in pixels; topOf(count) is the
 *  height of the list. */
export function useVisible(
  scroller: RefObject<HTMLElement | null>,
  count: number,
  topOf: (i: number) => number,
): { from: number; to: number } {
  const [at, setAt] = useState({ top: 0, height: 0 });
  useEffect(() => {
    const el = scroller.current;
    if (!el) return;
    let frame = 0;
    const measure = () => {
      frame = 0;
      setAt((old) =>
        old.top === el.scrollTop && old.height === el.clientHeight
          ? old
          : { top: el.scrollTop, height: el.clientHeight },
      );
    };
    const schedule = () => (frame ||= requestAnimationFrame(measure));
    measure();
    const resize = new ResizeObserver(schedule);
    resize.observe(el);
    el.addEventListener("scroll", schedule, { passive: true });
    return () => {
      cancelAnimationFrame(frame);
      resize.disconnect();
      el.removeEventListener("scroll", schedule);
    };
  }, [scroller]);
  return {
    from: Math.max(0, rowAt(at.top, count, topOf) - overscan),
    to: Math.min(count, rowAt(at.top + at.height, count, topOf) + 1 + overscan),
  };
}

/** Returns the row at a vertical position. */
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

/** Converts rem to pixels. */
export function rem(n: number): number {
  return n * (parseFloat(getComputedStyle(document.documentElement).fontSize) || 16);
}
