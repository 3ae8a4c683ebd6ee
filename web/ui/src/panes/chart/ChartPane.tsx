// A result as a chart. For people who cannot see it, there is a description, arrow keys read the values, and the table
// has all of them.
import { useEffect, useMemo, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import type { View } from "vega";
import { useFirstRows } from "../../api/rows";
import { fileName, save } from "../../lib/download";
import { loadWithRetry } from "../../lib/later";
import { plural, resultName } from "../../lib/format";
import { go, route, useRoute } from "../../lib/router";
import { color, useDark } from "../../lib/theme";
import { Button, IconButton } from "../../ui/Button";
import { Icon, type IconName } from "../../ui/Icon";
import { Menu } from "../../ui/Menu";
import { Grid } from "../grid/Grid";
import { Hidden, hiddenRows } from "../Hidden";
import type { ChartPaneProps } from "../slots";
import { choices, compile, type Drawing, type Look } from "./compile";
import type { Type } from "./pick";
import { useDataEnd } from "./through";
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
const types = Object.keys(typeNames) as Type[];

// The types that the user chose. They last while the page is open, and are in the address.
const chosen = new Map<string, Type>();

function useType(conversation: string, result: string) {
  const { view, at } = useRoute();
  const key = `${conversation}.${result}`;
  const inAddress = (view === undefined || view === "chart") && types.includes(at as Type);
  const choose = (t: Type) => {
    chosen.set(key, t);
    go({ ...route(), conversation, result, view: undefined, at: t }, "replace");
  };
  return [inAddress ? (at as Type) : chosen.get(key), choose] as const;
}

export default function ChartPane({ conversation, result, spec }: ChartPaneProps) {
  const { data, error, loading } = useFirstRows({ conversation, id: result.id });
  const [type, choose] = useType(conversation, result.id);
  const [box, size] = useSize();
  useEffect(preload, []);
  const look = useLook();
  const rows = useMemo(
    () => data && { columns: data.columns, rows: data.rows, sql: result.sql ?? data.sql },
    [data, result.sql],
  );
  const offered = useMemo(() => (rows ? choices(rows, spec) : []), [rows, spec]);
  const dataEnd = useDataEnd(result, rows !== undefined && rows.rows.length > 1);
  const end = dataEnd.at;
  const height = Math.max(220, Math.min(480, size.height));
  const drawing = useMemo(
    () =>
      rows && size.width && dataEnd.known
        ? compile(rows, spec, { width: size.width, height, look, type, now: Date.now(), data: end })
        : undefined,
    [rows, spec, type, size.width, height, look, end, dataEnd.known],
  );
  const saveChart = async (format: "png" | "svg") => {
    const full =
      rows && compile(rows, spec, { width: 960, height: 540, look, type, now: Date.now(), data: end, titled: true });
    if (full?.kind !== "chart") return;
    const { picture } = await loadWithRetry(() => import("./vega"));
    save(await picture(full.spec, format), fileName(spec?.title || `${full.y} by ${full.x}`, format));
  };
  const hidden = data ? hiddenRows(result.source, data) : 0;
  const cut = data && data.rows.length < data.row_count && !hidden;
  if (data && hidden === data.row_count && hidden > 0) return <Hidden rows={hidden} of={data.row_count} />;
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      {data && hidden > 0 && <Hidden rows={hidden} of={data.row_count} />}
      {offered.length > 0 && (
        <div className="flex items-center gap-0.5 px-3 pt-2">
          <Types offered={offered} now={typeOf(drawing) ?? type} onChoose={choose} />
          <span className="flex-1" />
          {drawing?.kind === "chart" && <SaveMenu onSave={(format) => void saveChart(format)} />}
        </div>
      )}
      <div ref={box} className="scroll relative min-h-0 flex-1 px-4 pt-2 pb-3">
        {error && (
          <p role="alert" className="py-4 text-sm text-bad">
            {error}
          </p>
        )}
        {!error && (loading || !drawing) && <div className="h-64 rounded-md bg-sunken" aria-hidden="true" />}
        {drawing && data && (
          <DrawingView
            drawing={drawing}
            drawn={cut ? data.rows.length : undefined}
            onTable={() => go({ conversation, result: result.id, view: "table" })}
          >
            <Grid
              source={{ conversation, id: result.id }}
              columns={data.columns}
              first={data.rows}
              count={data.row_count - hidden}
              label={`Rows of ${resultName(result.id)}`}
            />
          </DrawingView>
        )}
      </div>
    </div>
  );
}

interface DrawingViewProps {
  drawing: Drawing;
  drawn?: number; // rows, if not all of them
  onTable: () => void;
  children: ReactNode; // the table
}

/** Shows a chart, single numbers, the table, or the reason why there is no chart. */
function DrawingView({ drawing, drawn, onTable, children }: DrawingViewProps) {
  switch (drawing.kind) {
    case "chart":
      return (
        <>
          <Picture drawing={drawing} key={drawing.type} />
          <Notes notes={drawing.notes} drawn={drawn} />
        </>
      );
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

function SaveMenu({ onSave }: { onSave: (format: "png" | "svg") => void }) {
  return (
    <Menu
      label="Save the chart"
      align="end"
      groups={[
        {
          items: [
            { label: "Picture (PNG)", onSelect: () => onSave("png") },
            { label: "Drawing (SVG)", onSelect: () => onSave("svg") },
          ],
        },
      ]}
      button={(p) => <IconButton icon="export" small label="Save the chart" {...p} />}
    />
  );
}

/** Says what the chart does not show. */
function Notes({ notes, drawn }: { notes: string[]; drawn?: number }) {
  if (!notes.length && drawn === undefined) return null;
  return (
    <ul className="mt-1 space-y-0.5 text-xs text-ink-quiet">
      {notes.map((n) => (
        <li key={n}>{n}</li>
      ))}
      {drawn !== undefined && <li>The first {plural(drawn, "row")} are drawn.</li>}
    </ul>
  );
}

/** Loads the chart library when the browser is idle, and not while an answer is streaming. */
function preload(): void {
  const get = () => void import("./vega").catch(() => {}); // drawing a chart tries again
  if (typeof requestIdleCallback === "function") requestIdleCallback(get, { timeout: 3000 });
  else setTimeout(get, 500);
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

function useSize() {
  const ref = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  useEffect(() => {
    const el = ref.current!;
    let timer = 0;
    const measure = () => {
      const style = getComputedStyle(el);
      const width = Math.floor(el.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight));
      const height = Math.floor(el.clientHeight - 64);
      setSize((s) => (s.width === width && s.height === height ? s : { width, height }));
    };
    measure();
    const resize = new ResizeObserver(() => {
      clearTimeout(timer);
      timer = window.setTimeout(measure, 80);
    });
    resize.observe(el);
    return () => {
      clearTimeout(timer);
      resize.disconnect();
    };
  }, []);
  return [ref, size] as const;
}

/** Returns the colours of the theme, resolved for a canvas. */
function useLook(): Look {
  const dark = useDark();
  return useMemo(
    () => ({
      series: ([1, 2, 3, 4, 5, 6, 7, 8] as const).map((n) => color(`--series-${n}`)),
      ink: color("--color-ink"),
      quiet: color("--color-ink-quiet"),
      line: color("--color-line"),
      surface: color("--color-surface"),
      font: getComputedStyle(document.body).fontFamily,
    }),
    [dark], // the colours depend on it
  );
}

type Chart = Extract<Drawing, { kind: "chart" }>;

interface Tip {
  x: number;
  y: number;
  words: [string, string][];
}

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
