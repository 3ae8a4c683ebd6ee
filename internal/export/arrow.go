package export

import (
	"io"
	"slices"
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
	for i, c := range footnote.DistinctColumns(t.Columns) {
		fields[i] = arrow.Field{Name: c.Name, Type: shapes[i].typ, Nullable: true}
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
			if err := t.check(shapes, row); err != nil {
				return err
			}
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

// shape records the cells of a column.
type shape struct {
	kind         string   // of the column
	found        []string // kinds of cells; text if no other kind fits
	whole, scale int      // of decimals: most digits before and after the point
	typ          arrow.DataType
}

// measure reads all rows to determine the columns' shapes.
func measure(t Table) ([]shape, error) {
	shapes := make([]shape, len(t.Columns))
	for i, c := range t.Columns {
		shapes[i] = shape{kind: c.Kind}
	}
	sample := t.Rows
	if t.Sample != nil {
		sample = t.Sample
	}
	for rows, err := range sample {
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			for i := range shapes {
				shapes[i].add(at(row, i))
			}
		}
	}
	for i := range shapes {
		if t.Sample != nil && shapes[i].whole+shapes[i].scale > 0 {
			shapes[i].whole = max(shapes[i].whole, maxDecimal-shapes[i].scale) // later rows may have more digits
		}
		shapes[i].typ = shapes[i].choose()
	}
	return shapes, nil
}

const maxDecimal = 38 // digits of a decimal

// check returns an error for a row with a cell that does not fit its column, which the sample did not show.
func (t Table) check(shapes []shape, row []any) error {
	if t.Sample == nil {
		return nil
	}
	for i := range shapes {
		if cell := at(row, i); cell != nil && !shapes[i].fits(cell) {
			return footnote.Invalidf("The column %.80q has values that do not fit the type %s of the rows seen so "+
				"far. Export it as csv or jsonl.", t.Columns[i].Name, shapes[i].typ)
		}
	}
	return nil
}

// fits reports whether a cell that is not null fits the type.
func (s *shape) fits(cell any) bool {
	text, isText := cell.(string)
	_, isInteger := cell.(int64)
	switch typ := s.typ.(type) {
	case *arrow.Int64Type:
		return isInteger
	case *arrow.Float64Type:
		_, ok := cell.(float64)
		return ok || isInteger
	case *arrow.BooleanType:
		_, ok := cell.(bool)
		return ok
	case *arrow.Date32Type:
		_, err := time.Parse(time.DateOnly, text)
		return err == nil
	case *arrow.TimestampType:
		_, ok := moment(text)
		return ok
	case *arrow.Decimal128Type:
		before, after, _ := strings.Cut(strings.TrimLeft(text, "+-"), ".")
		return isText && plainNumber(text) && len(after) <= int(typ.Scale) &&
			len(before)+int(typ.Scale) <= int(typ.Precision)
	}
	return true
}

func (s *shape) add(cell any) {
	switch v := cell.(type) {
	case nil:
	case int64:
		s.note(footnote.KindInteger)
	case float64:
		s.note(footnote.KindNumber)
	case bool:
		s.note(footnote.KindBoolean)
	case string:
		s.addText(v)
	default:
		s.note(footnote.KindText)
	}
}

func (s *shape) note(kind string) {
	if !slices.Contains(s.found, kind) {
		s.found = append(s.found, kind)
	}
}

func (s *shape) addText(v string) {
	kind := footnote.KindText
	switch s.kind {
	case footnote.KindDecimal:
		if plainNumber(v) {
			before, after, _ := strings.Cut(strings.TrimLeft(v, "+-"), ".")
			s.whole, s.scale = max(s.whole, len(before)), max(s.scale, len(after))
			kind = s.kind
		}
	case footnote.KindDate:
		if _, err := time.Parse(time.DateOnly, v); err == nil {
			kind = s.kind
		}
	case footnote.KindTimestamp:
		if _, ok := moment(v); ok {
			kind = s.kind
		}
	}
	s.note(kind)
}

// choose returns the type that fits every cell.
func (s *shape) choose() arrow.DataType {
	integers, numbers := slices.Contains(s.found, footnote.KindInteger), slices.Contains(s.found, footnote.KindNumber)
	kind := s.kind
	switch n := len(s.found); {
	case n == 0:
	case n == 1 && integers && kind == footnote.KindNumber, n == 2 && integers && numbers:
		kind = footnote.KindNumber
	case n == 1:
		kind = s.found[0]
	default:
		kind = footnote.KindText
	}
	switch kind {
	case footnote.KindInteger:
		return arrow.PrimitiveTypes.Int64
	case footnote.KindNumber:
		return arrow.PrimitiveTypes.Float64
	case footnote.KindBoolean:
		return arrow.FixedWidthTypes.Boolean
	case footnote.KindDate:
		return arrow.FixedWidthTypes.Date32
	case footnote.KindTimestamp:
		return &arrow.TimestampType{Unit: arrow.Microsecond}
	case footnote.KindDecimal:
		switch digits := s.whole + s.scale; {
		case digits == 0: // no cell has a value
			return arrow.PrimitiveTypes.Float64
		case digits <= maxDecimal:
			return &arrow.Decimal128Type{Precision: int32(digits), Scale: int32(s.scale)} //nolint:gosec // at most 38
		}
	}
	return arrow.BinaryTypes.String
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
