// Pointer and keyboard input on the drawings: place a new one with one or two clicks or a drag, select one, and move it
// or one of its handles.
import type { Plot } from "./plot";
import type { Hit } from "./layer";
import { pricesOf, type Point } from "./shape";
import { copied, temporaryPrefix, created, moved, round, snapped, type Tool } from "./edit";
import type { Anchor, Drawing } from "./types";

interface DrawingInputEvents {
  /** A drawing was completed. */
  onMade: (d: Omit<Drawing, "id">) => void;
  onChanged: (d: Drawing) => void;
  onChoose: (id: string | undefined) => void;
  /** A drawing was double-clicked. */
  onEdit: (id: string) => void;
  /** The tool is no longer needed. */
  onDone: () => void;
  drawing: (id: string) => Drawing | undefined;
}

interface Drag {
  id: string;
  handle: Hit["handle"];
  start: Drawing;
  from: Anchor;
  at: Point;
  moved: boolean;
}

// In pixels.
const dragThreshold = 4;
const magnetReach = 14;

export class DrawingInput {
  private tool: Tool | undefined;
  private points: Anchor[] = [];
  private down: Point | undefined; // where the button was pressed
  private drag: Drag | undefined;
  private draftEnds = false; // the next click completes the drawing
  private place: Anchor | undefined; // the keyboard's crosshair
  magnet = true;

  constructor(
    private readonly plot: Plot,
    private readonly symbol: string,
    private readonly timeframe: string,
    private readonly on: DrawingInputEvents,
  ) {
    const el = plot.el;
    el.addEventListener("pointerdown", this.press, true);
    el.addEventListener("pointermove", this.move, true);
    el.addEventListener("pointerup", this.release, true);
    el.addEventListener("pointercancel", this.cancel, true);
    el.addEventListener("dblclick", this.doubleClick, true);
  }

  remove(): void {
    this.saveMoved();
    const el = this.plot.el;
    el.removeEventListener("pointerdown", this.press, true);
    el.removeEventListener("pointermove", this.move, true);
    el.removeEventListener("pointerup", this.release, true);
    el.removeEventListener("pointercancel", this.cancel, true);
    el.removeEventListener("dblclick", this.doubleClick, true);
  }

  setTool(tool: Tool | undefined): void {
    this.saveMoved();
    this.tool = tool;
    this.points = [];
    this.draftEnds = false;
    this.place = undefined;
    this.plot.layer.busy = tool !== undefined;
    this.plot.setMovable(tool === undefined);
    this.draft(undefined);
    this.plot.crosshair(undefined);
  }

  /** Cancels a drawing or a drag. Returns false if there was none. */
  escape(): boolean {
    const was = this.points.length > 0 || this.drag !== undefined;
    this.points = [];
    this.draftEnds = false;
    this.drag = undefined;
    this.draft(undefined);
    if (this.tool === undefined) this.plot.setMovable(true);
    return was;
  }

  private draft(d: Drawing | undefined): void {
    this.plot.layer.draft = d;
    this.plot.layer.redraw();
  }

  private point(e: PointerEvent | MouseEvent): Point | undefined {
    const box = this.plot.el.getBoundingClientRect();
    const p = { x: e.clientX - box.left, y: e.clientY - box.top };
    const size = this.plot.chart.paneSize(0);
    return p.x >= 0 && p.y >= 0 && p.x <= size.width && p.y <= size.height ? p : undefined;
  }

  /** Returns the time and price at a point. The magnet snaps to the bar's prices. */
  private anchor(p: Point, e: { ctrlKey: boolean; metaKey: boolean }): Anchor | undefined {
    const a = this.plot.anchor(p);
    if (!a) return undefined;
    return this.snap(a, this.magnet !== (e.ctrlKey || e.metaKey));
  }

