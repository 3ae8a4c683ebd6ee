// A grid for any number of rows and columns. Only visible cells are rendered. The grid element has the focus and refers
// to the active cell with aria-activedescendant; arrow keys move the active cell, and Ctrl+C copies.
import {
  memo,
  useCallback,
  useEffect,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  type KeyboardEvent,
  type PointerEvent,
} from "react";
import type { ResultRef } from "../../api/rows";
import { count as grouped, plural } from "../../lib/format";
import type { Cell, Column } from "../../log/events";
import { Icon } from "../../ui/Icon";
import { stylesOf, formatCell, type Style } from "../numbers";
import type { Filter } from "./filter";
import { Filters } from "./Filters";
import { useRows, type Sort } from "./rows";
import { linesOf, widthOf } from "./widths";
import "./grid.css";

interface GridProps {
  source: ResultRef;
  columns: readonly Column[];
  count: number;
  /** The first page, if it is loaded already. */
  first?: readonly (readonly Cell[])[];
  label: string;
  /** A cell to highlight and scroll to. Rows count from 0 in the result. */
  mark?: { row: number; column: string };
  /** The query returned more rows than the result has. */
  truncated?: boolean;
}

const overscanRows = 8;
const overscanColumns = 2;
const sampleRows = 300; // for the widths of columns
const maxHeight = 15_000_000; // browsers do not draw elements that are much taller
const rem = () => parseFloat(getComputedStyle(document.documentElement).fontSize) || 16;

function sizeText(count: number, total: number, filtered: boolean, truncated?: boolean): string {
  const rows = filtered ? `${grouped(count)} of ${plural(total, "row")}` : plural(count, "row");
  return truncated ? `${rows}; the query returned more` : rows;
}

/** Returns how far the rows move when the grid is scrolled by a pixel: more than one, if they do not fit maxHeight. */
function scaleOf(el: HTMLElement, height: number): number {
  return height > maxHeight ? (height - el.clientHeight) / (maxHeight - el.clientHeight) : 1;
}

interface At {
  row: number;
  column: number;
}

