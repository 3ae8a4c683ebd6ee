// The calendar on the chart: a mark below the bars for each release.
import type { ISeriesPrimitive, PrimitiveHoveredItem, SeriesAttachedParameter, Time } from "lightweight-charts";
import type { Inks } from "./paint";
import type { Point, Scale } from "./shape";
import { seconds, type MarketEvent } from "./types";

/** The releases within a few pixels. */
export interface Mark {
  x: number;
  events: MarketEvent[];
}

const size = 5;
const minDistance = 9;
const weight = { low: 0, medium: 1, high: 2 } as const;

export class EventLayer implements ISeriesPrimitive<Time> {
  private events: readonly { at: number; e: MarketEvent }[] = [];
  private marks: Mark[] = [];
  private update = () => {};
  private height = 0;
  private hidden = false;

  constructor(
    private readonly scale: () => Scale | undefined,
    private readonly inks: () => Inks,
  ) {}

  attached(p: SeriesAttachedParameter<Time>): void {
    this.update = p.requestUpdate;
  }

  detached(): void {
    this.update = () => {};
  }

  show(events: readonly MarketEvent[]): void {
    this.events = events.map((e) => ({ at: seconds(e.time), e })).sort((a, b) => a.at - b.at);
    this.update();
  }

  hide(on: boolean): void {
    this.hidden = on;
    this.update();
  }

  updateAllViews(): void {
    const s = this.scale();
    this.marks = [];
    if (!s || this.hidden) return;
    this.height = s.height;
    for (const { at, e } of this.events) {
      const x = s.x(at);
      if (x < -size || x > s.width + size) continue;
      const last = this.marks.at(-1);
      if (last && x - last.x < minDistance) last.events.push(e);
      else this.marks.push({ x, events: [e] });
    }
  }

  /** Returns the mark at a point, if there is one. */
  at(p: Point): Mark | undefined {
    if (Math.abs(p.y - this.y()) > 10) return undefined;
    return this.marks.find((m) => Math.abs(m.x - p.x) <= size + 3);
  }

  /** Returns the visible marks, from left to right. */
  visibleMarks(): readonly Mark[] {
    return this.marks.filter((m) => m.x >= 0);
  }

  y(): number {
    return this.height - size - 5;
  }

  hitTest(x: number, y: number): PrimitiveHoveredItem | null {
    return this.at({ x, y }) ? { externalId: "event", zOrder: "top", cursorStyle: "help" } : null;
  }

  paneViews() {
    return this.views;
  }

  private readonly views = [
    {
      zOrder: () => "top" as const,
      renderer: () => ({
        draw: (target: { useMediaCoordinateSpace(f: (s: { context: CanvasRenderingContext2D }) => void): void }) =>
          target.useMediaCoordinateSpace(({ context }) => this.paint(context)),
      }),
    },
  ];

  private paint(c: CanvasRenderingContext2D): void {
    const inks = this.inks();
    const colors = [inks.quiet, inks.accent, inks.down];
    c.save();
    c.lineWidth = 1.5;
    for (const m of this.marks) {
      const most = Math.max(...m.events.map((e) => weight[e.impact] ?? 0));
      c.beginPath();
      c.moveTo(m.x, this.y() - size);
      c.lineTo(m.x + size, this.y());
      c.lineTo(m.x, this.y() + size);
      c.lineTo(m.x - size, this.y());
      c.closePath();
      c.fillStyle = most ? colors[most]! : inks.surface;
      c.strokeStyle = most ? inks.surface : inks.quiet;
      c.fill();
      c.stroke();
    }
    c.restore();
  }
}
