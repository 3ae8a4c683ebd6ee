package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
)

type queryCmd struct {
	SQL   string `arg:"" optional:"" help:"The statement; not with --batch."`
	JSON  bool   `name:"json" help:"Print columns and rows as JSON."`
	Batch bool   `help:"Read lines {\"id\",\"sql\"} and print lines {\"id\",\"outcome\",\"reason\",\"rows\",\"ms\"}."`
}

// Help is shown by footnote query --help.
func (queryCmd) Help() string {
	return `The statement goes through the same gate and limits as the analyst's.

  footnote query --source shop.db "select count(*) from orders"
  footnote query --source shop.db --json "select city, count(*) from customers group by city"

Exit codes: 0 done, 1 failed, 2 usage, 3 refused, 4 limit.`
}

// Run executes the command.
func (q *queryCmd) Run(ctx context.Context, s *settings, e env, std streams) error {
	if q.Batch == (q.SQL != "") {
		return &exit{exitUsage, errors.New("query needs one statement, or --batch and statements on standard input")}
	}
	c, err := s.load(e, nil)
	if err != nil {
		return err
	}
	if len(c.Sources) != 1 {
		return &exit{exitUsage, fmt.Errorf("query needs exactly one source; %d are named. Use --source", len(c.Sources))}
	}
	all, err := openSources(ctx, c, logger(std.err, "warn"), loading(std.err))
	if err != nil {
		return err
	}
	defer all.close()
	src := all[all.names()[0]]
	if q.Batch {
		return batch(ctx, src, std.in, std.out)
	}
	res, sum, err := source.Collect(ctx, src, source.Query{SQL: q.SQL})
	if err != nil {
		return queryError(err)
	}
	if q.JSON {
		err = printJSON(std.out, tableJSON(res, sum))
	} else {
		printTable(std.out, res, terminalWidth(std.out))
		fmt.Fprintf(std.err, "%d rows in %s\n", sum.Rows, sum.Elapsed.Round(time.Millisecond))
	}
	if err == nil && sum.Truncated {
		return &exit{exitLimit, errors.New(cutShort(sum))}
	}
	return err
}

// cutShort says that a result has more rows than were read.
func cutShort(sum source.Summary) string {
	return fmt.Sprintf("the result was cut after %d rows, at the limit of %s", sum.Rows, sum.Limit)
}

// queryError gives an error its exit code.
func queryError(err error) error {
	e, ok := errors.AsType[*source.Error](err)
	switch {
	case !ok:
		return &exit{exitFailed, err}
	case e.Kind == source.Refused:
		return &exit{exitRefused, err}
	case e.Kind == source.Limited:
		return &exit{exitLimit, err}
	default:
		return &exit{exitFailed, err}
	}
}

// queryJSON is the output of query --json.
type queryJSON struct {
	Columns   []footnote.Column `json:"columns"`
	Rows      []json.RawMessage `json:"rows"`
	RowCount  int               `json:"row_count"`
	Truncated bool              `json:"truncated"`
	Millis    int64             `json:"ms"`
}

func tableJSON(res footnote.Result, sum source.Summary) queryJSON {
	return queryJSON{Columns: columnsOf(res), Rows: rowsJSON(res), RowCount: sum.Rows, Truncated: sum.Truncated, Millis: sum.Elapsed.Milliseconds()}
}

func columnsOf(res footnote.Result) []footnote.Column {
	if res.Columns == nil {
		return []footnote.Column{}
	}
	return res.Columns
}

func rowsJSON(res footnote.Result) []json.RawMessage {
	rows := make([]json.RawMessage, len(res.Rows))
	for i, row := range res.Rows {
		rows[i] = footnote.AppendRow(nil, row)
	}
	return rows
}

func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// batchIn and batchOut are the lines of query --batch.
type batchIn struct {
	ID  json.RawMessage `json:"id"`
	SQL *string         `json:"sql"`
}

type batchOut struct {
	ID      json.RawMessage `json:"id"`
	Outcome string          `json:"outcome"` // refused, executed, limited or failed
	Reason  string          `json:"reason"`
	Rows    int             `json:"rows"`
	Millis  int64           `json:"ms"`
}

// maxLine bounds a line of a batch.
const maxLine = 16 << 20

// batch runs one statement for each line, over one pool of connections. Only a
// line that cannot be read is an error.
func batch(ctx context.Context, src source.Source, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" {
			continue
		}
		var line batchIn
		if err := json.Unmarshal([]byte(text), &line); err != nil || line.SQL == nil {
			return &exit{exitUsage, fmt.Errorf(`line %d is not {"id":…,"sql":"…"}`, n)}
		}
		if line.ID == nil {
			line.ID = json.RawMessage("null")
		}
		if err := printJSON(out, one(ctx, src, line)); err != nil {
			return fmt.Errorf("write the outcome of line %d: %w", n, err)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if err := lines.Err(); err != nil {
		return &exit{exitUsage, fmt.Errorf("read standard input: %w", err)}
	}
	return nil
}

func one(ctx context.Context, src source.Source, line batchIn) batchOut {
	begun := time.Now()
	sum, err := src.Query(ctx, source.Query{SQL: *line.SQL}, func([]any) error { return nil })
	o := batchOut{ID: line.ID, Outcome: "executed", Rows: sum.Rows, Millis: time.Since(begun).Milliseconds()}
	if err != nil {
		o.Outcome, o.Reason, o.Rows = source.Failed, err.Error(), 0
		if e, ok := errors.AsType[*source.Error](err); ok {
			o.Outcome, o.Reason = e.Kind, e.Reason
		}
		return o
	}
	if sum.Truncated {
		o.Outcome, o.Reason = source.Limited, cutShort(sum)
	}
	return o
}
