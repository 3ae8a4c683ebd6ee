import { resultName } from "../../lib/format";
import { useFirstRows, useRowsComing } from "../../api/rows";
import { useRoute } from "../../lib/router";
import { Grid } from "../grid/Grid";
import { Hidden, hiddenRows } from "../Hidden";
import { parseCell } from "../cell";
import type { TablePaneProps } from "../slots";

/** The rows of a result. ?at=3,revenue highlights a cell; rows count from 1. */
export default function TablePane({ conversation, result }: TablePaneProps) {
  const ref = { conversation, id: result.id };
  const { data, error } = useFirstRows(ref);
  const coming = useRowsComing(ref) && result.source === "client";
  const at = useRoute();
  const mark = at.view === "table" ? parseCell(at.at) : undefined;
  if (coming) return null;
  if (error) {
    return (
      <p role="alert" className="p-6 text-sm text-bad">
        {error}
      </p>
    );
  }
  if (!data) return null;
  if (!data.row_count) return <p className="p-6 text-sm text-ink-quiet">The result has no rows.</p>;
  const hidden = hiddenRows(result.source, data),
    count = data.row_count - hidden;
  return (
    <div className="mt-2 flex min-h-0 flex-1 flex-col border-t">
      {hidden > 0 && <Hidden rows={hidden} of={data.row_count} />}
      {count > 0 && (
        <Grid
          source={ref}
          columns={data.columns}
          first={data.rows}
          count={count}
          truncated={data.truncated}
          label={`Rows of ${resultName(result.id)}`}
          mark={mark}
        />
      )}
    </div>
  );
}
