package export

import (
	"cmp"
	"encoding/binary"
	"io"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/parquet-go/parquet-go"

	"github.com/footnotehq/footnote"
)

// rowGroup is the number of rows that a file holds together, and that the writer holds in memory.
const rowGroup = 100_000

// Parquet writes rows as a Parquet file, compressed with Snappy. It reads the rows twice, as Arrow does, and its
// columns have the same types.
func Parquet(w io.Writer, t Table) error {
	shapes, err := measure(t)
	if err != nil {
		return err
	}
	columns := make([]parquetColumn, len(shapes))
	for i, c := range footnote.DistinctColumns(t.Columns) {
		columns[i] = newParquetColumn(c.Name, shapes[i].typ)
	}
	out := parquet.NewWriter(w, parquet.NewSchema("rows", newParquetRow(columns)), parquet.Compression(&parquet.Snappy),
		parquet.MaxRowsPerRowGroup(rowGroup))
	buffer := make([]parquet.Row, 0, 1000)
	flush := func() error {
		_, err := out.WriteRows(buffer)
		buffer = buffer[:0]
		return err
	}
	for rows, err := range t.Rows {
		if err != nil {
			return err
		}
		for _, row := range rows {
			values := make(parquet.Row, len(columns))
			if err := t.check(shapes, row); err != nil {
				return err
			}
			for i, c := range columns {
				if cell := at(row, i); cell != nil {
					values[i] = c.value(cell).Level(0, 1, i)
				} else {
					values[i] = parquet.NullValue().Level(0, 0, i)
				}
			}
			if buffer = append(buffer, values); len(buffer) == cap(buffer) {
				if err := flush(); err != nil {
					return err
				}
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	if note := t.note(); note != "" {
		out.SetKeyValueMetadata("note", note)
	}
	return out.Close()
}

// parquetColumn has the type of a column, and converts cells that are not null and fit it.
type parquetColumn struct {
	name  string
	node  parquet.Node
	value func(cell any) parquet.Value
}

const decimalBytes = 16 // of a decimal in a Parquet file

//nolint:errcheck // measure has found that the type fits every cell
func newParquetColumn(name string, typ arrow.DataType) parquetColumn {
	c := parquetColumn{name: name}
	switch typ := typ.(type) {
	case *arrow.Int64Type:
		c.node = parquet.Int(64)
		c.value = func(cell any) parquet.Value { return parquet.Int64Value(cell.(int64)) }
	case *arrow.Float64Type:
		c.node = parquet.Leaf(parquet.DoubleType)
		c.value = func(cell any) parquet.Value {
			if n, ok := cell.(int64); ok {
				return parquet.DoubleValue(float64(n))
			}
			return parquet.DoubleValue(cell.(float64))
		}
	case *arrow.BooleanType:
		c.node = parquet.Leaf(parquet.BooleanType)
		c.value = func(cell any) parquet.Value { return parquet.BooleanValue(cell.(bool)) }
	case *arrow.Date32Type:
		c.node = parquet.Date()
		c.value = func(cell any) parquet.Value {
			d, _ := time.Parse(time.DateOnly, cell.(string))
			return parquet.Int32Value(int32(arrow.Date32FromTime(d)))
		}
	case *arrow.TimestampType:
		c.node = parquet.TimestampAdjusted(parquet.Microsecond, false)
		c.value = func(cell any) parquet.Value {
			d, _ := moment(cell.(string))
			return parquet.Int64Value(d.UnixMicro())
		}
	case *arrow.Decimal128Type:
		c.node = parquet.Decimal(int(typ.Scale), int(typ.Precision), parquet.FixedLenByteArrayType(decimalBytes))
		c.value = func(cell any) parquet.Value {
			n, _ := decimal128.FromString(cell.(string), typ.Precision, typ.Scale)
			b := make([]byte, decimalBytes)
			binary.BigEndian.PutUint64(b, uint64(n.HighBits())) //nolint:gosec // the bits count
			binary.BigEndian.PutUint64(b[8:], n.LowBits())
			return parquet.FixedLenByteArrayValue(b)
		}
	default:
		c.node = parquet.String()
		c.value = func(cell any) parquet.Value { return parquet.ByteArrayValue([]byte(text(cell))) }
	}
	c.node = parquet.Optional(c.node)
	return c
}

// parquetRow is a group of columns that keeps their order. The library's own sorts them.
type parquetRow struct {
	parquet.Group
	fields []parquet.Field
}

func newParquetRow(columns []parquetColumn) parquetRow {
	r := parquetRow{Group: parquet.Group{}}
	place := map[string]int{}
	for i, c := range columns {
		r.Group[c.name], place[c.name] = c.node, i
	}
	r.fields = r.Group.Fields()
	slices.SortFunc(r.fields, func(a, b parquet.Field) int { return cmp.Compare(place[a.Name()], place[b.Name()]) })
	return r
}

// Fields implements parquet.Node.
func (r parquetRow) Fields() []parquet.Field { return r.fields }