  private snap(a: Anchor, magnet: boolean): Anchor {
    const { bars, digits } = this.plot;
    if (!magnet) return { time: a.time, price: round(a.price, digits) };
    const bar = bars.at(Math.round(bars.index(a.time)));
    const price = snapped(
      bar?.time === a.time ? bar : undefined,
      a.price,
      this.plot.priceDistance(a.price, magnetReach),
    );
    return { time: a.time, price: round(price, digits) };
  }

  private press = (e: PointerEvent): void => {
    if (e.button !== 0 || !e.isPrimary) return;
    const p = this.point(e);
    if (!p) return;
    this.saveMoved();
    this.down = p;
    if (this.tool) {
      const a = this.anchor(p, e);
      if (a && this.points.length === 0) {
        this.points = [a];
        this.preview(a);
      }
      return;
    }
    const hit = this.plot.layer.at(p, e.pointerType === "touch");
    const start = hit && this.on.drawing(hit.id);
    const from = this.plot.anchor(p);
    if (!hit || !start || !from) return;
    this.on.onChoose(hit.id);
    if (start.locked) return;
    this.plot.setMovable(false);
    this.drag = { id: hit.id, handle: hit.handle, start, from, at: p, moved: false };
    this.plot.el.setPointerCapture(e.pointerId);
  };

  private move = (e: PointerEvent): void => {
    if (!e.isPrimary) return;
    const box = this.plot.el.getBoundingClientRect();
    const p = { x: e.clientX - box.left, y: e.clientY - box.top };
    if (this.drag) return this.dragTo(p, e);
    if (!this.tool || !this.points.length) return;
    const a = this.anchor(p, e);
    if (a) this.preview(a);
  };

  private preview(a: Anchor): void {
    const d = created(
      this.tool!,
      [...this.points.slice(0, 1), ...(this.tool!.clicks === 2 ? [a] : [])],
      this.symbol,
      this.timeframe,
      this.plot.bars,
      this.plot.digits,
    );
    this.draft({ id: `${temporaryPrefix}draft`, ...d });
  }

  private dragTo(p: Point, e: { ctrlKey: boolean; metaKey: boolean }): void {
    const drag = this.drag!;
    if (!drag.moved && Math.hypot(p.x - drag.at.x, p.y - drag.at.y) < dragThreshold) return;
    drag.moved = true;
    const to = this.plot.anchor(p);
    if (!to) return;
    const { bars, digits } = this.plot;
    const i = Math.round(bars.index(to.time)) - Math.round(bars.index(drag.from.time));
    let next = moved(drag.start, drag.handle, bars, { bars: i, price: to.price - drag.from.price }, digits);
    // A handle snaps to the bar's prices; a drawing that is moved keeps its shape.
    const n = drag.handle === "a0" ? 0 : drag.handle === "a1" ? 1 : -1;
    const held = next.anchors?.[n];
    if (held && this.magnet !== (e.ctrlKey || e.metaKey))
      next = { ...next, anchors: next.anchors!.map((a, j) => (j === n ? this.snap(a, true) : a)) };
    this.draft(next);
  }

  private release = (e: PointerEvent): void => {
    if (!e.isPrimary) return;
    const box = this.plot.el.getBoundingClientRect();
    const p = { x: e.clientX - box.left, y: e.clientY - box.top };
    const still = this.down !== undefined && Math.hypot(p.x - this.down.x, p.y - this.down.y) < dragThreshold;
    if (this.drag) this.drop();
    else if (this.tool) this.clicked(p, e, still);
    else if (this.down && still && !this.plot.layer.at(p, e.pointerType === "touch")) this.on.onChoose(undefined);
    this.down = undefined;
  };

  private drop(): void {
    const { moved: hasMoved } = this.drag!;
    const now = this.plot.layer.draft;
    this.drag = undefined;
    this.plot.setMovable(true);
    if (hasMoved && now) this.on.onChanged(now); // the document shows it from now on
    this.draft(undefined);
  }

