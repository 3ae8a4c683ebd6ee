// Formats numbers, times and money for people.

const whole = new Intl.NumberFormat("en-US");
const compact = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });

export const count = (n: number): string => whole.format(n);
export const short = (n: number): string => compact.format(n);

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/** Returns a number of tokens, with how many of them count against limits if their tier weighs them. */
export function tokensWithWeight(tokens: number, weighted: number): string {
  const counted = plural(tokens, "token");
  return weighted > tokens ? `${counted}, counting as ${count(weighted)}` : counted;
}

/** 840 ms, 3.2 s, 1 min 5 s. */
export function duration(ms: number): string {
  if (ms < 100) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

/** Formats an age in milliseconds: just now, 40 s ago, 2 min ago, 3 h ago. */
export function ago(ms: number): string {
  if (!(ms >= 1000)) return "just now";
  if (ms < 60_000) return `${Math.floor(ms / 1000)} s ago`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ago`;
  return `${Math.floor(ms / 3_600_000)} h ago`;
}

/** Formats an amount in millionths of a dollar. */
export function money(microUSD: number): string {
  const usd = microUSD / 1e6;
  if (usd === 0) return "$0";
  if (usd < 0.01) return `$${usd.toFixed(4)}`;
  return `$${usd.toFixed(2)}`;
}

/** 12 bytes, 3.4 kB, 1.2 MB. */
export function bytes(n: number): string {
  if (n < 1000) return plural(n, "byte");
  if (n < 999_500) return `${(n / 1000).toFixed(n < 9950 ? 1 : 0)} kB`;
  return `${(n / 1e6).toFixed(n < 9.95e6 ? 1 : 0)} MB`;
}

const day = 86_400_000;

/** The heading for a time in a list: Today, Yesterday, This week, October 2026. */
export function period(time: string, now = Date.now()): string {
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  const t = Date.parse(time);
  if (t >= midnight) return "Today";
  if (t >= midnight - day) return "Yesterday";
  if (t >= midnight - 6 * day) return "This week";
  return new Date(t).toLocaleDateString("en-US", { month: "long", year: "numeric" });
}

/** A time for use in a list: 14:05 today, Mon 14:05 this week, otherwise 3 Nov 2026. */
export function listTime(time: string, now = Date.now()): string {
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  const t = Date.parse(time);
  if (t >= midnight) return clock(time);
  if (t >= midnight - 6 * day) return `${new Date(t).toLocaleDateString("en-GB", { weekday: "short" })} ${clock(time)}`;
  return new Date(t).toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" });
}

export function clock(time: string): string {
  return new Date(time).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
}

/** Returns the name of a result in texts for people: "result 1" for r1. */
export function resultName(id: string): string {
  return id.replace(/^r(?=\d+$)/, "result ");
}

/** Says where the rows of a result come from. */
export function originOf(r: { source?: string; parents?: string[] }): string {
  if (r.parents?.length) return `calculated from ${r.parents.map(resultName).join(" and ")}`;
  return r.source === "client" ? "in this browser" : (r.source ?? "");
}

/** verified by Ann on 2 November 2026 */
export function verifiedBy(v: { by: string; on: string }): string {
  const day = new Date(`${v.on}T00:00:00Z`);
  const words = Number.isNaN(day.getTime())
    ? v.on
    : day.toLocaleDateString("en-GB", { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });
  return `verified by ${v.by} on ${words}`;
}

/** Capitalises the first letter. */
export const capital = (s: string) => s.charAt(0).toUpperCase() + s.slice(1);
