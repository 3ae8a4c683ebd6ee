import { describe, expect, it } from "vitest";
import { notesOf } from "../../thread/notes";
import {
  limitCells,
  cellsOf,
  failure,
  TimeoutError,
  OurError,
  QueryError,
  withoutValues,
  type LocalResult,
} from "./cells";
import { awaitedRows, withFigures } from "./figures";
import { firstRows, sniff, toUTF8 } from "./csv";
import { readJSON } from "./json";
import { kindOf, oneSelect, overResults } from "./sql";
import { Statements } from "./statements";
import { ofObjects, tableName, toCSV, typeOf, noValue } from "./tables";

const bytes = (s: string) => new TextEncoder().encode(s);
const words = (b: Uint8Array) => new TextDecoder().decode(b);

describe("sniff", () => {
  it("finds delimiters even if texts contain others", () => {
    expect(sniff(bytes('a,b\n"x;y;z",2\n"p;q;r",3\n')).delimiter).toBe(",");
    expect(sniff(bytes("a;b\n1,5;2,5\n3,5;4,5\n")).delimiter).toBe(";");
    expect(sniff(bytes("a|b\n1|2\n")).delimiter).toBe("|");
    expect(sniff(bytes("a,b\n"), true).delimiter).toBe("\t");
  });
  it("distinguishes a decimal comma from a decimal point", () => {
    expect(sniff(bytes("a;b\n1.234,5;x\n2,5;y\n")).decimalComma).toBe(true);
    expect(sniff(bytes('a,b\n"1,234.5",x\n')).decimalComma).toBe(false);
  });
  it("recognises headers and codes", () => {
    const c = sniff(bytes("zip,n\n01067,1\n80331,2\n"));
    expect([c.header, c.codes]).toEqual([true, ["zip"]]);
    expect(sniff(bytes("1,2\n3,4\n")).header).toBeUndefined();
  });
  it("reads byte order marks and old encodings", () => {
    expect(words(toUTF8(new Uint8Array([0xef, 0xbb, 0xbf, 0x61])))).toBe("a");
    expect(words(toUTF8(new Uint8Array([0xff, 0xfe, 0xe4, 0x00])))).toBe("ä");
    expect(words(toUTF8(new Uint8Array([0x4b, 0xf6, 0x6c, 0x6e])))).toBe("Köln");
  });
  it("keeps quoted line breaks and quotes", () => {
    expect(firstRows('a,"b\n""c"""\r\n1,2', ",", 9)).toEqual([
      ["a", 'b\n"c"'],
      ["1", "2"],
    ]);
  });
});

describe("tables", () => {
  it("finds the type that all values have", () => {
    expect([
      typeOf([1, null, 2]),
      typeOf([1, 2.5]),
      typeOf([true, 1]),
      typeOf(["2025-01-01", "2025-01-01T10:00:00Z"]),
      typeOf([null]),
    ]).toEqual(["BIGINT", "DOUBLE", "VARCHAR", "TIMESTAMP", "VARCHAR"]);
  });
  it("writes tables as CSV", () => {
    const t = ofObjects("t", [
      { a: 'x,"y"', b: null },
      { a: "", b: 2 },
    ]);
    expect(words(toCSV(t))).toBe(`"x,""y""",${noValue}\n"",2\n`);
  });
  it("names tables", () => {
    expect(tableName("Sales 2024 (EU).csv", new Set(["sales_2024_eu"]))).toBe("sales_2024_eu_2");
    expect(tableName("2024.json", new Set())).toBe("t_2024");
  });
  it("reads JSON in its three forms", () => {
    expect(readJSON("f", '[{"a":{"b":1,"c":[2]}}]')[0]).toMatchObject({
      columns: [
        { name: "a.b", type: "BIGINT" },
        { name: "a.c", type: "VARCHAR" },
      ],
      rows: [[1, "[2]"]],
    });
    expect(readJSON("f", '{"a":1}\n{"a":2}')[0]!.rows).toEqual([[1], [2]]);
    expect(readJSON("f", '{"x":[{"a":1}],"y":[{"b":2}]}').map((t) => t.name)).toEqual(["x", "y"]);
    expect(() => readJSON("f", "3")).toThrow("single value");
  });
});

