package offline

import (
	"slices"
)

// The kinds of plans.
const (
	kindAggregate = iota
	kindList
	kindRaw // SQL that the user typed
)

// Aggregates. All but count and distinct are SQL's own names in lower case.
const (
	aggCount    = "count"
	aggSum      = "sum"
	aggAvg      = "avg"
	aggMedian   = "median"
	aggMin      = "min"
	aggMax      = "max"
	aggDistinct = "distinct"
)

// plan is a question as the planner understood it: a small algebra that can be written in every dialect.
type plan struct {
	p        *profile
	kind     int
	raw      string
	base     *table
	measures []measure
	dims     []dim
	filters  []filter
	having   *filter
	share    bool
	shareOf  []filter // the part whose share is asked for
	show     []*column
	rankBy   *column // a list's order
	order    int     // -1 descending, 1 ascending, 0 the default
	limit    int
	chart    string // "line", "bar", "pie" when asked for, "none" when not wanted
	compare  bool
	bare     bool     // show only the figure that ranks
	narrow   bool     // a list shows only what was asked for
	single   bool     // "which" asks for a single item
	notes    []string // notes for the reading
	ignores  bool     // a verb of the question sets no condition
}

// count makes the plan count the rows of a table. It returns nil.
func (pl *plan) count(t *table) *declined {
	pl.base, pl.measures = t, []measure{{agg: aggCount, name: countName(t)}}
	return nil
}

// rankRows makes the plan list the first rows of a table by a column: one, if the question names no number. It returns
// nil.
func (pl *plan) rankRows(t *table, by *column) *declined {
	pl.kind, pl.base, pl.rankBy, pl.limit = kindList, t, by, max(pl.limit, 1)
	return nil
}

// without keeps the rows without a value in a column.
func (pl *plan) without(c *column) {
	pl.filters = append(pl.filters, filter{op: opNull, col: c, words: "without " + c.title()})
}

// with keeps the rows with a value in a column.
func (pl *plan) with(c *column) {
	pl.filters = append(pl.filters, filter{op: opNull, not: true, col: c, words: "with " + c.title()})
}

// measure is an aggregate over a column, or over a product of two.
type measure struct {
	agg     string
	col     *column
	times   *column // col * times
	since   *column // time from since to col
	in      string  // unit of that time: d, h, min or s
	entity  *table  // counted: rows of this table, each once
	per     *table  // averaged over rows of this table
	name    string  // in words
	guessed bool    // its column is only the most likely one
	as      string  // name of the result's column
}

// dim is a grouping of results: a column, a period of a date, an entity.
type dim struct {
	col    *column
	entity *table
	bucket string
	as     string
	name   string
}

func (d dim) same(o dim) bool { return d.col == o.col && d.entity == o.entity && d.bucket == o.bucket }

// The kinds of filters.
const (
	opIn = iota + 1
	opNull
	opTrue
	opCompare
	opPeriod
	opNever
	opPeriods
)

type filter struct {
	op        int
	col       *column
	not       bool
	values    []string
	sign      string // of a comparison: > >= < <= = between
	num, num2 float64
	unit      string // of the numbers, until the column is known
	period    period
	periods   []period
	never     *table
	words     string // for the reading
}

// path returns the references from t to another table, each from a row to the one row it refers to, or nil if there is
// none. It returns the shortest path, but prefers a longer one to one with an ambiguous reference (a twin).
func (t *table) path(to *table) []edge {
	if path := t.walk(to, true); path != nil {
		return path
	}
	return t.walk(to, false)
}

// walk finds a path. If single is true, it avoids twin references.
func (t *table) walk(to *table, single bool) []edge {
	type step struct {
		t    *table
		path []edge
	}
	seen := map[*table]bool{t: true}
	queue := []step{{t, nil}}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		if s.t == to {
			return s.path
		}
		if len(s.path) == 5 {
			continue
		}
		for _, e := range s.t.parents {
			if !seen[e.to.t] && !(single && e.isTwin()) {
				seen[e.to.t] = true
				queue = append(queue, step{e.to.t, append(slices.Clone(s.path), e)})
			}
		}
	}
	return nil
}

// reaches reports whether each row of t refers to at most one row of to.
func (t *table) reaches(to *table) bool { return t == to || t.path(to) != nil }

// refTo returns the column of t, or of a table on the way, that holds the key of an entity, or the key itself if that
// has to be joined.
func (t *table) refTo(entity *table) *column {
	path := t.path(entity)
	if len(path) == 1 {
		return path[0].from
	}
	return entity.key
}

// keepsUnmatched reports whether rows without a counterpart stay in the result. A filter on a joined table drops them
// anyway.
func (pl *plan) keepsUnmatched() bool { return len(pl.dims) > 0 && pl.share }

// clone copies what a follow-up may change.
func (pl *plan) clone() *plan {
	c := *pl
	c.measures = slices.Clone(pl.measures)
	c.dims = slices.Clone(pl.dims)
	c.filters = slices.Clone(pl.filters)
	c.shareOf = slices.Clone(pl.shareOf)
	c.show = slices.Clone(pl.show)
	c.notes = nil
	return &c
}

// columns returns the columns that the plan uses.
func (pl *plan) columns() []*column {
	var out []*column
	add := func(cs ...*column) {
		for _, c := range cs {
			if c != nil {
				out = append(out, c)
			}
		}
	}
	for _, m := range pl.measures {
		add(m.col, m.times, m.since)
	}
	for _, d := range pl.dims {
		add(d.col)
		if d.entity != nil {
			add(d.entity.label...)
		}
	}
	for _, f := range append(slices.Clone(pl.filters), pl.shareOf...) {
		add(f.col)
	}
	add(pl.rankBy)
	return out
}
