package drawing_test

import (
	"encoding/json"
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

// TestEndOfData uses data whose last bar begins at 1:29. A marker after it is refused, and a future time is moved to
// the start of the bar that would contain it.
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
	line := call("draw_vertical_line", "toolu_1", `{"timestamp":"2026-11-19T04:50:00Z"}`)
	if _, err := tools["draw_vertical_line"].Accept(ctx, line, tool.Answer{Content: `{"ok":true}`}); err != nil {
		t.Fatal(err)
	}
	v, err := boards.View(ctx, footnote.Principal{Org: alice.Org, User: alice.User}, "EURUSD")
	if err != nil || len(v.Drawings) != 1 || v.Drawings[0].Anchors[0].Time != begin.Add(4*time.Hour).Unix() {
		t.Errorf("%+v, %v", v.Drawings, err)
	}
	mark := call("draw_marker", "toolu_2", `{"anchor":{"timestamp":"2026-11-19T01:31:00Z","price":1.1}}`)
	mark.Where = json.RawMessage(`{"symbol":"EURUSD","timeframe":"1m"}`)
	if words, err := tools["draw_marker"].Check(ctx, mark, nil); err != nil || words == "" {
		t.Errorf("a marker after the last bar: %q, %v", words, err)
	}
}

// TestMissingDataIsUnknown checks that a calendar, news and reports that nobody loaded, or that end before now, are
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
		{-time.Hour, "not known: the calendar that is loaded ends at 2026-11-19T00:30:00Z."},
		{72 * time.Hour, "none is in the calendar, which goes on beyond them."}, {time.Hour, "CPI y/y (high)"},
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
