// Writes rows that are only in this browser as files, in the formats that the server uses for its own rows.
import { strToU8, zip } from "fflate";
import type { Cell, Column } from "../log/events";

export interface Sheet {
  columns: readonly Column[];
  rows: readonly (readonly Cell[])[];
}

const plainNumber = /^[-+]?[0-9]+(\.[0-9]+)?$/;

/** Puts an apostrophe before a text that a spreadsheet would run as a formula. Signed numbers are unchanged. */
export function escapeFormula(s: string): string {
  return /^ *[=+\-@\t\r\n＝＋－＠]/.test(s) && !plainNumber.test(s) ? `'${s}` : s;
}

/** Counts the names and cells that escapeFormula changes. */
export function formulas({ columns, rows }: Sheet): number {
  const texts = [columns.map((c) => c.name), ...rows].flat();
  return texts.filter((v) => typeof v === "string" && escapeFormula(v) !== v).length;
}

const cellText = (v: Cell) => (v === null ? "" : escapeFormula(String(v)));

export function csv({ columns, rows }: Sheet): Blob {
  const field = (s: string) => (/[",\r\n]|^ | $/.test(s) ? `"${s.replaceAll('"', '""')}"` : s);
  const line = (cells: readonly string[]) => `${cells.map(field).join(",")}\r\n`;
  return new Blob([line(columns.map((c) => escapeFormula(c.name))), ...rows.map((r) => line(r.map(cellText)))], {
    type: "text/csv;charset=utf-8",
  });
}

/** Writes an array of objects. Columns that share a name are numbered from the second on. */
export function json({ columns, rows }: Sheet): Blob {
  const names = distinct(columns.map((c) => c.name));
  const lines = rows.map(
    (r, i) => `${i ? "," : ""}\n${JSON.stringify(Object.fromEntries(names.map((n, j) => [n, r[j] ?? null])))}`,
  );
  return new Blob(["[", ...lines, "\n]\n"], { type: "application/json" });
}

function distinct(names: readonly string[]): string[] {
  const taken = new Set<string>();
  return names.map((name) => {
    let free = name;
    for (let n = 2; taken.has(free); n++) free = `${name}_${n}`;
    taken.add(free);
    return free;
  });
}

// The limits of a spreadsheet, without the header row.
const maxRows = 1_048_575;
const maxCellLength = 32_767;

const escaped = (s: string) =>
  s
    .slice(0, maxCellLength)
    .replace(
      /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g,
      "\ufffd",
    )
    .replace(/[&<>]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[c]!);

const text = (s: string, style = "") =>
  `<c t="inlineStr"${style}><is><t xml:space="preserve">${escaped(s)}</t></is></c>`;

/** The serial number of a date in a spreadsheet. Undefined before March 1900, where spreadsheets disagree. */
function serial(v: string): number | undefined {
  const ms = Date.parse(v.length > 10 ? `${v.replace(" ", "T").replace(/Z$/, "")}Z` : v);
  const days = (ms - Date.UTC(1899, 11, 30)) / 86_400_000;
  return days > 60 ? days : undefined;
}

function cell(v: Cell, kind = ""): string {
  if (v === null || v === "") return "<c/>";
  if (typeof v === "number") return `<c><v>${v}</v></c>`;
  if (typeof v === "boolean") return `<c t="b"><v>${v ? 1 : 0}</v></c>`;
  const day = kind === "date" || kind === "timestamp" ? serial(v) : undefined;
  if (day !== undefined) return `<c s="${kind === "date" ? 2 : 3}"><v>${day}</v></c>`;
  return text(escapeFormula(v));
}

const head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"';
const office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const packages = "http://schemas.openxmlformats.org/package/2006";

const parts: Record<string, string> = {
  "[Content_Types].xml": `<Types xmlns="${packages}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/><Override PartName="/xl/styles.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.styles+xml"/></Types>`,
  "_rels/.rels": `<Relationships xmlns="${packages}/relationships"><Relationship Id="rId1" Type="${office}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
  "xl/workbook.xml": `<workbook ${main} xmlns:r="${office}"><sheets><sheet name="Result" sheetId="1" r:id="rId1"/></sheets></workbook>`,
  "xl/_rels/workbook.xml.rels": `<Relationships xmlns="${packages}/relationships"><Relationship Id="rId1" Type="${office}/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="${office}/styles" Target="styles.xml"/></Relationships>`,
  "xl/styles.xml": `<styleSheet ${main}><numFmts count="2"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/><numFmt numFmtId="165" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss"/></numFmts><fonts count="2"><font><sz val="11"/><name val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font></fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="4"><xf/><xf fontId="1" applyFont="1"/><xf numFmtId="164" applyNumberFormat="1"/><xf numFmtId="165" applyNumberFormat="1"/></cellXfs></styleSheet>`,
};

export function xlsx({ columns, rows }: Sheet): Promise<Blob> {
  const line = (cells: string) => `<row>${cells}</row>`;
  const sheet = [
    `<worksheet ${main}><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><sheetData>`,
    line(columns.map((c) => text(escapeFormula(c.name), ' s="1"')).join("")),
    ...rows.slice(0, maxRows).map((r) => line(r.map((v, j) => cell(v, columns[j]!.kind)).join(""))),
    "</sheetData></worksheet>",
  ];
  const files: Record<string, Uint8Array> = { "xl/worksheets/sheet1.xml": strToU8(head + sheet.join("")) };
  for (const [name, xml] of Object.entries(parts)) files[name] = strToU8(head + xml);
  return new Promise((resolve, reject) =>
    zip(files, { level: 6 }, (err, data) =>
      err
        ? reject(err)
        : resolve(
            new Blob([data as Uint8Array<ArrayBuffer>], {
              type: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            }),
          ),
    ),
  );
}
