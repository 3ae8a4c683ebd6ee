// @vitest-environment happy-dom
import { describe, expect, test } from "vitest";
import type { Cell, ChartSpec, Column } from "../../log/events";
import { choices, compile, type Drawing } from "./compile";
import { toSvg, withText } from "./draw";
import { numberLabels, shortenNames, ticks } from "./labels";
import type { Look, Options } from "./look";
import { additive, pick, type Data } from "./pick";
import { spotAt } from "./scene";
import { label, periods } from "./time";
import { dateColumn } from "./dataEnd";

const look: Look = {
  series: ["#2f62a8", "#c7641a", "#2a8577", "#8c4a92", "#967708", "#4f5b66", "#b03a5b", "#5f8f2e"],
  ink: "#22211e",
  quiet: "#66625a",
  line: "#e5e1d8",
  surface: "#ffffff",
  font: "sans-serif",
  heading: "serif",
  measure: (text, font) => text.length * 0.55 * Number(/(\d+)px/.exec(font)![1]),
};
const now = Date.UTC(2026, 10, 21);
const options = (more: Partial<Options> = {}): Options => ({ width: 600, height: 320, look, now, ...more });

function data(columns: string[], rows: Cell[][], sql = ""): Data {
  const list: Column[] = columns.map((c) => ({ name: c.split(":")[0]!, kind: c.split(":")[1] ?? "text" }));
  return { columns: list, rows, sql };
}

type Chart = Extract<Drawing, { kind: "chart" }>;

function chart(d: Data, spec?: Partial<ChartSpec>, more?: Partial<Options>): Chart {
  const out = compile(d, spec && ({ result: "r1", ...spec } as ChartSpec), options(more));
  if (out.kind !== "chart") throw new Error(`no chart but ${JSON.stringify(out)}`);
  return out;
}

/** Draws a chart as the page does, and returns the SVG. Everything must be within it. */
function svgOf(c: Chart): string {
  const { width, height } = c.scene;
  for (const s of c.scene.shapes) {
    const known = "d" in s ? !/NaN|Infinity|undefined/.test(s.d) : s.at.every(Number.isFinite);
    expect(known, JSON.stringify(s)).toBe(true);
    if ("d" in s) continue;
    const wide = look.measure(s.text, "12px sans-serif");
    const from = s.at[0] - (s.anchor === "end" ? wide : s.anchor === "middle" ? wide / 2 : 0);
    expect(from, `${s.text} begins outside`).toBeGreaterThanOrEqual(0);
    expect(from + wide, `${s.text} ends outside`).toBeLessThanOrEqual(width);
    expect(s.at[1], `${s.text} is too low`).toBeLessThanOrEqual(height);
  }
  return new XMLSerializer().serializeToString(toSvg(c.scene));
}

const texts = (svg: string) => [...svg.matchAll(/<text[^>]*>([^<]+)<\/text>/g)].map((m) => m[1]);

/** Compares what is said with golden/NAME.json, and what is drawn with golden/NAME.svg. */
async function golden(name: string, d: Drawing): Promise<void> {
  const { scene, ...words } = d as Chart;
  await expect(`${JSON.stringify(words, null, 1)}\n`).toMatchFileSnapshot(`golden/${name}.json`);
  if (!scene) return;
  const svg = svgOf(d as Chart).replaceAll("><", ">\n<");
  await expect(`${svg}\n`).toMatchFileSnapshot(`golden/${name}.svg`);
}

const month = (i: number) => `${2025 + Math.floor(i / 12)}-${String((i % 12) + 1).padStart(2, "0")}`;

