// Shows where a number comes from: its cell and the rows around it, or the cells it is calculated from, and the query.
// N and P go to the next and previous footnote.
import type { KeyboardEvent } from "react";
import { api } from "../../api/client";
import { page, useFirstRows, type ResultRef } from "../../api/rows";
import { useLoad } from "../../api/load";
import { duration, originOf, plural, resultName, verifiedBy } from "../../lib/format";
import { youOrName } from "../../lib/me";
import { go } from "../../lib/router";
import type { ShownResult } from "../../log/conversation";
import type { Cite } from "../../log/events";
import { logOf } from "../../log/store";
import { Button, IconButton } from "../../ui/Button";
import { Icon } from "../../ui/Icon";
import { Popover } from "../../ui/Popover";
import { cellAddress } from "../cell";
import { exactValue, formatCell, inWords, stylesOf } from "../numbers";
import { resultsIn } from "../files/sql";
import { Rows } from "../Rows";
import { Sql } from "../Sql";
import type { FootnotePopoverProps } from "../slots";
import { arithmetic, refName, outcome, refs, type Ref } from "./formula";

const contextRows = 2; // before and after the cell

export default function FootnotePopover({ note, anchor, conversation, result, onClose }: FootnotePopoverProps) {
  const cite = note.cite;
  if (!cite) return null;
  const used = cite.formula ? refs(cite.formula) : [];
  const all = logOf(conversation).conversation().results;
  const ids = [...new Set(used.map((r) => r.result))];
  const queries = withParents(all, result ? [result] : ids.map((id) => all[id]).filter((r) => r !== undefined));
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
      label={`Footnote of ${inWords(cite.text)}`}
      className="max-h-[80dvh] w-popover max-w-[calc(100dvw-1rem)]! overflow-y-auto p-4"
    >
      <div onKeyDown={key}>
        <div className="flex items-start gap-2">
          <p className="min-w-0 flex-1 text-sm">
            <strong className="tabular font-serif text-lg font-semibold">{inWords(cite.text)}</strong>
            <span className="block text-ink-quiet" title={cite.value}>
              {describe(cite, result)}
            </span>
            {(result || used.length > 0) && (
              <span className="block text-xs text-ink-quiet">
                {cite.marked ? "named by the model and verified" : "found by comparing the text with the results"}
              </span>
            )}
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
        {queries.map((r) => r.replacedBy && <NewerVersion key={r.id} r={r} newest={all[r.replacedBy]} onOpen={open} />)}
        {inCell && (
          <NearbyRows conversation={conversation} result={result} row={cite.row!} column={cite.column ?? ""} />
        )}
        {inCell && result.parents && result.source !== "client" && (
          <Origin conversation={conversation} cite={cite} result={result} />
        )}
        {used.length > 0 && <Calculation conversation={conversation} cite={cite} used={used} />}
        {queries.map(
          (r) =>
            r.sql && (
              <Query
                key={r.id}
                r={r}
                showName={queries.length > 1}
                onOpen={open}
                at={inCell ? cellAddress({ row: cite.row!, column: cite.column ?? "" }) : undefined}
              />
            ),
        )}
      </div>
    </Popover>
  );
}

/** Adds the results that calculated ones were computed from, behind them. */
function withParents(all: Readonly<Record<string, ShownResult>>, some: ShownResult[]): ShownResult[] {
  const out = [...some];
  for (const r of out) {
    const parents = r.source === "client" ? resultsIn(r.sql ?? "", all, []) : (r.parents ?? []);
    for (const id of parents) if (all[id] && !out.includes(all[id])) out.push(all[id]);
  }
  return out;
}

/** Describes a footnote, to be read after the number: "is revenue in row 3 of result 1". */
function describe(c: Cite, r?: ShownResult): string {
  const exact = c.formula ? "" : exactValue(c.value ?? c.text, c.text);
  const exactly = exact && `, ${exact}`;
  if (c.formula === "sql filter") return "is in a condition of the query";
  if (c.formula?.startsWith("column ")) return `belongs to the name of the ${c.formula}`;
  if (c.formula && refs(c.formula).length) return "is calculated";
  if (c.formula) return `is ${c.formula}`;
  if (c.row === undefined && c.result) return `is the number of rows in ${resultName(c.result)}`;
  return `is ${c.column ?? "a cell"} in row ${(c.row ?? 0) + 1} of ${r?.chart?.title ? `“${r.chart.title}”` : resultName(c.result ?? "the result")}${exactly}`;
}

/** Returns the previous or next footnote in the text. */
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

