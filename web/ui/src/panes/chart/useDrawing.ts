// Compiles the chart of a result for a place on the page.
import { useLayoutEffect, useMemo, useRef, useState } from "react";
import { useFirstRows, useRowsComing } from "../../api/rows";
import { color, useDark } from "../../lib/theme";
import type { ChartSpec } from "../../log/events";
import type { ShownResult } from "../../log/conversation";
import { compile, type Drawing } from "./compile";
import { useDataEnd } from "./dataEnd";
import { letterWidth } from "./labels";
import type { Look } from "./look";
import type { Type } from "./pick";

export type Chart = Extract<Drawing, { kind: "chart" }>;

interface Place {
  conversation: string;
  result: ShownResult;
  spec?: ChartSpec;
  /** The type that the user chose. */
  type?: Type;
  width: number;
  height: number;
}

/** Loads and compiles a chart. While `drawing` is undefined because it loads, `chart` is the last one. */
export function useDrawing({ conversation, result, spec, type, width, height }: Place) {
  const ref = { conversation, id: result.id };
  const first = useFirstRows(ref);
  const coming = useRowsComing(ref) && result.source === "client";
  const { data, error } = coming ? { data: undefined, error: undefined } : first;
  const look = useLook();
  const rows = useMemo(
    () => data && { columns: data.columns, rows: data.rows, sql: result.sql ?? data.sql },
    [data, result.sql],
  );
  const { at: end, known } = useDataEnd(result, rows !== undefined && rows.rows.length > 1);
  const options = useMemo(() => ({ width, height, look, type, data: end }), [width, height, look, type, end]);
  const drawing = useMemo(
    () => (rows && options.width && known ? compile(rows, spec, { ...options, now: Date.now() }) : undefined),
    [rows, spec, options, known],
  );
  const last = useRef<Chart>(undefined);
  if (drawing || error) last.current = drawing?.kind === "chart" ? drawing : undefined;
  return { data, error, rows, drawing, chart: last.current, options };
}

/** Returns a ref for an element, and the size of its content. */
export function useSize() {
  const ref = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const el = ref.current!; // measured before the first paint, so that nothing moves
    let timer = 0;
    const measure = () => {
      if (!el.clientWidth) return; // hidden, as on paper
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

let pen: CanvasRenderingContext2D | null | undefined;

function measureText(text: string, font: string): number {
  pen ??= document.createElement("canvas").getContext("2d");
  if (!pen) return text.length * letterWidth;
  pen.font = font;
  return pen.measureText(text).width;
}

/** Returns the colours and fonts of the theme, resolved for a canvas. */
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
      heading: getComputedStyle(document.documentElement).getPropertyValue("--font-serif"),
      measure: measureText,
    }),
    [dark], // the colours depend on it
  );
}
