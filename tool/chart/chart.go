// Package chart provides the tool show_chart, with which the model draws a stored result. A chart is a small
// specification of our own. It is validated here, and drawn in Unicode on terminals and as SVG in the web app.
package chart

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/reply"
	"github.com/footnotehq/footnote/internal/spelling"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/schema"
)

// The types of charts.
const (
	Bar       = "bar"
	Line      = "line"
	Area      = "area"
	Scatter   = "scatter"
	Pie       = "pie"
	Histogram = "histogram"
	Table     = "table"
)

// The orders of marks along x. The empty one keeps the order of the result.
const (
	ByX     = "x"
	ByXDesc = "-x"
	ByY     = "y"
	ByYDesc = "-y"
)

// MaxMarks limits the marks of a chart, and maxSlices the slices of a pie: more cannot be told apart.
const (
	MaxMarks  = 10_000
	maxSlices = 30
	maxSeries = 20 // columns in y
)

// Spec is a validated chart: its columns exist in its result and are spelled as there. Its JSON is the canonical
// form kept in the log.
type Spec struct {
	Result string   `json:"result"` // ID of the stored result, such as r1
	Type   string   `json:"type"`
	X      string   `json:"x,omitempty"`
	Y      []string `json:"y,omitempty"`
	Series string   `json:"series,omitempty"`
	Title  string   `json:"title,omitempty"`
	Sort   string   `json:"sort,omitempty"`
}

// Parse decodes the canonical form, as in Output.Chart and in the log.
func Parse(data json.RawMessage) (Spec, error) {
	var s Spec
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return Spec{}, fmt.Errorf("read the chart: %w", err)
	}
	return s, nil
}

type input struct {
	Thought string `json:"thought,omitempty" jsonschema:"Why this chart helps, in one short sentence. The user sees it."`
	Result  string `json:"result" jsonschema:"Id of the stored result to draw, as run_query returned it, for example r3."`
	Type    string `json:"type" jsonschema:"Kind of chart."`
	X       string `json:"x,omitempty" jsonschema:"Column along the x axis; the slices of a pie; the numbers of a histogram. Every type but table needs it."`
	Y       names  `json:"y,omitempty" jsonschema:"Numeric column or columns to draw. Histogram and table need none."`
	Series  string `json:"series,omitempty" jsonschema:"Column whose values split the one y column into coloured series."`
	Title   string `json:"title,omitempty" jsonschema:"Short title of the chart."`
	Sort    string `json:"sort,omitempty" jsonschema:"Order of the marks: by x or y, with a minus descending. Left out: the order of the result."`
}

// names decodes one name or several.
type names []string

func (n *names) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*n = nil
		if one != "" { // null also leaves it empty
			*n = names{one}
		}
		return nil
	}
	var many []string
	if err := json.Unmarshal(data, &many); err != nil {
		return errors.New("y must be a string or an array of strings")
	}
	*n = many
	return nil
}

type show struct{}

// New returns show_chart.
func New() tool.Tool { return show{} }

var spec = tool.Spec{
	Name: "show_chart", Label: "Drawing a chart", Family: tool.Chart,
	Description: "Show a chart of a stored result below your answer. Use it when a picture says more than the " +
		"figures: a line or area for a development over time, bars for a comparison or ranking, a pie for few shares " +
		"of a whole, a scatter for a relation, a histogram for a distribution, a table for rows to read. The result " +
		"must already have the rows to draw, one for each mark, aggregated and named as they should be read: run a " +
		"query for it first. Do not repeat the chart's figures one by one in the answer.",
	InputSchema: schema.For[input](
		schema.Enum("type", Bar, Line, Area, Scatter, Pie, Histogram, Table),
		schema.Enum("sort", ByX, ByXDesc, ByY, ByYDesc),
		schema.OneOrMany("y"),
	),
	Side:     tool.Server,
	ReadOnly: true,
}

func (show) Spec() tool.Spec { return spec }

// Call checks the chart against the conversation's results. It does not read rows; whatever draws the chart has
// them.
func (show) Call(_ context.Context, call tool.Call) (tool.Output, error) {
	var in input
	if err := json.Unmarshal(call.Input, &in); err != nil {
		return tool.Fail("The input does not fit show_chart: " + err.Error()), nil
	}
	result, err := find(call.Results, in.Result)
	if err != nil {
		return tool.Fail(err.Error()), nil
	}
	s := Spec{Result: result.ID, Type: in.Type, X: in.X, Y: in.Y, Series: in.Series, Sort: in.Sort}
	s.Title, _ = reply.Clip(strings.ToValidUTF8(strings.TrimSpace(in.Title), "�"), 200)
	if err := s.check(result.Columns, result.RowCount); err != nil {
		return tool.Fail(err.Error()), nil
	}
	answer := struct {
		Shown  bool   `json:"shown"`
		Result string `json:"result"`
		Type   string `json:"type"`
		Rows   int    `json:"rows"`
		Note   string `json:"note,omitempty"`
	}{true, s.Result, s.Type, result.RowCount, ""}
	if result.Truncated {
		answer.Note = "The result is incomplete, because its query returned more rows than the limit; say so beside " +
			"the chart."
	}
	return tool.Output{Content: string(reply.JSON(answer)), Chart: reply.JSON(s)}, nil
}

