// The chart: lightweight-charts with the bars of one symbol and timeframe. It contains only a window of a few thousand
// bars around the visible range, so that scrolling through a hundred thousand bars does not block the page.
import {
  AreaSeries,
  CandlestickSeries,
  createChart,
  CrosshairMode,
  HistogramSeries,
  LineSeries,
  PriceScaleMode,
  TickMarkType,
  type IChartApi,
  type ISeriesApi,
  type Logical,
  type MouseEventParams,
  type SeriesType,
  type UTCTimestamp,
} from "lightweight-charts";
import { color } from "../lib/theme";
import { Bars } from "./bars";
import { EventLayer } from "./eventLayer";
import { Layer } from "./layer";
import type { Inks } from "./paint";
import type { Point, Scale } from "./shape";
import type { Anchor, Bar, MarketEvent, Timeframe } from "./types";

export type Kind = "candles" | "line" | "area";

/** The mode of the price scale. */
export type Spread = "linear" | "log" | "percent";
const spreads = {
  linear: PriceScaleMode.Normal,
  log: PriceScaleMode.Logarithmic,
  percent: PriceScaleMode.Percentage,
} as const;

interface PlotEvents {
  /** Called with the bar under the crosshair, or undefined if there is none. */
  onPoint: (bar: Bar | undefined, point: Point | undefined) => void;
  /** Called when the oldest bars are nearly in view. */
  onOlder: () => void;
  /** Called when the visible range has changed. */
  onView?: () => void;
}

// In bars.
const margin = 1200; // on each side of the visible range
const nearEnd = 450; // distance from the end of the window at which it moves
const loadOlderBelow = 400;
const rightSpace = 12;
const barsKept = 2; // visible bars, beyond which the chart does not scroll

const minBarSpacing = 0.5; // pixels

export class Plot {
  readonly chart: IChartApi;
  readonly layer: Layer;
  readonly events: EventLayer;
  bars: Bars;
  private series: ISeriesApi<SeriesType>;
  private volume: ISeriesApi<"Histogram">;
  private from = 0;
  private to = 0;
  private held = false; // while a pointer is pressed
  private inks: Inks;
  private older = false; // whether there are older bars to load
  private frame = 0; // the animation frame after which the window moves
  private timer = 0;
  removed = false;

  constructor(
    readonly el: HTMLElement,
    private kind: Kind,
    timeframe: Timeframe,
    readonly digits: number,
    private readonly on: PlotEvents,
  ) {
    this.bars = new Bars(timeframe);
    this.inks = inks();
    this.chart = createChart(el, {
      autoSize: true,
      layout: { attributionLogo: false, fontFamily: this.inks.font, fontSize: 12, panes: { enableResize: true } },
      crosshair: { mode: CrosshairMode.Normal },
      timeScale: {
        rightOffset: rightSpace,
        timeVisible: !daily(timeframe),
        secondsVisible: false,
        borderVisible: false,
        tickMarkFormatter: tickLabel,
        minBarSpacing,
      },
      rightPriceScale: { borderVisible: false, scaleMargins: { top: 0.12, bottom: 0.08 }, minimumWidth: 62 },
      localization: { timeFormatter: (t: number) => whenWords(t, timeframe), locale: "en-GB" },
      handleScale: { axisPressedMouseMove: true, mouseWheel: true, pinch: true },
      kineticScroll: { touch: true, mouse: false },
    });
    this.series = this.addSeries();
    this.volume = this.chart.addSeries(
      HistogramSeries,
      { priceFormat: { type: "volume" }, priceLineVisible: false, lastValueVisible: false },
      1,
    );
    this.chart.panes()[1]?.setStretchFactor(0.18);
    this.chart.panes()[0]?.setStretchFactor(0.82);
    this.layer = new Layer(
      () => this.scale(),
      () => this.inks,
      digits,
      timeframe,
      (t) => whenWords(t, timeframe),
    );
    this.events = new EventLayer(
      () => this.scale(),
      () => this.inks,
    );
    this.series.attachPrimitive(this.layer);
    this.series.attachPrimitive(this.events);
    this.theme();
    this.chart.subscribeCrosshairMove(this.pointed);
    this.chart.timeScale().subscribeVisibleLogicalRangeChange(this.onRangeChange);
    for (const e of ["pointerdown", "pointerup", "pointercancel"]) el.addEventListener(e, this.hold, true);
  }

  remove(): void {
    this.removed = true;
    this.cancelMove();
    for (const e of ["pointerdown", "pointerup", "pointercancel"]) this.el.removeEventListener(e, this.hold, true);
    this.series.detachPrimitive(this.layer);
    this.series.detachPrimitive(this.events);
    this.chart.remove();
  }