const cases: Record<string, () => Drawing> = {
  "one value": () => compile(data(["revenue:number"], [[180170.5]]), undefined, options()),
  "months with a gap": () =>
    chart(
      data(
        ["month", "revenue:number"],
        [0, 1, 2, 5, 6, 7].map((i) => [month(i), 1000 + 250.5 * i]),
      ),
      { type: "line", x: "month", y: ["revenue"], title: "Revenue by month" },
    ),
  "a partial last month": () =>
    chart(
      data(
        ["month", "orders:integer"],
        [6, 7, 8, 9].map((i) => [month(12 + i - 0), 40 + i] as Cell[]).concat([["2026-11", 12]]),
      ),
      { type: "line", x: "month", y: ["orders"] },
    ),
  "30 categories": () =>
    chart(
      data(
        ["product", "revenue:number"],
        Array.from({ length: 30 }, (_, i) => [`P${i + 1}`, (i + 1) * 10]),
      ),
    ),
  "two dimensions": () =>
    chart(
      data(
        ["category", "status", "orders:integer"],
        ["Kitchen", "Garden", "Office"].flatMap((c, i) =>
          ["paid", "open"].map((s, j) => [c, s, 10 * (i + 1) + j] as Cell[]),
        ),
      ),
    ),
  "negative values": () =>
    chart(
      data(
        ["region", "profit:number"],
        [
          ["North", 120],
          ["South", -45],
          ["West", 30],
          ["East", -80],
        ],
      ),
    ),
  "long labels": () =>
    chart(
      data(
        ["product", "sold:integer"],
        [
          ["Adjustable standing desk with drawers, oak", 12],
          ["Pour-over coffee maker, six cups", 30],
          ["Enamel mug", 51],
        ],
      ),
    ),
  nulls: () =>
    chart(
      data(
        ["channel", "orders:integer"],
        [
          ["web", 40],
          [null, 7],
          ["phone", null],
          ["shop", 22],
        ],
      ),
    ),
  "huge numbers": () =>
    chart(
      data(
        ["year:integer", "views:integer"],
        [
          [2023, "9007199254740993"],
          [2024, 1.2e16],
          [2025, 3.4e16],
        ],
      ),
      undefined,
      { now: Date.UTC(2026, 5, 1) },
    ),
  "a histogram": () =>
    chart(
      data(
        ["price:number"],
        Array.from({ length: 60 }, (_, i) => [i * 1.5 + 0.25]),
      ),
    ),
  "a pie": () =>
    chart(
      data(
        ["status", "orders:integer"],
        [
          ["paid", 60],
          ["open", 30],
          ["void", 2],
        ],
      ),
      { type: "pie", x: "status", y: ["orders"] },
    ),
  "a pie on a phone": () =>
    chart(
      data(
        ["status", "orders:integer"],
        [
          ["paid", 60],
          ["open", 30],
          ["void", 2],
        ],
      ),
      { type: "pie", x: "status", y: ["orders"] },
      { width: 340, height: 440 },
    ),
  "a small pie": () =>
    chart(
      data(
        ["status", "orders:integer"],
        [
          ["paid", 60],
          ["open", 30],
          ["void", 2],
        ],
      ),
      { type: "pie", x: "status", y: ["orders"] },
      { width: 340, height: 190 },
    ),
  "a month on a phone that is not over": () =>
    chart(
      data(
        ["month", "region", "revenue:number"],
        ["2026-09", "2026-10", "2026-11"].flatMap((m, i) =>
          ["North-East", "South-West and the islands", "Elsewhere"].map((r, j) => [m, r, 1e6 * (i + j + 1)] as Cell[]),
        ),
      ),
      { type: "bar", x: "month", y: ["revenue"], series: "region" },
      { width: 340, height: 260 },
    ),
  "departments in two years": () =>
    chart(
      data(
        ["department", "year 2024:number", "year 2025:number"],
        ["Research and development", "Production", "Marketing and communication", "Sales in Europe"].map(
          (n, i) => [n, 1200 - 250 * i, -400 + 310 * i] as Cell[],
        ),
      ),
      { type: "bar", x: "department", y: ["year 2024", "year 2025"] },
    ),
  "a scatter in three groups": () =>
    chart(
      data(
        ["height:number", "weight:number", "group"],
        Array.from({ length: 24 }, (_, i) => [1.5 + ((i * 7) % 24) / 50, 50 + ((i * 11) % 24) * 1.7, `G${i % 3}`]),
      ),
      { type: "scatter", x: "height", y: ["weight"], series: "group" },
    ),
  "lines through the hours of a day": () =>
    chart(
      data(
        ["at", "temperature:number"],
        Array.from({ length: 30 }, (_, i) => [
          new Date(Date.UTC(2026, 9, 3, 0, 47 * i)).toISOString(),
          i === 12 ? null : Math.round(80 * Math.sin(i / 5)) / 10,
        ]),
      ),
      { type: "line", x: "at", y: ["temperature"] },
    ),
  "a scatter": () =>
    chart(
      data(
        ["height:number", "weight:number"],
        [
          [1.6, 60],
          [1.7, 72],
          [1.9, 88],
        ],
      ),
    ),
  "stacked areas": () =>
    chart(
      data(
        ["month", "category", "revenue:number"],
        [0, 1, 2].flatMap((i) => ["A", "B"].map((c) => [month(i), c, 5 + i] as Cell[])),
      ),
      { type: "area", x: "month", y: ["revenue"], series: "category" },
    ),
};

