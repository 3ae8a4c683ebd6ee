// The text of an answer for the clipboard.
import { capital, originOf, resultName } from "../lib/format";
import { answerText, type Turn } from "../log/conversation";
import type { Log } from "../log/store";
import { inWords } from "../panes/numbers";
import { notesOf, numbered, origin } from "./notes";

/** What the offline planner says about itself, which is not part of the answer. */
const notice = /\n*^_Offline planner: [^\n]*_$/m;

/** Returns the answer with the numbers of its footnotes in the text, and below them where each number comes from. */
export function copied(turn: Turn, log: Log): string {
  if (!turn.answer) return plain(answerText(turn));
  const notes = notesOf(turn.answer);
  let text = turn.answer.text;
  for (const n of notes.filter((n) => n.cite).reverse()) {
    // The closing marks of bold text stay beside the number.
    const rest = text.slice(n.to);
    const closing = /^[*_]*/.exec(rest)![0];
    text = `${text.slice(0, n.from)}${inWords(text.slice(n.from, n.to))}${closing} [${n.number}]${rest.slice(closing.length)}`;
  }
  const list = numbered(notes);
  const all = log.conversation().results;
  const used = new Set(list.flatMap((n) => n.cite!.result ?? n.cite!.formula?.match(/\br\d+\b/g) ?? []));
  const queries = [...used].flatMap((id) => {
    const r = all[id];
    const from = r && r.source !== "client" && originOf(r) ? ` (${originOf(r)})` : "";
    return r?.sql ? [`${capital(resultName(id))}${from}:\n${r.sql}`] : [];
  });
  const lines = list.map((n) => `[${n.number}] ${inWords(n.cite!.text)}: ${origin(n.cite!)}`);
  return [plain(text), lines.join("\n"), ...queries].filter(Boolean).join("\n\n");
}

/** Returns a text without the notice and without Markdown's escapes, which stay in code and in the cells of tables. */
function plain(text: string): string {
  return text
    .replace(notice, "")
    .replace(/(`+)[^`][^]*?\1|\\([!-/:-@[-`{}~])/g, (all, _, character: string | undefined) => character ?? all);
}
