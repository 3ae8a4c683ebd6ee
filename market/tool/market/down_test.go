package market_test

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/postgres"
	tools "github.com/footnotehq/footnote/market/tool/market"
	"github.com/footnotehq/footnote/tool"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// each calls every tool and passes its answer to check.
func each(t *testing.T, m market.Market, deadline time.Duration, check func(name string, out tool.Output, r reply)) {
	t.Helper()
	for _, tl := range tools.New(tools.Options{Market: m, Deadline: deadline}) {
		name := tl.Spec().Name
		in, err := json.Marshal(inputs[name])
		if err != nil {
			t.Fatal(err)
		}
		out, err := tl.Call(t.Context(), tool.Call{
			ID: "c", Name: name, Input: in, ResultID: "r1", Principal: footnote.Principal{Org: "acme", User: "ada"},
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
		check(name, out, r)
	}
}

// TestPostgresOutage stops the database server, starts it again, and has another connection keep its
// tables locked. Each tool must report that the database is unavailable or did not answer, never an empty result,
// and must answer again afterwards.
func TestPostgresOutage(t *testing.T) {
	server := pgtest.New(t)
	url := server.Database(t)
	s, err := postgres.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	fill(t, s)
	m := market.New(s, &market.Replay{Data: s})
	answers := func() {
		t.Helper()
		each(t, m, time.Minute, func(name string, out tool.Output, r reply) {
			if out.IsError || len(r.Table.Rows) == 0 {
				t.Errorf("%s: %s", name, out.Content)
			}
		})
	}
	away := func(deadline time.Duration, reason string) {
		t.Helper()
		each(t, m, deadline, func(name string, out tool.Output, r reply) {
			if !out.IsError || !r.Down || !strings.HasPrefix(r.Reason, "The market database is down: "+reason) ||
				out.Rows != nil || strings.Contains(out.Content, server.Folder()) {
				t.Errorf("%s: %s", name, out.Content)
			}
		})
	}
	answers()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context())) // keeps conn, and with it the lock, alive until here
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const tables = "LOCK TABLE footnote_market.symbols, footnote_market.series, footnote_market.candles, " +
		"footnote_market.events, footnote_market.headlines, footnote_market.cot, footnote_market.trades"
	if _, err := tx.Exec(t.Context(), tables); err != nil {
		t.Fatal(err)
	}
	away(50*time.Millisecond, "it did not answer in time.")
	server.Kill(t)
	away(time.Minute, "it cannot be read.")
	server.Start(t)
	for _, err = s.Symbols(t.Context()); err != nil; { // the pool may still hold dead connections
		_, err = s.Symbols(t.Context())
	}
	answers()
}

// TestPartlyLoadedMarket loads a symbol without data, and then with candles only. Each tool must name the data
// that it read and found empty.
func TestPartlyLoadedMarket(t *testing.T) {
	s := open(t)
	with(t, s, func(l market.Load) error {
		return l.Symbol(t.Context(), market.Symbol{
			Symbol: "EURUSD", Name: "Euro", Base: "EUR", Quote: "USD", Digits: 5,
		})
	})
	words := map[string]string{
		"get_candles":          "There are no candles of EURUSD at all.",
		"get_current_price":    "The price feed is down: there are no candles to replay.",
		"get_news_events":      "No calendar is loaded for this, so it is not known whether there are such events.",
		"get_headlines":        "No news is loaded for this, so it is not known what was reported.",
		"get_event_statistics": "The calendar was read and has no past event of EUR, USD.",
		"get_cot_positioning":  "The reports were read and have none of EURUSD.",
		"get_cot_history":      "The reports were read and have none of EURUSD.",
		"get_trade_history":    "The journal was read and has no such trade of this user.",
		"get_trade_stats":      "The journal was read and has no such trade of this user.",
	}
	m := market.New(s, &market.Replay{Data: s})
	says := func() {
		t.Helper()
		each(t, m, time.Minute, func(name string, out tool.Output, _ reply) {
			if !strings.Contains(out.Content, words[name]) {
				t.Errorf("%s: %s, want %q", name, out.Content, words[name])
			}
		})
	}
	says()
	with(t, s, func(l market.Load) error {
		return l.Candles(t.Context(), "EURUSD", market.M1, []market.Candle{
			{Time: day("2026-11-19 10:00"), Open: -37.5, High: -37, Low: -40, Close: -37.6},
		})
	})
	words["get_candles"], words["get_current_price"] = `-37.5,-37,-40,-37.6,0`, `,null,null,"2026-11-19T10:01:00Z",0]`
	says()
}

