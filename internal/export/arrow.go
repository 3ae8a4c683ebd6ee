package export

import (
	"io"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/footnotehq/footnote"
)

// Arrow writes rows as an uncompressed Arrow IPC stream, the form DuckDB-WASM reads. It reads the rows twice: the
// type of a column must fit every cell, and is text if no other type does.
func Arrow(w io.Writer, t Table) error {
	shapes, err := measure(t)
	if err != nil {
		return err
	}
	fields := make([]arrow.Field, len(t.Columns))
	for i, name := range names(t.Columns) {
		fields[i] = arrow.Field{Name: name, Type: shapes[i].arrow(), Nullable: true}
	}
	schema := arrow.NewSchema(fields, nil)
	out := ipc.NewWriter(w, ipc.WithSchema(schema))
	build := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer build.Release()
	for rows, err := range t.Rows {
		if err != nil {
			return err
		}
		for _, row := range rows {
			for i := range shapes {
				put(build.Field(i), at(row, i))
			}
		}
		batch := build.NewRecordBatch()
		err = out.Write(batch)
		batch.Release()
		if err != nil {
			return err
		}
	}
	return out.Close()
}

// shape records the cell types of a column.
type shape struct {
	kind                                      string
	ints, floats, bools, dates, times, others bool // kinds of cells found
	whole, scale                              int  // of decimals: most digits before and after the point
	decimals                                  bool
}

// measure reads all rows to determine the columns' shapes.
func measure(t Table) ([]shape, error) {
	shapes := make([]shape, len(t.Columns))
	for i, c := range t.Columns {
		shapes[i].kind = c.Kind
	}
	for rows, err := range t.Rows {
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			for i := range shapes {
				shapes[i].add(at(row, i))
			}
		}
	}
	return shapes, nil
}

func (s *shape) add(cell any) {
	switch v := cell.(type) {
	case nil:
	case int64:
		s.ints = true
	case float64:
		s.floats = true
	case bool:
		s.bools = true
	case string:
		s.addText(v)
	default:
		s.others = true
	}
}

func (s *shape) addText(v string) {
	switch s.kind {
	case footnote.KindDecimal:
		if plainNumber.MatchString(v) {
			before, after, _ := strings.Cut(strings.TrimLeft(v, "+-"), ".")
			s.decimals = true
			s.whole, s.scale = max(s.whole, len(before)), max(s.scale, len(after))
			return
		}
	case footnote.KindDate:
		if _, err := time.Parse(time.DateOnly, v); err == nil {
			s.dates = true
			return
		}
	case footnote.KindTimestamp:
		if _, ok := moment(v); ok {
			s.times = true
			return
		}
	}
	s.others = true
}

// arrow returns the type that fits every cell.
func (s *shape) arrow() arrow.DataType {
	seen := 0
	for _, b := range []bool{s.ints || s.floats, s.bools, s.dates, s.times, s.others, s.decimals} {
		if b {
			seen++
		}
	}
	switch {
	case seen != 1:
		if seen == 0 {
			return emptyType(s.kind)
		}
	case s.floats:
		return arrow.PrimitiveTypes.Float64
	case s.ints:
		if s.kind == footnote.KindNumber {
			return arrow.PrimitiveTypes.Float64
		}
		return arrow.PrimitiveTypes.Int64
	case s.bools:
		return arrow.FixedWidthTypes.Boolean
	case s.dates:
		return arrow.FixedWidthTypes.Date32
	case s.times:
		return &arrow.TimestampType{Unit: arrow.Microsecond}
	case s.decimals && s.whole+s.scale <= 38:
		//nolint:gosec // at most 38
		return &arrow.Decimal128Type{Precision: int32(max(1, s.whole+s.scale)), Scale: int32(s.scale)}
	}
	return arrow.BinaryTypes.String
}

// emptyType returns the type of a column without values.
func emptyType(kind string) arrow.DataType {
	switch kind {
	case footnote.KindInteger:
		return arrow.PrimitiveTypes.Int64
	case footnote.KindNumber, footnote.KindDecimal:
		return arrow.PrimitiveTypes.Float64
	case footnote.KindBoolean:
		return arrow.FixedWidthTypes.Boolean
	case footnote.KindDate:
		return arrow.FixedWidthTypes.Date32
	case footnote.KindTimestamp:
		return &arrow.TimestampType{Unit: arrow.Microsecond}
	default:
		return arrow.BinaryTypes.String
	}
}

// put appends a cell to a column whose type fits it.
func put(b array.Builder, cell any) {
	if cell == nil {
		b.AppendNull()
		return
	}
	switch b := b.(type) {
	case *array.Int64Builder:
		b.Append(cell.(int64)) //nolint:errcheck // as measured
	case *array.Float64Builder:
		if n, ok := cell.(int64); ok {
			cell = float64(n)
		}
		b.Append(cell.(float64)) //nolint:errcheck // as measured
	case *array.BooleanBuilder:
		b.Append(cell.(bool)) //nolint:errcheck // as measured
	case *array.Date32Builder:
		d, _ := time.Parse(time.DateOnly, cell.(string)) //nolint:errcheck // as measured
		b.Append(arrow.Date32FromTime(d))
	case *array.TimestampBuilder:
		d, _ := moment(cell.(string)) //nolint:errcheck // as measured
		b.Append(arrow.Timestamp(d.UnixMicro()))
	case *array.Decimal128Builder:
		of := b.Type().(*arrow.Decimal128Type)                                 //nolint:errcheck // its own
		n, err := decimal128.FromString(cell.(string), of.Precision, of.Scale) //nolint:errcheck // as measured
		if err != nil {
			b.AppendNull()
			return
		}
		b.Append(n)
	case *array.StringBuilder:
		b.Append(text(cell))
	default:
		b.AppendNull()
	}
}
