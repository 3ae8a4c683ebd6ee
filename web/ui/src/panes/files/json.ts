import { ofObjects, type ReadTable } from "./tables";

/** Reads JSON: an array of objects, an object per line, or an object whose arrays of objects become tables. */
export function readJSON(name: string, text: string): ReadTable[] {
  const data = parse(text);
  if (Array.isArray(data)) return [ofObjects(name, data.map(flat))];
  const tables: ReadTable[] = [];
  for (const [key, v] of Object.entries(data)) {
    if (Array.isArray(v) && v.length > 0 && v.every((x) => typeof x === "object" && x !== null && !Array.isArray(x))) {
      tables.push(ofObjects(key, v.map(flat)));
    }
  }
  return tables.length ? tables : [ofObjects(name, [flat(data)])];
}

function parse(text: string): unknown[] | Record<string, unknown> {
  const trimmed = text.trim();
  let value: unknown;
  try {
    value = JSON.parse(trimmed);
  } catch (err) {
    const lines = trimmed.split(/\r?\n/).filter((l) => l.trim());
    if (lines.length < 2) throw new Error("The file is not valid JSON.", { cause: err });
    return lines.map((l, i) => {
      try {
        return JSON.parse(l) as unknown;
      } catch {
        throw new Error(`Line ${i + 1} of the file is not valid JSON.`);
      }
    });
  }
  if (typeof value !== "object" || value === null) throw new Error("The file has a single value and no table.");
  return value as unknown[] | Record<string, unknown>;
}

/** Flattens the nested objects of an object, one level deep. */
function flat(v: unknown): Record<string, unknown> {
  if (typeof v !== "object" || v === null || Array.isArray(v)) return { value: v };
  const out: Record<string, unknown> = {};
  for (const [k, x] of Object.entries(v)) {
    if (typeof x === "object" && x !== null && !Array.isArray(x))
      for (const [inner, y] of Object.entries(x)) out[`${k}.${inner}`] = y;
    else out[k] = x;
  }
  return out;
}