export function Grid({ source, columns, count: total, first: given, label, mark, truncated }: GridProps) {
  const id = useId();
  const [sort, setSort] = useState<Sort>();
  const [filters, setFilters] = useState<Filter[]>([]);
  const rows = useRows(source, columns, total, { sort, filters }, given);
  const count = rows.count ?? total;
  const scroller = useRef<HTMLDivElement>(null);
  const unit = useMemo(rem, []);
  const height = unit * 1.75;
  const [view, setView] = useState({ from: 0, to: 40, left: 0, right: 20, shift: 0 });
  const ends = useRef<number[]>([]); // the right edge of each column, without the row numbers
  const [active, setActive] = useState<At>();
  const [anchor, setAnchor] = useState<At>();
  const [status, setStatus] = useState("");

  const updateView = useCallback(() => {
    const el = scroller.current;
    if (!el) return;
    const top = el.scrollTop * scaleOf(el, count * height);
    const from = Math.max(0, Math.floor(top / height) - overscanRows);
    const to = Math.min(count, Math.ceil((top + el.clientHeight) / height) + overscanRows);
    const shift = top - el.scrollTop;
    const first = ends.current.findIndex((x) => x > el.scrollLeft),
      after = ends.current.findIndex((x) => x > el.scrollLeft + el.clientWidth);
    const left = first < 0 ? 0 : Math.max(0, first - overscanColumns),
      right = after < 0 ? Infinity : after + 1 + overscanColumns;
    setView((v) =>
      v.from === from && v.to === to && v.left === left && v.right === right && v.shift === shift
        ? v
        : { from, to, left, right, shift },
    );
  }, [count, height]);
  useLayoutEffect(() => {
    const el = scroller.current!;
    updateView();
    const resize = new ResizeObserver(updateView);
    resize.observe(el);
    let frame = 0;
    const onScroll = () => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(updateView);
    };
    el.addEventListener("scroll", onScroll, { passive: true });
    return () => {
      cancelAnimationFrame(frame);
      resize.disconnect();
      el.removeEventListener("scroll", onScroll);
    };
  }, [updateView]);
  const { need } = rows;
  useEffect(() => {
    need(view.from, view.to);
  }, [need, view]);

  const loaded = useRef(""); // the result of which a row was loaded
  if (rows.at(0)) loaded.current = `${source.conversation}.${source.id}`;
  const first = loaded.current === `${source.conversation}.${source.id}`;
  const { styles, widths: natural } = useMemo(() => {
    const some = firstRows(rows.at, Math.min(sampleRows, total));
    const styles = stylesOf(columns, firstRows(rows.at, Math.min(10_000, total)) as Cell[][]);
    return {
      styles,
      widths: columns.map((c, j) =>
        widthOf(
          c,
          some.map((r) => (r[j] === null ? "NULL" : formatCell(r[j], styles[j]!, r))),
          unit,
        ),
      ),
    };
    // Computed once, so that widths do not change while scrolling.
  }, [columns, first, unit, total]);
  const [own, setOwn] = useState<Record<number, number>>({});
  const width = (j: number) => own[j] ?? natural[j]!;
  const numbers = Math.max(2.5, String(total).length * 0.55 + 1.4) * unit;
  const template = `${numbers}px ${columns.map((_, j) => `${width(j)}px`).join(" ")} minmax(0, 1fr)`;
  let edge = 0;
  const edges = columns.map((_, j) => (edge += width(j)));
  const wide = numbers + edge;
  const lines = columns.reduce((most, c, j) => Math.max(most, linesOf(c, width(j), unit)), 1);
  const head = unit * (0.5 + 1.25 * lines);
  useLayoutEffect(() => {
    ends.current = edges;
    updateView();
  }, [wide, updateView]);

  const reveal = useCallback(
    (place: number, middle = false) => {
      const el = scroller.current;
      if (!el) return;
      const scale = scaleOf(el, count * height),
        now = el.scrollTop * scale,
        top = place * height,
        room = el.clientHeight - head; // the header covers the rest
      if (middle) el.scrollTop = Math.max(0, top - room / 2) / scale;
      else if (top < now) el.scrollTop = top / scale;
      else if (top + height > now + room) el.scrollTop = (top + height - room) / scale;
    },
    [count, height, head],
  );
  const latest = useRef(reveal);
  useLayoutEffect(() => void (latest.current = reveal));
  const revealColumn = (j: number) => {
    const el = scroller.current;
    if (!el) return;
    const left = j ? edges[j - 1]! : 0,
      right = edges[j]!,
      room = el.clientWidth - numbers; // the row numbers cover the rest
    if (left < el.scrollLeft || right - left > room) el.scrollLeft = left;
    else if (right > el.scrollLeft + room) el.scrollLeft = right - room;
  };
  // The cell that an address or a footnote refers to.
  const marked = mark && { row: mark.row, column: columns.findIndex((c) => c.name === mark.column) };
  useEffect(() => {
    if (!mark) return;
    const place = rows.placeOf(mark.row);
    if (place === undefined) {
      setSort(undefined);
      setFilters([]);
    }
    requestAnimationFrame(() => latest.current(place ?? mark.row, true));
    const j = columns.findIndex((c) => c.name === mark.column);
    if (j >= 0) revealColumn(j);
  }, [mark?.row, mark?.column, first]);

  const change = (next: Sort | undefined, only: Filter[]) => {
    setSort(next);
    setFilters(only);
    setActive(undefined);
    scroller.current!.scrollTop = 0;
  };
  const bySort = (j: number) => {
    const next: Sort | undefined =
      sort?.column !== j
        ? { column: j, down: styles[j]!.numeric }
        : sort.down === styles[j]!.numeric
          ? { column: j, down: !sort.down }
          : undefined;
    change(next, filters);
  };

  const block = active && blockOf(active, anchor ?? active);
  const text = () => (block ? textOf(block, rows.at) : "");
  const copied = () => {
    if (!block) return;
    setStatus(sizeOf(block) === 1 ? "Cell copied." : `${plural(sizeOf(block), "cell")} copied.`);
    setTimeout(() => setStatus(""), 2000);
  };

  const key = (e: KeyboardEvent<HTMLElement>) => {
    if (e.target !== e.currentTarget) return;
    const now = active ?? { row: view.from, column: 0 };
    const pageful = Math.max(1, Math.floor((scroller.current!.clientHeight - head - height) / height));
    if (e.altKey && (e.key === "ArrowLeft" || e.key === "ArrowRight") && active) {
      e.preventDefault();
      return setOwn((o) => ({
        ...o,
        [active.column]: Math.max(3 * unit, width(active.column) + (e.key === "ArrowRight" ? unit : -unit)),
      }));
    }
    const last = { row: count - 1, column: columns.length - 1 };
    const next = step(e, now, active !== undefined, pageful, last);
    if (!next) {
      if (e.key === "Escape" && active) {
        e.stopPropagation();
        setActive(undefined);
      }
      return;
    }
    e.preventDefault();
    const cell = {
      row: Math.max(0, Math.min(last.row, next.row)),
      column: Math.max(0, Math.min(last.column, next.column)),
    };
    setActive(cell);
    if (!e.shiftKey) setAnchor(cell);
    reveal(cell.row);
    revealColumn(cell.column);
  };

  const choose = useCallback(
    (row: number, column: number, more: boolean) => {
      const last = column < 0;
      setActive({ row, column: Math.max(0, column) });
      if (!more) setAnchor(last ? { row, column: columns.length - 1 } : { row, column });
    },
    [columns.length],
  );

  const drawn: React.ReactNode[] = [];
  for (let r = view.from; r < Math.min(view.to, count); r++) {
    const inside = block && r >= block.from.row && r <= block.to.row ? block : undefined;
    const original = rows.original(r);
    drawn.push(
      <Line
        key={r}
        id={id}
        place={r}
        original={original}
        row={rows.at(r)}
        styles={styles}
        top={r * height - view.shift}
        template={template}
        left={view.left}
        right={Math.min(view.right, columns.length)}
        marked={marked && marked.row === original ? marked.column : -2}
        from={inside?.from.column ?? -1}
        to={inside?.to.column ?? -1}
        active={active?.row === r ? active.column : -1}
        choose={choose}
      />,
    );
  }

  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <div
        ref={scroller}
        role="grid"
        aria-label={label}
        aria-rowcount={count + 1}
        aria-colcount={columns.length + 1}
        aria-activedescendant={active ? `${id}-${active.row}-${active.column}` : undefined}
        aria-multiselectable="true"
        tabIndex={0}
        onKeyDown={key}
        onCopy={(e) => {
          if (!active || (e.target !== e.currentTarget && !e.currentTarget.contains(e.target as Node))) return;
          e.clipboardData.setData("text/plain", text());
          e.preventDefault();
          copied();
        }}
        className="grid-view tabular min-h-0 flex-1 overflow-auto text-sm"
      >
        <div role="rowgroup" className="grid-head" style={{ minWidth: wide }}>
          <div
            role="row"
            aria-rowindex={1}
            className="grid-line"
            style={{ gridTemplateColumns: template, height: head }}
          >
            <span role="columnheader" aria-colindex={1} className="grid-number">
              <span className="sr-only">Row</span>
            </span>
            {columns.map((c, j) => (
              <Head
                key={j}
                column={c}
                index={j}
                right={styles[j]!.numeric}
                sort={sort?.column === j ? (sort.down ? "down" : "up") : undefined}
                onSort={() => bySort(j)}
                width={width(j)}
                onWidth={(w) => setOwn((o) => ({ ...o, [j]: Math.max(3 * unit, w) }))}
                onFit={() => setOwn(({ [j]: _, ...rest }) => rest)}
              />
            ))}
          </div>
        </div>
        <div
          role="rowgroup"
          className="relative"
          style={{ height: Math.min(count * height, maxHeight), minWidth: wide }}
        >
          {drawn}
        </div>
      </div>
      <div className="flex min-h-9 shrink-0 items-center gap-3 border-t px-3 text-xs text-ink-quiet">
        <span className="tabular">{sizeText(count, total, filters.length > 0, truncated)}</span>
        {sort && (
          <button
            type="button"
            onClick={() => change(undefined, filters)}
            className="rounded-sm underline underline-offset-2 hover:text-ink"
          >
            Sorted by {columns[sort.column]!.name}: undo
          </button>
        )}
        <Filters columns={columns} filters={filters} onChange={(only) => change(sort, only)} />
        {rows.error && (
          <span role="alert" className="text-bad">
            {rows.error}
          </span>
        )}
        <span className="flex-1" />
        <span role="status">{status}</span>
        {block && !status && (
          <CopyButton
            cells={sizeOf(block)}
            onClick={() => {
              navigator.clipboard.writeText(text()).then(copied, () => setStatus("The browser did not allow copying."));
            }}
          />
        )}
      </div>
    </div>
  );
}

