import { expect, test } from "vitest";
import { diff, format, lineAndColumn, placeOf, same, tokens } from "./statement";

const statements = [
  `SELECT strftime('%Y-%m', "orders"."ordered_at") AS "month", SUM("order_items"."quantity" * "order_items"."unit_price") AS "revenue" FROM "order_items" JOIN "orders" ON "orders"."id" = "order_items"."order_id" GROUP BY strftime('%Y-%m', "orders"."ordered_at") ORDER BY 1`,
  "SELECT a FROM t WHERE x = 'it''s; FROM -- no' AND y BETWEEN 1 AND 2 OR z IN (SELECT id FROM u WHERE k > -1) LIMIT 5",
  "WITH m AS (SELECT a, count(*) AS n FROM t GROUP BY a) SELECT a, n::text, CASE WHEN n > 3 AND a IS NOT NULL THEN 'x' ELSE 'y' END AS kind FROM m LEFT OUTER JOIN u USING (a) ORDER BY n DESC, a",
  "SELECT 1 UNION ALL SELECT -2",
  "SELECT DISTINCT a, sum(x) OVER (PARTITION BY a ORDER BY b) AS running_total_of_x, lag(x) OVER (ORDER BY b) FROM t; ",
  "SELECT a -- the first\n, b /* both */ FROM t",
  "SELECT EXTRACT(year FROM d), x IS DISTINCT FROM y FROM t",
  "SELECT",
  "SELECT 'open",
  "",
];

test("formatting changes only white space", () => {
  for (const s of statements) {
    expect(
      tokens(s)
        .map((t) => t.text)
        .join(""),
    ).toBe(s);
    expect(same(s, format(s, true)), format(s, true)).toBe(true);
    expect(format(format(s, true), true)).toBe(format(s, true));
  }
});

test("each clause starts a line", () => {
  expect(format(statements[0]!)).toBe(`SELECT
  strftime('%Y-%m', "orders"."ordered_at") AS "month",
  SUM("order_items"."quantity" * "order_items"."unit_price") AS "revenue"
FROM "order_items"
JOIN "orders" ON "orders"."id" = "order_items"."order_id"
GROUP BY strftime('%Y-%m', "orders"."ordered_at")
ORDER BY 1`);
  expect(format(statements[1]!)).toBe(`SELECT a
FROM t
WHERE x = 'it''s; FROM -- no'
  AND y BETWEEN 1 AND 2
  OR z IN (
    SELECT id
    FROM u
    WHERE k > -1
  )
LIMIT 5`);
  expect(format(statements[2]!)).toContain("LEFT OUTER JOIN u USING (a)\n");
  expect(format(statements[2]!)).toContain("WITH m AS (\n  SELECT a, count(*) AS n\n  FROM t\n  GROUP BY a\n)\nSELECT");
});

test("a statement with line breaks is not formatted", () => {
  expect(format("SELECT a\n  FROM t")).toBe("SELECT a\n  FROM t");
});

test("comparing statements ignores white space", () => {
  expect(same("SELECT  a\nFROM t", "SELECT a FROM t")).toBe(true);
  expect(same("SELECT 'a  b'", "SELECT 'a b'")).toBe(false);
  expect(same("SELECT a", "SELECT b")).toBe(false);
});

test("a diff is made of lines", () => {
  expect(diff("a\nb\nc", "a\nx\nc\nd").map((l) => `${l.kind} ${l.text}`)).toEqual([
    "same a",
    "gone b",
    "new x",
    "same c",
    "new d",
  ]);
});

test("finds the position of an error in the statement", () => {
  const sql = "SELECT count(*)\nFRM orders";
  expect(placeOf('near "FRM": syntax error', sql)).toEqual({ from: 16, to: 19 });
  expect(lineAndColumn(sql, 16)).toEqual({ line: 2, column: 1 });
  expect(placeOf("no such column: o.nope", "SELECT o.id, o.nope FROM orders o")).toEqual({ from: 13, to: 19 });
  expect(placeOf('Referenced column "nope" not found in FROM clause! LINE 2: nope', "SELECT a,\nnope FROM t")).toEqual({
    from: 10,
    to: 14,
  });
  expect(placeOf("The server is busy.", sql)).toBe(undefined);
});
