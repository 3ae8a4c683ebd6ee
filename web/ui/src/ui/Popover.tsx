// What lies over the page beside something: the browser's own popover, so that it
// is above everything, closes with Escape and with a click elsewhere.
import { useCallback, useEffect, useLayoutEffect, useRef, type ReactNode } from "react";

interface PopoverProps {
  /** What it stands beside; nothing: it is closed. */
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
    const seen = new ResizeObserver(place);
    seen.observe(el);
    addEventListener("resize", place);
    // In the capture phase it sees every scroller; it then follows its anchor.
    addEventListener("scroll", place, true);
    return () => {
      el.removeEventListener("toggle", toggled);
      seen.disconnect();
      removeEventListener("resize", place);
      removeEventListener("scroll", place, true);
      if (el.matches(":popover-open")) el.hidePopover();
    };
  }, [place]);

  // The focus goes in, and back to the anchor when nothing else took it.
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
