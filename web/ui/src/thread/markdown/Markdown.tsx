// Renders Markdown as React elements. HTML in the text is shown as text, links ask before they open, and images are not
// loaded. Numbers with a footnote become buttons.
import { Fragment, memo, use, useLayoutEffect, useMemo, useRef, useState, type ReactNode } from "react";
import type { Nodes, PhrasingContent, Table, Text } from "mdast";
import { GrowingParser, parse, type Block } from "./parse";
import { Link } from "./Link";
import { NoteMark } from "./NoteMark";
import { count } from "../../lib/format";
import { Offer } from "../NextQuestions";
import { offeredQuestions } from "../offers";
import { FullResultContext, type FullResult } from "../context";
import type { Note } from "../notes";

interface Props {
  text: string;
  notes?: readonly Note[];
  /** Set while the text is still growing. */
  growing?: boolean;
}

export default function Markdown({ text, notes = none, growing }: Props) {
  const parser = useRef<GrowingParser>(undefined);
  const blocks = useMemo(() => {
    if (!growing) return parse(text);
    parser.current ??= new GrowingParser();
    return parser.current.blocks(text);
  }, [text, growing]);
  return (
    <>
      {blocks.map((b, i) => (
        <BlockView key={i} block={b} notes={within(notes, b)} text={text} growing={growing} />
      ))}
    </>
  );
}

const none: readonly Note[] = [];

function within(notes: readonly Note[], b: Block): readonly Note[] {
  const from = b.base + (b.node.position?.start.offset ?? 0);
  const to = b.base + (b.node.position?.end.offset ?? 0);
  const some = notes.filter((n) => n.from >= from && n.to <= to);
  return some.length ? some : none;
}

// A finished block of a growing text keeps its node, so it renders once.
const BlockView = memo(
  function BlockView({
    block,
    notes,
    text,
    growing,
  }: {
    block: Block;
    notes: readonly Note[];
    text: string;
    growing?: boolean;
  }) {
    return (
      <>{render(block.node, { base: block.base, notes, text, offers: growing ? [] : offeredQuestions(text) }, 0)}</>
    );
  },
  (a, b) => a.block.node === b.block.node && a.notes === b.notes && (a.growing === true) === (b.growing === true),
);

interface Context {
  base: number;
  offers: readonly string[]; // questions that the text offers
  notes: readonly Note[];
  text: string;
  inTable?: boolean;
}

function renderChildren(n: { children: Nodes[] }, c: Context): ReactNode[] {
  return n.children.map((k, i) => {
    const before = n.children[i - 1];
    if (k.type === "text" && before && isNote(before, c))
      return <Fragment key={i}>{withNotes(k, c, closing(k.value).length)}</Fragment>;
    const next = n.children[i + 1];
    const mark = next?.type === "text" && isNote(k, c) ? closing(next.value) : "";
    return mark ? <Unbroken key={i}>{[render(k, c, 0), mark]}</Unbroken> : render(k, c, i);
  });
}

/** Keeps a number and the punctuation after it on one line. Browsers may break a line after a button. */
function Unbroken({ children }: { children: ReactNode }) {
  return <span className="whitespace-nowrap">{children}</span>;
}

const closing = (text: string): string => /^[.,;:!?)\]%]*/.exec(text)![0];

/** Reports whether a node is nothing but an emphasised number with a footnote. */
function isNote(n: Nodes, c: Context): boolean {
  if ((n.type !== "strong" && n.type !== "emphasis") || n.children.length !== 1) return false;
  const { position, type } = n.children[0]!;
  const at = (offset = -1) => c.base + offset;
  return (
    type === "text" && c.notes.some((x) => x.from === at(position?.start.offset) && x.to === at(position?.end.offset))
  );
}

