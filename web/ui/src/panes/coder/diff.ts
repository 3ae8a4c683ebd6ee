// Differences of texts, line by line: read from the unified format, or made here to
// show a change that has not been made yet.

export type Sign = " " | "+" | "-" | "\\";

export interface Line {
  sign: Sign;
  text: string;
  /** Its number before and after, from 1; nothing on the side it is not on. */
  old?: number;
  new?: number;
}

/** A stretch of changed lines with a few unchanged ones around them. */
export interface Hunk {
  oldStart: number;
  newStart: number;
  lines: Line[];
}

/** A hunk as the server sends it: each line begins with its sign. */
export interface ServerHunk {
  old_start: number;
  new_start: number;
  lines: string[];
}

const around = 3;

/** The lines of a hunk with their numbers. */
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

/** Reads a unified diff of one file. Cut is set when it says that it goes on. */
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

const noEnd = { sign: "\\" as const, text: " No newline at end of file" };

/** The lines of a text, and whether the last one has its break. */
export function linesOf(text: string): { lines: string[]; ended: boolean } {
  if (text === "") return { lines: [], ended: true };
  const lines = text.split("\n");
  const ended = lines.at(-1) === "";
  if (ended) lines.pop();
  return { lines, ended };
}

/** The most differing lines that are looked at one by one. Beyond, what lies between
 *  the first and the last difference counts as replaced. */
const mostEdits = 400;

/** Compares two texts. */
export function compare(before: string, after: string): Hunk[] {
  if (before === after) return [];
  const a = linesOf(before),
    b = linesOf(after);
  // A last line without its break differs from one with it.
  if (!a.ended) a.lines.push(a.lines.pop()! + "\0");
  if (!b.ended) b.lines.push(b.lines.pop()! + "\0");
  const script = edits(a.lines, b.lines);
  const hunks: Hunk[] = [];
  let old = 1,
    now = 1;
  for (let i = 0; i < script.length;) {
    if (script[i]!.sign === " ") {
      (old++, now++, i++);
      continue;
    }
    const from = Math.max(0, i - around);
    let to = i;
    for (let quiet = 0; to < script.length && quiet <= 2 * around; to++)
      quiet = script[to]!.sign === " " ? quiet + 1 : 0;
    let end = to;
    while (script[end - 1]!.sign === " ") end--;
    end = Math.min(script.length, end + around);
    const piece = script
      .slice(from, end)
      .flatMap((e) => (e.text.endsWith("\0") ? [{ ...e, text: e.text.slice(0, -1) }, noEnd] : [e]));
    hunks.push(numbered(old - (i - from), now - (i - from), piece));
    for (; i < end; i++) {
      if (script[i]!.sign !== "+") old++;
      if (script[i]!.sign !== "-") now++;
    }
  }
  return hunks;
}

type Edit = { sign: " " | "+" | "-"; text: string };

/** The shortest way from one list of lines to another. */
function edits(a: readonly string[], b: readonly string[]): Edit[] {
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const same = (lines: readonly string[]): Edit[] => lines.map((text) => ({ sign: " ", text }));
  return [
    ...same(a.slice(0, head)),
    ...shortest(a.slice(head, a.length - tail), b.slice(head, b.length - tail)),
    ...same(tail ? a.slice(-tail) : []),
  ];
}

/** Myers' algorithm: furthest[k] is how far diagonal k was reached with d edits. */
function shortest(a: readonly string[], b: readonly string[]): Edit[] {
  const replaced = (): Edit[] => [
    ...a.map((text): Edit => ({ sign: "-", text })),
    ...b.map((text): Edit => ({ sign: "+", text })),
  ];
  if (!a.length || !b.length) return replaced();
  const trace: Map<number, number>[] = [];
  let furthest = new Map([[1, 0]]);
  for (let d = 0; d <= Math.min(a.length + b.length, mostEdits); d++) {
    trace.push(furthest);
    const next = new Map(furthest);
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && (next.get(k - 1) ?? -1) < (next.get(k + 1) ?? -1));
      let x = down ? (next.get(k + 1) ?? 0) : (next.get(k - 1) ?? 0) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      next.set(k, x);
      if (x >= a.length && x - k >= b.length) return walkBack(a, b, trace, d);
    }
    furthest = next;
  }
  return replaced();
}

function walkBack(
  a: readonly string[],
  b: readonly string[],
  trace: readonly Map<number, number>[],
  edits: number,
): Edit[] {
  const out: Edit[] = [];
  let x = a.length,
    y = b.length;
  for (let d = edits; d > 0; d--) {
    const v = trace[d]!;
    const k = x - y;
    const down = k === -d || (k !== d && (v.get(k - 1) ?? -1) < (v.get(k + 1) ?? -1));
    const fromK = down ? k + 1 : k - 1;
    const fromX = v.get(fromK) ?? 0;
    while (x > fromX && y > fromX - fromK && x > 0 && y > 0 && a[x - 1] === b[y - 1])
      (out.push({ sign: " ", text: a[--x]! }), y--);
    if (down) out.push({ sign: "+", text: b[--y]! });
    else out.push({ sign: "-", text: a[--x]! });
  }
  while (x > 0) out.push({ sign: " ", text: a[--x]! });
  return out.reverse();
}

/** Where a line differs from the one it replaces: the characters between what both
 *  begin and end with. Nothing when they have little in common. */
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

/** Pairs each removed line of a hunk with the added one in its place. */
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
