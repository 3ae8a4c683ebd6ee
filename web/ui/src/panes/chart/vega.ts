// Vega, set up for the page's content security policy: expressions are interpreted instead of compiled, and loading is
// disabled. This is the large part of the charts, so it is loaded when needed.
import { Error as Errors, View, loader, parse, type Loader, type TooltipHandler } from "vega";
import { expressionInterpreter } from "vega-interpreter";
import { compile, type TopLevelSpec } from "vega-lite";

const refuse = () => Promise.reject(new Error("A chart must not load anything."));
const noLoader: Loader = Object.assign(loader(), { load: refuse, sanitize: refuse, http: refuse, file: refuse });

// More marks are drawn on a canvas, because that many SVG elements are slow.
const maxElements = 1500;

const quiet = { level: () => quiet, error: () => quiet, warn: () => quiet, info: () => quiet, debug: () => quiet };

/** Yields to the page, because an answer may be streaming beside the chart. */
const pause = () => new Promise<void>((go) => setTimeout(go));

async function view(spec: object): Promise<View> {
  const { spec: vega } = compile(spec as TopLevelSpec, { logger: quiet as never });
  await pause();
  const flow = parse(vega, undefined, { ast: true });
  await pause();
  return new View(flow, { expr: expressionInterpreter, loader: noLoader, logLevel: Errors } as never);
}

/** Draws a chart into an element. The caller must finalize the view. */
export async function draw(spec: object, into: HTMLElement, marks: number, tooltip: TooltipHandler): Promise<View> {
  const v = (await view(spec))
    .renderer(marks > maxElements ? "canvas" : "svg")
    .tooltip(tooltip)
    .hover();
  await pause();
  v.initialize(into);
  await pause();
  await v.runAsync();
  return v;
}

/** Renders a chart as a file. */
export async function picture(spec: object, format: "png" | "svg"): Promise<Blob> {
  const v = (await view(spec)).renderer("none");
  try {
    if (format === "svg") return new Blob([await v.toSVG()], { type: "image/svg+xml" });
    const canvas = (await v.toCanvas(2)) as unknown as HTMLCanvasElement;
    const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, "image/png"));
    if (!blob) throw new Error("The browser could not render the chart as a picture.");
    return blob;
  } finally {
    v.finalize();
  }
}
