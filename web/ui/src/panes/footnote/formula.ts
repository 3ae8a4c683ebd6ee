// Parses formulas of footnotes, which the server's package cite writes: a cell r1[0].revenue, several cells
// r1[0,2].revenue, a column r1.revenue, functions, and + - * /.

export interface Ref {
  from: number; // in the formula
  to: number;
  result: string;
  rows?: number[]; // undefined for all rows
  column?: string;
}

const refPattern = /\b(r\d+)\b(?:\[(\d+(?:\s*,\s*\d+)*)\])?(?:\.("(?:[^"\\]|\\.)*"|[\p{L}_][\p{L}\p{N}_]*))?/gu;

/** Returns the references to results in a formula. */
export function refs(formula: string): Ref[] {
  const out: Ref[] = [];
  for (const m of formula.matchAll(refPattern)) {
    if (!m[2] && !m[3]) continue;
    out.push({
      from: m.index,
      to: m.index + m[0].length,
      result: m[1]!,
      ...(m[2] ? { rows: m[2].split(",").map(Number) } : {}),
      ...(m[3] ? { column: name(m[3]) } : {}),
    });
  }
  return out;
}

function name(text: string): string {
  if (!text.startsWith('"')) return text;
  try {
    return JSON.parse(text) as string;
  } catch {
    return text.slice(1, -1);
  }
}

/** Names a reference: "revenue, row 3". */
export function refName(r: Ref): string {
  const column = r.column ?? "rows";
  if (!r.rows) return `${column}, all rows`;
  if (r.rows.length === 1) return `${column}, row ${r.rows[0]! + 1}`;
  const rows = r.rows.map((n) => n + 1);
  return `${column}, rows ${rows.slice(0, 6).join(", ")}${rows.length > 6 ? ` and ${rows.length - 6} more` : ""}`;
}

/** Writes a formula with values in place of its references. */
export function arithmetic(formula: string, value: (r: Ref) => string): string {
  let out = "",
    at = 0;
  for (const r of refs(formula)) {
    out += signs(formula.slice(at, r.from)) + value(r);
    at = r.to;
  }
  return out + signs(formula.slice(at));
}

/** Formats the value of a formula with enough digits to show how the text rounded it. A share becomes a percentage if
 *  the text has one. */
export function outcome(c: { text: string; value?: string }): string {
  const n = Number(c.value);
  if (c.value === undefined || c.value === "" || Number.isNaN(n)) return c.value ?? "";
  const digits = (x: number) =>
    x.toLocaleString("en-US", { maximumSignificantDigits: Math.max(6, Math.ceil(Math.log10(Math.abs(x) + 1)) + 2) });
  const inText = Number(c.text.replace(/[^\d.-]/g, ""));
  const share = c.text.includes("%") && Math.abs(n * 100 - inText) < Math.abs(n - inText);
  return share ? `${digits(n * 100)}%` : digits(n);
}

const signs = (s: string) =>
  s
    .replace(/\s*\*\s*/g, " × ")
    .replace(/\s*\/\s*/g, " ÷ ")
    .replace(/(?<=[\s)])-(?=[\s(])/g, "−")
    .replace(/,(?=\S)/g, ", ");
