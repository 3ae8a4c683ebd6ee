// Questions to begin with about files in this browser, and a file to try them on.
import type { LocalTable } from "./engine";

const most = 6;

/** Returns questions about the columns of tables. */
export function examples(tables: readonly LocalTable[]): string[] {
  const each = tables.map(ofTable);
  const longest = Math.max(0, ...each.map((e) => e.length));
  const mixed = Array.from({ length: longest }, (_, i) => each.flatMap((e) => e.slice(i, i + 1))).flat();
  return mixed.slice(0, most);
}

const isNumber = /^(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT|UTINYINT|USMALLINT|UINTEGER|UBIGINT|FLOAT|DOUBLE|DECIMAL)/;
const isDate = /^(DATE|TIMESTAMP)/;
const isCode = /(^|[_ ])(id|nr|no|code|zip|year|phone)$/i; // digits that nobody adds up

function ofTable(t: LocalTable): string[] {
  const named = (type: RegExp) =>
    t.columns.filter((c) => type.test(c.type) && !isCode.test(c.name)).map((c) => c.name.replaceAll("_", " "));
  const numbers = named(isNumber).reverse(); // the last one is more often the amount
  const texts = named(/^VARCHAR/);
  const [number] = numbers;
  const [date] = named(isDate);
  return [
    ...(number && texts[0] ? [`Total ${number} by ${texts[0]}`] : []),
    ...(number && date ? [`Total ${number} by month`] : []),
    ...(number && texts[1] ? [`Average ${number} by ${texts[1]}`] : []),
    `How many rows are in ${t.name}?`,
    ...(texts[0] ? [`Number of rows by ${texts[0]}`] : []),
    ...(numbers[1] && texts[0] ? [`Total ${numbers[1]} by ${texts[0]}`] : []),
  ];
}

export const sampleQuestions = [
  "Total revenue by region",
  "Total revenue by month",
  "Average revenue by product",
  "How many rows are in sample_sales?",
];

/** Returns a made-up file with a year of sales. */
export function sampleFile(): File {
  const lines = ["date,region,product,units,revenue"];
  for (let month = 0; month < 12; month++)
    ["North", "South", "West"].forEach((region, r) =>
      ["Tea", "Coffee"].forEach((product, p) => {
        const units = 20 + ((month * 7 + r * 13 + p * 29) % 31) + month;
        const day = String(3 + ((r * 9 + p * 4 + month) % 24)).padStart(2, "0");
        const price = p ? 7.5 : 4.25;
        const date = `2026-${String(month + 1).padStart(2, "0")}-${day}`;
        lines.push([date, region, product, units, (units * price).toFixed(2)].join(","));
      }),
    );
  return new File([lines.join("\n")], "sample_sales.csv", { type: "text/csv" });
}
