package mysql

import (
	"database/sql/driver"
	"math"
	"strconv"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/wordlist"
)

// column describes a column of a result.
type column struct {
	name, typ string // typ is the driver's name of the type, without UNSIGNED
	kind      string
}

type columns []column

// newColumns returns the columns of a result.
func newColumns(rows driver.Rows) columns {
	types, _ := rows.(driver.RowsColumnTypeDatabaseTypeName)
	scales, _ := rows.(driver.RowsColumnTypePrecisionScale)
	cols := make(columns, len(rows.Columns()))
	for i, name := range rows.Columns() {
		c := column{name: strings.ToValidUTF8(name, "\uFFFD")}
		if types != nil {
			c.typ = strings.ToLower(strings.TrimPrefix(types.ColumnTypeDatabaseTypeName(i), "UNSIGNED "))
		}
		c.kind = kindOf(c.typ)
		if c.kind == footnote.KindDecimal && scales != nil {
			if _, scale, ok := scales.ColumnTypePrecisionScale(i); ok && scale == 0 {
				c.kind = footnote.KindInteger // such as the sum of integers
			}
		}
		cols[i] = c
	}
	return cols
}

func (c columns) describe() []footnote.Column {
	out := make([]footnote.Column, len(c))
	for i := range c {
		out[i] = footnote.Column{Name: c[i].name, Kind: c[i].kind}
	}
	return out
}

func (c columns) row(values []driver.Value) []any {
	row := make([]any, len(c))
	for i, v := range values {
		row[i] = c[i].cell(v)
	}
	return row
}

// kinds maps types to kinds. The others are texts.
var kinds = wordlist.Map(`
	tinyint smallint mediumint int integer bigint year bit: integer
	float double real: number
	decimal numeric: decimal
	date: date
	datetime timestamp: timestamp
	time: time
	json: json
	binary varbinary tinyblob blob mediumblob longblob vector: blob
	geometry point linestring polygon multipoint multilinestring multipolygon geometrycollection: blob`)

// kindOf returns the kind of a type.
func kindOf(typ string) string {
	if kind, ok := kinds[typ]; ok {
		return kind
	}
	if typ == "" || typ == "null" {
		return footnote.KindUnknown
	}
	return footnote.KindText
}

// cell returns a value of the driver as a cell.
func (c *column) cell(v driver.Value) any {
	switch v := v.(type) {
	case nil:
		return nil
	case int64:
		return v
	case uint64:
		if v <= math.MaxInt64 {
			return int64(v)
		}
		return strconv.FormatUint(v, 10)
	case float32: // the shortest number that is the same float
		f, err := strconv.ParseFloat(strconv.FormatFloat(float64(v), 'g', -1, 32), 64)
		if err != nil {
			return nil
		}
		return finite(f)
	case float64:
		return finite(v)
	case []byte:
		return c.fromText(v)
	}
	return nil
}

func finite(f float64) any {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return f
}

// fromText returns a value that the server sends as text.
func (c *column) fromText(b []byte) any {
	switch c.kind {
	case footnote.KindInteger:
		if c.typ == "bit" {
			return fromBits(b)
		}
		if n, err := strconv.ParseInt(string(b), 10, 64); err == nil {
			return n
		}
	case footnote.KindDate, footnote.KindTimestamp:
		return moment(string(b))
	case footnote.KindBlob:
		if len(b) == 1 {
			return "blob, 1 byte"
		}
		return "blob, " + strconv.Itoa(len(b)) + " bytes"
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

// fromBits returns a value of the type BIT, which arrives as bytes.
func fromBits(b []byte) any {
	var n uint64
	for _, x := range b {
		n = n<<8 | uint64(x)
	}
	if n > math.MaxInt64 {
		return strconv.FormatUint(n, 10)
	}
	return int64(n)
}

// moment returns a date or a time. One that no calendar has, such as 0000-00-00 or 2024-05-00, is NULL.
func moment(s string) any {
	if len(s) >= 10 && (s[5:7] == "00" || s[8:10] == "00" || s[:4] == "0000") {
		return nil
	}
	if len(s) > 10 && s[10] == ' ' {
		return s[:10] + "T" + s[11:]
	}
	return s
}
