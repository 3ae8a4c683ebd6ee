import { useId } from 'react';

// notesOf assigns the footnotes of a message to the text parts of its last step with text.
// The result is keyed by the index of the part.
export function notesOf(parts) {
  const placed = new Map();
  const all = parts.find((p) => p.type === 'data-footnotes')?.data.footnotes ?? [];
  const last = parts.findLastIndex((p) => p.type === 'text' && p.text !== '');
  const first = parts.findLastIndex((p, i) => p.type === 'step-start' && i < last);
  let from = 0;
  for (let i = first + 1; i <= last; i++) {
    if (parts[i].type !== 'text') continue;
    const to = from + parts[i].text.length;
    placed.set(i, all.filter((n) => n.start >= from && n.end <= to).map((n) => ({ ...n, start: n.start - from, end: n.end - from })));
    from = to;
  }
  return placed;
}

// Text renders text in which each number opens its footnote.
export function Text({ text, notes = [], parts }) {
  const pieces = [];
  let at = 0;
  for (const note of notes) {
    pieces.push(text.slice(at, note.start), <Note key={note.start} note={note} parts={parts} />);
    at = note.end;
  }
  return <p className="text">{pieces}{text.slice(at)}</p>;
}

// Note renders a number, with a popover for its query and cell.
function Note({ note, parts }) {
  const id = useId();
  const result = parts.find((p) => p.type === 'data-result' && p.id === note.result)?.data;
  return (
    <>
      <button type="button" className="note" popoverTarget={id}>{note.text}</button>
      <span id={id} popover="auto" className="popover">
        <b>{note.value ?? note.text}</b>{' '}
        {note.formula ? `= ${note.formula}` : `${note.column}, row ${note.row + 1} of ${result?.rowCount ?? '?'}`}
        {result && <pre>{result.sql}</pre>}
      </span>
    </>
  );
}
