package offline

import (
	"strconv"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/market/drawing"
)

// list says what is drawn, as far as one page of the tool has it.
func (t *chartTurn) list(w *writer) *chartCall {
	c := t.h.result("get_drawings")
	if c == nil {
		return &chartCall{"get_drawings", map[string]any{}}
	}
	told, reason := readTable(c)
	switch {
	case reason != "":
		w.text("The drawings could not be read: `" + clip(reason) + "`")
		return nil
	case len(told.Rows) == 0:
		w.text("There are no drawings on the chart of " + told.Symbol + ".")
		return nil
	case told.Total > len(told.Rows):
		w.text("There are `" + strconv.Itoa(told.Total) + "` drawings on the chart of " + told.Symbol +
			"; the list beside the chart has all of them. The most important ones are:\n")
	default:
		n, be, noun := strconv.Itoa(len(told.Rows)), "are ", " drawings"
		if n == "1" {
			be, noun = "is ", " drawing"
		}
		w.text("There " + be)
		w.cite(n, footnote.Cite{Result: told.ID, Formula: "count(" + told.ID + ")", Value: n})
		w.text(noun + " on the chart of " + told.Symbol + ":\n")
	}
	for row := range told.Rows {
		w.drawing(told, row)
	}
	w.text("\n\nTimes are UTC.")
	return nil
}

// drawing says one row of them.
func (w *writer) drawing(t toldTable, row int) {
	said := func(column string) string { s, _ := t.at(row, column).(string); return s }
	w.text("\n- " + strings.ReplaceAll(said("type"), "_", " "))
	for _, column := range []string{"label", "text"} {
		if said(column) != "" {
			w.text(" “")
			w.words(t, row, column)
			w.text("”")
		}
	}
	switch said("type") {
	case drawing.LongPosition, drawing.ShortPosition:
		w.text(", " + said("status"))
		for _, p := range [][2]string{{": entry ", "entry"}, {", target ", "take_profit"}, {", stop ", "stop_loss"}} {
			w.text(p[0])
			w.num(t, row, p[1], -1)
		}
	default:
		w.place(t, row, " at ", "price", "time")
		w.place(t, row, " to ", "price_2", "time_2")
	}
	w.text(" (")
	if timeframe := said("timeframe"); timeframe != "" {
		w.text("`" + timeframe + "`, ")
	}
	w.text("`" + said("id") + "`, drawn by " + map[bool]string{
		true:  "you",
		false: "the assistant",
	}[said("drawn_by") == drawing.Human])
	for _, fact := range []string{"hidden", "locked"} {
		if t.at(row, fact) == true {
			w.text(", " + fact)
		}
	}
	w.text(")")
}

// place says a price and a time, as far as there are.
func (w *writer) place(t toldTable, row int, before, price, at string) {
	_, priced := t.value(row, price)
	if priced {
		w.text(before)
		w.num(t, row, price, -1)
		before = ", "
	}
	if t.at(row, at) != nil {
		w.text(before)
		w.when(t, row, at)
	}
}
