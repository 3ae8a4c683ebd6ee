import { expect, test } from "vitest";
import type { Cell, Column } from "../../log/events";
import type { Filter } from "./filter";
import { order, parameters } from "./rows";

const columns: Column[] = [
  { name: "city", kind: "text" },
  { name: "price", kind: "decimal" },
  { name: "city", kind: "text" },
];
const rows: Cell[][] = [
  ["Berlin", "10.50", "x"],
  [null, null, null],
  ["aachen", "9.99", "y"],
  ["Zürich", "100", "z"],
];
const filter = (column: number, op: Filter["op"], value = ""): Filter => ({ column, op, value });

test("a view has the server's parameters", () => {
  expect(parameters(columns, { filters: [] })).toBe("");
  const view = {
    sort: { column: 1, down: true },
    filters: [filter(0, "contains", "a:b & c"), filter(2, "empty", "left over")],
  };
  const got = new URLSearchParams(parameters(columns, view));
  expect(got.getAll("filter")).toEqual(["city:contains:a:b & c", "city_2:empty"]);
  expect(got.getAll("sort")).toEqual(["price:desc"]);
});

test.each([
  [{ column: 0, down: false }, [], [2, 0, 3, 1]],
  [{ column: 1, down: true }, [], [3, 0, 2, 1]],
  [undefined, [filter(0, "contains", "R")], [0, 3]],
  [undefined, [filter(0, "eq", "AACHEN")], [2]],
  [undefined, [filter(0, "ne", "berlin")], [1, 2, 3]],
  [undefined, [filter(1, "gt", "9.99")], [0, 3]],
  [undefined, [filter(1, "le", "10.5"), filter(0, "filled")], [0, 2]],
  [undefined, [filter(1, "eq", "cheap")], []],
  [{ column: 1, down: false }, [filter(2, "empty")], [1]],
])("rows in the browser are sorted by %j and filtered by %j", (sort, filters, want) => {
  expect([...order(rows, columns, { sort, filters })]).toEqual(want);
});
