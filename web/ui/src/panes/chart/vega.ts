// Vega in a page whose policy forbids to evaluate and to fetch: expressions are
// interpreted, and every address is refused. This is the large part of the charts.
import { Error as Errors, View, loader, parse, type Loader, type TooltipHandler } from "vega";
import { expressionInterpreter } from "vega-interpreter";
import { compile, type TopLevelSpec } from "vega-lite";

const refuse = () => Promise.reject(new Error("A chart loads nothing."));
const nowhere: Loader = Object.assign(loader(), { load: refuse, sanitize: refuse, http: refuse, file: refuse });

// More marks than this are drawn on a canvas: as elements they would be slow.
const mostElements = 1500;

const quiet = { level: () => quiet, error: () => quiet, warn: () => quiet, info: () => quiet, debug: () => quiet };

/** Lets the page do something else: an answer may be growing beside the chart. */
const pause = () => new Promise<void>((go) => setTimeout(go));

async function view(spec: object): Promise<View> {
  const { spec: vega } = compile(spec as TopLevelSpec, { logger: quiet as never });
  await pause();
  const flow = parse(vega, undefined, { ast: true });
  await pause();
  return new View(flow, { expr: expressionInterpreter, loader: nowhere, logLevel: Errors } as never);
}

/** Draws into an element. The caller finalizes the view. */
export async function draw(spec: object, into: HTMLElement, marks: number, tooltip: TooltipHandler): Promise<View> {
  const v = (await view(spec))
    .renderer(marks > mostElements ? "canvas" : "svg")
    .tooltip(tooltip)
    .hover();
  await pause();
  v.initialize(into);
  await pause();
  await v.runAsync();
  return v;
}

/** A chart as a file. */
export async function picture(spec: object, format: "png" | "svg"): Promise<Blob> {
  const v = (await view(spec)).renderer("none");
  try {
    if (format === "svg") return new Blob([await v.toSVG()], { type: "image/svg+xml" });
    const canvas = (await v.toCanvas(2)) as unknown as HTMLCanvasElement;
    const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, "image/png"));
    if (!blob) throw new Error("The browser made no picture of the chart.");
    return blob;
  } finally {
    v.finalize();
  }
}