describe("oneSelect", () => {
  it("accepts one statement that reads", () => {
    for (const sql of [
      "SELECT 1;",
      " -- why\nWITH a AS (SELECT 1) FROM a",
      "/* ; */ select ';' -- ;",
      "(SELECT 1)",
      "SELECT $$;$$",
    ])
      expect(oneSelect(sql)).toBeTruthy();
  });
  it("refuses the rest", () => {
    for (const sql of [
      "",
      ";",
      "SELECT 1; DROP TABLE a",
      "DELETE FROM a",
      "COMMIT",
      "SET lock_configuration=false",
      "COPY a TO 'x'",
      "ATTACH 'x'",
      "PRAGMA version",
      "-- x\nDROP TABLE a",
    ])
      expect(() => oneSelect(sql), sql).toThrow();
  });
  it("maps DuckDB types to kinds", () => {
    expect(
      ["HUGEINT", "DECIMAL(18,3)", "TIMESTAMP WITH TIME ZONE", "VARCHAR[]", "STRUCT(a INTEGER)", "TIME"].map(kindOf),
    ).toEqual(["integer", "number", "timestamp", "json", "json", "time"]);
  });
});

describe("what leaves the browser", () => {
  const fullResult = (names: string[], rows: number): LocalResult => ({
    columns: names.map((name) => ({ name })),
    rows: Array.from({ length: rows }, () => names.map(() => "secret")),
    rowCount: rows,
  });
  it("has at most as many cells as allowed", () => {
    for (const allowance of [0, 1, 5, 50, 1000]) {
      const sent = limitCells(
        fullResult(["region", "total"], 600),
        allowance,
        { sql: "SELECT region, total", code: "" },
        [],
      );
      expect(sent.rows.length * 2).toBeLessThanOrEqual(allowance);
      expect(sent.rowCount).toBe(600);
    }
    expect(
      limitCells(fullResult(["region", "total"], 600), 50, { sql: "SELECT region, total", code: "" }, []).rows.length,
    ).toBe(25);
  });
  it("counts names that could be values", () => {
    const r = fullResult(["Alice", "Bob"], 3);
    expect(limitCells(r, 0, { sql: "PIVOT t ON name", code: "" }, ["name"]).columns.map((c) => c.name)).toEqual([
      "column 1",
      "column 2",
    ]);
    const some = limitCells(r, 3, { sql: "PIVOT t ON name", code: "" }, ["name"]);
    expect([some.columns.map((c) => c.name), some.rows.length]).toEqual([["Alice", "Bob"], 0]);
    expect(
      limitCells(
        fullResult(["sum(amount)", "count_star()"], 1),
        0,
        { sql: "SELECT sum(amount), count(*) FROM t", code: "" },
        [],
      ).columns.map((c) => c.name),
    ).toEqual(["sum(amount)", "count_star()"]);
  });
  it("has no values spelled out in single letters, digits or symbols", () => {
    const code = "/* a b c d e i l 0 1 2 3 4 5 6 7 8 9 */ throw Error([...data[0].name].join(' '))";
    expect(withoutValues('Error: { " n a m e " : " a l i c e " , 5 2 0 0 }', ["name"])).not.toMatch(
      /a l i c e|5 2 0 0/,
    );
    const spelled = fullResult(["a l i c e", "5 2 0 0", "😀😀🎉", "a", "share"], 1);
    expect(limitCells(spelled, 0, { sql: "", code }, ["name", "share"]).columns.map((c) => c.name)).toEqual([
      "column 1",
      "column 2",
      "column 3",
      "column 4",
      "share",
    ]);
    expect(
      limitCells(fullResult(["😀😀"], 1), 0, { sql: "PIVOT t ON emoji", code: "" }, ["emoji"]).columns[0]?.name,
    ).toBe("column 1");
  });
  it("has no names that code or a pivot chose by values", () => {
    const names = Array.from({ length: 1000 }, (_, i) => `v${String(i).padStart(3, "0")}`);
    const code = `const t = ${JSON.stringify(names)}; return [Object.fromEntries(data.map((r) => [t[r.salary], 1]))]`;
    const sql = `/* ${names.map((n) => `'${n}'`).join()} */ PIVOT t ON salary`;
    for (const call of [
      { sql: "", code },
      { sql, code: "" },
    ]) {
      const sent = limitCells(fullResult(["v512", "v734", "salary"], 1), 0, call, ["salary"]);
      expect(sent.columns.map((c) => c.name)).toEqual(["column 1", "column 2", "salary"]);
    }
    expect(withoutValues("TypeError: Cannot read properties of undefined (reading 'v512')")).toBe(
      "TypeError: Cannot read properties of undefined (reading '…')",
    );
  });
  it("counts the cells and names to send", () => {
    const r = fullResult(["region", "Alice"], 600);
    const sent = (n: number) => limitCells(r, n, { sql: "PIVOT t ON name", code: "" }, ["region"]);
    expect([cellsOf(sent(0), sent(0)), cellsOf(sent(50), sent(0)), cellsOf(sent(1), sent(0))]).toEqual([0, 49, 1]);
  });
  it("has no values in errors", () => {
    expect(failure("Conversion Error: Could not convert string 'Alice' to INT32", false)).not.toContain("Alice");
    expect(failure("Conversion Error: x", false)).toMatch(/^Conversion Error: /);
    expect(failure('Error: Binder Error: Referenced column "nme" not found', true)).toContain("nme");
    expect(withoutValues("TypeError: Cannot read properties of undefined (reading 'x')", ["x"])).toBe(
      "TypeError: Cannot read properties of undefined (reading 'x')",
    );
    expect(
      failure(
        'Binder Error: Referenced column "x" not found! Candidate bindings: "Alice"',
        true,
        "SELECT x FROM (PIVOT t ON name USING sum(a))",
      ),
    ).not.toContain("Alice");
    expect(failure("Alice Smith Error: Bob", false)).not.toMatch(/Alice|Bob/);
    expect(failure("Out of Memory Error: failed to pin block of size 4711", false)).toMatch(
      /^Out of Memory Error: the statement needs more memory/,
    );
    expect(withoutValues("TypeError: rows.toFixd is not a function")).toBe("TypeError: … is not a function");
    expect(withoutValues("TypeError: Alice is not a function", ["rows"])).not.toContain("Alice");
    expect(withoutValues("Error: no column revenue, id", ["revenue", "id"])).toMatch(/^Error: the code failed/);
    expect(withoutValues("Error: Alice 4711 at a@b.example")).not.toMatch(/Alice|4711|example/);
  });
});

