import { expect, test } from "vitest";
import type { LogEvent } from "../../log/events";
import { recorded } from "../../log/fixtures/read";
import { matchesFilter, rows, since } from "./trace";

const event = (seq: number, at: number, kind: string, body: unknown) =>
  ({ seq, time: new Date(1_700_000_000_000 + at).toISOString(), kind, body }) as unknown as LogEvent;
const usage = { input: 100, cache_read: 50, cache_write_5m: 20, output: 10 };

test("computes times, durations, tokens and cost", () => {
  const { rows: all, totals } = rows([
    event(1, 0, "opened", { assistant: "analyst", model: "m" }),
    event(2, 1000, "user_message", { text: "How many?\nReally" }),
    event(3, 1000, "run_started", { door: "native" }),
    event(4, 3000, "assistant_message", {
      step: 1,
      model: "m",
      blocks: [{ type: "tool_use", name: "run_query" }],
      stop_reason: "tool_use",
      usage,
      cost: { micro_usd: 2500 },
    }),
    event(5, 3500, "tool_result", {
      call_id: "c",
      name: "run_query",
      content: "x",
      millis: 400,
      result: { id: "r1", columns: [], row_count: 1 },
    }),
    event(6, 63_500, "approval_given", { approval_id: "a", call_id: "c", approved: false, reason: "no" }),
    event(7, 64_000, "run_finished", { reason: "final", millis: 63_000 }),
    event(8, 90_000, "user_message", { text: "again" }),
  ]);
  expect(all.map((r) => r.since)).toEqual([0, 0, 0, 2000, 2500, 62_500, 63_000, 0]);
  expect(all.map((r) => r.took)).toEqual([undefined, undefined, undefined, 2000, 400, 60_000, 63_000, undefined]);
  expect(all[3]).toMatchObject({
    words: "step 1 · calls run_query",
    facts: ["100 in", "50 cache read", "20 cache write", "10 out", "$0.0025"],
    group: "model",
  });
  expect(all[4]!.words).toBe("run_query · r1, 1 row");
  expect(all[5]).toMatchObject({ words: "declined · “no”", waited: true });
  expect(all[6]!.bar).toEqual({ from: 0, to: 1 });
  expect(all[3]!.bar!.to).toBeCloseTo(2 / 63);
  expect(totals).toEqual({ input: 100, output: 10, cacheRead: 50, cacheWrite: 20, microUSD: 2500 });
});

test("summarises every event of a real log", () => {
  for (const name of ["top", "months", "count"] as const) {
    for (const r of rows(recorded(name)).rows) expect(`${r.name}: ${r.words}`).not.toMatch(/: $|undefined|NaN/);
  }
});

test("an event of unknown kind has a row, too", () => {
  expect(rows([event(1, 0, "new_thing", { x: 1 })]).rows[0]).toMatchObject({
    name: "new thing",
    group: "other",
    words: "",
  });
});

test("filters search the body of an event", () => {
  const [r] = rows([event(7, 0, "titled", { title: "Sales", more: "hidden" })]).rows;
  expect([
    matchesFilter(r!, "sales", ""),
    matchesFilter(r!, "HIDDEN", "model"),
    matchesFilter(r!, "x", ""),
    matchesFilter(r!, "", "tools"),
  ]).toEqual([true, true, false, false]);
});

test("formats times since the question", () => {
  expect([since(12), since(4310), since(45_678), since(125_000)]).toEqual(["+0.012", "+4.310", "+45.68", "+2:05"]);
});
