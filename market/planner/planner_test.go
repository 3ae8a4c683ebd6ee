package planner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/cite"
	"github.com/footnotehq/footnote/internal/reply"
	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/board"
	core "github.com/footnotehq/footnote/market/drawing"
	"github.com/footnotehq/footnote/market/planner"
	marketdb "github.com/footnotehq/footnote/market/sqlite"
	drawingtools "github.com/footnotehq/footnote/market/tool/drawing"
	markettools "github.com/footnotehq/footnote/market/tool/market"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/model/modeltest"
	"github.com/footnotehq/footnote/store/sqlite/sqlitetest"
	"github.com/footnotehq/footnote/tool"
)

// firstBar is when the candles of the tests begin, a Monday.
var firstBar = time.Date(2026, time.November, 9, 0, 0, 0, 0, time.UTC)

// legBars is how many bars the price takes from one turn to the next.
const legBars = 8

// zigzag returns hourly candles that go from turn to turn in straight lines. The turns are in points of 0.0001; a bar
// reaches two points beyond them.
func zigzag(turns ...float64) []market.Candle {
	var list []market.Candle
	price := func(points float64) float64 { return math.Round(points*10) / 1e5 }
	for i := 1; i < len(turns); i++ {
		for k := range legBars {
			p := turns[i-1] + (turns[i]-turns[i-1])*float64(k)/legBars
			list = append(list, market.Candle{
				Time: firstBar.Add(time.Duration(len(list)) * time.Hour), Open: price(p), High: price(p + 2),
				Low: price(p - 2), Close: price(p), Volume: 5,
			})
		}
	}
	return list
}

