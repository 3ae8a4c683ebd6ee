// The dialog to edit a drawing, with fields for exact prices and times.
import { useEffect, useState, type ReactNode } from "react";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import type { Refusal } from "./doc";
import { isPosition, kindOf, riskReward, defaultLevels } from "./shape";
import { states } from "./Style";
import { timeframes, type Drawing, type Extend, type MarkerType, type Status } from "./types";

interface Props {
  drawing: Drawing;
  digits: number;
  /** Saves the drawing. Resolves with the refusal if the server refuses. */
  onSave: (d: Drawing) => Promise<Refusal | undefined>;
  onClose: () => void;
}

const box = "h-9 w-full rounded-md border bg-surface px-2 text-sm";
const marks: readonly MarkerType[] = ["arrow_up", "arrow_down", "circle", "square", "diamond", "flag"];
const extends_: readonly Extend[] = ["none", "ray", "arrow", "extended"];

export function Edit({ drawing, digits, onSave, onClose }: Props) {
  const [from, setFrom] = useState(drawing); // the version that is being edited
  const [d, setD] = useState(drawing);
  const set = (c: Partial<Drawing>) => setD((old) => ({ ...old, ...c }));
  const [saving, setSaving] = useState(false);
  const [refusal, setRefusal] = useState<Refusal>();
  // The dialog stays open with the user's changes until the drawing is saved.
  const save = async () => {
    if (saving) return;
    setSaving(true);
    setRefusal(undefined);
    const refused = await onSave(cleaned(d));
    if (!refused) return onClose();
    setRefusal(refused);
    setSaving(false);
  };
  useEffect(() => {
    // After a conflict, applies the user's changes to the current version, so that it can be saved.
    if (!refusal?.stale || drawing.version === from.version) return;
    setD((old) => ({ ...drawing, ...changed(from, old) }));
    setFrom(drawing);
  }, [refusal, drawing, from]);
  return (
    <Dialog
      title={kindOf(d)}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" onClick={() => void save()}>
            Save
          </Button>
        </>
      }
    >
      <form
        className="grid gap-3 sm:grid-cols-2"
        noValidate // prices can have more digits than the step
        onSubmit={(e) => {
          e.preventDefault();
          void save();
        }}
      >
        {d.type === "text" && (
          <Field label="Text" wide>
            <input
              className={box}
              maxLength={1000}
              value={d.text ?? ""}
              onChange={(e) => set({ text: e.target.value })}
            />
          </Field>
        )}
        <Field label="Label" wide>
          <input
            className={box}
            maxLength={200}
            value={d.label ?? ""}
            onChange={(e) => set({ label: e.target.value })}
          />
        </Field>
        <Prices d={d} digits={digits} set={set} />
        <TypeFields d={d} set={set} />
        <Field label="Why it matters" wide>
          <textarea
            className="min-h-20 w-full rounded-md border bg-surface px-2 py-1 text-sm"
            maxLength={4000}
            value={d.notes ?? ""}
            onChange={(e) => set({ notes: e.target.value })}
          />
        </Field>
        <Field label="Tags, separated by commas">
          <input
            className={box}
            value={(d.tags ?? []).join(", ")}
            onChange={(e) => set({ tags: e.target.value.split(",").map((t) => t.trimStart()) })}
          />
        </Field>
        <Field label="Importance">
          <select
            className={box}
            value={d.importance ?? ""}
            onChange={(e) => set({ importance: (e.target.value || undefined) as Drawing["importance"] })}
          >
            <option value="">none</option>
            <option>low</option>
            <option>medium</option>
            <option>high</option>
          </select>
        </Field>
        <Visibility d={d} set={set} />
        {refusal && (
          <p role="alert" className="text-sm text-bad wrap-anywhere sm:col-span-2">
            {refusal.words} {refusal.stale && "Save again to overwrite the newer version."}
          </p>
        )}
        <button type="submit" className="hidden" aria-hidden="true" tabIndex={-1} />
      </form>
    </Dialog>
  );
}

/** Returns the fields of d that differ from the original. */
function changed(from: Drawing, d: Drawing): Partial<Drawing> {
  return Object.fromEntries(Object.entries(d).filter(([k, v]) => v !== from[k as keyof Drawing]));
}

function cleaned(d: Drawing): Drawing {
  const tags = d.tags?.map((t) => t.trim()).filter(Boolean);
  return { ...d, tags: tags?.length ? tags : undefined, label: d.label || undefined, notes: d.notes || undefined };
}

function Field({ label, wide, children }: { label: string; wide?: boolean; children: ReactNode }) {
  return (
    <label className={`block text-xs text-ink-quiet ${wide ? "sm:col-span-2" : ""}`}>
      {label}
      <span className="mt-0.5 block text-ink">{children}</span>
    </label>
  );
}

type Set = (c: Partial<Drawing>) => void;

