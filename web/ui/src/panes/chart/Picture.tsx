// A compiled chart. For people who cannot see it, there is a description, and arrow keys read the values.
import {
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  type KeyboardEvent,
  type PointerEvent,
  type ReactNode,
} from "react";
import type { ResultPage } from "../../api/client";
import { plural } from "../../lib/format";
import { toCanvas, toSvg } from "./draw";
import type { Mark } from "./marks";
import { spotAt, type Scene, type Spot } from "./scene";
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

/** The values of a mark that the pointer is on, and where. */
interface Tip {
  x: number;
  y: number;
  spot: Spot;
  words: [string, string][];
}

// More marks are drawn on a canvas, because that many SVG elements are slow.
const maxElements = 1500;

function Picture({ drawing }: { drawing: Chart }) {
  const { scene, marks } = drawing;
  const into = useRef<HTMLDivElement>(null);
  const [tip, setTip] = useState<Tip>();
  const [at, setAt] = useState(-1);
  useLayoutEffect(() => {
    setTip(undefined);
    setAt(-1);
    const many = scene.spots.length > maxElements;
    into.current!.replaceChildren(many ? toCanvas(scene, devicePixelRatio) : toSvg(scene));
  }, [scene]);
  const known = useMemo(() => marks.filter((m) => m.y !== null), [marks]);
  const byKey = (e: KeyboardEvent<HTMLElement>) => {
    if (e.key === "Escape" && at >= 0) {
      e.stopPropagation();
      return setAt(-1);
    }
    const to = step(e.key, known.findIndex((m) => m.i === at), known.length); // prettier-ignore
    if (to === undefined) return;
    e.preventDefault();
    setAt(known[to]?.i ?? -1);
  };
  const byPointer = (e: PointerEvent<HTMLElement>) => {
    const box = e.currentTarget.getBoundingClientRect();
    const [x, y] = [e.clientX - box.left, e.clientY - box.top];
    const zoom = scene.width / box.width || 1; // a chart that is wider than its place is shrunk
    const spot = spotAt(scene.spots, x * zoom, y * zoom);
    const pointed = spot && marks.find((m) => m.i === spot.i);
    setTip(pointed && { x, y, spot: spot!, words: wordsOf(pointed, drawing) });
  };
  const mark = known.find((m) => m.i === at);
  const ring = mark ? scene.spots.find((s) => s.i === mark.i) : tip && !tip.spot.holds ? tip.spot : undefined;
  return (
    <figure className="relative m-0">
      <div
        role="group"
        aria-roledescription="chart"
        aria-label={`${drawing.description} Arrow keys read its values.`}
        tabIndex={0}
        onKeyDown={byKey}
        onBlur={() => setAt(-1)}
        onPointerMove={byPointer}
        onPointerLeave={() => setTip(undefined)}
        className="chart relative rounded-sm"
        data-drawn="true" // tests wait for it
      >
        <div ref={into} aria-hidden="true" style={{ minHeight: scene.height }} />
        {ring && <Ring at={ring} scene={scene} />}
      </div>
      <p role="status" className={`tabular h-5 truncate text-center text-sm ${mark ? "" : "sr-only"}`}>
        {mark && (
          <>
            <span className="text-ink-quiet">{[mark.l, mark.s].filter(Boolean).join(", ")}: </span>
            <strong className="font-semibold">{mark.v}</strong>
            {mark.p && <span className="text-ink-quiet"> so far</span>}
          </>
        )}
      </p>
      {tip && <Tooltip tip={tip} width={into.current?.clientWidth ?? 0} />}
    </figure>
  );
}

/** Returns which value a key reads, after the one at `now`. */
function step(key: string, now: number, count: number): number | undefined {
  switch (key) {
    case "ArrowRight":
    case "ArrowDown":
      return Math.min(count - 1, now + 1);
    case "ArrowLeft":
    case "ArrowUp":
      return Math.max(0, now - 1);
    case "Home":
      return 0;
    case "End":
      return count - 1;
  }
  return undefined;
}

const wordsOf = (m: Mark, { x, s, y }: Chart): [string, string][] => [
  [x, m.l],
  ...(s !== undefined && m.s !== undefined ? [[s, m.s] as [string, string]] : []),
  [y, m.p ? `${m.v} so far` : m.v],
];

/** Surrounds the mark that the keyboard or the pointer is on. */
function Ring({ at, scene }: { at: Spot; scene: Scene }) {
  const part = (of: number, whole: number) => `${(100 * of) / whole}%`;
  return (
    <span
      aria-hidden="true"
      className="chart-ring pointer-events-none absolute size-4 rounded-full border-2 border-ink"
      style={{ left: part(at.x, scene.width), top: part(at.y, scene.height) }}
    />
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
