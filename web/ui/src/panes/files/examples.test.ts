import { expect, test } from "vitest";
import { examples } from "./examples";

const table = (name: string, columns: Record<string, string>) => ({
  name,
  rows: 3,
  columns: Object.entries(columns).map(([n, type]) => ({ name: n, type })),
});

test("questions are about columns that can be added up and grouped", () => {
  expect(
    examples([table("sales", { id: "BIGINT", day: "DATE", region: "VARCHAR", net_amount: "DECIMAL(18,2)" })]),
  ).toEqual([
    "Total net amount by region",
    "Total net amount by month",
    "How many rows are in sales?",
    "Number of rows by region",
  ]);
  expect(examples([table("codes", { code: "VARCHAR" })])).toEqual(["How many rows are in codes?"]);
  expect(examples([])).toEqual([]);
});

test("questions are about all tables", () => {
  const both = examples([table("a", { x: "VARCHAR" }), table("b", { y: "VARCHAR", n: "DOUBLE" })]);
  expect(both.slice(0, 2)).toEqual(["How many rows are in a?", "Total n by y"]);
});