// TestSameEvent checks that for an event that both currencies have, only one currency's releases are used: the two
// move the price in opposite ways.
func TestSameEvent(t *testing.T) {
	s := small(t)
	with(t, s, func(l market.Load) error {
		return l.Events(t.Context(), []market.Event{
			{
				Time: day("2026-11-19 01:00"), Currency: "USD", Title: "CPI y/y", Impact: "high", Actual: new(3.0),
				Forecast: new(2.0),
			},
		})
	})
	m := market.New(s, fixed{now: day("2026-11-19 10:00")})
	if out, _ := call(t, m, "get_event_statistics", inputs["get_event_statistics"]); !out.IsError ||
		!strings.Contains(out.Content, "Call again with one of them as currency: EUR, USD.") {
		t.Error(out.Content)
	}
	// A number above its forecast is good for the dollar, but the price rose, so it is not a hit.
	_, r := call(t, m, "get_event_statistics", map[string]any{
		"symbol":   "EURUSD",
		"event":    "CPI y/y",
		"currency": "usd",
	})
	if len(r.Table.Rows) != 2 || r.Table.Rows[0][6] != 1.0 || r.Table.Rows[0][7] != 0.0 {
		t.Errorf("rows: %v", r.Table.Rows)
	}
	if out, _ := call(t, m, "get_event_statistics", map[string]any{
		"symbol":   "EURUSD",
		"event":    "CPI y/y",
		"currency": "chf",
	}); !out.IsError || !strings.Contains(out.Content, "has no past event of CHF") {
		t.Error(out.Content)
	}
	// For an index, the expected direction is unknown.
	with(t, s, func(l market.Load) error {
		if err := l.Symbol(t.Context(), market.Symbol{Symbol: "DAX40", Digits: 1}); err != nil {
			return err
		}
		list := make([]market.Candle, 150)
		for i := range list {
			list[i] = market.Candle{
				Time: day("2026-11-19 00:00").Add(time.Duration(i) * time.Minute), Open: 1, High: 1, Low: 1, Close: 1,
			}
		}
		return l.Candles(t.Context(), "DAX40", market.M1, list)
	})
	if out, _ := call(t, m, "get_event_statistics", map[string]any{
		"symbol":  "DAX40",
		"event":   "CPI y/y",
		"minutes": 1,
	}); !out.IsError || !strings.Contains(out.Content, "as currency: EUR, USD.") {
		t.Error(out.Content)
	}
	for _, name := range []string{"get_news_events", "get_headlines"} {
		if _, r := call(t, m, name, map[string]any{"symbol": "DAX40"}); len(r.Table.Rows) == 0 ||
			!strings.Contains(r.Note, "The currencies of DAX40 are not known") {
			t.Errorf("%s: %+v", name, r)
		}
	}
	_, r = call(t, m, "get_event_statistics", map[string]any{"symbol": "DAX40", "event": "CPI y/y", "currency": "USD"})
	if len(r.Table.Rows) != 2 || r.Table.Rows[0][6] != 1.0 || r.Table.Rows[0][7] != nil || r.Table.Rows[0][8] != nil {
		t.Errorf("rows: %v", r.Table.Rows)
	}
}

// TestFractions checks that a sum of volumes has no more digits than the volumes themselves.
func TestFractions(t *testing.T) {
	s := small(t)
	with(t, s, func(l market.Load) error {
		at := day("2026-11-20 10:00")
		return l.Candles(t.Context(), "EURUSD", market.M1, []market.Candle{
			{Time: at, Volume: 0.1}, {Time: at.Add(time.Minute), Volume: 0.2},
		})
	})
	out, _ := call(t, market.New(s, fixed{now: day("2026-11-20 11:00")}), "get_candles", map[string]any{
		"symbol":    "EURUSD",
		"timeframe": "5m",
		"limit":     1,
	})
	if !strings.Contains(out.Content, `["2026-11-20T10:00:00Z",0,0,0,0,0.3]`) {
		t.Error(out.Content)
	}
}

// TestMissingReport checks that a week shows no change when the previous week is missing.
func TestMissingReport(t *testing.T) {
	s := small(t)
	with(t, s, func(l market.Load) error {
		d := day("2026-11-26 00:00")
		return l.COT(t.Context(), []market.COTReport{
			{Symbol: "EURUSD", Date: d, Published: d.AddDate(0, 0, 3), NonCommercialLong: 500},
		})
	})
	m := market.New(s, fixed{now: day("2026-12-01 10:00")})
	if _, r := call(t, m, "get_cot_positioning", inputs["get_cot_positioning"]); r.Table.Rows[0][0] != "2026-11-26" ||
		r.Table.Rows[0][5] != nil || !strings.Contains(r.Note, "the week before 2026-11-26 is missing") {
		t.Errorf("rows and note: %v, %q", r.Table.Rows, r.Note)
	}
}
