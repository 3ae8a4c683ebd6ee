import { expect, test } from "vitest";
import { recorded } from "../../log/fixtures/read";
import { notesOf, numbered } from "../notes";
import { valueOffsets } from "./Markdown";
import { GrowingParser, parse, repair } from "./parse";

const shape = (blocks: readonly { node: unknown }[]) =>
  JSON.stringify(
    blocks.map((b) => b.node),
    (k, v) => (k === "position" ? undefined : v),
  );

const text = `Revenue was **16,682.20** in October, see [the report](https://example.org).

| month | revenue |
| --- | --- |
| 2026-09 | 12,451.30 |
| 2026-10 | 16,682.20 |

- one
- two with \`code\`

\`\`\`sql
SELECT 1

FROM t
\`\`\`

1. a
2. b

_An aside._`;

test("a text that arrives in pieces of any size ends as the same blocks", () => {
  for (const size of [1, 2, 3, 7, 50]) {
    const g = new GrowingParser();
    let last: readonly { node: unknown }[] = [];
    for (let i = size; i < text.length + size; i += size) last = g.blocks(text.slice(0, i));
    expect(shape(last), `pieces of ${size}`).toBe(shape(parse(text)));
  }
});

test("finished blocks of a growing text are the same objects", () => {
  const g = new GrowingParser();
  const first = g.blocks("One.\n\nTwo.\n\nThr")[0]!.node;
  for (const t of ["One.\n\nTwo.\n\nThree", "One.\n\nTwo.\n\nThree.\n\nFour"]) expect(g.blocks(t)[0]!.node).toBe(first);
});

test("the end of an unfinished text is repaired", () => {
  expect(repair("It is **16,6")).toBe("It is **16,6**");
  expect(repair("It is **")).toBe("It is ");
  expect(repair("Use `SEL")).toBe("Use `SEL`");
  expect(repair("See [the rep")).toBe("See the rep");
  expect(repair("See [the report](http")).toBe("See the report");
  expect(repair("Text\n\n| a | b |\n| -")).toBe("Text\n");
  expect(repair("Text\n\n| a | b |\n| - | - |\n| 1 | 2 |\n| 3")).toBe("Text\n\n| a | b |\n| - | - |\n| 1 | 2 |");
  expect(repair("```\n**not")).toBe("```\n**not");
  expect(repair("- one\n- ")).toBe("- one\n");
});

test("HTML in a text stays text", () => {
  expect(shape(parse("a <img src=x onerror=alert(1)> b"))).toContain("onerror");
  expect(parse("<script>alert(1)</script>")[0]!.node.type).toBe("html");
});

test("escapes do not move the footnotes", () => {
  const at = valueOffsets("\\$1,200 &amp; 3", "$1,200 & 3");
  expect(at("\\".length)).toBe(0);
  expect(at("\\$1,200".length)).toBe(6);
  expect(at("\\$1,200 &amp; ".length)).toBe("$1,200 & ".length);
});

test("footnotes are numbered in reading order, those of tables last", () => {
  const a = recorded("months").find((e) => e.kind === "answered")!;
  const answer = { seq: a.seq, text: a.body.text, cites: a.body.footnotes, unresolved: [] };
  const notes = notesOf(answer);
  const list = numbered(notes).map((n) => [n.number, answer.text.slice(n.from, n.to)]);
  expect(list.slice(0, 5)).toEqual([
    [1, "2026-10"],
    [2, "16,682.20"],
    [3, "2025-07"],
    [4, "4,293.04"],
    [5, "18"],
  ]);
  expect(notes.filter((n) => n.inTable)).toHaveLength(20);
  expect(list.map(([number]) => number)).toEqual(list.map((_, i) => i + 1));
  expect(new Set(notes.map((n) => n.number)).size).toBe(list.length);
  for (const n of notes) expect(answer.text.slice(n.from, n.to)).toBe(n.cite!.text);
});
