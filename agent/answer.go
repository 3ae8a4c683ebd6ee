package agent

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/footnotehq/footnote"
)

// Resolver finds the footnotes of the numerals in an answer. Tables are the results of the conversation, oldest first;
// hints are footnotes that the model itself provided.
type Resolver func(text, question string, tables []Table,
	hints []footnote.Cite) ([]footnote.Cite, []footnote.Unresolved)

// Table is a stored result with its rows.
type Table struct {
	footnote.StoredResult
	Rows [][]any
}

const (
	citedResults = 20     // results searched for footnotes, newest first
	citedRows    = 50_000 // rows of all these results

	readTime = 10 * time.Second // for one chunk of rows
)

// answered returns the answer of the run with its footnotes, or nil when it has none.
func (r *run) answered(hints []footnote.Cite) *footnote.Answered {
	r.mu.Lock()
	text, question, chart := r.s.answer, r.s.question(), r.s.chart
	r.mu.Unlock()
	if text == "" {
		return nil
	}
	a := &footnote.Answered{Text: text, Cites: []footnote.Cite{}, Chart: chart}
	if r.e.opts.Resolve == nil {
		return a
	}
	cites, open := r.resolve(text, question, hints)
	a.Unresolved = open
	if cites != nil {
		a.Cites = cites
	}
	return a
}

// resolve finds the footnotes. If that fails, the answer has none.
func (r *run) resolve(text, question string,
	hints []footnote.Cite) (cites []footnote.Cite, open []footnote.Unresolved) {
	defer func() {
		if p := recover(); p != nil {
			r.e.opts.Logger.Error("resolver of footnotes panicked", "conversation", r.stream, "run", r.id,
				"panic", p, "stack", string(debug.Stack()))
			cites, open = nil, nil
		}
	}()
	return r.e.opts.Resolve(text, question, r.tables(), hints)
}

// tables returns the newest results of the conversation with their rows, oldest first. It leaves out a result
// whose rows cannot be read: the numbers from it stay unresolved.
func (r *run) tables() []Table {
	r.mu.Lock()
	stored := r.s.stored[:len(r.s.stored):len(r.s.stored)]
	r.mu.Unlock()
	var tables []Table
	rows := 0
	for i := len(stored) - 1; i >= 0 && len(tables) < citedResults; i-- {
		if rows += stored[i].RowCount; rows > citedRows && len(tables) > 0 {
			break
		}
		table := Table{StoredResult: stored[i]}
		r.mu.Lock()
		known, ok := r.rows[stored[i].ID]
		r.mu.Unlock()
		if ok {
			table.Rows = known.Rows
		} else if read, err := r.readRows(stored[i]); err == nil {
			table.Rows = read
		} else {
			r.e.opts.Logger.Warn("cannot read a result; its numbers stay unresolved",
				"conversation", r.stream, "result", stored[i].ID, "err", err)
			continue
		}
		tables = append([]Table{table}, tables...)
	}
	return tables
}

func (r *run) readRows(s footnote.StoredResult) ([][]any, error) {
	// A run that was stopped may still have an answer with footnotes.
	ctx := context.WithoutCancel(r.ctx)
	var rows [][]any
	for _, c := range s.Chunks {
		data, err := r.blob(ctx, c.Digest)
		if err != nil {
			return nil, fmt.Errorf("read rows of %s: %w", s.ID, err)
		}
		chunk, err := footnote.DecodeRows(data, s.Columns)
		if err != nil {
			return nil, fmt.Errorf("decode rows of %s: %w", s.ID, err)
		}
		rows = append(rows, chunk...)
	}
	return rows, nil
}
