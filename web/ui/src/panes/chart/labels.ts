// The words along the axes: numbers with one unit, shortened names, and which periods are named.
import type { Unit } from "./time";

// Units for the labels of an axis of numbers, such as 1.2 M. All labels of an axis have the same unit; numbers outside
// these units are written as powers of ten.
const units: [number, string][] = [
  [1e12, " T"],
  [1e9, " B"],
  [1e6, " M"],
  [1e5, " K"],
];

const sixDigits = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 6 });

/** Returns a function that writes the numbers of an axis whose largest is `top`. */
export function numberLabels(top: number, sign = ""): (v: number) => string {
  const powers = top >= 1e17 || (top > 0 && top < 1e-3);
  const [from, unit] = (!powers && units.find(([from]) => top >= from)) || [1, ""];
  const by = from === 1e5 ? 1e3 : from;
  const size = (v: number) => (powers ? Number(v.toPrecision(6)).toExponential() : sixDigits.format(v / by));
  return (v) => (v === 0 ? `${sign}0` : `${v < 0 ? "-" : ""}${sign}${size(Math.abs(v))}${unit}`);
}

export const letterWidth = 6.4; // approximate, at 12 pixels

export const guessWidth = (texts: readonly string[]) => Math.max(0, ...texts.map((t) => t.length)) * letterWidth;

/** Shortens names that would look the same if they were truncated, so that the part that differs stays visible. Returns
 *  undefined if truncating is enough. */
export function shortenNames(names: readonly string[], maxLength: number): string[] | undefined {
  const cut = names.filter((n) => n.length > maxLength);
  if (cut.length < 2 || new Set(names.map((n) => n.slice(0, maxLength - 1))).size === names.length) return undefined;
  let same = 0;
  while (cut.every((n) => n[same] === cut[0]![same] && same < n.length)) same++;
  const from = Math.max(0, same - Math.floor(maxLength / 3));
  return names.map((n) => {
    if (n.length <= maxLength) return n;
    const rest = n.slice(from);
    return `${from ? "…" : ""}${rest.length < maxLength ? rest : `${rest.slice(0, maxLength - 2)}…`}`;
  });
}

/** Returns the periods to label so that the labels do not overlap: every second, third and so on, aligned with years
 *  and quarters. */
export function ticks(
  domain: readonly string[],
  begins: readonly number[],
  unit: Unit | undefined,
  room: number,
  width = guessWidth(domain),
): string[] {
  const slot = room / Math.max(1, domain.length);
  const need = (width + 14) / slot;
  if (need <= 1) return [...domain];
  const steps = {
    year: [2, 5, 10, 20, 50, 100],
    quarter: [2, 4, 8, 20, 40],
    month: [2, 3, 6, 12, 24, 60, 120],
    week: [2, 4, 8, 13, 26, 52],
    day: [2, 7, 14, 28, 56, 112, 365],
    moment: [],
  }[unit ?? "moment"];
  const step = steps.find((s) => s >= need) ?? Math.ceil(need);
  const month = (t: number) => new Date(t).getUTCFullYear() * 12 + new Date(t).getUTCMonth();
  let first = 0;
  if (unit === "month") first = (step - (month(begins[0]!) % step)) % step;
  else if (unit === "quarter") first = (step - ((month(begins[0]!) / 3) % step)) % step;
  else if (unit === "year") first = (step - (new Date(begins[0]!).getUTCFullYear() % step)) % step;
  const out = domain.filter((_, i) => i >= first && (i - first) % step === 0);
  return out.length ? out : [domain[0]!];
}
