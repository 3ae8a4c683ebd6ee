// Keyboard access to cards that wait for an answer.
import { useEffect, useRef, type RefObject } from "react";

const composer = () => document.getElementById("composer") as HTMLTextAreaElement | null;

/** Focuses the card if nothing has the focus. When the card disappears, moves the focus to the question field. */
export function useCardFocus(card: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const el = card.current;
    if (document.activeElement === document.body) el?.focus({ preventScroll: true });
    // Removing an element that has the focus fires no event, so keep track of the focus until then.
    let inside = el === document.activeElement;
    const onFocus = () => (inside = el?.contains(document.activeElement) ?? false);
    document.addEventListener("focusin", onFocus);
    return () => {
      document.removeEventListener("focusin", onFocus);
      if (inside)
        requestAnimationFrame(
          () => document.activeElement === document.body && composer()?.focus({ preventScroll: true }),
        );
    };
  }, [card]);
}

/** Binds letter keys to the buttons of a card, except while the focus is in a text field. If there are several cards,
 *  the keys go to the focused or else the first one. In the empty question field, the up arrow focuses the card. */
export function useCardKeys(card: RefObject<HTMLElement | null>, keys: Record<string, () => void>): void {
  const now = useRef(keys);
  now.current = keys;
  useEffect(() => {
    const press = (e: KeyboardEvent) => {
      const el = card.current;
      if (!el || e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || e.repeat) return;
      const at = document.activeElement;
      const mine = at?.closest("[data-card]") ?? document.querySelector("[data-card]");
      if (mine !== el) return;
      if (at === composer()) {
        if (e.key === "ArrowUp" && !composer()?.value) {
          e.preventDefault();
          el.focus();
        }
        return;
      }
      if (
        at instanceof HTMLElement &&
        (at.matches("input, textarea, select") || at.isContentEditable || at.closest("dialog, [popover]"))
      )
        return;
      const action = now.current[e.key.toLowerCase()];
      if (!action) return;
      e.preventDefault();
      action();
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [card]);
}
