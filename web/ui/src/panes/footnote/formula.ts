// Formulas of footnotes, as the server's cite package writes them: cells
// r1[0].revenue, several r1[0,2].revenue, whole columns r1.revenue, functions over
// them, and + - * / between.

export interface Ref {
  from: number; // in the formula
  to: number;
  result: string;
  rows?: number[]; // without it: all
  column?: string;
}

const form = /\b(r\d+)\b(?:\[(\d+(?:\s*,\s*\d+)*)\])?(?:\.("(?:[^"\\]|\\.)*"|[\p{L}_][\p{L}\p{N}_]*))?/gu;

/** The places in results that a formula uses. */
export function refs(formula: string): Ref[] {
  const out: Ref[] = [];
  for (const m of formula.matchAll(form)) {
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

/** What a place is called: "revenue, row 3". */
export function called(r: Ref): string {
  const column = r.column ?? "rows";
  if (!r.rows) return `${column}, all rows`;
  if (r.rows.length === 1) return `${column}, row ${r.rows[0]! + 1}`;
  const rows = r.rows.map((n) => n + 1);
  return `${column}, rows ${rows.slice(0, 6).join(", ")}${rows.length > 6 ? ` and ${rows.length - 6} more` : ""}`;
}

/** The formula with its cells' values in their places. */
export function arithmetic(formula: string, value: (r: Ref) => string): string {
  let out = "",
    at = 0;
  for (const r of refs(formula)) {
    out += signs(formula.slice(at, r.from)) + value(r);
    at = r.to;
  }
  return out + signs(formula.slice(at));
}

/** What came out, with enough digits to see how the text rounds it: a share as the
 *  percents that the text speaks of. */
export function outcome(c: { text: string; value?: string }): string {
  const n = Number(c.value);
  if (c.value === undefined || c.value === "" || Number.isNaN(n)) return c.value ?? "";
  const digits = (x: number) =>
    x.toLocaleString("en-US", { maximumSignificantDigits: Math.max(6, Math.ceil(Math.log10(Math.abs(x) + 1)) + 2) });
  const said = Number(c.text.replace(/[^\d.-]/g, ""));
  const share = c.text.includes("%") && Math.abs(n * 100 - said) < Math.abs(n - said);
  return share ? `${digits(n * 100)}%` : digits(n);
}

const signs = (s: string) =>
  s
    .replace(/\s*\*\s*/g, " × ")
    .replace(/\s*\/\s*/g, " ÷ ")
    .replace(/(?<=[\s)])-(?=[\s(])/g, "−")
    .replace(/,(?=\S)/g, ", ");
