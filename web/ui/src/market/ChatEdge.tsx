// The chat beside the chart, with a separator to change its width.
import { useRef, type KeyboardEvent, type PointerEvent, type ReactNode } from "react";
import { setPrefs } from "./prefs";

// Widths in percent.
const minShare = 18;
const maxShare = 50;
const defaultShare = 25;
const setShare = (share: number) => setPrefs({ share: Math.min(maxShare, Math.max(minShare, share)) });

export function ChatEdge({ share, children }: { share: number; children: ReactNode }) {
  const dragging = useRef(false);
  const drag = (e: PointerEvent<HTMLElement>) => {
    if (!dragging.current) return;
    const box = e.currentTarget.parentElement!.getBoundingClientRect();
    setShare(((e.clientX - box.left) / box.width) * 100);
  };
  const press = (e: KeyboardEvent) => {
    const by = { ArrowLeft: -2, ArrowRight: 2, PageUp: -10, PageDown: 10 }[e.key];
    if (!by) return;
    e.preventDefault();
    setShare(share + by);
  };
  return (
    <>
      <aside aria-label="Chat" className="flex min-w-(--talk-min) flex-col bg-page" style={{ width: `${share}%` }}>
        {children}
      </aside>
      <div
        role="separator"
        aria-orientation="vertical"
        aria-label="Width of the chat"
        aria-valuenow={Math.round(share)}
        aria-valuemin={minShare}
        aria-valuemax={maxShare}
        tabIndex={0}
        className="group relative w-px shrink-0 cursor-col-resize touch-none bg-line focus-visible:outline-none"
        onPointerDown={(e) => {
          dragging.current = true;
          e.currentTarget.setPointerCapture(e.pointerId);
        }}
        onPointerMove={drag}
        onPointerUp={() => (dragging.current = false)}
        onDoubleClick={() => setShare(defaultShare)}
        onKeyDown={press}
      >
        <span className="absolute inset-y-0 -left-1 z-10 w-2 group-hover:bg-accent-soft group-focus-visible:bg-accent" />
      </div>
    </>
  );
}