function Prices({ d, digits, set }: { d: Drawing; digits: number; set: Set }) {
  const number = (label: string, value: number | undefined, put: (n: number) => void) => (
    <Field label={label} key={label}>
      <ParsedInput type="number" step={10 ** -digits} value={value ?? ""} read={Number.parseFloat} onRead={put} />
    </Field>
  );
  const anchors = d.anchors ?? [];
  const put = (i: number, c: { time?: number; price?: number }) =>
    set({ anchors: anchors.map((a, j) => (j === i ? { ...a, ...c } : a)) });
  if (d.type === "horizontal_line") return number("Price", d.price, (price) => set({ price }));
  const rr = riskReward(d);
  return (
    <>
      {isPosition(d) && (
        <>
          {number("Entry", d.entry, (entry) => set({ entry }))}
          {number("Target", d.takeProfit, (takeProfit) => set({ takeProfit }))}
          {number("Stop", d.stopLoss, (stopLoss) => set({ stopLoss }))}
          <p className="self-end pb-2 text-sm text-ink-soft">
            {rr === undefined ? "" : `Risk/reward ${rr.toFixed(2)}`}
          </p>
        </>
      )}
      {anchors
        .map((a, i) => (
          <Field key={`time${i}`} label={anchors.length > 1 ? `${["From", "To"][i]}, time in UTC` : "Time in UTC"}>
            <ParsedInput
              type="datetime-local"
              value={new Date(a.time * 1000).toISOString().slice(0, 16)}
              read={(text) => Date.parse(`${text}Z`) / 1000}
              onRead={(time) => put(i, { time })}
            />
          </Field>
        ))
        .flatMap((field, i) =>
          isPosition(d) || d.type === "vertical_line"
            ? [field]
            : [
                field,
                number(anchors.length > 1 ? `${["From", "To"][i]}, price` : "Price", anchors[i]!.price, (price) =>
                  put(i, { price }),
                ),
              ],
        )}
    </>
  );
}

interface TypedProps {
  type: "number" | "datetime-local";
  step?: number;
  value: string | number;
  read: (text: string) => number;
  onRead: (n: number) => void;
}

/** A field that can be cleared while typing. It reports valid values, and shows the last one when it loses the focus. */
function ParsedInput({ type, step, value, read, onRead }: TypedProps) {
  const [text, setText] = useState<string>();
  const typed = (next: string) => {
    setText(next);
    const n = read(next);
    if (Number.isFinite(n)) onRead(n);
  };
  return (
    <input
      type={type}
      step={step}
      className={`${box} tabular`}
      value={text ?? value}
      onChange={(e) => typed(e.target.value)}
      onBlur={() => setText(undefined)}
    />
  );
}

function TypeFields({ d, set }: { d: Drawing; set: Set }) {
  switch (d.type) {
    case "trendline":
      return (
        <Field label="Extension">
          <select
            className={box}
            value={d.extend ?? "none"}
            onChange={(e) => set({ extend: e.target.value as Extend })}
          >
            {extends_.map((x) => (
              <option key={x}>{x}</option>
            ))}
          </select>
        </Field>
      );
    case "marker":
      return (
        <Field label="Mark">
          <select
            className={box}
            value={d.markerType ?? "circle"}
            onChange={(e) => set({ markerType: e.target.value as MarkerType })}
          >
            {marks.map((x) => (
              <option key={x} value={x}>
                {x.replace("_", " ")}
              </option>
            ))}
          </select>
        </Field>
      );
    case "fibonacci":
      return <Levels d={d} set={set} />;
    case "long_position":
    case "short_position":
      return (
        <Field label="State">
          <select
            className={box}
            value={d.status ?? "signal"}
            onChange={(e) => set({ status: e.target.value as Status })}
          >
            {states.map((x) => (
              <option key={x}>{x}</option>
            ))}
          </select>
        </Field>
      );
    default:
      return null;
  }
}

function Levels({ d, set }: { d: Drawing; set: Set }) {
  const [text, setText] = useState((d.levels?.length ? d.levels : defaultLevels).join(", "));
  return (
    <Field label="Levels, separated by commas" wide>
      <input
        className={`${box} tabular`}
        value={text}
        onChange={(e) => {
          setText(e.target.value);
          const levels = e.target.value
            .split(",")
            .map((l) => Number.parseFloat(l))
            .filter(Number.isFinite);
          set({ levels: levels.length ? levels : undefined });
        }}
      />
    </Field>
  );
}

function Visibility({ d, set }: { d: Drawing; set: Set }) {
  const on = Array.isArray(d.visibility) && d.visibility.length ? d.visibility : [...timeframes];
  return (
    <fieldset className="sm:col-span-2">
      <legend className="text-xs text-ink-quiet">Shown on</legend>
      <div className="mt-1 flex flex-wrap gap-x-3 gap-y-1 text-sm">
        {timeframes.map((t) => (
          <label key={t} className="flex items-center gap-1">
            <input
              type="checkbox"
              checked={on.includes(t)}
              onChange={(e) => {
                const next = timeframes.filter((x) => (x === t ? e.target.checked : on.includes(x)));
                set({ visibility: next.length === timeframes.length || !next.length ? "all" : next });
              }}
            />
            {t}
          </label>
        ))}
      </div>
    </fieldset>
  );
}