  private addSeries(): ISeriesApi<SeriesType> {
    const format = { priceFormat: { type: "price" as const, precision: this.digits, minMove: 10 ** -this.digits } };
    if (this.kind === "candles") return this.chart.addSeries(CandlestickSeries, format, 0);
    if (this.kind === "line") return this.chart.addSeries(LineSeries, { ...format, lineWidth: 2 }, 0);
    return this.chart.addSeries(AreaSeries, { ...format, lineWidth: 2 }, 0);
  }

  /** Applies the colours of the current theme. */
  theme(): void {
    this.inks = inks();
    const i = this.inks;
    const grid = { color: color("--color-grid") };
    this.chart.applyOptions({
      layout: {
        background: { color: i.surface },
        textColor: i.quiet,
        panes: { separatorColor: i.line, separatorHoverColor: color("--color-hover") },
      },
      grid: { vertLines: grid, horzLines: grid },
      crosshair: {
        vertLine: { color: i.quiet, labelBackgroundColor: color("--color-label") },
        horzLine: { color: i.quiet, labelBackgroundColor: color("--color-label") },
      },
    });
    this.colorSeries();
    this.fill();
  }

  private colorSeries(): void {
    const i = this.inks;
    const priceLineColor = color("--color-last");
    if (this.kind === "candles")
      this.series.applyOptions({
        upColor: i.up,
        downColor: i.down,
        borderVisible: false,
        wickUpColor: i.up,
        wickDownColor: i.down,
        priceLineColor,
      });
    else if (this.kind === "line") this.series.applyOptions({ color: i.accent, priceLineColor });
    else
      this.series.applyOptions({
        lineColor: i.accent,
        topColor: color("--color-wash"),
        bottomColor: color("--color-wash-end"),
        priceLineColor,
      });
  }

  setKind(kind: Kind): void {
    if (kind === this.kind) return;
    this.kind = kind;
    this.series.detachPrimitive(this.layer);
    this.series.detachPrimitive(this.events);
    this.chart.removeSeries(this.series);
    this.series = this.addSeries();
    this.series.attachPrimitive(this.layer);
    this.series.attachPrimitive(this.events);
    this.colorSeries();
    this.fill();
  }

  /** Shows bars, starting with the newest. */
  show(bars: Bars, older: boolean): void {
    this.bars = bars;
    this.older = older;
    this.to = bars.length;
    this.from = Math.max(0, this.to - 2 * margin);
    this.fill();
    this.chart.timeScale().applyOptions({ barSpacing: this.el.clientWidth < 600 ? 5 : 7 });
    this.chart.timeScale().scrollToPosition(rightSpace, false);
    this.chart.priceScale("right").setAutoScale(true);
  }

  /** Shows bars to which older ones were added. */
  prepended(bars: Bars, older: boolean): void {
    const more = bars.length - this.bars.length;
    this.bars = bars;
    this.older = older;
    this.from += more;
    this.to += more;
    this.onRangeChange();
  }

  /** Updates the last bar, or adds one. */
  last(bars: Bars): void {
    const before = this.bars.length;
    const live = this.to === before;
    this.bars = bars;
    const bar = bars.at(bars.length - 1);
    if (!bar || !live) return;
    this.to = bars.length;
    this.series.update(this.item(bars.length - 1));
    this.volume.update(this.volumeItem(bars.length - 1));
  }

  private item(i: number) {
    const c = this.bars.columns;
    const time = c.time[i] as UTCTimestamp;
    return this.kind === "candles"
      ? { time, open: c.open[i]!, high: c.high[i]!, low: c.low[i]!, close: c.close[i]! }
      : { time, value: c.close[i]! };
  }

  private volumeItem(i: number) {
    const c = this.bars.columns;
    return {
      time: c.time[i] as UTCTimestamp,
      value: c.volume[i]!,
      color: c.close[i]! >= c.open[i]! ? this.inks.upSoft : this.inks.downSoft,
    };
  }

  /** Passes the window of bars to the chart. */
  private fill(): void {
    const items = [];
    const volumes = [];
    for (let i = this.from; i < this.to; i++) {
      items.push(this.item(i));
      volumes.push(this.volumeItem(i));
    }
    this.series.setData(items);
    this.volume.setData(volumes);
    const live = this.to === this.bars.length; // otherwise the last bar is not the last price
    if (this.series.options().priceLineVisible !== live)
      this.series.applyOptions({ lastValueVisible: live, priceLineVisible: live });
  }

  showVolume(on: boolean): void {
    this.volume.applyOptions({ visible: on });
    this.chart.panes()[1]?.setStretchFactor(on ? 0.18 : 0.0001);
  }