  /** Handles a click with a tool, which sets the first or the second point. A drag sets both. */
  private clicked(p: Point, e: PointerEvent, still: boolean): void {
    const tool = this.tool!;
    if (!this.points.length) return;
    const a = this.anchor(p, e);
    if (!a) return;
    if (tool.clicks === 1) return this.finish([a]);
    if (still && !this.draftEnds) {
      this.draftEnds = true;
      return;
    }
    if (a.time === this.points[0]!.time && a.price === this.points[0]!.price) return;
    this.finish([this.points[0]!, a]);
  }

  private finish(points: Anchor[]): void {
    const d = created(this.tool!, points, this.symbol, this.timeframe, this.plot.bars, this.plot.digits);
    this.points = [];
    this.draftEnds = false;
    this.draft(undefined);
    this.on.onMade(d);
    this.on.onDone();
  }

  private cancel = (): void => {
    this.escape();
    this.down = undefined;
  };

  private doubleClick = (e: MouseEvent): void => {
    const p = this.point(e);
    const hit = p && !this.tool && this.plot.layer.at(p);
    if (hit) this.on.onEdit(hit.id);
  };

  /** Moves the keyboard's crosshair, if there is a tool. */
  step(bars: number, price: number): boolean {
    if (!this.tool) return false;
    const { plot } = this;
    const r = plot.range();
    if (!this.place && r) {
      const i = Math.min(plot.bars.length - 1, Math.round((r.left + r.right) / 2));
      const bar = plot.bars.at(i);
      if (bar) this.place = { time: bar.time, price: bar.close };
    } else if (this.place) {
      const i = Math.max(0, Math.min(plot.bars.length - 1, Math.round(plot.bars.index(this.place.time)) + bars));
      this.place = { time: plot.bars.time(i), price: round(this.place.price + price, plot.digits) };
    }
    plot.crosshair(this.place);
    if (this.place && this.points.length) this.preview(this.place);
    return true;
  }

  private nudged: { d: Drawing; timer: ReturnType<typeof setTimeout> } | undefined;

  /** Moves a drawing with keys. It is saved after a short pause. */
  nudge(id: string, handle: Hit["handle"], by: { bars: number; price: number }): Drawing | undefined {
    // The server may have given the drawing its id since the last key.
    if (this.nudged && this.on.drawing(this.nudged.d.id)?.id !== id) this.saveMoved();
    const now = this.nudged?.d ?? this.on.drawing(id);
    if (!now || now.locked) return undefined;
    if (this.nudged) clearTimeout(this.nudged.timer);
    const d = moved(now, handle, this.plot.bars, by, this.plot.digits);
    this.nudged = { d, timer: setTimeout(this.saveMoved, 600) };
    this.draft(d);
    return d;
  }

  /** Returns a copy of a drawing, a little below it and to the right. */
  copyOf(id: string): Omit<Drawing, "id"> | undefined {
    this.saveMoved();
    const d = this.on.drawing(id);
    const { bars, digits } = this.plot;
    const price = d && (pricesOf(d)[0] ?? bars.at(bars.length - 1)?.close);
    return price === undefined
      ? undefined
      : copied(d!, bars, { bars: 3, price: -Math.max(10 ** -digits, this.plot.priceDistance(price, 24)) }, digits);
  }

  /** Saves a drawing that was moved with keys. */
  saveMoved = (): void => {
    if (!this.nudged) return;
    clearTimeout(this.nudged.timer);
    const { d } = this.nudged;
    this.nudged = undefined;
    this.on.onChanged(d);
    this.draft(undefined);
  };

  /** Returns the position of the keyboard's crosshair. */
  at(): Anchor | undefined {
    return this.place;
  }

  /** Sets a point at the keyboard's crosshair. */
  enter(): boolean {
    if (!this.tool) return false;
    if (!this.place) return this.step(0, 0);
    const a = this.place;
    if (this.tool.clicks === 1) this.finish([a]);
    else if (!this.points.length) {
      this.points = [a];
      this.draftEnds = true;
      this.preview(a);
    } else this.finish([this.points[0]!, a]);
    return true;
  }
}
