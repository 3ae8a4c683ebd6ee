// Computes the widths of columns from their values and names. A name can take several lines.
import type { Column } from "../../log/events";

// In rem.
const minWidth = 4.5;
const maxWidth = 24;
const maxNameWidth = 11;
const padding = 1.5; // of a cell
const sortIcon = 1; // beside a name

const maxLines = 3;

let canvas: CanvasRenderingContext2D | null | undefined;
const known = new Map<string, number>(); // widths of names

/** Returns the width of a text in the grid's font, in pixels. unit is 1 rem in pixels. */
function textWidth(text: string, unit: number, weight: number): number {
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
    known.set(key, (w = textWidth(c.name.slice(0, 200), unit, 600)));
  }
  return w;
}

/** Returns the width of a column, from some of its formatted values. */
export function widthOf(c: Column, values: readonly string[], unit: number): number {
  // Measures only the longest texts, because measuring all takes long.
  const longest = [...new Set(values)].sort((a, b) => b.length - a.length).slice(0, 4);
  const value = Math.max(0, ...longest.map((v) => textWidth(v.slice(0, 200), unit, 400)));
  const name = Math.min(maxNameWidth * unit, nameWidth(c, unit) + sortIcon * unit);
  return Math.ceil(
    Math.min(maxWidth * unit, Math.max(minWidth * unit, Math.max(value, name) + (padding + 0.25) * unit)),
  );
}

/** Returns how many lines the name of a column needs. */
export function linesOf(c: Column, width: number, unit: number): number {
  const room = Math.max(unit, width - (padding + sortIcon) * unit);
  // Lines are not filled completely, because they break between words.
  const need = nameWidth(c, unit) / room;
  return need <= 1 ? 1 : Math.min(maxLines, Math.ceil(need * 1.1));
}
