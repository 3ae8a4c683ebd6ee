// SQL as text: laid out for reading, compared without regard to layout. Only the
// space between the tokens changes, never a token.

import { diffArrays } from "diff";

interface Token {
  kind: "space" | "word" | "text" | "name" | "number" | "comment" | "sign";
  text: string;
}

const forms: [Token["kind"], RegExp][] = [
  ["space", /\s+/y],
  ["comment", /--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/y],
  ["text", /[eE]?'(?:[^']|'')*(?:'|$)|\$(\w*)\$[\s\S]*?(?:\$\1\$|$)/y],
  ["name", /"(?:[^"]|"")*(?:"|$)|`[^`]*(?:`|$)|\[[A-Za-z_][^\]\n]*\]/y],
  ["number", /(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?/y],
  ["word", /[\p{L}_@#$][\p{L}\p{N}_$]*/uy],
  ["sign", /::|<=|>=|<>|!=|\|\||->>|->|=>|[\s\S]/y],
];

export function tokens(sql: string): Token[] {
  const out: Token[] = [];
  for (let at = 0; at < sql.length;) {
    for (const [kind, form] of forms) {
      form.lastIndex = at;
      const m = form.exec(sql);
      if (!m) continue;
      out.push({ kind, text: m[0] });
      at += m[0].length;
      break;
    }
  }
  return out;
}

const bare = (sql: string) =>
  tokens(sql)
    .filter((t) => t.kind !== "space")
    .map((t) => t.text);

/** Reports whether two statements differ only in white space. */
export function same(a: string, b: string): boolean {
  const x = bare(a),
    y = bare(b);
  return x.length === y.length && x.every((t, i) => t === y[i]);
}

const clauses = new Set([
  "select",
  "from",
  "where",
  "having",
  "limit",
  "offset",
  "union",
  "except",
  "intersect",
  "qualify",
  "window",
  "values",
  "with",
]);
const twoWords: Record<string, string> = { group: "by", order: "by", partition: "by" };
const joins = new Set(["join", "left", "right", "inner", "full", "cross", "natural", "asof"]);
const lists = new Set(["select", "group", "order", "with"]);
const maxListLength = 48; // longer lists have one entry per line

/** Formats a statement with one clause per line. A statement that already has line breaks is not changed, unless force
 *  is set. */
export function format(sql: string, force = false): string {
  const trimmed = sql.trim();
  if (!force && trimmed.includes("\n")) return trimmed;
  const all = tokens(trimmed).filter((t) => t.kind !== "space");
  if (all.length > 20_000) return trimmed;
  return new Formatter(all).run();
}

interface Level {
  indent: number;
  clause: string; // the current clause, in lower case
  query: boolean; // whether it is a statement, and not the parentheses of a call
  wrapped: boolean; // its list has one entry per line
  cases: number;
  between: boolean;
}

/** Writes tokens, and tracks the levels of parentheses. */
class Formatter {
  private out = "";
  private fresh = true; // at the start of a line
  private now = 0; // indentation of the current line
  private levels: Level[] = [];

  constructor(private readonly all: Token[]) {}

  run(): string {
    this.levels = [{ indent: 0, clause: "", query: true, wrapped: false, cases: 0, between: false }];
    this.all.forEach((t, i) => this.token(t, i));
    return this.out.replace(/[ \t]+$/gm, "").trim();
  }

  private get level(): Level {
    return this.levels[this.levels.length - 1]!;
  }

  private line(indent: number): void {
    if (this.out) this.out = `${this.out.trimEnd()}\n${"  ".repeat(indent)}`;
    this.fresh = true;
    this.now = indent;
  }

  private put(text: string, tight = false): void {
    this.out += this.fresh || tight ? text : ` ${text}`;
    this.fresh = false;
  }

  private token(t: Token, i: number): void {
    const before = this.all[i - 1];
    if (t.kind === "comment") return this.comment(t);
    if (t.text === "(") return this.open(t, i, before);
    if (t.text === ")") return this.close();
    if (t.text === "," && t.kind === "sign") return this.comma();
    if (t.text === ";" && t.kind === "sign") return this.put(";", true);
    if (t.kind === "word" && this.word(t, i, before)) return;
    this.put(t.text, this.tight(t, before));
  }

  private comment(t: Token): void {
    this.put(t.text);
    if (t.text.startsWith("--")) this.line(this.level.indent + (this.level.wrapped ? 1 : 0));
  }

  private comma(): void {
    this.put(",", true);
    if (this.level.query && this.level.wrapped) this.line(this.level.indent + 1);
  }

  /** Starts a new line before a word if needed. Reports whether it has also written the word. */
  private word(t: Token, i: number, before?: Token): boolean {
    const l = this.level;
    const word = t.text.toLowerCase();
    if (l.query && this.clause(word, i)) {
      this.begin(t, word, i);
      return true;
    }
    if (l.query && this.joins(word, i, before)) {
      this.line(l.indent);
      l.clause = "join";
      l.wrapped = false;
      this.put(t.text);
      return true;
    }
    if (word === "case") l.cases++;
    if (word === "end" && l.cases > 0) l.cases--;
    if (word === "between") l.between = true;
    if (l.query && l.cases === 0) this.condition(word);
    return false;
  }

  /** Reports whether a word begins a join. LEFT can also be a function, and JOIN the second word of LEFT JOIN. */
  private joins(word: string, i: number, before?: Token): boolean {
    const last = before?.text.toLowerCase() ?? "";
    return joins.has(word) && !joins.has(last) && last !== "outer" && this.all[i + 1]?.text !== "(";
  }

  /** Puts each condition of a WHERE or HAVING on its own line. */
  private condition(word: string): void {
    const l = this.level;
    if (word !== "and" && word !== "or") return;
    if (word === "and" && l.between) l.between = false;
    else if (l.clause === "where" || l.clause === "having") this.line(l.indent + 1);
  }

  /** Reports whether a word begins a clause. */
  private clause(word: string, i: number): boolean {
    const next = this.all[i + 1]?.text.toLowerCase();
    if (twoWords[word]) return next === twoWords[word] && word !== "partition";
    if (!clauses.has(word)) return false;
    const before = this.all[i - 1]?.text.toLowerCase();
    if (before === "." || next === ".") return false;
    if (word === "from") return before !== "distinct"; // IS DISTINCT FROM
    if (word === "with") return i === 0 || before === ";" || before === "(";
    return true;
  }

  private begin(t: Token, word: string, i: number): void {
    const l = this.level;
    const set = word === "select" && /^(union|all|except|intersect)$/.test(this.all[i - 1]?.text.toLowerCase() ?? "");
    if (this.out && !(this.fresh && this.out.endsWith("\n" + "  ".repeat(l.indent)))) this.line(l.indent);
    else if (set) this.line(l.indent);
    l.clause = word;
    l.between = false;
    l.wrapped = lists.has(word) && this.long(i, word);
    this.put(t.text);
    if (l.wrapped && word === "select") {
      const next = this.all[i + 1]?.text.toLowerCase();
      if (next !== "distinct" && next !== "all") this.line(l.indent + 1);
    }
  }

  /** Reports whether a list has several entries and is too long for one line. */
  private long(i: number, word: string): boolean {
    let depth = 0,
      length = 0,
      commas = 0;
    for (let k = i + 1; k < this.all.length; k++) {
      const t = this.all[k]!;
      if (t.text === "(") depth++;
      if (t.text === ")" && depth-- === 0) break;
      if (depth === 0 && k > i + 1 && t.kind === "word" && this.clause(t.text.toLowerCase(), k)) break;
      if (t.text === "," && depth === 0) commas++;
      length += t.text.length + 1;
    }
    return commas > 0 && word !== "with" && length > maxListLength;
  }

  private open(t: Token, i: number, before?: Token): void {
    const next = this.all[i + 1]?.text.toLowerCase();
    const query = next === "select" || next === "with" || next === "values";
    const call =
      before !== undefined &&
      (before.kind === "name" ||
        (before.kind === "word" &&
          !/^(in|and|or|not|on|as|from|join|where|select|having|when|then|else|by|union|all|except|intersect|exists|over|filter|using|values|with|any|some)$/i.test(
            before.text,
          )));
    this.put(t.text, call || before?.text === "(" || before?.text === "::");
    const l = this.level;
    this.levels.push({
      indent: query ? this.now + 1 : l.indent,
      clause: "",
      query,
      wrapped: false,
      cases: 0,
      between: false,
    });
    if (query) this.line(this.level.indent);
    else this.fresh = true;
  }

  private close(): void {
    const l = this.levels.length > 1 ? this.levels.pop()! : this.level;
    if (l.query && this.levels.length > 0 && l !== this.level) this.line(l.indent - 1);
    this.fresh = true;
    this.put(")");
  }

  private tight(t: Token, before?: Token): boolean {
    if (t.text === "." || before?.text === ".") return true;
    if (t.text === "::" || before?.text === "::") return true;
    if (t.text === "]" || t.text === "[" || before?.text === "[") return true;
    // The sign of a number, after an operator, a parenthesis or a comma.
    if (before?.text === "-" || before?.text === "+") {
      const b = this.all[this.all.indexOf(before) - 1];
      return (
        !b ||
        (b.kind === "sign" && b.text !== ")" && b.text !== "]") ||
        /^(select|when|then|else|by|limit|between|and|or|in)$/i.test(b.text)
      );
    }
    return false;
  }
}

interface LineOfDiff {
  kind: "same" | "gone" | "new";
  text: string;
}

/** With more changed lines than these, the whole text counts as replaced: comparing would take too long. */
const mostEdits = 1000;

/** Compares two texts line by line. */
export function diff(before: string, now: string): LineOfDiff[] {
  const a = before.split("\n"),
    b = now.split("\n");
  const changes = diffArrays(a, b, { maxEditLength: mostEdits }) ?? [
    { value: a, removed: true, added: false },
    { value: b, removed: false, added: true },
  ];
  return changes.flatMap(({ value, added, removed }) =>
    value.map((text) => ({ kind: removed ? "gone" : added ? "new" : "same", text })),
  );
}

/** Returns the range of the statement to which an engine's error message refers, if it can be found. */
export function placeOf(message: string, sql: string): { from: number; to: number } | undefined {
  const line = /\bLINE (\d+):/i.exec(message) ?? /\bat line (\d+)/i.exec(message);
  const named =
    /near "([^"]+)"|near `([^`]+)`|no such (?:column|table|function): ([^\s,;]+)|(?:column|table|function|relation)(?: with name)? "?([\p{L}_][\p{L}\p{N}_.]*)"? (?:does not exist|not found|must appear)|unknown (?:column|table|function|expression identifier) [`"']?([^\s`"',]+)/iu.exec(
      message,
    );
  const name = named?.slice(1).find((g) => g !== undefined);
  const begin = line ? lineStart(sql, Number(line[1])) : 0;
  if (name) {
    const parts = [name, name.split(".").at(-1)!];
    for (const part of parts) {
      const at = find(sql, part, begin);
      if (at >= 0) return { from: at, to: at + part.length };
    }
  }
  const offset = /\(position (\d+)\)|\bposition:? (\d+)/i.exec(message);
  if (offset) {
    const at = Math.min(sql.length, Math.max(0, Number(offset[1] ?? offset[2]) - 1));
    return { from: at, to: Math.min(sql.length, at + 1) };
  }
  if (/incomplete input|unexpected end|end of input/i.test(message))
    return { from: Math.max(0, sql.trimEnd().length - 1), to: sql.trimEnd().length };
  if (line && begin < sql.length)
    return { from: begin, to: sql.indexOf("\n", begin) < 0 ? sql.length : sql.indexOf("\n", begin) };
  return undefined;
}

function lineStart(sql: string, n: number): number {
  let at = 0;
  for (let k = 1; k < n; k++) {
    const next = sql.indexOf("\n", at);
    if (next < 0) break;
    at = next + 1;
  }
  return at;
}

/** Finds a word in a statement, preferably as a token and not in a text or comment. */
function find(sql: string, word: string, from: number): number {
  let at = 0;
  for (const t of tokens(sql)) {
    const inner = t.kind === "name" ? t.text.slice(1, -1) : t.text;
    if (at >= from && t.kind !== "comment" && t.kind !== "text" && inner.toLowerCase() === word.toLowerCase())
      return at + (inner === t.text ? 0 : 1);
    at += t.text.length;
  }
  return from > 0 ? find(sql, word, 0) : sql.toLowerCase().indexOf(word.toLowerCase());
}

/** Returns the line and column of a position, from 1. */
export function lineAndColumn(sql: string, at: number): { line: number; column: number } {
  const before = sql.slice(0, at);
  return { line: before.split("\n").length, column: at - before.lastIndexOf("\n") };
}
