// Reads the sheets of a workbook: the stored values of its cells. Dates are recognised by their formats.
import { unzipSync } from "fflate";
import { isoOf, typeOf, column, type Plain, type ReadTable } from "./tables";

const maxUnpacked = 1 << 30; // bytes

export function readXLSX(data: Uint8Array): ReadTable[] {
  let unpacked = 0;
  const wanted =
    /^xl\/(workbook\.xml|_rels\/workbook\.xml\.rels|sharedStrings\.xml|styles\.xml|worksheets\/[^/]+\.xml)$/;
  const files = unzipSync(data, {
    filter: (f) => {
      if (!wanted.test(f.name)) return false;
      unpacked += f.originalSize;
      if (unpacked > maxUnpacked) throw new Error("The workbook is too large.");
      return true;
    },
  });
  const text = (name: string) => (files[name] ? new TextDecoder().decode(files[name]) : "");
  const book = text("xl/workbook.xml");
  if (!book) throw new Error("The file is not a workbook.");
  const strings = sharedStrings(text("xl/sharedStrings.xml"));
  const dates = dateStyles(text("xl/styles.xml"));
  const since1904 = /<workbookPr[^>]*\bdate1904="(1|true)"/.test(book);
  const targets = new Map(
    [...text("xl/_rels/workbook.xml.rels").matchAll(/<Relationship\b[^>]*>/g)].map(([r]) => [
      attr(r, "Id"),
      attr(r, "Target"),
    ]),
  );
  const tables: ReadTable[] = [];
  for (const [tag] of book.matchAll(/<(?:\w+:)?sheet\b[^>]*>/g)) {
    const target = targets.get(attr(tag, "r:id")) ?? "";
    const xml = text(target.startsWith("/") ? target.slice(1) : `xl/${target}`);
    const t = table(attr(tag, "name"), cellsOf(xml, strings, dates, since1904));
    if (t) tables.push(t);
  }
  return tables;
}

function attr(tag: string, name: string): string {
  return unescape(new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1] ?? "");
}

const entities: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