func find(results []footnote.StoredResult, id string) (none footnote.StoredResult, _ error) {
	var ids []string
	for _, r := range results {
		if r.ID == id {
			return r, nil
		}
		ids = append(ids, r.ID)
	}
	if len(ids) == 0 {
		return none, tool.Refusef(
			"There is no result to draw yet. Call run_query first, then show_chart with the result's id.")
	}
	shown, _ := reply.Clip(id, 64)
	recent := strings.Join(ids[max(0, len(ids)-20):], ", ")
	return none, tool.Refusef("There is no result %q. The latest results are: %s.", shown, recent)
}

// check reports whether s can be drawn from a result with these columns, and spells column names as in the result.
// Its errors are sentences for the model.
func (s *Spec) check(columns []footnote.Column, rows int) error {
	err := s.checkShape()
	if err == nil {
		err = s.resolve(columns)
	}
	if err == nil {
		err = s.checkKinds(columns)
	}
	marks := rows * max(1, len(s.Y))
	switch {
	case err != nil:
		return err
	case rows == 0:
		return tool.Refusef("Result %s has no rows; there is nothing to draw.", s.Result)
	case marks > MaxMarks && s.Type != Table:
		return tool.Refusef("The chart would have %d marks; at most %d can be drawn. Aggregate in SQL first.", marks,
			MaxMarks)
	case s.Type == Pie && rows > maxSlices:
		return tool.Refusef("A pie of %d slices cannot be read; at most %d. Group the small ones in SQL, or use a bar "+
			"chart.", rows, maxSlices)
	}
	return nil
}

// checkShape checks that s has the parts that its type needs, and no others.
func (s *Spec) checkShape() error {
	switch s.Type {
	case Bar, Line, Area, Scatter:
		if s.X == "" || len(s.Y) == 0 {
			return tool.Refusef("A %s chart needs x and y.", s.Type)
		}
	case Pie:
		if s.X == "" || len(s.Y) != 1 || s.Series != "" {
			return tool.Refusef("A pie needs x, the slices, and one y, their size, and has no series.")
		}
	case Histogram:
		if s.X == "" || len(s.Y) != 0 {
			return tool.Refusef(
				"A histogram needs x, a numeric column, and has no y. To draw counts of a query, use a bar chart.")
		}
	case Table:
	default:
		return tool.Refusef("There is no chart type %q.", s.Type)
	}
	if s.Series != "" && len(s.Y) > 1 {
		return tool.Refusef("Give either several y columns or a series, not both.")
	}
	if len(s.Y) > maxSeries {
		return tool.Refusef("A chart can show at most %d y columns.", maxSeries)
	}
	return nil
}

// resolve replaces each column name by the result's spelling.
func (s *Spec) resolve(columns []footnote.Column) error {
	if slices.Contains(s.Y, "") {
		return tool.Refusef("A y column has no name.")
	}
	fields := []*string{&s.X, &s.Series}
	for i := range s.Y {
		fields = append(fields, &s.Y[i])
	}
	for _, f := range fields {
		if *f == "" {
			continue
		}
		i := index(columns, *f)
		if i < 0 {
			return s.noColumn(*f, columns)
		}
		*f = columns[i].Name
	}
	for i, y := range s.Y {
		if slices.Contains(s.Y[:i], y) {
			return tool.Refusef("Column %q is in y twice.", y)
		}
	}
	return nil
}

func columnNames(columns []footnote.Column) (names []string) {
	for _, c := range columns {
		names = append(names, c.Name)
	}
	return names
}

func (s *Spec) noColumn(name string, columns []footnote.Column) error {
	shown, _ := reply.Clip(name, 80)
	names := columnNames(columns)
	if near := spelling.Nearest(name, names, 2); len(near) > 0 {
		return tool.Refusef("Result %s has no column %q. Did you mean %s?", s.Result, shown, strings.Join(near, " or "))
	}
	list, _ := reply.Clip(strings.Join(names, ", "), 1000)
	return tool.Refusef("Result %s has no column %q. Its columns are: %s.", s.Result, shown, list)
}

// checkKinds checks that measured columns contain numbers. A column of unknown kind passes: its cells decide later.
func (s *Spec) checkKinds(columns []footnote.Column) error {
	measured := s.Y
	switch s.Type {
	case Histogram:
		measured = []string{s.X}
	case Table:
		measured = nil
	}
	for _, name := range measured {
		c := columns[index(columns, name)]
		if numeric(c) || c.Kind == footnote.KindUnknown {
			continue
		}
		numbers := slices.DeleteFunc(slices.Clone(columns), func(c footnote.Column) bool { return !numeric(c) })
		list, _ := reply.Clip(strings.Join(columnNames(numbers), ", "), 1000)
		return tool.Refusef("Column %q is %s, and a %s chart can only measure numbers. Numeric columns of %s: %s.",
			name, c.Kind, s.Type, s.Result, cmp.Or(list, "none"))
	}
	return nil
}

func numeric(c footnote.Column) bool {
	return c.Kind == footnote.KindInteger || c.Kind == footnote.KindNumber || c.Kind == footnote.KindDecimal
}

// index finds a column by its exact name, or else ignoring case.
func index(columns []footnote.Column, name string) int {
	i := slices.IndexFunc(columns, func(c footnote.Column) bool { return c.Name == name })
	if i < 0 {
		i = slices.IndexFunc(columns, func(c footnote.Column) bool { return strings.EqualFold(c.Name, name) })
	}
	return i
}