describe("figures that the page adds", () => {
  const answer = { seq: 1, text: "Größe: said.", cites: [], unresolved: [] };
  it("have a footnote at each number", () => {
    const a = withFigures(answer, "r2", {
      columns: [
        { name: "naïve name", kind: "text" },
        { name: "total_amount", kind: "number" },
      ],
      rows: [
        ["Ω|[x](https://evil.test)", 1234.5],
        ["b", null],
        ["c", -7],
      ],
      rowCount: 3,
    });
    expect(a.text).toContain("Ω\\|\\[x\\]\\(https\\:\\/\\/evil\\.test\\)");
    expect(notesOf(a).map((n) => [a.text.slice(n.from, n.to), n.cite!.result, n.cite!.row, n.cite!.column])).toEqual([
      ["1,234.50", "r2", 0, "total_amount"],
      ["-7.00", "r2", 2, "total_amount"],
    ]);
  });
  it("list a single row", () => {
    const a = withFigures(answer, "r1", { columns: [{ name: "number_of_sales", kind: "integer" }], rows: [[5000]] });
    expect(a.text).toContain("- Number of sales: 5,000\n");
    expect(notesOf(a)).toHaveLength(1);
  });
  it("say how many rows there are if not all are shown", () => {
    const a = withFigures(answer, "r1", {
      columns: [{ name: "city", kind: "text" }],
      rows: Array.from({ length: 30 }, (_, i) => [`c${i}`]),
      rowCount: 30,
    });
    expect(a.text).toContain("The first 12 of 30 rows");
  });
  it("have dots in their place until the rows are here", () => {
    const columns = [
      { name: "city", kind: "text" },
      { name: "growth_pct", kind: "number" },
    ];
    const shape = (a: ReturnType<typeof withFigures>) => [
      a.text.split("\n").map((l) => l.split("|").length),
      a.cites.length,
    ];
    for (const n of [1, 5, 30]) {
      const rows = Array.from({ length: n }, (_, i) => [`c${i}`, i]);
      const awaited = withFigures(answer, "r1", awaitedRows({ id: "r1", columns, row_count: n }));
      expect(awaited.text).toMatch(/…/);
      expect(awaited.text).not.toMatch(/NaN|null/);
      expect(shape(awaited)).toEqual(shape(withFigures(answer, "r1", { columns, rows, rowCount: n })));
    }
  });
});

