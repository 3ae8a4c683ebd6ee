// Formats the numbers of a result, in charts, tables and footnotes in the same way as in the answer. All numbers of a
// column get the same format.
import table from "../../../../internal/currency/iso4217.json";
import type { Cell, Column } from "../log/events";

export interface Style {
  numeric: boolean;
  grouped: boolean; // 16,682 rather than 16682
  decimals?: number; // undefined: each number has as many as it needs
  percent?: boolean; // the values are percentages
  currency?: string; // such as EUR
  codes?: number; // the index of the column that names each row's currency
  unit?: string; // behind the number, such as kg
  factor?: number; // what values are multiplied by, as 0.125 is 12.5%
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

const currencyTable: { [code: string]: { sign: string; digits: number } } = table;

/** Words of names whose figures are not amounts in whole units of the currency. internal/currency has the same
 *  words, and both are tested with the same names. */
const notMoney = new Set(
  (
    "count number no num qty quantity units rate ratio share percent pct rank index id key code year date " +
    "cent cents pence k m mn mio bn tsd thousand thousands million millions billion billions"
  ).split(" "),
);
/** Matches codes that are also words. They count only at the end of the name of an amount, as in price_try. */
const wordCodes = /^(BAM|BOB|CAD|COP|CUP|GEL|MAD|MOP|PEN|RON|SOS|TRY)$/;
const amountWords = /^(revenue|price|amount|cost|costs|fee|fees|salary|total|sales|value)$/i;

/** Returns the code of the currency that a column's name names. A name with two is an exchange rate. */
export function currencyIn(name: string): string | undefined {
  const parts = name.match(/\p{Lu}?\p{Ll}+|\p{Lu}+/gu) ?? [];
  if (parts.some((p) => notMoney.has(p.toLowerCase()))) return undefined;
  const codes = parts.flatMap((p, i) => {
    const code = p.toUpperCase();
    const known = Object.hasOwn(currencyTable, code) && code !== "ALL" && code !== "TOP";
    const amount = i === parts.length - 1 && parts.some((q) => amountWords.test(q));
    return known && (amount || !wordCodes.test(code)) ? [code] : [];
  });
  return new Set(codes).size === 1 ? codes[0] : undefined;
}

/** Returns a column's name in words, without the currency, which is beside its figures. */
export function title(name: string): string {
  const code = currencyIn(name);
  const short = code ? name.replace(new RegExp(`[_\\s(]+${code}\\)?$`, "i"), "") : name;
  return (short || name).replaceAll("_", " ");
}

/** Returns the index of a column of currencies, and the one that it has in every row, if it is the same. */
function currencyBeside(columns: readonly Column[], rows: readonly (readonly Cell[])[]) {
  const codes = columns.findIndex((c) => /^(currency|currency_code|ccy)$/i.test(c.name));
  if (codes < 0) return undefined;
  const [code, ...others] = new Set(rows.map((r) => r[codes]));
  return { codes, currency: others.length ? undefined : currencyCode(code) };
}

/** Returns a cell's currency code in upper case, if there is such a currency. */
function currencyCode(v: Cell | undefined): string | undefined {
  const code = typeof v === "string" ? v.toUpperCase() : "";
  return Object.hasOwn(currencyTable, code) ? code : undefined;
}

/** Adds a currency to a style. Fractions have as many decimals as its minor unit, unless a value is smaller. */
function inCurrency(style: Style, currency: string, values: Iterable<Cell | undefined>): Style {
  const digits = currencyTable[currency]!.digits;
  const fine = style.decimals === 0 || [...values].some((v) => Math.abs(numberOf(v) || 1) < 10 ** -digits);
  return { ...style, currency, ...(fine ? {} : { decimals: digits }) };
}

const monthPattern = /^(\d{4})-(0[1-9]|1[0-2])$/;
const monthName = new Intl.DateTimeFormat("en-US", { month: "long", year: "numeric", timeZone: "UTC" });

const dayName = new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeZone: "UTC" });

