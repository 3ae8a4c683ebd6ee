// Keyboard control of the chart page, for everything that a pointer can do.
import { useEffect, useRef } from "react";
import { mod } from "../shell/shortcuts";
import type { Shortcut } from "../ui/Keys";
import type { Doc } from "./doc";
import { tools, visible } from "./edit";
import type { HandleName } from "./shape";
import type { Parts } from "./useBoard";
import { published } from "./words";

/** Shortcuts that work everywhere on the page, for the help. */
export const chartKeys: readonly Shortcut[] = [
  ...tools.filter((t) => t.key).map((t) => ({ keys: ["Alt", t.key!], action: t.name })),
  { keys: [mod, "Z"], action: "Undo; with Shift: redo" },
  { keys: [mod, "L"], action: "Show or hide the chat" },
  { keys: ["Alt", "G"], action: "Go to a date" },
  { keys: ["?"], action: "Show this list" },
];

/** Shortcuts that work while the chart has the focus, for the help. */
export const focusKeys: readonly Shortcut[] = [
  { keys: [mod, "D"], action: "Duplicate the selected drawing" },
  { keys: [",", "."], action: "Select the previous or next drawing" },
  { keys: ["Arrows"], action: "Move the selected drawing or the chart; with Shift, ten times as far" },
  { keys: ["P"], action: "Go to the next point of the selected drawing" },
  { keys: ["Enter"], action: "Set a point of a new drawing; edit the selected one" },
  { keys: ["Del"], action: "Delete the selected drawing" },
  { keys: ["E"], action: "Show the next release in the calendar; with Shift, the previous one" },
  { keys: ["+", "−"], action: "Zoom" },
  { keys: ["End"], action: "Go to the newest bar" },
  { keys: ["Esc"], action: "Put down the tool, select nothing" },
];

export interface KeyActions {
  selectTool: (tool: string | undefined) => void;
  choose: (id: string | undefined) => void;
  edit: (id: string) => void;
  copy: (id: string) => void;
  date: () => void;
  keys: () => void;
  toggleChat: () => void;
  undo: (which: "undo" | "redo") => void;
  announce: (words: string) => void;
  describe: (id: string) => string;
}

interface Context {
  parts: Parts | undefined;
  doc: Doc;
  timeframe: string;
  tool?: string;
  id?: string;
  actions: KeyActions;
}

const isTextField = (t: EventTarget | null) =>
  t instanceof HTMLElement && (t.isContentEditable || t.matches("input, textarea, select, [role=textbox]"));

/** Handles the shortcuts that work everywhere on the page. */
export function usePageKeys(actions: KeyActions): void {
  const now = useRef(actions);
  now.current = actions;
  useEffect(() => {
    const press = (e: KeyboardEvent) => {
      if (document.querySelector("dialog[open]")) return;
      const handled = e.ctrlKey || e.metaKey ? heldKey(e, now.current) : plainKey(e, now.current);
      if (handled) e.preventDefault();
    };
    addEventListener("keydown", press, true); // before the shortcuts of the app
    return () => removeEventListener("keydown", press, true);
  }, []);
}

/** Handles a key that was pressed with Ctrl or Cmd, and reports whether it did. */
function heldKey(e: KeyboardEvent, actions: KeyActions): boolean {
  const key = e.key.toLowerCase();
  if (key === "l" && !e.shiftKey && !e.altKey) actions.toggleChat();
  else if (isTextField(e.target)) return false;
  else if (key === "z") actions.undo(e.shiftKey ? "redo" : "undo");
  else if (key === "y") actions.undo("redo");
  else return false;
  return true;
}

/** Handles a key that was pressed alone or with Alt, and reports whether it did. */
function plainKey(e: KeyboardEvent, actions: KeyActions): boolean {
  if (e.altKey && e.code === "KeyG") {
    actions.date();
    return true;
  }
  if (isTextField(e.target)) return false;
  if (e.key === "?") {
    actions.keys();
    return true;
  }
  const tool = e.altKey ? tools.find((t) => `Key${t.key}` === e.code) : undefined;
  if (tool) actions.selectTool(tool.id);
  return tool !== undefined;
}

/** Returns a handler for the shortcuts that work while the chart has the focus. */
export function useChartKeys(now: Context): (e: React.KeyboardEvent) => void {
  const handle = useRef<HandleName>(undefined);
  const of = useRef<string>(undefined);
  if (of.current !== now.id) {
    of.current = now.id;
    handle.current = undefined;
  }
  return (e) => {
    if (!now.parts || e.altKey) return;
    if (e.ctrlKey || e.metaKey) {
      if (e.key.toLowerCase() !== "d" || e.shiftKey) return;
      if (now.id) now.actions.copy(now.id);
      e.preventDefault(); // the browser would make a bookmark
    } else if (press(e, now, now.parts, handle)) e.preventDefault();
  };
}

