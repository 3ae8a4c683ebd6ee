// Package query has the tools that look at a source's tables and run SQL on it:
// list_tables, describe_table and run_query.
package query

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/tool/internal/lookup"
	"github.com/footnotehq/footnote/tool/internal/reply"
	"github.com/footnotehq/footnote/tool/schema"
)

// Options configure the tools.
type Options struct {
	Sources lookup.Sources // required
	// Limits of a query's rows, all of which are stored. Zero fields take the
	// source's own.
	Limits source.Limits
	// ModelRows and ModelBytes bound what the model reads of a result; 0 means
	// 200 rows and 50,000 bytes.
	ModelRows  int
	ModelBytes int
}

// cellShown is how many bytes of one text cell the model reads. The stored result
// has the cell in full.
const cellShown = 2000

// New returns list_tables, describe_table and run_query.
func New(o Options) []agent.Tool {
	if o.ModelRows == 0 {
		o.ModelRows = 200
	}
	if o.ModelBytes == 0 {
		o.ModelBytes = 50_000
	}
	return []agent.Tool{listTables{o}, describeTable{o}, runQuery{o}}
}

type runInput struct {
	Thought string `json:"thought,omitempty" jsonschema:"Why this query is needed, in one short sentence. The user sees it."`
	SQL     string `json:"sql" jsonschema:"One read-only SQL statement in the source's dialect. Use the exact names of tables and columns."`
	Source  string `json:"source,omitempty" jsonschema:"Name of the source to query. Left out: the conversation's first source."`
}

type runQuery struct{ Options }

var runSpec = agent.Spec{
	Name: "run_query",
	Description: "Run one read-only SQL statement and get its rows. " +
		"The first rows are returned as JSON together with an id such as \"r3\", under which the whole result is stored: charts and the footnotes of your answer refer to it. " +
		"At most 200 rows are shown, so aggregate, filter and sort in SQL rather than reading raw rows. " +
		"Compute every number you want to say in SQL, differences, shares and averages too. " +
		"When the statement is refused or fails, the reason is returned: correct the statement and call again.",
	InputSchema: schema.For[runInput](),
	Side:        agent.Server,
	ReadOnly:    true,
	Aliases:     map[string]map[string]string{"read_query": {"query": "sql"}},
}

func (t runQuery) Spec() agent.Spec { return runSpec }

func (t runQuery) Call(ctx context.Context, call agent.Call) (agent.Output, error) {
	var in runInput
	if err := json.Unmarshal(call.Input, &in); err != nil {
		return agent.Fail("The input does not fit run_query: " + err.Error()), nil
	}
	in.SQL = unfence(in.SQL)
	if strings.TrimSpace(in.SQL) == "" {
		return agent.Fail("The SQL is empty. Send one SELECT statement."), nil
	}
	name, src, failed, err := lookup.Source(t.Sources, call, in.Source)
	if failed != nil || err != nil {
		return lookup.Output(failed), err
	}
	result, sum, err := source.Collect(ctx, src, source.Query{SQL: in.SQL, Limits: t.Limits})
	if err != nil {
		return lookup.Failure(ctx, src, in.SQL, err)
	}
	return agent.Output{
		Content: t.content(call.ResultID, result, sum),
		Rows:    &result,
		Source:  name,
		SQL:     in.SQL,
	}, nil
}

// unfence takes a statement out of the Markdown fence that some models put around
// it. What is inside goes through the gate like any other statement.
func unfence(sql string) string {
	text := strings.TrimSpace(sql)
	inner, fenced := strings.CutPrefix(text, "```")
	if !fenced {
		return sql
	}
	inner, closed := strings.CutSuffix(inner, "```")
	info, body, lines := strings.Cut(inner, "\n")
	if !closed || !lines || strings.ContainsAny(strings.TrimSpace(info), " \t;") {
		return sql
	}
	return strings.TrimSpace(body)
}

// content is what the model reads of a result.
func (t runQuery) content(id string, result footnote.Result, sum source.Summary) string {
	columns := make([]string, len(result.Columns))
	for i, c := range result.Columns {
		columns[i], _ = reply.Clip(c.Name, cellShown)
	}
	head := reply.JSON(columns)
	var notes []string
	if room := t.ModelBytes / 2; len(head) > room { // thousands of columns
		columns = columns[:len(columns)*room/len(head)]
		head = reply.JSON(columns)
		notes = append(notes, fmt.Sprintf("Only the first %d of %d columns are shown; select fewer.", len(columns), len(result.Columns)))
	}
	rows, shown, cut := reply.Head(firstCells(result.Rows, len(columns), t.ModelRows), t.ModelRows, t.ModelBytes-len(head), cellShown)
	n := len(result.Rows)
	if shown < n {
		notes = append(notes, fmt.Sprintf("Only the first %d of %d rows are shown here; result %s has them all.", shown, n, id))
	}
	if result.Truncated {
		notes = append(notes, fmt.Sprintf("The query gave more rows than may be read: reading stopped at the limit of %s after %d rows. Totals over these rows would be wrong; aggregate in SQL.", sum.Limit, n))
	}
	if cut {
		notes = append(notes, fmt.Sprintf("Cells longer than %d bytes are cut here.", cellShown))
	}
	if n == 0 {
		notes = append(notes, "The query gave no rows.")
	}
	return string(reply.JSON(struct {
		Result    string          `json:"result"`
		Columns   json.RawMessage `json:"columns"`
		Rows      json.RawMessage `json:"rows"`
		RowCount  int             `json:"row_count"`
		Truncated bool            `json:"truncated"`
		Note      string          `json:"note,omitempty"`
	}{id, head, rows, n, shown < n || result.Truncated, strings.Join(notes, " ")}))
}

// firstCells cuts the first n rows to their first width cells.
func firstCells(rows [][]any, width, n int) [][]any {
	rows = rows[:min(n, len(rows))]
	if len(rows) == 0 || len(rows[0]) <= width {
		return rows
	}
	out := make([][]any, len(rows))
	for i, row := range rows {
		out[i] = row[:min(width, len(row))]
	}
	return out
}
