package export

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// Load writes rows as CSV for DuckDB, where text is quoted and a missing value is N, and returns the types of the
// columns, and the bytes of the longest line. The types are those of Parquet, which takes several times as long to
// write.
func Load(w io.Writer, t Table) (types []string, longest int, _ error) {
	shapes, err := measure(t)
	if err != nil {
		return nil, 0, err
	}
	for i := range shapes {
		types = append(types, duckType(shapes[i].typ))
	}
	out := bufio.NewWriterSize(w, 64<<10)
	var line []byte
	for rows, err := range t.Rows {
		if err != nil {
			return nil, 0, err
		}
		for _, row := range rows {
			line = line[:0]
			for i, typ := range types {
				if i > 0 {
					line = append(line, ',')
				}
				line = appendLoaded(line, typ, at(row, i))
			}
			line = append(line, '\n')
			longest = max(longest, len(line))
			if _, err := out.Write(line); err != nil {
				return nil, 0, err
			}
		}
	}
	return types, longest, out.Flush()
}

func appendLoaded(line []byte, typ string, cell any) []byte {
	if cell == nil {
		return append(line, 'N')
	}
	if typ == "VARCHAR" {
		line = append(line, '"')
		line = append(line, strings.ReplaceAll(text(cell), `"`, `""`)...)
		return append(line, '"')
	}
	switch v := cell.(type) {
	case int64:
		return strconv.AppendInt(line, v, 10)
	case float64:
		return strconv.AppendFloat(line, v, 'g', -1, 64)
	case string:
		if typ != "TIMESTAMP" {
			return append(line, v...)
		}
		d, _ := moment(v) // measure has found that it is one
		return d.AppendFormat(line, "2006-01-02 15:04:05.999999")
	default: // a boolean
		return append(line, text(v)...)
	}
}

func duckType(typ arrow.DataType) string {
	switch typ := typ.(type) {
	case *arrow.Int64Type:
		return "BIGINT"
	case *arrow.Float64Type:
		return "DOUBLE"
	case *arrow.BooleanType:
		return "BOOLEAN"
	case *arrow.Date32Type:
		return "DATE"
	case *arrow.TimestampType:
		return "TIMESTAMP"
	case *arrow.Decimal128Type:
		return fmt.Sprintf("DECIMAL(%d,%d)", typ.Precision, typ.Scale)
	default:
		return "VARCHAR"
	}
}
