import { ofObjects, type ReadTable } from "./tables";

/** Reads JSON: an array of objects, lines of objects, or an object whose arrays of
 *  objects are tables. */
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
  let whole: unknown;
  try {
    whole = JSON.parse(trimmed);
  } catch (err) {
    const lines = trimmed.split(/\r?\n/).filter((l) => l.trim());
    if (lines.length < 2) throw new Error("The file is no JSON.", { cause: err });
    return lines.map((l, i) => {
      try {
        return JSON.parse(l) as unknown;
      } catch {
        throw new Error(`Line ${i + 1} of the file is no JSON.`);
      }
    });
  }
  if (typeof whole !== "object" || whole === null) throw new Error("The file holds a single value, and no table.");
  return whole as unknown[] | Record<string, unknown>;
}

/** An object with the members of its objects as columns of their own, one level deep. */
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
