// Detects the format of a CSV file from its first rows: encoding, delimiter, header, decimal comma, and columns of
// codes.

export interface CSV {
  data: Uint8Array; // as UTF-8, without a byte order mark
  delimiter: string;
  header: boolean | undefined; // undefined if it is unclear
  decimalComma: boolean;
  /** Columns with leading zeros, such as postal codes, which must not be read as numbers. */
  codes: string[];
}

const sampleRows = 1000;
const delimiters = [",", ";", "\t", "|"];

/** Converts a text to UTF-8. Without a byte order mark, invalid UTF-8 is read as Windows-1252. */
export function toUTF8(data: Uint8Array): Uint8Array {
  if (data[0] === 0xef && data[1] === 0xbb && data[2] === 0xbf) return data.subarray(3);
  if (data[0] === 0xff && data[1] === 0xfe) return recode(data.subarray(2), "utf-16le");
  if (data[0] === 0xfe && data[1] === 0xff) return recode(data.subarray(2), "utf-16be");
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(data);
    return data;
  } catch {
    return recode(data, "windows-1252");
  }
}

const recode = (data: Uint8Array, from: string) => new TextEncoder().encode(new TextDecoder(from).decode(data));

/** Parses the first rows of a text. Quoted fields can contain delimiters and line breaks. */
export function firstRows(text: string, delimiter: string, maxRows: number): string[][] {
  const rows: string[][] = [];
  let row: string[] = [],
    cell = "",
    quoted = false,
    began = false;
  for (let i = 0; i < text.length && rows.length < maxRows; i++) {
    const c = text[i]!;
    if (quoted) {
      if (c === '"' && text[i + 1] === '"') cell += text[++i]!;
      else if (c === '"') quoted = false;
      else cell += c;
    } else if (c === '"' && !began) {
      quoted = began = true;
    } else if (c === delimiter) {
      row.push(cell);
      cell = "";
      began = false;
    } else if (c === "\n" || c === "\r") {
      if (c === "\r" && text[i + 1] === "\n") i++;
      row.push(cell);
      if (row.length > 1 || row[0] !== "") rows.push(row);
      row = [];
      cell = "";
      began = false;
    } else {
      cell += c;
      began = true;
    }
  }
  if (rows.length < maxRows && (cell || row.length)) rows.push([...row, cell]);
  return rows;
}

/** Rates a delimiter: higher if more rows have the same number of columns, and if there are more columns. */
function fit(rows: string[][]): number {
  const widths = new Map<number, number>();
  for (const r of rows) widths.set(r.length, (widths.get(r.length) ?? 0) + 1);
  let best = 0;
  for (const [width, n] of widths) if (width > 1) best = Math.max(best, (n / rows.length) * (1 + Math.log2(width)));
  return best;
}

const commaNumber = /^[-+]?(\d{1,3}(\.\d{3})+|\d+),\d+\s?[€%]?$/;
const dotNumber = /^[-+]?(\d{1,3}(,\d{3})+|\d+)\.\d+\s?[$€£%]?$/;
const numeric = /^[-+]?[\d.,]+\s?[€$£%]?$/;
const dateLike = /^\d{1,4}[-./]\d{1,2}[-./]\d{1,4}/;

/** Detects the format of a CSV file. `tab` sets the delimiter to a tab. */
export function sniff(raw: Uint8Array, tab = false): CSV {
  const data = toUTF8(raw);
  const head = new TextDecoder().decode(data.subarray(0, 512 << 10));
  const delimiter = tab
    ? "\t"
    : delimiters
        .map((d) => ({ d, fits: fit(firstRows(head, d, 50)) }))
        .reduce((a, b) => (b.fits > a.fits + 1e-9 ? b : a)).d;
  const rows = firstRows(head, delimiter, sampleRows);
  const [first = [], ...rest] = rows;
  const named = first.every((c) => c.trim() !== "" && !numeric.test(c.trim()) && !dateLike.test(c.trim()));
  const header = named && new Set(first).size === first.length ? true : undefined;
  let comma = 0,
    dot = 0;
  for (const r of rest) {
    for (const c of r) {
      const v = c.trim();
      if (commaNumber.test(v)) comma++;
      else if (dotNumber.test(v)) dot++;
    }
  }
  const codes = header ? first.filter((_, i) => isCode(rest, i)) : [];
  return { data, delimiter, header, decimalComma: comma > dot, codes };
}

function isCode(rows: string[][], i: number): boolean {
  let leadingZeros = 0;
  for (const r of rows) {
    const v = (r[i] ?? "").trim();
    if (v && !/^\d+$/.test(v)) return false;
    if (/^0\d+$/.test(v)) leadingZeros++;
  }
  return leadingZeros > 0;
}
