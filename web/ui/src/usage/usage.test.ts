import { describe, expect, it } from "vitest";
import type { PersonDay } from "../api/client";
import { before, byDay, byPerson, dollars, part, sum } from "./sums";

const row = (day: string, user: string, questions: number, cost: number, more: Partial<PersonDay> = {}): PersonDay => ({
  day,
  user,
  questions,
  runs: questions,
  failed: 0,
  tool_calls: 2 * questions,
  cache_hits: 1,
  input_tokens: 100,
  cached_tokens: 50,
  output_tokens: 10,
  weighted_tokens: 220,
  cost_usd: cost,
  ...more,
});

const rows = [
  row("2026-03-02", "ada", 3, 0.5),
  row("2026-03-02", "bob", 1, 2, { failed: 1, cost_is_upper_bound: true }),
  row("2026-02-28", "ada", 1, 0.25),
];

describe("usage", () => {
  it("is added up in total", () => {
    expect(sum(rows)).toEqual({
      questions: 5,
      failed: 1,
      calls: 10,
      hits: 3,
      tokens: 330,
      weighted: 660,
      cost: 2.75,
      bound: true,
    });
    expect(sum([]).bound).toBe(false);
  });
  it("is grouped by person, highest cost first", () => {
    expect(byPerson(rows).map((p) => [p.user, p.days, p.sum.questions])).toEqual([
      ["bob", 1, 1],
      ["ada", 2, 4],
    ]);
  });
  it("is grouped by day, with empty days and across the end of a month", () => {
    expect(byDay(rows, "2026-02-27", "2026-03-02").map((d) => [d.day, d.people, d.sum.questions])).toEqual([
      ["2026-02-27", 0, 0],
      ["2026-02-28", 1, 1],
      ["2026-03-01", 0, 0],
      ["2026-03-02", 2, 4],
    ]);
    expect(before("2026-03-01", 1)).toBe("2026-02-28");
  });
  it("is formatted as percentages and dollars", () => {
    expect([part(0, 0), part(0, 4), part(1, 30), part(1, 3), part(4, 4)]).toEqual(["–", "0%", "3.3%", "33%", "100%"]);
    expect([dollars(0), dollars(0.0012), dollars(1234.5)]).toEqual(["$0", "$0.0012", "$1,234.50"]);
  });
});
