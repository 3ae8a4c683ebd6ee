package drawing_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/board"
	"github.com/footnotehq/footnote/market/sqlite"
	"github.com/footnotehq/footnote/market/tool/drawing"
	"github.com/footnotehq/footnote/store/sqlite/sqlitetest"
	"github.com/footnotehq/footnote/tool"
)

// minutes returns a store with an hour and a half of one-minute bars, from midnight.
func minutes(t *testing.T, begin time.Time) market.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "market.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	l, err := s.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Symbol(t.Context(), market.Symbol{Symbol: "EURUSD", Digits: 4}); err != nil {
		t.Fatal(err)
	}
	var list []market.Candle
	for i := range 90 {
		list = append(list, market.Candle{
			Time: begin.Add(time.Duration(i) * time.Minute), Open: 1.1, High: 1.1, Low: 1.1, Close: 1.1,
		})
	}
	if err := l.Candles(t.Context(), "EURUSD", market.M1, list); err != nil {
		t.Fatal(err)
	}
	if err := l.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func replayed(s market.Store) market.Market { return market.New(s, &market.Replay{Data: s}) }

// TestEndOfData uses data whose last bar begins at 1:29. A marker after it is refused. A time within the data is moved
// to the start of its bar; a later one stays, even if the newest bar of the timeframe began before it.
func TestEndOfData(t *testing.T) {
	ctx, begin := t.Context(), time.Date(2026, 11, 19, 0, 0, 0, 0, time.UTC)
	prices := drawing.NewPrices(replayed(minutes(t, begin)))
	data, err := prices.Data(ctx, "EURUSD")
	if last := begin.Add(89 * time.Minute).Unix(); err != nil || data.First != begin.Unix() || data.Last != last {
		t.Errorf("the data is %+v, %v; its last bar begins at %d", data, err, last)
	}
	boards := board.New(board.Options{Log: sqlitetest.New(t), Data: prices.Data})
	tools := map[string]tool.Checked{}
	for _, tl := range drawing.New(drawing.Options{Boards: boards, Bar: prices.Bar}) {
		if drawn, ok := tl.(tool.Checked); ok {
			tools[tl.Spec().Name] = drawn
		}
	}
	call := func(name, id, input string) tool.Call {
		return tool.Call{ID: id, Name: name, Principal: alice, Conversation: "conv_1",
			Where: json.RawMessage(`{"symbol":"EURUSD","timeframe":"1h"}`), Input: json.RawMessage(input)}
	}
	const line, marker = "draw_vertical_line", "draw_marker"
	for i, c := range []struct{ tool, timeframe, at, want string }{
		{line, "1h", "01:10", "01:00"}, {line, "1h", "01:50", "01:50"}, {line, "1h", "04:50", "04:50"},
		{line, "1D", "00:50", "00:00"}, {line, "1D", "16:30", "16:30"},
		// The newest bar of 1h begins at 1:00, that of 1D at 0:00.
		{marker, "1h", "00:40", "00:00"}, {marker, "1h", "01:10", "01:00"}, {marker, "1h", "01:50", "01:50"},
		{marker, "1D", "00:51", "00:00"}, {marker, "1D", "16:31", "16:31"},
	} {
		input := `{"timestamp":"2026-11-19T` + c.at + `:00Z"}`
		if c.tool == marker {
			price := 1.1 + float64(i)/1000 // two markers at one place would be duplicates
			input = fmt.Sprintf(`{"anchor":{"timestamp":"2026-11-19T%s:00Z","price":%.3f}}`, c.at, price)
		}
		drawn := call(c.tool, fmt.Sprintf("toolu_1%d", i), input)
		drawn.Where = json.RawMessage(`{"symbol":"EURUSD","timeframe":"` + c.timeframe + `"}`)
		if _, err := tools[c.tool].Accept(ctx, drawn, tool.Answer{Content: `{"ok":true}`}); err != nil {
			t.Fatal(err)
		}
		v, err := boards.View(ctx, footnote.Principal{Org: alice.Org, User: alice.User}, "EURUSD")
		if err != nil || len(v.Drawings) != i+1 {
			t.Fatalf("drawings: %+v, %v", v.Drawings, err)
		}
		if got := time.Unix(v.Drawings[i].Anchors[0].Time, 0).UTC().Format("15:04"); got != c.want {
			t.Errorf("%s: %s on %s is drawn at %s, want %s", c.tool, c.at, c.timeframe, got, c.want)
		}
	}
	for timeframe, at := range map[string]string{"1m": "19T01:31", "1h": "19T02:31", "1D": "20T01:31"} {
		mark := call(marker, "toolu_2", `{"anchor":{"timestamp":"2026-11-`+at+`:00Z","price":1.1}}`)
		mark.Where = json.RawMessage(`{"symbol":"EURUSD","timeframe":"` + timeframe + `"}`)
		if words, err := tools[marker].Check(ctx, mark, nil); err != nil || words == "" {
			t.Errorf("a marker after the last bar of %s: %q, %v", timeframe, words, err)
		}
	}
}

// TestMissingDataIsUnknown checks that a calendar, news and reports that were never loaded, or that end before now, are
// reported as unknown, and never as a day without events.
func TestMissingDataIsUnknown(t *testing.T) {
	begin := time.Date(2026, 11, 19, 0, 0, 0, 0, time.UTC)
	s := minutes(t, begin)
	describe := func() string {
		around := &drawing.Surroundings{Time: time.Minute, Parts: drawing.NewPrices(replayed(s)).Market()}
		return around.Describe(t.Context(), footnote.Principal{},
			json.RawMessage(`{"symbol":"EURUSD","timeframe":"1m"}`))
	}
	for _, want := range []string{
		"24 hours: not known: no calendar is loaded.", "(COT): not known: no report of EURUSD is loaded.",
		"headlines: not known: no news is loaded.",
	} {
		if words := describe(); !strings.Contains(words, want) {
			t.Errorf("%q is not in %s", want, words)
		}
	}
	for _, c := range []struct {
		at   time.Duration
		want string
	}{
		{-time.Hour, "not known: the loaded calendar ends at 2026-11-19T00:30:00Z."},
		{72 * time.Hour, "the calendar covers them and has none."}, {time.Hour, "CPI y/y (high)"},
	} {
		l, err := s.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Events(t.Context(), []market.Event{
			{Time: begin.Add(90*time.Minute + c.at), Currency: "USD", Title: "CPI y/y", Impact: "high"},
		}); err != nil {
			t.Fatal(err)
		}
		if err := l.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if words := describe(); !strings.Contains(words, c.want) {
			t.Errorf("%q is not in %s", c.want, words)
		}
	}
}
