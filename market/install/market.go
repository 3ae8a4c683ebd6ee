package install

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/doctor"
	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/demo"
	"github.com/footnotehq/footnote/market/feed"
	"github.com/footnotehq/footnote/market/open"
	"github.com/footnotehq/footnote/market/sqlite"
)

// openMarket opens the configured market in the background, and retries while that fails: neither an unavailable
// database nor the time to generate one delays the start of the server. Without one, it returns nil.
func openMarket(c config.Config, log *slog.Logger) (m market.Market, close func() error, err error) {
	where := string(c.Market.Store)
	if where == "" {
		return nil, func() error { return nil }, nil
	}
	data := newLazyMarket(func(ctx context.Context) (market.Store, error) {
		if filepath.Base(where) == config.DemoMarket {
			if err := inventMarket(ctx, where, log); err != nil {
				return nil, err
			}
		}
		return open.Store(ctx, where)
	})
	data.start()
	prices := market.Feed(&market.Replay{Data: data})
	close = data.close
	if where := string(c.Market.Feed); where != "" && where != config.Replay {
		f, err := feed.Open(feed.Options{URL: where, Logger: log})
		if err != nil {
			return nil, nil, errors.Join(err, data.close())
		}
		prices, close = f, func() error { return errors.Join(f.Close(), data.close()) }
	}
	return market.New(data, prices), close, nil
}

