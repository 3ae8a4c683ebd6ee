import { Fragment, useMemo, useState } from "react";
import { plural } from "../../lib/format";
import { changedWithin, linesOf, pairs, type Hunk, type Line } from "./diff";
import "./coder.css";

const signNames = { "+": "added", "-": "removed", " ": "", "\\": "" };
const collapsedLines = 400;

interface Props {
  hunks: readonly Hunk[];
  /** The accessible name. */
  label: string;
  /** Reads the text after the change, to show the lines between the hunks. */
  after?: () => Promise<string>;
  cut?: boolean;
  tall?: boolean;
}

/** A unified diff: line numbers of both sides, sign and line. Unchanged lines are folded, and can be unfolded if the
 *  text is available. */
export function Diff({ hunks, label, after, cut, tall }: Props) {
  const [all, setAll] = useState(false);
  const [text, setText] = useState<string[]>();
  const [opened, setOpened] = useState<ReadonlySet<number>>(new Set());
  const total = useMemo(() => hunks.reduce((n, h) => n + h.lines.length, 0), [hunks]);
  let left = all ? Infinity : collapsedLines;
  const unfold = async (at: number) => {
    if (!after) return;
    try {
      setText(text ?? linesOf(await after()).lines);
      setOpened(new Set([...opened, at]));
    } catch {
      // The server no longer has the contents: the lines stay folded.
    }
  };
  if (!hunks.length)
    return <p className="text-sm text-ink-quiet">{cut ? "The diff is too long to show." : "No lines differ."}</p>;
  return (
    <div tabIndex={0} role="region" aria-label={label} className={`diff ${tall ? "" : "bounded"}`}>
      <table>
        <caption className="sr-only">{label}</caption>
        <tbody>
          {hunks.map((h, i) => {
            const before = hunks[i - 1];
            const from = before ? end(before) : 1;
            const hidden = h.newStart - from;
            const lines = h.lines.slice(0, Math.max(0, left));
            left -= h.lines.length;
            if (!lines.length) return null;
            return (
              <Fragment key={i}>
                {hidden > 0 &&
                  (opened.has(i) && text ? (
                    <Rows lines={unchanged(text, from, h.newStart, h.lines)} />
                  ) : (
                    <tr className="fold">
                      <td colSpan={4}>
                        {after ? (
                          <button type="button" onClick={() => void unfold(i)}>
                            {plural(hidden, "unchanged line")}
                          </button>
                        ) : (
                          plural(hidden, "unchanged line")
                        )}
                      </td>
                    </tr>
                  ))}
                <Rows lines={lines} />
              </Fragment>
            );
          })}
        </tbody>
      </table>
      {total > collapsedLines && !all && (
        <button type="button" className="more" onClick={() => setAll(true)}>
          Show {plural(total - collapsedLines, "more line")}
        </button>
      )}
      {cut && <p className="more">The diff is too long to show in full.</p>}
    </div>
  );
}

/** Returns the number of the line after a hunk, in the new text. */
const end = (h: Hunk) => h.newStart + h.lines.filter((l) => l.sign === " " || l.sign === "+").length;

function unchanged(text: readonly string[], from: number, to: number, next: readonly Line[]): Line[] {
  const shift = (next.find((l) => l.old)?.old ?? to) - to;
  return text.slice(from - 1, to - 1).map((t, i) => ({ sign: " ", text: t, old: from + i + shift, new: from + i }));
}

function Rows({ lines }: { lines: readonly Line[] }) {
  const other = useMemo(() => pairs(lines), [lines]);
  return lines.map((l, i) => (
    <tr
      key={i}
      className={l.sign === "+" ? "added" : l.sign === "-" ? "removed" : l.sign === "\\" ? "note" : undefined}
    >
      <td className="number">{l.old}</td>
      <td className="number">{l.new}</td>
      <td className="sign">
        <span aria-hidden="true">{l.sign === "-" ? "−" : l.sign}</span>
        {signNames[l.sign] && <span className="sr-only">{signNames[l.sign]}: </span>}
      </td>
      <td className="line">{l.sign === "\\" ? l.text.trim() : <LineText line={l} other={other.get(l)} />}</td>
    </tr>
  ));
}

/** A line with the part marked that differs from its other version. */
function LineText({ line, other }: { line: Line; other?: Line }) {
  const old = line.sign === "-" ? line.text : other?.text;
  const now = line.sign === "-" ? other?.text : line.text;
  const w = other && changedWithin(old!, now!);
  if (!w) return line.text || "\u200b";
  const to = line.sign === "-" ? w.oldTo : w.newTo;
  return (
    <>
      {line.text.slice(0, w.from)}
      <mark>{line.text.slice(w.from, to)}</mark>
      {line.text.slice(to)}
    </>
  );
}
