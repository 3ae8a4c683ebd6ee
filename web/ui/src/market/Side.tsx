// The list of drawings, and the trail: who changed what, when and why. Pointing at an entry highlights its drawing;
// pointing at a change also shows the drawing as it was before.
import { useEffect, useRef, useState } from "react";
import { plural, listTime } from "../lib/format";
import { youOrName } from "../lib/me";
import { rem, useVisible } from "../lib/visible";
import { IconButton } from "../ui/Button";
import { Tabs } from "../ui/Tabs";
import { crossingWords, type Crossing, type Crossings } from "./crossed";
import { undoneSteps, type Doc, type DocState } from "./doc";
import { visible } from "./edit";
import { ChartIcon, type Glyph } from "./icons";
import { setPrefs } from "./prefs";
import { kindOf, nameOf, pricesOf } from "./shape";
import { GlyphButton } from "./TopBar";
import type { Change, Drawing, SymbolInfo, Timeframe } from "./types";
import { diffs, headline, timeOf } from "./words";

interface Props {
  doc: Doc;
  state: DocState;
  crossings: Crossings;
  info: SymbolInfo;
  timeframe: Timeframe;
  view: "drawings" | "trail";
  chosen: string | undefined;
  onChoose: (id: string) => void;
  onHighlight: (id: string | undefined, change?: Change) => void;
  onEdit: (id: string) => void;
  onOpenConversation: (conversation: string) => void;
}

export function Side(p: Props) {
  const { onHighlight } = p;
  useEffect(() => () => onHighlight(undefined), [onHighlight, p.view]);
  return (
    <>
      <header className="flex h-(--header) shrink-0 items-center gap-1 border-b px-2 lg:h-11">
        <Tabs
          name="side"
          label="Drawings and their trail"
          tabs={[
            { id: "drawings", label: "Drawings" },
            { id: "trail", label: "Trail" },
          ]}
          now={p.view}
          onChange={(side) => setPrefs({ side })}
        />
        <IconButton icon="close" label="Close" className="ml-auto" onClick={() => setPrefs({ side: null })} />
      </header>
      <div id="side-panel" role="tabpanel" aria-labelledby={`side-${p.view}`} className="flex min-h-0 flex-1 flex-col">
        {p.view === "drawings" ? <List {...p} /> : <Trail {...p} />}
      </div>
    </>
  );
}

const rowHeight = 2.75; // rem

function List({ doc, state, crossings, info, timeframe, chosen, onChoose, onHighlight, onEdit }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const all = state.drawings;
  const row = rem(rowHeight);
  const { from, to } = useVisible(scroller, all.length, (i) => i * row);
  return (
    <div ref={scroller} className="min-h-0 flex-1 overflow-y-auto" tabIndex={-1}>
      {!all.length && !state.loading && (
        <p className="p-4 text-sm text-ink-quiet">No drawings yet. Pick a tool, or ask for levels in the chat.</p>
      )}
      <ul className="relative" style={{ height: all.length * row }} onPointerLeave={() => onHighlight(undefined)}>
        {all.slice(from, to).map((d, i) => (
          <li key={d.id} className="absolute inset-x-0 px-1" style={{ top: (from + i) * row, height: row }}>
            <Row
              d={d}
              crossed={crossings.get(d.id)}
              info={info}
              shown={visible(d, timeframe)}
              chosen={d.id === (chosen && doc.idOf(chosen))}
              doc={doc}
              onChoose={onChoose}
              onHighlight={onHighlight}
              onEdit={onEdit}
            />
          </li>
        ))}
      </ul>
    </div>
  );
}

interface RowProps extends Pick<Props, "doc" | "info" | "onChoose" | "onHighlight" | "onEdit"> {
  d: Drawing;
  crossed: Crossing | undefined;
  shown: boolean;
  chosen: boolean;
}

export const glyphOf = (d: Pick<Drawing, "type" | "extend">): Glyph =>
  d.type === "trendline" && d.extend && d.extend !== "none" ? d.extend : d.type;

function Row({ d, crossed, info, shown, chosen, doc, onChoose, onHighlight, onEdit }: RowProps) {
  const place = pricesOf(d)[0]?.toFixed(info.digits) ?? timeOf(d);
  return (
    <div
      className={`group flex h-full items-center rounded-md ${chosen ? "bg-accent-soft" : "hover:bg-hover"}`}
      onPointerEnter={() => onHighlight(d.id)}
      onFocus={() => onHighlight(d.id)}
      onBlur={() => onHighlight(undefined)}
    >
      <button
        type="button"
        aria-current={chosen || undefined}
        onClick={() => onChoose(d.id)}
        onDoubleClick={() => onEdit(d.id)}
        className={`flex h-full min-w-0 flex-1 items-center gap-2 rounded-md pl-2 text-left text-sm -outline-offset-2 ${shown ? "" : "text-ink-quiet"}`}
      >
        <span style={{ color: d.color }} className={d.color ? "" : "text-accent"}>
          <ChartIcon name={glyphOf(d)} small />
        </span>
        <span className="min-w-0 flex-1">
          <span className="block truncate" dir="auto">
            {nameOf(d)}
          </span>
          <span className="tabular block truncate text-xs text-ink-quiet" title={crossed && crossingWords(crossed)}>
            {[
              d.label || d.text ? kindOf(d) : "",
              place,
              d.changed?.by === "agent" ? "assistant" : "",
              crossed ? "crossed" : "",
              d.hidden ? "hidden" : shown ? "" : "other timeframe",
            ]
              .filter(Boolean)
              .join(" · ")}
          </span>
        </span>
      </button>
      <span className="flex pr-1 lg:pointer-fine:opacity-0 lg:pointer-fine:group-focus-within:opacity-100 lg:pointer-fine:group-hover:opacity-100">
        <GlyphButton
          small
          glyph={d.hidden ? "eyeOff" : "eye"}
          label={d.hidden ? `Show ${nameOf(d)}` : `Hide ${nameOf(d)}`}
          onClick={() => doc.save({ ...d, hidden: !d.hidden })}
        />
        <GlyphButton
          small
          glyph={d.locked ? "lock" : "unlock"}
          label={d.locked ? `Unlock ${nameOf(d)}` : `Lock ${nameOf(d)}`}
          onClick={() => doc.save({ ...d, locked: !d.locked })}
        />
        <IconButton
          icon="trash"
          small
          label={`Delete ${nameOf(d)}`}
          disabled={d.locked}
          onClick={() => doc.remove(d.id)}
        />
      </span>
    </div>
  );
}

