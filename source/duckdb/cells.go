//go:build cgo && !noduckdb

package duckdb

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/duckdb/duckdb-go/v2"
	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/localschema"
)

// reader converts the driver's values into cells.
type reader struct {
	columns         []footnote.Column
	types           []string
	values, targets []any
}

func newReader(rows *sql.Rows) (*reader, error) {
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	types, err := rows.ColumnTypes()
	if err != nil {
		return nil, err
	}
	r := &reader{values: make([]any, len(names)), targets: make([]any, len(names))}
	for i, name := range names {
		typ := types[i].DatabaseTypeName()
		r.types = append(r.types, typ)
		r.columns = append(r.columns, footnote.Column{Name: cleanText(name), Kind: localschema.Kind(typ)})
		r.targets[i] = &r.values[i]
	}
	return r, nil
}

// row reads the current row. An integer column becomes decimal at its first value beyond int64.
func (r *reader) row(rows *sql.Rows) ([]any, error) {
	if err := rows.Scan(r.targets...); err != nil {
		return nil, err
	}
	row := make([]any, len(r.values))
	for i, v := range r.values {
		row[i] = cell(v, r.types[i])
		if _, beyond := row[i].(string); beyond && r.columns[i].Kind == footnote.KindInteger {
			r.columns[i].Kind = footnote.KindDecimal
		}
		r.values[i] = nil
	}
	return row, nil
}

// cell converts one value.
//
// It is a flat switch over the types of values.
//
//gocyclo:ignore
func cell(v any, typ string) any {
	if typ == "JSON" {
		return jsonText(v)
	}
	switch v := v.(type) {
	case nil, bool, int64:
		return v
	case int8, int16, int32:
		return reflect.ValueOf(v).Int()
	case uint8, uint16, uint32, uint64:
		n := reflect.ValueOf(v).Uint()
		if n > math.MaxInt64 {
			return fmt.Sprint(n)
		}
		return int64(n)
	case float32:
		return finite(float64(v), typ)
	case float64:
		return finite(v, typ)
	case *big.Int:
		if v.IsInt64() {
			return v.Int64()
		}
		return v.String()
	case duckdb.Decimal:
		return decimalText(v)
	case string:
		return cleanText(v)
	case []byte:
		return bytesText(v, typ)
	case time.Time:
		return timeText(v, typ)
	case duckdb.Interval:
		return intervalText(v)
	default:
		return jsonText(v)
	}
}

func finite(v float64, typ string) any {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	if typ == "FLOAT" { // so that a float32 of 0.1 prints as 0.1
		if f, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', -1, 32), 64); err == nil {
			return f
		}
	}
	return v
}

// decimalText is called for each cell; a big.Rat would take three times as long.
func decimalText(d duckdb.Decimal) string {
	s, scale := d.Value.String(), int(d.Scale)
	if scale == 0 {
		return s
	}
	digits, negative := strings.CutPrefix(s, "-")
	digits = strings.Repeat("0", max(0, scale+1-len(digits))) + digits
	s = digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
	if negative {
		return "-" + s
	}
	return s
}

func bytesText(b []byte, typ string) string {
	if typ == "UUID" && len(b) == 16 {
		id := duckdb.UUID(b)
		return id.String()
	}
	if len(b) == 1 {
		return "blob, 1 byte"
	}
	return fmt.Sprintf("blob, %d bytes", len(b))
}

func timeText(t time.Time, typ string) any {
	base, _, _ := strings.Cut(typ, "(")
	if y := t.Year(); y > 294_000 || y < -290_000 {
		return nil // an infinity
	}
	switch {
	case base == "DATE":
		return t.UTC().Format("2006-01-02")
	case base == "TIMETZ", base == "TIME WITH TIME ZONE":
		return t.Format("15:04:05.999999Z07:00")
	case strings.HasPrefix(base, "TIMESTAMP") &&
		(strings.HasSuffix(base, "TZ") || strings.Contains(base, "WITH TIME ZONE")):
		return t.UTC().Format("2006-01-02T15:04:05.999999Z07:00")
	case strings.HasPrefix(base, "TIMESTAMP"):
		return t.UTC().Format("2006-01-02T15:04:05.999999999")
	default:
		return t.UTC().Format("15:04:05.999999999")
	}
}

func intervalText(v duckdb.Interval) string {
	var parts []string
	unit := func(n int32, name string) {
		if n == 1 || n == -1 {
			parts = append(parts, fmt.Sprintf("%d %s", n, name))
		} else if n != 0 {
			parts = append(parts, fmt.Sprintf("%d %ss", n, name))
		}
	}
	unit(v.Months/12, "year")
	unit(v.Months%12, "month")
	unit(v.Days, "day")
	if v.Micros != 0 || len(parts) == 0 {
		us, sign := v.Micros, ""
		if us < 0 {
			us, sign = -us, "-"
		}
		s := fmt.Sprintf("%s%02d:%02d:%02d", sign, us/3_600_000_000, us/60_000_000%60, us/1_000_000%60)
		if us %= 1_000_000; us > 0 {
			s += strings.TrimRight(fmt.Sprintf(".%06d", us), "0")
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, " ")
}

// jsonText writes lists, structs, maps and JSON values as JSON.
func jsonText(v any) any {
	if v == nil {
		return nil
	}
	data, err := json.Marshal(plainValue(v))
	if err != nil {
		return cleanText(fmt.Sprint(v))
	}
	return string(data)
}

// plainValue converts a value from the driver into one that encoding/json handles well.
func plainValue(v any) any {
	switch v := v.(type) {
	case nil, bool, string, int64, int32, int16, int8, uint64, uint32, uint16, uint8:
		return v
	case float64:
		return finite(v, "")
	case float32:
		if finite(float64(v), "") == nil {
			return nil
		}
		return v
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = plainValue(e)
		}
		return list
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[k] = plainValue(e)
		}
		return m
	case duckdb.OrderedMap:
		m := make(map[string]any, v.Len())
		values := v.Values()
		for i, k := range v.Keys() {
			m[fmt.Sprint(plainValue(k))] = plainValue(values[i])
		}
		return m
	case duckdb.Union:
		return plainValue(v.Value)
	case duckdb.Decimal:
		return json.Number(decimalText(v))
	case *big.Int:
		return json.Number(v.String())
	case time.Time:
		return nestedTime(v)
	case []byte, duckdb.Interval:
		return cell(v, "")
	default: // such as a BIT; cell must not be called, as it calls plainValue
		return cleanText(fmt.Sprint(v))
	}
}

// nestedTime formats a date or time inside a list or struct, where the driver does not report which one it was.
func nestedTime(t time.Time) string {
	switch {
	case t.Year() == 1:
		return t.Format("15:04:05.999999999")
	case t.Hour()|t.Minute()|t.Second()|t.Nanosecond() == 0:
		return t.Format("2006-01-02")
	default:
		return t.Format("2006-01-02T15:04:05.999999999")
	}
}

func cleanText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
