package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/demo"
	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/feed"
	"github.com/footnotehq/footnote/market/postgres"
	"github.com/footnotehq/footnote/market/sqlite"
)

// demoMarket is the file of the demo's market in the data folder. One of this name that
// is missing is invented.
const demoMarket = "demo-market.db"

// openMarket makes the market of the configuration. It is opened on its own, and again
// while it cannot be: neither a database that is away nor the time it takes to invent
// one keeps the server from starting.
func (a *app) openMarket() error {
	where := string(a.cfg.Market.Store)
	if where == "" {
		return nil
	}
	data := newLazyMarket(func(ctx context.Context) (market.Store, error) {
		if filepath.Base(where) == demoMarket {
			if err := inventMarket(ctx, where, a.log); err != nil {
				return nil, err
			}
		}
		return openMarketStore(ctx, where)
	})
	data.start()
	a.later(data.close)
	prices, err := a.openFeed(data)
	if err != nil {
		return err
	}
	a.market = market.New(data, prices)
	return nil
}

// openFeed makes the price feed of the configuration, which connects on its own.
func (a *app) openFeed(data market.Data) (market.Feed, error) {
	where := string(a.cfg.Market.Feed)
	if where == "" || where == config.Replay {
		return &market.Replay{Data: data}, nil
	}
	f, err := feed.Open(feed.Options{URL: where, Logger: a.log})
	if err != nil {
		return nil, err
	}
	a.later(f.Close)
	return f, nil
}

// openMarketStore opens the database of a market.
func openMarketStore(ctx context.Context, where string) (market.Store, error) {
	var store market.Store
	var err error
	if isPostgres(where) {
		store, err = postgres.Open(ctx, where)
	} else {
		store, err = sqlite.Open(ctx, where)
	}
	if err != nil {
		return nil, err // and not a Store that is a nil pointer
	}
	return store, nil
}

// checkMarket opens the market's database as the server would; a file that is missing is
// not made.
func checkMarket(ctx context.Context, c config.Config) []check {
	where := string(c.Market.Store)
	if where == "" {
		return nil
	}
	if !isPostgres(where) {
		if _, err := os.Stat(where); errors.Is(err, fs.ErrNotExist) {
			return []check{{"market", stateWarn, where + " is not there yet; load it with footnote market import"}}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	store, err := openMarketStore(ctx, where)
	if err != nil {
		return []check{{"market", stateFail, footnote.MessageOf(err)}}
	}
	symbols, err := store.Symbols(ctx)
	if err = errors.Join(err, store.Close()); err != nil {
		return []check{{"market", stateFail, footnote.MessageOf(err)}}
	}
	if len(symbols) == 0 {
		return []check{{"market", stateWarn, "no symbols; load candles with footnote market import"}}
	}
	words := counted(len(symbols), "symbol")
	for _, s := range symbols {
		if s.Synthetic {
			return []check{{"market", stateOK, words + ", of which some are synthetic"}}
		}
	}
	return []check{{"market", stateOK, words}}
}

// inventMarket writes the demo's market where it is missing. It is written beside its
// place, so that one that is not complete is never opened.
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
	log.Info("the demo's synthetic market data has been written", "file", path, "took", time.Since(begin).Round(time.Millisecond).String())
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
	if err := demo.LoadMarket(ctx, l, "local", "local"); err != nil {
		return errors.Join(err, l.Rollback())
	}
	return l.Commit(ctx)
}

// lazyMarket is a database of a market that is opened on its own. Calls wait for it as
// long as they may.
type lazyMarket struct {
	open   func(context.Context) (market.Store, error)
	ctx    context.Context // ended by close
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex // guards below
	store   market.Store
	err     error
	opening chan struct{} // closed when an attempt has ended; nil: none goes on
	next    time.Time     // before which there is no other attempt
}

// reopen is how long a market that could not be opened is left alone.
const reopen = 3 * time.Second

var _ market.Data = (*lazyMarket)(nil)

func newLazyMarket(open func(context.Context) (market.Store, error)) *lazyMarket {
	l := &lazyMarket{open: open}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// start begins to open it, unless it is open or an attempt goes on or has just failed.
// The result is closed when the attempt has ended.
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
		l.store, l.err, l.opening, l.next = store, err, nil, time.Now().Add(reopen)
		close(done)
	})
	return done
}

// get waits for the database.
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
	l.cancel() // no attempt begins from here on
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

// askMarket asks the database once it is open.
func askMarket[Q, T any](ctx context.Context, l *lazyMarket, q Q, f func(market.Store) func(context.Context, Q) ([]T, error)) ([]T, error) {
	s, err := l.get(ctx)
	if err != nil {
		return nil, err
	}
	return f(s)(ctx, q)
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
	return askMarket(ctx, l, q, func(s market.Store) func(context.Context, market.CandleQuery) ([]market.Candle, error) {
		return s.Candles
	})
}

// Events implements market.Data.
func (l *lazyMarket) Events(ctx context.Context, q market.EventQuery) ([]market.Event, error) {
	return askMarket(ctx, l, q, func(s market.Store) func(context.Context, market.EventQuery) ([]market.Event, error) { return s.Events })
}

// Headlines implements market.Data.
func (l *lazyMarket) Headlines(ctx context.Context, q market.HeadlineQuery) ([]market.Headline, error) {
	return askMarket(ctx, l, q, func(s market.Store) func(context.Context, market.HeadlineQuery) ([]market.Headline, error) {
		return s.Headlines
	})
}

// COT implements market.Data.
func (l *lazyMarket) COT(ctx context.Context, q market.COTQuery) ([]market.COTReport, error) {
	return askMarket(ctx, l, q, func(s market.Store) func(context.Context, market.COTQuery) ([]market.COTReport, error) { return s.COT })
}

// Trades implements market.Data.
func (l *lazyMarket) Trades(ctx context.Context, q market.TradeQuery) ([]market.Trade, error) {
	return askMarket(ctx, l, q, func(s market.Store) func(context.Context, market.TradeQuery) ([]market.Trade, error) { return s.Trades })
}
