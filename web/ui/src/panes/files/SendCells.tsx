import { useRef, useState } from "react";
import { count, plural } from "../../lib/format";
import type { Cell } from "../../log/events";
import { useCardFocus, useCardKeys } from "../../thread/cardkeys";
import { Button } from "../../ui/Button";
import { cellsOf, type Allowance } from "./cells";
import { choose, useAsks, type Ask } from "./consent";

/** Asks before cells of a result are sent to the model, and shows exactly those cells. */
export function SendCells({ conversation }: { conversation: string }) {
  const asks = useAsks(conversation);
  const [first] = asks;
  return (
    <>
      <p role="status" className="sr-only">
        {first && "Choose which values to send to the model, above the question field."}
      </p>
      {first && <Question key={first.key} ask={first} more={asks.length - 1} />}
    </>
  );
}

const noKeys = {};

function Question({ ask, more }: { ask: Ask; more: number }) {
  const [allowance, setAllowance] = useState<Allowance>(50);
  const [always, setAlways] = useState(false);
  const withoutCells = ask.sent(0);
  const of = (a: Allowance) => cellsOf(ask.sent(a), withoutCells);
  const sent = ask.sent(allowance);
  const cells = plural(of(allowance), "value");
  const answer = (a: Allowance) => (always ? choose(ask.conversation, a) : ask.answer(a));
  const card = useRef<HTMLElement>(null);
  useCardFocus(card);
  useCardKeys(card, noKeys);
  return (
    <section
      ref={card}
      tabIndex={-1}
      aria-label="Values to send"
      data-card=""
      className="max-h-[max(45dvh,100dvh-19rem)] w-full overflow-y-auto rounded-lg border border-line-strong bg-raised px-3 pt-3 shadow-raised"
    >
      <h3 className="font-medium">
        {of(allowance)
          ? `Send ${of(allowance) === 1 ? "this" : "these"} ${cells} to the model?`
          : "Send values of this result to the model?"}
      </h3>
      <p className="text-sm text-ink-soft">
        {ask.why && (
          <>
            Why the model asks: <bdi>{ask.why}</bdi>
            <br />
          </>
        )}
        None of its values have left this browser. Even if you send none, the model learns{" "}
        {ask.result.columns.length === 1 ? "the column's name" : "the columns' names"} and that there{" "}
        {ask.result.rowCount === 1 ? "is 1 row" : `are ${plural(ask.result.rowCount, "row")}`}.
      </p>
      <Preview sent={sent} />
      <p className="text-xs text-ink-quiet">
        {of(allowance) === 0
          ? "A single row has more than 50 values."
          : sent.rows.length < ask.result.rowCount
            ? `The first ${plural(sent.rows.length, "row")} of ${count(ask.result.rowCount)}.`
            : "All rows of this result."}
        {more > 0 && ` ${plural(more, "more result")} of this question ${more === 1 ? "waits" : "wait"}.`}
        {of(1000) > of(50) && (
          <button
            type="button"
            onClick={() => setAllowance(allowance === 50 ? 1000 : 50)}
            className="ml-1.5 rounded-sm underline underline-offset-2 hover:text-ink"
          >
            {allowance === 50 ? `Show ${plural(of(1000), "value")}` : `Show only ${plural(of(50), "value")}`}
          </button>
        )}
      </p>
      <div className="sticky bottom-0 flex flex-wrap items-center justify-end gap-2 bg-raised pt-2 pb-3">
        <label className="mr-auto flex items-center gap-2 text-sm">
          <input type="checkbox" checked={always} onChange={(e) => setAlways(e.target.checked)} />
          Don't ask again in this conversation
        </label>
        <Button onClick={() => answer(0)}>Send none</Button>
        <Button disabled={of(allowance) === 0} onClick={() => answer(allowance)}>
          Send {cells}
        </Button>
      </div>
    </section>
  );
}

/** The cells exactly as they would be sent. */
function Preview({ sent }: { sent: { columns: readonly { name: string }[]; rows: readonly Cell[][] } }) {
  return (
    <div
      role="region"
      aria-label="The values, row by row"
      tabIndex={0}
      className="my-2 max-h-[min(12rem,30dvh)] overflow-auto rounded-sm border bg-surface"
    >
      <table className="tabular w-full text-sm">
        <thead className="sticky top-0 bg-sunken">
          <tr>
            {sent.columns.map((c, i) => (
              <th
                key={i}
                scope="col"
                className={`px-2 py-1 font-medium whitespace-nowrap ${sent.rows.length > 0 && sent.rows.every((r) => typeof r[i] === "number") ? "text-right" : "text-left"}`}
              >
                {c.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {sent.rows.map((row, r) => (
            <tr key={r} className="border-t">
              {row.map((v, i) => (
                <td key={i} className={`px-2 py-1 wrap-anywhere ${typeof v === "number" ? "text-right" : ""}`}>
                  {v === null ? <span className="text-ink-quiet">empty</span> : String(v)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
