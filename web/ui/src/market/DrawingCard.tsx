// A change that the assistant made to a drawing, as a card in the conversation: what, why, and a button to undo it.
import { useSyncExternalStore } from "react";
import { refusalWords } from "./words";
import type { ToolPart } from "../log/conversation";
import { labelOf } from "../log/tools";
import { Icon } from "../ui/Icon";
import { crossingWords, type Crossings } from "./crossed";
import { undoneSteps, type Doc } from "./doc";
import { ChartIcon } from "./icons";
import { glyphOf, Reason } from "./Side";
import type { Change } from "./types";
import { headline } from "./words";

interface Props {
  part: ToolPart;
  doc: Doc;
  crossings: Crossings;
  digits: number;
  onHighlight: (id: string | undefined, change?: Change) => void;
  onReveal: (id: string) => void;
}

export function DrawingCard({ part, doc, crossings, digits, onHighlight, onReveal }: Props) {
  const trail = useSyncExternalStore(doc.subscribe, () => doc.get().trail);
  const c = trail.find((t) => t.call === part.key) ?? (part.detail as { change?: Change } | undefined)?.change;
  if (part.state === "failed") return <Refused part={part} />;
  if (!c) return part.state === "done" ? null : <InProgress words={labelOf(part)} />;
  const undone = undoneSteps(trail).has(c.step);
  const there = doc.find(c.drawing) !== undefined;
  const look = c.after ?? c.before;
  const newest = trail.find((t) => t.drawing === c.drawing) === c;
  const crossed = newest ? crossings.get(c.drawing) : undefined;
  return (
    <section
      aria-label={headline(c, digits)}
      className="mt-2 rounded-md border bg-surface py-1.5 pr-1.5 pl-3 text-sm"
      onPointerEnter={() => onHighlight(c.drawing, c)}
      onPointerLeave={() => onHighlight(undefined)}
      onFocus={() => onHighlight(c.drawing, c)}
      onBlur={() => onHighlight(undefined)}
      data-change={c.version}
    >
      <div className="flex items-start gap-2">
        {look && (
          <span style={{ color: look.color }} className={`py-1 ${look.color ? "" : "text-accent"}`}>
            <ChartIcon name={glyphOf(look)} small className="mt-0.5" />
          </span>
        )}
        <button
          type="button"
          disabled={!there}
          onClick={() => onReveal(c.drawing)}
          className="min-w-0 flex-1 rounded-sm py-1 text-left font-medium wrap-anywhere enabled:hover:underline"
        >
          {headline(c, digits)}
        </button>
        {undone ? (
          <span className="py-1 pr-1.5 text-xs text-ink-quiet">undone</span>
        ) : (
          <button
            type="button"
            onClick={() => void doc.revert(c)}
            className="inline-flex h-7 shrink-0 items-center gap-1 rounded-md px-1.5 text-xs text-ink-soft hover:bg-hover"
          >
            <ChartIcon name="undo" small />
            Undo
          </button>
        )}
      </div>
      <div className="pr-1.5 pb-1">
        <Reason c={c} digits={digits} />
        {crossed && <p className="mt-0.5 text-xs text-warn">{crossingWords(crossed)}</p>}
      </div>
    </section>
  );
}

function InProgress({ words }: { words: string }) {
  return (
    <p className="mt-2 flex items-center gap-2 rounded-md border bg-surface px-3 py-2 text-sm text-ink-quiet">
      <Icon name="spinner" small className="turning text-accent" />
      {words}
    </p>
  );
}

/** A change that was refused. The assistant reads the reason, too. */
function Refused({ part }: { part: ToolPart }) {
  return (
    <p className="mt-2 flex items-start gap-2 rounded-md border bg-surface px-3 py-2 text-sm text-ink-quiet">
      <Icon name="alert" small className="mt-0.5 text-warn" />
      <span className="min-w-0 wrap-anywhere">
        {labelOf(part)} was refused: {refusalWords(part.content ?? "")}
      </span>
    </p>
  );
}
