import { expect, test } from "vitest";
import { applyEvent, empty, type ToolPart } from "./conversation";
import type { LogEvent } from "./events";
import { familyOf, labelOf, learnTools, onFiles } from "./tools";

/** Returns the tool part of a message with one call. */
function called(name: string, tools?: Record<string, { label?: string; family?: string }>): ToolPart {
  const base = { time: "2026-11-21T00:00:00Z", run: "run_1" };
  const usage = { input: 0, output: 0 };
  const events = [
    { ...base, seq: 1, kind: "user_message", body: { text: "?" } },
    {
      ...base,
      seq: 2,
      kind: "assistant_message",
      body: {
        step: 1,
        model: "m",
        stop_reason: "tool_use",
        usage,
        cost: { micro_usd: 0 },
        blocks: [{ type: "tool_use", id: "t1", name, input: {} }],
        tools,
      },
    },
  ] as LogEvent[];
  return events.reduce(applyEvent, empty("c")).turns[0]!.parts[0] as ToolPart;
}

test("a call is shown as the log describes it", () => {
  const part = called("weather", { weather: { label: "Looking at the sky", family: "query" } });
  expect(labelOf(part)).toBe("Looking at the sky");
  expect(familyOf(part)).toBe("query");
});

test("a call in an older log is shown like the current tool, or by its name", () => {
  const part = called("save_file");
  expect(labelOf(part)).toBe("Using save file");
  expect(familyOf(part)).toBeUndefined();
  expect(onFiles(part)).toBe(false);
  const now = { name: "save_file", label: "Saving a file", family: "file_write" };
  learnTools([{ tools: [{ ...now }] }]);
  expect(labelOf(part)).toBe("Saving a file");
  expect(onFiles(part)).toBe(true);
});

test("a call of a tool without a family is not shown like another tool of the same name", () => {
  const read = { name: "Read", label: "Reading a file", family: "file_read" };
  learnTools([{ tools: [{ ...read }] }]);
  const recorded: Record<string, { label?: string }>[] = [{ Read: {} }, { other: { label: "Looking" } }];
  for (const tools of recorded) {
    const part = called("Read", tools);
    expect(labelOf(part)).toBe("Using Read");
    expect(familyOf(part)).toBeUndefined();
  }
  expect(familyOf(called("Read"))).toBe("file_read");
});
