import type { TestRun } from "../api/client";

/** A test whose outcome differs between two runs. */
export interface Difference {
  name: string;
  before: string; // "" if the run does not have the test
  after: string;
  reasons: string[];
}

/** Returns the tests that differ between two runs, those that pass no more first. */
export function differences(before: TestRun, after: TestRun): Difference[] {
  const names = new Set([...Object.keys(before.tests), ...Object.keys(after.tests)]);
  return [...names]
    .map((name) => ({
      name,
      before: before.tests[name] ?? "",
      after: after.tests[name] ?? "",
      reasons: after.reasons?.[name] ?? before.reasons?.[name] ?? [],
    }))
    .filter((d) => d.before !== d.after)
    .sort((a, b) => Number(b.before === "passed") - Number(a.before === "passed") || a.name.localeCompare(b.name));
}

/** Returns how many tests of a run passed. */
export function passed(run: TestRun): number {
  return Object.values(run.tests).filter((s) => s === "passed").length;
}
