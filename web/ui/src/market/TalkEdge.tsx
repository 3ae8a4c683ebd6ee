// The chat beside the chart, and the line between them.
import { useRef, type KeyboardEvent, type PointerEvent, type ReactNode } from "react";
import { setPrefs } from "./prefs";

const least = 18;
const most = 50;
const usual = 25;
const keep = (share: number) => setPrefs({ share: Math.min(most, Math.max(least, share)) });

export function TalkEdge({ share, children }: { share: number; children: ReactNode }) {
  const dragging = useRef(false);
  const drag = (e: PointerEvent<HTMLElement>) => {
    if (!dragging.current) return;
    const box = e.currentTarget.parentElement!.getBoundingClientRect();
    keep(((e.clientX - box.left) / box.width) * 100);
  };
  const press = (e: KeyboardEvent) => {
    const by = { ArrowLeft: -2, ArrowRight: 2, PageUp: -10, PageDown: 10 }[e.key];
    if (!by) return;
    e.preventDefault();
    keep(share + by);
  };
  return (
    <>
      <aside
        aria-label="Chat"
        className="flex min-w-(--talk-min) shrink-0 flex-col bg-page"
        style={{ width: `${share}%` }}
      >
        {children}
      </aside>
      <div
        role="separator"
        aria-orientation="vertical"
        aria-label="Width of the chat"
        aria-valuenow={Math.round(share)}
        aria-valuemin={least}
        aria-valuemax={most}
        tabIndex={0}
        className="group relative w-px shrink-0 cursor-col-resize touch-none bg-line focus-visible:outline-none"
        onPointerDown={(e) => {
          dragging.current = true;
          e.currentTarget.setPointerCapture(e.pointerId);
        }}
        onPointerMove={drag}
        onPointerUp={() => (dragging.current = false)}
        onDoubleClick={() => keep(usual)}
        onKeyDown={press}
      >
        <span className="absolute inset-y-0 -left-1 z-10 w-2 group-hover:bg-accent-soft group-focus-visible:bg-accent" />
      </div>
    </>
  );
}