  private hold = (e: Event): void => {
    this.held = e.type === "pointerdown";
    if (!this.held) this.onRangeChange();
  };

  /** Moves the window with the visible range. It does not move while a pointer is pressed, because its margins are
   *  wider than a drag. */
  private onRangeChange = (): void => {
    this.on.onView?.();
    if (this.held || this.frame) return;
    // Wait for a task after the frame, to avoid one long task.
    this.frame = requestAnimationFrame(() => {
      this.timer = window.setTimeout(() => {
        this.frame = 0;
        if (!this.removed && !this.held) this.moveIfNeeded();
      });
    });
  };

  private cancelMove(): void {
    cancelAnimationFrame(this.frame);
    clearTimeout(this.timer);
    this.frame = 0;
  }

  private moveIfNeeded(): void {
    const range = this.chart.timeScale().getVisibleLogicalRange();
    if (!range || !this.bars.length) return;
    const n = this.bars.length;
    const [left, right] = [range.from + this.from, range.to + this.from];
    if (left < loadOlderBelow && this.older) this.on.onOlder();
    const wantsLeft = this.from > 0 && left - this.from < nearEnd;
    const wantsRight = this.to < n && this.to - right < nearEnd;
    if (wantsLeft || wantsRight) this.moveWindow(left, right);
  }

  /** Moves the window around a range and shows the range. Positions count all bars. */
  private moveWindow(left: number, right: number): void {
    const n = this.bars.length;
    // The chart applies the range with the next frame. Until then, range() would return the old range in the new
    // window.
    this.cancelMove();
    this.from = Math.max(0, Math.min(n, Math.floor(left - margin)));
    this.to = Math.max(this.from, Math.min(n, Math.ceil(right + margin)));
    this.fill();
    this.chart.timeScale().setVisibleLogicalRange({ from: left - this.from, to: right - this.from });
  }

  /** Returns the visible range. Positions count all bars. */
  range(): { left: number; right: number } | undefined {
    const r = this.chart.timeScale().getVisibleLogicalRange();
    return r ? { left: r.from + this.from, right: r.to + this.from } : undefined;
  }

  /** Waits until the chart has a size. A range that is set before that is lost. */
  sized(): Promise<void> {
    return new Promise((resolve) => {
      const check = () =>
        this.removed || this.chart.timeScale().width() > 0 ? resolve() : requestAnimationFrame(check);
      requestAnimationFrame(check); // after the chart's own updates for the next frame
    });
  }

  view(left: number, right: number): void {
    this.moveWindow(left, right);
    this.onRangeChange();
  }

  /** Scrolls a time to the middle. Keeps the zoom, unless the time is so far after the last bar that both are in view
   *  only with a wider one. */
  center(time: number): void {
    const r = this.range();
    const half = r ? (r.right - r.left) / 2 : 60;
    const at = Math.max(this.bars.index(time), 0);
    this.view(Math.min(at - half, this.bars.length - barsKept), at + half);
    this.autoScale(true);
  }

  /** Reports whether center can bring a time into view. */
  reaches(time: number): boolean {
    return this.bars.index(time) - this.bars.length + barsKept < this.chart.timeScale().width() / minBarSpacing;
  }

  /** Shows all bars from a time to the newest. */
  since(time: number): void {
    const last = this.bars.length - 1;
    const first = Math.max(0, Math.min(this.bars.index(time), last - 5));
    this.view(first - 0.5, last + Math.max(2, (last - first) * 0.04));
    this.autoScale(true);
  }

  /** Returns the time in the middle of the visible range, or undefined if the newest bar is visible. */
  middle(): number | undefined {
    const r = this.range();
    return r && r.right < this.bars.length - 1 ? this.bars.time((r.left + r.right) / 2) : undefined;
  }

  newest(): void {
    const r = this.range();
    const wide = r ? r.right - r.left : 120;
    this.view(this.bars.length + rightSpace - wide, this.bars.length + rightSpace);
    this.autoScale(true);
  }

  /** Scrolls by a number of bars. */
  pan(bars: number): void {
    const r = this.range();
    if (r) this.view(r.left + bars, r.right + bars);
  }

  /** Zooms around the middle. */
  zoom(factor: number): void {
    const r = this.range();
    if (!r) return;
    const [middle, half] = [(r.left + r.right) / 2, Math.min(Math.max(5, ((r.right - r.left) / 2) * factor), 1500)];
    this.view(middle - half, middle + half);
  }

  private pointed = (p: MouseEventParams): void => {
    const at = p.time === undefined ? undefined : this.bars.index(p.time as number);
    this.on.onPoint(at === undefined ? undefined : this.bars.at(Math.round(at)), p.point);
  };

