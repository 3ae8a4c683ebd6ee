package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/board"
	drawings "github.com/footnotehq/footnote/market/drawing"
	"github.com/footnotehq/footnote/market/sqlite"
	"github.com/footnotehq/footnote/market/tool/drawing"
	tools "github.com/footnotehq/footnote/market/tool/market"
	logs "github.com/footnotehq/footnote/store/sqlite"
)

// candles measures get_candles on a SQLite file of minutes: 500 hourly bars, the newest and at random positions in
// the middle, including the text for the model.
func candles(ctx context.Context, r *rig) (err error) {
	s, err := sqlite.Open(ctx, filepath.Join(r.dir, "market.db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	begin := time.Date(2000, 1, 3, 0, 0, 0, 0, time.UTC)
	if err := fillMinutes(ctx, s, begin, r.plan.candles); err != nil {
		return err
	}
	m := market.New(s, &market.Replay{Data: s})
	tool := tools.New(tools.Options{Market: m, Deadline: time.Minute})[0]
	random := rand.New(rand.NewPCG(1, 1))
	of := fmt.Sprintf("get_candles of %d million minutes, 500 bars of", r.plan.candles/1_000_000)
	for _, frame := range []market.Timeframe{market.H1, market.M5} {
		for _, middle := range []bool{false, true} {
			var took []float64
			for range 101 {
				in := map[string]any{"symbol": "EURUSD", "timeframe": frame, "limit": 500}
				if middle {
					minutes := r.plan.candles/4 + random.IntN(r.plan.candles/2)
					in["to"] = begin.Add(time.Duration(minutes) * time.Minute).Format(time.RFC3339)
				}
				ms, out, err := timeCall(ctx, tool, in)
				if err == nil && len(out.Rows.Rows) != 500 {
					err = fmt.Errorf("%d bars instead of 500", len(out.Rows.Rows))
				}
				if err != nil {
					return err
				}
				took = append(took, ms)
			}
			where := map[bool]string{false: "newest", true: "in the middle"}[middle]
			r.table.absolute(fmt.Sprintf("%s %s, %s, p50", of, frame, where), "ms", median(took), 20, 5)
			r.table.absolute(fmt.Sprintf("%s %s, %s, p95", of, frame, where), "ms", quantile(took, 0.95), 20, 10)
		}
	}
	return surroundings(ctx, r, m)
}

// surroundings measures the delay that a message at the chart has before the model is called: prices, 500 drawings,
// and a part that never responds.
func surroundings(ctx context.Context, r *rig, m market.Market) error {
	log, err := logs.Open(ctx, filepath.Join(r.dir, "boards", "footnote.db"), logs.Options{})
	if err != nil {
		return err
	}
	defer log.Close()
	boards := board.New(board.Options{Log: log})
	who := footnote.Principal{Org: "bench", User: "bench"}
	lines := make([]drawings.Drawing, 500)
	for i := range lines {
		lines[i] = drawings.Drawing{
			ID: fmt.Sprintf("d%d", i), Type: drawings.HorizontalLine, Symbol: "EURUSD", Timeframe: "1h",
			Price: new(1 + float64(i)/1000),
		}
	}
	if _, err := boards.Import(ctx, who, "EURUSD", lines, false, drawings.Cause{By: drawings.Human}); err != nil {
		return err
	}
	chart := drawing.Surroundings{Parts: append(drawing.NewPrices(silent{m}).Market(), drawing.Drawings(boards)...)}
	var took []float64
	for range 61 {
		begun := time.Now()
		words := chart.Describe(ctx, who, json.RawMessage(`{"symbol":"EURUSD","timeframe":"1h"}`))
		took = append(took, since(begun))
		if !strings.Contains(words, "bid ") || !strings.Contains(words, "d499") {
			return fmt.Errorf("the context lacks what there is: %.600s", words)
		}
	}
	r.table.absolute("context of a chart message, one part dead, p95", "ms", quantile(took, 0.95), 300, 260)
	return nil
}

// silent is a market whose headlines never arrive.
type silent struct{ market.Market }

func (silent) Headlines(ctx context.Context, _ market.HeadlineQuery) ([]market.Headline, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// fillMinutes loads minutes of one symbol, one million per load.
func fillMinutes(ctx context.Context, s market.Store, begin time.Time, n int) error {
	const most = 1_000_000
	list := make([]market.Candle, 0, most)
	price := 1.1
	random := rand.New(rand.NewPCG(2, 2))
	for i := 0; i < n; {
		list = list[:0]
		for ; i < n && len(list) < most; i++ {
			open := price
			price = math.Round((1.1+0.999*(price-1.1)+0.0001*random.NormFloat64())*1e5) / 1e5
			list = append(list, market.Candle{
				Time: begin.Add(time.Duration(i) * time.Minute), Open: open, High: max(open, price),
				Low: min(open, price), Close: price, Volume: float64(i % 100),
			})
		}
		l, err := s.Begin(ctx)
		if err != nil {
			return err
		}
		if err := errors.Join(
			l.Symbol(ctx, market.Symbol{Symbol: "EURUSD", Base: "EUR", Quote: "USD", Digits: 5, Synthetic: true}),
			l.Candles(ctx, "EURUSD", market.M1, list),
			l.Commit(ctx),
		); err != nil {
			return errors.Join(err, l.Rollback())
		}
	}
	return nil
}
