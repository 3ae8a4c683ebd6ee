package chart

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/reply"
)

// object is a piece of Vega-Lite. Its keys are encoded in alphabetical order, so the bytes are stable.
type object = map[string]any

// VegaLite compiles a chart and a result's rows to a Vega-Lite 6 specification with inline data. It contains no
// URLs, no expressions, and no name from the database where Vega-Lite would interpret it. It returns nil for a
// table, which is not drawn, and an error if the chart does not fit the rows.
func VegaLite(s Spec, columns []footnote.Column, rows [][]any) (json.RawMessage, error) {
	marks, err := s.marksUnlessTable(columns, rows)
	if err != nil || s.Type == Table {
		return nil, err
	}
	v := object{
		"$schema":     "https://vega.github.io/schema/vega-lite/v6.json",
		"description": s.description(),
		"width":       "container",
		"height":      300,
		"data":        object{"values": values(s, marks)},
	}
	if s.Title != "" {
		v["title"] = s.Title
	}
	switch s.Type {
	case Pie:
		v["mark"] = object{"type": "arc", "tooltip": true, "outerRadius": 120}
		v["encoding"] = s.pie(marks)
	case Histogram:
		v["mark"] = object{"type": "bar", "tooltip": true}
		v["encoding"] = object{
			"x": object{"field": "y", "type": "quantitative", "bin": object{"maxbins": 30}, "title": s.X},
			"y": object{"aggregate": "count", "type": "quantitative", "title": "Count"},
		}
	default:
		v["mark"] = s.mark(marks)
		v["encoding"] = s.axes(columns, marks)
	}
	return reply.JSON(v), nil
}

func (s Spec) marksUnlessTable(columns []footnote.Column, rows [][]any) ([]mark, error) {
	if s.Type == Table {
		return nil, s.check(columns, len(rows))
	}
	return s.marks(columns, rows)
}

// values returns the data. Its fields get names of our own, because Vega-Lite would take a column name like
// "a.b[0]" for a path.
func values(s Spec, marks []mark) []object {
	continuous := s.continuous(marks)
	out := make([]object, len(marks))
	for i, m := range marks {
		o := object{"y": nil}
		if m.ok {
			o["y"] = m.y
		}
		if s.Type != Histogram {
			o["l"] = m.label
			switch {
			case !continuous:
				o["x"] = m.label
			case m.at != nil:
				o["x"] = *m.at
			case m.scale != nil:
				o["x"] = *m.scale
			default:
				o["x"] = nil
			}
			if s.grouped() {
				o["s"] = m.series
			}
		}
		out[i] = o
	}
	return out
}

func (s Spec) grouped() bool { return s.Series != "" || len(s.Y) > 1 }

// continuous reports whether x is a scale rather than a list of names, which holds for lines, areas and points over
// numbers or dates.
func (s Spec) continuous(marks []mark) bool {
	if s.Type != Line && s.Type != Area && s.Type != Scatter {
		return false
	}
	for _, m := range marks {
		if m.scale == nil && m.at == nil && m.x != nil {
			return false
		}
	}
	return true
}

func dated(marks []mark) bool {
	for _, m := range marks {
		if m.at == nil && m.x != nil {
			return false
		}
	}
	return len(marks) > 0 && marks[0].at != nil
}

func (s Spec) mark(marks []mark) object {
	switch s.Type {
	case Line:
		return object{"type": "line", "tooltip": true, "point": len(marks) <= 60}
	case Area:
		return object{"type": "area", "tooltip": true, "line": true, "fillOpacity": 0.4}
	case Scatter:
		return object{"type": "point", "tooltip": true, "filled": true}
	default:
		return object{"type": "bar", "tooltip": true}
	}
}

func (s Spec) axes(columns []footnote.Column, marks []mark) object {
	x := object{"field": "x", "title": s.X}
	switch {
	case !s.continuous(marks):
		x["type"], x["sort"] = "ordinal", nil // in the order of the data
		x["axis"] = object{"labelLimit": 160}
	case dated(marks):
		x["type"], x["scale"] = "temporal", object{"type": "utc"}
	default:
		x["type"], x["scale"] = "quantitative", object{"zero": false}
		if years(marks) {
			x["axis"] = object{"format": "d"} // 2026, not 2,026
		}
	}
	y := object{"field": "y", "type": "quantitative", "title": s.measure()}
	if s.Type == Scatter {
		y["scale"] = object{"zero": false}
	}
	tip := []object{{"field": "l", "type": "nominal", "title": s.X}, {"field": "y", "type": "quantitative", "title": s.measure(), "format": ",.6~g"}}
	e := object{"x": x, "y": y}
	if s.grouped() {
		e["color"] = object{"field": "s", "type": "nominal", "title": s.legend(), "sort": nil}
		tip = append(tip, object{"field": "s", "type": "nominal", "title": s.legend()})
		if s.Type == Bar && s.Series == "" {
			e["xOffset"] = object{"field": "s", "sort": nil}
		}
	}
	if horizontal(s, marks) {
		e["x"], e["y"] = y, x
	}
	e["tooltip"] = tip
	return e
}

// horizontal reports whether the bars should be horizontal: long names do not fit below vertical ones.
func horizontal(s Spec, marks []mark) bool {
	if s.Type != Bar || s.grouped() {
		return false
	}
	for _, m := range marks {
		if utf8.RuneCountInString(m.label) > 14 {
			return true
		}
	}
	return false
}

func years(marks []mark) bool {
	for _, m := range marks {
		if n, ok := m.x.(int64); !ok || n < 1000 || n > 9999 {
			return false
		}
	}
	return true
}

func (s Spec) pie(marks []mark) object {
	return object{
		"theta": object{"field": "y", "type": "quantitative", "stack": true},
		"color": object{"field": "x", "type": "nominal", "title": s.X, "sort": nil},
		"order": object{"field": "y", "type": "quantitative", "sort": "descending"},
		"tooltip": []object{
			{"field": "l", "type": "nominal", "title": s.X},
			{"field": "y", "type": "quantitative", "title": s.measure(), "format": ",.6~g"},
		},
	}
}

// measure returns the name of the y axis.
func (s Spec) measure() string {
	if len(s.Y) == 1 {
		return s.Y[0]
	}
	return "Value"
}

func (s Spec) legend() string {
	if s.Series != "" {
		return s.Series
	}
	return "Series"
}

// description returns a text for screen readers.
func (s Spec) description() string {
	what := fmt.Sprintf("%s chart of %s", s.Type, s.X)
	switch s.Type {
	case Histogram:
		what = "histogram of " + s.X
	case Bar, Line, Area, Scatter, Pie:
		what = fmt.Sprintf("%s chart of %s by %s", s.Type, s.measure(), s.X)
	}
	if s.Series != "" {
		what += ", for each " + s.Series
	}
	if s.Title != "" {
		return s.Title + ": " + what
	}
	return what
}
