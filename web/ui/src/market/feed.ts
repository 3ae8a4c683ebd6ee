// The bars of a symbol and timeframe as they come: the newest at once, older ones when
// they are wanted, the last price as it moves, and the calendar around them.
import { ApiError, sentence } from "../api/client";
import { followPrice, market } from "./api";
import { Bars } from "./bars";
import { Cell } from "./cell";
import { seconds, type MarketEvent, type Price, type Timeframe } from "./types";

interface FeedState {
  loading: boolean;
  error?: string; // there are no bars
  behind?: string; // there are no older ones
  synthetic: boolean;
  /** Older bars are being loaded. */
  older: boolean;
}

interface FeedEvents {
  onFirst: (bars: Bars, older: boolean) => void;
  onOlder: (bars: Bars, older: boolean) => void;
  onLast: (bars: Bars) => void;
  onEvents: (events: readonly MarketEvent[]) => void;
}

export type Live = { price: Price } | { down: string } | undefined;

const first = 2000;
const retry = 3000; // ms
const page = 5000;

export class Feed {
  readonly state = new Cell<FeedState>({ loading: true, synthetic: false, older: false });
  readonly live = new Cell<Live>(undefined);
  readonly bars: Cell<Bars>;
  private readonly stop = new AbortController();
  private more = true;
  private again: ReturnType<typeof setTimeout> | undefined;
  private asking: Promise<void> | undefined;
  private calendar = new Map<string, MarketEvent>();
  private calendarFrom = Infinity;

  constructor(
    readonly symbol: string,
    readonly timeframe: Timeframe,
    private readonly told: FeedEvents,
  ) {
    this.bars = new Cell(new Bars(timeframe));
  }

  /** Begins; the returned function ends it. */
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
      const got = await market.candles(this.symbol, this.timeframe, { limit: first }, signal);
      this.more = got.time.length === first;
      this.bars.set(new Bars(this.timeframe, got));
      this.set({ loading: false, error: undefined, synthetic: got.synthetic ?? false });
      this.told.onFirst(this.bars.get(), this.more);
      void followPrice(this.symbol, (p) => this.tick(p), signal);
      void this.events();
    } catch (err) {
      if (signal.aborted) return;
      this.set({ loading: false, error: sentence(err) });
      if (comesBack(err)) this.again = setTimeout(() => void this.load(), retry);
    }
  };

  private set(change: Partial<FeedState>): void {
    this.state.set({ ...this.state.get(), ...change });
  }

  /** Loads bars before the first one. Whoever asks meanwhile gets the same ones. */
  older = (): Promise<void> => (this.asking ??= this.loadOlder().finally(() => (this.asking = undefined)));

  private async loadOlder(): Promise<void> {
    const { signal } = this.stop;
    const before = this.bars.get().columns.time[0];
    if (!this.more || before === undefined) return;
    this.set({ older: true });
    try {
      const got = await market.candles(this.symbol, this.timeframe, { before, limit: page }, signal);
      this.more = got.time.length === page;
      this.bars.set(this.bars.get().before(got));
      this.set({ older: false, behind: undefined });
      this.told.onOlder(this.bars.get(), this.more);
      void this.events();
    } catch (err) {
      if (signal.aborted) return;
      this.set({ older: false, behind: sentence(err) });
      await new Promise((resolve) => setTimeout(resolve, 2000)); // whoever scrolls on asks again
    }
  }

  /** Loads older bars until a time is among them. */
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
    this.told.onLast(this.bars.get());
  }

  /** The calendar of the time that is loaded, and of the next week. */
  private async events(): Promise<void> {
    const t = this.bars.get().columns.time;
    const from = t[0];
    if (from === undefined || from >= this.calendarFrom) return;
    const to = this.calendarFrom === Infinity ? t[t.length - 1]! + week : this.calendarFrom;
    this.calendarFrom = from;
    try {
      const { events } = await market.events(this.symbol, Math.max(from, to - 2 * year), to, this.stop.signal);
      for (const e of events) this.calendar.set(e.id, e);
      this.told.onEvents([...this.calendar.values()]);
    } catch {
      // The chart is whole without its calendar; the next bars ask again.
      if (!this.stop.signal.aborted) this.calendarFrom = to;
    }
  }
}

/** Whether what failed may work a little later. */
const comesBack = (err: unknown) =>
  err instanceof ApiError && (err.status === 0 || err.status === 429 || err.status >= 500);

const week = 7 * 86_400;
const year = 365 * 86_400;
