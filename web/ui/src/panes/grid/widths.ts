// How wide the columns of a grid are: as their values, as far as there is room, and
// as their names, which may take several lines.
import type { Column } from "../../log/events";

const least = 4.5,
  most = 24,
  forName = 11; // rem
const mostLines = 3;
const padding = 1.5,
  sign = 1; // of a cell; of the order, beside a name

let canvas: CanvasRenderingContext2D | null | undefined;
const known = new Map<string, number>(); // widths of names

/** The width of a text at the size of a grid, in the unit of px. */
function measured(text: string, unit: number, weight: number): number {
  canvas ??= typeof document === "undefined" ? null : document.createElement("canvas").getContext("2d");
  if (!canvas) return text.length * 0.47 * unit;
  canvas.font = `${weight} ${0.8125 * unit}px ${getComputedStyle(document.body).fontFamily}`;
  return canvas.measureText(text).width;
}

function nameWidth(c: Column, unit: number): number {
  const key = `${unit} ${c.name}`;
  let w = known.get(key);
  if (w === undefined) {
    if (known.size > 2000) known.clear();
    known.set(key, (w = measured(c.name.slice(0, 200), unit, 600)));
  }
  return w;
}

/** A column, from some of its values as they are written. */
export function widthOf(c: Column, values: readonly string[], unit: number): number {
  // The longest texts are measured; all of them would take long.
  const longest = [...new Set(values)].sort((a, b) => b.length - a.length).slice(0, 4);
  const value = Math.max(0, ...longest.map((v) => measured(v.slice(0, 200), unit, 400)));
  const name = Math.min(forName * unit, nameWidth(c, unit) + sign * unit);
  return Math.ceil(Math.min(most * unit, Math.max(least * unit, Math.max(value, name) + (padding + 0.25) * unit)));
}

/** How many lines its name takes in a width. */
export function linesOf(c: Column, width: number, unit: number): number {
  const room = Math.max(unit, width - (padding + sign) * unit);
  // Words do not fill their lines.
  const need = nameWidth(c, unit) / room;
  return need <= 1 ? 1 : Math.min(mostLines, Math.ceil(need * 1.1));
}
