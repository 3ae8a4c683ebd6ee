package planner

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/swing"
	"github.com/footnotehq/footnote/model/offline"
)

// marketTable is the answer of a market tool.
type marketTable struct {
	Now       time.Time       `json:"now"`
	Synthetic bool            `json:"synthetic"`
	Symbol    string          `json:"symbol"`
	Digits    int             `json:"digits"`
	Partial   bool            `json:"last_candle_partial"`
	Total     int             `json:"total"` // of drawings, on all pages
	From      string          `json:"from"`
	To        time.Time       `json:"to"`
	Ends      time.Time       `json:"calendar_ends"` // zero: no calendar is loaded
	Table     json.RawMessage `json:"table"`
	Reason    string          `json:"reason"` // why a part is unavailable
	result
}

// marketResult reads the answer of a market tool. If it holds no table, marketResult writes the reason and returns
// false.
func (w *writer) marketResult(c *offline.Call) (t marketTable, ok bool) {
	t, reason := readTable(c)
	if reason != "" {
		w.Text("The market could not be read, so I did nothing: `" + offline.Clip(reason) + "`")
	}
	return t, reason == ""
}

// readTable reads the answer of a tool. reason is set if it holds no table.
func readTable(c *offline.Call) (t marketTable, reason string) {
	err := json.Unmarshal([]byte(c.Content), &t)
	if !c.Failed && err == nil {
		if t.Result, err = offline.ParseResult(&offline.Call{Content: string(t.Table)}); err == nil {
			return t, ""
		}
	}
	switch {
	case !c.Failed:
		return t, "the answer cannot be read"
	case t.Reason != "":
		return t, t.Reason
	}
	return t, c.Content
}

// result is the table that a tool returned.
type result struct{ offline.Result }

// column returns the index of a column, or -1.
func (r result) column(name string) int { return slices.Index(r.Columns, name) }

// at returns a cell, or nil if there is none.
func (r result) at(row int, column string) any {
	if i := r.column(column); i >= 0 && row < len(r.Rows) {
		return r.Rows[row][i]
	}
	return nil
}

// value returns a cell as a number.
func (r result) value(row int, column string) (float64, bool) {
	return offline.Number(r.at(row, column))
}

// moment returns a cell as a time.
func (r result) moment(row int, column string) time.Time {
	s, _ := r.at(row, column).(string)
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t, _ = time.Parse(time.DateOnly, s)
	}
	return t
}

// clock formats a time for an answer.
func clock(t time.Time) string {
	if t.Hour() == 0 && t.Minute() == 0 {
		return t.Format(time.DateOnly)
	}
	return t.Format("2006-01-02 15:04")
}

// row writes a text in which {column form} stands for a cell of the row with its footnote. The form is time, text,
// money, count, or a number of decimal places; without one, a number has as many as needed.
func (w *writer) row(t marketTable, row int, text string) {
	for text != "" {
		before, rest, _ := strings.Cut(text, "{")
		w.Text(before)
		cell, after, found := strings.Cut(rest, "}")
		if found {
			column, form, _ := strings.Cut(cell, " ")
			w.cell(t, row, column, form)
		}
		text = after
	}
}

func (w *writer) cell(t marketTable, row int, column, form string) {
	v, known := t.value(row, column)
	var shown string
	switch {
	case form == "text":
		w.Cell(t.Result, row, t.column(column), false, false)
		return
	case form == "time":
		shown = clock(t.moment(row, column))
	case !known:
		w.Text(map[bool]string{true: "none", false: "not known"}[form == "money"])
		return
	case form == "money":
		shown = offline.Figure2(v)
	case form == "count":
		shown = offline.Figure(v)
	default:
		digits, err := strconv.Atoi(form)
		if err != nil {
			digits = -1
		}
		shown = strconv.FormatFloat(v, 'f', digits, 64)
	}
	w.Cite(shown, footnote.Cite{Result: t.ID, Row: new(row), Column: column, Value: offline.Exact(t.at(row, column))})
}

