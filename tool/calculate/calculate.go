// Package calculate runs SQL over the stored results of a conversation. The tool calculate gives it to models, so that
// each figure that combines results is computed by an engine and has a query of its own. A statement sees nothing but
// the results that it names.
package calculate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/export"
	"github.com/footnotehq/footnote/internal/reply"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/internal/lookup"
	"github.com/footnotehq/footnote/tool/schema"
)

// Limits of what a statement may read.
const (
	maxResults = 20
	maxCells   = 4_000_000
)

// Engine opens tables as a source. Its child process reads nothing but their files.
type Engine func(tables []source.TableFile) source.Tables

// Results are the stored results that a statement may read.
type Results struct {
	Stored []footnote.StoredResult
	// Rows reads all stored rows of a result.
	Rows func(ctx context.Context, r footnote.StoredResult) ([][]any, error)
}

// Calculated is the outcome of a statement.
type Calculated struct {
	footnote.Result
	Limit   string   // the limit that cut the rows, if Truncated
	Parents []string // ids of the results that the statement read
}

// Run runs one statement over results, which are tables named r1, r2, …. An error that whoever wrote the statement
// should read is a *tool.Refusal.
func (open Engine) Run(ctx context.Context, results Results, sql string) (c Calculated, _ error) {
	return c, open.with(ctx, results, sql, func(src source.Tables, named []footnote.StoredResult) error {
		result, sum, err := source.Collect(footnote.WithSource(ctx, ""), src, source.Query{SQL: sql})
		if err != nil {
			return lookup.Failure(ctx, src, sql, err)
		}
		result.Columns = footnote.DistinctColumns(result.Columns)
		label(sql, named, result.Columns)
		c = Calculated{Result: result, Limit: sum.Limit, Parents: sum.Tables}
		return incomplete(named, sum.Tables)
	})
}

// Origins returns where a row (from 0) of a calculated result comes from.
func (open Engine) Origins(ctx context.Context, results Results, sql string, row int) (o source.Origins, _ error) {
	return o, open.with(ctx, results, sql, func(src source.Tables, _ []footnote.StoredResult) (err error) {
		o, err = src.Origins(ctx, sql, row)
		return err
	})
}

// with opens the results that a statement names, and closes them after do.
func (open Engine) with(ctx context.Context, results Results, sql string,
	do func(src source.Tables, named []footnote.StoredResult) error) error {
	named, err := results.namedIn(sql)
	if err != nil {
		return err
	}
	folder, remove, err := child.MakeTemp()
	if err != nil {
		return storage(err)
	}
	defer remove()
	tables := make([]source.TableFile, len(named))
	cells := 0
	for i, r := range named {
		rows, err := results.Rows(ctx, r)
		if footnote.CodeOf(err) == footnote.NotFound {
			return tool.Refusef("%s", footnote.MessageOf(err))
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", r.ID, err)
		}
		if cells += len(rows) * len(r.Columns); cells > maxCells {
			return tool.Refusef("The results have more than %d cells together. Aggregate them in their "+
				"own queries first.", maxCells)
		}
		if tables[i], err = write(filepath.Join(folder, r.ID+".csv"), r, rows); err != nil {
			return storage(err)
		}
	}
	src := open(tables)
	defer src.Close()
	return do(src, named)
}

func storage(err error) error {
	return footnote.Wrapf(footnote.StorageUnavailable, err, "The results cannot be written for the calculation.")
}

func write(path string, r footnote.StoredResult, rows [][]any) (t source.TableFile, err error) {
	t = source.TableFile{Name: r.ID, Path: path}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	table := export.Table{Columns: r.Columns, Rows: func(yield func([][]any, error) bool) { yield(rows, nil) }}
	types, longest, err := export.Load(f, table)
	for i, c := range footnote.DistinctColumns(r.Columns[:len(types)]) {
		name := strings.ReplaceAll(c.Name, "\x00", "\uFFFD") // a statement cannot have NUL, but names from outside can
		t.Columns = append(t.Columns, source.TableColumn{Name: name, Type: types[i]})
	}
	t.Longest = longest
	return t, err
}

