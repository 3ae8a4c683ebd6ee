import type { ResultPage } from "../api/client";
import { count, plural } from "../lib/format";

/** How many rows of a result of local files are neither on the server nor here. */
export function hiddenRows(source: string | undefined, page: ResultPage): number {
  const had = page.offset + page.rows.length;
  return source === "client" && page.rows.length < 10_000 ? Math.max(0, page.row_count - had) : 0;
}

/** Says where the rows are that cannot be shown. */
export function Hidden({ rows, of }: { rows: number; of: number }) {
  return (
    <p role="note" className="border-b bg-mark px-4 py-2 text-sm">
      {rows === of ? `The ${plural(of, "row")} of this result are` : `${count(rows)} of ${plural(of, "row")} are`} in a
      file that is not open in this browser, and nowhere else. Open the file again to see them.
    </p>
  );
}
