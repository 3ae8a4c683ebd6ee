// Paints the pieces of drawings on a canvas.
import type { Drawing, LineStyle } from "./types";
import { shapeOf, type Piece, type Point, type Role, type Scale, type Shape } from "./shape";

/** The resolved colours of the current theme. */
export interface Inks {
  ink: string;
  quiet: string;
  line: string;
  surface: string;
  accent: string;
  up: string;
  down: string;
  upSoft: string;
  downSoft: string;
  /** For levels without their own colour. */
  tones: readonly string[];
  font: string;
}

export interface PaintOptions {
  /** Highlights the drawing with a wide light line, while the pointer is on its entry in a list. */
  highlighted?: boolean;
  /** Shows the handles. */
  chosen?: boolean;
  /** Paints it faintly, as the state before a change. */
  ghost?: boolean;
}

const dashes: Record<LineStyle, number[]> = { solid: [], dashed: [6, 5], dotted: [1.5, 4] };
const textSize = 12;
const handleSize = 4.5;

export function paint(
  c: CanvasRenderingContext2D,
  d: Drawing,
  s: Scale,
  digits: number,
  inks: Inks,
  options: PaintOptions,
): Shape {
  const shape = shapeOf(d, s, digits, options.chosen || options.highlighted || options.ghost);
  c.save();
  if (options.ghost) c.globalAlpha = 0.55;
  if (options.highlighted) for (const p of shape.pieces) halo(c, p, inks);
  const pen = new Pen(c, d, inks, options.ghost ?? false);
  for (const p of shape.pieces) pen.piece(p);
  c.restore();
  if (options.chosen) handles(c, shape, d, inks);
  return shape;
}

function halo(c: CanvasRenderingContext2D, p: Piece, inks: Inks): void {
  c.save();
  c.globalAlpha = 0.28;
  c.strokeStyle = c.fillStyle = inks.accent;
  c.lineWidth = 9;
  c.lineCap = "round";
  if (p.kind === "line") stroke(c, p.a, p.b);
  else if (p.kind === "box") c.strokeRect(p.x, p.y, p.w, p.h);
  else if (p.kind === "circle") ring(c, p.at, p.r);
  else if (p.kind === "mark") ring(c, p.at, p.size);
  c.restore();
}

function handles(c: CanvasRenderingContext2D, shape: Shape, d: Drawing, inks: Inks): void {
  c.save();
  c.lineWidth = 1.75;
  c.fillStyle = inks.surface;
  c.strokeStyle = d.locked ? inks.quiet : inks.accent;
  for (const h of shape.handles) {
    c.beginPath();
    if (d.locked) c.rect(h.x - 3, h.y - 3, 6, 6);
    else c.arc(h.x, h.y, handleSize, 0, 2 * Math.PI);
    c.fill();
    c.stroke();
  }
  c.restore();
}

function stroke(c: CanvasRenderingContext2D, a: Point, b: Point): void {
  c.beginPath();
  c.moveTo(a.x, a.y);
  c.lineTo(b.x, b.y);
  c.stroke();
}

function ring(c: CanvasRenderingContext2D, at: Point, r: number): void {
  c.beginPath();
  c.arc(at.x, at.y, r, 0, 2 * Math.PI);
  c.stroke();
}

/** Moves a coordinate to the middle of a pixel, where lines are sharp. */
const sharp = (v: number) => Math.floor(v) + 0.5;

const defaultWidth = 1.5;
const widthOf = (d: Drawing) => Math.min(8, Math.max(1, d.lineWidth ?? defaultWidth));

/** Moves a horizontal or vertical line to the middle of a pixel. */
function sharpened(a: Point, b: Point): [Point, Point] {
  const flat = a.y === b.y;
  const upright = a.x === b.x;
  const at = (q: Point) => ({ x: upright ? sharp(q.x) : q.x, y: flat ? sharp(q.y) : q.y });
  return [at(a), at(b)];
}

const thinAbove = 1000; // lines
const linesPerPath = 200;

/** Collects drawings that are one line without a label, and paints those with the same style together. If there are
 *  many, they are one device pixel wide, because browsers paint such lines much faster, even hundreds in one path. A
 *  path of wider lines that cross is slower than separate lines. */
export class Lines {
  private readonly alike = new Map<string, { d: Drawing; all: [Point, Point][] }>();

