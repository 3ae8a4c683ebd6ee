import { expect, test } from "vitest";
import type { TestRun } from "../api/client";
import { differences, passed } from "./compare";

const run = (tests: TestRun["tests"], reasons: TestRun["reasons"] = {}): TestRun => ({
  time: "2026-11-27T09:00:00Z",
  suite: "s",
  mode: "planner",
  model: "offline-planner",
  ms: 1,
  tests,
  reasons,
});

test("lists what differs between two runs, new failures first", () => {
  const before = run({ a: "failed", b: "passed", c: "passed", gone: "passed" }, { a: ["one row"] });
  const after = run({ a: "passed", b: "stale", c: "passed", fresh: "failed" }, { b: ["no recording"] });
  expect(differences(before, after)).toEqual([
    { name: "b", before: "passed", after: "stale", reasons: ["no recording"] },
    { name: "gone", before: "passed", after: "", reasons: [] },
    { name: "a", before: "failed", after: "passed", reasons: ["one row"] },
    { name: "fresh", before: "", after: "failed", reasons: [] },
  ]);
  expect(passed(before)).toBe(3);
});