type Handle = { current: HandleName | undefined };

// complexity: one case for each key
function press(e: React.KeyboardEvent, now: Context, parts: Parts, handle: Handle): boolean {
  const far = e.shiftKey ? 10 : 1;
  const arrow = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[e.key] as
    [number, number] | undefined;
  if (arrow) return move(now, parts, handle.current, arrow[0] * far, arrow[1] * far);
  switch (e.key) {
    case "Enter":
      if (now.tool) return placed(now, parts);
      if (now.id) now.actions.edit(now.id);
      return now.id !== undefined;
    case "Escape":
      parts.pointed.set({});
      if (!parts.input.escape()) {
        if (now.tool) now.actions.selectTool(undefined);
        else now.actions.choose(undefined);
      }
      return true;
    case "Delete":
    case "Backspace":
      return remove(now);
    case ",":
    case ".":
      return next(now, e.key === "." ? 1 : -1);
    case "p":
    case "P":
      return point(now, parts, handle);
    case "e":
    case "E":
      return calendar(now, parts, e.shiftKey ? -1 : 1);
    case "+":
    case "=":
      parts.plot.zoom(0.8);
      return true;
    case "-":
    case "_":
      parts.plot.zoom(1.25);
      return true;
    case "End":
      parts.plot.newest();
      return true;
    default:
      return false;
  }
}

/** The step of the price for the keyboard: ten times the smallest unit, such as a pip. */
const stepOf = (digits: number) => 10 ** -(digits - 1);

function move(
  now: Context,
  { plot, input }: Parts,
  handle: HandleName | undefined,
  bars: number,
  price: number,
): boolean {
  const step = price * stepOf(plot.digits);
  if (now.tool) {
    input.step(bars, step);
    const a = input.at();
    if (a)
      now.actions.announce(`${a.price.toFixed(plot.digits)}, ${new Date(a.time * 1000).toUTCString().slice(0, 22)}`);
    return true;
  }
  if (!now.id) {
    if (bars) plot.pan(bars * 3);
    return bars !== 0;
  }
  const d = now.doc.find(now.id);
  if (!d) return false;
  if (d.locked) now.actions.announce("The drawing is locked.");
  else input.nudge(d.id, handle, { bars, price: step });
  return true;
}

function placed(now: Context, { input }: Parts): boolean {
  input.enter();
  now.actions.announce("Arrow keys move the crosshair, Enter sets the point.");
  return true;
}

function remove(now: Context): boolean {
  const d = now.doc.find(now.id);
  if (!d) return false;
  if (d.locked) now.actions.announce("The drawing is locked.");
  else {
    now.doc.remove(d.id);
    now.actions.choose(undefined);
    now.actions.announce("Deleted.");
  }
  return true;
}

function next(now: Context, by: number): boolean {
  const all = now.doc.get().drawings.filter((d) => visible(d, now.timeframe));
  if (!all.length) return true;
  const at = all.findIndex((d) => d.id === (now.id && now.doc.idOf(now.id)));
  const d = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : (at + by + all.length) % all.length]!;
  now.actions.choose(d.id);
  now.actions.announce(`${now.actions.describe(d.id)}. ${all.indexOf(d) + 1} of ${all.length}.`);
  return true;
}

/** Points at the next visible mark of the calendar and announces its releases. */
function calendar(now: Context, { plot, pointed }: Parts, by: 1 | -1): boolean {
  const from = pointed.get().point?.x ?? -by * Infinity;
  const marks = plot.events.visibleMarks();
  const next = by > 0 ? marks.find((m) => m.x > from + 1) : marks.findLast((m) => m.x < from - 1);
  if (next) pointed.set({ bar: pointed.get().bar, point: { x: next.x, y: plot.events.y() } });
  now.actions.announce(next ? next.events.map(published).join(". ") : "There are no more calendar marks in view.");
  return true;
}

const handleNames: Record<HandleName, string> = {
  a0: "First point",
  a1: "Second point",
  price: "Price",
  entry: "Entry",
  takeProfit: "Target",
  stopLoss: "Stop",
  end: "End",
};

function point(now: Context, { plot }: Parts, handle: Handle): boolean {
  const names = now.id ? (plot.layer.shapeOf(now.doc.idOf(now.id))?.handles.map((h) => h.name) ?? []) : [];
  if (!names.length) return false;
  const at = handle.current === undefined ? -1 : names.indexOf(handle.current);
  handle.current = names[at + 1];
  now.actions.announce(handle.current ? handleNames[handle.current] : "The whole drawing");
  return true;
}