/** Writes a month such as 2026-10 as "October 2026", and a timestamp as "31 October 2026, 21:39:57". Other texts are
 *  unchanged. Exported pages do the same. */
export function inWords(text: string): string {
  if (monthPattern.test(text)) return monthName.format(new Date(`${text}-01T00:00:00Z`));
  const [, day, time] = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:\.\d+)?Z?$/.exec(text) ?? [];
  const date = new Date(`${day}T00:00:00Z`);
  return day && !Number.isNaN(+date)
    ? `${dayName.format(date)}, ${time!.replace(/:00$/, (s) => (time!.length > 5 ? "" : s))}`
    : text;
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
  const all = [...values];
  const style = declaredStyle(column, numberStyle(column, all));
  if (column.unit && style.numeric && !style.percent) {
    const code = column.unit.toUpperCase();
    if (!Object.hasOwn(currencyTable, code)) return { ...style, unit: column.unit };
    return column.format ? { ...style, currency: code } : inCurrency(style, code, all);
  }
  const currency = style.numeric && !isIdentifier(column) && !style.percent ? currencyIn(column.name) : undefined;
  return currency ? inCurrency(style, currency, all) : style;
}

/** Applies the format and the percent sign that the company's context declares for a column. */
function declaredStyle(column: Column, style: Style): Style {
  const pattern = /^(#,##)?0(?:\.(0+))?(%?)$/.exec(column.format ?? "");
  if (!style.numeric || (!pattern && column.unit !== "%")) return style;
  if (!pattern) return { ...style, percent: true };
  const decimals = pattern[2]?.length ?? 0;
  // Grouping is for readers; the pattern 0 keeps it where it would be without a pattern.
  const declared: Style = { ...style, grouped: style.grouped || Boolean(pattern[1]), decimals };
  if (!pattern[3]) return column.unit === "%" ? { ...declared, percent: true } : declared;
  return { ...declared, percent: true, factor: 100 };
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

/** Formats a cell in the style of its column. NULL becomes "". With its row, a cell has the currency of the row. */
export function formatCell(v: Cell | undefined, style: Style, row?: readonly Cell[]): string {
  if (v === null || v === undefined) return "";
  if (row && style.codes !== undefined) {
    const code = currencyCode(row[style.codes]);
    const plain = { ...style, codes: undefined, currency: undefined };
    return formatCell(v, code ? inCurrency(plain, code, [v]) : plain);
  }
  if (style.month) return inWords(String(v));
  if (!style.numeric || typeof v === "boolean") return String(v);
  const scaled = style.factor === undefined ? v : Number(v) * style.factor;
  const number = figure(scaled, style) + (style.percent ? "%" : style.unit ? `\u00a0${style.unit}` : "");
  const sign = signOf(style);
  return number.startsWith("-") ? `-${sign}${number.slice(1)}` : sign + number;
}

/** Returns what is before the amounts of a style: the sign of their currency. */
export function signOf(style: Style): string {
  const sign = style.currency ? currencyTable[style.currency]!.sign : "";
  return /[a-z]$/i.test(sign) ? `${sign}\u00a0` : sign;
}

/** Says the exact value of a number in a text: "exactly 19,278.58". A fraction that does not end, such as an average,
 *  is only said more precisely. Returns "" if the text says the same. */
export function exactValue(value: string, text: string): string {
  const n = Number(value);
  if (value === "" || Number.isNaN(n)) return value === text ? "" : `exactly ${value}`;
  const noise = /\.\d{10}/.test(value);
  const plain = noise ? String(Number(n.toPrecision(12))) : value;
  const endless = noise && /\.\d{7}/.test(plain);
  const shown = endless ? String(Number(n.toPrecision(8))) : plain;
  if (Number(shown) === Number(text.replace(/[^\d.-]/g, ""))) return "";
  return `${endless ? "more precisely" : "exactly"} ${figure(shown, { numeric: true, grouped: true })}`;
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
    if (!money || style.currency) return style;
    return { ...(beside.currency ? inCurrency(style, beside.currency, values()) : style), codes: beside.codes };
  });
}
