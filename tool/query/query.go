// Package query provides the tools that describe a source's tables and run SQL on it: list_tables, describe_table
// and run_query.
package query

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/reply"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/internal/lookup"
	"github.com/footnotehq/footnote/tool/schema"
)

// Options configure the tools.
type Options struct {
	Sources lookup.Sources // required
	// Limits bound a query's rows, all of which are stored. Zero fields take the source's own limits.
	Limits source.Limits
	// ModelRows and ModelBytes limit what the model reads of a result; 0 means reply.TableRows and
	// reply.TableBytes.
	ModelRows  int
	ModelBytes int
}

// New returns list_tables, describe_table and run_query.
func New(o Options) []tool.Tool {
	o.ModelRows = cmp.Or(o.ModelRows, reply.TableRows)
	o.ModelBytes = cmp.Or(o.ModelBytes, reply.TableBytes)
	return []tool.Tool{
		lookup.Tool(listSpec, listTables{o}.run),
		lookup.Tool(describeSpec, describeTable{o}.run),
		lookup.Tool(runSpec, runQuery{o}.run),
	}
}

// CommonNames returns the names under which common database servers for AI clients offer a query, the list of tables
// and the description of a table.
func CommonNames() (query, list, describe string) {
	return commonQuery, listSpec.Name, describeSpec.Name
}

const commonQuery = "read_query"

type runInput struct {
	Thought string `json:"thought,omitempty" jsonschema:"Why this query is needed, in one short sentence. The user sees it."`
	SQL     string `json:"sql" jsonschema:"One read-only SQL statement in the source's dialect. Use the exact names of tables and columns."`
	Source  string `json:"source,omitempty" jsonschema:"Name of the source to query. Required when the conversation has several sources."`
}

type runQuery struct{ Options }

var runSpec = tool.Spec{
	Name: "run_query", Label: "Running a query", Family: tool.Query, Cacheable: true,
	Description: "Run one read-only SQL statement and get its rows. The first rows are returned as JSON together " +
		"with an id such as \"r3\", under which the whole result is stored: charts and the footnotes of your answer " +
		"refer to it. At most 200 rows are shown, so aggregate, filter and sort in SQL rather than reading raw rows. " +
		"Compute every number you want to say in SQL, differences, shares and averages too. When the statement is " +
		"refused or fails, the reason is returned: correct the statement and call again.",
	InputSchema: schema.For[runInput](),
	Side:        tool.Server, ReadOnly: true,
	Aliases: map[string]map[string]string{commonQuery: {"query": "sql"}},
}

func (t runQuery) run(ctx context.Context, call tool.Call, in runInput) (tool.Output, error) {
	name, src, err := lookup.Source(t.Sources, call, in.Source)
	if err != nil {
		return tool.Output{}, err
	}
	ctx = footnote.WithSource(ctx, name)
	in.SQL = unfence(in.SQL)
	result, sum, err := Run(ctx, src, source.Query{SQL: in.SQL, Limits: t.Limits})
	if err != nil {
		return tool.Output{}, lookup.Failure(ctx, src, in.SQL, err)
	}
	return tool.Output{Content: t.content(call.ResultID, result, sum), Rows: &result, Source: name, SQL: in.SQL}, nil
}

// Run runs one statement. All statements, from models and from people, reach a source through Run. A refusal by the
// gate or the engine is a *source.Error.
func Run(ctx context.Context, src source.Source, q source.Query) (footnote.Result, source.Summary, error) {
	if strings.TrimSpace(q.SQL) == "" {
		return footnote.Result{}, source.Summary{}, source.Refusef("The SQL is empty. Send one SELECT statement.")
	}
	res, sum, err := source.Collect(ctx, src, q)
	res.Columns = footnote.DistinctColumns(res.Columns) // footnotes and charts refer to columns by name
	return res, sum, err
}

// unfence removes the Markdown fence that some models put around a statement. The statement inside passes through
// the gate like any other.
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

// content returns what the model reads of a result.
func (t runQuery) content(id string, result footnote.Result, sum source.Summary) string {
	cut := ""
	if result.Truncated {
		cut = fmt.Sprintf("The query has more rows: reading stopped at the limit of %s after %d "+
			"rows. Totals over these rows would be wrong; aggregate in SQL.", sum.Limit, len(result.Rows))
	}
	return reply.Table{ID: id, Result: result, Rows: t.ModelRows, Bytes: t.ModelBytes, Cut: cut}.JSON()
}