function NewerVersion({
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
        This is version {r.version}. Version {newest.version}, by {youOrName(newest.author)}, is newer.
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
  showName,
  onOpen,
  at,
}: {
  r: ShownResult;
  showName: boolean;
  onOpen: (r: ShownResult, view: "sql" | "table", at?: string) => void;
  at?: string;
}) {
  return (
    <section aria-label={`Query of ${resultName(r.id)}`} className="mt-3">
      {showName && <h3 className="mb-1 text-xs font-semibold text-ink-soft">{r.id}</h3>}
      <Sql sql={r.sql ?? ""} className="max-h-44" />
      <p className="mt-1.5 flex flex-wrap items-center gap-x-1 text-xs text-ink-quiet">
        <span className="tabular min-w-0 flex-1">
          {[
            originOf(r),
            plural(r.row_count, "row"),
            r.millis !== undefined ? duration(r.millis) : "",
            r.verified ? verifiedBy(r.verified) : "",
          ]
            .filter(Boolean)
            .join(" · ")}
        </span>
        <Button look="quiet" className="!h-8 !px-2" onClick={() => onOpen(r, "table", at)}>
          Show in table
        </Button>
        <Button look="quiet" className="!h-8 !px-2" onClick={() => onOpen(r, "sql")}>
          Open the query
        </Button>
      </p>
    </section>
  );
}

/** The cell and the rows around it. */
function NearbyRows({
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
  const first = Math.max(0, row - contextRows);
  const { data, error } = useLoad(`rows:${conversation}.${result.id}:${first}+`, () =>
    page(ref, first, 2 * contextRows + 1),
  );
  const all = useFirstRows(result.row_count <= 10_000 ? ref : undefined); // to format numbers as in the table
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
          styles={all.data ? stylesOf(all.data.columns, all.data.rows) : undefined}
        />
      )}
    </div>
  );
}

const maxCells = 12;

interface CellValue {
  name: string;
  value: string;
  result: string;
  at: string;
}

/** How a number is calculated: the formula with values, and the cells. */
function Calculation({ conversation, cite, used }: { conversation: string; cite: Cite; used: Ref[] }) {
  const { data, error } = useLoad(`formula:${conversation}:${cite.formula}`, () => cellsOf(conversation, used));
  if (error) return <p className="mt-2 text-sm text-bad">{error}</p>;
  if (!data) return <div className="mt-3 h-24" aria-hidden="true" />;
  return (
    <Computed
      formula={arithmetic(cite.formula!, (r) => data.text.get(`${r.from}`) ?? refName(r))}
      cite={cite}
      cells={data.cells}
      more={0}
    />
  );
}

/** How a cell of a calculated result was computed: the formula of its column, and the cells of its parents. */
function Origin({ conversation, cite, result }: { conversation: string; cite: Cite; result: ShownResult }) {
  const { data, error } = useLoad(`origin:${conversation}.${result.id}:${cite.row}:${cite.column}`, async () => {
    const o = await api.origins(conversation, result.id, cite.row!);
    const column = o.columns.find((c) => c.name === cite.column);
    const reads = column?.reads ?? [];
    const used = reads.flatMap((c) => {
      const from = o.rows.find((r) => r.result === c.result);
      return from ? [{ ...c, rows: from.rows, from: 0, to: 0 }] : [];
    });
    const more = reads.reduce((n, c) => {
      const from = o.rows.find((r) => r.result === c.result);
      return n + (from ? from.count - from.rows.length : 0);
    }, 0);
    return { formula: column?.formula ?? "", reads, more, cells: (await cellsOf(conversation, used)).cells };
  });
  if (error) return <p className="mt-2 text-sm text-bad">{error}</p>;
  if (!data) return <div className="mt-3 h-24" aria-hidden="true" />;
  if (!data.formula) return null;
  return (
    <>
      <Computed formula={data.formula} cite={cite} cells={data.cells} more={data.more} />
      {data.cells.length === 0 && data.reads.length > 0 && (
        <p className="mt-1 text-xs text-ink-quiet">
          Computed from {data.reads.map((c) => `${c.column} of ${c.result}`).join(", ")}.
        </p>
      )}
    </>
  );
}

/** A formula with its outcome, and the cells that it reads. More counts cells that are not in the list. */
function Computed({ formula, cite, cells, more }: { formula: string; cite: Cite; cells: CellValue[]; more: number }) {
  const shown = cells.slice(0, maxCells);
  const rest = cells.length - shown.length + more;
  return (
    <div className="mt-3">
      <p className="tabular rounded-md bg-mark px-2.5 py-1.5 text-sm wrap-anywhere">
        {formula}
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
      {rest > 0 && <p className="mt-1 text-xs text-ink-quiet">and {plural(rest, "more cell")}.</p>}
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
      const value = formatCell(t.rows[i]?.[j] ?? null, t.styles[j]!, t.rows[i]) || "NULL";
      const first = t.styles.findIndex((s) => !s.numeric);
      const label =
        first >= 0 && first !== j
          ? `${r.column}, ${formatCell(t.rows[i]?.[first] ?? null, t.styles[first]!) || `row ${i + 1}`}`
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
