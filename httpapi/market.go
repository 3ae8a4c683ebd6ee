package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/protocol"
	"github.com/footnotehq/footnote/protocol/sse"
)

// marketTime is how long one market data query may take.
const marketTime = 10 * time.Second

func (s *Server) marketRoutes() {
	s.Handle("/api/market/symbols", Native, get(s.withMarket(s.marketSymbols)))
	s.Handle("/api/market/candles", Native, get(s.withSlot(s.withMarket(s.marketCandles))))
	s.Handle("/api/market/events", Native, get(s.withMarket(s.marketEvents)))
	s.Handle("/api/market/price", Native, get(s.withMarket(s.holding(s.marketPrice))))
}

// withMarket wraps a handler that needs market data.
func (s *Server) withMarket(h Handler) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if s.opts.Market == nil {
			return footnote.Errorf(footnote.NotFound, "This server has no market data.")
		}
		return h(w, r)
	}
}

// marketSymbols handles GET /api/market/symbols.
func (s *Server) marketSymbols(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), marketTime)
	defer cancel()
	list, err := s.opts.Market.Symbols(ctx)
	if err != nil {
		return err
	}
	now, err := s.opts.Market.Now(ctx)
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
		n, err := number(q, name, 0, earliestTime, latestTime)
		if err != nil {
			return from, to, err
		}
		*at = time.Unix(n, 0).UTC()
	}
	return from, to, nil
}

// marketCandles handles GET /api/market/candles?symbol=&timeframe=&from=&to=&limit=.
func (s *Server) marketCandles(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	limit, err := number(q, "limit", 2000, 1, market.MaxCandles)
	if err != nil {
		return err
	}
	from, to, err := between(q)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), marketTime)
	defer cancel()
	m, err := market.Find(ctx, s.opts.Market, q.Get("symbol"))
	if err != nil {
		return err
	}
	list, err := s.opts.Market.Candles(ctx, market.CandleQuery{
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
		make([]float64, n), make([]float64, n),
		n > 0 && list[n-1].Partial, m.Synthetic}
	for i, c := range list {
		out.Time[i], out.Open[i], out.High[i], out.Low[i], out.Close[i], out.Volume[i] = c.Time.Unix(), c.Open, c.High,
			c.Low, c.Close, c.Volume
	}
	return protocol.WriteValue(w, http.StatusOK, out)
}

// marketEvents handles GET /api/market/events?symbol=&from=&to=.
func (s *Server) marketEvents(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	from, to, err := between(q)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), marketTime)
	defer cancel()
	m, err := market.Find(ctx, s.opts.Market, q.Get("symbol"))
	if err != nil {
		return err
	}
	list, err := s.opts.Market.Events(ctx, market.EventQuery{
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

// priceEvery is the interval between two prices in a stream; priceTime is how long the feed may take to
// answer.
const (
	priceEvery = time.Second
	priceTime  = 3 * time.Second
)

// marketPrice handles GET /api/market/price?symbol=: it sends the price about once a second, as server-sent
// events, until the client leaves or the stream's time is up. If the feed is down, it sends an event that
// says so and continues.
func (s *Server) marketPrice(w http.ResponseWriter, r *http.Request) error {
	symbol := r.URL.Query().Get("symbol")
	if err := (market.Symbol{Symbol: symbol}).Check(); err != nil {
		return err
	}
	first, err := s.price(r.Context(), symbol)
	if err != nil {
		return err
	}
	s.opts.Metrics.StreamOpened("market")
	defer s.opts.Metrics.StreamClosed("market")
	out, err := sse.Start(w, http.StatusOK, first)
	if err != nil {
		return err
	}
	limit := time.NewTimer(s.opts.StreamTimeout)
	defer limit.Stop()
	tick := time.NewTicker(priceEvery)
	defer tick.Stop()
	for {
		select {
		case <-r.Context().Done():
			return nil
		case <-limit.C:
			return nil // an EventSource reconnects by itself
		case <-tick.C:
		}
		if s.draining.Load() {
			return nil // price streams do not delay a shutdown
		}
		frame, err := s.price(r.Context(), symbol)
		if err == nil {
			err = out.Write(frame)
		}
		if err != nil {
			return nil // the client has gone
		}
	}
}

// price returns one frame of a price stream. It returns an error only for a client's mistake.
func (s *Server) price(ctx context.Context, symbol string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, priceTime)
	defer cancel()
	p, err := s.opts.Market.Price(ctx, symbol)
	var now time.Time
	if err == nil {
		now, err = s.opts.Market.Now(ctx)
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
			p.Symbol, p.Bid, p.Ask, p.Time.UTC(), max(0, now.Sub(p.Time).Round(time.Second).Seconds()), p.Synthetic,
			p.Replay,
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