function CopyButton({ cells, onClick }: { cells: number; onClick: () => void }) {
  return (
    <button
      type="button"
      onClick={onClick}
      className="inline-flex items-center gap-1 rounded-sm px-1 py-1 hover:text-ink"
    >
      <Icon name="copy" small />
      Copy {cells > 1 ? plural(cells, "cell") : "cell"}
    </button>
  );
}

/** The cells between two corners. */
interface Block {
  from: At;
  to: At;
}

const blockOf = (a: At, b: At): Block => ({
  from: { row: Math.min(a.row, b.row), column: Math.min(a.column, b.column) },
  to: { row: Math.max(a.row, b.row), column: Math.max(a.column, b.column) },
});

const sizeOf = ({ from, to }: Block) => (to.row - from.row + 1) * (to.column - from.column + 1);

/** Returns a block as lines of tab-separated cells, for spreadsheets. */
function textOf({ from, to }: Block, at: (row: number) => readonly Cell[] | undefined): string {
  const alone = from.row === to.row && from.column === to.column;
  const lines: string[] = [];
  for (let r = from.row; r <= to.row; r++) {
    const row = at(r);
    if (!row) continue;
    const cells: string[] = [];
    for (let j = from.column; j <= to.column; j++) cells.push(plain(row[j] ?? null, alone));
    lines.push(cells.join("\t"));
  }
  return lines.join("\n");
}

