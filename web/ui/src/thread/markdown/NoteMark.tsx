import { use } from "react";
import { isStale, NoteContext, StaleContext } from "../context";
import { inWords } from "../../panes/numbers";
import { origin, type Note } from "../notes";

/** A number as a button that opens its footnote. A number without a footnote is underlined. */
export function NoteMark({ note, text, bare }: { note: Note; text: string; bare?: boolean }) {
  const open = use(NoteContext);
  const stale = isStale(use(StaleContext), note.cite?.result ?? /^\W*(r\d+)\b/.exec(note.cite?.formula ?? "")?.[1]);
  if (!note.cite) {
    return (
      <span
        className="underline decoration-warn decoration-dotted underline-offset-4"
        title={note.open?.reason || "No cell was found for this number."}
      >
        {text}
        <span className="sr-only"> (no footnote)</span>
      </span>
    );
  }
  return (
    <button
      type="button"
      onClick={(e) => open(note, e.currentTarget)}
      className={`note ${stale ? "note-stale" : ""} inline rounded-sm text-left whitespace-nowrap hover:bg-accent-soft`}
      aria-haspopup="dialog"
    >
      {inWords(text)}
      {!bare && !note.inTable && <sup aria-hidden="true">{note.number}</sup>}
      <span className="sr-only select-none">
        {" "}
        footnote {bare || note.inTable ? "" : note.number}: {origin(note.cite)}
        {stale && ". Its query has a newer version."}
      </span>
    </button>
  );
}
