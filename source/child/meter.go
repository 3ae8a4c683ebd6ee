package child

import (
	"errors"
	"time"

	"github.com/footnotehq/footnote/source"
)

// errEnough ends a query that has reached a row or byte limit; the rows read so far are valid.
var errEnough = errors.New("enough rows")

// meter counts a query's rows and bytes against its limits. The child and the server count the same way.
type meter struct {
	limits source.Limits
	rows   int
	bytes  int64
	limit  string // "rows" or "bytes" once that limit is reached
}

// add counts a row. It returns errEnough when the row exceeds the limits, and a *source.Error when a cell is too
// large.
func (m *meter) add(row []any) error {
	if m.rows >= m.limits.Rows {
		m.limit = "rows"
		return errEnough
	}
	size := int64(0)
	for _, cell := range row {
		s, ok := cell.(string)
		if !ok {
			size += 8
			continue
		}
		if len(s) > m.limits.Cell {
			return cellTooLarge(len(s), m.limits.Cell)
		}
		size += int64(len(s))
	}
	if m.bytes+size > m.limits.Bytes || size > maxRow/2 {
		m.limit = "bytes"
		return errEnough
	}
	m.rows++
	m.bytes += size
	return nil
}

// summary completes the engine's summary of a query.
func (m *meter) summary(s source.Summary, elapsed time.Duration) source.Summary {
	s.Rows, s.Limit, s.Truncated, s.Elapsed = m.rows, m.limit, m.limit != "", elapsed
	return s
}

func cellTooLarge(size, limit int) *source.Error {
	return source.Limitf("A cell has %s; the limit is %s. Select fewer columns, or a part of the value with substr.",
		bytesText(int64(size)), bytesText(int64(limit)))
}

func timedOut(limit time.Duration) *source.Error {
	return &source.Error{Kind: source.Limited, TimedOut: true,
		Reason: "The query took longer than " + limit.Round(10*time.Millisecond).String() +
			" and was stopped. Read less: filter earlier, aggregate, or join on keys."}
}

func outOfMemory(p Profile, limit int64) *source.Error {
	if p == Load {
		return source.Limitf("Reading needed more than %s of memory and was stopped. Split the file, or save it as "+
			"CSV or Parquet.", bytesText(limit))
	}
	return source.Limitf("The query needed more than %s of memory and was stopped. Aggregate or filter before "+
		"sorting and joining.", bytesText(limit))
}