/** Returns the first rows that are loaded. */
function firstRows(at: (row: number) => readonly Cell[] | undefined, max: number): (readonly Cell[])[] {
  const out: (readonly Cell[])[] = [];
  for (let i = 0; i < max; i++) {
    const r = at(i);
    if (r) out.push(r);
  }
  return out;
}

/** Returns the cell to which a navigation key moves, or undefined for other keys. */
function step(e: KeyboardEvent, now: At, active: boolean, page: number, last: At): At | undefined {
  const modifier = e.ctrlKey || e.metaKey;
  switch (e.key) {
    case "ArrowDown":
      return { ...now, row: now.row + (active ? 1 : 0) };
    case "ArrowUp":
      return { ...now, row: now.row - 1 };
    case "ArrowRight":
      return { ...now, column: now.column + 1 };
    case "ArrowLeft":
      return { ...now, column: now.column - 1 };
    case "PageDown":
      return { ...now, row: now.row + page };
    case "PageUp":
      return { ...now, row: now.row - page };
    case "Home":
      return modifier ? { row: 0, column: 0 } : { ...now, column: 0 };
    case "End":
      return modifier ? last : { ...now, column: last.column };
  }
}

/** Returns a cell for the clipboard. In a block, tabs and line breaks become spaces. */
function plain(v: Cell, alone: boolean): string {
  if (v === null) return "";
  return alone ? String(v) : String(v).replace(/[\t\r\n]+/g, " ");
}

