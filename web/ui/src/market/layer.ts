// The layer of drawings over the bars, as one primitive of the series. Only visible drawings are painted, so that ten
// thousand of them are no problem.
import type {
  AutoscaleInfo,
  ISeriesPrimitive,
  ISeriesPrimitiveAxisView,
  PrimitiveHoveredItem,
  SeriesAttachedParameter,
  Time,
} from "lightweight-charts";
import {
  distance,
  handleAt,
  isPosition,
  minWidth,
  pricesOf,
  type HandleName,
  type Point,
  type Scale,
  type Shape,
} from "./shape";
import { contrast, Lines, paint, type Inks } from "./paint";
import { visible } from "./edit";
import type { Anchor, Drawing } from "./types";

export interface Hit {
  id: string;
  handle?: HandleName;
}

// In pixels.
const labelHeight = 18;
const letterWidth = 6.5;

export class Layer implements ISeriesPrimitive<Time> {
  private drawings: readonly Drawing[] = [];
  private shapes = new Map<string, { d: Drawing; shape: Shape }>();
  private labels: ISeriesPrimitiveAxisView[] = [];
  private times: ISeriesPrimitiveAxisView[] = [];
  private update = () => {};

  /** The drawing that is being drawn or moved. It replaces the one with the same id. */
  draft: Drawing | undefined;
  /** The drawing as it was before the change that the pointer is on. */
  ghost: Drawing | undefined;
  highlighted: string | undefined;
  /** The price scale includes the prices of this drawing. */
  revealed: string | undefined;
  chosen: string | undefined;
  /** A tool is selected, so drawings do not react to the pointer. */
  busy = false;

  constructor(
    private readonly scale: () => Scale | undefined,
    private readonly inks: () => Inks,
    readonly digits: number,
    private timeframe: string,
    private readonly clock: (time: number) => string,
  ) {}

  attached(p: SeriesAttachedParameter<Time>): void {
    this.update = p.requestUpdate;
  }

  detached(): void {
    this.update = () => {};
  }

  show(drawings: readonly Drawing[], timeframe: string): void {
    this.drawings = drawings;
    this.timeframe = timeframe;
    this.redraw();
  }

  redraw = (): void => this.update();

  /** Returns the drawings to show. `strong` are painted on top: the highlighted, the selected, and the draft. */
  private shown(): { usual: Drawing[]; strong: Drawing[] } {
    const usual: Drawing[] = [];
    const strong: Drawing[] = [];
    for (const d of this.drawings) {
      if (d.id === this.draft?.id || !visible(d, this.timeframe)) continue;
      if (d.id === this.chosen) strong.push(d);
      else if (d.id === this.highlighted) strong.unshift(d);
      else usual.push(d);
    }
    if (this.draft) strong.push(this.draft);
    return { usual, strong };
  }

  /** The price scale includes the revealed drawing and, while the pointer is on a change, the prices before and
   *  after. */
  autoscaleInfo(): AutoscaleInfo | null {
    if (!this.ghost && !this.revealed) return null;
    const shown = this.drawings.filter((d) => d.id === this.revealed || (this.ghost && d.id === this.highlighted));
    const prices = [...shown, ...(this.ghost ? [this.ghost] : [])].flatMap(pricesOf);
    return prices.length ? { priceRange: { minValue: Math.min(...prices), maxValue: Math.max(...prices) } } : null;
  }

  updateAllViews(): void {
    const s = this.scale();
    this.labels = [];
    this.times = [];
    if (!s) return;
    const { usual, strong } = this.shown();
    const column = new Places(labelHeight);
    for (const d of strong) {
      this.mark(d, s, column, true);
      this.markTimes(d, s);
    }
    // Newest first. If levels are close, some get no label, because moved labels would be at wrong prices.
    for (let i = usual.length - 1; i >= 0; i--) {
      const d = usual[i]!;
      if (d.type === "horizontal_line" || d.type === "horizontal_ray" || isPosition(d)) this.mark(d, s, column, false);
    }
  }

  /** Adds labels for the prices of a drawing if there is room. A strong one always gets them. */
  private mark(d: Drawing, s: Scale, column: Places, strong: boolean): void {
    pricesOf(d).forEach((p, i) => {
      const y = s.y(p);
      if (!(y >= 0 && y <= s.height)) return;
      if (column.take(y) || strong) this.labels.push(this.label(d, p, y, i));
    });
  }

  /** Adds labels for the times of a drawing that do not overlap. */
  private markTimes(d: Drawing, s: Scale): void {
    let last: { x: number; text: string } | undefined;
    for (const a of d.anchors ?? []) {
      const x = s.x(a.time);
      const text = this.clock(a.time);
      if (last && Math.abs(x - last.x) < ((text.length + last.text.length) / 2) * letterWidth + 12) continue;
      last = { x, text };
      this.times.push(this.axisView(x, text, d.color || this.inks().accent));
    }
  }

