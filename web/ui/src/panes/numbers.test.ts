import { expect, test } from "vitest";
import names from "../../../../internal/currency/testdata/names.json";
import type { Cell } from "../log/events";
import { currencyIn, exactValue, formatCell, inWords, numberOf, styleOf, stylesOf, title } from "./numbers";

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

test("the company's units and formats decide", () => {
  const declared = (unit: string, format: string, ...values: Cell[]) =>
    values.map((v) => formatCell(v, styleOf({ name: "x", kind: "number", unit, format }, values)));
  expect(declared("EUR", "", 1234.5, 7)).toEqual(["€1,234.50", "€7.00"]);
  expect(declared("eur", "0", 1234.5)).toEqual(["€1,235"]);
  expect(declared("kg", "0.0", 1234.56)).toEqual(["1,234.6\u00a0kg"]);
  expect(declared("%", "", 12.5)).toEqual(["12.5%"]);
  expect(declared("", "0.0%", 0.125, "0.5")).toEqual(["12.5%", "50.0%"]);
  expect(declared("", "nonsense", 1.5)).toEqual(["1.5"]);
  expect(formatCell("a", styleOf({ name: "x", kind: "text", unit: "kg" }, ["a"]))).toBe("a");
});

test("months and currencies are written as people write them", () => {
  expect(all("month", "text", "2026-10", null, "2025-07")).toEqual(["October 2026", "", "July 2025"]);
  expect(all("code", "text", "2026-10", "2026-13")).toEqual(["2026-10", "2026-13"]);
  expect(all("price_eur", "number", 16682.2, -3)).toEqual(["€16,682.20", "-€3.00"]);
  expect(all("total (CHF)", "decimal", "12.5")).toEqual(["CHF\u00a012.50"]);
  expect(all("eur_usd", "number", 1.0835)).toEqual(["1.0835"]);
  const columns = [
    { name: "total", kind: "number" },
    { name: "orders", kind: "integer" },
    { name: "currency", kind: "text" },
  ];
  const shown = (rows: Cell[][]) => rows.map((r) => r.map((v, j) => formatCell(v, stylesOf(columns, rows)[j]!)));
  expect(shown([[12.5, 3, "GBP"]])).toEqual([["£12.50", "3", "GBP"]]);
  const several: Cell[][] = [[12.5, 3, "GBP"], [1, 2, "eur"], [9.5, 1, null], [1200, 1, "JPY"]]; // prettier-ignore
  expect(shown(several)[0]).toEqual(["12.50", "3", "GBP"]);
  const style = stylesOf(columns, several)[0]!;
  expect(several.map((r) => formatCell(r[0], style, r))).toEqual(["£12.50", "€1.00", "9.50", "¥1,200"]);
  // The sample can have only one of the currencies.
  const sampled = stylesOf(columns, several.slice(0, 1))[0]!;
  expect(formatCell(1, sampled, several[1])).toEqual("€1.00");
});

test("months and times in a text are written as people write them", () => {
  expect(["2025-12", "2025-12-03T10:15:00", "2025-12-03 10:15:07.5", "2025-12-03", "2025-99"].map(inWords)).toEqual([
    "December 2025",
    "3 December 2025, 10:15",
    "3 December 2025, 10:15:07",
    "2025-12-03",
    "2025-99",
  ]);
});

test("a currency is the one that a name names", () => {
  for (const [name, code] of Object.entries(names)) expect([name, currencyIn(name) ?? ""]).toEqual([name, code]);
  expect(all("amount_inr", "number", 1200.5)).toEqual(["₹1,200.50"]);
  expect(all("fee_kwd", "number", 1.5, 2)).toEqual(["KWD\u00a01.500", "KWD\u00a02.000"]);
  expect(all("fee_usd", "number", 0.0035)).toEqual(["$0.0035"]);
  expect(["revenue_eur", "Betrag (CHF)", "eur", "usd_rate"].map(title)).toEqual([
    "revenue",
    "Betrag",
    "eur",
    "usd rate",
  ]);
});

test("the exact value of a rounded number has no noise of floating point", () => {
  expect(exactValue("19278.579999999998", "19,278.58")).toBe("");
  expect(exactValue("19278.579999999998", "19.3k")).toBe("exactly 19,278.58");
  expect(exactValue("16682.2", "16,682")).toBe("exactly 16,682.2");
  expect(exactValue("9007199254740993", "9.0 quadrillion")).toBe("exactly 9,007,199,254,740,993");
  expect(exactValue("2026-10", "2026-10")).toBe("");
  expect(exactValue("35.392222222222226", "35.39")).toBe("more precisely 35.392222");
  expect(exactValue("0.3333333333333333", "€0.33")).toBe("more precisely 0.33333333");
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
