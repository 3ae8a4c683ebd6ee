package swing_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/swing"
)

// bars returns candles with the given lows and highs: "10-8" is from 8 to 10.
func bars(text string) []market.Candle {
	var list []market.Candle
	for _, f := range strings.Fields(text) {
		var c market.Candle
		if _, err := fmt.Sscanf(f, "%f-%f", &c.High, &c.Low); err != nil {
			panic(err)
		}
		list = append(list, c)
	}
	return list
}

// format formats swings: H is a high, L a low, then bar and price.
func format(list []swing.Swing) string {
	var words []string
	for _, s := range list {
		kind := "L"
		if s.High {
			kind = "H"
		}
		words = append(words, fmt.Sprintf("%s%d:%g", kind, s.Bar, s.Price))
	}
	return strings.Join(words, " ")
}

func TestFind(t *testing.T) {
	for _, c := range []struct {
		what, bars string
		wing       int
		want       string
	}{
		{"a hill and a valley", "5-4 7-6 9-8 7-6 5-4 3-2 5-4 7-6", 2, "H2:9 L5:2"},
		{"the ends are not known yet", "9-8 7-6 5-4 7-6 9-8", 2, "L2:4"},
		{"too few bars", "5-4 9-8 5-4", 2, ""},
		{"nothing", "", 1, ""},
		{"no wing", "5-4 9-8 5-4", 0, ""},
		{"of equals the first", "5-4 9-8 9-8 5-4", 1, "H1:9"},
		{"equals apart are two", "5-4 9-8 5-4 9-8 5-4", 1, "H1:9 L2:4 H3:9"},
		{"a flat line has none", "5-4 5-4 5-4 5-4", 1, ""},
		{"rising has none", "2-1 3-2 4-3 5-4 6-5", 1, ""},
		{"a bar around its neighbours is both", "5-4 9-1 5-4", 1, "H1:9 L1:1"},
		{"a wider wing sees past a small bump", "5-4 8-7 6-5 9-8 6-5 4-3 3-2", 2, "H3:9"},
	} {
		if got := format(swing.Find(bars(c.bars), c.wing)); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
	whole := bars("5-4 9-1 5-4")
	whole[1].High = math.NaN()
	if got := format(swing.Find(whole, 1)); got != "L1:1" {
		t.Errorf("a bar without a high is listed as a swing high: %q", got)
	}
}

func TestTurns(t *testing.T) {
	h := func(bar int, price float64) swing.Swing { return swing.Swing{Bar: bar, High: true, Price: price} }
	l := func(bar int, price float64) swing.Swing { return swing.Swing{Bar: bar, Price: price} }
	for want, list := range map[string][]swing.Swing{
		"":                 nil,
		"H1:9":             {h(1, 9)},
		"H3:9.5 L4:2":      {h(1, 9), h(3, 9.5), l(4, 2)},
		"H1:9 L4:2 H6:8":   {h(1, 9), l(3, 3), l(4, 2), l(5, 2), h(6, 8)},
		"L1:2 H2:9 L5:1":   {l(1, 2), h(2, 9), h(3, 9), l(4, 2), l(5, 1)},
		"H1:9 L2:3 H3:9.5": {h(1, 9), l(1, 1), l(2, 3), h(3, 9.5)},
	} {
		if got := format(swing.Turns(list)); got != want {
			t.Errorf("%v: %q, want %q", list, got, want)
		}
	}
}

func TestLevels(t *testing.T) {
	// Lows at 10, 10.25 and 10.5 and a high at 10.25 form one level: two of them are at the mean, and the newer one
	// sets the price.
	list := []swing.Swing{
		{
			Bar:   1,
			Price: 10,
		},
		{
			Bar:   4,
			High:  true,
			Price: 10.25,
		},
		{Bar: 7, Price: 10.5},
		{Bar: 9, High: true, Price: 12},
		{Bar: 11, Price: 10.25},
	}
	levels := swing.Levels(list, 0.5)
	if len(levels) != 2 || levels[0].At.Bar != 11 || levels[0].Price != 10.25 ||
		format(levels[0].Touches) != "L1:10 H4:10.25 L7:10.5 L11:10.25" || format(levels[1].Touches) != "H9:12" ||
		levels[1].Price != 12 {
		t.Fatalf("levels: %+v", levels)
	}
	// Levels do not chain: 1, 1.4 and 1.8 are not one level of 0.5.
	drift := swing.Levels([]swing.Swing{{Bar: 1, Price: 1}, {Bar: 2, Price: 1.4}, {Bar: 3, Price: 1.8}}, 0.5)
	if len(drift) != 2 || format(drift[0].Touches) != "L1:1 L2:1.4" || format(drift[1].Touches) != "L3:1.8" {
		t.Errorf("drifting levels: %+v", drift)
	}
	if got := swing.Levels(nil, 1); len(got) != 0 {
		t.Errorf("levels of no swings: %+v", got)
	}
	before := slices.Clone(list)
	swing.Beyond(levels, 11, 0, true)
	if !slices.Equal(before, list) {
		t.Errorf("the swings were put in another order: %v", list)
	}
}

func TestBeyond(t *testing.T) {
	levels := []swing.Level{{Price: 1}, {Price: 2}, {Price: 3}, {Price: 4}, {Price: 5}}
	for _, c := range []struct {
		price, gap float64
		above      bool
		want       string
	}{
		{3, 0, false, "2 1"},
		{3, 0, true, "4 5"}, {3, 1, true, "5"}, {2.5, 0, false, "2 1"}, {0.5, 0, false, ""}, {5, 0, true, ""},
	} {
		var got []string
		for _, l := range swing.Beyond(levels, c.price, c.gap, c.above) {
			got = append(got, fmt.Sprint(l.Price))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestMeanRange(t *testing.T) {
	if got := swing.MeanRange(bars("5-4 9-6")); got != 2 {
		t.Errorf("MeanRange: %g", got)
	}
	if got := swing.MeanRange(nil); got != 0 {
		t.Errorf("of nothing: %g", got)
	}
}
