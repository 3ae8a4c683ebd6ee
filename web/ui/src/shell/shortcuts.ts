import { useEffect, useRef } from "react";
import { go } from "../lib/router";
import type { Shortcut } from "../ui/Keys";

interface Actions {
  menu: () => void;
  list: () => void;
  help: () => void;
}

const mac = typeof navigator === "object" && /Mac|iPhone|iPad/.test(navigator.platform);

/** The name of the modifier key on this system. */
export const mod = mac ? "⌘" : "Ctrl";

/** All shortcuts, for the help. */
export const shortcuts: readonly Shortcut[] = [
  { keys: [mod, "K"], action: "Search commands and conversations" },
  { keys: [mod, "Shift", "O"], action: "New question" },
  { keys: [mod, "B"], action: "Show or hide the conversations" },
  { keys: ["/"], action: "Go to the question field" },
  { keys: ["?"], action: "Show this list" },
  { keys: ["Enter"], action: "Send the question" },
  { keys: ["Shift", "Enter"], action: "Add a line to the question" },
  { keys: ["@"], action: "Mention a table in the question" },
  { keys: ["Esc"], action: "Stop the answer (with an empty question field), or close a dialog or menu" },
  { keys: [mod, "Enter"], action: "Run the edited SQL" },
  { keys: ["A"], action: "Allow the action that waits for you" },
  { keys: ["D"], action: "Decline it" },
];

/** Handles the shortcuts that work everywhere: Ctrl or Cmd with K, B and Shift-O, the slash and the question mark. */
export function useShortcuts(actions: Actions): void {
  const now = useRef(actions);
  now.current = actions;
  useEffect(() => {
    const press = (e: KeyboardEvent) => {
      if (e.defaultPrevented) return; // the current page handles the key itself
      const modifier = e.ctrlKey || e.metaKey;
      const key = e.key.toLowerCase();
      if (modifier && key === "k") now.current.menu();
      else if (modifier && key === "b" && !e.shiftKey) now.current.list();
      else if (modifier && e.shiftKey && key === "o") go({});
      else if (e.key === "?" && !modifier && !isTextField(e.target) && !document.querySelector("dialog[open]"))
        now.current.help();
      else if (e.key === "/" && !modifier && !isTextField(e.target)) document.getElementById("composer")?.focus();
      else return;
      e.preventDefault();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}

function isTextField(t: EventTarget | null): boolean {
  return t instanceof HTMLElement && (t.isContentEditable || t.matches("input, textarea, select, [role=textbox]"));
}
