// Package cell reads the times in calls of the tools about markets and charts, and makes the cells of their tables.
package cell

import (
	"strings"
	"time"

	"github.com/footnotehq/footnote"
)

// Columns returns the columns of a table from a list such as "time timestamp, open number".
func Columns(list string) (columns []footnote.Column) {
	for column := range strings.SplitSeq(list, ", ") {
		name, kind, _ := strings.Cut(column, " ")
		columns = append(columns, footnote.Column{Name: name, Kind: kind})
	}
	return columns
}

// Known returns the cell for a value that may be unknown.
func Known[T any](v *T) any {
	if v == nil {
		return nil
	}
	return *v
}

// Set returns the cell for a value whose zero means that there is none.
func Set[T comparable](v T) any {
	if v == *new(T) {
		return nil
	}
	return v
}

// Time returns the cell for a time; the zero time is nil.
func Time(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(time.RFC3339)
}

// ParseTime reads a date or a time of a call. A time without a zone is UTC.
func ParseTime(text string) (t time.Time, err error) {
	for _, layout := range []string{
		time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly,
	} {
		if t, err = time.Parse(layout, text); err == nil {
			break
		}
	}
	return t.UTC(), err
}
