// Formats the numbers of a result, in charts, tables and footnotes in the same way as in the answer. All numbers of a
// column get the same format.
import type { Cell, Column } from "../log/events";

export interface Style {
  numeric: boolean;
  grouped: boolean; // 16,682 rather than 16682
  decimals?: number; // undefined: each number has as many as it needs
  percent?: boolean; // the values are percentages
  currency?: string; // such as EUR
  month?: boolean; // the values are months, such as 2026-10
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

const currencies = "usd|eur|gbp|chf|jpy|cad|aud|sek|nok|dkk|pln|czk";
const currencyInName = new RegExp(`(?:^|[_\\s(])(${currencies})(?=[_\\s)]|$)`, "gi");
const currencyCode = new RegExp(`^(${currencies})$`, "i");

/** Returns the currency that a name says. A name with two is an exchange rate. */
function currencyIn(name: string): string | undefined {
  const found = [...name.matchAll(currencyInName)];
  return found.length === 1 ? found[0]![1]!.toUpperCase() : undefined;
}

/** Returns the one currency that a column of currencies has in every row. */
function currencyBeside(columns: readonly Column[], rows: readonly (readonly Cell[])[]): string | undefined {
  const j = columns.findIndex((c) => /^(currency|currency_code|ccy)$/i.test(c.name));
  const [code, ...others] = j < 0 ? [] : new Set(rows.map((r) => r[j]));
  return typeof code === "string" && !others.length && currencyCode.test(code) ? code.toUpperCase() : undefined;
}

const monthPattern = /^(\d{4})-(0[1-9]|1[0-2])$/;
const monthName = new Intl.DateTimeFormat("en-US", { month: "long", year: "numeric", timeZone: "UTC" });

/** Writes a month such as 2026-10 as October 2026. Other texts are unchanged. */
export function monthOr(text: string): string {
  return monthPattern.test(text) ? monthName.format(new Date(`${text}-01T00:00:00Z`)) : text;
}

/** Reports whether all values are months, as far as there are any. */
function areMonths(values: Iterable<Cell | undefined>): boolean {
  let seen = 0;
  for (const v of values) {
    if (v === null || v === undefined) continue;
    if (typeof v !== "string" || !monthPattern.test(v)) return false;
    if (++seen > sampleRows) break;
  }
  return seen > 0;
}

const sampleRows = 10_000;
const maxDecimals = 6;

/** Returns the style of a column, from its name and values. */
export function styleOf(column: Column, values: Iterable<Cell | undefined>): Style {
  const style = numberStyle(column, values);
  const currency = style.numeric && !isIdentifier(column) && !style.percent ? currencyIn(column.name) : undefined;
  return currency ? { ...style, currency } : style;
}

function numberStyle(column: Column, values: Iterable<Cell | undefined>): Style {
  if (!isNumeric(column)) return { numeric: false, grouped: false, ...(areMonths(values) ? { month: true } : {}) };
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
  if (style.month) return monthOr(String(v));
  if (!style.numeric || typeof v === "boolean") return String(v);
  return withCurrency(figure(v, style), style.currency) + (style.percent ? "%" : "");
}

function withCurrency(number: string, currency: string | undefined): string {
  if (!currency) return number;
  const sign = new Intl.NumberFormat("en-US", { style: "currency", currency }).formatToParts(0)[0]!.value;
  const space = /[a-z]$/i.test(sign) ? "\u00a0" : "";
  return number.startsWith("-") ? `-${sign}${space}${number.slice(1)}` : `${sign}${space}${number}`;
}

/** Formats the exact value of a number in a text, without the noise of floating point. Returns "" if the text says the
 *  same. */
export function exactValue(value: string, text: string): string {
  const n = Number(value);
  if (value === "" || Number.isNaN(n)) return value === text ? "" : value;
  const plain = /\.\d{10}/.test(value) ? String(Number(n.toPrecision(12))) : value;
  if (Number(plain) === Number(text.replace(/[^\d.-]/g, ""))) return "";
  return figure(plain, { numeric: true, grouped: true });
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
  const beside = currencyBeside(columns, rows);
  return columns.map((c, j) => {
    function* values() {
      for (const r of rows) yield r[j];
    }
    const style = styleOf(c, values());
    const money = beside && style.numeric && !style.percent && !isIdentifier(c) && moneyWords.test(c.name);
    return money ? { ...style, currency: style.currency ?? beside } : style;
  });
}