function unescape(s: string): string {
  if (!s.includes("&") && !s.includes("_x")) return s;
  return s
    .replace(/&(#x[0-9a-f]+|#\d+|\w+);/gi, (all, e: string) =>
      e[0] === "#" ? String.fromCodePoint(Number(e[1] === "x" ? `0${e.slice(1)}` : e.slice(1))) : (entities[e] ?? all),
    )
    .replace(/_x([0-9A-F]{4})_/g, (_, h: string) => String.fromCharCode(parseInt(h, 16)));
}

/** Returns the text of runs, without phonetic hints. */
function texts(xml: string): string {
  let s = "";
  for (const m of xml
    .replace(/<rPh\b[\s\S]*?<\/rPh>/g, "")
    .matchAll(/<(?:\w+:)?t(?:\s[^>]*)?>([\s\S]*?)<\/(?:\w+:)?t>/g))
    s += unescape(m[1]!);
  return s;
}

function sharedStrings(xml: string): string[] {
  return [...xml.matchAll(/<(?:\w+:)?si>([\s\S]*?)<\/(?:\w+:)?si>|<(?:\w+:)?si\/>/g)].map((m) => texts(m[1] ?? ""));
}

/** Returns the indices of the cell styles that show a date. */
function dateStyles(xml: string): Set<number> {
  const formats = new Map<number, string>();
  for (const [tag] of xml.matchAll(/<(?:\w+:)?numFmt\b[^>]*>/g))
    formats.set(Number(attr(tag, "numFmtId")), attr(tag, "formatCode"));
  const styles = new Set<number>();
  const list = /<(?:\w+:)?cellXfs\b[^>]*>([\s\S]*?)<\/(?:\w+:)?cellXfs>/.exec(xml)?.[1] ?? "";
  [...list.matchAll(/<(?:\w+:)?xf\b[^>]*>/g)].forEach(([tag], i) => {
    const id = Number(attr(tag, "numFmtId"));
    const code = formats.get(id)?.replace(/"[^"]*"|\[[^\]]*\]|\\./g, "") ?? "";
    if ((id >= 14 && id <= 22) || (id >= 45 && id <= 47) || /[ymdhs]/i.test(code)) styles.add(i);
  });
  return styles;
}

function cellsOf(xml: string, strings: string[], dates: Set<number>, since1904: boolean): Plain[][] {
  const rows: Plain[][] = [];
  for (const [, attrs = "", inside = ""] of xml.matchAll(
    /<(?:\w+:)?row\b([^>]*?)(?:\/>|>([\s\S]*?)<\/(?:\w+:)?row>)/g,
  )) {
    const row: Plain[] = [];
    for (const [, tag = "", body = ""] of inside.matchAll(/<(?:\w+:)?c\b([^>]*?)(?:\/>|>([\s\S]*?)<\/(?:\w+:)?c>)/g)) {
      const ref = /\sr="([A-Z]+)/.exec(tag)?.[1];
      const at = ref ? [...ref].reduce((n, c) => n * 26 + c.charCodeAt(0) - 64, 0) - 1 : row.length;
      if (at > 16_383) continue;
      while (row.length < at) row.push(null);
      row[at] = value(tag, body, strings, dates, since1904);
    }
    const number = Number(/\sr="(\d+)"/.exec(attrs)?.[1] ?? rows.length + 1);
    if (number < 1_048_577) while (rows.length < number - 1 && number - rows.length < 1000) rows.push([]);
    rows.push(row);
  }
  return rows;
}

function value(tag: string, body: string, strings: string[], dates: Set<number>, since1904: boolean): Plain {
  const type = /\st="(\w+)"/.exec(tag)?.[1] ?? "n";
  if (type === "inlineStr") return texts(body) || null;
  const v = /<(?:\w+:)?v(?:\s[^>]*)?>([\s\S]*?)<\/(?:\w+:)?v>/.exec(body)?.[1];
  if (v === undefined) return null;
  switch (type) {
    case "s":
      return strings[Number(v)] ?? null;
    case "str":
    case "d":
      return unescape(v);
    case "b":
      return v === "1";
    case "e":
      return null;
  }
  const n = Number(v);
  if (!Number.isFinite(n)) return null;
  if (!dates.has(Number(/\ss="(\d+)"/.exec(tag)?.[1] ?? -1))) return n;
  // Days since 31 December 1899. Excel counts 29 February 1900, which did not exist.
  const days = since1904 ? n + 1462 : n < 60 ? n + 1 : n;
  return isoOf(new Date(Math.round((days - 25_569) * 86_400_000)));
}

/** Converts a sheet to a table. The header is the first row that is nearly as wide as the widest row, if it has only
 *  texts. Rows above it are ignored. */
function table(name: string, cells: Plain[][]): ReadTable | undefined {
  const filled = (r: Plain[]) => r.filter((c) => c !== null && c !== "").length;
  const widest = cells.slice(0, 200).reduce((n, r) => Math.max(n, filled(r)), 0);
  if (!widest) return undefined;
  const head = cells.findIndex((r) => filled(r) >= Math.max(1, widest * 0.6));
  const first = cells[head]!;
  const titled = first.every((c) => c === null || c === "" || typeof c === "string") && cells.length > head + 1;
  const rows = cells.slice(titled ? head + 1 : head).filter((r) => filled(r) > 0);
  const width = rows.reduce((n, r) => Math.max(n, r.length), first.length);
  const used = new Set<string>();
  const columns: { name: string; type: string; at: number }[] = [];
  for (let i = 0; i < width; i++) {
    const own = titled ? String(first[i] ?? "").trim() : "";
    if (!own && rows.every((r) => (r[i] ?? null) === null)) continue;
    let free = own || `column ${i + 1}`;
    for (let n = 2; used.has(free.toLowerCase()); n++) free = `${own || "column"} ${n}`;
    used.add(free.toLowerCase());
    columns.push({ name: free, type: typeOf(column(rows, i)), at: i });
  }
  return {
    name,
    columns: columns.map(({ name: n, type }) => ({ name: n, type })),
    rows: rows.map((r) => columns.map((c) => text(r[c.at] ?? null, c.type))),
  };
}

/** Converts a value to text if its column has texts. */
function text(v: Plain, type: string): Plain {
  return type === "VARCHAR" && v !== null ? String(v) : v;
}