  /** Returns the mapping from times and prices to pixels. Undefined before there are bars. */
  scale(): Scale | undefined {
    const ts = this.chart.timeScale();
    const zero = ts.logicalToCoordinate(0 as Logical);
    const one = ts.logicalToCoordinate(1 as Logical);
    if (zero === null || one === null || this.to === this.from) return undefined;
    const { width, height } = this.chart.paneSize(0);
    return {
      width,
      height,
      x: (time) => zero + (this.bars.index(time) - this.from) * (one - zero),
      y: this.priceToY(height),
    };
  }

  /** Returns the mapping from prices to vertical positions. On a linear scale, it is computed from two prices. */
  private priceToY(height: number): (price: number) => number {
    const { series } = this;
    const exact = (price: number) => series.priceToCoordinate(price) ?? NaN;
    const [top, middle, bottom] = [0, height / 2, height].map((y) => series.coordinateToPrice(y) ?? NaN) as [
      number,
      number,
      number,
    ];
    const slope = height / (bottom - top);
    const linear = Math.abs((middle - top) * slope - height / 2) < 0.01;
    return linear ? (price) => (price - top) * slope : exact;
  }

  /** Returns the time of the nearest bar and the price at a point of the upper pane. */
  anchor(p: Point): Anchor | undefined {
    const ts = this.chart.timeScale();
    const zero = ts.logicalToCoordinate(0 as Logical);
    const one = ts.logicalToCoordinate(1 as Logical);
    const price = this.series.coordinateToPrice(p.y);
    if (zero === null || one === null || price === null) return undefined;
    return { time: this.bars.time(Math.round((p.x - zero) / (one - zero)) + this.from), price };
  }

  /** Moves the crosshair without a pointer. undefined removes it. */
  crosshair(a: Anchor | undefined): void {
    if (!a) return this.chart.clearCrosshairPosition();
    this.chart.setCrosshairPosition(a.price, a.time as UTCTimestamp, this.series);
  }

  setEvents(events: readonly MarketEvent[]): void {
    this.events.show(events);
  }

  /** Sets whether the user can scroll and zoom the chart. */
  setMovable(on: boolean): void {
    this.chart.applyOptions({
      handleScroll: on,
      handleScale: on ? { axisPressedMouseMove: true, mouseWheel: true, pinch: true } : false,
    });
  }

  autoScale(on: boolean): void {
    this.chart.priceScale("right").setAutoScale(on);
    this.on.onView?.();
  }

  /** Whether the price scale fits the visible bars. */
  get auto(): boolean {
    return this.chart.priceScale("right").options().autoScale;
  }

  setSpread(spread: Spread): void {
    this.chart.priceScale("right").applyOptions({ mode: spreads[spread] });
  }

  /** Returns the price difference of a vertical distance in pixels, at a price. */
  priceDistance(price: number, pixels: number): number {
    const y = this.series.priceToCoordinate(price);
    const other = y === null ? null : this.series.coordinateToPrice(y + pixels);
    return other === null ? 0 : Math.abs(other - price);
  }
}

const daily = (t: Timeframe) => t === "1D" || t === "1W" || t === "1M";

const utc = (o: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", ...o });
const clockFormat = utc({ hour: "2-digit", minute: "2-digit" });
const dayFormat = utc({ day: "numeric" });
const monthFormat = utc({ month: "short" });
const dateFormat = utc({ weekday: "short", day: "numeric", month: "short", year: "numeric" });

/** Formats a label of the time axis. */
function tickLabel(t: number, kind: TickMarkType): string {
  const d = new Date(t * 1000);
  if (kind === TickMarkType.Year) return String(d.getUTCFullYear());
  if (kind === TickMarkType.Month) return monthFormat.format(d);
  if (kind === TickMarkType.DayOfMonth) return dayFormat.format(d);
  return clockFormat.format(d);
}

/** Formats the start of a bar, in UTC. */
export function whenWords(t: number, timeframe: Timeframe): string {
  const d = new Date(t * 1000);
  return daily(timeframe) ? dateFormat.format(d) : `${dateFormat.format(d)} ${clockFormat.format(d)}`;
}

function inks(): Inks {
  return {
    ink: color("--color-ink"),
    quiet: color("--color-ink-quiet"),
    line: color("--color-line"),
    surface: color("--color-surface"),
    accent: color("--color-accent"),
    up: color("--color-up"),
    down: color("--color-down"),
    upSoft: color("--color-up-soft"),
    downSoft: color("--color-down-soft"),
    tones: [8, 5, 4, 3, 2, 1, 7].map((n) => color(`--draw-${n}` as `--${string}`)),
    font: getComputedStyle(document.body).fontFamily,
  };
}