  /** Adds a drawing and returns its shape, or returns undefined if it is not a plain line. */
  take(d: Drawing, s: Scale, digits: number): Shape | undefined {
    if (!lineTypes.has(d.type) || d.extend === "arrow" || d.label || d.text) return undefined;
    const shape = shapeOf(d, s, digits);
    const look = `${d.color ?? ""} ${widthOf(d)} ${d.lineStyle ?? "solid"}`;
    let same = this.alike.get(look);
    if (!same) this.alike.set(look, (same = { d, all: [] }));
    for (const p of shape.pieces) if (p.kind === "line") same.all.push(sharpened(p.a, p.b));
    return shape;
  }

  stroke(c: CanvasRenderingContext2D, inks: Inks): void {
    c.save();
    const thin = [...this.alike.values()].reduce((sum, { all }) => sum + all.length, 0) > thinAbove;
    const n = thin ? linesPerPath : 1;
    for (const { d, all } of this.alike.values()) {
      c.strokeStyle = d.color || inks.accent;
      c.lineWidth = thin ? 1 / (globalThis.devicePixelRatio || 1) : widthOf(d);
      c.setLineDash(dashes[d.lineStyle ?? "solid"]);
      for (let i = 0; i < all.length; i += n) {
        c.beginPath();
        for (const [a, b] of all.slice(i, i + n)) {
          c.moveTo(a.x, a.y);
          c.lineTo(b.x, b.y);
        }
        c.stroke();
      }
    }
    c.restore();
    this.alike.clear();
  }
}

const lineTypes: ReadonlySet<Drawing["type"]> = new Set([
  "trendline",
  "horizontal_line",
  "horizontal_ray",
  "vertical_line",
]);

class Pen {
  private readonly main: string;
  private readonly width: number;
  private readonly dash: number[];
  constructor(
    private readonly c: CanvasRenderingContext2D,
    private readonly d: Drawing,
    private readonly inks: Inks,
    ghost: boolean,
  ) {
    this.main = d.color || inks.accent;
    this.width = widthOf(d);
    this.dash = ghost ? [3, 4] : dashes[d.lineStyle ?? "solid"];
  }

  piece(p: Piece): void {
    const c = this.c;
    c.setLineDash([]);
    switch (p.kind) {
      case "line":
        return this.line(p);
      case "box":
        return this.box(p);
      case "circle":
        c.beginPath();
        c.arc(p.at.x, p.at.y, p.r, 0, 2 * Math.PI);
        this.fill(this.d.fillColor ?? this.main, 0.12);
        return this.outline();
      case "mark":
        return this.mark(p);
      case "text":
        return this.text(p);
    }
  }

  private color(role: Role, tone?: number): string {
    const { tones } = this.inks;
    if (tone !== undefined && !this.d.color) return tones[tone % tones.length]!;
    if (role === "gain") return this.inks.up;
    if (role === "loss") return this.inks.down;
    return this.main;
  }

  private line(p: Extract<Piece, { kind: "line" }>): void {
    const c = this.c;
    c.strokeStyle = this.color(p.role, p.tone);
    c.lineWidth = p.thin ? 1 : this.width;
    c.setLineDash(p.thin ? dashes.dashed : this.dash);
    if (p.thin) c.globalAlpha *= 0.6;
    stroke(c, ...sharpened(p.a, p.b));
    if (p.thin) c.globalAlpha /= 0.6;
    if (p.arrow) this.arrowHead(p.a, p.b);
  }

  private arrowHead(a: Point, b: Point): void {
    const c = this.c;
    const angle = Math.atan2(b.y - a.y, b.x - a.x);
    const long = 8 + this.width * 2;
    c.setLineDash([]);
    c.beginPath();
    for (const turn of [-0.42, 0.42]) {
      c.moveTo(b.x, b.y);
      c.lineTo(b.x - long * Math.cos(angle + turn), b.y - long * Math.sin(angle + turn));
    }
    c.stroke();
  }

  private box(p: Extract<Piece, { kind: "box" }>): void {
    const c = this.c;
    c.beginPath();
    c.rect(p.x, p.y, p.w, p.h);
    const role = p.role === "gain" || p.role === "loss";
    this.fill(
      role || p.tone !== undefined ? this.color(p.role, p.tone) : (this.d.fillColor ?? this.main),
      p.role === "band" ? 0.07 : role ? 0.16 : 0.12,
    );
    if (p.border) this.outline();
  }

  private outline(): void {
    const c = this.c;
    c.strokeStyle = this.main;
    c.lineWidth = this.width;
    c.setLineDash(this.dash);
    c.stroke();
  }

  /** Fills with a colour. A colour without an alpha value gets the given one. */
  private fill(color: string, alpha: number): void {
    const c = this.c;
    const given = /^#(\w{4}|\w{8})$|\/|^rgba|^hsla/i.test(color);
    c.fillStyle = color;
    const was = c.globalAlpha;
    if (!given) c.globalAlpha = was * alpha;
    c.fill();
    c.globalAlpha = was;
  }

