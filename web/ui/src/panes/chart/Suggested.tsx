// Shows the chart of a result for which no chart was asked, if its columns suggest one.
import { useFirstRows, useRowsComing } from "../../api/rows";
import type { SuggestedProps } from "../slots";
import { pick } from "./pick";

const sampleRows = 20; // more do not change whether there is a chart

/** Until the rows are here, the columns decide, so that the chart has its place. */
export default function Suggested({ conversation, result, children }: SuggestedProps) {
  const ref = { conversation, id: result.id };
  const { data, error } = useFirstRows(ref);
  const coming = useRowsComing(ref) && result.source === "client";
  const known = !coming && (data !== undefined || error !== undefined);
  const { columns, rows } = known
    ? { columns: data?.columns ?? [], rows: data?.rows ?? [] }
    : { columns: result.columns, rows: new Array<[]>(Math.min(result.row_count, sampleRows)).fill([]) };
  const { type } = pick({ columns, rows, sql: result.sql });
  return (
    <>
      {!known && <span hidden data-settling="" />}
      {type === "none" || type === "number" || type === "table" ? null : children}
    </>
  );
}
