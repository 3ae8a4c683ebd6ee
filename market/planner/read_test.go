package planner

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote/market/drawing"
)

// described returns the end of a message at a chart with drawings.
func described(list ...drawing.Drawing) string {
	return "<chart symbol=\"EURUSD\" timeframe=\"1h\">\nCurrent price: bid 1.1.\nDrawings: " + drawing.Describe(list,
		60) + "\nKey levels of the drawings, the highest first: none.\n</chart>"
}

// TestParseChart checks that drawings are parsed from their description.
func TestParseChart(t *testing.T) {
	at := time.Date(2026, 11, 18, 14, 0, 0, 0, time.UTC).Unix()
	anchors := []drawing.Anchor{{Time: at, Price: 1.1}, {Time: at + 3600, Price: 1.25}}
	list := []drawing.Drawing{
		{
			ID: "dr_1", Type: drawing.HorizontalLine, Price: new(1.0950), Label: `My "old" support (weekly): low`,
			Version: 7, Tags: []string{"support", "swing"}, Notes: "Three\n- [dr_9] text lows (version 3): here.",
		},
		{ID: "dr_2", Type: drawing.HorizontalRay, Anchors: anchors[:1], Version: 6, Locked: true, Importance: "high"},
		{
			ID: "dr_3", Type: drawing.Trendline, Anchors: anchors, Extend: "ray", Version: 5,
			Visibility: drawing.Visibility{"1h", "4h"}, Created: drawing.Stamp{By: drawing.Human},
		},
		{ID: "dr_4", Type: drawing.Fibonacci, Anchors: anchors, Version: 4},
		{
			ID: "dr_6", Type: drawing.LongPosition, Anchors: anchors, Entry: new(1.1), StopLoss: new(1.0),
			TakeProfit: new(1.3), Status: "open", Version: 2,
		},
		{ID: "dr_5", Type: drawing.Text, Anchors: anchors[:1], Text: "Support at 1.2", Version: 3},
		{ID: "dr_7", Type: drawing.HorizontalLine, Price: new(1.2), Version: 9, Hidden: true},
	}
	got, found := parseChart(described(list...))
	if !found || got.symbol != "EURUSD" || got.timeframe != "1h" || got.unavailable || got.truncated ||
		len(got.drawings) != len(list) {
		t.Fatalf("chart: %+v", got)
	}
	for i, want := range append(list[:4:4], list[6]) {
		if i == 4 {
			i = 6
		}
		d := got.drawings[i]
		if d.ID != want.ID || d.Type != want.Type || d.Version != want.Version || d.Locked != want.Locked ||
			d.Hidden != want.Hidden || d.Label != want.Label ||
			strings.Join(d.Tags, ",") != strings.Join(want.Tags, ",") ||
			strings.Join(d.Visibility, ",") != strings.Join(want.Visibility, ",") ||
			fmt.Sprint(d.Anchors) != fmt.Sprint(want.Anchors) || (d.Price == nil) != (want.Price == nil) ||
			d.Price != nil && *d.Price != *want.Price {
			t.Errorf("%+v, want %+v", d, want)
		}
	}
	if d := got.drawings[4]; d.ID != "dr_6" || d.Type != drawing.LongPosition {
		t.Errorf("drawing: %+v", d)
	}
	if got, found := parseChart(
		"<chart symbol=\"EURUSD\" timeframe=\"1h\">\nDrawings: not available now (The store is " +
			"away).\n</chart>"); !found || !got.unavailable {
		t.Errorf("want an unavailable chart: %+v", got)
	}
	for _, none := range []string{"", "The chart.", `He said <chart symbol="EURUSD" timeframe="1h">`} {
		if got, found := parseChart(none); found {
			t.Errorf("%q: %+v", none, got)
		}
	}
}

