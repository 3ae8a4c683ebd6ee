// Everything about one drawing in fields: also the way to set prices and times exactly.
import { useState, type ReactNode } from "react";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { isPosition, kindOf, riskReward, usualLevels } from "./shape";
import { states } from "./Style";
import { timeframes, type Drawing, type Extend, type MarkerType, type Status } from "./types";

interface Props {
  drawing: Drawing;
  digits: number;
  /** Answers why it is not taken, if it is not. */
  onSave: (d: Drawing) => Promise<string | undefined>;
  onClose: () => void;
}

const box = "h-9 w-full rounded-md border bg-surface px-2 text-sm";
const marks: readonly MarkerType[] = ["arrow_up", "arrow_down", "circle", "square", "diamond", "flag"];
const extends_: readonly Extend[] = ["none", "ray", "arrow", "extended"];

export function Edit({ drawing, digits, onSave, onClose }: Props) {
  const [d, setD] = useState(drawing);
  const set = (c: Partial<Drawing>) => setD((old) => ({ ...old, ...c }));
  const [saving, setSaving] = useState(false);
  const [refusal, setRefusal] = useState<string>();
  // What was typed stays until it is taken.
  const save = async () => {
    if (saving) return;
    setSaving(true);
    setRefusal(undefined);
    const words = await onSave(tidy(d));
    if (!words) return onClose();
    setRefusal(words);
    setSaving(false);
  };
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
        onSubmit={(e) => {
          e.preventDefault();
          void save();
        }}
      >
        {d.type === "text" && <Field label="Text" wide><input className={box} maxLength={1000} value={d.text ?? ""} onChange={(e) => set({ text: e.target.value })} /></Field>}
        <Field label="Label" wide>
          <input className={box} maxLength={200} value={d.label ?? ""} onChange={(e) => set({ label: e.target.value })} />
        </Field>
        <Prices d={d} digits={digits} set={set} />
        <OfType d={d} set={set} />
        <Field label="Why it matters" wide>
          <textarea className="min-h-20 w-full rounded-md border bg-surface px-2 py-1 text-sm" maxLength={4000} value={d.notes ?? ""} onChange={(e) => set({ notes: e.target.value })} />
        </Field>
        <Field label="Tags, with commas between">
          <input className={box} value={(d.tags ?? []).join(", ")} onChange={(e) => set({ tags: e.target.value.split(",").map((t) => t.trimStart()) })} />
        </Field>
        <Field label="Importance">
          <select className={box} value={d.importance ?? ""} onChange={(e) => set({ importance: (e.target.value || undefined) as Drawing["importance"] })}>
            <option value="">none</option>
            <option>low</option>
            <option>medium</option>
            <option>high</option>
          </select>
        </Field>
        <Shown d={d} set={set} />
        {refusal && (
          <p role="alert" className="text-sm text-bad wrap-anywhere sm:col-span-2">
            {refusal}
          </p>
        )}
        <button type="submit" className="hidden" aria-hidden="true" tabIndex={-1} />
      </form>
    </Dialog>
  );
}

function tidy(d: Drawing): Drawing {
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
      <input type="number" step={10 ** -digits} className={`${box} tabular`} value={value ?? ""} onChange={(e) => Number.isFinite(e.target.valueAsNumber) && put(e.target.valueAsNumber)} />
    </Field>
  );
  const anchors = d.anchors ?? [];
  const put = (i: number, c: { time?: number; price?: number }) => set({ anchors: anchors.map((a, j) => (j === i ? { ...a, ...c } : a)) });
  if (d.type === "horizontal_line") return number("Price", d.price, (price) => set({ price }));
  const rr = riskReward(d);
  return (
    <>
      {isPosition(d) && (
        <>
          {number("Entry", d.entry, (entry) => set({ entry }))}
          {number("Target", d.takeProfit, (takeProfit) => set({ takeProfit }))}
          {number("Stop", d.stopLoss, (stopLoss) => set({ stopLoss }))}
          <p className="self-end pb-2 text-sm text-ink-soft">{rr === undefined ? "" : `Risk/reward ${rr.toFixed(2)}`}</p>
        </>
      )}
      {anchors.map((a, i) => (
        <Field key={`time${i}`} label={anchors.length > 1 ? `${["From", "To"][i]}, time in UTC` : "Time in UTC"}>
          <input
            type="datetime-local"
            className={`${box} tabular`}
            value={new Date(a.time * 1000).toISOString().slice(0, 16)}
            onChange={(e) => {
              const t = Date.parse(`${e.target.value}Z`);
              if (Number.isFinite(t)) put(i, { time: t / 1000 });
            }}
          />
        </Field>
      )).flatMap((field, i) => (isPosition(d) || d.type === "vertical_line" ? [field] : [field, number(anchors.length > 1 ? `${["From", "To"][i]}, price` : "Price", anchors[i]!.price, (price) => put(i, { price }))]))}
    </>
  );
}

function OfType({ d, set }: { d: Drawing; set: Set }) {
  switch (d.type) {
    case "trendline":
      return (
        <Field label="Goes on">
          <select className={box} value={d.extend ?? "none"} onChange={(e) => set({ extend: e.target.value as Extend })}>
            {extends_.map((x) => (
              <option key={x}>{x}</option>
            ))}
          </select>
        </Field>
      );
    case "marker":
      return (
        <Field label="Mark">
          <select className={box} value={d.markerType ?? "circle"} onChange={(e) => set({ markerType: e.target.value as MarkerType })}>
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
          <select className={box} value={d.status ?? "signal"} onChange={(e) => set({ status: e.target.value as Status })}>
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
  const [text, setText] = useState((d.levels?.length ? d.levels : usualLevels).join(", "));
  return (
    <Field label="Levels, with commas between" wide>
      <input
        className={`${box} tabular`}
        value={text}
        onChange={(e) => {
          setText(e.target.value);
          const levels = e.target.value.split(",").map((l) => Number.parseFloat(l)).filter(Number.isFinite);
          set({ levels: levels.length ? levels : undefined });
        }}
      />
    </Field>
  );
}

function Shown({ d, set }: { d: Drawing; set: Set }) {
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
