package offline

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/footnotehq/footnote/source"
)

const (
	hintLimit = 16
	hintTime  = 1500 * time.Millisecond
)

// Suggest returns at most n questions about a source that the planner can answer. Each has been read and run with small
// limits, and returned rows.
func (pn *Planner) Suggest(ctx context.Context, name string, n int) ([]string, error) {
	all, err := pn.suggestions(ctx, name)
	if err != nil {
		return nil, err
	}
	return all[:max(0, min(n, len(all)))], nil
}

// SuggestAmong returns at most n questions that one of several sources can answer. Questions that no other source
// explains come first, because the planner asks back about the others.
func (pn *Planner) SuggestAmong(ctx context.Context, names []string, n int) ([]string, error) {
	if len(names) == 1 {
		return pn.Suggest(ctx, names[0], n)
	}
	var each [][]string
	var firstErr error
	for _, name := range names[:min(len(names), maxSources)] {
		hints, err := pn.Suggest(ctx, name, hintLimit)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil && firstErr == nil {
			firstErr = err
		}
		each = append(each, hints)
	}
	all := interleave(each...)
	if len(all) == 0 {
		return nil, firstErr
	}
	var certain, ambiguous []string
	for _, q := range all {
		c, err := pn.choose(ctx, names, q, nil)
		if err != nil {
			return nil, err
		}
		if len(c.fits) > 0 {
			ambiguous = append(ambiguous, q)
		} else {
			certain = append(certain, q)
		}
		if len(certain) == n {
			break
		}
	}
	certain = append(certain, ambiguous...)
	return certain[:min(n, len(certain))], nil
}

// suggestions returns all tested suggestions, in a fixed order.
func (pn *Planner) suggestions(ctx context.Context, name string) ([]string, error) {
	p, src, err := pn.profile(ctx, name)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	hints := p.hints
	p.mu.Unlock()
	if hints == nil { // not under the lock: the statements may be slow, and others must be able to give up
		if hints, err = p.testedSuggestions(ctx, src); err != nil {
			return nil, err
		}
		p.mu.Lock()
		p.hints = hints
		p.mu.Unlock()
	}
	return slices.Clone(hints), nil
}

// testedSuggestions returns the candidate questions that the planner understands and that have an answer.
func (p *profile) testedSuggestions(ctx context.Context, src source.Source) ([]string, error) {
	out := []string{} // not nil, so that it is kept
	for i, q := range p.candidates() {
		if len(out) == hintLimit || i == 60 {
			break
		}
		a := p.read(q, nil)
		if a.declined != nil || slices.Contains(out, q) {
			continue
		}
		row, err := firstRow(ctx, src, a.plan.sql(p.dialect))
		if err != nil {
			return nil, err
		}
		if row != nil && row[len(row)-1] != nil {
			out = append(out, q)
		}
	}
	return out, nil
}

// firstRow returns the first row of a statement, or nil if it has none or takes too long. An error means that the
// statement could not be tried.
func firstRow(ctx context.Context, src source.Source, sql string) ([]any, error) {
	res, _, err := source.Collect(ctx, src, source.Query{SQL: sql, Limits: source.Limits{Time: hintTime, Rows: 50}})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if couldNotRead(ctx, err) {
		return nil, fmt.Errorf("try a question: %w", err)
	}
	if err != nil || len(res.Rows) == 0 {
		return nil, nil
	}
	return res.Rows[0], nil
}

// candidates returns questions of several kinds, the most useful first.
func (p *profile) candidates() []string {
	tables := slices.Clone(p.tables)
	slices.SortStableFunc(tables, func(a, b *table) int { return b.interest() - a.interest() })
	var trend, top, share, groups, counts []string
	if m, ok := p.revenue(); ok {
		if m.col.t.nearDate() != nil {
			trend = append(trend, "Revenue by month")
		}
		for _, t := range tables {
			if len(t.label) > 0 && t.key != nil && m.col.t != t && m.col.t.reaches(t) {
				top = append(top, "Top five "+t.many()+" by revenue")
			}
		}
	}
	for _, t := range tables[:min(6, len(tables))] {
		rows := t.many()
		counts = append(counts, "How many "+rows+" are there?")
		dims := t.goodDims()
		date := t.mainDate()
		if c := t.mainMeasure(); c != nil {
			figure := UpperFirst(measure{agg: aggSum, col: c}.describe())
			if isMeanOnly(c) {
				figure = "Average " + c.title()
			}
			if date != nil {
				trend = append(trend, figure+" by month")
			}
			for _, d := range dims[:min(2, len(dims))] {
				groups = append(groups, figure+" by "+d.title())
			}
		}
		if date != nil && len(p.tables) > 1 {
			trend = append(trend, "Number of "+rows+" per month")
		}
		for _, d := range dims[:min(2, len(dims))] {
			share = append(share, "Share of "+rows+" by "+d.title())
			groups = append(groups, "Number of "+rows+" by "+d.title())
		}
	}
	return append(interleave(trend, top, share, groups, counts), p.plainCandidates(tables)...)
}

// plainCandidates returns questions that any table with rows can answer, even a view or a table with a single text
// column.
func (p *profile) plainCandidates(tables []*table) []string {
	var kinds, lists []string
	for _, t := range tables[:min(6, len(tables))] {
		lists = append(lists, "Show 5 "+t.many(), "List all "+t.many())
		for _, c := range t.cols[:min(6, len(t.cols))] {
			if c.role != roleDate && c.role != roleMeasure && c.role != roleBool {
				kinds = append(kinds, "How many different "+c.title()+" are there?", "List the different "+c.title())
			}
		}
	}
	return interleave(kinds, lists)
}

// interleave returns the questions of several kinds, taking one of each kind in turn.
func interleave(kinds ...[]string) []string {
	var out []string
	for i := range 20 {
		for _, k := range kinds {
			if i < len(k) && !slices.Contains(out, k[i]) {
				out = append(out, k[i])
			}
		}
	}
	return out
}

// interest scores tables by how much one can ask about them.
func (t *table) interest() int {
	n := 2 * len(t.parents)
	if t.mainDate() != nil {
		n += 3
	}
	if t.mainMeasure() != nil {
		n += 3
	}
	if t.rows == 0 {
		n -= 20
	}
	return n
}

func (t *table) mainMeasure() *column {
	if c := t.money(); c != nil {
		return c
	}
	for _, c := range t.cols {
		if c.role == roleMeasure && c.distinct > 1 {
			return c
		}
	}
	return nil
}

// goodDims returns columns with few values that are worth grouping by.
func (t *table) goodDims() []*column {
	return t.find(func(c *column) bool {
		return c.role == roleDimension && c.distinct > 1 && c.distinct <= 30 && c.distinct < c.nonNull &&
			!strings.HasSuffix(c.title(), " id") && !strings.Contains(c.title(), "note")
	})
}
