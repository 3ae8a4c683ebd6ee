// What people have used, added up: by person, by day, in all.
import type { PersonDay } from "../api/client";

export interface Sum {
  questions: number;
  failed: number;
  calls: number;
  hits: number;
  tokens: number;
  cost: number;
  /** A price that is not known counts as the highest that is. */
  bound: boolean;
}

const none: Sum = { questions: 0, failed: 0, calls: 0, hits: 0, tokens: 0, cost: 0, bound: false };

export function sum(rows: readonly PersonDay[]): Sum {
  const s = { ...none };
  for (const r of rows) {
    s.questions += r.questions;
    s.failed += r.failed;
    s.calls += r.tool_calls;
    s.hits += r.cache_hits;
    s.tokens += r.input_tokens + r.output_tokens;
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

/** People, those first who cost and then those who asked most. */
export function byPerson(rows: readonly PersonDay[]): { user: string; days: number; sum: Sum }[] {
  return [...grouped(rows, (r) => r.user)]
    .map(([user, days]) => ({ user, days: days.length, sum: sum(days) }))
    .sort((a, b) => b.sum.cost - a.sum.cost || b.sum.questions - a.sum.questions || a.user.localeCompare(b.user));
}

const dayMs = 86_400_000;

/** A day of UTC, some days before another. */
export function before(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) - days * dayMs).toISOString().slice(0, 10);
}

/** Each day from the first to the last, those without anything too. */
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

/** 12%, or a dash where there is nothing to be a part of. */
export function part(n: number, of: number): string {
  if (of === 0) return "–";
  const p = (n / of) * 100;
  return `${p > 0 && p < 10 ? p.toFixed(1) : Math.round(p)}%`;
}

/** Dollars, as in a list of them: cents where there are any. */
export function dollars(usd: number): string {
  if (usd === 0) return "$0";
  return usd < 0.01
    ? `$${usd.toFixed(4)}`
    : `$${usd.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}
