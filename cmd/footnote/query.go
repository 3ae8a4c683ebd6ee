package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/app"
	"github.com/footnotehq/footnote/internal/doctor"
	"github.com/footnotehq/footnote/source"
)

type queryCmd struct {
	SQL   string `arg:"" optional:"" help:"The statement; not with --batch."`
	JSON  bool   `name:"json" help:"Print columns and rows as JSON."`
	Batch bool   `help:"Read lines {\"id\",\"sql\"} and print lines {\"id\",\"outcome\",\"reason\",\"rows\",\"ms\"}."`
}

// Run executes the command.
func (q *queryCmd) Run(ctx context.Context, c config.Config, std streams) error {
	if q.Batch == (q.SQL != "") {
		return &exit{exitUsage, errors.New("query needs one statement, or --batch and statements on standard input")}
	}
	if len(c.Sources) != 1 {
		return &exit{
			exitUsage, fmt.Errorf("query needs exactly one source, not %d. Name it with --source", len(c.Sources)),
		}
	}
	o := options(c, std, "warn")
	o.Progress = loading(std.err)
	src, end, err := app.OpenSource(ctx, c, o)
	err = asStopped(ctx, err)
	if err != nil && q.JSON {
		err = errors.Join(err, printJSON(std.out, tableJSON(footnote.Result{}, source.Summary{}, err)))
	}
	if err != nil {
		return err
	}
	defer end()
	ctx = footnote.WithPrincipal(ctx, self())
	if q.Batch {
		return batch(ctx, src, std.in, std.out)
	}
	return q.one(ctx, src, std)
}

// one runs the statement and prints its result.
func (q *queryCmd) one(ctx context.Context, src source.Source, std streams) error {
	res, sum, err := source.Collect(ctx, src, source.Query{SQL: q.SQL})
	err = asStopped(ctx, err)
	switch {
	case q.JSON:
		if perr := printJSON(std.out, tableJSON(res, sum, err)); perr != nil {
			return perr
		}
	case err == nil:
		printTable(std.out, res, terminalWidth(std.out))
		fmt.Fprintf(std.err, "%s in %s\n", doctor.Counted(sum.Rows, "row"), sum.Elapsed.Round(time.Millisecond))
	}
	outcome, reason := outcomeOf(sum, err)
	return ended(outcome, cmp.Or(err, errors.New(reason)))
}

// errStopped is returned by a command that was told to stop.
var errStopped = errors.New("stopped")

// asStopped returns errStopped if ctx ended, and err otherwise.
func asStopped(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return errStopped
	}
	return err
}

// queryJSON is the output of query --json.
type queryJSON struct {
	Columns   []footnote.Column `json:"columns"`
	Rows      []json.RawMessage `json:"rows"`
	RowCount  int               `json:"row_count"`
	Truncated bool              `json:"truncated"`
	Millis    int64             `json:"ms"`
	Outcome   string            `json:"outcome"` // as in batchOut
	Reason    string            `json:"reason"`
}

// executed is the outcome of a statement that returned all its rows. The other outcomes are the kinds of a
// source.Error.
const executed = "executed"

func tableJSON(res footnote.Result, sum source.Summary, err error) queryJSON {
	out := queryJSON{
		Columns: columnsOf(res), Rows: rowsJSON(res), Truncated: sum.Truncated, Millis: sum.Elapsed.Milliseconds(),
	}
	out.Outcome, out.Reason = outcomeOf(sum, err)
	out.RowCount = len(res.Rows)
	return out
}

// outcomeOf returns the outcome of a statement, and the reason if it did not return all its rows.
func outcomeOf(sum source.Summary, err error) (outcome, reason string) {
	bad, ok := errors.AsType[*source.Error](err)
	switch {
	case ok:
		return bad.Kind, bad.Reason
	case err != nil:
		return source.Failed, app.OneLine(err)
	case sum.Truncated:
		return source.Limited, fmt.Sprintf("the result was cut after %d rows, at the limit of %s", sum.Rows, sum.Limit)
	}
	return executed, ""
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

// batchIn and batchOut are the input and output lines of query --batch.
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

// maxLine is the maximum length of a batch line, in bytes.
const maxLine = 16 << 20

// batch runs one statement per line over one pool of connections. It returns an error only for a line it cannot read.
func batch(ctx context.Context, src source.Source, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	scan := bufio.NewScanner(in)
	scan.Buffer(make([]byte, 64<<10), maxLine)
	lines := sendLines(ctx, scan)
	for n := 1; ; n++ {
		var text string
		more := false
		select {
		case text, more = <-lines:
		case <-ctx.Done():
		}
		switch text = strings.TrimSpace(text); {
		case ctx.Err() != nil:
			return errStopped
		case !more && scan.Err() != nil:
			return &exit{exitUsage, fmt.Errorf("read standard input: %w", scan.Err())}
		case !more:
			return nil
		case text == "":
			continue
		}
		var line batchIn
		if err := json.Unmarshal([]byte(text), &line); err != nil || line.SQL == nil {
			return &exit{exitUsage, fmt.Errorf(`line %d is not {"id":…,"sql":"…"}`, n)}
		}
		if line.ID == nil {
			line.ID = json.RawMessage("null")
		}
		if err := printJSON(out, runLine(ctx, src, line)); err != nil {
			return fmt.Errorf("write the outcome of line %d: %w", n, err)
		}
	}
}

// sendLines sends lines from a goroutine, and closes the channel after the last one: a blocked read of standard input
// cannot be cancelled, and lasts until the process exits.
func sendLines(ctx context.Context, scan *bufio.Scanner) <-chan string {
	out := make(chan string)
	go func() {
		defer close(out)
		for scan.Scan() {
			select {
			case out <- scan.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

func runLine(ctx context.Context, src source.Source, line batchIn) batchOut {
	begun := time.Now()
	sum, err := src.Query(ctx, source.Query{SQL: *line.SQL}, func([]any) error { return nil })
	err = asStopped(ctx, err)
	o := batchOut{ID: line.ID, Rows: sum.Rows, Millis: time.Since(begun).Milliseconds()}
	if o.Outcome, o.Reason = outcomeOf(sum, err); err != nil {
		o.Rows = 0
	}
	return o
}
