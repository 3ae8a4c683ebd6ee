// Adds up usage: by person, by day, in total.
import type { PersonDay } from "../api/client";

export interface Sum {
  questions: number;
  failed: number;
  calls: number;
  hits: number;
  tokens: number;
  weighted: number; // tokens, each times the multiplier of its tier
  cost: number;
  /** Set if the cost is an upper bound: unknown prices count as the highest known one. */
  bound: boolean;
}

const none: Sum = { questions: 0, failed: 0, calls: 0, hits: 0, tokens: 0, weighted: 0, cost: 0, bound: false };

export function sum(rows: readonly PersonDay[]): Sum {
  const s = { ...none };
  for (const r of rows) {
    s.questions += r.questions;
    s.failed += r.failed;
    s.calls += r.tool_calls;
    s.hits += r.cache_hits;
    s.tokens += r.input_tokens + r.output_tokens;
    s.weighted += r.weighted_tokens;
    s.cost += r.cost_usd;
    s.bound ||= r.cost_is_upper_bound === true;
  }
  return s;
}

function grouped(rows: readonly PersonDay[], of: (r: PersonDay) => string): Map<string, PersonDay[]> {
  const groups = new Map<string, PersonDay[]>();
  for (const r of rows) {
    const some = groups.get(of(r));
    if (some) some.push(r);
    else groups.set(of(r), [r]);
  }
  return groups;
}

/** Groups by person, sorted by cost and then by number of questions. */
export function byPerson(rows: readonly PersonDay[]): { user: string; days: number; sum: Sum }[] {
  return [...grouped(rows, (r) => r.user)]
    .map(([user, days]) => ({ user, days: days.length, sum: sum(days) }))
    .sort((a, b) => b.sum.cost - a.sum.cost || b.sum.questions - a.sum.questions || a.user.localeCompare(b.user));
}

const dayMs = 86_400_000;

/** Returns the day (UTC) that is a number of days before another. */
export function before(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) - days * dayMs).toISOString().slice(0, 10);
}

/** Groups by day, from the first to the last, including days without usage. */
export function byDay(
  rows: readonly PersonDay[],
  from: string,
  to: string,
): { day: string; people: number; sum: Sum }[] {
  const of = grouped(rows, (r) => r.day);
  const days: { day: string; people: number; sum: Sum }[] = [];
  for (let day = from; day <= to; day = before(day, -1)) {
    const some = of.get(day) ?? [];
    days.push({ day, people: some.length, sum: sum(some) });
  }
  return days;
}

/** Formats a share as a percentage; a dash if the total is zero. */
export function part(n: number, of: number): string {
  if (of === 0) return "–";
  const p = (n / of) * 100;
  return `${p > 0 && p < 10 ? p.toFixed(1) : Math.round(p)}%`;
}

/** Formats dollars, with four decimals for amounts below a cent. */
export function dollars(usd: number): string {
  if (usd === 0) return "$0";
  return usd < 0.01
    ? `$${usd.toFixed(4)}`
    : `$${usd.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}