// chartMarket returns a market with the candles, an event, a report, a headline and trades.
func chartMarket(t *testing.T, candles []market.Candle) market.Market {
	t.Helper()
	s, err := marketdb.Open(t.Context(), filepath.Join(t.TempDir(), "market.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	l, err := s.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	end := candles[len(candles)-1].Time.Add(time.Hour)
	trade := func(id string, day int, pnl float64) market.Trade {
		at := time.Date(2026, time.October, day, 9, 0, 0, 0, time.UTC)
		return market.Trade{
			ID: id, Symbol: "EURUSD", Side: "buy", Size: 1, Opened: at, Closed: at.Add(time.Hour), Entry: 1.1,
			Exit: 1.11, PnL: pnl, Currency: "USD",
		}
	}
	for _, err := range []error{
		l.Symbol(t.Context(), market.Symbol{
			Symbol: "EURUSD", Name: "Euro", Base: "EUR", Quote: "USD", Digits: 5, Synthetic: true,
		}),
		l.Symbol(t.Context(), market.Symbol{Symbol: "AUDNZD", Base: "AUD", Quote: "NZD"}),
		l.Candles(t.Context(), "EURUSD", market.H1, candles),
		l.Events(t.Context(), []market.Event{
			{
				Time: end.Add(time.Hour), Currency: "USD", Title: "CPI y/y", Impact: "high", Forecast: new(2.9),
				Previous: new(3.1), Unit: "%",
			},
			{Time: end.Add(20 * time.Hour), Currency: "EUR", Title: "Ifo 2026", Impact: "low"},
		}),
		l.COT(t.Context(), []market.COTReport{
			{
				Symbol: "EURUSD", Date: firstBar.AddDate(0, 0, -13), Published: firstBar.AddDate(0, 0, -10),
				NonCommercialLong: 1000, NonCommercialShort: 400, CommercialLong: 700, CommercialShort: 1300,
				OpenInterest: 3000,
			},
			{
				Symbol: "EURUSD", Date: firstBar.AddDate(0, 0, -6), Published: firstBar.AddDate(0, 0, -3),
				NonCommercialLong: 1200, NonCommercialShort: 450, CommercialLong: 700, CommercialShort: 1300,
				OpenInterest: 3100,
			},
		}),
		l.Headlines(t.Context(), []market.Headline{
			{
				Time: end.Add(-time.Hour), Source: "Wire", Title: "USD CPI at 2.9%, above the forecast of 2.7%",
				Currencies: []string{"USD"},
			},
		}),
		l.Trades(t.Context(), "acme", "ada", []market.Trade{
			trade("a", 5, 120.5), trade("b", 12, -40), trade("c", 20, 10.25),
		}),
		l.Commit(t.Context()),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return market.New(s, &market.Replay{Data: s})
}

// chartTalk is a conversation with the planner at a chart. It uses the real tools of the market. Drawing calls are only
// recorded.
type chartTalk struct {
	t        *testing.T
	tools    []tool.Tool
	drawings []core.Drawing
	refuse   string // error that drawing calls return; empty: they succeed
	msgs     []model.Message
	stored   []footnote.StoredResult
	tables   []cite.Table
	calls    []string
	drawn    []map[string]any
}

func newChartTalk(t *testing.T, m market.Market) *chartTalk {
	return &chartTalk{t: t, tools: markettools.New(markettools.Options{Market: m})}
}

func (c *chartTalk) definitions() json.RawMessage {
	var list []map[string]string
	for _, t := range c.tools {
		list = append(list, map[string]string{"name": t.Spec().Name})
	}
	for _, name := range []string{"draw_horizontal_line", "draw_trendline", "draw_fibonacci", "update_drawing"} {
		list = append(list, map[string]string{"name": name})
	}
	data, err := json.Marshal(list)
	if err != nil {
		c.t.Fatal(err)
	}
	return data
}

// ask asks a question, runs the tool calls, and returns the answer. Every number in the answer must have a correct
// footnote.
func (c *chartTalk) ask(question string) string {
	c.t.Helper()
	chart := "<chart symbol=\"EURUSD\" timeframe=\"1h\">\nDrawings: " + core.Describe(c.drawings, 60) + "\n</chart>"
	c.msgs = append(c.msgs,
		message("user", map[string]any{
			"type": "text",
			"text": question,
		}, map[string]any{"type": "text", "text": chart}))
	c.calls, c.drawn = nil, nil
	for range 8 {
		reply, err := planner.Chart{}.Step(c.t.Context(), model.Request{
			Tools:    c.definitions(),
			Messages: c.msgs,
		}, &modeltest.LiveChecker{Errorf: c.t.Errorf})
		if err != nil {
			c.t.Fatal(err)
		}
		c.msgs = append(c.msgs, model.Message{Role: "assistant", Content: raw(reply.Message.Blocks)})
		if reply.Message.StopReason != model.ToolUse {
			text := agent.Text(reply.Message.Blocks)
			c.footnotes(question, text, reply.Cites)
			return text
		}
		c.run(reply.Message.Blocks[0])
	}
	c.t.Fatalf("%s: no answer", question)
	return ""
}

func (c *chartTalk) run(data json.RawMessage) {
	var b struct {
		ID, Name string
		Input    json.RawMessage
	}
	if err := json.Unmarshal(data, &b); err != nil {
		c.t.Fatal(err)
	}
	c.calls = append(c.calls, b.Name)
	content, failed := `{"ok":true,"drawing_id":"dr_new"}`, false
	for _, tl := range c.tools {
		if tl.Spec().Name != b.Name {
			continue
		}
		id := fmt.Sprintf("r%d", len(c.stored)+1)
		got, err := tl.Call(c.t.Context(),
			tool.Call{ID: b.ID, Name: b.Name, Input: b.Input, ResultID: id, Results: c.stored,
				Principal: footnote.Principal{Org: "acme", User: "ada"},
				Where:     json.RawMessage(`{"symbol":"EURUSD","timeframe":"1h"}`)})
		if err != nil {
			c.t.Fatal(err)
		}
		if content, failed = got.Content, got.IsError; got.Rows != nil {
			c.stored = append(c.stored, footnote.StoredResult{
				ID: id, SQL: got.SQL, Columns: got.Rows.Columns, RowCount: len(got.Rows.Rows),
			})
			c.tables = append(c.tables, cite.Table{
				ID: id, SQL: got.SQL, RowCount: len(got.Rows.Rows), Result: *got.Rows,
			})
		}
		c.answer(b.ID, content, failed)
		return
	}
	in := map[string]any{}
	if err := json.Unmarshal(b.Input, &in); err != nil {
		c.t.Fatal(err)
	}
	c.drawn = append(c.drawn, in)
	if c.refuse != "" {
		content, failed = c.refuse, true
	}
	c.answer(b.ID, content, failed)
}

func (c *chartTalk) answer(id, content string, failed bool) {
	c.msgs = append(c.msgs,
		message("user", map[string]any{
			"type": "tool_result", "tool_use_id": id, "content": content, "is_error": failed,
		}))
}

// footnotes checks the footnotes of an answer, and that every number has one.
func (c *chartTalk) footnotes(question, text string, cites []footnote.Cite) {
	c.t.Helper()
	for _, p := range cite.Verify(text, cites, c.tables) {
		c.t.Errorf("%s: %s: %+v", question, p.Reason, p.Cite)
	}
	_, open := cite.Resolve(text, c.tables, question)
	for _, u := range open {
		covered := false
		for _, k := range cites {
			covered = covered || u.Start < k.End && k.Start < u.End
		}
		if !covered {
			c.t.Errorf("%s: %q has no footnote (%s): %s", question, u.Text, u.Reason, text)
		}
	}
}

// wave has lows at 1.1000 (bar 8), 1.1002 (bar 24) and 1.0950 (bar 40), highs at 1.1100
// (bar 16), 1.1080 (bar 32) and 1.1060 (bar 48), and ends at 1.1020, all reached two
// points beyond.
var wave = []float64{11050, 11000, 11100, 11002, 11080, 10950, 11060, 11018}

func TestChartDrawsLevels(t *testing.T) {
	c := newChartTalk(t, chartMarket(t, zigzag(wave...)))
	text := c.ask("Draw support and resistance")
	if got := strings.Join(c.calls, " "); got != "get_candles draw_horizontal_line draw_horizontal_line" {
		t.Fatalf("calls %s: %s", got, text)
	}
	support, resistance := c.drawn[0], c.drawn[1]
	if support["price"] != 1.1 || support["label"] != "Support" ||
		!strings.HasSuffix(support["notes"].(string), "at 2026-11-09 08:00 and 2026-11-10. It is broken already: "+
			"6 closes since 2026-11-10 14:00 lie below it by more than that.") ||
		fmt.Sprint(support["tags"]) != "[support swing]" {
		t.Errorf("support: %v", support)
	}
	if resistance["price"] != 1.1062 || !strings.Contains(resistance["notes"].(string), "A close above") {
		t.Errorf("resistance: %v", resistance)
	}
	for _, want := range []string{
		"I drew support: **1.10000**", "2026-11-09 08:00 and 2026-11-10. It is broken already: `6` closes since " +
			"2026-11-10 14:00 lie below it by more than `0.00020`.", "I drew resistance: **1.10620**",
		"`1h`, 56 candles", "synthetic", "Offline planner",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
	// An existing level is not drawn again, no matter who drew it.
	c.drawings = []core.Drawing{{ID: "dr_1", Type: core.HorizontalLine, Price: new(1.10003), Version: 1}}
	if text = c.ask("draw support"); len(c.drawn) > 0 ||
		!strings.Contains(text, "Support is marked already, by `dr_1`") {
		t.Errorf("%v: %s", c.drawn, text)
	}
	c.drawings[0].Hidden = true
	if text = c.ask("draw support"); len(c.drawn) > 0 || !strings.Contains(text, "by `dr_1`, which is hidden (") {
		t.Errorf("%v: %s", c.drawn, text)
	}
	c.drawings[0].Hidden, c.drawings[0].Visibility = false, core.Visibility{"4h", "1D"}
	if text = c.ask("draw support"); len(c.drawn) > 0 ||
		!strings.Contains(text, "by `dr_1`, which is shown on `4h`, `1D` only, so") {
		t.Errorf("%v: %s", c.drawn, text)
	}
	if text = c.ask("Where is resistance?"); len(c.drawn) > 0 || !strings.HasPrefix(text, "Resistance: **1.10620**") {
		t.Errorf("%v: %s", c.drawn, text)
	}
	c.refuse = "There is a level at 1.1062 already: dr_7."
	if text = c.ask("draw resistance"); len(c.drawn) != 1 ||
		!strings.Contains(text, "could not be drawn (`There is a level at 1.1062 already: dr_7.`)") {
		t.Errorf("%v: %s", c.drawn, text)
	}
}

func TestChartDrawsSwings(t *testing.T) {
	anchors := func(in map[string]any) string {
		a, b := in["anchor1"].(map[string]any), in["anchor2"].(map[string]any)
		return fmt.Sprintf("%v %v, %v %v", a["timestamp"], a["price"], b["timestamp"], b["price"])
	}
	for _, q := range []struct{ said, call, anchors, says string }{
		{
			"Draw the trendline of the last swing", "draw_trendline",
			"2026-11-10T00:00:00Z 1.1, 2026-11-10T16:00:00Z 1.0948", "the last swing went up",
		},
		{
			"trendline through the last two highs", "draw_trendline",
			"2026-11-10T08:00:00Z 1.1082, 2026-11-11T00:00:00Z 1.1062", "asked for",
		},
		{
			"fib from the last high to low", "draw_fibonacci",
			"2026-11-10T08:00:00Z 1.1082, 2026-11-10T16:00:00Z 1.0948", "`0.5` is at 1.10150",
		},
		{
			"Draw a fib from the last low to the last high", "draw_fibonacci",
			"2026-11-10T16:00:00Z 1.0948, 2026-11-11T00:00:00Z 1.1062", "`0.5` is at 1.10050",
		},
		{
			"fib of the last swing", "draw_fibonacci", "2026-11-10T16:00:00Z 1.0948, 2026-11-11T00:00:00Z 1.1062",
			"`0.618`",
		},
	} {
		c := newChartTalk(t, chartMarket(t, zigzag(wave...)))
		text := c.ask(q.said)
		if strings.Join(c.calls, " ") != "get_candles "+q.call || anchors(c.drawn[0]) != q.anchors ||
			!strings.Contains(text, q.says) || c.drawn[0]["notes"] == "" {
			t.Errorf("%s: %v %v\n%s", q.said, c.calls, c.drawn, text)
		}
	}
	// Half of a swing of an odd number of points is rounded up.
	c := newChartTalk(t, chartMarket(t, zigzag(11050, 11000, 11100, 11000, 11090.1, 11010)))
	if text := c.ask("fib from low to high"); !strings.Contains(text, "`0.5` is at 1.10451") {
		t.Error(text)
	}
	c = newChartTalk(t, chartMarket(t, zigzag(11000, 11100)))
	if text := c.ask("fib from high to low"); len(c.drawn) > 0 || !strings.Contains(text, "no such swing") {
		t.Errorf("%v: %s", c.drawn, text)
	}
}

// TestBrokenLines draws lines beyond which the price has closed since. The notes and the answer say so.
func TestBrokenLines(t *testing.T) {
	support := core.Drawing{
		ID: "dr_1", Type: core.HorizontalLine, Price: new(1.0948), Label: "Support", Version: 4,
	}
	for _, q := range []struct {
		said           string
		turns          []float64
		notes, written string
	}{
		{
			"draw support", []float64{11050, 11000, 11100, 11030, 11090, 11070},
			"A close below it would make it wrong.", "by at 2026-11-10.\n",
		},
		{
			"trendline through the last two lows", []float64{11050, 11000, 11100, 11030, 11090, 11020},
			"3 closes since 2026-11-10 13:00 lie below it.", "`3` closes since 2026-11-10 13:00 lie below it.",
		},
		{
			"fib from the last low to the last high", []float64{11050, 11000, 11100, 10960},
			"2 closes since 2026-11-09 22:00 lie below it.", "`2` closes since 2026-11-09 22:00 lie below it.",
		},
		{
			"raise support up to the last swing low", wave,
			"7 closes since 2026-11-10 13:00 lie below it.", "`7` closes since 2026-11-10 13:00 lie below it.",
		},
		{
			"fib from the last low to the last high", []float64{11050, 11000, 11100, 10978},
			"the close of 2026-11-09 23:00 lies below it.", "the close of 2026-11-09 23:00 lies below it.",
		},
	} {
		c := newChartTalk(t, chartMarket(t, zigzag(q.turns...)))
		if strings.HasPrefix(q.said, "raise") {
			c.drawings = []core.Drawing{support}
		}
		text := c.ask(q.said)
		if notes := fmt.Sprint(c.drawn[0]["notes"]); !strings.HasSuffix(notes, q.notes) ||
			!strings.Contains(text, q.written) {
			t.Errorf("%s: %s\n%s", q.said, notes, text)
		}
	}
}

func TestChartMovesLevels(t *testing.T) {
	line := func(id string, price float64, label string, version int64) core.Drawing {
		return core.Drawing{ID: id, Type: core.HorizontalLine, Price: &price, Label: label, Version: version}
	}
	locked := line("dr_1", 1.1, "Support", 4)
	locked.Locked = true
	ray := core.Drawing{
		ID: "dr_2", Type: core.HorizontalRay, Anchors: []core.Anchor{{Time: firstBar.Unix(), Price: 1.1}},
		Tags: []string{"support"}, Version: 5,
	}
	down := "Move support down to the last swing low"
	for name, q := range map[string]struct {
		said     string
		drawings []core.Drawing
		want     string // input of the call: id, version, price; empty: no call
		says     string
	}{
		"one": {
			down, []core.Drawing{
				line("dr_1", 1.1, "Support", 4),
			}, "dr_1 4 1.0948", "from `1.10000` down to **1.09480** at 2026-11-10 16:00, the last swing low.",
		},
		"the nearest of two": {
			down, []core.Drawing{
				line("dr_0", 1.08, "Support", 2), line("dr_1", 1.1, "Support", 4),
			}, "dr_1 4 1.0948", "There are several",
		},
		"a ray": {down, []core.Drawing{ray}, "dr_2 5 1.0948", "dr_2"},
		"without a name": {
			down, []core.Drawing{
				line("dr_3", 1.1, "", 4), line("dr_4", 1.12, "", 4),
			}, "dr_3 4 1.0948", "No drawing is called support",
		},
		"none": {down, nil, "", "There is no support on this chart"},
		"none below": {
			down, []core.Drawing{line("dr_3", 1.12, "", 4)}, "", "There is no support on this chart",
		},
		"something else": {
			down, []core.Drawing{line("dr_3", 1.1, "Resistance", 4)}, "", "There is no support on this chart",
		},
		"locked": {down, []core.Drawing{locked}, "", "is locked"},
		"lower already": {
			down, []core.Drawing{line("dr_1", 1.09, "Support", 4)}, "", "No swing low of these candles is below",
		},
		"there already": {
			"move support to the last swing low", []core.Drawing{line("dr_1", 1.0948, "Support", 4)}, "", "already",
		},
		"another drawing exists": {
			down, []core.Drawing{
				line("dr_1", 1.1, "Support", 4), line("dr_5", 1.0948, "Low", 9),
			}, "", "Another level (`dr_5`)",
		},
		"up to an older swing": {
			"raise resistance up to the last swing high", []core.Drawing{
				line("dr_6", 1.107, "Resistance", 4),
			}, "dr_6 4 1.1082", "a newer one is not above it",
		},
		"resistance comes down": {
			"move resistance down to the last swing high", []core.Drawing{
				line("dr_6", 1.107, "Resistance", 4),
			}, "dr_6 4 1.1062", "down to **1.10620**",
		},
	} {
		c := newChartTalk(t, chartMarket(t, zigzag(wave...)))
		c.drawings = q.drawings
		text, got := c.ask(q.said), ""
		if len(c.drawn) > 0 {
			in := c.drawn[0]
			price := in["price"]
			if a, ok := in["anchor"].(map[string]any); ok {
				price = a["price"]
			}
			got = fmt.Sprint(in["drawingId"], " ", in["version"], " ", price)
			if reason, _ := in["reason"].(string); !strings.Contains(reason, "is 1.") ||
				!strings.Contains(reason, "at 2026-11-1") {
				t.Errorf("%s: the reason is %q", name, reason)
			}
		}
		if got != q.want || !strings.Contains(text, q.says) {
			t.Errorf("%s: %q, want %q: %s", name, got, q.want, text)
		}
	}
	c := newChartTalk(t, chartMarket(t, zigzag(wave...)))
	for i := range 70 { // more than a message describes
		c.drawings = append(c.drawings, line(fmt.Sprintf("dr_%d", i), 2+float64(i), "Target", int64(i)))
	}
	if text := c.ask(down); len(c.drawn) > 0 ||
		!strings.Contains(text, "I see only some of the drawings on this chart, and there is no support among them.") {
		t.Errorf("%v: %s", c.drawn, text)
	}
	for i := range c.drawings[1:] { // a level is described before remarks that are newer
		c.drawings[i+1].Type, c.drawings[i+1].Text, c.drawings[i+1].Anchors = core.Text, "Here", []core.Anchor{
			{Time: firstBar.Unix(), Price: 1.1},
		}
	}
	c.drawings[0] = line("dr_0", 1.1, "Support", 1)
	if text := c.ask(down); len(c.drawn) != 1 || !strings.Contains(text, "dr_0") {
		t.Errorf("%v: %s", c.drawn, text)
	}
	c.drawings, c.refuse = []core.Drawing{
		line("dr_1", 1.1, "Support", 4),
	}, "The drawing has changed since: it is at version 6."
	if text := c.ask(down); !strings.HasPrefix(text, "I moved nothing: `The drawing has changed since") ||
		len(c.drawn) != 1 {
		t.Errorf("%v: %s", c.drawn, text)
	}
}

func TestMarketQuestions(t *testing.T) {
	for said, q := range map[string]struct {
		calls string
		says  []string
	}{
		"How did I do in October?": {
			"get_trade_history get_trade_stats", []string{
				"You closed 3 trades: 2 won and 1 lost, a win rate of 66.7 percent", "**90.75** USD",
				"`2026-10-01` to `2026-10-31` (October, counted from `2026-11-11`",
			},
		},
		"How did I do last month?": {
			"get_trade_history get_trade_stats", []string{"You closed 3 trades", "- EURUSD: 90.75 over 3 trades"},
		},
		"How did I do this month?": {
			"get_trade_history get_trade_stats", []string{
				"no closed trade of yours in this period: `2026-11-01` to `2026-11-30`",
			},
		},
		"my trading performance": {"get_trade_stats", []string{"You closed 3 trades", "all of the journal"}},
		"What's coming up today?": {
			"get_news_events", []string{
				"2026-11-11 09:00 USD CPI y/y (high), forecast 2.9%, previous 3.1%", "after midnight", "Ifo 2026",
			},
		},
		"What's coming up tomorrow?": {"get_news_events get_news_events", []string{
			"Scheduled tomorrow for the currencies of EURUSD:\n\n- 2026-11-12 04:00 EUR Ifo 2026 (low)"}},
		"price": {"get_current_price", []string{"EURUSD: bid **1.1", "pips, as of 2026-11-11 08:00 (UTC)"}},
		"COT": {
			"get_cot_positioning", []string{
				"1,200 contracts long and 450 short on 2026-11-03: a net position of **750**, a change of 150 in a " +
					"week",
			},
		},
		"headlines": {
			"get_headlines", []string{"2026-11-11 07:00 USD CPI at 2.9%, above the forecast of 2.7% (Wire)"},
		},
		"price of GBPUSD": {"get_current_price", []string{"could not be read"}},
		"should I buy?": {
			"", []string{
				"I did nothing", "You could ask:\n- Draw support and resistance\n- Draw a fib from the last high to the " +
					"last low\n- What's coming up today?",
			},
		},
		"delete support": {"", []string{"I don't understand the word `delete` in it."}},
	} {
		c := newChartTalk(t, chartMarket(t, zigzag(wave...)))
		text := c.ask(said)
		if got := strings.Join(c.calls, " "); got != q.calls {
			t.Errorf("%s: %s, want %s", said, got, q.calls)
		}
		for _, want := range q.says {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is not in %s", said, want, text)
			}
		}
	}
}

// TestChartListsDrawings checks that the answer lists the drawings with footnotes, and says how many it leaves out.
func TestChartListsDrawings(t *testing.T) {
	ada := footnote.Principal{Org: "acme", User: "ada"}
	boards := board.New(board.Options{Log: sqlitetest.New(t)})
	put := func(d core.Drawing) {
		t.Helper()
		d.Symbol, d.Timeframe = "EURUSD", "1h"
		if _, err := boards.Put(t.Context(), ada, d, 0, core.Cause{By: core.Human, User: "ada"}); err != nil {
			t.Fatal(err)
		}
	}
	c := newChartTalk(t, chartMarket(t, zigzag(wave...)))
	for _, tool := range drawingtools.New(drawingtools.Options{Boards: boards}) {
		if tool.Spec().Name == "get_drawings" {
			c.tools = append(c.tools, tool)
		}
	}
	if text := c.ask("What have I drawn?"); !strings.HasPrefix(text, "There are no drawings on the chart of EURUSD.") {
		t.Error(text)
	}
	ends := []core.Anchor{{Time: firstBar.Unix(), Price: 1.1}, {Time: firstBar.Add(5 * time.Hour).Unix(), Price: 1.2}}
	put(core.Drawing{Type: core.HorizontalLine, Price: new(1.0955), Label: "Low of 2025"})
	put(core.Drawing{Type: core.Trendline, Anchors: ends, Locked: true})
	put(core.Drawing{Type: core.VerticalLine, Anchors: []core.Anchor{{Time: firstBar.Add(time.Hour).Unix()}}})
	put(core.Drawing{Type: core.Text, Anchors: ends[:1], Text: "Watch 1.3"})
	put(core.Drawing{
		Type: core.ShortPosition, Anchors: ends, Entry: new(1.2), TakeProfit: new(1.1), StopLoss: new(1.25),
		Hidden: true,
	})
	text := c.ask("List my drawings")
	for _, want := range []string{
		"There are 5 drawings on the chart of EURUSD:\n", "- horizontal line “Low of 2025” at 1.0955 (`1h`, `dr_",
		"- trendline at 1.1, 2026-11-09 to 1.2, 2026-11-09 05:00 (", "drawn by you, locked)",
		"- vertical line at 2026-11-09 01:00 (", "- text “Watch 1.3” at 1.1, 2026-11-09 (",
		"- short position, signal: entry 1.2, target 1.1, stop 1.25 (",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
	for i := range 50 {
		put(core.Drawing{Type: core.HorizontalLine, Price: new(2 + float64(i))})
	}
	if text := c.ask("How many drawings are there?"); !strings.HasPrefix(text,
		"There are `55` drawings on the chart of EURUSD;") || strings.Count(text, "\n- ") != 50 {
		t.Error(text)
	}
}

// crossedLine is the tool get_drawings with one line that closes have crossed.
type crossedLine struct{ tool.Tool }

func (crossedLine) Call(_ context.Context, call tool.Call) (tool.Output, error) {
	res := footnote.Result{
		Columns: []footnote.Column{
			{Name: "id"}, {Name: "type"}, {Name: "price"}, {Name: "crossed_closes"}, {Name: "crossed_side"},
			{Name: "crossed_since"},
		},
		Rows: [][]any{{"dr_1", "horizontal_line", 1.1, int64(7), "above", "2026-11-09T14:00:00Z"}},
	}
	table := string(reply.Table{ID: call.ResultID, Result: res}.JSON())
	return tool.Output{Content: `{"symbol":"EURUSD","table":` + table + `}`, Rows: &res}, nil
}

// TestChartListsCrossedLine checks that the count of closes has a footnote.
func TestChartListsCrossedLine(t *testing.T) {
	c := newChartTalk(t, chartMarket(t, zigzag(wave...)))
	for _, tool := range drawingtools.New(drawingtools.Options{}) {
		if tool.Spec().Name == "get_drawings" {
			c.tools = append(c.tools, crossedLine{tool})
		}
	}
	text := c.ask("List my drawings")
	want := "- horizontal line at 1.1, crossed: 7 closes above it since 2026-11-09 14:00 ("
	if !strings.Contains(text, want) {
		t.Errorf("%q is not in %s", want, text)
	}
}

// TestChartCalendar asks about times that the calendar does not cover.
func TestChartCalendar(t *testing.T) {
	for said, want := range map[string]string{
		"What's coming up today?": "No calendar is loaded for the currencies of AUDNZD, so it is not known " +
			"whether anything is scheduled.",
		"What's coming up this week": "The loaded calendar ends at `2026-11-12 04:00`; later events are not known.",
	} {
		s := chartMarket(t, zigzag(wave...))
		c := newChartTalk(t, s)
		if strings.Contains(want, "AUDNZD") {
			said += " for AUDNZD"
		}
		if text := c.ask(said); !strings.Contains(text, want) {
			t.Errorf("%s: %s", said, text)
		}
	}
}

// TestMissingChartOrTools checks the answers without a chart, without a needed tool, and to a side job.
func TestMissingChartOrTools(t *testing.T) {
	step := func(tools string, blocks ...map[string]any) string {
		t.Helper()
		reply, err := planner.Chart{}.Step(t.Context(), model.Request{
			Tools:    json.RawMessage(tools),
			Messages: []model.Message{message("user", blocks...)},
		}, &modeltest.LiveChecker{Errorf: t.Errorf})
		if err != nil {
			t.Fatal(err)
		}
		return agent.Text(reply.Message.Blocks)
	}
	said := map[string]any{"type": "text", "text": "Draw support and resistance"}
	at := map[string]any{
		"type": "text",
		"text": "<chart symbol=\"EURUSD\" timeframe=\"1h\">\nDrawings: not available now (It broke).\n</chart>",
	}
	if text := step(`[{"name":"get_candles"}]`, said); !strings.Contains(text, "which chart") {
		t.Error(text)
	}
	if text := step(`[{"name":"get_headlines"}]`, said, at); !strings.Contains(text,
		"the tool get_candles for that, which is not available") {
		t.Error(text)
	}
	if text := step(`[{"name":"get_headlines"}]`, map[string]any{
		"type": "text",
		"text": "Move support down to the last swing low",
	}, at); !strings.Contains(text, "cannot be read now") {
		t.Error(text)
	}
	if text := step(`[]`, said); text != "Draw support and resistance" {
		t.Errorf("a title: %s", text)
	}
}

// TestPageSuggestionsWork checks that the planner understands every suggestion that the page shows before the first
// question.
func TestPageSuggestionsWork(t *testing.T) {
	page, err := os.ReadFile("../../web/ui/src/market/Chat.tsx")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(page), "const suggestions = [")
	list, _, ok := strings.Cut(list, "];")
	if !ok {
		t.Fatal("Chat.tsx has no list of suggestions")
	}
	c, n := newChartTalk(t, chartMarket(t, zigzag(wave...))), 0
	for line := range strings.Lines(list) {
		offer, err := strconv.Unquote(strings.TrimSuffix(strings.TrimSpace(line), ","))
		if err != nil {
			continue
		}
		n++
		if text := c.ask(offer); strings.Contains(text, "I did nothing") {
			t.Errorf("%s: %s", offer, text)
		}
	}
	if n < 6 {
		t.Errorf("the page offers %d requests", n)
	}
}

func message(role string, blocks ...map[string]any) model.Message {
	b, err := json.Marshal(blocks)
	if err != nil {
		panic(err)
	}
	return model.Message{Role: role, Content: b}
}

func raw(blocks []json.RawMessage) json.RawMessage {
	b, err := json.Marshal(blocks)
	if err != nil {
		panic(err)
	}
	return b
}