// synthetic writes a note if the data was invented.
func (w *writer) synthetic(t marketTable) {
	if t.Synthetic {
		w.Text("\n\nThe data is synthetic: it was invented for a demo and says nothing about a real market.")
	}
}

// bars holds the candles of a chart and their swings.
type bars struct {
	marketTable
	list      []market.Candle
	close     float64 // of the newest candle
	wing      int     // bars on each side that a swing must exceed
	swings    []swing.Swing
	turns     []swing.Swing // alternating highs and lows
	tolerance float64       // prices at most this far apart are one level
}

// candlesRead is the number of candles to read. Of the wings, widest first, the first that gives minTurns is used.
const (
	candlesRead = 300
	minTurns    = 4
)

var wings = []int{5, 3, 2}

// readBars parses candles and finds their swings. Without usable candles it writes the reason and returns nil. A
// partial bar can neither be a swing nor confirm one.
func (w *writer) readBars(c *offline.Call) *bars {
	t, ok := w.marketResult(c)
	if !ok {
		return nil
	}
	b := &bars{marketTable: t}
	for i := range t.Rows {
		k := market.Candle{Time: t.moment(i, "time")}
		var good [3]bool
		k.High, good[0] = t.value(i, "high")
		k.Low, good[1] = t.value(i, "low")
		k.Close, good[2] = t.value(i, "close")
		if good != [3]bool{true, true, true} || k.Time.IsZero() {
			w.Text("The market could not be read, so I did nothing: `a candle has no price`")
			return nil
		}
		b.list = append(b.list, k)
	}
	if len(b.list) == 0 {
		w.Text("There are no candles of " + t.Symbol + " to look at, so I did nothing.")
		return nil
	}
	b.close = b.list[len(b.list)-1].Close
	whole := b.list
	if t.Partial {
		whole = whole[:len(whole)-1]
	}
	for _, b.wing = range wings {
		b.swings = swing.Find(whole, b.wing)
		if b.turns = swing.Turns(b.swings); len(b.turns) >= minTurns {
			break
		}
	}
	b.tolerance = swing.MeanRange(whole) / 2
	return b
}

// columnOf returns the column with the price of a swing.
func columnOf(s swing.Swing) string {
	if s.High {
		return "high"
	}
	return "low"
}

// swing writes the price and the time of a swing.
func (w *writer) swing(b *bars, s swing.Swing) {
	w.row(b.marketTable, s.Bar, fmt.Sprintf("**{%s %d}** at {time time}", columnOf(s), b.Digits))
}

// describe describes a swing for a note, which has no footnotes.
func (b *bars) describe(s swing.Swing) string { return b.price(s.Price) + " at " + b.when(s) }

func (b *bars) price(p float64) string { return strconv.FormatFloat(p, 'f', b.Digits, 64) }

func (b *bars) when(s swing.Swing) string { return clock(b.list[s.Bar].Time) }

// anchor returns a swing in the form that the tools accept.
func (b *bars) anchor(s swing.Swing) map[string]any {
	return map[string]any{"timestamp": b.list[s.Bar].Time.Format(time.RFC3339), "price": s.Price}
}

// reading writes what the answer is based on.
func (w *writer) reading(b *bars, timeframe string) {
	w.Text("\n\nReading: " + b.Symbol + ", `" + timeframe + "`, ")
	n := strconv.Itoa(len(b.list))
	w.Cite(n, footnote.Cite{Result: b.ID, Formula: "count(" + b.ID + ")", Value: n})
	w.row(b.marketTable, len(b.list)-1,
		fmt.Sprintf(" candles to {time time} (UTC), newest close {close %d}.", b.Digits))
	w.synthetic(b.marketTable)
}

// joinWords joins words as in "one, two and three".
func joinWords(parts []string) string {
	if n := len(parts); n > 1 {
		return strings.Join(parts[:n-1], ", ") + " and " + parts[n-1]
	}
	return strings.Join(parts, "")
}