describe("golden", () => {
  for (const [name, make] of Object.entries(cases)) {
    test(name, async () => {
      await golden(name.replaceAll(" ", "-"), make());
    });
  }
});

test("one value is shown as a number, formatted as in the answer", () => {
  expect(cases["one value"]!()).toMatchObject({ kind: "numbers", figures: [{ name: "revenue", value: "180,170.50" }] });
});

test("a missing month is a gap, never a zero", async () => {
  const c = cases["months with a gap"]!() as Chart;
  expect(c.marks.map((m) => [m.l, m.y])).toContainEqual(["Apr 2025", null]);
  expect(c.marks.some((m) => m.y === 0)).toBe(false);
  expect(c.notes).toEqual(["There are no rows for Apr 2025, May 2025."]);
  const svg = svgOf(c);
  expect(texts(svg)).toContain("Mar 2025");
  // Two pieces of one line.
  expect(svg).toMatch(/d="M[^"]+M[^"]+"/);
});

test("a month that is not over is drawn differently", async () => {
  const c = cases["a partial last month"]!() as Chart;
  expect(c.marks.filter((m) => m.p).map((m) => m.l)).toEqual(["Nov 2026"]);
  expect(c.notes).toEqual(["Nov 2026 is not over yet."]);
  expect(svgOf(c)).toContain("stroke-dasharray");
  const bars = chart(
    data(
      ["month", "orders:integer"],
      [
        ["2026-08", 40],
        ["2026-09", 41],
        ["2026-10", 12],
      ],
    ),
    { type: "bar", x: "month", y: ["orders"] },
    { data: Date.UTC(2026, 9, 12, 10) },
  );
  expect(bars.notes).toEqual(["Oct 2026 is not complete: its data ends on 12 Oct 2026."]);
  expect(svgOf(bars)).toMatch(/opacity="0\.45"/);
  // No note if the data ends with the month.
  expect(
    chart(
      data(
        ["month", "orders:integer"],
        [
          ["2026-09", 41],
          ["2026-10", 12],
        ],
      ),
      undefined,
      { data: Date.UTC(2026, 9, 30, 10) },
    ).notes,
  ).toEqual([]);
});

test("more than twelve names are combined if their values can be added", () => {
  const c = cases["30 categories"]!() as Chart;
  expect(c.marks).toHaveLength(13);
  expect(c.marks[0]).toMatchObject({ l: "P30", y: 300 });
  expect(c.marks.at(-1)).toMatchObject({ l: "Other (18)", y: 1710, o: 1 });
  const rows = Array.from({ length: 30 }, (_, i) => [`P${i}`, i] as Cell[]);
  const avg = chart(data(["product", "x:number"], rows, "SELECT product, avg(price) AS x FROM t"));
  expect(avg.marks).toHaveLength(12);
  expect(avg.notes).toEqual(["The 12 largest of 30 are shown; the table has them all."]);
});

