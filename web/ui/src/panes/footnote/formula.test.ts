import { expect, test } from "vitest";
import { arithmetic, refName, outcome, refs } from "./formula";

test("finds the cells of a formula", () => {
  expect(
    refs('(r1[17].revenue - r12[0]."net sales") / r1[17].revenue').map((r) => [r.result, r.rows, r.column]),
  ).toEqual([
    ["r1", [17], "revenue"],
    ["r12", [0], "net sales"],
    ["r1", [17], "revenue"],
  ]);
  expect(refs("sum(r1[0,2].n) / sum(r1.n)")).toMatchObject([{ rows: [0, 2], column: "n" }, { column: "n" }]);
  expect(refs("row(r1[3])")).toMatchObject([{ rows: [3] }]);
  expect(refs("sql filter")).toEqual([]);
  expect(refs("question")).toEqual([]);
});

test("writes a formula with its values", () => {
  expect(arithmetic("(r1[17].a - r1[16].a) / r1[16].a", (r) => String(r.rows![0]! * 10))).toBe("(170 − 160) ÷ 160");
  expect(arithmetic("sum(r1[0,2].n)*100", () => "x")).toBe("sum(x) × 100");
});

test("names references", () => {
  expect(refName(refs("r1[2].revenue")[0]!)).toBe("revenue, row 3");
  expect(refName(refs("r1.revenue")[0]!)).toBe("revenue, all rows");
  expect(refName(refs("r1[0,1,2,3,4,5,6,7].n")[0]!)).toBe("n, rows 1, 2, 3, 4, 5, 6 and 2 more");
});

test("formats the outcome like the number in the text", () => {
  expect(outcome({ text: "12.7%", value: "0.126984126984" })).toBe("12.6984%");
  expect(outcome({ text: "12.7%", value: "12.698" })).toBe("12.698");
  expect(outcome({ text: "29,133.50", value: "29133.499999999996" })).toBe("29,133.5");
  expect(outcome({ text: "x" })).toBe("");
});
