// What a chart is drawn with: its size, colours and fonts.
import type { Type } from "./pick";

export interface Look {
  series: readonly string[];
  ink: string;
  quiet: string;
  line: string;
  surface: string;
  font: string;
  heading: string; // the font of titles
  /** Returns the width of a text in a CSS font. */
  measure: (text: string, font: string) => number;
}

export interface Options {
  width: number;
  height: number;
  look: Look;
  /** The type that the user chose instead of the spec's. */
  type?: Type;
  /** The current time in ms. */
  now: number;
  /** The time where the data ends in ms, if it is known. */
  data?: number;
}

export const textSize = 12;

/** Returns the width of a text of a chart. */
export const widthOf = (text: string, look: Look) => look.measure(text, `${textSize}px ${look.font}`);

export const widest = (texts: readonly string[], look: Look) => Math.max(0, ...texts.map((t) => widthOf(t, look)));

/** Cuts a text off so that it fits into a width. */
export function fit(text: string, width: number, look: Look): string {
  if (widthOf(text, look) <= width) return text;
  const letters = [...text];
  let fits = 0;
  for (let most = letters.length - 1; fits < most;) {
    const middle = Math.ceil((fits + most) / 2);
    if (widthOf(`${letters.slice(0, middle).join("")}…`, look) <= width) fits = middle;
    else most = middle - 1;
  }
  return `${letters.slice(0, fits).join("").trimEnd()}…`;
}

/** Breaks a text into lines of at most the given width. */
export function wrap(text: string, width: number, font: string, look: Look): string[] {
  const lines = [""];
  for (const word of text.split(" ")) {
    const longer = `${lines.at(-1)} ${word}`.trim();
    if (look.measure(longer, font) <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines.filter(Boolean);
}

/** Returns the colour of a series. */
export const colorOf = (series: readonly string[], s: string | undefined, look: Look): string => {
  if (s?.startsWith("Other (")) return look.quiet;
  return look.series[Math.max(0, series.indexOf(s ?? "")) % look.series.length]!;
};
