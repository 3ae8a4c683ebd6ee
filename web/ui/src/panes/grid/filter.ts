// Filters of a grid. They mean the same as the server's.
import type { Cell, Column } from "../../log/events";
import { isNumeric, numberOf } from "../numbers";

export interface Filter {
  column: number;
  op: Operator;
  value: string;
}

export const operators = {
  contains: "contains",
  eq: "is",
  ne: "is not",
  gt: "is more than",
  ge: "is at least",
  lt: "is less than",
  le: "is at most",
  empty: "is empty",
  filled: "is not empty",
} as const;
export type Operator = keyof typeof operators;

/** Reports whether a cell passes a filter. A missing value passes only "is empty" and "is not". */
export function matches(cell: Cell, f: Filter, column: Column): boolean {
  if (f.op === "empty") return cell === null;
  if (cell === null) return f.op === "ne";
  if (f.op === "filled") return true;
  const text = String(cell).toLowerCase(),
    value = f.value.toLowerCase();
  if (f.op === "contains") return text.includes(value);
  const numbers = isNumeric(column) || typeof cell === "number";
  if (numbers && !isNumber(f.value)) return f.op === "ne";
  const a = numbers ? (numberOf(cell) ?? 0) : text,
    b = numbers ? Number(f.value) : value;
  switch (f.op) {
    case "eq":
      return a === b;
    case "ne":
      return a !== b;
    case "gt":
      return a > b;
    case "ge":
      return a >= b;
    case "lt":
      return a < b;
    case "le":
      return a <= b;
  }
}

export const isNumber = (text: string): boolean => text.trim() !== "" && Number.isFinite(Number(text));