interface HeadProps {
  column: Column;
  index: number;
  right: boolean;
  sort?: "up" | "down";
  onSort: () => void;
  width: number;
  onWidth: (w: number) => void;
  onFit: () => void;
}

function Head({ column, index, right, sort, onSort, width, onWidth, onFit }: HeadProps) {
  const start = useRef<{ x: number; width: number }>(undefined);
  const drag = (e: PointerEvent<HTMLElement>) =>
    start.current && onWidth(start.current.width + e.clientX - start.current.x);
  return (
    <span
      role="columnheader"
      aria-colindex={index + 2}
      aria-sort={sort === "up" ? "ascending" : sort === "down" ? "descending" : "none"}
      className="grid-cell relative !p-0"
    >
      <button
        type="button"
        onClick={onSort}
        title={`${column.name}${column.kind ? `, ${column.kind}` : ""}. Click to sort.`}
        className={`flex h-full w-full items-end gap-1 px-3 pb-1 font-semibold text-ink-soft -outline-offset-2 hover:text-ink ${right ? "flex-row-reverse text-right" : "text-left"}`}
      >
        <span className="line-clamp-3 leading-5 wrap-anywhere whitespace-normal">{column.name}</span>
        <Icon
          name="down"
          small
          className={`mb-1 size-3 shrink-0 ${sort ? "text-accent" : "opacity-0"} ${sort === "up" ? "rotate-180" : ""}`}
        />
      </button>
      <span
        aria-hidden="true"
        title="Drag to change the width"
        className="grid-handle"
        onPointerDown={(e) => {
          e.preventDefault();
          start.current = { x: e.clientX, width };
          e.currentTarget.setPointerCapture(e.pointerId);
        }}
        onPointerMove={drag}
        onPointerUp={() => (start.current = undefined)}
        onDoubleClick={onFit}
      />
    </span>
  );
}

interface LineProps {
  id: string;
  place: number;
  original: number | undefined; // until it is loaded
  row: readonly Cell[] | undefined;
  styles: Style[];
  top: number;
  template: string;
  left: number; // the first visible column
  right: number;
  marked: number; // the column of the marked cell, or -2 if it is not in this row
  from: number;
  to: number;
  active: number;
  choose: (row: number, column: number, more: boolean) => void;
}

const Line = memo(function Line({
  id,
  place,
  original,
  row,
  styles,
  top,
  template,
  left,
  right,
  marked,
  from,
  to,
  active,
  choose,
}: LineProps) {
  return (
    <div
      role="row"
      aria-rowindex={place + 2}
      className="grid-line grid-row"
      style={{ top, gridTemplateColumns: template }}
    >
      <span role="rowheader" aria-colindex={1} className="grid-number" onClick={(e) => choose(place, -1, e.shiftKey)}>
        {original === undefined ? "" : original + 1}
      </span>
      {styles.slice(left, right).map((s, k) => {
        const j = left + k;
        const v = row?.[j];
        const on = j >= from && j <= to && from >= 0;
        return (
          <span
            key={j}
            id={`${id}-${place}-${j}`}
            role="gridcell"
            aria-colindex={j + 2}
            aria-selected={on}
            aria-current={marked === j || undefined}
            data-active={active === j || undefined}
            className={`grid-cell ${s.numeric ? "text-right" : ""}`}
            style={k === 0 && left ? { gridColumnStart: j + 2 } : undefined}
            onClick={(e) => choose(place, j, e.shiftKey)}
          >
            {v === null ? <span className="grid-null">NULL</span> : v === undefined ? "" : formatCell(v, s, row)}
          </span>
        );
      })}
    </div>
  );
});
