import { useEffect, useRef } from "react";
import { go } from "../lib/router";
import type { Shortcut } from "../ui/Keys";

interface Does {
  menu: () => void;
  list: () => void;
  help: () => void;
}

const mac = typeof navigator === "object" && /Mac|iPhone|iPad/.test(navigator.platform);

/** The key that goes with a letter, as this machine calls it. */
export const mod = mac ? "⌘" : "Ctrl";

/** All shortcuts, for the list of them. */
export const shortcuts: readonly Shortcut[] = [
  { keys: [mod, "K"], does: "Commands, and every conversation" },
  { keys: [mod, "Shift", "O"], does: "New question" },
  { keys: [mod, "B"], does: "Show or hide the conversations" },
  { keys: ["/"], does: "To the question field" },
  { keys: ["?"], does: "This list" },
  { keys: ["Enter"], does: "Send the question" },
  { keys: ["Shift", "Enter"], does: "A new line in the question" },
  { keys: ["@"], does: "Name a table in the question" },
  { keys: ["Esc"], does: "Stop the answer, from the empty field; close what is on top" },
  { keys: [mod, "Enter"], does: "Run the edited SQL" },
  { keys: ["A"], does: "Allow what is asked for" },
  { keys: ["D"], does: "Decline it" },
];

/** Shortcuts that work everywhere: Ctrl or Cmd with K, B and Shift-O; a bare slash
 *  to go to the question field, a question mark for the list of them. */
export function useShortcuts(does: Does): void {
  const now = useRef(does);
  now.current = does;
  useEffect(() => {
    const press = (e: KeyboardEvent) => {
      if (e.defaultPrevented) return; // a page has its own use for it
      const held = e.ctrlKey || e.metaKey;
      const key = e.key.toLowerCase();
      if (held && key === "k") now.current.menu();
      else if (held && key === "b" && !e.shiftKey) now.current.list();
      else if (held && e.shiftKey && key === "o") go({});
      else if (e.key === "?" && !held && !writing(e.target) && !document.querySelector("dialog[open]"))
        now.current.help();
      else if (e.key === "/" && !held && !writing(e.target)) document.getElementById("composer")?.focus();
      else return;
      e.preventDefault();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}

function writing(t: EventTarget | null): boolean {
  return t instanceof HTMLElement && (t.isContentEditable || t.matches("input, textarea, select, [role=textbox]"));
}
