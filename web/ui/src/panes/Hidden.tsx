import type { ResultPage } from "../api/client";
import { count, plural } from "../lib/format";

/** Returns the number of rows of a local result that are not in this browser. The server does not have them either. */
export function hiddenRows(source: string | undefined, page: ResultPage): number {
  const had = page.offset + page.rows.length;
  return source === "client" && page.rows.length < 10_000 ? Math.max(0, page.row_count - had) : 0;
}

/** Explains why some rows cannot be shown. */
export function Hidden({ rows, of }: { rows: number; of: number }) {
  return (
    <p role="note" className="border-b bg-mark px-4 py-2 text-sm">
      {rows === of ? `The ${plural(of, "row")} of this result are` : `${count(rows)} of ${plural(of, "row")} are`} in a
      file that is not open in this browser. Open the file again to see them.
    </p>
  );
}
