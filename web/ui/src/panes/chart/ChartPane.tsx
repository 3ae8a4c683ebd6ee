// A result as a chart, with the buttons that choose its type. The table has all of its values.
import { useEffect, useMemo, useRef, type KeyboardEvent, type ReactNode } from "react";
import { fileName, save } from "../../lib/download";
import { resultName } from "../../lib/format";
import { go } from "../../lib/router";
import { Button } from "../../ui/Button";
import { Icon, type IconName } from "../../ui/Icon";
import { Grid } from "../grid/Grid";
import { Hidden, hiddenRows } from "../Hidden";
import type { ChartPaneProps } from "../slots";
import { choices, type Drawing } from "./compile";
import { picture, withText } from "./draw";
import type { Type } from "./pick";
import { notesBelow, Shown } from "./Picture";
import { useDrawing, useSize } from "./useDrawing";
import { useType } from "./useType";
import "./chart.css";

const typeNames: Record<Type, string> = {
  bar: "Bars",
  line: "Line",
  area: "Area",
  scatter: "Points",
  pie: "Pie",
  histogram: "Histogram",
  table: "Table",
};
const icons: Record<Type, IconName> = {
  bar: "chart",
  line: "line",
  area: "area",
  scatter: "points",
  pie: "pie",
  histogram: "chart",
  table: "table",
};
export default function ChartPane({ conversation, result, spec, onPicture }: ChartPaneProps) {
  const [type, choose] = useType(conversation, result.id);
  const [box, size] = useSize();
  const height = Math.max(220, Math.min(480, size.height));
  const { data, error, rows, drawing, chart, options } = useDrawing({
    conversation,
    result,
    spec,
    type,
    width: size.width,
    height,
  });
  const offered = useMemo(() => (rows ? choices(rows, spec) : []), [rows, spec]);
  const saveChart = async (format: "png" | "svg") => {
    if (drawing?.kind !== "chart") return;
    const { scene, title } = drawing;
    const whole = withText(scene, title, notesBelow(drawing, data), options.look);
    save(await picture(whole, format), fileName(spec?.title || `${drawing.y} by ${drawing.x}`, format));
  };
  const saver = useRef(saveChart);
  saver.current = saveChart;
  const isChart = drawing?.kind === "chart";
  useEffect(() => {
    onPicture(isChart ? (format) => saver.current(format) : undefined);
    return () => onPicture(undefined);
  }, [isChart, onPicture]);
  const hidden = data ? hiddenRows(result.source, data) : 0;
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      {data && hidden > 0 && <Hidden rows={hidden} of={data.row_count} />}
      {(!data || (offered.length > 0 && hidden !== data.row_count)) && (
        <div className="flex min-h-10 items-center gap-0.5 px-3 pt-2">
          <Types offered={offered} now={typeOf(drawing) ?? type} onChoose={choose} />
        </div>
      )}
      <div ref={box} className="scroll relative min-h-0 flex-1 px-4 pt-2 pb-3">
        {data && hidden === data.row_count && hidden > 0 ? null : (
          <Shown error={error} chart={chart} data={hidden ? undefined : data} reserved={height}>
            {drawing && drawing.kind !== "chart" && data && (
              <WithoutChart drawing={drawing} onTable={() => go({ conversation, result: result.id, view: "table" })}>
                <Grid
                  source={{ conversation, id: result.id }}
                  columns={data.columns}
                  first={data.rows}
                  count={data.row_count - hidden}
                  label={`Rows of ${resultName(result.id)}`}
                />
              </WithoutChart>
            )}
          </Shown>
        )}
      </div>
    </div>
  );
}

interface WithoutChartProps {
  drawing: Exclude<Drawing, { kind: "chart" }>;
  onTable: () => void;
  children: ReactNode; // the table
}

/** Shows single numbers, the table, or the reason why there is no chart. */
function WithoutChart({ drawing, onTable, children }: WithoutChartProps) {
  switch (drawing.kind) {
    case "numbers":
      return <Numbers drawing={drawing} />;
    case "none":
      return <NoChart why={drawing.why} onTable={onTable} />;
    case "table":
      return <div className="flex h-full min-h-64 flex-col">{children}</div>;
  }
}

const typeOf = (drawing: Drawing | undefined) =>
  drawing?.kind === "chart" ? drawing.type : drawing?.kind === "table" ? "table" : undefined;

interface TypesProps {
  offered: ReturnType<typeof choices>;
  now?: Type;
  onChoose: (t: Type) => void;
}

/** The buttons to choose a type of chart. A type that does not suit the rows is disabled and says why. */
function Types({ offered, now, onChoose }: TypesProps) {
  const focusable = now ?? offered[0]?.type;
  const look = (c: TypesProps["offered"][number]) => {
    if (c.type === now) return "bg-accent-soft text-accent";
    return c.off ? "text-ink-quiet opacity-50" : "text-ink-quiet hover:bg-hover hover:text-ink";
  };
  return (
    <div role="radiogroup" aria-label="Kind of chart" className="flex flex-wrap gap-0.5" onKeyDown={moveFocus}>
      {offered.map((c) => (
        <button
          key={c.type}
          type="button"
          role="radio"
          aria-checked={c.type === now}
          aria-disabled={c.off !== undefined || undefined}
          aria-label={c.off ? `${typeNames[c.type]}. ${c.off}` : typeNames[c.type]}
          title={c.off ?? typeNames[c.type]}
          tabIndex={c.type === focusable ? 0 : -1}
          onClick={() => c.off === undefined && onChoose(c.type)}
          className={`inline-flex size-8 items-center justify-center rounded-md ${look(c)}`}
        >
          <Icon name={icons[c.type]} small />
        </button>
      ))}
    </div>
  );
}

/** Moves between the types with the arrow keys, skipping disabled ones. */
function moveFocus(e: KeyboardEvent<HTMLElement>): void {
  const by =
    e.key === "ArrowRight" || e.key === "ArrowDown" ? 1 : e.key === "ArrowLeft" || e.key === "ArrowUp" ? -1 : 0;
  if (!by) return;
  e.preventDefault();
  const all = [...e.currentTarget.querySelectorAll<HTMLElement>('[role="radio"]:not([aria-disabled])')];
  const next = all[(all.indexOf(document.activeElement as HTMLElement) + by + all.length) % all.length];
  next?.focus();
  next?.click();
}

function Numbers({ drawing }: { drawing: Extract<Drawing, { kind: "numbers" }> }) {
  return (
    <figure
      className="flex flex-wrap items-start justify-center gap-x-12 gap-y-6 px-4 py-10 text-center"
      aria-label={drawing.description}
    >
      {drawing.of && <p className="w-full text-sm wrap-anywhere text-ink-soft">{drawing.of}</p>}
      {drawing.figures.map((f) => (
        <div key={f.name}>
          <div
            className={`tabular font-serif font-semibold ${drawing.figures.length > 1 ? "text-xl" : "chart-figure"}`}
          >
            {f.value}
          </div>
          <figcaption className="mt-1 text-sm text-ink-quiet">{f.name.replaceAll("_", " ")}</figcaption>
        </div>
      ))}
    </figure>
  );
}

function NoChart({ why, onTable }: { why: string; onTable: () => void }) {
  return (
    <div className="flex flex-col items-start gap-3 py-6 text-sm text-ink-quiet">
      <p>{why}</p>
      <Button icon="table" onClick={onTable}>
        Show the table
      </Button>
    </div>
  );
}