test("bars are sorted by value unless the names have an order", () => {
  const order = (rows: Cell[][], spec?: Partial<ChartSpec>) =>
    chart(data(["day", "n:integer"], rows), { type: "bar", x: "day", y: ["n"], ...spec }).marks.map((m) => m.l);
  expect(
    order([
      ["b", 1],
      ["a", 3],
      ["c", 2],
    ]),
  ).toEqual(["a", "c", "b"]);
  expect(
    order(
      [
        ["b", 1],
        ["a", 3],
        ["c", 2],
      ],
      { sort: "x" },
    ),
  ).toEqual(["a", "b", "c"]);
  expect(
    order([
      ["Sunday", 9],
      ["Monday", 1],
      ["Friday", 3],
    ]),
  ).toEqual(["Monday", "Friday", "Sunday"]);
  expect(
    order([
      ["0-9", 1],
      ["10-19", 7],
      ["20+", 3],
    ]),
  ).toEqual(["0-9", "10-19", "20+"]);
  expect(
    order([
      ["2026-02", 1],
      ["2026-01", 9],
    ]),
  ).toEqual(["Jan 2026", "Feb 2026"]);
});

/** Returns the outlines of the bars, which are after the frame. */
const barsOf = (c: Chart) =>
  c.scene.shapes.flatMap((s) => {
    if (!("d" in s) || !s.d.endsWith("Z") || s.at) return [];
    const n = [...s.d.matchAll(/(-?[\d.]+),(-?[\d.]+)/g)].map((m) => [Number(m[1]), Number(m[2])] as const);
    const [xs, ys] = [n.map((p) => p[0]), n.map((p) => p[1])];
    return [{ left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys) }];
  });

test("two dimensions are stacked if they can be added, otherwise side by side", () => {
  const stacked = barsOf(cases["two dimensions"]!() as Chart);
  const first = stacked.filter((b) => b.left === stacked[0]!.left);
  expect(first).toHaveLength(2);
  expect(Math.max(...first.map((b) => b.top))).toBe(Math.min(...first.map((b) => b.bottom)));
  const avg = barsOf(
    chart(
      data(
        ["category", "status", "avg_price:number"],
        ["K", "G"].flatMap((k) => ["a", "b"].map((s) => [k, s, 3] as Cell[])),
      ),
    ),
  );
  expect(new Set(avg.map((b) => b.left)).size).toBe(4);
  expect(new Set(avg.map((b) => b.bottom)).size).toBe(1);
});

test("long names make horizontal bars, and bars start at zero", () => {
  const bars = barsOf(cases["long labels"]!() as Chart);
  expect(new Set(bars.map((b) => b.left)).size).toBe(1);
  const [least, most] = [
    Math.min(...bars.map((b) => b.right - b.left)),
    Math.max(...bars.map((b) => b.right - b.left)),
  ];
  expect(least / most).toBeCloseTo(12 / 51, 2);
});

test("numbers on an axis have one unit", () => {
  expect([0, 1_200_000, -400_000].map(numberLabels(1_400_000))).toEqual(["0", "1.2 M", "-0.4 M"]);
  expect(numberLabels(90_000)(12_500)).toBe("12,500");
  expect(numberLabels(90_000, "€")(-12_500)).toBe("-€12,500");
  expect(numberLabels(3e17)(0.1 + 2e17)).toBe("2e+17");
});

test("the axis and the figure of amounts have their currency", async () => {
  const bars = data(["city", "total_inr:number"], [["Pune", 1_200_000], ["Goa", 300_000]]); // prettier-ignore
  const drawn = texts(svgOf(chart(bars, { type: "bar", x: "city", y: ["total_inr"] })));
  expect(drawn).toContain("₹1.2 M");
  expect(drawn).toContain("total");
  const one = compile(data(["total:number", "currency"], [[12.5, "GBP"]]), undefined, options()) as {
    figures: unknown;
  };
  expect(one.figures).toEqual([{ name: "total", value: "£12.50" }]);
});