  private label(d: Drawing, price: number, y: number, i: number): ISeriesPrimitiveAxisView {
    const inks = this.inks();
    const back = isPosition(d) ? [inks.accent, inks.up, inks.down][i]! : d.color || inks.accent;
    return this.axisView(y, price.toFixed(this.digits), back);
  }

  private axisView(at: number, text: string, back: string): ISeriesPrimitiveAxisView {
    const textColor = contrast(back);
    return { coordinate: () => at, text: () => text, textColor: () => textColor, backColor: () => back };
  }

  priceAxisViews(): readonly ISeriesPrimitiveAxisView[] {
    return this.labels;
  }

  timeAxisViews(): readonly ISeriesPrimitiveAxisView[] {
    return this.times;
  }

  paneViews() {
    return this.views;
  }

  private readonly views = [
    {
      zOrder: () => "normal" as const,
      renderer: () => ({
        draw: (target: { useMediaCoordinateSpace(f: (s: { context: CanvasRenderingContext2D }) => void): void }) =>
          target.useMediaCoordinateSpace(({ context }) => this.paintAll(context)),
      }),
    },
  ];

  private paintAll(c: CanvasRenderingContext2D): void {
    const s = this.scale();
    this.shapes.clear();
    if (!s) return;
    const inks = this.inks();
    if (this.ghost) paint(c, this.ghost, s, this.digits, inks, { ghost: true });
    const { usual, strong } = this.shown();
    const lines = new Lines();
    for (const d of usual) {
      if (isOutside(d, s)) continue;
      this.shapes.set(d.id, { d, shape: lines.take(d, s, this.digits) ?? paint(c, d, s, this.digits, inks, {}) });
    }
    lines.stroke(c, inks);
    for (const d of strong) {
      const chosen = d.id === this.chosen || d === this.draft;
      this.shapes.set(d.id, {
        d,
        shape: paint(c, d, s, this.digits, inks, { chosen, highlighted: d.id === this.highlighted }),
      });
    }
  }

  /** Returns the topmost drawing at a point. */
  at(point: Point, coarse = false): Hit | undefined {
    const chosen = this.chosen ? this.shapes.get(this.chosen) : undefined;
    if (chosen) {
      const handle = handleAt(chosen.shape, point, coarse);
      if (handle) return { id: chosen.d.id, handle };
    }
    let best: Hit | undefined;
    let least = Infinity;
    for (const { d, shape } of this.shapes.values()) {
      const far = distance(shape, point) - (d.id === this.chosen ? 0.5 : 0);
      if (far < Infinity && far <= least) [best, least] = [{ id: d.id }, far];
    }
    return best;
  }

  /** Returns the shape of a drawing that is in view. */
  shapeOf(id: string): Shape | undefined {
    return this.shapes.get(id)?.shape;
  }

  hitTest(x: number, y: number): PrimitiveHoveredItem | null {
    if (this.busy) return { externalId: "", zOrder: "normal", cursorStyle: "crosshair" };
    const hit = this.at({ x, y });
    if (!hit) return null;
    const locked = this.shapes.get(hit.id)?.d.locked;
    return { externalId: hit.id, zOrder: "normal", cursorStyle: locked ? "default" : hit.handle ? "grab" : "pointer" };
  }
}

/** Reports whether a drawing is certainly outside the pane. */
function isOutside(d: Drawing, s: Scale): boolean {
  if (d.type === "horizontal_line") return apart(s, d.price ?? 0);
  const [a, b] = d.anchors ?? [];
  if (d.type === "horizontal_ray" && a) return apart(s, a.price) || s.x(a.time) > s.width;
  if (d.type === "circle" || !a || !b) return false;
  return spanOutside(d, s, a, b);
}

/** Reports whether all prices are above the pane, or all are below it. */
function apart(s: Scale, ...prices: number[]): boolean {
  return prices.every((p) => s.y(p) < 0) || prices.every((p) => s.y(p) > s.height);
}

/** The same as isOutside, for a drawing between two points. */
function spanOutside(d: Drawing, s: Scale, a: Anchor, b: Anchor): boolean {
  if (d.extend === "ray" || d.extend === "extended") return false;
  const between = d.type === "trendline" || d.type === "rectangle"; // does not extend beyond its points
  if (between && apart(s, a.price, b.price)) return !d.label;
  const [p, q] = [s.x(a.time), s.x(b.time)];
  return Math.max(p, q) < -minWidth || (Math.min(p, q) > s.width && d.type !== "fibonacci");
}

/** Positions along an axis with a minimum distance. */
class Places {
  private readonly slots = new Map<number, number>();
  constructor(private readonly minDistance: number) {}

  /** Takes a position. Returns false if another one is too close. */
  take(at: number): boolean {
    const k = Math.floor(at / this.minDistance);
    const near = (i: number) => Math.abs((this.slots.get(i) ?? Infinity) - at) < this.minDistance;
    if (near(k) || near(k - 1) || near(k + 1)) return false;
    this.slots.set(k, at);
    return true;
  }
}