  private mark(p: Extract<Piece, { kind: "mark" }>): void {
    const c = this.c;
    const { x, y } = p.at;
    const r = p.size / 2;
    c.fillStyle =
      this.d.color || (p.mark === "arrow_up" ? this.inks.up : p.mark === "arrow_down" ? this.inks.down : this.main);
    c.beginPath();
    switch (p.mark) {
      case "arrow_up":
      case "arrow_down": {
        const way = p.mark === "arrow_up" ? 1 : -1;
        c.moveTo(x, y + way);
        c.lineTo(x + r, y + way * (r + 1));
        c.lineTo(x + r / 2.4, y + way * (r + 1));
        c.lineTo(x + r / 2.4, y + way * p.size * 1.25);
        c.lineTo(x - r / 2.4, y + way * p.size * 1.25);
        c.lineTo(x - r / 2.4, y + way * (r + 1));
        c.lineTo(x - r, y + way * (r + 1));
        c.closePath();
        break;
      }
      case "circle":
        c.arc(x, y, r, 0, 2 * Math.PI);
        break;
      case "square":
        c.rect(x - r, y - r, p.size, p.size);
        break;
      case "diamond":
        c.moveTo(x, y - r);
        c.lineTo(x + r, y);
        c.lineTo(x, y + r);
        c.lineTo(x - r, y);
        c.closePath();
        break;
      case "flag":
        c.rect(x - 0.75, y - p.size, 1.5, p.size);
        c.moveTo(x, y - p.size);
        c.lineTo(x + p.size * 0.8, y - p.size * 0.72);
        c.lineTo(x, y - p.size * 0.44);
        c.closePath();
        break;
    }
    c.fill();
  }

  private text(p: Extract<Piece, { kind: "text" }>): void {
    const c = this.c;
    if (!p.text) return;
    const size = this.d.type === "text" ? Math.min(40, Math.max(9, this.d.size ?? 13)) : textSize;
    c.font = `${p.plate ? "500" : "400"} ${size}px ${this.inks.font}`;
    c.textAlign = p.align;
    c.textBaseline = p.base;
    if (p.plate) this.plate(p, size);
    else this.clear(p);
    const own = this.color(p.role, p.tone);
    c.fillStyle = p.plate && this.d.type !== "text" ? contrast(own) : own;
    const nudge = p.base === "middle" ? 0.5 : p.plate ? (p.base === "top" ? 3 : -3) : 0;
    c.fillText(p.text, p.at.x, p.at.y + nudge);
  }

  /** Paints an outline around a text, so that it is readable over bars. */
  private clear(p: Extract<Piece, { kind: "text" }>): void {
    const c = this.c;
    c.strokeStyle = this.inks.surface;
    c.lineWidth = 3;
    c.lineJoin = "round";
    c.strokeText(p.text, p.at.x, p.at.y + (p.base === "middle" ? 0.5 : 0));
  }

  /** Paints a background below a text, so that it is readable over bars. */
  private plate(p: Extract<Piece, { kind: "text" }>, size: number): void {
    const c = this.c;
    const w = c.measureText(p.text).width + 12;
    const h = size + 8;
    const x = p.align === "left" ? p.at.x - 6 : p.align === "right" ? p.at.x - w + 6 : p.at.x - w / 2;
    const y = p.base === "top" ? p.at.y : p.base === "bottom" ? p.at.y - h : p.at.y - h / 2;
    c.fillStyle = this.d.type === "text" ? this.d.fillColor || this.inks.surface : this.color(p.role);
    const was = c.globalAlpha;
    if (this.d.type === "text" && !this.d.fillColor) c.globalAlpha = was * 0.8;
    c.beginPath();
    c.roundRect(x, y, w, h, 4);
    c.fill();
    c.globalAlpha = was;
  }
}

let probe: CanvasRenderingContext2D | null | undefined;
const known = new Map<string, string>();

/** Returns black or white, whichever is more readable on a colour. */
export function contrast(color: string): string {
  let out = known.get(color);
  if (out) return out;
  probe ??= Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", {
    willReadFrequently: true,
  });
  if (!probe) return "white";
  probe.clearRect(0, 0, 1, 1);
  probe.fillStyle = color;
  probe.fillRect(0, 0, 1, 1);
  const [r, g, b] = probe.getImageData(0, 0, 1, 1).data as unknown as [number, number, number];
  const lin = (v: number) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  out = 0.2126 * lin(r) + 0.7152 * lin(g) + 0.0722 * lin(b) > 0.183 ? "black" : "white";
  known.set(color, out);
  return out;
}
