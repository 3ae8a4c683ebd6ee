package market_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/sqlite"
	tools "github.com/footnotehq/footnote/market/tool/market"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/schema"
)

func day(text string) time.Time {
	t, err := time.Parse("2006-01-02 15:04", text)
	if err != nil {
		panic(err)
	}
	return t
}

// fixed is a feed with a single price.
type fixed struct {
	now   time.Time
	price market.Price
	err   error
}

func (f fixed) Now(context.Context) (time.Time, error) { return f.now, nil }
func (f fixed) Price(context.Context, string) (market.Price, error) {
	return f.price, f.err
}

func open(t *testing.T) market.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "market.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// with runs a load.
func with(t *testing.T, s market.Store, f func(market.Load) error) {
	t.Helper()
	l, err := s.Begin(t.Context())
	if err == nil {
		err = f(l)
	}
	if err == nil {
		err = l.Commit(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// small returns a market for which every answer can be computed by hand.
func small(t *testing.T) market.Store {
	t.Helper()
	s := open(t)
	fill(t, s)
	return s
}

// fill loads 600 minutes in which the price rises a pip per minute, releases of one event, four reports, and the
// trades of two people.
func fill(t *testing.T, s market.Store) {
	t.Helper()
	begin := day("2026-11-19 00:00")
	var list []market.Candle
	for i := range 600 {
		p := float64(11000+i) / 10000
		q := float64(11001+i) / 10000
		list = append(list, market.Candle{
			Time: begin.Add(time.Duration(i) * time.Minute), Open: p, High: q, Low: p, Close: q, Volume: 1,
		})
	}
	var events []market.Event
	for i, actual := range []float64{2.6, 2.4, 2.5} {
		events = append(events, market.Event{
			Time: begin.Add(time.Duration(i+1) * 2 * time.Hour), Currency: "EUR", Title: "CPI y/y", Impact: "high",
			Actual: &actual, Forecast: new(2.5), Unit: "%",
		})
	}
	events = append(events, market.Event{
		Time: begin.Add(20 * time.Hour), Currency: "USD", Title: "FOMC", Impact: "high",
	})
	var cot []market.COTReport
	for i := range 4 {
		d := begin.AddDate(0, 0, -7*(4-i))
		cot = append(cot, market.COTReport{
			Symbol: "EURUSD", Date: d, Published: d.AddDate(0, 0, 3), NonCommercialLong: int64(100 + 10*i),
			NonCommercialShort: 50, CommercialLong: 1, CommercialShort: 2, OpenInterest: 500,
		})
	}
	trade := func(id, closed string, pnl float64) market.Trade {
		return market.Trade{
			ID: id, Symbol: "EURUSD", Side: "long", Size: 1, Opened: day(closed).Add(-time.Hour), Closed: day(closed),
			Entry: 1.1, Exit: 1.2, PnL: pnl, Currency: "USD",
		}
	}
	with(t, s, func(l market.Load) error {
		return errors.Join(
			l.Symbol(t.Context(), market.Symbol{
				Symbol: "EURUSD", Name: "Euro", Base: "EUR", Quote: "USD", Digits: 5, Synthetic: true,
			}),
			l.Candles(t.Context(), "EURUSD", market.M1, list), l.Events(t.Context(), events), l.COT(t.Context(), cot),
			l.Headlines(t.Context(), []market.Headline{
				{Time: begin.Add(time.Hour), Source: "wire", Title: "Euro rises", Currencies: []string{"EUR"}},
				{
					Time: begin.Add(30 * time.Hour), Source: "wire", Title: "From the future",
					Currencies: []string{"EUR"},
				},
			}),
			l.Trades(t.Context(), "acme", "ada", []market.Trade{
				trade("a", "2026-10-05 10:00", 100), trade("b", "2026-10-06 10:00", -50.5),
				trade("c", "2026-11-02 16:00", 30),
			}),
			l.Trades(t.Context(), "acme", "bob", []market.Trade{trade("z", "2026-10-05 10:00", -99999)}),
		)
	})
}

type reply struct {
	Down                bool
	Reason, Note        string
	Now                 time.Time
	Synthetic           bool
	Last_candle_partial bool
	Table               struct {
		Result    string
		Columns   []string
		Rows      [][]any
		Row_count int
		Truncated bool
	}
}

// call calls a tool as ada and decodes its answer.
func call(t *testing.T, m market.Market, name string, in map[string]any) (tool.Output, reply) {
	t.Helper()
	for _, tl := range tools.New(tools.Options{Market: m, Deadline: time.Minute}) {
		if tl.Spec().Name != name {
			continue
		}
		data, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		out, err := tl.Call(t.Context(), tool.Call{
			ID: "c", Name: name, Input: data, ResultID: "r1", Principal: footnote.Principal{Org: "acme", User: "ada"},
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var r reply
		if strings.HasPrefix(out.Content, "{") {
			if err := json.Unmarshal([]byte(out.Content), &r); err != nil {
				t.Fatalf("%s: %v in %s", name, err, out.Content)
			}
		}
		return out, r
	}
	t.Fatalf("there is no tool %s", name)
	panic("unreachable")
}

func TestAnswers(t *testing.T) {
	m := market.New(small(t), fixed{
		now:   day("2026-11-19 10:00"),
		price: market.Price{Symbol: "EURUSD", Bid: 1.1598, Ask: 1.16, Time: day("2026-11-19 09:58")},
	})
	type want struct {
		name string
		in   map[string]any
		rows [][]any
		note string
	}
	for _, w := range []want{
		{"get_candles", map[string]any{"symbol": "eur/usd", "timeframe": "4h", "limit": 2}, [][]any{
			{"2026-11-19T04:00:00Z", 1.124, 1.148, 1.124, 1.148, 240.0},
			{"2026-11-19T08:00:00Z", 1.148, 1.16, 1.148, 1.16, 120.0}},
			"The last candle is partial: the data ends at 2026-11-19T10:00:00Z"},
		{"get_candles", map[string]any{
			"symbol": "EURUSD", "timeframe": "5m", "from": "2026-11-19T00:00:00Z", "to": "2026-11-19T00:20:00Z",
			"limit": 2,
		}, [][]any{
			{"2026-11-19T00:10:00Z", 1.101, 1.1015, 1.101, 1.1015, 5.0},
			{"2026-11-19T00:15:00Z", 1.1015, 1.102, 1.1015, 1.102, 5.0}},
			"The range was cut: these are its newest 2 candles. For earlier ones call again with to " +
				"2026-11-19T00:10:00Z."},
		{
			"get_candles", map[string]any{
				"symbol": "EURUSD", "timeframe": "1h", "from": "2026-11-21", "to": "2026-11-22",
			}, nil, "There are no candles in this range: the data goes from 2026-11-19T00:00:00Z to " +
				"2026-11-19T10:00:00Z.",
		},
		{
			"get_current_price", map[string]any{"symbol": "EURUSD"}, [][]any{
				{"EURUSD", 1.1598, 1.16, 0.0002, 2.0, "2026-11-19T09:58:00Z", 120.0},
			}, "The price is 2m0s old: it is not current.",
		},
		{
			"get_news_events", map[string]any{"symbol": "EURUSD"},
			[][]any{{"2026-11-19T20:00:00Z", "USD", "FOMC", "high", nil, nil, nil, ""}}, "",
		},
		// from now on
		{
			"get_news_events", map[string]any{
				"symbol": "EURUSD",
				"to":     "2026-11-25",
			}, [][]any{{"2026-11-19T20:00:00Z", "USD", "FOMC", "high", nil, nil, nil, ""}}, "",
		},
		{"get_news_events", map[string]any{"currency": "jpy"}, nil, "No calendar is loaded for this"},
		{
			"get_news_events", map[string]any{
				"currency": "usd",
				"to":       "2026-11-19T19:00:00Z",
			}, nil, "The calendar was read and has no such event in this range.",
		},
		{
			"get_news_events", map[string]any{
				"currency": "usd",
				"from":     "2026-11-20",
			}, nil, "The loaded calendar ends at 2026-11-19T20:00:00Z; later events are not known.",
		},
		{
			"get_news_events", map[string]any{
				"currency": "usd",
				"from":     "2026-11-01",
				"to":       "2026-11-02",
			}, nil, "begins at 2026-11-19T20:00:00Z; earlier events are not known.",
		},
		{
			"get_news_events", map[string]any{
				"currency": "eur",
				"from":     "2026-11-19T04:00:00Z",
				"to":       "2026-11-19T05:00:00Z",
			}, [][]any{{"2026-11-19T04:00:00Z", "EUR", "CPI y/y", "high", 2.4, 2.5, nil, "%"}}, "",
		},
		{"get_news_events", map[string]any{
			"currency": "eur",
			"from":     "2026-11-19T05:30:00Z",
			"to":       "2026-11-19T09:00:00Z",
		}, [][]any{{"2026-11-19T06:00:00Z", "EUR", "CPI y/y", "high", 2.5, 2.5, nil, "%"}},
			"ends at 2026-11-19T06:00:00Z; later events are not known."},
		{
			"get_headlines", map[string]any{"symbol": "EURUSD"},
			[][]any{{"2026-11-19T01:00:00Z", "wire", "Euro rises", "EUR"}}, "",
		},
		{
			"get_headlines", map[string]any{
				"symbol": "EURUSD",
				"hours":  1,
			}, nil, "The newest loaded headline is from 2026-11-19T01:00:00Z.",
		},
		{
			"get_cot_positioning", map[string]any{"symbol": "EURUSD"},
			[][]any{{"2026-11-12", "2026-11-15T00:00:00Z", 130.0, 50.0, 80.0, 10.0, 1.0, 2.0, 500.0}}, "",
		},
		{
			"get_trade_history", map[string]any{"to": "2026-10-06"}, [][]any{
				{
					"a", "EURUSD", "long", 1.0, "2026-10-05T09:00:00Z", "2026-10-05T10:00:00Z", 1.1, 1.2, nil, nil,
					100.0, "USD", "London", "",
				},
			}, "",
		},
		{
			"get_trade_history", map[string]any{"symbol": "BTC-USD"},
			nil, "The journal was read and has no such trade of this user.",
		},
		{"get_trade_stats", map[string]any{"from": "2026-10-01", "to": "2026-11-01"}, [][]any{
			{
				"all", "USD", 2.0, 1.0, 1.0, 50.0, 49.5, 100.0, -50.5, 1.98, 24.75, 100.0, -50.5, 1.0, 1.0, -1.0, 50.5,
				"2026-10-05T10:00:00Z", "2026-10-06T10:00:00Z",
			},
			{
				"session London", "USD", 2.0, 1.0, 1.0, 50.0, 49.5, 100.0, -50.5, 1.98, 24.75, 100.0, -50.5, 1.0, 1.0,
				-1.0, 50.5, "2026-10-05T10:00:00Z", "2026-10-06T10:00:00Z",
			},
			{
				"pair EURUSD", "USD", 2.0, 1.0, 1.0, 50.0, 49.5, 100.0, -50.5, 1.98, 24.75, 100.0, -50.5, 1.0, 1.0,
				-1.0, 50.5, "2026-10-05T10:00:00Z", "2026-10-06T10:00:00Z",
			}}, ""},
		{"get_event_statistics", map[string]any{"symbol": "EURUSD", "event": "cpi Y/Y", "minutes": 30}, [][]any{
			// The price rises a pip per minute, so each move is 30 pips. Two releases were a surprise, one of them
			// upward.
			{"all", 3.0, 30.0, 30.0, 30.0, 3.0, 2.0, 1.0, 50.0, nil, nil, nil, nil, nil, nil},
			{"2026-11-19T02:00:00Z", nil, nil, nil, nil, nil, nil, nil, nil, 2.6, 2.5, 1.112, 1.115, 30.0, "1m"},
			{"2026-11-19T04:00:00Z", nil, nil, nil, nil, nil, nil, nil, nil, 2.4, 2.5, 1.124, 1.127, 30.0, "1m"},
			{"2026-11-19T06:00:00Z", nil, nil, nil, nil, nil, nil, nil, nil, 2.5, 2.5, 1.136, 1.139, 30.0, "1m"}},
			"Only 3 releases could be measured"},
	} {
		out, r := call(t, m, w.name, w.in)
		if len(r.Table.Rows) != len(w.rows) || len(w.rows) > 0 && !reflect.DeepEqual(r.Table.Rows, w.rows) ||
			!strings.Contains(r.Note, w.note) || out.IsError {
			t.Errorf("%s %v:\n%s\nwant %v and %q", w.name, w.in, out.Content, w.rows, w.note)
		}
		if out.Rows == nil || out.Source != "market" || !strings.HasPrefix(out.SQL, "-- "+w.name+" {") ||
			r.Table.Result != "r1" || !r.Now.Equal(day("2026-11-19 10:00")) {
			t.Errorf("%s: stored as %q of %q; %s", w.name, out.SQL, out.Source, out.Content)
		}
	}
	_, r := call(t, m, "get_cot_history", map[string]any{"symbol": "EURUSD", "weeks": 3})
	if len(r.Table.Rows) != 3 || r.Table.Rows[0][5] != 10.0 {
		t.Errorf("three weeks are %v", r.Table.Rows)
	}
	if _, r := call(t, m, "get_candles", map[string]any{
		"symbol":    "EURUSD",
		"timeframe": "1m",
		"limit":     500,
	}); len(r.Table.Rows) != 500 || !r.Synthetic || !strings.Contains(r.Note, "synthetic") {
		t.Errorf("%d candles, %v, %q", len(r.Table.Rows), r.Synthetic, r.Note)
	}
}

// TestPips uses symbols whose prices have different numbers of digits, and one whose price is below zero.
func TestPips(t *testing.T) {
	s := open(t)
	for _, c := range []struct {
		symbol   market.Symbol
		bid, ask float64
		spread   float64
		pips     float64
	}{
		{market.Symbol{Symbol: "EURUSD", Quote: "USD", Digits: 5}, 1.10411, 1.10426, 0.00015, 1.5},
		{market.Symbol{Symbol: "EURUSD4", Quote: "USD", Digits: 4}, 1.1041, 1.1043, 0.0002, 2},
		{market.Symbol{Symbol: "USDJPY", Quote: "JPY", Digits: 3}, 149.123, 149.141, 0.018, 1.8},
		{market.Symbol{Symbol: "USDJPY2", Quote: "JPY", Digits: 2}, 149.12, 149.14, 0.02, 2},
		{market.Symbol{Symbol: "XAUUSD", Quote: "USD", Digits: 2}, 2650.12, 2650.42, 0.3, 3},
		{market.Symbol{Symbol: "N225", Quote: "JPY"}, 38000, 38005, 5, 5},
		{market.Symbol{Symbol: "OIL", Quote: "USD", Digits: 2}, -37.65, -37.6, 0.05, 0.5},
		// one digit more than candles
		{market.Symbol{Symbol: "GBPUSD4", Quote: "USD", Digits: 4}, 1.28411, 1.28426, 0.00015, 1.5},
	} {
		with(t, s, func(l market.Load) error { return l.Symbol(t.Context(), c.symbol) })
		m := market.New(s, fixed{price: market.Price{Symbol: c.symbol.Symbol, Bid: c.bid, Ask: c.ask}})
		if _, r := call(t, m, "get_current_price", map[string]any{
			"symbol": c.symbol.Symbol,
		}); r.Table.Rows[0][3] != c.spread || r.Table.Rows[0][4] != c.pips {
			t.Errorf("%s: %v", c.symbol.Symbol, r.Table.Rows)
		}
	}
}

// TestFaults checks the messages for faults that the model can repair.
func TestFaults(t *testing.T) {
	m := market.New(small(t), fixed{now: day("2026-11-19 10:00")})
	for _, c := range []struct {
		name string
		in   map[string]any
		want string
	}{
		{"get_candles", map[string]any{"symbol": "EURGBP", "timeframe": "1h"}, "The symbols are: EURUSD."},
		{
			"get_candles", map[string]any{"symbol": "EURUSD", "timeframe": "1h", "from": "yesterday"},
			"from is not a time.",
		},
		{
			"get_candles", map[string]any{
				"symbol": "EURUSD", "timeframe": "1h", "from": "2026-11-02", "to": "2026-11-01",
			}, "The range ends before it begins.",
		},
		{
			"get_candles", map[string]any{
				"symbol":    "EURUSD",
				"timeframe": "1h",
				"from":      "0001-01-05",
			}, "the time is not between 1900 and 2200",
		},
		{"get_event_statistics", map[string]any{"symbol": "EURUSD", "event": "Payrolls"}, "It has: EUR CPI y/y."},
		{
			"get_event_statistics", map[string]any{
				"symbol":  "EURUSD",
				"event":   "CPI y/y",
				"minutes": 1440,
			}, "there are no candles of EURUSD around it",
		},
	} {
		if out, _ := call(t, m, c.name, c.in); !out.IsError || !strings.Contains(out.Content, c.want) ||
			out.Rows != nil {
			t.Errorf("%s %v: %s, want %q", c.name, c.in, out.Content, c.want)
		}
	}
}

// away is an unavailable database.
type away struct{ market.Store }

var errUnavailable = market.Down(market.Database, "it cannot be read.", errors.New("connection refused"))

func (away) Symbols(context.Context) ([]market.Symbol, error) { return nil, errUnavailable }
func (away) Events(context.Context, market.EventQuery) ([]market.Event, error) {
	return nil, errUnavailable
}
func (away) Headlines(context.Context, market.HeadlineQuery) ([]market.Headline, error) {
	return nil, errUnavailable
}
func (away) Trades(context.Context, market.TradeQuery) ([]market.Trade, error) {
	return nil, errUnavailable
}

// slow is a database that does not answer.
type slow struct{ market.Store }

func (slow) Symbols(ctx context.Context) ([]market.Symbol, error) {
	<-ctx.Done()
	return nil, market.Failed(ctx, market.Database, "read the symbols", ctx.Err())
}

var inputs = map[string]map[string]any{
	"get_candles": {"symbol": "EURUSD", "timeframe": "1h"}, "get_current_price": {"symbol": "EURUSD"},
	"get_news_events": {}, "get_headlines": {},
	"get_event_statistics": {"symbol": "EURUSD", "event": "CPI y/y"}, "get_cot_positioning": {"symbol": "EURUSD"},
	"get_cot_history":   {"symbol": "EURUSD"},
	"get_trade_history": {}, "get_trade_stats": {},
}

// TestDown checks that each tool reports an unavailable part, without an empty list and without ending the run.
func TestDown(t *testing.T) {
	for name, in := range inputs {
		out, r := call(t, market.New(away{}, fixed{}), name, in)
		if !out.IsError || !r.Down || r.Reason != "The market database is down: it cannot be read." ||
			out.Rows != nil || strings.Contains(out.Content, "refused") {
			t.Errorf("%s: %s", name, out.Content)
		}
	}
	feed := fixed{err: market.Down(market.PriceFeed, "it closed the connection.", nil)}
	if out, r := call(t, market.New(small(t), feed), "get_current_price", inputs["get_current_price"]); !r.Down ||
		r.Reason != "The price feed is down: it closed the connection." {
		t.Errorf("without a feed: %s", out.Content)
	}
}

// TestDeadline checks that tools stop waiting for a part that does not answer.
func TestDeadline(t *testing.T) {
	tl := tools.New(tools.Options{Market: market.New(slow{}, fixed{}), Deadline: time.Millisecond})[0]
	out, err := tl.Call(t.Context(), tool.Call{
		Name:  "get_candles",
		Input: []byte(`{"symbol":"EURUSD","timeframe":"1h"}`),
	})
	if err != nil || !out.IsError || !strings.Contains(out.Content, `"down":true`) ||
		!strings.Contains(out.Content, "did not answer in time") {
		t.Fatal(out, err)
	}
}

// TestNoToolWrites checks that there are nine tools, that all of them are declared read-only, and that the
// interface they use has no method that could place an order.
func TestNoToolWrites(t *testing.T) {
	list := tools.New(tools.Options{})
	if len(list) != len(inputs) {
		t.Errorf("%d tools", len(list))
	}
	for _, tl := range list {
		s := tl.Spec()
		if _, known := inputs[s.Name]; !known || !s.ReadOnly || s.Side != tool.Server ||
			!strings.HasPrefix(s.Name, "get_") {
			t.Errorf("%s: %+v", s.Name, s)
		}
	}
	methods := map[string]bool{
		"Symbols": true, "Candles": true, "Events": true, "Headlines": true, "COT": true, "Trades": true, "Price": true,
		"Now": true, "EventReactions": true,
	}
	for m := range reflect.TypeFor[market.Market]().Methods() {
		if !methods[m.Name] {
			t.Errorf("a Market can %s", m.Name)
		}
	}
}

// TestSchemas checks that inputs out of bounds are refused before they reach a tool.
func TestSchemas(t *testing.T) {
	var specs []tool.Spec
	for _, tool := range tools.New(tools.Options{}) {
		specs = append(specs, tool.Spec())
	}
	validate, err := schema.Validator(specs)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, in string
		ok       bool
	}{
		{"get_candles", `{"symbol":"EURUSD","timeframe":"1h","limit":500}`, true},
		{"get_candles", `{"symbol":"EURUSD","timeframe":"1h","limit":501}`, false},
		{"get_candles", `{"symbol":"EURUSD","timeframe":"2h"}`, false},
		{"get_candles", `{"symbol":"","timeframe":"1h"}`, false}, {"get_candles", `{"timeframe":"1h"}`, false},
		{"get_event_statistics", `{"symbol":"EURUSD","event":"x","minutes":100000}`, false},
		{"get_cot_history", `{"symbol":"EURUSD","weeks":26}`, true},
		{"get_trade_history", `{"user":"bob"}`, false}, {"get_news_events", `{"impact":"huge"}`, false},
	} {
		if err := validate(c.name, []byte(c.in)); (err == nil) != c.ok {
			t.Errorf("%s %s: %v", c.name, c.in, err)
		}
	}
}
