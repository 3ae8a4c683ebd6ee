import type { Cell, Column } from "../log/events";
import { stylesOf, formatCell, type Style } from "./numbers";

/** A plain table for few rows. One cell can be marked. Pass the styles of the numbers if the rows are part of a larger
 *  table. */
export function Rows({
  columns,
  rows,
  first = 0,
  mark,
  label,
  styles,
}: {
  columns: readonly Column[];
  rows: readonly (readonly Cell[])[];
  first?: number;
  mark?: { row: number; column: string };
  label: string;
  styles?: readonly Style[];
}) {
  const look = styles ?? stylesOf(columns, rows);
  return (
    <table className="tabular w-full border-collapse text-sm" aria-label={label}>
      <thead>
        <tr>
          <th
            scope="col"
            className="sticky top-0 w-px border-b border-line-strong bg-inherit px-2 py-1 text-right text-xs font-normal text-ink-quiet"
          >
            <span className="sr-only">Row</span>
          </th>
          {columns.map((c, j) => (
            <th
              key={j}
              scope="col"
              className={`sticky top-0 border-b border-line-strong bg-inherit px-3 py-1 font-semibold whitespace-nowrap text-ink-soft ${look[j]!.numeric ? "text-right" : "text-left"}`}
            >
              {c.name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, i) => (
          <tr key={i} className={`hover:bg-hover ${mark?.row === first + i ? "font-medium" : ""}`}>
            <td className="border-b px-2 py-1 text-right text-xs text-ink-quiet">{first + i + 1}</td>
            {columns.map((c, j) => {
              const marked = mark?.row === first + i && mark.column === c.name;
              return (
                <td
                  key={j}
                  aria-current={marked || undefined}
                  className={`max-w-80 truncate border-b px-3 py-1 ${look[j]!.numeric ? "text-right" : ""} ${marked ? "bg-mark font-semibold" : ""}`}
                >
                  {row[j] === null ? (
                    <span className="text-xs tracking-wide text-ink-quiet">NULL</span>
                  ) : (
                    formatCell(row[j], look[j]!, row)
                  )}
                </td>
              );
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
