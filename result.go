package footnote

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// The kinds a column can have. They define how to read its cells, not what the database calls the type.
const (
	KindInteger   = "integer"
	KindNumber    = "number"  // binary floating point
	KindDecimal   = "decimal" // exact; cells are strings
	KindText      = "text"
	KindBoolean   = "boolean"
	KindDate      = "date"      // cells are 2006-01-02
	KindTimestamp = "timestamp" // cells are 2006-01-02T15:04:05[.999999][Z|±hh:mm]
	KindTime      = "time"
	KindJSON      = "json" // cells are JSON text
	KindBlob      = "blob" // cells are a short description, never the bytes
	KindUnknown   = ""
)

// Column describes one column of a result.
type Column struct {
	Name string `json:"name"`
	Kind string `json:"kind,omitempty"`
}

// DistinctColumns returns columns with a number at the second and further uses of a name: n, n_2.
func DistinctColumns(columns []Column) []Column {
	out := make([]Column, len(columns))
	seen := map[string]bool{}
	for i, c := range columns {
		name := c.Name
		for n := 2; seen[name]; n++ {
			name = c.Name + "_" + strconv.Itoa(n)
		}
		seen[name] = true
		out[i] = Column{Name: name, Kind: c.Kind}
	}
	return out
}

// Result is the result of a query. A cell is nil, bool, int64, float64 (always finite) or
// string. Decimals and integers beyond int64 are strings; NaN and infinity become nil.
type Result struct {
	Columns   []Column
	Rows      [][]any
	Truncated bool // the query had more rows than were read
}

// AppendCell appends the JSON form of a cell. It writes integers beyond 2^53 as strings, because most JSON readers
// would round them.
func AppendCell(dst []byte, cell any) []byte {
	switch v := cell.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, v)
	case int64:
		if v > 1<<53 || v < -(1<<53) {
			return fmt.Appendf(dst, `"%d"`, v)
		}
		return strconv.AppendInt(dst, v, 10)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return append(dst, "null"...)
		}
		b, _ := json.Marshal(v) // a finite float always encodes
		return append(dst, b...)
	case string:
		b, _ := json.Marshal(v) // a string always encodes
		return append(dst, b...)
	default:
		return append(dst, "null"...)
	}
}

// AppendRow appends the JSON array of a row.
func AppendRow(dst []byte, row []any) []byte {
	dst = append(dst, '[')
	for i, cell := range row {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendCell(dst, cell)
	}
	return append(dst, ']')
}

// StoredResult is the log's reference to the rows of a query. The rows themselves are blobs, in chunks, so that any
// replica can page through them.
type StoredResult struct {
	ID        string   `json:"id"` // r1, r2, … unique in its conversation
	Source    string   `json:"source,omitempty"`
	SQL       string   `json:"sql,omitempty"`
	Parents   []string `json:"parents,omitempty"` // ids of the results that SQL reads, instead of a source
	Columns   []Column `json:"columns"`
	RowCount  int      `json:"row_count"` // rows of the query; the chunks of a client's result may hold fewer
	Truncated bool     `json:"truncated,omitempty"`
	Chunks    []Chunk  `json:"chunks,omitempty"`
}

// Kept returns the number of rows in the chunks.
func (s StoredResult) Kept() int {
	n := 0
	for _, c := range s.Chunks {
		n += c.Rows
	}
	return n
}

// Chunk is a range of rows of a stored result: a blob that holds a JSON array of row arrays.
type Chunk struct {
	Digest string `json:"digest"`
	Rows   int    `json:"rows"`
}

// DecodeRows decodes the JSON array of row arrays that AppendRow writes.
func DecodeRows(data []byte, columns []Column) ([][]any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var rows [][]any
	if err := dec.Decode(&rows); err != nil {
		return nil, fmt.Errorf("decode rows: %w", err)
	}
	for _, row := range rows {
		for i, cell := range row {
			kind := ""
			if i < len(columns) {
				kind = columns[i].Kind
			}
			row[i] = decodeCell(cell, kind)
		}
	}
	return rows, nil
}

func decodeCell(cell any, kind string) any {
	switch v := cell.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil && kind != KindNumber {
			return n
		}
		f, err := v.Float64()
		if err != nil {
			return v.String() // out of range for a number: keep it as written
		}
		return f
	case string:
		if kind == KindInteger {
			if n, err := strconv.ParseInt(v, 10, 64); err == nil {
				return n
			}
		}
		return v
	default:
		return v
	}
}
