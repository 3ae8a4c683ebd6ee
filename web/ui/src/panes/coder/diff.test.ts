import { describe, expect, test } from "vitest";
import { changedWithin, compare, counts, parse, type Hunk } from "./diff";

/** What a text becomes by the hunks: what proves a diff is that it works. */
function patched(text: string, hunks: readonly Hunk[]): string {
  const lines = text.split("\n");
  const out: string[] = [];
  let at = 0;
  for (const h of hunks) {
    while (at < h.oldStart - 1) out.push(lines[at++]!);
    for (const l of h.lines) {
      if (l.sign !== "+" && l.sign !== "\\") expect(lines[at++]).toBe(l.text);
      if (l.sign === " " || l.sign === "+") {
        expect(l.new).toBe(out.length + 1);
        out.push(l.text);
      }
    }
  }
  return [...out, ...lines.slice(at)].join("\n");
}

describe("compare", () => {
  const many = Array.from({ length: 60 }, (_, i) => `line ${i}`).join("\n") + "\n";
  const cases: [string, string, string][] = [
    ["one line", "a\nb\nc\n", "a\nB\nc\n"],
    ["added at the end", "a\n", "a\nb\n"],
    ["removed at the start", "a\nb\n", "b\n"],
    ["two places far apart", many, many.replace("line 5\n", "LINE 5\n").replace("line 50\n", "")],
    ["two places close by", many, many.replace("line 5\n", "x\n").replace("line 9\n", "y\nz\n")],
    ["moved", "a\nb\nc\nd\n", "d\na\nb\nc\n"],
  ];
  test.each(cases)("%s", (_, before, after) => {
    expect(patched(before, compare(before, after))).toBe(after);
  });

  test("is as short as can be", () => {
    expect(counts(compare("a\nb\nc\nd\n", "d\na\nb\nc\n"))).toEqual({ added: 1, removed: 1 });
    const [h, more] = compare(many, many.replace("line 30\n", "x\n"));
    expect(more).toBeUndefined();
    expect(h!.lines.map((l) => l.sign).join("")).toBe("   -+   ");
    expect(h!.lines[3]).toMatchObject({ sign: "-", old: 31 });
  });

  test("random texts", () => {
    let seed = 7;
    const random = (n: number) => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;
    const text = () => Array.from({ length: random(40) }, () => "abcd"[random(4)]).join("\n") + "\n";
    for (let i = 0; i < 300; i++) {
      const a = text(),
        b = text();
      expect(patched(a, compare(a, b))).toBe(b);
    }
  });

  test("a last line without its break", () => {
    const [h] = compare("a\nb", "a\nb\n");
    expect(h!.lines.map((l) => l.sign).join("")).toBe(" -\\+");
  });

  test("a new file, and what is too different", () => {
    expect(counts(compare("", "a\nb\n"))).toEqual({ added: 2, removed: 0 });
    const a = Array.from({ length: 900 }, (_, i) => `a${i}`).join("\n") + "\n";
    expect(counts(compare(a, a.replaceAll("a", "b")))).toEqual({ added: 900, removed: 900 });
  });
});

test("parse reads numbers, signs and a diff that was cut", () => {
  const { hunks, cut } = parse(
    "--- a/x\n+++ b/x\n@@ -3,2 +3,3 @@\n same\n-old\n+new\n+\n@@ -20 +21 @@\n-x\n+y\n\\ No newline at end of file\n… (diff truncated)\n",
  );
  expect(cut).toBe(true);
  expect(hunks[0]!.lines).toEqual([
    { sign: " ", text: "same", old: 3, new: 3 },
    { sign: "-", text: "old", old: 4 },
    { sign: "+", text: "new", new: 4 },
    { sign: "+", text: "", new: 5 },
  ]);
  expect(hunks[1]!.lines.map((l) => l.sign).join("")).toBe("-+\\");
});

test("what changed within a line", () => {
  expect(changedWithin("Status: draft", "Status: final")).toEqual({ from: 8, oldTo: 13, newTo: 13 });
  expect(changedWithin("abc", "xyz")).toBeUndefined();
});
