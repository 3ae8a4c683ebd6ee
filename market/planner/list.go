package planner

import (
	"strconv"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/market/drawing"
	"github.com/footnotehq/footnote/model/offline"
)

// list says what is drawn, as far as one page of the tool has it.
func (t *chartTurn) list(w *writer) *chartCall {
	c := t.h.Result("get_drawings")
	if c == nil {
		return &chartCall{"get_drawings", map[string]any{}}
	}
	told, reason := readTable(c)
	switch {
	case reason != "":
		w.Text("The drawings could not be read: `" + offline.Clip(reason) + "`")
		return nil
	case len(told.Rows) == 0:
		w.Text("There are no drawings on the chart of " + told.Symbol + ".")
		return nil
	case told.Total > len(told.Rows):
		w.Text("There are `" + strconv.Itoa(told.Total) + "` drawings on the chart of " + told.Symbol +
			"; the list beside the chart has all of them. The most important ones are:\n")
	default:
		n, be, noun := strconv.Itoa(len(told.Rows)), "are ", " drawings"
		if n == "1" {
			be, noun = "is ", " drawing"
		}
		w.Text("There " + be)
		w.Cite(n, footnote.Cite{Result: told.ID, Formula: "count(" + told.ID + ")", Value: n})
		w.Text(noun + " on the chart of " + told.Symbol + ":\n")
	}
	for row := range told.Rows {
		w.drawing(told, row)
	}
	w.Text("\n\nTimes are UTC.")
	return nil
}

// drawing says one row of them.
func (w *writer) drawing(t toldTable, row int) {
	said := func(column string) string { s, _ := t.at(row, column).(string); return s }
	w.Text("\n- " + strings.ReplaceAll(said("type"), "_", " "))
	for _, column := range []string{"label", "text"} {
		if said(column) != "" {
			w.Text(" “")
			w.words(t, row, column)
			w.Text("”")
		}
	}
	switch said("type") {
	case drawing.LongPosition, drawing.ShortPosition:
		w.Text(", " + said("status"))
		for _, p := range [][2]string{{": entry ", "entry"}, {", target ", "take_profit"}, {", stop ", "stop_loss"}} {
			w.Text(p[0])
			w.num(t, row, p[1], -1)
		}
	default:
		w.place(t, row, " at ", "price", "time")
		w.place(t, row, " to ", "price_2", "time_2")
	}
	w.Text(" (")
	if timeframe := said("timeframe"); timeframe != "" {
		w.Text("`" + timeframe + "`, ")
	}
	w.Text("`" + said("id") + "`, drawn by " + map[bool]string{
		true:  "you",
		false: "the assistant",
	}[said("drawn_by") == drawing.Human])
	for _, fact := range []string{"hidden", "locked"} {
		if t.at(row, fact) == true {
			w.Text(", " + fact)
		}
	}
	w.Text(")")
}

// place says a price and a time, as far as there are.
func (w *writer) place(t toldTable, row int, before, price, at string) {
	_, priced := t.value(row, price)
	if priced {
		w.Text(before)
		w.num(t, row, price, -1)
		before = ", "
	}
	if t.at(row, at) != nil {
		w.Text(before)
		w.when(t, row, at)
	}
}
