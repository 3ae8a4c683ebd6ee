import { expect, test } from "vitest";
import { fitting, mentionAt, pinned } from "./mentions";

test("a mention is the word after an @ at the caret", () => {
  expect(mentionAt("@", 1)).toEqual({ from: 0, word: "" });
  expect(mentionAt("Count @Ord", 10)).toEqual({ from: 6, word: "ord" });
  expect(mentionAt("Count @ord by month", 10)).toEqual({ from: 6, word: "ord" });
  expect(mentionAt("Count @ord by month", 12)).toBeUndefined();
  expect(mentionAt("me@example", 10)).toBeUndefined();
  expect(mentionAt("plain", 5)).toBeUndefined();
});

const tables = ["customers", "order_items", "orders", "reorders"].map((table) => ({ source: "shop", table }));

test("what begins so comes before what has it", () => {
  expect(fitting(tables, "ord").map((t) => t.table)).toEqual(["order_items", "orders", "reorders"]);
  expect(fitting(tables, "shop.c").map((t) => t.table)).toEqual(["customers"]);
  expect(fitting(tables, "")).toHaveLength(4);
});

test("the model is told what is meant", () => {
  expect(pinned([])).toBeUndefined();
  expect(pinned(tables.slice(2, 3))).toBe("The user means this table: shop.orders.");
});
