import { useEffect, useRef, useState, type KeyboardEvent, type PointerEvent } from "react";

const key = "footnote-split";
const minShare = 28;
const maxShare = 70;

/** Returns the width of the right pane in percent, and a function that sets it. The browser stores it. */
export function useSplit(): [number, (percent: number) => void] {
  const [share, setShare] = useState(() => clamp(Number(stored()) || 48));
  useEffect(() => {
    try {
      localStorage.setItem(key, String(share));
    } catch {
      // Storage is disabled: the width lasts until the page is reloaded.
    }
  }, [share]);
  return [share, (p) => setShare(clamp(p))];
}

function stored(): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

const clamp = (p: number) => Math.min(maxShare, Math.max(minShare, p));

/** The line at the start of the right one of two panes, as its child: drag it, or move it with the arrow keys. */
export function Splitter({
  share,
  onChange,
  label,
}: {
  share: number;
  onChange: (percent: number) => void;
  label: string;
}) {
  const dragging = useRef(false);
  const drag = (e: PointerEvent<HTMLElement>) => {
    if (!dragging.current) return;
    const box = e.currentTarget.parentElement!.parentElement!.getBoundingClientRect();
    onChange(((box.right - e.clientX) / box.width) * 100);
  };
  const press = (e: KeyboardEvent<HTMLElement>) => {
    const by = { ArrowLeft: 2, ArrowRight: -2, PageUp: 10, PageDown: -10 }[e.key];
    if (by) onChange(share + by);
    else if (e.key === "Home") onChange(maxShare);
    else if (e.key === "End") onChange(minShare);
    else return;
    e.preventDefault();
  };
  return (
    <div
      role="separator"
      aria-orientation="vertical"
      aria-label={label}
      aria-valuenow={Math.round(share)}
      aria-valuemin={minShare}
      aria-valuemax={maxShare}
      tabIndex={0}
      className="group relative print:hidden w-px shrink-0 cursor-col-resize touch-none bg-line focus-visible:outline-none"
      onPointerDown={(e) => {
        dragging.current = true;
        e.currentTarget.setPointerCapture(e.pointerId);
      }}
      onPointerMove={drag}
      onPointerUp={() => (dragging.current = false)}
      onDoubleClick={() => onChange(48)}
      onKeyDown={press}
    >
      <span className="absolute inset-y-0 -left-1 w-2 group-hover:bg-accent-soft group-focus-visible:bg-accent" />
    </div>
  );
}
