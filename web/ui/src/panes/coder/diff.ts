// Differences of texts, line by line: read from the unified format, or computed here to
// show a change that has not been made yet.

import { structuredPatch } from "diff";

export type Sign = " " | "+" | "-" | "\\";

export interface Line {
  sign: Sign;
  text: string;
  /** The line numbers before and after the change, from 1. Undefined on a side that lacks the line. */
  old?: number;
  new?: number;
}

/** A range of changed lines with a few unchanged ones around them. */
export interface Hunk {
  oldStart: number;
  newStart: number;
  lines: Line[];
}

/** A hunk from the server. Each line begins with its sign. */
export interface ServerHunk {
  old_start: number;
  new_start: number;
  lines: string[];
}

const around = 3;

/** Makes a hunk and numbers its lines. */
function numbered(oldStart: number, newStart: number, lines: Iterable<{ sign: Sign; text: string }>): Hunk {
  let o = Math.max(oldStart, 1);
  let n = Math.max(newStart, 1);
  const out: Line[] = [];
  for (const { sign, text } of lines) {
    if (sign === " ") out.push({ sign, text, old: o++, new: n++ });
    else if (sign === "-") out.push({ sign, text, old: o++ });
    else if (sign === "+") out.push({ sign, text, new: n++ });
    else out.push({ sign, text });
  }
  return { oldStart: Math.max(oldStart, 1), newStart: Math.max(newStart, 1), lines: out };
}

const signs = new Set([" ", "+", "-", "\\"]);
const signOf = (line: string) => ({ sign: (signs.has(line[0] ?? "") ? line[0] : " ") as Sign, text: line.slice(1) });

export const fromServer = (hunks: readonly ServerHunk[]): Hunk[] =>
  hunks.map((h) => numbered(h.old_start, h.new_start, h.lines.map(signOf)));

/** Parses a unified diff of one file. `cut` is set if the server shortened it. */
export function parse(diff: string): { hunks: Hunk[]; cut: boolean } {
  const hunks: Hunk[] = [];
  let head: RegExpExecArray | null = null;
  let body: string[] = [];
  const flush = () => {
    if (head) hunks.push(numbered(Number(head[1]), Number(head[2]), body.map(signOf)));
    body = [];
  };
  const lines = diff.split("\n");
  if (lines.at(-1) === "") lines.pop();
  let cut = false;
  for (const line of lines) {
    const m = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line);
    if (m) {
      flush();
      head = m;
    } else if (line.startsWith("… ")) cut = true;
    else if (head) body.push(line);
  }
  flush();
  return { hunks, cut };
}

export function counts(hunks: readonly Hunk[]): { added: number; removed: number } {
  let added = 0,
    removed = 0;
  for (const h of hunks)
    for (const l of h.lines) {
      if (l.sign === "+") added++;
      else if (l.sign === "-") removed++;
    }
  return { added, removed };
}

/** Splits a text into lines. `ended` reports whether the last line ends with a line break. */
export function linesOf(text: string): { lines: string[]; ended: boolean } {
  if (text === "") return { lines: [], ended: true };
  const lines = text.split("\n");
  const ended = lines.at(-1) === "";
  if (ended) lines.pop();
  return { lines, ended };
}

/** If more lines changed, the whole text counts as replaced, because comparing would take too long. */
const maxEdits = 1000;

/** Compares two texts. */
export function compare(before: string, after: string): Hunk[] {
  const options = { context: around, maxEditLength: maxEdits };
  const patch = structuredPatch("", "", before, after, "", "", options);
  if (patch) return patch.hunks.map((h) => numbered(h.oldStart, h.newStart, h.lines.map(signOf)));
  const removed = linesOf(before).lines.map((text) => ({ sign: "-" as const, text }));
  const added = linesOf(after).lines.map((text) => ({ sign: "+" as const, text }));
  return [numbered(1, 1, [...removed, ...added])];
}

/** Returns the range in which a line differs from the one it replaces, or undefined if they have little in common. */
export function changedWithin(old: string, now: string): { from: number; oldTo: number; newTo: number } | undefined {
  let from = 0;
  while (from < old.length && from < now.length && old[from] === now[from]) from++;
  let tail = 0;
  while (
    tail < old.length - from &&
    tail < now.length - from &&
    old[old.length - 1 - tail] === now[now.length - 1 - tail]
  )
    tail++;
  if (from > 0 && isHalf(old.charCodeAt(from - 1))) from--;
  if (tail > 0 && isLowHalf(old.charCodeAt(old.length - tail))) tail--;
  const kept = from + tail;
  if (kept * 3 < Math.max(old.trim().length, now.trim().length)) return undefined;
  return { from, oldTo: old.length - tail, newTo: now.length - tail };
}

const isHalf = (c: number) => c >= 0xd800 && c <= 0xdbff;
const isLowHalf = (c: number) => c >= 0xdc00 && c <= 0xdfff;

/** Pairs each removed line of a hunk with the added line that replaces it. */
export function pairs(lines: readonly Line[]): Map<Line, Line> {
  const out = new Map<Line, Line>();
  for (let i = 0; i < lines.length;) {
    if (lines[i]!.sign !== "-") {
      i++;
      continue;
    }
    let minus = i;
    while (lines[minus]?.sign === "-") minus++;
    let plus = minus;
    while (lines[plus]?.sign === "+") plus++;
    if (minus - i === plus - minus)
      for (let k = 0; k < minus - i; k++) {
        out.set(lines[i + k]!, lines[minus + k]!);
        out.set(lines[minus + k]!, lines[i + k]!);
      }
    i = plus;
  }
  return out;
}
