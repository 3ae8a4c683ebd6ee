package endpoint

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/protocol"
)

// marketTime is how long one market data query may take.
const marketTime = 10 * time.Second

var errNoMarket = footnote.Errorf(footnote.NotFound, "This server has no market data.")

// withMarket wraps a handler that queries market data.
func (p *handler) withMarket(h protocol.Handler) protocol.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if p.market == nil {
			return errNoMarket
		}
		ctx, cancel := context.WithTimeout(r.Context(), marketTime)
		defer cancel()
		return h(w, r.WithContext(ctx))
	}
}

// symbols handles GET /api/market/symbols.
func (p *handler) symbols(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	list, err := p.market.Symbols(ctx)
	if err != nil {
		return err
	}
	now, err := p.market.Now(ctx)
	if err != nil {
		return err
	}
	type symbol struct {
		Symbol     string             `json:"symbol"`
		Name       string             `json:"name"`
		Base       string             `json:"base"`
		Quote      string             `json:"quote"`
		Digits     int                `json:"digits"`
		From       *time.Time         `json:"from"` // first candle; null without candles
		To         *time.Time         `json:"to"`
		Timeframes []market.Timeframe `json:"timeframes"`
		Synthetic  bool               `json:"synthetic"`
	}
	out := make([]symbol, len(list))
	for i, m := range list {
		out[i] = symbol{m.Symbol, m.Name, m.Base, m.Quote, m.Digits, nil, nil, m.Timeframes, m.Synthetic}
		if len(m.Timeframes) == 0 {
			out[i].Timeframes = []market.Timeframe{}
			continue
		}
		out[i].From, out[i].To = &list[i].From, &list[i].To
	}
	return protocol.WriteValue(w, http.StatusOK, map[string]any{"symbols": out, "now": now.UTC().Truncate(time.Second)})
}

// NoChart reports whether a market has no candles of a symbol in a timeframe; empty: in any. While the market cannot be
// read, that is not known.
func NoChart(ctx context.Context, m market.Data, symbol, timeframe string) bool {
	ctx, cancel := context.WithTimeout(ctx, marketTime)
	defer cancel()
	list, err := m.Symbols(ctx)
	if err != nil || len(list) == 0 {
		return false
	}
	i := slices.IndexFunc(list, func(s market.Symbol) bool { return s.Symbol == symbol })
	return i < 0 || timeframe != "" && !slices.Contains(list[i].Timeframes, market.Timeframe(timeframe))
}

// earliestTime and latestTime limit the times in a query, in Unix seconds.
const (
	earliestTime = -5_000_000_000
	latestTime   = 10_000_000_000
)

// between reads from and to, in Unix seconds.
func between(q url.Values) (from, to time.Time, err error) {
	for name, at := range map[string]*time.Time{"from": &from, "to": &to} {
		if q.Get(name) == "" {
			continue
		}
		n, err := protocol.Number(q, name, 0, earliestTime, latestTime)
		if err != nil {
			return from, to, err
		}
		*at = time.Unix(n, 0).UTC()
	}
	return from, to, nil
}

// find returns the symbol and the period that a query names.
func (p *handler) find(ctx context.Context, q url.Values) (m market.Symbol, from, to time.Time, err error) {
	if from, to, err = between(q); err != nil {
		return market.Symbol{}, from, to, err
	}
	m, err = market.Find(ctx, p.market, q.Get("symbol"))
	return m, from, to, err
}

