import { expect, test } from "vitest";
import type { Cell } from "../log/events";
import { numberOf, styleOf, formatCell } from "./numbers";

const all = (name: string, kind: string, ...values: Cell[]) =>
  values.map((v) => formatCell(v, styleOf({ name, kind }, values)));

test("the numbers of a column have the same format", () => {
  expect(all("revenue", "number", 16682.2, 4293.04, 7417)).toEqual(["16,682.20", "4,293.04", "7,417.00"]);
  expect(all("revenue", "number", 16682.2, 7417)).toEqual(["16,682.20", "7,417.00"]);
  expect(all("revenue", "number", 10094.099999999999)).toEqual(["10,094.10"]);
  expect(all("orders", "integer", 12000, 7)).toEqual(["12,000", "7"]);
  expect(all("rating", "number", 4.5, 3)).toEqual(["4.5", "3.0"]);
  expect(all("x", "number", 0.123456789, 1.5)).toEqual(["0.123457", "1.5"]);
  expect(all("share_percent", "number", 90.0709, 0.7)).toEqual(["90.1%", "0.7%"]);
});

test("numbers that are names are not formatted", () => {
  expect(all("customer_id", "integer", 10001)).toEqual(["10001"]);
  expect(all("year", "integer", 2026)).toEqual(["2026"]);
  expect(all("zip", "text", "01067")).toEqual(["01067"]);
});

test("exact numbers in strings keep their digits", () => {
  expect(all("n", "integer", "9007199254740993")).toEqual(["9,007,199,254,740,993"]);
  expect(all("amount", "decimal", "1234567.10", "2.5")).toEqual(["1,234,567.10", "2.50"]);
  expect(all("d", "decimal", "0.1234567890123456789")).toEqual(["0.1234567890123456789"]);
});

test("converts cells to numbers", () => {
  expect([numberOf("1e3"), numberOf("12abc"), numberOf(null), numberOf(" "), numberOf("-.5"), numberOf(true)]).toEqual([
    1000,
    null,
    null,
    null,
    -0.5,
    null,
  ]);
});