func TestUnderstand(t *testing.T) {
	at := chartContext{symbol: "EURUSD", timeframe: "1h"}
	for said, want := range map[string]request{
		"Draw support and resistance":                    {kind: "levels", support: true, resist: true},
		"Please draw the key levels on this chart.":      {kind: "levels", support: true, resist: true},
		"mark resistance on eurusd":                      {kind: "levels", resist: true, symbol: "EURUSD"},
		"price of xau/usd":                               {kind: "price", symbol: "XAUUSD"},
		"what is the price of US30?":                     {kind: "price", symbol: "US30"},
		"PRICE OF BTC-USD NOW":                           {kind: "price", symbol: "BTC-USD"},
		"What's on today?":                               {kind: "events", period: "today"},
		"mark resistance on EURUSD":                      {kind: "levels", resist: true, symbol: "EURUSD"},
		"Where is the nearest support?":                  {kind: "levels", support: true, describeOnly: true},
		"draw s/r on the 1h":                             {kind: "levels", support: true, resist: true},
		"Draw the trendline of the last swing":           {kind: "trendline"},
		"draw a trendline through the last two lows":     {kind: "trendline", lows: true},
		"draw a resistance trend line":                   {kind: "trendline", resist: true, highs: true},
		"fib from the last high to low":                  {kind: "fib", highs: true, lows: true, down: true},
		"Draw a fib from the last high to the last low":  {kind: "fib", highs: true, lows: true, down: true},
		"fib low to high":                                {kind: "fib", highs: true, lows: true, up: true},
		"draw the fibonacci retracement of the last leg": {kind: "fib"},
		"Move support down to the last swing low":        {kind: "move", support: true, lows: true, down: true},
		"raise the resistance to the latest swing high":  {kind: "move", resist: true, highs: true, up: true},
		"move the support line to the last swing low":    {kind: "move", support: true, lows: true},
		"How did I do last month?":                       {kind: "stats", period: "last month"},
		"how did I do in October 2026?":                  {kind: "stats", period: "october 2026"},
		"how am I doing this week on GBPUSD":             {kind: "stats", period: "this week", symbol: "GBPUSD"},
		"show my trading performance":                    {kind: "stats"},
		"How did I do in 2025?":                          {kind: "stats", period: "2025"},
		"What's coming up today?":                        {kind: "events", period: "today"},
		"What’s coming up tomorrow?":                     {kind: "events", period: "tomorrow"},
		"economic calendar":                              {kind: "events"},
		"price":                                          {kind: "price"},
		"What is the current price of GBP/USD?":          {kind: "price", symbol: "GBPUSD", describeOnly: true},
		"COT":                                            {kind: "cot"},
		"how are speculators positioned?":                {kind: "cot"},
		"headlines":                                      {kind: "headlines"},
		"Any news?":                                      {kind: "headlines"},
		"List my drawings":                               {kind: "drawings"},
		"what have I drawn?":                             {kind: "drawings"},
		"Which drawings are there on this chart?":        {kind: "drawings"},
	} {
		got, why := understand(said, at)
		if got == nil {
			t.Errorf("%q: nothing: %s", said, why)
			continue
		}
		if got.kind == "stats" || got.kind == "events" || got.kind == "drawings" || got.kind == "price" ||
			got.kind == "cot" || got.kind == "headlines" {
			got.describeOnly = want.describeOnly
		}
		if *got != want {
			t.Errorf("%q: %+v, want %+v", said, *got, want)
		}
	}
	for said, why := range map[string]string{
		"move support to the last low high": "which one",
		"trendline of swing lows highs":     "through lows or through highs",
		"":                                  "", "hello": "", "should I buy now?": "", "remove all drawings": "",
		"what is the meaning of life?": "",
		"draw a long position":         "", "undo": "",
		"don't draw support":                               "`don't`",
		"draw support and resistance of the last year":     "`of`|`last`|`year`",
		"draw support and a trendline":                     "",
		"delete support":                                   "`delete`",
		"draw support on the 4h":                           "`4h`",
		"draw support on GBPUSD":                           "EURUSD",
		"fib from the last high":                           "from a high to a low",
		"trendline through lows and highs":                 "one drawing",
		"move support to 1.09":                             "`1.09`",
		"move support and resistance to the last low":      "one drawing",
		"how did I do last month and this year?":           "",
		"how did I do tomorrow?":                           "",
		"What's coming up last month?":                     "",
		"price of gold":                                    "`gold`",
		strings.Repeat("draw support and resistance ", 40): "too long",
	} {
		got, words := understand(said, at)
		ok := false
		for _, w := range strings.Split(why, "|") {
			ok = ok || strings.Contains(words, w)
		}
		if got != nil || !ok {
			t.Errorf("%q: %+v, %q, want %q", said, got, words, why)
		}
	}
}

func TestRequestSpan(t *testing.T) {
	now := time.Date(2026, 11, 19, 15, 42, 0, 0, time.UTC) // a Thursday
	for period, want := range map[string]string{
		"today": "2026-11-19 2026-11-20", "yesterday": "2026-11-18 2026-11-19", "tomorrow": "2026-11-20 2026-11-21",
		"this week": "2026-11-16 2026-11-23", "last week": "2026-11-09 2026-11-16",
		"this month": "2026-11-01 2026-12-01", "last month": "2026-10-01 2026-11-01",
		"this quarter": "2026-10-01 2027-01-01", "last quarter": "2026-07-01 2026-10-01",
		"this year": "2026-01-01 2027-01-01", "last year": "2025-01-01 2026-01-01", "last day": "2026-11-18 2026-11-19",
		"october": "2026-10-01 2026-11-01", "december": "2025-12-01 2026-01-01", "november": "2026-11-01 2026-12-01",
		"march 2025": "2025-03-01 2025-04-01", "2025": "2025-01-01 2026-01-01",
	} {
		r := request{period: period}
		from, to := r.span(now)
		if got := from.Format(time.DateOnly) + " " + to.Format(time.DateOnly); got != want {
			t.Errorf("%s: %s, want %s", period, got, want)
		}
	}
	r := request{period: "last month"}
	if from, _ := r.span(time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC)); from.Format(time.DateOnly) != "2026-12-01" {
		t.Errorf("before January: %s", from)
	}
	r.period = "this week"
	if from, _ := r.span(time.Date(2026, 11, 22, 23, 0, 0, 0, time.UTC)); from.Format(time.DateOnly) != "2026-11-16" {
		t.Errorf("a Sunday's week: %s", from)
	}
}
