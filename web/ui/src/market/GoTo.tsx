import { useState } from "react";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { seconds, type SymbolInfo } from "./types";

interface Props {
  info: SymbolInfo;
  /** The time in the middle of the chart. */
  now: number | undefined;
  onGo: (time: number) => void;
  onClose: () => void;
}

/** Formats a time for an input of type datetime-local. */
const inputValue = (t: number) => (Number.isFinite(t) ? new Date(t * 1000).toISOString().slice(0, 16) : undefined);
const day = new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", day: "numeric", month: "long", year: "numeric" });

/** The dialog for a date and time to which the chart scrolls. */
export function GoTo({ info, now, onGo, onClose }: Props) {
  const [from, to] = [seconds(info.from), seconds(info.to)];
  const [text, setText] = useState(inputValue(now ?? to) ?? "");
  const time = Date.parse(`${text}Z`) / 1000;
  const go = () => {
    if (!Number.isFinite(time)) return;
    onGo(time);
    onClose();
  };
  return (
    <Dialog
      title="Go to a date"
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" disabled={!Number.isFinite(time)} onClick={go}>
            Go
          </Button>
        </>
      }
    >
      <form
        onSubmit={(e) => {
          e.preventDefault();
          go();
        }}
      >
        <label className="block text-xs text-ink-quiet">
          Date and time in UTC
          <input
            type="datetime-local"
            className="tabular mt-0.5 block h-9 w-full rounded-md border bg-surface px-2 text-sm text-ink"
            min={inputValue(from)}
            max={inputValue(to)}
            value={text}
            onChange={(e) => setText(e.target.value)}
          />
        </label>
        {Number.isFinite(to - from) && (
          <p className="mt-2 text-sm text-ink-soft">
            There is data from {day.format(from * 1000)} to {day.format(to * 1000)}. Short timeframes may start later.
          </p>
        )}
        <button type="submit" className="hidden" aria-hidden="true" tabIndex={-1} />
      </form>
    </Dialog>
  );
}