// complexity: one case for each kind
function render(n: Nodes, c: Context, key: number): ReactNode {
  switch (n.type) {
    case "text":
      return <Fragment key={key}>{withNotes(n, c)}</Fragment>;
    case "paragraph":
      return isAside(n.children) ? (
        <Aside key={key}>{renderChildren(n, c)}</Aside>
      ) : (
        <p key={key}>{renderChildren(n, c)}</p>
      );
    case "heading": {
      const Level = `h${Math.min(n.depth + 2, 6)}` as "h3";
      return <Level key={key}>{renderChildren(n, c)}</Level>;
    }
    case "strong":
      return <strong key={key}>{renderChildren(n, c)}</strong>;
    case "emphasis":
      return <em key={key}>{renderChildren(n, c)}</em>;
    case "delete":
      return <del key={key}>{renderChildren(n, c)}</del>;
    case "inlineCode":
      return <code key={key}>{n.value}</code>;
    case "code":
      return (
        <pre key={key} tabIndex={0}>
          <code>{n.value}</code>
        </pre>
      );
    case "blockquote":
      return <blockquote key={key}>{renderChildren(n, c)}</blockquote>;
    case "list":
      return n.ordered ? (
        <ol key={key} start={n.start ?? 1}>
          {renderChildren(n, c)}
        </ol>
      ) : (
        <ul key={key}>{renderChildren(n, c)}</ul>
      );
    case "listItem":
      return c.offers.includes(plainText(n).trim()) ? (
        <li key={key} className="offer">
          <Offer text={plainText(n).trim()} />
        </li>
      ) : (
        <li key={key}>
          {n.children.map((k, i) =>
            k.type === "paragraph" && !n.spread ? <Fragment key={i}>{renderChildren(k, c)}</Fragment> : render(k, c, i),
          )}
        </li>
      );
    case "table":
      return <TableView key={key} table={n} c={{ ...c, inTable: true }} />;
    case "thematicBreak":
      return <hr key={key} />;
    case "break":
      return <br key={key} />;
    case "link":
      return (
        <Link key={key} url={n.url} text={plainText(n)} apart={hasNotes(n, c)}>
          {renderChildren(n, c)}
        </Link>
      );
    case "image":
      return <em key={key}>{n.alt || "image"}</em>;
    case "html":
      return <Fragment key={key}>{n.value}</Fragment>;
    default:
      return "children" in n ? <Fragment key={key}>{renderChildren(n as { children: Nodes[] }, c)}</Fragment> : null;
  }
}

/** Reports whether a paragraph is a remark beside the answer: it is emphasised as a whole, or says how the question was
 *  understood. */
function isAside(children: PhrasingContent[]): boolean {
  if (children.length === 1 && children[0]?.type === "emphasis") return true;
  const start = children.slice(0, 3).map((n) => ("value" in n ? n.value : ""));
  return /^(?:Source: .{1,200}?\. )?Reading: /.test(start.join(""));
}

/** A remark on one line. A longer one can be expanded. */
function Aside({ children }: { children: ReactNode }) {
  const [open, setOpen] = useState(false);
  const [cut, setCut] = useState(false);
  const line = useRef<HTMLParagraphElement>(null);
  useLayoutEffect(() => {
    const el = line.current!;
    const resize = new ResizeObserver(() => setCut(el.scrollWidth > el.clientWidth));
    resize.observe(el);
    return () => resize.disconnect();
  }, []);
  return (
    <div className="aside flex items-baseline gap-2">
      <p ref={line} className={`min-w-0 ${open ? "" : "truncate"}`}>
        {children}
      </p>
      {(cut || open) && (
        <button
          type="button"
          aria-expanded={open}
          onClick={() => setOpen(!open)}
          className="shrink-0 rounded-sm text-xs underline underline-offset-2 hover:text-ink"
        >
          {open ? "Less" : "More"}
        </button>
      )}
    </div>
  );
}

const plainText = (n: Nodes): string =>
  "value" in n ? n.value : "children" in n ? n.children.map(plainText).join("") : "";

/** Reports whether a part of the text contains a footnote. */
function hasNotes(n: Nodes, c: Context): boolean {
  const from = c.base + (n.position?.start.offset ?? 0),
    to = c.base + (n.position?.end.offset ?? 0);
  return c.notes.some((x) => x.from >= from && x.to <= to);
}

const numeral = /^[-+(]?([A-Z]{0,3}\p{Sc}|[A-Z]{3,4}(?=\u00a0))?\s?[\d.,]+\s?(%|[kKMBT])?\)?$/u;