var resultName = regexp.MustCompile(`(?i)\br[0-9]{1,9}\b`)

// namedIn returns the results whose ids are in a text. Ids in other places than FROM only load a table too many.
func (r Results) namedIn(sql string) ([]footnote.StoredResult, error) {
	names := resultName.FindAllString(strings.ToLower(sql), -1)
	var named []footnote.StoredResult
	for _, s := range r.Stored {
		if slices.Contains(names, s.ID) {
			named = append(named, s)
		}
	}
	switch {
	case len(r.Stored) == 0:
		return nil, tool.Refusef("There are no results yet to calculate with. Run a query first.")
	case len(named) == 0:
		return nil, tool.Refusef("Name the results to calculate with in FROM. %s", r.list())
	case len(named) > maxResults:
		return nil, tool.Refusef("A calculation reads at most %d results.", maxResults)
	}
	return named, nil
}

// list describes the newest results.
func (r Results) list() string {
	const most = 10
	var b strings.Builder
	b.WriteString("There are:")
	for _, s := range r.Stored[max(0, len(r.Stored)-most):] {
		var columns []string
		for _, c := range s.Columns[:min(len(s.Columns), 12)] {
			columns = append(columns, c.Name)
		}
		fmt.Fprintf(&b, " %s (%s);", s.ID, strings.Join(columns, ", "))
	}
	text, _ := reply.Clip(strings.TrimSuffix(b.String(), ";"), 2000)
	return text + "."
}

// incomplete returns a refusal if one of the results that a statement read lacks rows: a total over it would be wrong.
func incomplete(named []footnote.StoredResult, read []string) error {
	for _, r := range named {
		if slices.Contains(read, r.ID) && (r.Truncated || r.Kept() < r.RowCount) {
			return tool.Refusef("%s is incomplete: it holds the first %d rows of its query, so a calculation over it "+
				"would be wrong. Aggregate in that query, or select fewer rows, and calculate with the new result.",
				r.ID, r.Kept())
		}
	}
	return nil
}

type input struct {
	Thought string `json:"thought,omitempty" jsonschema:"Why, in one short sentence. The user sees it."`
	SQL     string `json:"sql" jsonschema:"One SELECT in DuckDB's dialect over stored results."`
}

var spec = tool.Spec{
	Name: "calculate", Label: "Calculating", Family: tool.Query,
	Description: "Calculate with stored results of this conversation: they are tables, named by their ids (r1, r2, " +
		"…). Use it for every figure that combines results, above all of different sources: shares, growth, " +
		"differences, averages, joins. It runs one SELECT in DuckDB's dialect, for example SELECT a.month, " +
		"a.revenue / b.visits AS per_visit FROM r1 a JOIN r4 b USING (month); / divides exactly, and // gives whole " +
		"numbers. Its rows get an id of their own, like those of run_query. Results that are incomplete are " +
		"refused; figures of a single source are better computed in its own query.",
	InputSchema: schema.For[input](),
	Side:        tool.Server, ReadOnly: true,
}

// New returns the tool calculate.
func New(open Engine) tool.Tool { return lookup.Tool(spec, open.call) }

func (open Engine) call(ctx context.Context, call tool.Call, in input) (tool.Output, error) {
	c, err := open.Run(ctx, Results{Stored: call.Results, Rows: call.Rows}, in.SQL)
	if err != nil {
		return tool.Output{}, err
	}
	cut := ""
	if c.Truncated {
		cut = fmt.Sprintf("The calculation has more rows: reading stopped at the limit of %s after %d rows.", c.Limit,
			len(c.Rows))
	}
	return tool.Output{
		Content: reply.Table{ID: call.ResultID, Result: c.Result, Cut: cut}.JSON(),
		Rows:    &c.Result, SQL: in.SQL, Parents: c.Parents,
	}, nil
}
