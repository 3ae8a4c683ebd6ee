// The figures of a result of which the model has seen no cell: the answer gets them
// here, from the rows in this browser, each with its footnote. They are never sent.
import { useMemo } from "react";
import { useLocalRows, type LocalRows } from "../../api/rows";
import type { Answer, Conversation, ToolPart, Turn } from "../../log/conversation";
import type { Cell, Cite } from "../../log/events";
import { useLog, type Log } from "../../log/store";
import { familyOf } from "../../log/tools";
import { stylesOf, written } from "../numbers";

const mostRows = 12;
const mostListed = 6; // columns of a single row that are listed, and not a table

const explores = (c: Conversation) => c.assistant === "explore";

/** A turn whose answer has the figures that the model could not say. */
export function useFigures(turn: Turn, log: Log): Turn {
  const local = useLog(log, explores);
  const part = local && turn.answer ? turn.parts.findLast(unseen) : undefined;
  const rows = useLocalRows({ conversation: log.id, id: part?.result?.id ?? "" });
  return useMemo(
    () =>
      turn.answer && part?.result && rows ? { ...turn, answer: withFigures(turn.answer, part.result.id, rows) } : turn,
    [turn, part, rows],
  );
}

/** Whether the model was told of a result's rows only how many there are. */
function unseen(p: Turn["parts"][number]): p is ToolPart {
  if (p.kind !== "tool" || !p.result || p.by !== "client") return false;
  const family = familyOf(p);
  if (family !== "query" && family !== "transform") return false;
  try {
    const told = JSON.parse(p.content ?? "") as { rows?: unknown[]; row_count?: number };
    return told.rows?.length === 0 && (told.row_count ?? 0) > 0;
  } catch {
    return false;
  }
}

/** An answer with the figures of a result below it. */
export function withFigures(a: Answer, result: string, r: LocalRows): Answer {
  const w = new Writer(`${a.text}\n\nFrom the rows in this browser:\n\n`, result);
  const styles = stylesOf(r.columns, r.rows);
  const cell = (row: number, i: number) =>
    w.cell(r.rows[row]?.[i], row, r.columns[i]!.name, styles[i]!.numeric, written(r.rows[row]?.[i], styles[i]!));
  if (r.rows.length === 1 && r.columns.length <= mostListed) {
    r.columns.forEach((c, i) => {
      w.say(`- ${plain(label(c.name))}: `);
      cell(0, i);
      w.say("\n");
    });
  } else {
    w.say(
      `| ${r.columns.map((c) => plain(c.name)).join(" | ")} |\n| ${styles.map((s) => (s.numeric ? "--:" : "---")).join(" | ")} |\n`,
    );
    for (let row = 0; row < Math.min(mostRows, r.rows.length); row++) {
      w.say("|");
      for (let i = 0; i < r.columns.length; i++) {
        w.say(" ");
        cell(row, i);
        w.say(" |");
      }
      w.say("\n");
    }
    const all = r.rowCount ?? r.rows.length;
    if (all > mostRows && !styles.some((s) => s.numeric))
      w.say(`\n_The first ${mostRows} of ${all} rows; the table has them all._\n`);
  }
  return { ...a, text: w.text, cites: [...a.cites, ...w.cites] };
}

const label = (name: string) => name.charAt(0).toUpperCase() + name.slice(1).replaceAll("_", " ");

/** A value of a file within Markdown, where nothing of it is read as Markdown. */
const plain = (s: string) => s.replace(/\s+/g, " ").replace(/[!-/:-@[-`{-~]/g, "\\$&");

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

  say(s: string): void {
    this.text += s;
    this.at += bytes(s);
  }

  cell(v: Cell | undefined, row: number, column: string, numeric: boolean, shown: string): void {
    if (!numeric || !shown) return this.say(plain(shown));
    const start = this.at;
    this.say(shown);
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