// Longer tables are collapsed. The right pane shows them in full.
const collapsedRows = 12;

/** Returns the result that all cells of a table come from, if it has more rows than the table. */
function useFullResult(c: Context, rows: number): FullResult | undefined {
  const fullResultOf = use(FullResultContext);
  const from = new Set(c.notes.map((n) => n.cite?.result));
  const [result] = from;
  const full = from.size === 1 && result ? fullResultOf(result) : undefined;
  return full && full.rows > rows ? full : undefined;
}

function TableView({ table, c }: { table: Table; c: Context }) {
  const [all, setAll] = useState(false);
  const [head, ...body] = table.children;
  const short = !all && body.length > collapsedRows + 1;
  const full = useFullResult(c, body.length);
  const cellText = (i: number, r = 0) => {
    const cell = body[r]?.children[i];
    return cell
      ? c.text.slice(
          c.base + (cell.children[0]?.position?.start.offset ?? 0),
          c.base + (cell.children.at(-1)?.position?.end.offset ?? 0),
        )
      : "";
  };
  const right = (head?.children ?? []).map(
    (_, i) =>
      table.align?.[i] === "right" ||
      (body.length > 0 && body.every((_, r) => numeral.test(cellText(i, r).replaceAll("*", "")))),
  );
  return (
    <div className="table-box" tabIndex={0} role="region" aria-label="Table">
      <table>
        <thead>
          <tr>
            {head?.children.map((cell, i) => (
              <th key={i} scope="col" className={right[i] ? "num" : undefined}>
                {renderChildren(cell, c)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {(short ? body.slice(0, collapsedRows) : body).map((row, r) => (
            <tr key={r}>
              {row.children.map((cell, i) => (
                <td key={i} className={right[i] ? "num" : undefined}>
                  {renderChildren(cell, c)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {full ? (
        <button
          type="button"
          onClick={full.show}
          className="mt-1 rounded-sm text-xs text-ink-quiet underline underline-offset-2 hover:text-ink"
        >
          All {count(full.rows)} rows in the table
        </button>
      ) : (
        body.length > collapsedRows + 1 && (
          <button
            type="button"
            aria-expanded={all}
            onClick={() => setAll(!all)}
            className="mt-1 rounded-sm text-xs text-ink-quiet underline underline-offset-2 hover:text-ink"
          >
            {short ? `All ${body.length} rows` : "Fewer rows"}
          </button>
        )
      )}
    </div>
  );
}

/** Returns a text with buttons for its footnotes, without its first characters if they are shown elsewhere. */
function withNotes(n: Text, c: Context, skip = 0): ReactNode {
  const from = c.base + (n.position?.start.offset ?? 0);
  const to = c.base + (n.position?.end.offset ?? 0);
  const mine = c.notes.filter((x) => x.from >= from && x.to <= to);
  if (!mine.length) return n.value.slice(skip);
  const place = valueOffsets(c.text.slice(from, to), n.value);
  const out: ReactNode[] = [];
  let at = skip;
  for (const note of mine) {
    const a = place(note.from - from),
      b = place(note.to - from);
    if (a < at || b <= a) continue;
    if (a > at) out.push(n.value.slice(at, a));
    const mark = closing(n.value.slice(b));
    at = b + mark.length;
    out.push(
      <Unbroken key={note.from}>
        <NoteMark note={note} text={n.value.slice(a, b)} bare={c.inTable} />
        {mark}
      </Unbroken>,
    );
  }
  out.push(n.value.slice(at));
  return out;
}

/** Returns a function that maps offsets in Markdown source to offsets in its value, where escapes are resolved. */
export function valueOffsets(source: string, value: string): (at: number) => number {
  if (source === value) return (at) => at;
  const map: number[] = [];
  let v = 0;
  for (let s = 0; s < source.length; s++) {
    map[s] = v;
    if (source[s] === value[v]) v++;
    else if (source[s] === "&") {
      const end = source.indexOf(";", s);
      for (; end > s && s < end; s++) map[s + 1] = v;
      v++;
    }
  }
  return (at) => map[at] ?? value.length;
}