test("1.2 M is written on the axis", async () => {
  const svg = svgOf(
    chart(
      data(
        ["city", "people:integer"],
        [
          ["A", 1_150_000],
          ["B", 800_000],
        ],
      ),
    ),
  );
  expect(texts(svg)).toContain("1.2 M");
});

test("labels of periods never overlap", () => {
  for (const n of [3, 18, 40, 120]) {
    for (const width of [200, 320, 600]) {
      const begins = Array.from({ length: n }, (_, i) => Date.UTC(2025, i, 1));
      const some = ticks(
        begins.map((t) => label("month", t)),
        begins,
        "month",
        width,
      );
      expect(some.length * 8 * 6.4).toBeLessThanOrEqual(Math.max(width, 52) + 52);
      expect(some.length).toBeGreaterThan(0);
    }
  }
  const begins = Array.from({ length: 18 }, (_, i) => Date.UTC(2025, 4 + i, 1));
  expect(
    ticks(
      begins.map((t) => label("month", t)),
      begins,
      "month",
      500,
    ),
  ).toEqual(["Jul 2025", "Oct 2025", "Jan 2026", "Apr 2026", "Jul 2026", "Oct 2026"]);
});

test("a pie has six parts at most", () => {
  const seven = data(
    ["s", "n:integer"],
    Array.from({ length: 7 }, (_, i) => [`s${i}`, i + 1]),
  );
  const c = chart(seven, { type: "pie", x: "s", y: ["n"] });
  expect(c.type).toBe("bar");
  expect(c.notes[0]).toBe("Too many slices for a pie; showing bars.");
  expect(
    choices(seven, { result: "r1", type: "bar", x: "s", y: ["n"] }).find((x) => x.type === "pie")?.off,
  ).toBeDefined();
});

test("the axis of a line excludes zero only for small variations, and says so", () => {
  const line = (...ys: number[]) =>
    chart(
      data(
        ["month", "n:integer"],
        ys.map((y, i) => [month(i), y]),
      ),
      { type: "line", x: "month", y: ["n"] },
    ).notes;
  expect(line(63, 71, 80)).toEqual([]);
  expect(line(1000, 1010, 1005)).toEqual(["The axis does not start at zero."]);
});

test("choosing another type keeps the columns of the spec", () => {
  const d = data(
    ["month", "a:integer", "b:integer"],
    [
      ["2026-01", 1, 10],
      ["2026-02", 2, 20],
      ["2026-03", 3, 30],
    ],
  );
  const spec = { result: "r1", type: "line", x: "month", y: ["b"] } as ChartSpec;
  for (const type of ["bar", "area", "scatter"] as const) {
    const c = chart(d, spec, { type });
    expect(c.type).toBe(type);
    expect(c.marks.map((m) => m.y)).toEqual([10, 20, 30]);
  }
  expect(compile(d, spec, options({ type: "table" }))).toEqual({ kind: "table" });
});

test("a column's name is never an expression", async () => {
  const bad = "a.b[0]'];alert(1)//";
  const c = chart({
    columns: [
      { name: bad, kind: "text" },
      { name: `datum.${bad}`, kind: "integer" },
    ],
    rows: [
      ["x'\"\\<b>", 1],
      ["</svg>", 2],
      ["", 3],
    ],
  });
  const svg = svgOf(c);
  expect(svg).not.toContain("<b>");
  expect(texts(svg)).toContain("(empty)");
  expect(svg.indexOf("</svg>")).toBe(svg.length - "</svg>".length);
});

test("says why there is nothing to draw", () => {
  expect(compile(data(["a"], []), undefined, options())).toMatchObject({
    kind: "none",
    why: "The result has no rows.",
  });
  expect(compile(data(["a"], [["x"], ["y"]]), undefined, options()).kind).toBe("none");
  expect(
    compile(
      data(
        ["a", "n:integer"],
        [
          ["x", null],
          ["y", null],
        ],
      ),
      undefined,
      options(),
    ),
  ).toMatchObject({ kind: "none", why: "Every value is missing." });
});

