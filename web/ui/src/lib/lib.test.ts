import { expect, test } from "vitest";
import { ago, duration, money, period, plural } from "./format";
import { href, parse } from "./router";
import { fromBytes } from "./utf8";

test("converts UTF-8 byte offsets to string indices", () => {
  const text = "Größe: 1.200 €, 😀 12";
  const at = fromBytes(text);
  const bytes = (s: string) => new TextEncoder().encode(s).length;
  for (const word of ["1.200", "€", "12", "Gr", "😀"]) {
    const index = text.indexOf(word);
    expect(at(bytes(text.slice(0, index)))).toBe(index);
  }
  expect(at(bytes(text))).toBe(text.length);
  expect(at(9999)).toBe(text.length);
  expect(fromBytes("plain")(3)).toBe(3);
});

test("parse reverses href", () => {
  for (const r of [
    {},
    { conversation: "conv_1" },
    { conversation: "conv_1", result: "r3", view: "sql" },
    { view: "data", at: "shop.orders" },
    { page: ["chart", "EURUSD", "1h"] },
    { page: ["chart", "EUR/USD", "4h"], conversation: "conv_1" },
    { usage: true },
    { inbox: true },
    { tests: true },
  ] as const) {
    expect(parse(href(r))).toEqual(r);
  }
  expect(parse("/c/conv_1/r2?view=nonsense")).toEqual({ conversation: "conv_1", result: "r2" });
  expect(parse("/c/%E0%A4%A")).toEqual({ conversation: "%E0%A4%A" });
  for (const path of ["/elsewhere/", "/c", "/c/conv_1/r2/more", "/usage/more", "/inbox/1", "/tests/1"])
    expect(parse(path)).toEqual({ page: path.split("/").filter(Boolean) });
});

test("formats numbers, durations and money", () => {
  expect([0, 12.4, 99, 840, 3210, 64_000].map(duration)).toEqual([
    "0 ms",
    "12 ms",
    "99 ms",
    "0.8 s",
    "3.2 s",
    "1 min 4 s",
  ]);
  expect([-5, NaN, 999, 1000, 59_999, 125_000, 7_300_000].map(ago)).toEqual([
    "just now",
    "just now",
    "just now",
    "1 s ago",
    "59 s ago",
    "2 min ago",
    "2 h ago",
  ]);
  expect([0, 1200, 120_000, 1_500_000].map(money)).toEqual(["$0", "$0.0012", "$0.12", "$1.50"]);
  expect([plural(1, "row"), plural(1200, "row"), plural(2, "query", "queries")]).toEqual([
    "1 row",
    "1,200 rows",
    "2 queries",
  ]);
});

test("groups times by day, week and month", () => {
  const now = new Date(2026, 10, 21, 12).getTime();
  const ago = (days: number) => new Date(now - days * 86_400_000).toISOString();
  expect([0, 1, 3, 40].map((d) => period(ago(d), now))).toEqual(["Today", "Yesterday", "This week", "October 2026"]);
});
