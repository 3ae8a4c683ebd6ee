package eval_test

import (
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
)

// kind is the type of a cell, independent of the engine.
type kind uint8

const (
	null kind = iota
	boolean
	number
	text
)

// cell is a value independent of the engine's notation: every number is a float64, a date is ISO text, and a timestamp
// at midnight is its day.
type cell struct {
	kind kind
	num  float64 // of a number; 0 or 1 of a boolean
	text string
}

// table is a result that can be compared.
type table struct {
	columns []string
	rows    [][]cell // each as long as columns
}

// newTable converts the rows of a query, which are cells as in a footnote.Result, read by the kinds of their columns,
// or values as database/sql scans them. Missing cells are NULL. It returns an error for a value of an unexpected type.
func newTable(columns []footnote.Column, rows [][]any) (table, error) {
	t := table{rows: make([][]cell, len(rows))}
	for _, c := range columns {
		t.columns = append(t.columns, c.Name)
	}
	for i, row := range rows {
		t.rows[i] = make([]cell, len(columns))
		for j := range columns {
			if j >= len(row) {
				continue
			}
			c, err := cellOf(row[j], columns[j].Kind)
			if err != nil {
				return table{}, fmt.Errorf("row %d, column %q: %w", i+1, columns[j].Name, err)
			}
			t.rows[i][j] = c
		}
	}
	return t, nil
}

func cellOf(v any, columnKind string) (cell, error) {
	switch v := v.(type) {
	case nil:
		return cell{}, nil
	case bool:
		if v {
			return cell{kind: boolean, num: 1}, nil
		}
		return cell{kind: boolean}, nil
	case float64:
		return cell{kind: number, num: v}, nil
	case float32:
		return cell{kind: number, num: float64(v)}, nil
	case int, int8, int16, int32, int64, uint8, uint16, uint32, uint64:
		f, err := strconv.ParseFloat(fmt.Sprint(v), 64)
		return cell{kind: number, num: f}, err
	case *big.Int:
		f, _ := new(big.Float).SetInt(v).Float64()
		return cell{kind: number, num: f}, nil
	case interface{ Float64() float64 }: // DuckDB's decimal
		return cell{kind: number, num: v.Float64()}, nil
	case time.Time:
		return cell{kind: text, text: dayOf(v.Format("2006-01-02 15:04:05.999999"))}, nil
	case []byte:
		return cell{kind: text, text: string(v)}, nil
	case string:
		if columnKind == footnote.KindDecimal || columnKind == footnote.KindInteger ||
			columnKind == footnote.KindNumber {
			if f, err := strconv.ParseFloat(v, 64); err == nil {
				return cell{kind: number, num: f}, nil
			}
		}
		return cell{kind: text, text: dayOf(v)}, nil
	default:
		return cell{}, fmt.Errorf("a value of type %T cannot be compared", v)
	}
}

var timestamp = regexp.MustCompile(`^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(:\d\d)?(\.\d+)?(Z|[+-]00(:?00)?)?$`)

// dayOf returns a timestamp in one notation, and a timestamp at midnight as its day (4). It returns other text
// unchanged.
func dayOf(s string) string {
	m := timestamp.FindStringSubmatch(s)
	if m == nil {
		return s
	}
	seconds, fraction := m[3], strings.TrimRight(m[4], ".0")
	if seconds == "" {
		seconds = ":00"
	}
	if m[2] == "00:00" && seconds == ":00" && fraction == "" {
		return m[1]
	}
	return m[1] + " " + m[2] + seconds + fraction
}

// String returns the cell for display.
func (c cell) String() string {
	switch c.kind {
	case null:
		return "NULL"
	case boolean:
		return strconv.FormatBool(c.num == 1)
	case number:
		return strconv.FormatFloat(c.num, 'f', -1, 64)
	default:
		return c.text
	}
}

// number returns the number in a table with a single cell.
func (t table) number() (float64, bool) {
	if len(t.columns) != 1 || len(t.rows) != 1 || t.rows[0][0].kind != number {
		return 0, false
	}
	return t.rows[0][0].num, true
}

// head returns the first rows for display.
func (t table) head(n int) string {
	var b strings.Builder
	b.WriteString(strings.Join(t.columns, " | "))
	for i, row := range t.rows {
		b.WriteByte('\n')
		if i == n {
			fmt.Fprintf(&b, "… %d rows in all", len(t.rows))
			break
		}
		for j, c := range row {
			if j > 0 {
				b.WriteString(" | ")
			}
			b.WriteString(c.String())
		}
	}
	return b.String()
}

// column returns the cells of one column.
func (t table) column(j int) []cell {
	cells := make([]cell, len(t.rows))
	for i, row := range t.rows {
		cells[i] = row[j]
	}
	return cells
}

// entityKeys distinguish keys of entities from other columns. Each element is one table, and maps each key to the texts
// of its row.
type entityKeys []map[cell][]string

// add adds a table whose keys are in column key.
func (k *entityKeys) add(t table, key int) {
	m := make(map[cell][]string, len(t.rows))
	for _, row := range t.rows {
		var words []string
		for j, c := range row {
			if j != key && c.kind == text {
				words = append(words, c.text)
			}
		}
		m[row[key]] = words
	}
	*k = append(*k, m)
}
