import { useState, type FormEvent } from "react";
import type { Column } from "../../log/events";
import { Icon } from "../../ui/Icon";
import { isNumeric } from "../numbers";
import { isNumber, operators, type Filter, type Operator } from "./filter";

const field = "h-7 rounded-sm border bg-transparent px-1 text-ink";

/** The filters of a grid: each can be removed, and a form adds one. */
export function Filters({
  columns,
  filters,
  onChange,
}: {
  columns: readonly Column[];
  filters: readonly Filter[];
  onChange: (filters: Filter[]) => void;
}) {
  const [adding, setAdding] = useState(false);
  const [column, setColumn] = useState(0);
  const [op, setOp] = useState<Operator>("contains");
  const [value, setValue] = useState("");
  const valued = op !== "empty" && op !== "filled";
  const wrong = valued && op !== "contains" && value !== "" && isNumeric(columns[column]!) && !isNumber(value);
  const add = (e: FormEvent) => {
    e.preventDefault();
    if (wrong || (valued && value === "")) return;
    onChange([...filters, { column, op, value: valued ? value : "" }]);
    setAdding(false);
    setValue("");
  };
  return (
    <>
      {filters.map((f, i) => {
        const words = `${columns[f.column]!.name} ${operators[f.op]} ${f.value}`.trim();
        return (
          <button
            key={i}
            type="button"
            aria-label={`Remove the filter: ${words}`}
            onClick={() => onChange(filters.filter((_, j) => j !== i))}
            className="inline-flex max-w-60 items-center gap-1 rounded-sm bg-hover px-1.5 py-0.5 hover:text-ink"
          >
            <span className="truncate">{words}</span>
            <Icon name="close" small />
          </button>
        );
      })}
      {adding ? (
        <form onSubmit={add} className="flex flex-wrap items-center gap-1 py-1">
          <select
            aria-label="Column"
            value={column}
            onChange={(e) => setColumn(Number(e.target.value))}
            className={`${field} max-w-40`}
          >
            {columns.map((c, i) => (
              <option key={i} value={i}>
                {c.name}
              </option>
            ))}
          </select>
          <select
            aria-label="Condition"
            value={op}
            onChange={(e) => setOp(e.target.value as Operator)}
            className={field}
          >
            {Object.entries(operators).map(([name, words]) => (
              <option key={name} value={name}>
                {words}
              </option>
            ))}
          </select>
          {valued && (
            <input
              aria-label="Value"
              aria-invalid={wrong}
              value={value}
              onChange={(e) => setValue(e.target.value)}
              className={`${field} w-28`}
            />
          )}
          {wrong && <span className="text-bad">Enter a number.</span>}
          <button type="submit" className="rounded-sm px-1 py-1 underline underline-offset-2 hover:text-ink">
            Apply
          </button>
          <button type="button" onClick={() => setAdding(false)} className="rounded-sm px-1 py-1 hover:text-ink">
            Cancel
          </button>
        </form>
      ) : (
        <button type="button" onClick={() => setAdding(true)} className="rounded-sm px-1 py-1 hover:text-ink">
          Filter
        </button>
      )}
    </>
  );
}
