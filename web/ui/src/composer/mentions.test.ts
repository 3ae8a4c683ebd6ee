import { expect, test } from "vitest";
import { matchingTables, mentionAt, contextOf } from "./mentions";

test("a mention is the word after an @ at the caret", () => {
  expect(mentionAt("@", 1)).toEqual({ from: 0, word: "" });
  expect(mentionAt("Count @Ord", 10)).toEqual({ from: 6, word: "ord" });
  expect(mentionAt("Count @ord by month", 10)).toEqual({ from: 6, word: "ord" });
  expect(mentionAt("Count @ord by month", 12)).toBeUndefined();
  expect(mentionAt("me@example", 10)).toBeUndefined();
  expect(mentionAt("plain", 5)).toBeUndefined();
});

const tables = ["customers", "order_items", "orders", "reorders"].map((table) => ({ source: "shop", table }));

test("tables that begin with the word come before those that contain it", () => {
  expect(matchingTables(tables, "ord").map((t) => t.table)).toEqual(["order_items", "orders", "reorders"]);
  expect(matchingTables(tables, "shop.c").map((t) => t.table)).toEqual(["customers"]);
  expect(matchingTables(tables, "")).toHaveLength(4);
});

test("the context lists the mentioned tables", () => {
  expect(contextOf([])).toBeUndefined();
  expect(contextOf(tables.slice(2, 3))).toBe("The user means this table: shop.orders.");
});
