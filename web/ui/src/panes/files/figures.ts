// Adds the figures of a result to an answer if the model has seen no cells of it. They come from the rows in this
// browser, get footnotes, and are never sent.
import { useMemo } from "react";
import { useLocalRows, useRowsComing, type LocalRows } from "../../api/rows";
import type { Answer, Conversation, ToolPart, Turn } from "../../log/conversation";
import type { Cell, Cite, StoredResult } from "../../log/events";
import { useLog, type Log } from "../../log/store";
import { familyOf } from "../../log/tools";
import { stylesOf, formatCell } from "../numbers";
import { useLocal } from "./store";

const maxRows = 12;
const maxListed = 6; // columns; a single row with more is shown as a table

const awaited = "…"; // a cell that is not here yet

const explores = (c: Conversation) => c.assistant === "explore";

/** Returns a turn with the figures that the model could not see added to its answer, and whether they may still come.
 *  While a file with the rows is opened, dots have the place of the figures. */
export function useFigures(turn: Turn, log: Log): { turn: Turn; coming: boolean } {
  const local = useLog(log, explores);
  const part = local && turn.answer ? turn.parts.findLast(unseen) : undefined;
  const ref = { conversation: log.id, id: part?.result?.id ?? "" };
  const here = useLocalRows(ref);
  const coming = useRowsComing(ref) && part !== undefined;
  const opening = useLocal().files.length > 0 && coming;
  const withRows = useMemo(() => {
    const rows = here ?? (opening && part?.result ? awaitedRows(part.result) : undefined);
    return turn.answer && part?.result && rows
      ? { ...turn, answer: withFigures(turn.answer, part.result.id, rows) }
      : turn;
  }, [turn, part, here, opening]);
  return { turn: withRows, coming };
}

/** Returns as many rows of dots as an answer shows of a result. */
export function awaitedRows(r: StoredResult): LocalRows {
  const row = r.columns.map(() => awaited);
  return {
    columns: r.columns,
    rows: new Array<Cell[]>(Math.min(r.row_count, maxRows)).fill(row),
    rowCount: r.row_count,
  };
}

/** Reports whether the model knows only the number of a result's rows. */
function unseen(p: Turn["parts"][number]): p is ToolPart {
  if (p.kind !== "tool" || !p.result || p.by !== "client") return false;
  const family = familyOf(p);
  if (family !== "query" && family !== "transform") return false;
  try {
    const content = JSON.parse(p.content ?? "") as { rows?: unknown[]; row_count?: number };
    return content.rows?.length === 0 && (content.row_count ?? 0) > 0;
  } catch {
    return false;
  }
}

/** Returns an answer with the figures of a result below its text. */
export function withFigures(a: Answer, result: string, r: LocalRows): Answer {
  const w = new Writer(`${a.text}\n\nFrom the rows in this browser:\n\n`, result);
  const styles = stylesOf(r.columns, r.rows);
  const cell = (row: number, i: number) => {
    const v = r.rows[row]?.[i];
    w.cell(v, row, r.columns[i]!.name, styles[i]!.numeric, v === awaited ? v : formatCell(v, styles[i]!, r.rows[row]));
  };
  if (r.rows.length === 1 && r.columns.length <= maxListed) {
    r.columns.forEach((c, i) => {
      w.write(`- ${escapeMarkdown(label(c.name))}: `);
      cell(0, i);
      w.write("\n");
    });
  } else {
    w.write(
      `| ${r.columns.map((c) => escapeMarkdown(c.name)).join(" | ")} |\n| ${styles.map((s) => (s.numeric ? "--:" : "---")).join(" | ")} |\n`,
    );
    for (let row = 0; row < Math.min(maxRows, r.rows.length); row++) {
      w.write("|");
      for (let i = 0; i < r.columns.length; i++) {
        w.write(" ");
        cell(row, i);
        w.write(" |");
      }
      w.write("\n");
    }
    const all = r.rowCount ?? r.rows.length;
    if (all > maxRows && !styles.some((s) => s.numeric))
      w.write(`\n_The first ${maxRows} of ${all} rows; the table has them all._\n`);
  }
  return { ...a, text: w.text, cites: [...a.cites, ...w.cites] };
}

const label = (name: string) => name.charAt(0).toUpperCase() + name.slice(1).replaceAll("_", " ");

/** Escapes a value for Markdown. */
const escapeMarkdown = (s: string) => s.replace(/\s+/g, " ").replace(/[!-/:-@[-`{-~]/g, "\\$&");

const bytes = (s: string) => new TextEncoder().encode(s).length;

class Writer {
  readonly cites: Cite[] = [];
  private at: number;

  constructor(
    public text: string,
    private readonly result: string,
  ) {
    this.at = bytes(text);
  }

  write(s: string): void {
    this.text += s;
    this.at += bytes(s);
  }

  cell(v: Cell | undefined, row: number, column: string, numeric: boolean, shown: string): void {
    if (!numeric || !shown) return this.write(escapeMarkdown(shown));
    const start = this.at;
    this.write(shown);
    this.cites.push({
      start,
      end: this.at,
      text: shown,
      result: this.result,
      row,
      column,
      value: String(v),
      confidence: 1,
    });
  }
}
