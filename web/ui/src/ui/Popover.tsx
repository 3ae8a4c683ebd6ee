// A popover beside an element. It uses the browser's popover, which is on top of everything and closes with Escape or a
// click elsewhere.
import { useCallback, useEffect, useLayoutEffect, useRef, type ReactNode } from "react";

interface PopoverProps {
  /** The element beside which the popover opens. null closes it. */
  anchor: HTMLElement | null;
  onClose: () => void;
  label: string;
  role?: "dialog" | "menu" | "listbox";
  side?: "below" | "above";
  align?: "start" | "end";
  className?: string;
  children: ReactNode;
}

const gap = 6;
const edge = 8;

export function Popover({ anchor, ...rest }: PopoverProps) {
  return anchor ? <Open anchor={anchor} {...rest} /> : null;
}

function Open({
  anchor,
  onClose,
  label,
  role = "dialog",
  side = "below",
  align = "start",
  className = "",
  children,
}: PopoverProps & { anchor: HTMLElement }) {
  const ref = useRef<HTMLDivElement>(null);
  const place = useCallback(() => {
    const el = ref.current;
    if (!el) return;
    const a = anchor.getBoundingClientRect();
    const { offsetWidth: w, offsetHeight: h } = el;
    const below = a.bottom + gap + h <= innerHeight - edge;
    const above = a.top - gap - h >= edge;
    const top = (side === "below" && below) || !above ? a.bottom + gap : a.top - gap - h;
    const left = align === "start" ? a.left : a.right - w;
    el.style.left = `${Math.max(edge, Math.min(left, innerWidth - w - edge))}px`;
    el.style.top = `${Math.max(edge, Math.min(top, innerHeight - h - edge))}px`;
  }, [anchor, side, align]);

  const close = useRef(onClose);
  close.current = onClose;
  useLayoutEffect(() => {
    const el = ref.current!;
    const toggled = (e: Event) => (e as ToggleEvent).newState === "closed" && close.current();
    el.addEventListener("toggle", toggled);
    el.showPopover();
    place();
    const resize = new ResizeObserver(place);
    resize.observe(el);
    addEventListener("resize", place);
    // Scroll events do not bubble: capturing them lets the popover follow its anchor in any scroller.
    addEventListener("scroll", place, true);
    return () => {
      el.removeEventListener("toggle", toggled);
      resize.disconnect();
      removeEventListener("resize", place);
      removeEventListener("scroll", place, true);
      if (el.matches(":popover-open")) el.hidePopover();
    };
  }, [place]);

  // Moves the focus into the popover, and back to the anchor unless something else got it.
  useEffect(() => {
    const el = ref.current!;
    const first = el.querySelector<HTMLElement>("[autofocus], [aria-checked=true], button, a[href], input, [tabindex]");
    (first ?? el).focus({ preventScroll: true });
    return () => {
      const now = document.activeElement;
      if (now === document.body || (now && el.contains(now))) anchor.focus({ preventScroll: true });
    };
  }, [anchor]);

  return (
    <div
      ref={ref}
      popover="auto"
      role={role}
      aria-label={label}
      tabIndex={-1}
      className={`fixed inset-auto m-0 max-w-popover rounded-lg border bg-raised text-ink shadow-over rise outline-none ${className}`}
    >
      {children}
    </div>
  );
}
