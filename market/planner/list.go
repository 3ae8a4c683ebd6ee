package planner

import (
	"strconv"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/market/drawing"
	"github.com/footnotehq/footnote/model/offline"
)

// list answers a question about the drawings. It lists the first page that the tool returns.
func (t *turn) list(w *writer) *toolCall {
	c := t.h.Result("get_drawings")
	if c == nil {
		return &toolCall{"get_drawings", map[string]any{}}
	}
	table, reason := readTable(c)
	switch {
	case reason != "":
		w.Text("The drawings could not be read: `" + offline.Clip(reason) + "`")
		return nil
	case len(table.Rows) == 0:
		w.Text("There are no drawings on the chart of " + table.Symbol + ".")
		return nil
	case table.Total > len(table.Rows):
		w.Text("There are `" + strconv.Itoa(table.Total) + "` drawings on the chart of " + table.Symbol +
			"; the list beside the chart has all of them. The most important ones are:\n")
	default:
		n, be, noun := strconv.Itoa(len(table.Rows)), "are ", " drawings"
		if n == "1" {
			be, noun = "is ", " drawing"
		}
		w.Text("There " + be)
		w.Cite(n, footnote.Cite{Result: table.ID, Formula: "count(" + table.ID + ")", Value: n})
		w.Text(noun + " on the chart of " + table.Symbol + ":\n")
	}
	for row := range table.Rows {
		w.drawing(table, row)
	}
	w.Text("\n\nTimes are UTC.")
	return nil
}

// drawing writes one row of the table of drawings.
func (w *writer) drawing(t marketTable, row int) {
	said := func(column string) string { s, _ := t.at(row, column).(string); return s }
	w.Text("\n- " + strings.ReplaceAll(said("type"), "_", " "))
	for _, column := range []string{"label", "text"} {
		if said(column) != "" {
			w.row(t, row, " “{"+column+" text}”")
		}
	}
	switch said("type") {
	case drawing.LongPosition, drawing.ShortPosition:
		w.row(t, row, ", "+said("status")+": entry {entry}, target {take_profit}, stop {stop_loss}")
	default:
		w.place(t, row, " at ", "price", "time")
		w.place(t, row, " to ", "price_2", "time_2")
	}
	if n, known := t.value(row, "crossed_closes"); known && n > 0 {
		w.row(t, row, ", crossed: {crossed_closes} "+map[bool]string{true: "close", false: "closes"}[n == 1]+
			" {crossed_side text} it since {crossed_since time}")
	}
	w.Text(" (")
	if timeframe := said("timeframe"); timeframe != "" {
		w.Text("`" + timeframe + "`, ")
	}
	by := map[bool]string{true: "you", false: "the assistant"}[said("drawn_by") == drawing.Human]
	w.Text("`" + said("id") + "`, drawn by " + by)
	for _, fact := range []string{"hidden", "locked"} {
		if t.at(row, fact) == true {
			w.Text(", " + fact)
		}
	}
	w.Text(")")
}

// place writes a price and a time. It leaves out the one that the row lacks.
func (w *writer) place(t marketTable, row int, before, price, at string) {
	if _, priced := t.value(row, price); priced {
		w.row(t, row, before+"{"+price+"}")
		before = ", "
	}
	if t.at(row, at) != nil {
		w.row(t, row, before+"{"+at+" time}")
	}
}