function Trail({ doc, state, info, chosen, onChoose, onHighlight, onOpenConversation }: Props) {
  const [only, setOnly] = useState(false);
  const id = chosen && doc.idOf(chosen);
  const undone = undoneSteps(state.trail);
  const shown = only && id ? state.trail.filter((c) => c.drawing === id) : state.trail;
  return (
    <div className="min-h-0 flex-1 overflow-y-auto" onPointerLeave={() => onHighlight(undefined)}>
      {id && (
        <label className="flex items-center gap-2 px-4 pt-3 text-sm text-ink-soft">
          <input type="checkbox" checked={only} onChange={(e) => setOnly(e.target.checked)} />
          Only the selected drawing
        </label>
      )}
      {!shown.length && !state.loading && (
        <p className="p-4 text-sm text-ink-quiet">Every change will appear here, with its author and reason.</p>
      )}
      <ol className="p-2" aria-label="Changes, newest first">
        {shown.map((c) => (
          <Entry
            key={c.version}
            c={c}
            digits={info.digits}
            doc={doc}
            there={doc.find(c.drawing) !== undefined}
            undone={undone.has(c.step)}
            onChoose={onChoose}
            onHighlight={onHighlight}
            onOpenConversation={onOpenConversation}
          />
        ))}
      </ol>
      {state.more && (
        <button
          type="button"
          onClick={() => void doc.older()}
          className="mx-2 mb-4 h-9 rounded-md px-3 text-sm text-ink-soft hover:bg-hover"
        >
          Older
        </button>
      )}
    </div>
  );
}

interface EntryProps extends Pick<Props, "doc" | "onChoose" | "onHighlight" | "onOpenConversation"> {
  c: Change;
  digits: number;
  there: boolean;
  undone: boolean;
}

function Entry({ c, digits, doc, there, undone, onChoose, onHighlight, onOpenConversation }: EntryProps) {
  return (
    <li
      className="rounded-md px-2 py-2 text-sm hover:bg-hover"
      onPointerEnter={() => onHighlight(c.drawing, c)}
      onFocus={() => onHighlight(c.drawing, c)}
      onBlur={() => onHighlight(undefined)}
    >
      <div className="flex items-start gap-2">
        <span
          title={c.by === "agent" ? "The assistant" : youOrName(c.user)}
          className={c.by === "agent" ? "text-accent" : "text-ink-quiet"}
        >
          <ChartIcon name={c.by} small className="mt-0.5" />
        </span>
        <div className="min-w-0 flex-1">
          <button
            type="button"
            disabled={!there}
            onClick={() => onChoose(c.drawing)}
            className="block max-w-full rounded-sm text-left font-medium wrap-anywhere enabled:hover:underline disabled:text-ink"
          >
            {headline(c, digits)}
          </button>
          <Reason c={c} digits={digits} />
          <p className="mt-0.5 flex flex-wrap gap-x-2 text-xs text-ink-quiet">
            <span>
              {c.by === "agent" ? "The assistant" : youOrName(c.user)}, {listTime(c.at)}
            </span>
            {c.conversation && (
              <button
                type="button"
                onClick={() => onOpenConversation(c.conversation!)}
                className="rounded-sm underline underline-offset-2 hover:text-ink"
              >
                Show the question
              </button>
            )}
            {undone && <span>undone</span>}
            {!undone && c.action !== "undo" && c.action !== "redo" && (
              <button
                type="button"
                onClick={() => void doc.revert(c)}
                className="rounded-sm underline underline-offset-2 hover:text-ink"
              >
                {c.action === "import" ? "Undo the import" : "Undo this change"}
              </button>
            )}
          </p>
        </div>
      </div>
    </li>
  );
}

/** The reason for a change, and the fields that it changed. */
export function Reason({ c, digits }: { c: Change; digits: number }) {
  const all = c.before && c.after ? diffs(c, digits) : [];
  const [open, setOpen] = useState(false);
  const some = open ? all : all.slice(0, 4);
  const why = c.reason || (c.action === "create" ? c.after?.notes : "");
  return (
    <>
      {why && <p className="mt-0.5 text-ink-soft wrap-anywhere" dir="auto">{`because: ${why}`}</p>}
      {some.length > 0 && (
        <dl className="tabular mt-1 grid grid-cols-[auto_1fr] gap-x-2 text-xs">
          {some.map((d) => (
            <div key={d.field} className="contents">
              <dt className="text-ink-quiet">{d.field}</dt>
              <dd className="min-w-0 wrap-anywhere">
                <span className="text-removed line-through">{d.from}</span> → <span className="text-added">{d.to}</span>
              </dd>
            </div>
          ))}
        </dl>
      )}
      {all.length > 4 && (
        <button
          type="button"
          aria-expanded={open}
          onClick={() => setOpen(!open)}
          className="rounded-sm text-xs text-ink-quiet underline underline-offset-2"
        >
          {open ? "Less" : `All ${plural(all.length, "field")}`}
        </button>
      )}
    </>
  );
}
