// Loads the bars of a symbol and timeframe: the newest first, older ones when needed. Also follows the last price, and
// loads the calendar.
import { ApiError, errorMessage } from "../api/client";
import { followPrice, market } from "./api";
import { Bars } from "./bars";
import { Observable } from "../lib/observable";
import { seconds, type MarketEvent, type Price, type Timeframe } from "./types";

interface FeedState {
  loading: boolean;
  error?: string; // why there are no bars
  behind?: string; // why there are no older bars
  synthetic: boolean;
  /** Whether older bars are being loaded. */
  older: boolean;
}

interface FeedEvents {
  onFirst: (bars: Bars, older: boolean) => void;
  onOlder: (bars: Bars, older: boolean) => void;
  onLast: (bars: Bars) => void;
  onEvents: (events: readonly MarketEvent[]) => void;
}

export type Live = { price: Price } | { down: string } | undefined;

const firstBars = 2000;
const pageBars = 5000;
const retryDelay = 3000; // ms

export class Feed {
  readonly state = new Observable<FeedState>({ loading: true, synthetic: false, older: false });
  readonly live = new Observable<Live>(undefined);
  readonly bars: Observable<Bars>;
  private readonly stop = new AbortController();
  private more = true;
  private again: ReturnType<typeof setTimeout> | undefined;
  private pending: Promise<void> | undefined;
  private calendar = new Map<string, MarketEvent>();
  private calendarFrom = Infinity;

  constructor(
    readonly symbol: string,
    readonly timeframe: Timeframe,
    private readonly on: FeedEvents,
  ) {
    this.bars = new Observable(new Bars(timeframe));
  }

  /** Starts loading. The returned function stops it. */
  start(): () => void {
    void this.load();
    return () => {
      clearTimeout(this.again);
      this.stop.abort();
    };
  }

  load = async (): Promise<void> => {
    const { signal } = this.stop;
    clearTimeout(this.again);
    this.set({ loading: true });
    try {
      const got = await market.candles(this.symbol, this.timeframe, { limit: firstBars }, signal);
      this.more = got.time.length === firstBars;
      this.bars.set(new Bars(this.timeframe, got));
      this.set({ loading: false, error: undefined, synthetic: got.synthetic ?? false });
      this.on.onFirst(this.bars.get(), this.more);
      void followPrice(this.symbol, (p) => this.tick(p), signal);
      void this.events();
    } catch (err) {
      if (signal.aborted) return;
      this.set({ loading: false, error: errorMessage(err) });
      if (isTemporary(err)) this.again = setTimeout(() => void this.load(), retryDelay);
    }
  };

  private set(change: Partial<FeedState>): void {
    this.state.set({ ...this.state.get(), ...change });
  }

  /** Loads bars before the first one. Concurrent calls share one request. */
  older = (): Promise<void> => (this.pending ??= this.loadOlder().finally(() => (this.pending = undefined)));

  private async loadOlder(): Promise<void> {
    const { signal } = this.stop;
    const before = this.bars.get().columns.time[0];
    if (!this.more || before === undefined) return;
    this.set({ older: true });
    try {
      const got = await market.candles(this.symbol, this.timeframe, { before, limit: pageBars }, signal);
      this.more = got.time.length === pageBars;
      this.bars.set(this.bars.get().before(got));
      this.set({ older: false, behind: undefined });
      this.on.onOlder(this.bars.get(), this.more);
      void this.events();
    } catch (err) {
      if (signal.aborted) return;
      this.set({ older: false, behind: errorMessage(err) });
      await new Promise((resolve) => setTimeout(resolve, 2000)); // scrolling further tries again
    }
  }

  /** Loads older bars until they reach a time. */
  reach = async (time: number): Promise<void> => {
    while (this.more && !this.stop.signal.aborted && (this.bars.get().columns.time[0] ?? -Infinity) > time) {
      const had = this.bars.get().length;
      await this.older();
      if (this.bars.get().length === had) return;
    }
  };

  private tick(p: Price | { down: true; reason: string }): void {
    if ("down" in p) {
      this.live.set({ down: p.reason });
      return;
    }
    this.live.set({ price: p });
    const bars = this.bars.get();
    const bar = bars.tick(p.bid, seconds(p.time));
    if (!bar) return;
    const one = {
      time: [bar.time],
      open: [bar.open],
      high: [bar.high],
      low: [bar.low],
      close: [bar.close],
      volume: [bar.volume],
    };
    this.bars.set(bars.after(one));
    this.on.onLast(this.bars.get());
  }

  /** Loads the calendar for the time of the bars and the week after. */
  private async events(): Promise<void> {
    const t = this.bars.get().columns.time;
    const from = t[0];
    if (from === undefined || from >= this.calendarFrom) return;
    const to = this.calendarFrom === Infinity ? t[t.length - 1]! + week : this.calendarFrom;
    this.calendarFrom = from;
    try {
      const { events } = await market.events(this.symbol, Math.max(from, to - 2 * year), to, this.stop.signal);
      for (const e of events) this.calendar.set(e.id, e);
      this.on.onEvents([...this.calendar.values()]);
    } catch {
      // The calendar is optional; the next older bars try again.
      if (!this.stop.signal.aborted) this.calendarFrom = to;
    }
  }
}

/** Reports whether a failed request may succeed later. */
const isTemporary = (err: unknown) =>
  err instanceof ApiError && (err.status === 0 || err.status === 429 || err.status >= 500);

const week = 7 * 86_400;
const year = 365 * 86_400;
