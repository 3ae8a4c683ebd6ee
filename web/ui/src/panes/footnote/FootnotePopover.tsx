// Where a number comes from: its cell among its neighbours, or the cells it was
// worked out from; and the query behind them. N and P go to the next and the
// previous footnote.
import type { KeyboardEvent } from "react";
import { page, useFirstRows, type ResultRef } from "../../api/rows";
import { useLoad } from "../../api/load";
import { duration, plural } from "../../lib/format";
import { who } from "../../lib/me";
import { go } from "../../lib/router";
import type { ShownResult } from "../../log/conversation";
import type { Cite } from "../../log/events";
import { logOf } from "../../log/store";
import { Button, IconButton } from "../../ui/Button";
import { Icon } from "../../ui/Icon";
import { Popover } from "../../ui/Popover";
import { cellAddress } from "../cell";
import { stylesOf, written } from "../numbers";
import { Rows } from "../Rows";
import { Sql } from "../Sql";
import type { FootnotePopoverProps } from "../slots";
import { arithmetic, called, outcome, refs, type Ref } from "./formula";

const around = 2;

export default function FootnotePopover({ note, anchor, conversation, result, onClose }: FootnotePopoverProps) {
  const cite = note.cite;
  if (!cite) return null;
  const used = cite.formula ? refs(cite.formula) : [];
  const all = logOf(conversation).conversation().results;
  const ids = [...new Set(used.map((r) => r.result))];
  const queries = result ? [result] : ids.map((id) => all[id]).filter((r) => r !== undefined);
  const step = (by: 1 | -1) => {
    const next = neighbour(anchor, by);
    if (!next) return;
    next.scrollIntoView({ block: "nearest" });
    next.click();
  };
  const key = (e: KeyboardEvent) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key === "n" || e.key === "p") {
      e.preventDefault();
      step(e.key === "n" ? 1 : -1);
    }
  };
  const open = (r: ShownResult, view: "sql" | "table", at?: string) => {
    onClose();
    go({ conversation, result: r.id, view, ...(at ? { at } : {}) });
  };
  const inCell = result && cite.row !== undefined && !cite.formula;
  return (
    <Popover
      anchor={anchor}
      onClose={onClose}
      label={`Footnote of ${cite.text}`}
      className="max-h-[80dvh] w-popover max-w-[calc(100dvw-1rem)]! overflow-y-auto p-4"
    >
      <div onKeyDown={key}>
        <div className="flex items-start gap-2">
          <p className="min-w-0 flex-1 text-sm">
            <strong className="tabular font-serif text-lg font-semibold">{cite.text}</strong>
            <span className="block text-ink-quiet">{says(cite, result)}</span>
          </p>
          <span className="-mt-1 -mr-1 flex shrink-0">
            {neighbour(anchor, -1) && (
              <IconButton
                icon="chevron"
                small
                label="Previous footnote (P)"
                className="[&>svg]:rotate-180"
                onClick={() => step(-1)}
              />
            )}
            {neighbour(anchor, 1) && (
              <IconButton icon="chevron" small label="Next footnote (N)" onClick={() => step(1)} />
            )}
            <IconButton icon="close" small label="Close" onClick={onClose} autoFocus />
          </span>
        </div>
        {queries.map((r) => r.replacedBy && <Newer key={r.id} r={r} newest={all[r.replacedBy]} onOpen={open} />)}
        {inCell && <Near conversation={conversation} result={result} row={cite.row!} column={cite.column ?? ""} />}
        {used.length > 0 && <Worked conversation={conversation} cite={cite} used={used} />}
        {queries.map(
          (r) =>
            r.sql && (
              <Query
                key={r.id}
                r={r}
                named={queries.length > 1}
                onOpen={open}
                at={inCell ? cellAddress({ row: cite.row!, column: cite.column ?? "" }) : undefined}
              />
            ),
        )}
      </div>
    </Popover>
  );
}

/** What a footnote is, in a sentence. */
function says(c: Cite, r?: ShownResult): string {
  const other = c.value !== undefined && c.value !== c.text && Number(c.value) !== Number(c.text.replaceAll(",", ""));
  const exactly = other && !c.formula ? `, exactly ${c.value}` : "";
  if (c.formula === "sql filter") return "stands in the condition of the query";
  if (c.formula?.startsWith("column ")) return `belongs to the name of the ${c.formula}`;
  if (c.formula && refs(c.formula).length) return "is worked out";
  if (c.formula) return `is ${c.formula}`;
  if (c.row === undefined && c.result) return `is how many rows ${c.result} has`;
  return `is ${c.column ?? "a cell"} in row ${(c.row ?? 0) + 1} of ${r?.chart?.title ? `“${r.chart.title}”` : (c.result ?? "the result")}${exactly}`;
}

/** The footnote before or after, in the order of the text. */
function neighbour(anchor: HTMLElement, by: 1 | -1): HTMLElement | undefined {
  const all = [
    ...(anchor
      .closest("article")
      ?.querySelectorAll<HTMLElement>(
        anchor.classList.contains("note") ? "button.note" : "[aria-label=Footnotes] li button",
      ) ?? []),
  ];
  const at = all.indexOf(anchor);
  return at < 0 ? undefined : all[at + by];
}

function Newer({
  r,
  newest,
  onOpen,
}: {
  r: ShownResult;
  newest?: ShownResult;
  onOpen: (r: ShownResult, view: "table") => void;
}) {
  if (!newest) return null;
  return (
    <p className="mt-2 flex items-center gap-2 rounded-md bg-warn-soft px-2.5 py-1.5 text-xs text-warn">
      <Icon name="alert" small />
      <span className="min-w-0 flex-1">
        This is v{r.version}. There is a newer version, v{newest.version}, by {who(newest.author)}.
      </span>
      <button
        type="button"
        className="rounded-sm font-medium underline underline-offset-2"
        onClick={() => onOpen(newest, "table")}
      >
        See it
      </button>
    </p>
  );
}

