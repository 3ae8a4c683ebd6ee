// Describes drawings and their changes in words.
import { round } from "./edit";
import { kindOf, nameOf } from "./shape";
import { seconds, type Change, type Drawing, type MarketEvent } from "./types";

/** One field that changed, before and after. */
export interface Diff {
  field: string;
  from: string;
  to: string;
}

const fields: Record<string, string> = {
  price: "Price",
  anchors: "Place",
  entry: "Entry",
  takeProfit: "Target",
  stopLoss: "Stop",
  riskReward: "Risk/reward",
  lineStyle: "Line",
  lineWidth: "Width",
  fillColor: "Fill",
  markerType: "Mark",
  text: "Text",
  label: "Label",
  color: "Colour",
  notes: "Notes",
  tags: "Tags",
  importance: "Importance",
  visibility: "Shown on",
  status: "Status",
  levels: "Levels",
  extend: "Extends",
  size: "Size",
  locked: "Locked",
  hidden: "Hidden",
  timeframe: "Timeframe",
};

const prices = new Set(["price", "entry", "takeProfit", "stopLoss"]);

export const moving = ["price", "anchors", "entry", "takeProfit", "stopLoss"];

/** Returns the fields that a change changed, prices and times first. */
export function diffs(c: Change, digits: number): Diff[] {
  const timed = (c.after ?? c.before)?.type === "vertical_line";
  const all = Object.entries(c.changes ?? {}).filter(([field]) => field in fields);
  return [
    ...all.filter(([field]) => moving.includes(field)),
    ...all.filter(([field]) => !moving.includes(field)),
  ].flatMap(([field, { from, to }]) =>
    field === "anchors"
      ? places(from, to, digits).filter((d) => !(timed && d.field.endsWith("price")))
      : [{ field: fields[field]!, from: value(field, from, digits), to: value(field, to, digits) }],
  );
}

function value(field: string, v: unknown, digits: number): string {
  if (v === undefined || v === null || v === "") return "none";
  if (prices.has(field) && typeof v === "number") return v.toFixed(digits);
  if (typeof v === "number") return String(round(v, 3));
  if (typeof v === "boolean") return v ? "yes" : "no";
  if (Array.isArray(v)) return v.length ? v.join(", ") : field === "visibility" ? "all" : "none";
  return String(v);
}

export const when = new Intl.DateTimeFormat("en-GB", {
  timeZone: "UTC",
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
});

/** Returns the differences between anchors. */
function places(from: unknown, to: unknown, digits: number): Diff[] {
  const [a, b] = [from, to].map((l) => (Array.isArray(l) ? (l as { time: number; price: number }[]) : []));
  const out: Diff[] = [];
  for (let i = 0; i < Math.max(a!.length, b!.length); i++) {
    const [p, q] = [a![i], b![i]];
    const name = Math.max(a!.length, b!.length) > 1 ? ["From", "To"][i]! : "Place";
    if (p?.price !== q?.price)
      out.push({
        field: `${name}, price`,
        from: p ? p.price.toFixed(digits) : "none",
        to: q ? q.price.toFixed(digits) : "none",
      });
    if (p?.time !== q?.time)
      out.push({
        field: `${name}, time`,
        from: p ? when.format(p.time * 1000) : "none",
        to: q ? when.format(q.time * 1000) : "none",
      });
  }
  return out;
}

/** Returns the headline of a change: "Moved Support 1.0950 → 1.0920". */
export function headline(c: Change, digits: number): string {
  const d = c.after ?? c.before;
  const name = d ? nameOf(d) : "a drawing";
  switch (c.action) {
    case "create":
      return `Drew ${name}${at(d, digits)}`;
    case "import":
      return c.after ? `Imported ${name}` : `Removed ${name}, by an import`;
    case "remove":
      return `Removed ${name}`;
    case "undo":
      return `Undid: ${name}`;
    case "redo":
      return `Redid: ${name}`;
    case "update":
      return updated(c, name, digits);
  }
}

function at(d: Drawing | null | undefined, digits: number): string {
  const p = d?.price ?? d?.entry ?? (d?.type === "horizontal_ray" ? d.anchors?.[0]?.price : undefined);
  return p === undefined ? "" : ` at ${p.toFixed(digits)}`;
}

function updated(c: Change, name: string, digits: number): string {
  const keys = Object.keys(c.changes ?? {}).filter((k) => k !== "riskReward");
  const only = (k: string) => keys.length === 1 && keys[0] === k;
  const on = (k: string) => c.changes?.[k]?.to === true;
  if (only("locked")) return `${on("locked") ? "Locked" : "Unlocked"} ${name}`;
  if (only("hidden")) return `${on("hidden") ? "Hid" : "Showed"} ${name}`;
  if (only("status")) return `${name}: ${String(c.changes?.status?.from ?? "none")} → ${String(c.changes?.status?.to)}`;
  if (keys.some((k) => moving.includes(k))) {
    const moves = Object.fromEntries(Object.entries(c.changes ?? {}).filter(([k]) => moving.includes(k)));
    const first = diffs({ ...c, changes: moves }, digits).find((d) => !d.field.endsWith("time"));
    return first && /\d/.test(first.from) ? `Moved ${name} ${first.from} → ${first.to}` : `Moved ${name}`;
  }
  return `Changed ${name}`;
}

/** Formats the time of a drawing's first anchor. */
export const timeOf = (d: Drawing): string => (d.anchors?.[0] ? when.format(d.anchors[0].time * 1000) : "");

/** Describes a drawing for screen readers. */
export function describe(d: Drawing, digits: number): string {
  const words = [kindOf(d)];
  if (d.label || d.text) words.push(d.label || d.text!);
  if (d.price !== undefined) words.push(`at ${d.price.toFixed(digits)}`);
  else if (d.entry !== undefined)
    words.push(
      `entry ${d.entry.toFixed(digits)}, target ${d.takeProfit?.toFixed(digits)}, stop ${d.stopLoss?.toFixed(digits)}`,
    );
  else if (d.type === "vertical_line") words.push(`on ${timeOf(d)}`);
  else if (d.anchors?.length)
    words.push(d.anchors.map((a) => `${a.price.toFixed(digits)} on ${when.format(a.time * 1000)}`).join(" to "));
  if (d.locked) words.push("locked");
  return words.join(", ");
}

/** Describes a release for screen readers. */
export function published(e: MarketEvent): string {
  const values = (["actual", "forecast", "previous"] as const).filter(
    (k) => e[k] !== null && e[k] !== undefined && e[k] !== "",
  );
  return [
    `${e.title}, ${e.currency}, ${e.impact}, ${when.format(seconds(e.time) * 1000)}`,
    ...values.map((k) => `${k} ${e[k]}`),
  ].join(", ");
}

/** Returns the message of a refusal, which may be JSON. */
export function refusalWords(text: string): string {
  try {
    const o = JSON.parse(text) as { error?: string | { message?: string }; message?: string };
    const e = typeof o.error === "string" ? o.error : (o.error?.message ?? o.message);
    return e ?? text;
  } catch {
    return text;
  }
}
