// Package browser provides the tools for data that stays in the user's browser. The page runs their queries and
// transforms, and posts as many rows of a result as the user lets the model see. The package also provides
// final_answer, with which the assistant ends.
package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/reply"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/chart"
	"github.com/footnotehq/footnote/tool/schema"
)

type queryInput struct {
	Thought string `json:"thought" jsonschema:"Why this query is needed, in one short sentence. The user sees it."`
	SQL     string `json:"sql" jsonschema:"One SELECT statement in DuckDB's dialect, with the exact names of the schema."`
}

type statsInput struct {
	Thought string `json:"thought" jsonschema:"Why these figures are needed, in one short sentence. The user sees it."`
	Table   string `json:"table,omitempty" jsonschema:"The table. Left out: the only or first one."`
	Column  string `json:"column" jsonschema:"The column, exactly as the schema writes it."`
}

type distributionInput struct {
	Thought string  `json:"thought" jsonschema:"Why these values are needed, in one short sentence. The user sees it."`
	Table   string  `json:"table,omitempty" jsonschema:"The table. Left out: the only or first one."`
	Column  string  `json:"column" jsonschema:"The column, exactly as the schema writes it."`
	Limit   float64 `json:"limit,omitempty" jsonschema:"How many of the most frequent values; 10 when left out."`
}

type transformInput struct {
	Thought    string `json:"thought" jsonschema:"What is computed and why SQL cannot do it, in one short sentence. The user sees it."`
	SourceStep int    `json:"sourceStep" jsonschema:"Which step of this question is data. Steps are your calls of run_query, get_column_stats, get_value_distribution and transform_data since the question, counted from 0, also those that failed."`
	Code       string `json:"code" jsonschema:"The body of a JavaScript function of data and allSteps that returns an array of objects, one for each row."`
}

type finalInput struct {
	Answer    string `json:"answer" jsonschema:"The answer in the user's language, in Markdown, with the numbers that the results gave."`
	ChartType string `json:"chartType" jsonschema:"How the newest result that has the axes is shown."`
	XAxis     string `json:"xAxis,omitempty" jsonschema:"Column along the x axis; the slices of a pie."`
	YAxis     string `json:"yAxis,omitempty" jsonschema:"Column with the values to draw."`
}

// New returns run_query, get_column_stats, get_value_distribution, transform_data
// and final_answer.
func New() []tool.Tool {
	specs := []tool.Spec{{
		Name: "run_query", Label: "Running a query", Family: tool.Query,
		Description: "Run one SELECT statement with DuckDB on the user's local files and get its rows. The files " +
			"stay in the user's browser: you are shown as many rows as the user allows, and always how many there " +
			"are. Aggregate, filter and sort in SQL, and compute every number you want to say there, differences, " +
			"shares and averages too. Earlier results of queries are tables named by their ids: SELECT a.x / b.y " +
			"FROM r1 a JOIN r4 b USING (month). When the statement fails, the reason is returned: correct it and " +
			"call again.",
		InputSchema: schema.For[queryInput](schema.Length("sql", 1, 100_000)),
	}, {
		Name: "get_column_stats", Label: "Looking at a column", Family: tool.ColumnStats,
		Description: "Get the smallest, largest and average value of a column, how many rows it has, how many values " +
			"are different and how many are missing. Use it before you filter or group by a column whose values you " +
			"do not know. It is quicker than a query of your own and shows one row only.",
		InputSchema: schema.For[statsInput](),
	}, {
		Name: "get_value_distribution", Label: "Looking at a column", Family: tool.ColumnValues,
		Description: "Get the most frequent values of a column and how often each occurs. Use it before you filter " +
			"by a text column, to learn how its values are written. Columns with a value of its own in each row have " +
			"no useful distribution; look at their statistics instead.",
		InputSchema: schema.For[distributionInput](schema.Integer("limit", 1, 100)),
	}, {
		Name: "transform_data", Label: "Transforming rows", Family: tool.Transform,
		Description: "Compute with JavaScript what SQL cannot: a regression, a clustering, a text analysis. The code " +
			"is the body of a function with two arguments: data is the result of the step sourceStep as an array of " +
			"objects, one for each row, and allSteps holds those of all steps of this question so far, the first at " +
			"0. It returns an array of objects, which becomes a result like that of a query. It runs in a worker of " +
			"the user's page without network, for at most a few seconds; it sees all rows, also those that you are " +
			"not shown.",
		InputSchema: schema.For[transformInput](schema.Length("code", 1, 50_000),
			schema.Integer("sourceStep", 0, 1000)),
	}}
	tools := make([]tool.Tool, 0, len(specs)+1)
	for _, s := range specs {
		s.ReadOnly = true
		tools = append(tools, tool.OnPage(s))
	}
	return append(tools, final{chart.New()})
}

// final is the tool final_answer. Its chart is drawn by show_chart from the newest result that has its axes.
type final struct{ charts tool.Tool }

func (f final) Spec() tool.Spec { return finalSpec }

var finalSpec = tool.Spec{
	Name: tool.FinalAnswer, Label: "Writing the answer", Family: tool.FinalText,
	Description: "Give the answer and end. Call it once, alone, when the results hold what the question asks for. " +
		"Begin the answer with the finding, then give the evidence, in a few sentences. Choose the chart that shows " +
		"it best: bars for a comparison, a line over time, a pie for few shares, a scatter for a relation, a table " +
		"where rows are to be read; name the columns of the result to draw as its axes. Do not repeat the chart's " +
		"figures one by one in the answer.",
	InputSchema: schema.For[finalInput](schema.Length("answer", 1, 20_000),
		schema.Enum("chartType", chart.Bar, chart.Line, chart.Pie, chart.Scatter, chart.Table)),
	Side: tool.Server, ReadOnly: true, Final: true,
}

// Call accepts the answer. If no result has the axes, it becomes a table: the answer has already been shown and is
// worth more than its chart.
func (f final) Call(ctx context.Context, call tool.Call) (tool.Output, error) {
	var in finalInput
	if err := json.Unmarshal(call.Input, &in); err != nil {
		return tool.Fail("The input does not fit final_answer: " + err.Error()), nil
	}
	if strings.TrimSpace(in.Answer) == "" {
		return tool.Fail("The answer is empty."), nil
	}
	if len(call.Results) == 0 {
		return tool.Output{Content: "Shown."}, nil
	}
	newest := call.Results[len(call.Results)-1]
	for _, r := range slices.Backward(call.Results) {
		if in.ChartType == chart.Table || !has(r, in.XAxis) || !has(r, in.YAxis) {
			continue
		}
		out, err := f.draw(ctx, call, map[string]any{
			"result": r.ID, "type": in.ChartType, "x": in.XAxis, "y": in.YAxis,
		})
		if err != nil || !out.IsError {
			return out, err
		}
		newest = r
		break
	}
	return f.draw(ctx, call, map[string]any{"result": newest.ID, "type": chart.Table})
}

func (f final) draw(ctx context.Context, call tool.Call, spec map[string]any) (tool.Output, error) {
	call.Input = reply.JSON(spec)
	out, err := f.charts.Call(ctx, call)
	if out.IsError && spec["type"] == chart.Table {
		return tool.Output{Content: "Shown, without a chart."}, err
	}
	if !out.IsError {
		out.Content = fmt.Sprintf("Shown, with a %s of %s.", spec["type"], spec["result"])
	}
	return out, err
}

func has(r footnote.StoredResult, column string) bool {
	return slices.ContainsFunc(r.Columns, func(c footnote.Column) bool {
		return column != "" && strings.EqualFold(c.Name, column)
	})
}