test("suggests a chart for a result without a spec", () => {
  const kinds = (columns: string[], rows: Cell[][]) => pick(data(columns, rows)).type;
  expect(
    kinds(
      ["day:date", "n:integer"],
      [
        ["2026-01-01", 1],
        ["2026-01-02", 2],
        ["2026-01-03", 2],
      ],
    ),
  ).toBe("line");
  expect(
    kinds(
      ["year:integer", "n:integer"],
      [
        [2024, 1],
        [2025, 2],
      ],
    ),
  ).toBe("bar");
  expect(
    kinds(
      ["city", "n:integer"],
      [
        ["a", 1],
        ["b", 2],
      ],
    ),
  ).toBe("bar");
  expect(
    kinds(
      ["id:integer", "name", "n:integer"],
      [
        [1, "a", 3],
        [2, "b", 4],
      ],
    ),
  ).toBe("bar");
  expect(
    pick(
      data(
        ["id:integer", "name", "n:integer"],
        [
          [1, "a", 3],
          [2, "b", 4],
        ],
      ),
    ).x,
  ).toBe(1);
});

test("recognises columns that can be added", () => {
  expect(additive({ name: "revenue" }, "SELECT sum(x) AS revenue")).toBe(true);
  expect(additive({ name: "avg_price" })).toBe(false);
  expect(additive({ name: "customers" }, 'SELECT count(DISTINCT customer_id) AS "customers"')).toBe(false);
  expect(additive({ name: "n" }, "SELECT avg(price) AS m, count(*) AS n")).toBe(true);
});

test("recognises periods", () => {
  const unit = (name: string, ...v: Cell[]) => periods({ name }, v)?.unit;
  expect(unit("month", "2026-01", "2026-02")).toBe("month");
  expect(unit("m", "2026-01-01", "2026-02-01")).toBe("month");
  expect(unit("q", "2025-Q4", "2026-Q1")).toBe("quarter");
  expect(unit("day", "2026-01-05", "2026-01-06")).toBe("day");
  expect(unit("t", "2026-01-05T10:00:00Z", "2026-01-05T11:30:00Z")).toBe("moment");
  expect(unit("year", 2024, 2025)).toBe("year");
  expect(unit("orders", 2024, 2025)).toBe(undefined);
  expect(unit("month", "2026-13-45x")).toBe(undefined);
});

test("finds the date column of a statement", () => {
  const schema = {
    name: "shop",
    engine: "sqlite",
    tables: [
      {
        name: "orders",
        columns: [
          { name: "id", type: "INTEGER" },
          { name: "ordered_at", type: "TIMESTAMP" },
          { name: "shipped_at", type: "TIMESTAMP" },
        ],
      },
    ],
  };
  expect(dateColumn(`SELECT strftime('%Y-%m', "orders"."ordered_at") FROM orders`, schema)).toEqual({
    table: "orders",
    column: "ordered_at",
  });
  expect(dateColumn("SELECT ordered_at, shipped_at FROM orders", schema)).toBe(undefined);
});

