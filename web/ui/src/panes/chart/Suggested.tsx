// Shows the chart of a result for which no chart was asked, if its columns suggest one.
import { useFirstRows, useRowsComing } from "../../api/rows";
import type { SuggestedProps } from "../slots";
import { pick } from "./pick";

export default function Suggested({ conversation, result, children }: SuggestedProps) {
  const ref = { conversation, id: result.id };
  const { data, error } = useFirstRows(ref);
  const coming = useRowsComing(ref) && result.source === "client";
  if (coming || (!data && error === undefined)) return <span hidden data-settling="" />;
  const { type } = pick({ columns: data?.columns ?? [], rows: data?.rows ?? [], sql: result.sql });
  return type === "none" || type === "number" || type === "table" ? null : children;
}