describe("the list of statements", () => {
  const fullResult: LocalResult = { columns: [{ name: "n", kind: "integer" }], rows: [[1]], rowCount: 7 };
  const answers: Record<string, () => Promise<LocalResult>> = {
    "select 1": () => Promise.resolve(fullResult),
    "drop table t": () => Promise.resolve(oneSelect("drop table t")).then(() => fullResult),
    "from 'x.csv'": () => Promise.reject(new QueryError("Permission Error: Scanning CSV files is disabled", true)),
    "select x": () => Promise.reject(new QueryError("Binder Error: no column x", true)),
    "select 2": () => Promise.reject(new TimeoutError("It took too long.")),
    "select 3": () => Promise.reject(new OurError("The engine could not be started.")),
    "": () => Promise.reject(new OurError("There is no statement.")),
  };
  const run = async (tried: Statements, sql: string) =>
    tried.run(sql, async (s) => (answers[s] ?? answers["select 1"]!)()).catch(() => {});

  it("distinguishes refused, failed and late statements", async () => {
    const tried = new Statements();
    for (const sql of Object.keys(answers)) await run(tried, sql);
    expect(tried.all()).toEqual([
      { sql: "select 1", outcome: "executed", row_count: 7 },
      { sql: "drop table t", outcome: "refused" },
      { sql: "from 'x.csv'", outcome: "refused" },
      { sql: "select x", outcome: "failed" },
      { sql: "select 2", outcome: "timed_out" },
      { sql: "select 3", outcome: "failed" },
    ]);
  });
  it("stays within the server's limits", async () => {
    const tried = new Statements();
    for (let i = 0; i < 30; i++) await run(tried, `select ${i} ${"x".repeat(9_000)}`);
    expect(tried.all().map((t) => t.sql.split(" ")[1])).toEqual(Array.from({ length: 11 }, (_, i) => String(19 + i)));
    const short = new Statements();
    for (let i = 0; i < 30; i++) await run(short, `values (${i})`);
    expect(short.all().map((t) => t.sql)).toEqual(Array.from({ length: 20 }, (_, i) => `values (${10 + i})`));
  });
});

describe("statements over results", () => {
  const results = {
    r1: { sql: "SELECT month, sum(x) AS x FROM sales GROUP BY month;" },
    r2: { sql: "SELECT x FROM r1" },
    r3: {},
    r4: { sql: "SUMMARIZE sales" },
    r5: { sql: "SELECT 1 FROM r5" },
  };
  const one = "r1 AS (\nSELECT month, sum(x) AS x FROM sales GROUP BY month\n)";
  it.each([
    ["SELECT * FROM sales", "SELECT * FROM sales"],
    ["SELECT x FROM r1;", `WITH ${one} SELECT x FROM r1`],
    ["SELECT x FROM R2", `WITH ${one}, r2 AS (\nSELECT x FROM r1\n) SELECT x FROM R2`],
    ["with t as (from r1) from t", `with ${one}, t as (from r1) from t`],
    ["WITH RECURSIVE t AS (FROM r1) FROM t", `WITH RECURSIVE ${one}, t AS (FROM r1) FROM t`],
    ["SELECT 'r1' FROM sales -- r2", "SELECT 'r1' FROM sales -- r2"],
    ["FROM r3", "FROM r3"],
    ["FROM r9", "FROM r9"],
    ["FROM r4", "WITH r4 AS (\nSELECT * FROM (SUMMARIZE sales\n)\n) FROM r4"],
    ["FROM r5", "WITH r5 AS (\nSELECT 1 FROM r5\n) FROM r5"],
  ])("%s", (sql, want) => expect(overResults(sql, results, ["sales"])).toBe(want));

  it("a table of a file is not taken for a result", () =>
    expect(overResults("FROM r1", results, ["R1"])).toBe("FROM r1"));
});
