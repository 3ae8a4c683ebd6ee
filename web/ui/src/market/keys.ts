// The keyboard's way to everything a pointer can do.
import { useEffect, useRef } from "react";
import { mod } from "../shell/shortcuts";
import type { Shortcut } from "../ui/Keys";
import type { Doc } from "./doc";
import { tools, visible } from "./edit";
import type { HandleName } from "./shape";
import type { Parts } from "./useBoard";
import { published } from "./words";

/** Keys that work everywhere on the page, for the list of them. */
export const chartKeys: readonly Shortcut[] = [
  ...tools.filter((t) => t.key).map((t) => ({ keys: ["Alt", t.key!], does: t.name })),
  { keys: [mod, "Z"], does: "Undo; with Shift: redo" },
  { keys: [mod, "L"], does: "Show or hide the chat" },
  { keys: ["Alt", "G"], does: "Go to a date" },
  { keys: ["?"], does: "This list" },
];

/** Keys of the chart itself. */
export const focusKeys: readonly Shortcut[] = [
  { keys: [mod, "D"], does: "Duplicate what is chosen" },
  { keys: [",", "."], does: "Choose the drawing before, the next one" },
  { keys: ["Arrows"], does: "Move what is chosen, or the chart; with Shift ten times as far" },
  { keys: ["P"], does: "The next point of what is chosen" },
  { keys: ["Enter"], does: "Set a point of a new drawing; edit the chosen one" },
  { keys: ["Del"], does: "Remove what is chosen" },
  { keys: ["E"], does: "What is published at the next mark of the calendar; with Shift: the one before" },
  { keys: ["+", "−"], does: "Zoom" },
  { keys: ["End"], does: "To the newest bar" },
  { keys: ["Esc"], does: "Lay down the tool, choose nothing" },
];

export interface KeyDoes {
  take: (tool: string | undefined) => void;
  choose: (id: string | undefined) => void;
  edit: (id: string) => void;
  copy: (id: string) => void;
  date: () => void;
  keys: () => void;
  talk: () => void;
  undo: (which: "undo" | "redo") => void;
  say: (words: string) => void;
  describe: (id: string) => string;
}

interface Now {
  parts: Parts | undefined;
  doc: Doc;
  timeframe: string;
  tool?: string;
  id?: string;
  does: KeyDoes;
}

const writing = (t: EventTarget | null) =>
  t instanceof HTMLElement && (t.isContentEditable || t.matches("input, textarea, select, [role=textbox]"));

/** Keys that work everywhere on the page. */
export function usePageKeys(does: KeyDoes): void {
  const now = useRef(does);
  now.current = does;
  useEffect(() => {
    const press = (e: KeyboardEvent) => {
      if (document.querySelector("dialog[open]")) return;
      const handled = e.ctrlKey || e.metaKey ? heldKey(e, now.current) : plainKey(e, now.current);
      if (handled) e.preventDefault();
    };
    addEventListener("keydown", press, true); // before the app's own
    return () => removeEventListener("keydown", press, true);
  }, []);
}

/** Handles a key that was pressed with Ctrl or Cmd, and reports whether it did. */
function heldKey(e: KeyboardEvent, does: KeyDoes): boolean {
  const key = e.key.toLowerCase();
  if (key === "l" && !e.shiftKey && !e.altKey) does.talk();
  else if (writing(e.target)) return false;
  else if (key === "z") does.undo(e.shiftKey ? "redo" : "undo");
  else if (key === "y") does.undo("redo");
  else return false;
  return true;
}

/** Handles a key that was pressed alone or with Alt, and reports whether it did. */
function plainKey(e: KeyboardEvent, does: KeyDoes): boolean {
  if (e.altKey && e.code === "KeyG") {
    does.date();
    return true;
  }
  if (writing(e.target)) return false;
  if (e.key === "?") {
    does.keys();
    return true;
  }
  const tool = e.altKey ? tools.find((t) => `Key${t.key}` === e.code) : undefined;
  if (tool) does.take(tool.id);
  return tool !== undefined;
}