// candles handles GET /api/market/candles?symbol=&timeframe=&from=&to=&limit=.
func (p *handler) candles(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	limit, err := protocol.Number(q, "limit", 2000, 1, market.MaxCandles)
	if err != nil {
		return err
	}
	ctx := r.Context()
	m, from, to, err := p.find(ctx, q)
	if err != nil {
		return err
	}
	list, err := p.market.Candles(ctx, market.CandleQuery{
		Symbol: m.Symbol, Timeframe: market.Timeframe(q.Get("timeframe")), From: from, To: to, Limit: int(limit),
	})
	if err != nil {
		return err
	}
	n := len(list)
	out := struct {
		Symbol    string    `json:"symbol"`
		Timeframe string    `json:"timeframe"`
		Time      []int64   `json:"time"`
		Open      []float64 `json:"open"`
		High      []float64 `json:"high"`
		Low       []float64 `json:"low"`
		Close     []float64 `json:"close"`
		Volume    []float64 `json:"volume"`
		Partial   bool      `json:"partial"` // the data ends before the last bar does
		Synthetic bool      `json:"synthetic"`
	}{m.Symbol, q.Get("timeframe"), make([]int64, n), make([]float64, n), make([]float64, n), make([]float64, n),
		make([]float64, n), make([]float64, n), n > 0 && list[n-1].Partial, m.Synthetic}
	for i, c := range list {
		out.Time[i], out.Open[i], out.High[i], out.Low[i], out.Close[i], out.Volume[i] = c.Time.Unix(), c.Open, c.High,
			c.Low, c.Close, c.Volume
	}
	return protocol.WriteValue(w, http.StatusOK, out)
}

// events handles GET /api/market/events?symbol=&from=&to=.
func (p *handler) events(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	m, from, to, err := p.find(ctx, r.URL.Query())
	if err != nil {
		return err
	}
	list, err := p.market.Events(ctx, market.EventQuery{
		Currencies: m.Currencies(), From: from, To: to, Limit: 10_000, Newest: true,
	})
	if err != nil {
		return err
	}
	type event struct {
		ID        int64     `json:"id"`
		Time      time.Time `json:"time"`
		Currency  string    `json:"currency"`
		Title     string    `json:"title"`
		Impact    string    `json:"impact"`
		Actual    *float64  `json:"actual"`
		Forecast  *float64  `json:"forecast"`
		Previous  *float64  `json:"previous"`
		Unit      string    `json:"unit"`
		Synthetic bool      `json:"synthetic"`
	}
	out := make([]event, len(list))
	for i, e := range list {
		out[i] = event(e)
	}
	return protocol.WriteValue(w, http.StatusOK, map[string]any{"events": out})
}

// priceEvery is the interval between two prices in a stream; priceTime is how long the feed may take to answer.
const (
	priceEvery = time.Second
	priceTime  = 3 * time.Second
)

// price handles GET /api/market/price?symbol=: it sends the price about once a second, as server-sent events. If the
// feed is down, it sends an event that says so and continues.
func (p *handler) price(w http.ResponseWriter, r *http.Request) error {
	symbol := r.URL.Query().Get("symbol")
	if p.market == nil {
		return errNoMarket
	}
	if err := (market.Symbol{Symbol: symbol}).Check(); err != nil {
		return err
	}
	return p.server.Feed(w, r, protocol.Feed{
		Name: "market", Every: priceEvery,
		Frames: func(ctx context.Context) ([]byte, bool, error) {
			frame, err := p.priceFrame(ctx, symbol)
			return frame, false, err
		},
	})
}

// priceFrame returns one frame of a price stream. It returns an error only for a client's mistake.
func (p *handler) priceFrame(ctx context.Context, symbol string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, priceTime)
	defer cancel()
	price, err := p.market.Price(ctx, symbol)
	var now time.Time
	if err == nil {
		now, err = p.market.Now(ctx)
	}
	var data []byte
	switch {
	case err == nil:
		data, err = json.Marshal(struct {
			Symbol    string    `json:"symbol"`
			Bid       float64   `json:"bid"`
			Ask       float64   `json:"ask"`
			Time      time.Time `json:"time"`
			Age       float64   `json:"age_seconds"`
			Synthetic bool      `json:"synthetic"`
			Replay    bool      `json:"replay"`
		}{
			price.Symbol, price.Bid, price.Ask, price.Time.UTC(),
			max(0, now.Sub(price.Time).Round(time.Second).Seconds()), price.Synthetic, price.Replay,
		})
	case footnote.CodeOf(err) == footnote.MarketUnavailable:
		data, err = json.Marshal(struct {
			Down   bool   `json:"down"`
			Reason string `json:"reason"`
		}{true, footnote.MessageOf(err)})
	}
	if err != nil {
		return nil, err
	}
	return append(append([]byte("data: "), data...), "\n\n"...), nil
}
