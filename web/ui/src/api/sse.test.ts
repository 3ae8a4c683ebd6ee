import { expect, test } from "vitest";
import { Parser } from "./sse";

const stream =
  'id: 1\nevent: opened\ndata: {"seq":1}\n\n: ping\n\nevent: delta\ndata: {"text":"äö"}\n\r\nid: 2\r\ndata: a\r\ndata: b\r\n\r\n';
const want = [
  { id: "1", event: "opened", data: '{"seq":1}' },
  { id: undefined, event: "delta", data: '{"text":"äö"}' },
  { id: "2", event: "message", data: "a\nb" },
];

test("parses a stream that arrives in pieces of any size", () => {
  for (let size = 1; size <= stream.length; size++) {
    const p = new Parser();
    const got = [];
    for (let i = 0; i < stream.length; i += size) got.push(...p.push(stream.slice(i, i + size)));
    expect(got, `pieces of ${size}`).toEqual(want);
  }
});

test("does not return an incomplete message", () => {
  expect(new Parser().push("data: half")).toEqual([]);
  expect(new Parser().push("data: half\n")).toEqual([]);
});
