package cache

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/tool"
)

// format must be raised when the meaning of an entry or of a key changes.
const format = 1

// maxColumns exceeds the column limit of every engine.
const maxColumns = 4096

// maxSkew is how far ahead the clock of another server sharing the cache may be.
const maxSkew = time.Minute

var errOld = errors.New("the entry is too old")

func encode(e entry, rows footnote.Result) ([]byte, error) {
	e.Format, e.Columns, e.Truncated = format, rows.Columns, rows.Truncated
	buf := []byte{'['}
	for i, row := range rows.Rows {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = footnote.AppendRow(buf, row)
		if len(buf) > maxEntry {
			return nil, fmt.Errorf("it has more than %d bytes", maxEntry)
		}
	}
	e.Rows = append(buf, ']')
	data, err := json.Marshal(e)
	if err == nil && len(data) > maxEntry {
		err = fmt.Errorf("it has %d bytes; the limit is %d", len(data), maxEntry)
	}
	return data, err
}

// decode decodes an entry for a call with key k, whose result gets the given id. It validates everything: anyone who
// can write to the cache server could have written the entry.
func (c *Cache) decode(ctx context.Context, data []byte, k key, ttl time.Duration, id string) (tool.Output, error) {
	if len(data) > maxEntry {
		return tool.Output{}, fmt.Errorf("the entry has more than %d bytes", maxEntry)
	}
	var e entry
	if err := json.Unmarshal(data, &e); err != nil {
		return tool.Output{}, fmt.Errorf("read the entry: %w", err)
	}
	age := c.opts.Now().Sub(e.Made)
	switch {
	case e.Format != format:
		return tool.Output{}, fmt.Errorf("the entry has format %d", e.Format)
	case !bytes.Equal(e.Key, k.material):
		return tool.Output{}, errors.New("the entry belongs to another call")
	case age < -maxSkew:
		return tool.Output{}, fmt.Errorf("the entry's timestamp is in the future: %s", e.Made)
	case age >= ttl:
		return tool.Output{}, errOld
	case !isMark.MatchString(e.Mark):
		return tool.Output{}, errors.New("the entry has no mark")
	case e.Source == "" || e.SQL == "":
		return tool.Output{}, errors.New("the entry names no statement")
	case len(e.Columns) > maxColumns:
		return tool.Output{}, fmt.Errorf("the entry has %d columns", len(e.Columns))
	}
	rows, err := decodeRows(e)
	if err != nil {
		return tool.Output{}, err
	}
	st := footnote.Statement{
		SQL: e.SQL, Source: e.Source, Outcome: footnote.StatementCached, Tables: e.Tables, RowCount: len(rows.Rows),
	}
	for _, col := range e.Columns {
		st.Columns = append(st.Columns, col.Name)
	}
	footnote.NoteStatement(ctx, st)
	return tool.Output{
		Content: strings.ReplaceAll(e.Content, e.Mark, id), Rows: rows,
		Source: e.Source, SQL: e.SQL, CacheHit: true, RanAt: e.Made,
	}, nil
}

func decodeRows(e entry) (*footnote.Result, error) {
	rows, err := footnote.DecodeRows(e.Rows, e.Columns)
	if err != nil {
		return nil, err
	}
	for i, row := range rows {
		if len(row) != len(e.Columns) {
			return nil, fmt.Errorf("row %d of the entry has %d cells for %d columns", i, len(row), len(e.Columns))
		}
		for _, cell := range row {
			switch cell.(type) {
			case nil, bool, int64, float64, string:
			default:
				return nil, fmt.Errorf("row %d of the entry has an invalid cell", i)
			}
		}
	}
	return &footnote.Result{Columns: e.Columns, Rows: rows, Truncated: e.Truncated}, nil
}
