// Formats the numbers of a result, in charts, tables and footnotes in the same way as in the answer. All numbers of a
// column get the same format.
import type { Cell, Column } from "../log/events";

export interface Style {
  numeric: boolean;
  grouped: boolean; // 16,682 rather than 16682
  decimals?: number; // undefined: each number has as many as it needs
  percent?: boolean; // the values are percentages
}

const kinds = new Set(["integer", "number", "decimal"]);

/** Matches names of columns with amounts of money. */
const moneyWords =
  /(^|_|\b)(revenue|price|amount|total|cost|costs|sales|value|spend|spent|fee|fees|tax|margin|profit|balance|turnover|income|paid|usd|eur|gbp|chf)(_|\b|$)/i;

/** Matches names of columns whose numbers are identifiers or years. */
const nameWords = /(^|_)(id|ids|key|year|yr|zip|postcode|plz|code|number|no|nr|phone)$/i;

export function isNumeric(c: Column): boolean {
  return kinds.has(c.kind ?? "");
}

/** Reports whether a column's numbers are identifiers or years, which are not measures. */
export function isIdentifier(c: Column): boolean {
  return nameWords.test(c.name);
}

/** Converts a cell to a number. Decimals and large integers are strings. */
export function numberOf(v: Cell | undefined): number | null {
  if (typeof v === "number") return Number.isFinite(v) ? v : null;
  if (typeof v !== "string" || !/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(v.trim())) return null;
  const n = Number(v);
  return Number.isFinite(n) ? n : null;
}

/** Matches names of columns with percentages, such as 12.5 for 12.5%. */
const percentWords = /(^|_|\s)(percent|pct|percentage)$/i;

const sampleRows = 10_000;
const maxDecimals = 6;

/** Returns the style of a column, from its name and values. */
export function styleOf(column: Column, values: Iterable<Cell | undefined>): Style {
  if (!isNumeric(column)) return { numeric: false, grouped: false };
  if (isIdentifier(column)) return { numeric: true, grouped: false };
  let maxSeen = 0,
    seen = 0;
  for (const v of values) {
    if (++seen > sampleRows) break;
    maxSeen = Math.max(maxSeen, decimals(v));
  }
  if (percentWords.test(column.name))
    return { numeric: true, grouped: true, percent: true, decimals: Math.min(1, maxSeen) };
  if (column.kind === "integer" || maxSeen === 0) return { numeric: true, grouped: true, decimals: 0 };
  if (maxSeen === 2 || (maxSeen < 2 && moneyWords.test(column.name)))
    return { numeric: true, grouped: true, decimals: 2 };
  // Floating-point sums of cents, such as 10094.099999999999 for 10,094.10.
  if (maxSeen > maxDecimals && moneyWords.test(column.name)) return { numeric: true, grouped: true, decimals: 2 };
  return { numeric: true, grouped: true, ...(maxSeen <= 1 ? { decimals: maxSeen } : {}) };
}

function decimals(v: Cell | undefined): number {
  if (typeof v === "number") {
    if (!Number.isFinite(v) || Number.isInteger(v)) return 0;
    const text = String(v);
    const e = /e-(\d+)$/.exec(text);
    return e ? Number(e[1]) : text.length - text.indexOf(".") - 1;
  }
  if (typeof v !== "string") return 0;
  const dot = v.indexOf(".");
  return dot < 0 ? 0 : v.replace(/0+$/, "").length - dot - 1;
}

const formats = new Map<string, Intl.NumberFormat>();

function format(min: number, max: number, grouped: boolean): Intl.NumberFormat {
  const key = `${min} ${max} ${grouped}`;
  let f = formats.get(key);
  if (!f)
    formats.set(
      key,
      (f = new Intl.NumberFormat("en-US", {
        minimumFractionDigits: min,
        maximumFractionDigits: max,
        useGrouping: grouped,
      })),
    );
  return f;
}

/** Formats a cell in the style of its column. NULL becomes "". */
export function formatCell(v: Cell | undefined, style: Style): string {
  if (v === null || v === undefined) return "";
  if (!style.numeric || typeof v === "boolean") return String(v);
  return figure(v, style) + (style.percent ? "%" : "");
}

function figure(v: string | number, style: Style): string {
  if (typeof v === "string") return style.percent ? figure(Number(v), style) : exactly(v, style);
  const size = Math.abs(v);
  if (size > 0 && (size < 1e-4 || size >= 1e15)) return v.toPrecision(6).replace(/\.?0+(e|$)/, "$1");
  if (style.decimals !== undefined) return format(style.decimals, style.decimals, style.grouped).format(v);
  return format(0, size >= 1000 ? 2 : size >= 1 ? 4 : maxDecimals, style.grouped).format(v);
}

/** Formats a number in a string without losing digits. */
function exactly(v: string, style: Style): string {
  const m = /^(-?)(\d+)(?:\.(\d*))?$/.exec(v.trim());
  if (!m) return v;
  const n = style.decimals;
  let fraction = m[3] ?? "";
  if (n !== undefined && fraction.length > n && /^0*$/.test(fraction.slice(n))) fraction = fraction.slice(0, n);
  if (n !== undefined) fraction = fraction.padEnd(n, "0");
  const integer = style.grouped ? m[2]!.replace(/\B(?=(\d{3})+$)/g, ",") : m[2]!;
  return `${m[1]}${integer}${fraction ? `.${fraction}` : ""}`;
}

/** Returns the styles of all columns of a result. */
export function stylesOf(columns: readonly Column[], rows: readonly (readonly Cell[])[]): Style[] {
  return columns.map((c, j) => {
    function* values() {
      for (const r of rows) yield r[j];
    }
    return styleOf(c, values());
  });
}