describe("unusual data", () => {
  const bars = (n: number, value: (i: number) => Cell, name = "g") =>
    chart(
      data(
        ["name", "profit:number"],
        Array.from({ length: n }, (_, i) => [`${name}${i}`, value(i)]),
      ),
    );

  test("horizontal bars on both sides of zero", async () => {
    svgOf(bars(9, (i) => (i - 4) * 1234.5, "a department with a long name "));
  });

  test("bars that are all zero are at the bottom", async () => {
    const svg = svgOf(bars(4, () => 0));
    expect(texts(svg)).toContain("0");
    expect(texts(svg)).not.toContain("0.5");
  });

  test("ten thousand names", () => {
    const c = bars(10_000, (i) => i);
    expect(c.marks).toHaveLength(12);
    expect(c.notes).toEqual([
      "The 12 largest of 10,000 are shown; the table has them all. The sum of the other 9,988 is 49,875,078.",
    ]);
  });

  test("names the measures that are not drawn", () => {
    const d = data(
      ["month", "revenue:number", "orders:integer"],
      [0, 1, 2, 3].map((i) => [month(i), 1e6 * (i + 1), i]),
    );
    expect(chart(d).notes).toEqual(["orders is not drawn here, only in the table."]);
  });

  test("amounts in several currencies are never added", () => {
    const d = data(
      ["month", "currency", "amount:number"],
      [0, 1, 2].flatMap((i) => ["EUR", "JPY"].map((c) => [month(i), c, 5 + i] as Cell[])),
    );
    const c = chart(d, { type: "bar", x: "month", y: ["amount"], series: "currency" });
    expect(new Set(barsOf(c).map((b) => b.left)).size).toBe(6); // side by side
    expect(c.notes).toEqual(["One axis shows several currencies: EUR, JPY."]);
  });

  test("a single row names what its figures are about", () => {
    expect(compile(data(["city", "revenue:number"], [["Berlin", 12]]), undefined, options())).toMatchObject({
      kind: "numbers",
      of: "Berlin",
    });
  });

  test("long names with the same beginning keep the part that differs", async () => {
    expect(shortenNames(["north", "south"], 10)).toBeUndefined();
    expect(shortenNames(["a rather long name", "another long name"], 10)).toBeUndefined();
    expect(shortenNames(["column number 1 of it", "column number 2 of it"], 12)).toEqual([
      "…ber 1 of it",
      "…ber 2 of it",
    ]);
    const svg = svgOf(bars(6, (i) => i, "A department with a truly excessive and unabbreviated name, number "));
    expect(texts(svg).filter((t) => /number \d$/.test(t!))).toHaveLength(6);
  });

  test("very large and very small numbers", async () => {
    expect(texts(svgOf(bars(3, (i) => i * 1e17)))).toContain("2e+17");
    expect(texts(svgOf(bars(3, (i) => i * 1e-9)))).toContain("0");
  });
});

test("the pointer finds a bar, a slice, and the nearest point", () => {
  const named = (c: Chart, x: number, y: number) => c.marks.find((m) => m.i === spotAt(c.scene.spots, x, y)?.i)?.l;
  const bars = cases["long labels"]!() as Chart;
  const [widest] = barsOf(bars);
  expect(named(bars, widest!.left + 5, widest!.top + 5)).toBe("Enamel mug");
  expect(named(bars, 2, widest!.top + 5)).toBeUndefined();
  const pie = cases["a pie"]!() as Chart;
  for (const s of pie.scene.spots) expect(named(pie, s.x, s.y)).toBe(pie.marks[s.i]!.l);
  const line = cases["months with a gap"]!() as Chart;
  const feb = line.scene.spots[1]!;
  expect(named(line, feb.x + 6, feb.y - 6)).toBe("Feb 2025");
  expect(named(line, feb.x, feb.y + 60)).toBeUndefined();
});

test("a saved chart has its title above and its notes below, in lines that fit", () => {
  const c = cases["months with a gap"]!() as Chart;
  const whole = withText(c.scene, "title ".repeat(30).trim(), ["note ".repeat(60).trim()], look);
  const svg = new XMLSerializer().serializeToString(toSvg(whole));
  expect(texts(svg).filter((t) => t!.startsWith("title")).length).toBeGreaterThan(1);
  expect(texts(svg).filter((t) => t!.startsWith("note")).length).toBeGreaterThan(1);
  expect(whole.height).toBeGreaterThan(c.scene.height + 24 + 18);
  const shown = svgOf(c);
  for (const t of texts(shown)) expect(texts(svg)).toContain(t);
});

test("a stack of areas draws the period that is not over, paler", () => {
  const rows = ["2026-09", "2026-10", "2026-11"].flatMap((m) => ["A", "B"].map((c) => [m, c, 5] as Cell[]));
  const c = chart(data(["month", "category", "revenue:number"], rows), {
    ...{ type: "area", x: "month", y: ["revenue"], series: "category" },
  });
  const pale = c.scene.shapes.filter((s) => "d" in s && s.fillOpacity && s.fillOpacity < 0.4);
  expect(pale).toHaveLength(2);
});
