// Vega, set up for the page's content security policy: expressions are interpreted instead of compiled, and loading is
// disabled. This is the large part of the charts, so it is loaded when needed.
import { Error as Errors, View, loader, parse, type Loader, type TooltipHandler } from "vega";
import { expressionInterpreter } from "vega-interpreter";
import { compile, type TopLevelSpec } from "vega-lite";
import type { Look } from "./compile";

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

type NoteLook = Pick<Look, "font" | "quiet" | "surface">;

// Of the notes below a saved chart, in pixels.
const noteSize = 12;
const noteLine = 18;
const noteMargin = 8;

const noteFont = (look: NoteLook) => `${noteSize}px ${look.font}`;

/** Breaks notes into lines of at most the given width. */
function noteLines(notes: readonly string[], width: number, look: NoteLook): string[] {
  const c = document.createElement("canvas").getContext("2d")!;
  c.font = noteFont(look);
  return notes.flatMap((n) => {
    const lines = [""];
    for (const word of n.split(" ")) {
      const longer = `${lines.at(-1)} ${word}`.trim();
      if (c.measureText(longer).width <= width) lines[lines.length - 1] = longer;
      else lines.push(word);
    }
    return lines.filter(Boolean);
  });
}

/** Adds notes below a chart in SVG. */
function withNotes(svg: string, notes: readonly string[], look: NoteLook): string {
  const root = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
  const [width, height] = ["width", "height"].map((n) => Number(root.getAttribute(n))) as [number, number];
  const lines = noteLines(notes, width - 2 * noteMargin, look);
  const full = height + lines.length * noteLine + noteMargin;
  const add = (name: string, attributes: Record<string, string | number>, text = "") => {
    const el = root.appendChild(document.createElementNS("http://www.w3.org/2000/svg", name));
    for (const [k, v] of Object.entries(attributes)) el.setAttribute(k, String(v));
    el.textContent = text;
  };
  root.setAttribute("height", String(full));
  root.setAttribute("viewBox", `0 0 ${width} ${full}`);
  add("rect", { y: height, width, height: full - height, fill: look.surface });
  lines.forEach((l, i) =>
    add(
      "text",
      {
        ...{ x: noteMargin, y: height + i * noteLine + noteSize },
        ...{ "font-size": noteSize, "font-family": look.font, fill: look.quiet },
      },
      l,
    ),
  );
  return new XMLSerializer().serializeToString(root);
}

/** Adds notes below a chart on a canvas. */
function canvasWithNotes(
  from: HTMLCanvasElement,
  scale: number,
  notes: readonly string[],
  look: NoteLook,
): HTMLCanvasElement {
  const height = from.height / scale;
  const lines = noteLines(notes, from.width / scale - 2 * noteMargin, look);
  const canvas = document.createElement("canvas");
  canvas.width = from.width;
  canvas.height = from.height + (lines.length * noteLine + noteMargin) * scale;
  const c = canvas.getContext("2d")!;
  c.fillStyle = look.surface;
  c.fillRect(0, 0, canvas.width, canvas.height);
  c.drawImage(from, 0, 0);
  c.scale(scale, scale);
  c.font = noteFont(look);
  c.fillStyle = look.quiet;
  lines.forEach((l, i) => c.fillText(l, noteMargin, height + i * noteLine + noteSize));
  return canvas;
}

/** Renders a chart as a file, with the notes below it. */
export async function picture(
  spec: object,
  format: "png" | "svg",
  notes: readonly string[],
  look: NoteLook,
): Promise<Blob> {
  const v = (await view(spec)).renderer("none");
  const scale = 2;
  try {
    if (format === "svg") {
      const svg = await v.toSVG();
      return new Blob([notes.length ? withNotes(svg, notes, look) : svg], { type: "image/svg+xml" });
    }
    const drawn = (await v.toCanvas(scale)) as unknown as HTMLCanvasElement;
    const canvas = notes.length ? canvasWithNotes(drawn, scale, notes, look) : drawn;
    const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, "image/png"));
    if (!blob) throw new Error("The browser could not render the chart as a picture.");
    return blob;
  } finally {
    v.finalize();
  }
}