function Query({
  r,
  named,
  onOpen,
  at,
}: {
  r: ShownResult;
  named: boolean;
  onOpen: (r: ShownResult, view: "sql" | "table", at?: string) => void;
  at?: string;
}) {
  return (
    <section aria-label={`Query of ${r.id}`} className="mt-3">
      {named && <h3 className="mb-1 text-xs font-semibold text-ink-soft">{r.id}</h3>}
      <Sql sql={r.sql ?? ""} className="max-h-44" />
      <p className="mt-1.5 flex flex-wrap items-center gap-x-1 text-xs text-ink-quiet">
        <span className="tabular min-w-0 flex-1">
          {[r.source, plural(r.row_count, "row"), r.millis !== undefined ? duration(r.millis) : ""]
            .filter(Boolean)
            .join(" · ")}
        </span>
        <Button look="quiet" className="!h-8 !px-2" onClick={() => onOpen(r, "table", at)}>
          In the table
        </Button>
        <Button look="quiet" className="!h-8 !px-2" onClick={() => onOpen(r, "sql")}>
          Open the query
        </Button>
      </p>
    </section>
  );
}

/** The rows around the cell. */
function Near({
  conversation,
  result,
  row,
  column,
}: {
  conversation: string;
  result: ShownResult;
  row: number;
  column: string;
}) {
  const ref: ResultRef = { conversation, id: result.id };
  const first = Math.max(0, row - around);
  const { data, error } = useLoad(`rows:${conversation}.${result.id}:${first}+`, () =>
    page(ref, first, 2 * around + 1),
  );
  const whole = useFirstRows(result.row_count <= 10_000 ? ref : undefined); // as its chart and table have it
  if (error) return <p className="mt-2 text-sm text-bad">{error}</p>;
  return (
    <div
      className="mt-3 max-h-56 min-h-32 overflow-auto bg-raised"
      tabIndex={0}
      role="region"
      aria-label="Rows around the cell"
    >
      {data && (
        <Rows
          columns={data.columns}
          rows={data.rows}
          first={first}
          mark={{ row, column }}
          label="Source rows"
          styles={whole.data ? stylesOf(whole.data.columns, whole.data.rows) : undefined}
        />
      )}
    </div>
  );
}

const mostCells = 12;

interface CellValue {
  name: string;
  value: string;
  result: string;
  at: string;
}

/** How a number was worked out: every cell with its value, and the arithmetic. */
function Worked({ conversation, cite, used }: { conversation: string; cite: Cite; used: Ref[] }) {
  const { data, error } = useLoad(`formula:${conversation}:${cite.formula}`, () => cellsOf(conversation, used));
  if (error) return <p className="mt-2 text-sm text-bad">{error}</p>;
  if (!data) return <div className="mt-3 h-24" aria-hidden="true" />;
  const shown = data.cells.slice(0, mostCells);
  return (
    <div className="mt-3">
      <p className="tabular rounded-md bg-mark px-2.5 py-1.5 text-sm wrap-anywhere">
        {arithmetic(cite.formula!, (r) => data.text.get(`${r.from}`) ?? called(r))}
        {cite.value !== undefined && <strong className="font-semibold"> = {outcome(cite)}</strong>}
      </p>
      {shown.length > 0 && (
        <table className="tabular mt-2 w-full text-sm" aria-label="Cells that were used">
          <tbody>
            {shown.map((c) => (
              <tr key={`${c.result} ${c.name}`} className="border-b">
                <th scope="row" className="py-1 text-left font-normal text-ink-soft">
                  {c.name} <span className="text-xs text-ink-quiet">of {c.result}</span>
                </th>
                <td className="py-1 text-right font-medium">{c.value}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {data.cells.length > shown.length && (
        <p className="mt-1 text-xs text-ink-quiet">and {plural(data.cells.length - shown.length, "more cell")}.</p>
      )}
    </div>
  );
}

/** Loads the cells of a formula. */
async function cellsOf(conversation: string, used: Ref[]): Promise<{ cells: CellValue[]; text: Map<string, string> }> {
  const tables = new Map(
    await Promise.all(
      [...new Set(used.map((r) => r.result))].map(async (id) => {
        const p = await page({ conversation, id }, 0, 10_000);
        return [id, { ...p, styles: stylesOf(p.columns, p.rows) }] as const;
      }),
    ),
  );
  const cells = new Map<string, CellValue>();
  const text = new Map<string, string>();
  for (const r of used) {
    const t = tables.get(r.result)!;
    const j = t.columns.findIndex((c) => c.name === r.column);
    if (j < 0) continue;
    const rows = r.rows ?? [...t.rows.keys()];
    for (const i of rows) {
      const value = written(t.rows[i]?.[j] ?? null, t.styles[j]!) || "NULL";
      const first = t.styles.findIndex((s) => !s.numeric);
      const label =
        first >= 0 && first !== j
          ? `${r.column}, ${written(t.rows[i]?.[first] ?? null, t.styles[first]!) || `row ${i + 1}`}`
          : `${r.column}, row ${i + 1}`;
      cells.set(`${r.result} ${i} ${j}`, {
        name: label,
        value,
        result: r.result,
        at: cellAddress({ row: i, column: r.column! }),
      });
      if (rows.length === 1) text.set(`${r.from}`, value);
    }
  }
  return { cells: [...cells.values()], text };
}
