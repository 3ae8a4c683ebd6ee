package profile

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/reply"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/internal/lookup"
	"github.com/footnotehq/footnote/tool/schema"
)

type distributionInput struct {
	Thought string  `json:"thought,omitempty" jsonschema:"Why the distribution is needed, in one short sentence. The user sees it."`
	Column  string  `json:"column" jsonschema:"Name of the column."`
	Table   string  `json:"table,omitempty" jsonschema:"Name of the table or view. It may be left out when the source has only one."`
	Limit   float64 `json:"limit,omitempty" jsonschema:"How many values or buckets to return. Default 10."`
	Source  string  `json:"source,omitempty" jsonschema:"Name of the source that has the table. Required when the conversation has several sources."`
}

type distribution struct{ Options }

var distributionSpec = tool.Spec{
	Name: "get_value_distribution", Label: "Looking at a column", Family: tool.ColumnValues, Cacheable: true,
	Description: "Get how the values of one column are distributed over the whole table: the most frequent values " +
		"with their counts and shares, nulls included. A numeric column with many different values is put into about " +
		"as many equal buckets as you ask for, a date column into months or years. Use it to learn which statuses, " +
		"categories or sizes there are before you filter by one. Shares are fractions of 1. The distribution is " +
		"stored as a result that footnotes and charts can refer to.",
	InputSchema: schema.For[distributionInput](schema.Integer("limit", 1, maxLimit)),
	Side:        tool.Server, ReadOnly: true,
}

const (
	defaultLimit = 10
	maxLimit     = 100
	// manyValues is the number of distinct numbers or dates beyond which buckets read better.
	manyValues = 25
	// manyDays is the range of dates, five years, beyond which they are counted per year instead of per month.
	manyDays = 5 * 366
)

func (t distribution) run(ctx context.Context, call tool.Call, in distributionInput) (tool.Output, error) {
	limit := defaultLimit
	if in.Limit != 0 {
		limit = int(min(max(in.Limit, 1), maxLimit))
	}
	at, err := t.find(ctx, call, in.Source, in.Table, in.Column)
	if err != nil {
		return tool.Output{}, err
	}
	ctx = footnote.WithSource(ctx, at.name)
	if at.column.Kind == footnote.KindBlob {
		return tool.Fail("The column holds binary data, which has no distribution worth showing."), nil
	}
	sql, note, err := t.plan(ctx, at, limit)
	if err != nil {
		return tool.Output{}, lookup.Failure(ctx, at.src, sql, err)
	}
	result, _, err := source.Collect(ctx, at.src, source.Query{SQL: sql, Limits: t.Limits})
	if err != nil {
		return tool.Output{}, lookup.Failure(ctx, at.src, sql, err)
	}
	return tool.Output{
		Content: at.distributionContent(call.ResultID, result, note), Rows: &result, Source: at.name, SQL: sql,
	}, nil
}

// plan chooses the statement: buckets if there are many numbers or dates, otherwise the most frequent values. On an
// error, sql is the statement that failed.
func (t distribution) plan(ctx context.Context, at place, limit int) (sql, note string, err error) {
	if !numeric(at.column.Kind) && !temporal(at.column.Kind) {
		return at.topSQL(limit), "", nil
	}
	look := at.statsSQL()
	r, _, err := source.Collect(ctx, at.src, source.Query{SQL: look, Limits: t.Limits})
	if err != nil {
		return look, "", err
	}
	cells := onlyRow(r)
	different, _ := number(cells["distinct"])
	if different <= manyValues {
		return at.topSQL(limit), "", nil
	}
	nulls, _ := number(cells["nulls"])
	if nulls > 0 {
		note = fmt.Sprintf("%v rows without a value are not counted. ", nulls)
	}
	if temporal(at.column.Kind) {
		days, _ := number(cells["days"])
		if sql = at.monthSQL(days > manyDays); sql == "" {
			return at.topSQL(limit), "", nil
		}
		return sql, note + "Periods without a row are not listed.", nil
	}
	lo, ok1 := number(cells["min"])
	hi, ok2 := number(cells["max"])
	b, ok3 := bucket(lo, hi, limit)
	if !ok1 || !ok2 || !ok3 {
		return at.topSQL(limit), "", nil
	}
	return at.histogramSQL(b),
		note + "A bucket holds the values from its lower edge up to but not including its upper edge; empty buckets " +
			"are not listed.", nil
}

// buckets are ranges of equal width: bucket k begins at (start + k*step) / scale.
type buckets struct{ start, step, scale int64 }

// bucket divides lo to hi into about n ranges with round bounds. It gives up on ranges that integers cannot express
// well.
func bucket(lo, hi float64, n int) (buckets, bool) {
	width := (hi - lo) / float64(n)
	if !(width > 0) || math.IsInf(width, 0) {
		return buckets{}, false
	}
	exponent := math.Floor(math.Log10(width))
	if exponent < -9 || exponent > 14 {
		return buckets{}, false
	}
	unit := math.Pow(10, exponent)
	factor := 10.0
	for _, f := range []float64{1, 2, 5} { // the smallest that is wide enough
		if f*unit >= width*(1-1e-9) {
			factor = f
			break
		}
	}
	b := buckets{scale: 1}
	if exponent < 0 {
		b.scale = int64(math.Round(math.Pow(10, -exponent)))
		b.step = int64(factor)
	} else {
		b.step = int64(math.Round(factor * unit))
	}
	first := math.Floor(lo*float64(b.scale)/float64(b.step)) * float64(b.step)
	if math.Abs(first) > 1<<53 || math.Abs(hi)*float64(b.scale) > 1<<53 {
		return buckets{}, false
	}
	b.start = int64(first)
	return b, true
}

func number(cell any) (float64, bool) {
	switch v := cell.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	case string: // a decimal, or an integer beyond 64 bits
		f, err := strconv.ParseFloat(v, 64)
		return f, err == nil && !math.IsInf(f, 0) && !math.IsNaN(f)
	default:
		return 0, false
	}
}

// distributionContent returns the rows, and once the totals, which every row repeats.
func (at place) distributionContent(id string, r footnote.Result, note string) string {
	totals := map[string]json.RawMessage{}
	var columns []string
	for i, c := range r.Columns {
		if !strings.HasPrefix(c.Name, "of_") {
			columns = append(columns, c.Name)
		} else if len(r.Rows) > 0 {
			totals[strings.TrimPrefix(c.Name, "of_")] = footnote.AppendCell(nil, r.Rows[0][i])
		}
	}
	rows := make([][]any, len(r.Rows))
	for i, row := range r.Rows {
		rows[i] = row[:len(columns)]
	}
	array, shown, cut := reply.Head(rows, 2*maxLimit, 45_000, cellShown)
	if shown < len(rows) {
		note += fmt.Sprintf(" Only the first %d of %d rows are shown here; result %s has them all.", shown, len(rows),
			id)
	}
	if cut {
		note += fmt.Sprintf(" Values longer than %d bytes are cut here.", cellShown)
	}
	return string(reply.JSON(struct {
		header
		Columns  []string        `json:"columns"`
		Rows     json.RawMessage `json:"rows"`
		OfRows   json.RawMessage `json:"of_rows,omitempty"`
		OfValues json.RawMessage `json:"of_values,omitempty"`
		Note     string          `json:"note,omitempty"`
	}{at.header(id), columns, array, totals["rows"], totals["values"], strings.TrimSpace(note)}))
}
