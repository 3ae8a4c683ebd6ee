// The keyboard's way to a card that waits for an answer, and back.
import { useEffect, useRef, type RefObject } from "react";

const composer = () => document.getElementById("composer") as HTMLTextAreaElement | null;

/** Takes the focus when nothing has it, and gives it back to the question field. */
export function useFocus(card: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const el = card.current;
    if (document.activeElement === document.body) el?.focus({ preventScroll: true });
    // What is removed loses the focus without a word: note it while it is there.
    let inside = el === document.activeElement;
    const seen = () => (inside = el?.contains(document.activeElement) ?? false);
    document.addEventListener("focusin", seen);
    return () => {
      document.removeEventListener("focusin", seen);
      if (inside)
        requestAnimationFrame(
          () => document.activeElement === document.body && composer()?.focus({ preventScroll: true }),
        );
    };
  }, [card]);
}

/** Letters for the answers, wherever nobody writes. Of several cards the one with
 *  the focus hears them, otherwise the first. From the empty question field, the
 *  upward arrow leads here. */
export function useKeys(card: RefObject<HTMLElement | null>, keys: Record<string, () => void>): void {
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
      const act = now.current[e.key.toLowerCase()];
      if (!act) return;
      e.preventDefault();
      act();
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [card]);
}