// check opens the market's database as the server would, but does not create a missing file.
func check(ctx context.Context, c config.Config, r *doctor.Report) {
	where := string(c.Market.Store)
	if where == "" || r.Skips(ctx, "market", where, "") {
		return
	}
	if open.Missing(where) {
		r.Warn("market", where+" does not exist yet; load data with footnote market import")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	var symbols []market.Symbol
	store, err := open.Store(ctx, where)
	if err == nil {
		symbols, err = store.Symbols(ctx)
		err = errors.Join(err, store.Close())
	}
	words := doctor.Counted(len(symbols), "symbol")
	switch {
	case err != nil:
		r.Fail("market", footnote.MessageOf(err))
	case len(symbols) == 0:
		r.Warn("market", "no symbols; load candles with footnote market import")
	case slices.ContainsFunc(symbols, func(s market.Symbol) bool { return s.Synthetic }):
		r.OK("market", words+", of which some are synthetic")
	default:
		r.OK("market", words)
	}
}

// candleCheck finds out whether a market has candles. They are only ever added, so it asks until there are some.
type candleCheck struct {
	market market.Data
	found  atomic.Bool
}

func newCandleCheck(m market.Data) *candleCheck { return &candleCheck{market: m} }

// maxCandleCheck limits the time of a check, because the page waits for it.
const maxCandleCheck = 250 * time.Millisecond

// any reports whether there are candles, or whether that is unknown: then the page of charts says why.
func (c *candleCheck) any(ctx context.Context) bool {
	if c.found.Load() {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, maxCandleCheck)
	defer cancel()
	symbols, err := c.market.Symbols(ctx)
	if err != nil {
		return true
	}
	if slices.ContainsFunc(symbols, func(s market.Symbol) bool { return len(s.Timeframes) > 0 }) {
		c.found.Store(true)
	}
	return c.found.Load()
}

// inventMarket generates the demo's market if it is missing. It writes a temporary file first, so that nobody opens
// an incomplete one.
func inventMarket(ctx context.Context, path string, log *slog.Logger) (err error) {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	begin := time.Now()
	folder, err := os.MkdirTemp(filepath.Dir(path), ".market-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	part := filepath.Join(folder, "market.db")
	if err := writeMarket(ctx, part); err != nil {
		return err
	}
	if err := os.Rename(part, path); err != nil {
		return err
	}
	log.Info("the demo's synthetic market data has been written", "file", path, "took",
		time.Since(begin).Round(time.Millisecond).String())
	return nil
}

func writeMarket(ctx context.Context, path string) (err error) {
	s, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	l, err := s.Begin(ctx)
	if err != nil {
		return err
	}
	if err := demo.Load(ctx, l, "local", "local"); err != nil {
		return errors.Join(err, l.Rollback())
	}
	return l.Commit(ctx)
}

// lazyMarket is a market database that opens in the background. Calls wait for it up to their deadline.
type lazyMarket struct {
	open   func(context.Context) (market.Store, error)
	ctx    context.Context // cancelled by close
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex // guards below
	store   market.Store
	err     error
	opening chan struct{} // closed when the current attempt ends; nil: no attempt is active
	next    time.Time     // time of the next attempt at the earliest
}

// reopenPause is the pause after a failed attempt to open a market.
const reopenPause = 3 * time.Second

var _ market.Data = (*lazyMarket)(nil)

func newLazyMarket(open func(context.Context) (market.Store, error)) *lazyMarket {
	l := &lazyMarket{open: open}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// start begins an attempt to open the database, unless it is open, an attempt is active, or one has just failed. It
// returns a channel that is closed when the attempt ends.
func (l *lazyMarket) start() chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opening != nil || l.store != nil || l.ctx.Err() != nil || time.Now().Before(l.next) {
		return l.opening
	}
	done := make(chan struct{})
	l.opening = done
	l.wg.Go(func() {
		store, err := l.open(l.ctx)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.store, l.err, l.opening, l.next = store, err, nil, time.Now().Add(reopenPause)
		close(done)
	})
	return done
}

// get waits until the database is open.
func (l *lazyMarket) get(ctx context.Context) (market.Store, error) {
	if done := l.start(); done != nil {
		select {
		case <-done:
		case <-ctx.Done():
			return nil, market.Failed(ctx, market.Database, "wait for it", context.Cause(ctx))
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.store == nil {
		if l.err == nil {
			return nil, market.Down(market.Database, "it is closed.", nil)
		}
		return nil, market.Failed(ctx, market.Database, "open it", l.err)
	}
	return l.store, nil
}

func (l *lazyMarket) close() error {
	l.mu.Lock()
	l.cancel() // no attempt begins after this
	l.mu.Unlock()
	l.wg.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.store == nil {
		return nil
	}
	s := l.store
	l.store, l.err = nil, nil
	return s.Close()
}

// askMarket queries the database once it is open.
func askMarket[Q, T any](ctx context.Context, l *lazyMarket, q Q,
	query func(market.Store, context.Context, Q) ([]T, error)) ([]T, error) {
	s, err := l.get(ctx)
	if err != nil {
		return nil, err
	}
	return query(s, ctx, q)
}

// Symbols implements market.Data.
func (l *lazyMarket) Symbols(ctx context.Context) ([]market.Symbol, error) {
	s, err := l.get(ctx)
	if err != nil {
		return nil, err
	}
	return s.Symbols(ctx)
}

// Candles implements market.Data.
func (l *lazyMarket) Candles(ctx context.Context, q market.CandleQuery) ([]market.Candle, error) {
	return askMarket(ctx, l, q, market.Store.Candles)
}

// Events implements market.Data.
func (l *lazyMarket) Events(ctx context.Context, q market.EventQuery) ([]market.Event, error) {
	return askMarket(ctx, l, q, market.Store.Events)
}

// Headlines implements market.Data.
func (l *lazyMarket) Headlines(ctx context.Context, q market.HeadlineQuery) ([]market.Headline, error) {
	return askMarket(ctx, l, q, market.Store.Headlines)
}

// COT implements market.Data.
func (l *lazyMarket) COT(ctx context.Context, q market.COTQuery) ([]market.COTReport, error) {
	return askMarket(ctx, l, q, market.Store.COT)
}

// Trades implements market.Data.
func (l *lazyMarket) Trades(ctx context.Context, q market.TradeQuery) ([]market.Trade, error) {
	return askMarket(ctx, l, q, market.Store.Trades)
}
