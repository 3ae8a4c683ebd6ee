import { useEffect, useRef, useState, type KeyboardEvent, type PointerEvent } from "react";

const key = "footnote-split";
const least = 28;
const most = 70;

/** The share of the width, in percent, that the right pane has. It is kept. */
export function useSplit(): [number, (percent: number) => void] {
  const [share, setShare] = useState(() => clamp(Number(stored()) || 48));
  useEffect(() => {
    try {
      localStorage.setItem(key, String(share));
    } catch {
      // It then lasts as long as the page.
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

const clamp = (p: number) => Math.min(most, Math.max(least, p));

/** The line between two panes: drag it, or move it with the arrow keys. */
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
    const box = e.currentTarget.parentElement!.getBoundingClientRect();
    onChange(((box.right - e.clientX) / box.width) * 100);
  };
  const press = (e: KeyboardEvent<HTMLElement>) => {
    const by = { ArrowLeft: 2, ArrowRight: -2, PageUp: 10, PageDown: -10 }[e.key];
    if (by) onChange(share + by);
    else if (e.key === "Home") onChange(most);
    else if (e.key === "End") onChange(least);
    else return;
    e.preventDefault();
  };
  return (
    <div
      role="separator"
      aria-orientation="vertical"
      aria-label={label}
      aria-valuenow={Math.round(share)}
      aria-valuemin={least}
      aria-valuemax={most}
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
