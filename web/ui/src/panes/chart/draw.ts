// Shows a scene on the page, as SVG or on a canvas, and as a file. Nothing in it is read as markup or code.
import { textSize, wrap, type Look } from "./look";
import { lower, type Path, type Scene, type Shape, type Words } from "./scene";

const namespace = "http://www.w3.org/2000/svg";

type Attributes = Record<string, string | number | undefined>;

function element<K extends keyof SVGElementTagNameMap>(name: K, attributes: Attributes): SVGElementTagNameMap[K] {
  const el = document.createElementNS(namespace, name);
  for (const [k, v] of Object.entries(attributes)) if (v !== undefined) el.setAttribute(k, String(v));
  return el;
}

function svgPath(s: Path): SVGElement {
  return element("path", {
    d: s.d,
    transform: s.at && `translate(${s.at[0]},${s.at[1]})`,
    fill: s.fill ?? "none",
    stroke: s.stroke,
    "stroke-width": s.width,
    "stroke-dasharray": s.dash?.join(",") || undefined,
    "stroke-linejoin": s.stroke && "round",
    opacity: s.opacity,
    "fill-opacity": s.fillOpacity,
  });
}

function svgText(s: Words): SVGElement {
  const el = element("text", {
    x: s.at[0],
    y: s.at[1],
    fill: s.fill,
    "text-anchor": s.anchor,
    "font-size": s.size,
    "font-weight": s.bold ? 600 : undefined,
    "font-family": s.font,
    class: s.tick && "tick",
  });
  el.textContent = s.text;
  return el;
}

/** Draws a scene as SVG. */
export function toSvg(scene: Scene): SVGSVGElement {
  const { width, height, background } = scene;
  const svg = element("svg", {
    ...{ xmlns: namespace, width, height, viewBox: `0 0 ${width} ${height}` },
    ...{ "font-family": scene.font, "font-size": textSize },
  });
  svg.append(element("path", { d: `M0,0H${width}V${height}H0Z`, fill: background }));
  for (const s of scene.shapes) svg.append("d" in s ? svgPath(s) : svgText(s));
  return svg;
}

/** Draws a scene on a canvas with `scale` dots for each pixel. */
export function toCanvas(scene: Scene, scale: number): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(scene.width * scale);
  canvas.height = Math.round(scene.height * scale);
  const c = canvas.getContext("2d");
  if (!c) throw new Error("The browser could not draw the chart.");
  c.fillStyle = scene.background;
  c.fillRect(0, 0, canvas.width, canvas.height);
  c.lineJoin = "round";
  const outlines = new Map<string, Path2D>(); // of points, which share a few
  for (const s of scene.shapes) {
    c.setTransform(scale, 0, 0, scale, scale * (s.at?.[0] ?? 0), scale * (s.at?.[1] ?? 0));
    if ("d" in s) paintPath(c, s, outlines);
    else paintText(c, s, scene.font);
  }
  return canvas;
}

function paintPath(c: CanvasRenderingContext2D, s: Path, outlines: Map<string, Path2D>): void {
  const outline = outlines.get(s.d) ?? new Path2D(s.d);
  outlines.set(s.d, outline);
  c.globalAlpha = (s.opacity ?? 1) * (s.fillOpacity ?? 1);
  if (s.fill) {
    c.fillStyle = s.fill;
    c.fill(outline);
  }
  if (!s.stroke) return;
  c.globalAlpha = s.opacity ?? 1;
  c.strokeStyle = s.stroke;
  c.lineWidth = s.width ?? 1;
  c.setLineDash([...(s.dash ?? [])]);
  c.stroke(outline);
}

function paintText(c: CanvasRenderingContext2D, s: Words, font: string): void {
  c.globalAlpha = 1;
  c.font = `${s.bold ? "600 " : ""}${s.size ?? textSize}px ${s.font ?? font}`;
  c.textAlign = s.anchor === "middle" ? "center" : (s.anchor ?? "start");
  c.fillStyle = s.fill;
  c.fillText(s.text, 0, 0);
}

// Of saved charts, in pixels.
const titleSize = 18;
const titleLine = 24;
const noteLine = 18;
const edge = 4; // to the left and right, as in the chart
const gap = 8; // above and below the chart

/** Adds the title above a chart and the notes below it. */
export function withText(scene: Scene, title: string, notes: readonly string[], look: Look): Scene {
  const room = scene.width - 2 * edge;
  const head = wrap(title, room, `600 ${titleSize}px ${look.heading}`, look);
  const foot = notes.flatMap((n) => wrap(n, room, `${textSize}px ${look.font}`, look));
  const top = head.length ? head.length * titleLine + gap : 0;
  const shapes: Shape[] = [
    ...head.map((text, i): Words => ({
      ...{ text, at: [edge, i * titleLine + titleSize + 4], fill: look.ink },
      ...{ size: titleSize, bold: true, font: look.heading },
    })),
    ...scene.shapes.map((s) => lower(s, top)),
    ...foot.map((text, i): Words => ({
      ...{ text, at: [edge, top + scene.height + gap / 2 + i * noteLine + textSize], fill: look.quiet },
    })),
  ];
  const below = foot.length ? foot.length * noteLine + gap : 0;
  return { ...scene, height: top + scene.height + below, shapes, spots: [] };
}

/** Renders a scene as a file. */
export async function picture(scene: Scene, format: "png" | "svg"): Promise<Blob> {
  if (format === "svg")
    return new Blob([new XMLSerializer().serializeToString(toSvg(scene))], { type: "image/svg+xml" });
  const canvas = toCanvas(scene, 2);
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, "image/png"));
  if (!blob) throw new Error("The browser could not render the chart as a picture.");
  return blob;
}
