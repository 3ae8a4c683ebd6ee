import { expect, test } from "vitest";
import { matches, readLines } from "./CallCard";
import { plan, shownInSubject } from "./Preview";
import { subject } from "./detail";

const changedLines = (p: ReturnType<typeof plan>) =>
  p.hunks.flatMap((h) =>
    h.lines.filter((l) => l.sign !== " ").map((l) => `${l.sign}${l.old ?? l.new ?? ""}:${l.text}`),
  );

test("plans the change of an edit", () => {
  const input = { file_path: "/workspace/a.txt", old_string: "b", new_string: "$&B" };
  const p = plan("file_edit", input, "a\nb\nc\n");
  expect(changedLines(p)).toEqual(["-2:b", "+2:$&B"]);
  expect(p.after).toBe("a\n$&B\nc\n");
  expect(plan("file_edit", input, "a\nb\nb\n").words).toMatch("2 times");
  expect(plan("file_edit", { ...input, replace_all: true }, "a\nb\nb\n").words).toBe("In 2 places.");
  expect(plan("file_edit", input, "a\n").words).toMatch("is not in the current file");
  expect(plan("file_edit", input, null).words).toMatch("does not exist");
  expect(changedLines(plan("file_edit", input, undefined))).toEqual(["-:b", "+:$&B"]);
  expect(plan("file_edit", { old_string: "a\nb", new_string: "x" }, "a\r\nb\r\n").after).toBe("x\r\n");
});

test("plans the change of a write", () => {
  const input = { file_path: "a.txt", content: "one\ntwo\n" };
  expect(plan("file_write", input, null).words).toBe("A new file, 2 lines.");
  expect(changedLines(plan("file_write", input, "one\n"))).toEqual(["+2:two"]);
  expect(plan("file_write", input, "one\ntwo\n").words).toMatch("already");
});

test("parses the output of Read and Grep", () => {
  expect(readLines("     9\tnine\n    10\t\tten\n(lines 9 to 10 of 20)\n")).toEqual({
    lines: [
      { number: 9, text: "nine" },
      { number: 10, text: "\tten" },
    ],
    note: "(lines 9 to 10 of 20)",
  });
  const m = matches("src/a.go:3:x: 1\nsrc/a.go-4-y\n--\nb-c.txt:1:z\n(2 more lines; use offset 3 for them)\n");
  expect(m.files.map((f) => [f.path, f.lines.map((l) => `${l.number}${l.hit ? "!" : ""}`).join()])).toEqual([
    ["src/a.go", "3!,4"],
    ["b-c.txt", "1!"],
  ]);
  expect(m.note).toMatch("2 more lines");
  expect(matches("a.txt:12\nb.txt:1\n").files.map((f) => [f.path, f.count])).toEqual([
    ["a.txt", 12],
    ["b.txt", 1],
  ]);
  expect(matches("a.txt\nb c.txt\n").files.map((f) => f.path)).toEqual(["a.txt", "b c.txt"]);
});

test("summarises a call in its subject", () => {
  expect(subject("file_edit", { file_path: "/workspace/src/a.go" })).toBe("src/a.go");
  expect(subject("command", { command: "make\nmake test" })).toBe("make");
  expect(subject("file_search", { pattern: "x", path: "/workspace/src" })).toBe("x in src");
});

test("hides the input of a reading call only if the subject shows all of it", () => {
  expect(shownInSubject("file_read", { file_path: "a.txt", offset: 3, limit: 10 })).toBe(true);
  expect(shownInSubject("file_search", { pattern: "x", path: "src", "-i": true, output_mode: "count" })).toBe(true);
  expect(shownInSubject("file_list", { pattern: "*.md" })).toBe(true);
  expect(shownInSubject("file_read", { customer: 7 })).toBe(false);
  expect(shownInSubject("file_read", { file_path: "a.txt", target: "b.txt" })).toBe(false);
  expect(shownInSubject("file_read", { file_path: ["a.txt"] })).toBe(false);
  expect(shownInSubject("file_list", { pattern: "*", limit: { to: "all" } })).toBe(false);
  expect(shownInSubject("file_read", undefined)).toBe(false);
});
