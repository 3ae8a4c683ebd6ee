// A compiled chart. For people who cannot see it, there is a description, and arrow keys read the values.
import { useEffect, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import type { View } from "vega";
import type { ResultPage } from "../../api/client";
import { loadWithRetry } from "../../lib/lazy";
import { plural } from "../../lib/format";
import type { Chart } from "./useDrawing";
import "./chart.css";

interface ShownProps {
  error?: string;
  chart?: Chart;
  data?: ResultPage;
  /** The height of the place while nothing is there. */
  reserved: number;
  /** What is shown if the rows are not drawn. */
  children?: ReactNode;
}

/** Shows a chart, what is there instead of one, or why it cannot be loaded. */
export function Shown({ error, chart, data, reserved, children }: ShownProps) {
  if (error)
    return (
      <p role="alert" className="py-4 text-sm text-bad">
        {error}
      </p>
    );
  if (chart)
    return (
      <>
        <Picture drawing={chart} />
        <Notes notes={notesBelow(chart, data)} />
      </>
    );
  return children || <div className="rounded-md bg-sunken" style={{ height: reserved }} aria-hidden="true" />;
}

/** Returns the notes about what a chart does not show. */
export function notesBelow(chart: Chart, data?: ResultPage): string[] {
  const part = data && data.rows.length < data.row_count;
  return part ? [...chart.notes, `The first ${plural(data.rows.length, "row")} are drawn.`] : chart.notes;
}

function Notes({ notes }: { notes: string[] }) {
  if (!notes.length) return null;
  return (
    <ul className="mt-1 space-y-0.5 text-xs text-ink-quiet">
      {notes.map((n) => (
        <li key={n}>{n}</li>
      ))}
    </ul>
  );
}

interface Tip {
  x: number;
  y: number;
  words: [string, string][];
}

/** Draws a chart. The old one stays in view until the new one is there. */
function Picture({ drawing }: { drawing: Chart }) {
  const into = useRef<HTMLDivElement>(null);
  const frame = useRef<HTMLElement>(null);
  const view = useRef<View>(undefined);
  const [tip, setTip] = useState<Tip>();
  const [at, setAt] = useState(-1);
  const [failed, setFailed] = useState("");
  useEffect(() => {
    let replaced = false;
    const el = into.current!;
    setFailed("");
    setTip(undefined);
    setAt(-1);
    delete el.dataset.drawn; // tests wait for it
    loadWithRetry(() => import("./vega"))
      .then(({ draw }) => {
        if (replaced) return;
        // The new chart gets its own element, so that the old one stays visible until it is ready.
        const child = document.createElement("div");
        child.className = "chart-view";
        child.setAttribute("aria-hidden", "true"); // the label describes the chart
        el.append(child);
        return draw(drawing.spec, child, drawing.marks.length, (_, event, __, value: unknown) => {
          if (!value || !(event instanceof MouseEvent)) return setTip(undefined);
          const box = frame.current!.getBoundingClientRect();
          setTip({
            x: event.clientX - box.left,
            y: event.clientY - box.top,
            words: Object.entries(value as Record<string, string>),
          });
        }).then((v) => {
          if (replaced) {
            v.finalize();
            child.remove();
            return;
          }
          view.current?.finalize();
          view.current = v;
          while (el.firstChild !== child) el.firstChild!.remove();
          el.dataset.drawn = "true";
        });
      })
      .catch(() => setFailed("The chart could not be drawn. Its values are in the table."));
    return () => {
      replaced = true;
    };
  }, [drawing.spec]);
  useEffect(() => () => void view.current?.finalize(), []);
  useEffect(() => {
    const v = view.current;
    if (v) void v.signal("at", at).runAsync();
  }, [at]);

  const known = drawing.marks.filter((m) => m.y !== null);
  const walk = (e: KeyboardEvent<HTMLElement>) => {
    const now = known.findIndex((m) => m.i === at);
    let to: number;
    if (e.key === "ArrowRight" || e.key === "ArrowDown") to = Math.min(known.length - 1, now + 1);
    else if (e.key === "ArrowLeft" || e.key === "ArrowUp") to = Math.max(0, now < 0 ? 0 : now - 1);
    else if (e.key === "Home") to = 0;
    else if (e.key === "End") to = known.length - 1;
    else if (e.key === "Escape" && at >= 0) {
      e.stopPropagation();
      return setAt(-1);
    } else return;
    e.preventDefault();
    setAt(known[to]?.i ?? -1);
  };
  const mark = known.find((m) => m.i === at);
  return (
    <figure ref={frame} className="relative m-0" onMouseLeave={() => setTip(undefined)}>
      <div
        ref={into}
        role="group"
        aria-roledescription="chart"
        aria-label={`${drawing.description} Arrow keys read its values.`}
        tabIndex={0}
        onKeyDown={walk}
        onBlur={() => setAt(-1)}
        className="chart relative rounded-sm"
        style={{ minHeight: drawing.height }}
      />
      <p role="status" className={`tabular h-5 truncate text-center text-sm ${mark ? "" : "sr-only"}`}>
        {mark && (
          <>
            <span className="text-ink-quiet">{[mark.l, mark.s].filter(Boolean).join(", ")}: </span>
            <strong className="font-semibold">{mark.v}</strong>
            {mark.p && <span className="text-ink-quiet"> so far</span>}
          </>
        )}
      </p>
      {failed && (
        <p role="alert" className="text-sm text-bad">
          {failed}
        </p>
      )}
      {tip && <Tooltip tip={tip} width={frame.current?.clientWidth ?? 0} />}
    </figure>
  );
}

function Tooltip({ tip, width }: { tip: Tip; width: number }) {
  const left = tip.x > width / 2;
  return (
    <div
      aria-hidden="true"
      className="pointer-events-none absolute z-10 max-w-64 rounded-md border bg-raised px-2.5 py-1.5 text-xs shadow-over"
      style={{ top: tip.y + 14, ...(left ? { right: width - tip.x + 10 } : { left: tip.x + 10 }) }}
    >
      {tip.words.map(([name, value], i) => (
        <div key={name} className={i === 0 ? "font-semibold" : "tabular flex justify-between gap-4"}>
          {i > 0 && <span className="text-ink-quiet">{name}</span>}
          <span>{value}</span>
        </div>
      ))}
    </div>
  );
}