/** Keys of the chart itself, while it has the focus. */
export function useChartKeys(now: Now): (e: React.KeyboardEvent) => void {
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
      if (now.id) now.does.copy(now.id);
      e.preventDefault(); // the browser would make a bookmark
    } else if (press(e, now, now.parts, handle)) e.preventDefault();
  };
}

type Handle = { current: HandleName | undefined };

// complexity: one case for each key
function press(e: React.KeyboardEvent, now: Now, parts: Parts, handle: Handle): boolean {
  const far = e.shiftKey ? 10 : 1;
  const arrow = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[e.key] as
    [number, number] | undefined;
  if (arrow) return move(now, parts, handle.current, arrow[0] * far, arrow[1] * far);
  switch (e.key) {
    case "Enter":
      if (now.tool) return placed(now, parts);
      if (now.id) now.does.edit(now.id);
      return now.id !== undefined;
    case "Escape":
      parts.pointed.set({});
      if (!parts.hand.escape()) {
        if (now.tool) now.does.take(undefined);
        else now.does.choose(undefined);
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

/** A step of the price for the keyboard: a tenth of what is usual to say. */
const stepOf = (digits: number) => 10 ** -(digits - 1);

function move(now: Now, { plot, hand }: Parts, handle: HandleName | undefined, bars: number, price: number): boolean {
  const step = price * stepOf(plot.digits);
  if (now.tool) {
    hand.step(bars, step);
    const a = hand.at();
    if (a) now.does.say(`${a.price.toFixed(plot.digits)}, ${new Date(a.time * 1000).toUTCString().slice(0, 22)}`);
    return true;
  }
  if (!now.id) {
    if (bars) plot.pan(bars * 3);
    return bars !== 0;
  }
  const d = now.doc.find(now.id);
  if (!d) return false;
  if (d.locked) now.does.say("It is locked.");
  else hand.nudge(d.id, handle, { bars, price: step });
  return true;
}

function placed(now: Now, { hand }: Parts): boolean {
  hand.enter();
  now.does.say("Arrow keys move the crosshair, Enter sets the point.");
  return true;
}

function remove(now: Now): boolean {
  const d = now.doc.find(now.id);
  if (!d) return false;
  if (d.locked) now.does.say("It is locked.");
  else {
    now.doc.remove(d.id);
    now.does.choose(undefined);
    now.does.say("Removed.");
  }
  return true;
}

function next(now: Now, by: number): boolean {
  const all = now.doc.get().drawings.filter((d) => visible(d, now.timeframe));
  if (!all.length) return true;
  const at = all.findIndex((d) => d.id === (now.id && now.doc.idOf(now.id)));
  const d = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : (at + by + all.length) % all.length]!;
  now.does.choose(d.id);
  now.does.say(`${now.does.describe(d.id)}. ${all.indexOf(d) + 1} of ${all.length}.`);
  return true;
}

/** Points at the next mark of the calendar in view, and says it. */
function calendar(now: Now, { plot, pointed }: Parts, by: 1 | -1): boolean {
  const from = pointed.get().point?.x ?? -by * Infinity;
  const marks = plot.events.seen();
  const next = by > 0 ? marks.find((m) => m.x > from + 1) : marks.findLast((m) => m.x < from - 1);
  if (next) pointed.set({ bar: pointed.get().bar, point: { x: next.x, y: plot.events.y() } });
  now.does.say(next ? next.events.map(published).join(". ") : "No further mark of the calendar is in view.");
  return true;
}

const called: Record<HandleName, string> = {
  a0: "First point",
  a1: "Second point",
  price: "Price",
  entry: "Entry",
  takeProfit: "Target",
  stopLoss: "Stop",
  end: "End",
};

function point(now: Now, { plot }: Parts, handle: Handle): boolean {
  const names = now.id ? (plot.layer.shapeOf(now.doc.idOf(now.id))?.handles.map((h) => h.name) ?? []) : [];
  if (!names.length) return false;
  const at = handle.current === undefined ? -1 : names.indexOf(handle.current);
  handle.current = names[at + 1];
  now.does.say(handle.current ? called[handle.current] : "The whole drawing");
  return true;
}
