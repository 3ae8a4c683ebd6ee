// The toolbar of the selected drawing, for the most common changes.
import { useState } from "react";
import { IconButton } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { Menu } from "../ui/Menu";
import { Popover } from "../ui/Popover";
import type { Doc } from "./doc";
import { isPosition, kindOf } from "./shape";
import { GlyphButton } from "./TopBar";
import type { Drawing, Status } from "./types";

interface Props {
  drawing: Drawing;
  doc: Doc;
  onEdit: () => void;
  onCopy: () => void;
  onGone: () => void;
}

const lines = [
  { style: "solid", name: "Solid" },
  { style: "dashed", name: "Dashed" },
  { style: "dotted", name: "Dotted" },
] as const;

export const states: readonly Status[] = ["signal", "pending", "open", "closed"];

export function Style({ drawing: d, doc, onEdit, onCopy, onGone }: Props) {
  const change = (c: Partial<Drawing>) => doc.save({ ...d, ...c });
  const stroked = d.type !== "marker" && d.type !== "text";
  return (
    <div
      role="toolbar"
      aria-label={`${kindOf(d)}, selected`}
      className="chart-style absolute top-20 left-1/2 z-10 flex max-w-full -translate-x-1/2 items-center gap-0.5 rounded-lg border bg-raised p-1 shadow-raised max-md:top-auto max-md:bottom-10"
    >
      <Colour now={d.color} onChoose={(color) => change({ color })} />
      {stroked && <LineMenu d={d} change={change} />}
      {isPosition(d) && (
        <Menu
          label="State"
          groups={[
            {
              title: "State",
              items: states.map((s) => ({ label: s, checked: d.status === s, onSelect: () => change({ status: s }) })),
            },
          ]}
          button={(b) => (
            <button type="button" {...b} className="flex h-8 items-center gap-1 rounded-md px-2 text-sm hover:bg-hover">
              {d.status ?? "signal"}
              <Icon name="down" small />
            </button>
          )}
        />
      )}
      <IconButton icon="edit" small label="Edit text, prices and visibility" onClick={onEdit} />
      <IconButton icon="copy" small label="Duplicate (Ctrl+D)" onClick={onCopy} />
      <GlyphButton
        small
        glyph={d.locked ? "lock" : "unlock"}
        label={d.locked ? "Unlock" : "Lock"}
        pressed={Boolean(d.locked)}
        onClick={() => change({ locked: !d.locked })}
      />
      <GlyphButton
        small
        glyph="eyeOff"
        label="Hide"
        onClick={() => {
          change({ hidden: true });
          onGone();
        }}
      />
      <IconButton
        icon="trash"
        small
        label="Delete"
        disabled={d.locked}
        onClick={() => {
          doc.remove(d.id);
          onGone();
        }}
      />
    </div>
  );
}

function LineMenu({ d, change }: { d: Drawing; change: (c: Partial<Drawing>) => void }) {
  const width = d.lineWidth ?? 1.5;
  return (
    <Menu
      label="Line"
      groups={[
        {
          title: "Style",
          items: lines.map((l) => ({
            label: l.name,
            checked: (d.lineStyle ?? "solid") === l.style,
            onSelect: () => change({ lineStyle: l.style }),
          })),
        },
        {
          title: "Width",
          items: [1, 1.5, 2, 3, 4].map((w) => ({
            label: `${w}`,
            checked: width === w,
            onSelect: () => change({ lineWidth: w }),
          })),
        },
      ]}
      button={(b) => (
        <button
          type="button"
          {...b}
          aria-label="Line style and width"
          title="Line style and width"
          className="flex size-7 items-center justify-center rounded-md hover:bg-hover"
        >
          <svg
            viewBox="0 0 20 20"
            className="size-4"
            aria-hidden="true"
            stroke="currentColor"
            strokeWidth={width}
            strokeDasharray={{ solid: undefined, dashed: "5 3", dotted: "1.5 2.5" }[d.lineStyle ?? "solid"]}
          >
            <path d="M1 10h18" />
          </svg>
        </button>
      )}
    />
  );
}

const names = ["Blue", "Teal", "Green", "Ochre", "Red", "Magenta", "Violet", "Grey"];

/** Returns the colours to choose from, with the values that are stored. */
function swatches(): { name: string; value: string }[] {
  const of = getComputedStyle(document.documentElement);
  return names.map((name, i) => ({ name, value: of.getPropertyValue(`--draw-${i + 1}`).trim() }));
}

export function Colour({
  now,
  onChoose,
  label = "Colour",
}: {
  now: string | undefined;
  onChoose: (color: string) => void;
  label?: string;
}) {
  const [anchor, setAnchor] = useState<HTMLElement | null>(null);
  return (
    <>
      <button
        type="button"
        aria-haspopup="dialog"
        aria-expanded={anchor !== null}
        aria-label={label}
        title={label}
        onClick={(e) => setAnchor(anchor ? null : e.currentTarget)}
        className="flex size-7 items-center justify-center rounded-md hover:bg-hover"
      >
        <span
          className="size-4 rounded-sm border border-line-strong"
          style={{ background: now || "var(--color-accent)" }}
        />
      </button>
      <Popover anchor={anchor} onClose={() => setAnchor(null)} label={label} className="p-2">
        <div className="grid grid-cols-4 gap-1.5">
          {swatches().map((s) => (
            <button
              key={s.name}
              type="button"
              aria-label={s.name}
              title={s.name}
              aria-pressed={s.value === now}
              onClick={() => {
                setAnchor(null);
                onChoose(s.value);
              }}
              className="size-7 rounded-md border-2 border-transparent aria-pressed:border-ink"
              style={{ background: s.value }}
            />
          ))}
        </div>
      </Popover>
    </>
  );
}
