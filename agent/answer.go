package agent

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/footnotehq/footnote"
)

// Resolver finds the footnotes of the numerals in an answer.
type Resolver func(d Draft) Resolved

// Draft is an answer without footnotes.
type Draft struct {
	Text, Question string
	Tables         []footnote.Table // results of the conversation, oldest first
	Marks          []footnote.Mark  // that the model has written, with offsets in Text
	Hints          []footnote.Cite  // footnotes that the model itself provided
}

// Resolved holds the footnotes of an answer.
type Resolved struct {
	Cites      []footnote.Cite
	Unresolved []footnote.Unresolved
	// MarksHeld and MarksBroken count the marks that were verified, and those that contradict their figure or name no
	// cell.
	MarksHeld, MarksBroken int
}

const (
	citedResults = 20     // results searched for footnotes, newest first
	citedRows    = 50_000 // rows of all these results

	readTime = 10 * time.Second // for one chunk of rows
)

// answered returns the answer of the run with its footnotes, or nil when it has none.
func (r *run) answered(hints []footnote.Cite) *footnote.Answered {
	r.mu.Lock()
	of := Draft{Text: r.s.answer, Question: r.s.question(), Marks: r.s.answerMarks, Hints: hints}
	chart := r.s.chart
	r.mu.Unlock()
	if of.Text == "" {
		return nil
	}
	a := &footnote.Answered{Text: of.Text, Cites: []footnote.Cite{}, Chart: chart}
	if r.e.opts.Resolve != nil {
		found := r.resolve(of)
		a.Cites, a.Unresolved = append(a.Cites, found.Cites...), found.Unresolved
		r.countMarks(found)
	}
	a.Verified = r.verified(a.Cites)
	return a
}

// verified returns the results behind an answer that verified queries returned: those that its footnotes cite. An
// answer that cites no result, such as one that only has names, rests on the only result for its question. Results for
// earlier questions do not count: they were verified as answers to those.
func (r *run) verified(cites []footnote.Cite) (list []footnote.VerifiedResult) {
	r.mu.Lock()
	defer r.mu.Unlock()
	cited := map[string]bool{}
	for _, c := range cites {
		for _, id := range resultsIn(c) {
			cited[id] = true
		}
	}
	fresh := r.s.freshResults()
	for _, s := range fresh {
		if s.Verified != nil && (cited[s.ID] || len(cited) == 0 && len(fresh) == 1) {
			list = append(list, footnote.VerifiedResult{Result: s.ID, Verified: *s.Verified})
		}
	}
	return list
}

// resultIDs matches the ids of results in a formula.
var resultIDs = regexp.MustCompile(`\br[0-9]+\b`)

// resultsIn returns the ids of the results that a footnote cites.
func resultsIn(c footnote.Cite) []string {
	ids := resultIDs.FindAllString(c.Formula, -1)
	if c.Result != "" {
		ids = append(ids, c.Result)
	}
	return ids
}

// resolve finds the footnotes. If that fails, the answer has none.
func (r *run) resolve(of Draft) (found Resolved) {
	defer onPanic(r.log, "resolver of footnotes panicked", func(any) { found = Resolved{} })
	of.Tables = r.tables()
	return r.e.opts.Resolve(of)
}

// countMarks reports how well the model has marked the figures of an answer.
func (r *run) countMarks(found Resolved) {
	figures := found.MarksBroken
	for _, c := range found.Cites {
		if c.Result != "" {
			figures++
		}
	}
	if name := r.s.opened.Model; figures > 0 && r.wantsMarks() {
		r.e.opts.Marks.Counted(name, figures, found.MarksHeld, found.MarksBroken)
	}
}

// wantsMarks reports whether the model is asked for marks.
func (r *run) wantsMarks() bool {
	return r.e.opts.Marks != nil && r.e.opts.Marks.Wanted(r.s.opened.Model)
}

// tables returns the newest results of the conversation with their rows, oldest first. It leaves out a result
// whose rows cannot be read: the numbers from it stay unresolved.
func (r *run) tables() []footnote.Table {
	r.mu.Lock()
	stored := r.s.stored[:len(r.s.stored):len(r.s.stored)]
	r.mu.Unlock()
	var tables []footnote.Table
	total := 0 // rows
	for i := len(stored) - 1; i >= 0 && len(tables) < citedResults; i-- {
		if total += stored[i].RowCount; total > citedRows && len(tables) > 0 {
			break
		}
		s := stored[i]
		// A run that was stopped may still have an answer with footnotes.
		rows, err := r.rowsOf(context.WithoutCancel(r.ctx), s)
		if footnote.CodeOf(err) == footnote.NotFound { // its rows have expired
			continue
		}
		if err != nil {
			r.log.Warn("cannot read a result; its numbers stay unresolved", "result", s.ID, "err", err)
			continue
		}
		tables = append(tables, footnote.Table{
			ID: s.ID, SQL: s.SQL, RowCount: s.RowCount,
			Result: footnote.Result{Columns: s.Columns, Rows: rows, Truncated: s.Truncated},
		})
	}
	slices.Reverse(tables)
	return tables
}

// rowsOf returns the rows of a result of the conversation.
func (r *run) rowsOf(ctx context.Context, s footnote.StoredResult) ([][]any, error) {
	r.mu.Lock()
	known, ok := r.rows[s.ID]
	r.mu.Unlock()
	if ok {
		return known.Rows, nil
	}
	var rows [][]any
	for _, c := range s.Chunks {
		data, err := r.blob(ctx, c.Digest)
		if err != nil {
			return nil, s.ReadError(err)
		}
		chunk, err := footnote.DecodeRows(data, s.Columns)
		if err != nil {
			return nil, fmt.Errorf("decode rows of %s: %w", s.ID, err)
		}
		rows = append(rows, chunk...)
	}
	return rows, nil
}
