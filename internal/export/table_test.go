package export_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"iter"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/xuri/excelize/v2"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/export"
)

var columns = []footnote.Column{
	{
		Name: "=name",
		Kind: footnote.KindText,
	},
	{Name: "n", Kind: footnote.KindInteger},
	{Name: "n", Kind: footnote.KindNumber},
	{
		Name: "price",
		Kind: footnote.KindDecimal,
	},
	{Name: "day", Kind: footnote.KindDate},
	{Name: "at", Kind: footnote.KindTimestamp},
	{Name: "ok", Kind: footnote.KindBoolean},
	{Name: "odd"},
}

var cells = [][]any{
	{
		"=HYPERLINK(\"http://example.org\")", int64(1), 0.5, "-12.30", "2026-03-01", "2026-03-01T12:30:00Z", true,
		int64(1),
	},
	{
		"Zoë, \"x\"\r\ny", int64(9_007_199_254_740_993), -2.0, "1234567890123456789.5", "2026-03-02",
		"2026-03-01T12:30:00.5+02:00", false, "two",
	},
	{nil, nil, nil, nil, nil, nil, nil, nil},
}

func table(chunks ...[][]any) export.Table {
	return export.Table{Columns: columns, Rows: func(yield func([][]any, error) bool) {
		for _, c := range chunks {
			if !yield(c, nil) {
				return
			}
		}
	}}
}

func write(t *testing.T, format string, tab export.Table) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := export.Formats()[format].Write(&buf, tab); err != nil {
		t.Fatalf("%s: %v", format, err)
	}
	return buf.Bytes()
}

func TestCSV(t *testing.T) {
	data := write(t, "csv", table(cells[:1], cells[1:]))
	got, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"'=name", "n", "n", "price", "day", "at", "ok", "odd"},
		{
			"'=HYPERLINK(\"http://example.org\")", "1", "0.5", "-12.30", "2026-03-01", "2026-03-01T12:30:00Z", "true",
			"1",
		},
		{
			"Zoë, \"x\"\ny", "9007199254740993", "-2", "1234567890123456789.5", "2026-03-02",
			"2026-03-01T12:30:00.5+02:00", "false", "two",
		},
		{"", "", "", "", "", "", "", ""},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

func TestInert(t *testing.T) {
	for s, want := range map[string]string{
		"": "", "a": "a", "-5": "-5", "+1.50": "+1.50", "-": "'-", "-a": "'-a", "=1+1": "'=1+1",
		"@SUM(A1)": "'@SUM(A1)", " =1": "' =1",
		"\t=1": "'\t=1", "\r=1": "'\r=1", "\n=1": "'\n=1", "\ufeff=1": "'\ufeff=1", " \ufeff @A1": "' \ufeff @A1",
		"＝1+1": "'＝1+1", "-1+1": "'-1+1", "1=1": "1=1", "-5e3": "'-5e3", "—": "—", "é": "é",
	} {
		if got := export.Inert(s); got != want {
			t.Errorf("Inert(%q) = %q, want %q", s, got, want)
		}
	}
}

// TestFormulas checks that formulas are counted, that they can be kept, and that a number is none.
func TestFormulas(t *testing.T) {
	tab := table([][]any{{"=1+1", int64(-5), -1e20}}, [][]any{{"-a", nil, 2.0}, {"plain", int64(7), -0.5}})
	tab.Columns = []footnote.Column{
		{Name: "@name", Kind: "text"}, {Name: "n", Kind: "integer"}, {Name: "x", Kind: "number"},
	}
	if n, err := export.Formulas(tab); n != 3 || err != nil {
		t.Errorf("%d formulas, %v; want 3", n, err)
	}
	for keep, want := range map[bool]string{
		false: "'@name,n,x\r\n'=1+1,-5,-1e+20\r\n'-a,,2\r\nplain,7,-0.5\r\n",
		true:  "@name,n,x\r\n=1+1,-5,-1e+20\r\n-a,,2\r\nplain,7,-0.5\r\n",
	} {
		tab.Formulas = keep
		var out bytes.Buffer
		if err := export.CSV(&out, tab); err != nil || out.String() != want {
			t.Errorf("keeping %v: %q, %v; want %q", keep, out.String(), err, want)
		}
	}
}

func TestXLSX(t *testing.T) {
	file, err := excelize.OpenReader(bytes.NewReader(write(t, "xlsx", table(cells[:1], cells[1:]))))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := file.GetRows("Sheet1")
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"'=name", "n", "n", "price", "day", "at", "ok", "odd"},
		{"'=HYPERLINK(\"http://example.org\")", "1", "0.5", "-12.3", "2026-03-01", "2026-03-01 12:30:00", "TRUE", "1"},
		{
			"Zoë, \"x\"\r\ny", "9007199254740993", "-2", "1234567890123456789.5", "2026-03-02", "2026-03-01 10:30:00",
			"FALSE", "two",
		},
	}
	if !reflect.DeepEqual(rows, want) {
		t.Errorf("got\n%q\nwant\n%q", rows, want)
	}
	for cell, kind := range map[string]excelize.CellType{
		"B2": excelize.CellTypeUnset, "B3": excelize.CellTypeInlineString, "D2": excelize.CellTypeUnset,
		"D3": excelize.CellTypeInlineString,
	} {
		if got, err := file.GetCellType("Sheet1", cell); got != kind || err != nil {
			t.Errorf("%s has type %v, %v; want %v", cell, got, err, kind)
		}
		if f, _ := file.GetCellFormula("Sheet1", cell); f != "" {
			t.Errorf("%s has the formula %s", cell, f)
		}
	}
}

func TestJSON(t *testing.T) {
	var got []map[string]any
	data := write(t, "json", table(cells[:1], cells[1:]))
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	if len(got) != 3 || got[0]["n"] != 1.0 || got[0]["n_2"] != 0.5 || got[1]["n"] != "9007199254740993" ||
		got[2]["odd"] != nil || got[0]["=name"] != cells[0][0] {
		t.Errorf("JSON: %s", data)
	}
	if data := write(t, "json", table()); strings.TrimSpace(string(data)) != "[\n]" {
		t.Errorf("no rows: %q", data)
	}
}

func TestArrow(t *testing.T) {
	data := write(t, "arrow", table(cells[:1], cells[1:]))
	in, err := ipc.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Release()
	var types []string
	for _, f := range in.Schema().Fields() {
		types = append(types, f.Name+" "+f.Type.String())
	}
	if got, want := strings.Join(types, ", "),
		"=name utf8, n int64, n_2 float64, price decimal(21, 2), day date32, at timestamp[us], ok bool, odd "+
			"utf8"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	var rows []string
	for in.Next() {
		batch := in.RecordBatch()
		for r := range int(batch.NumRows()) {
			var row []string
			for c := range int(batch.NumCols()) {
				row = append(row, batch.Column(c).ValueStr(r))
			}
			rows = append(rows, strings.Join(row, "|"))
		}
	}
	if in.Err() != nil {
		t.Fatal(in.Err())
	}
	want := []string{
		"=HYPERLINK(\"http://example.org\")|1|0.5|-12.3|2026-03-01|2026-03-01T12:30:00Z|true|1",
		"Zoë, \"x\"\r\ny|9007199254740993|-2|1234567890123456789.5|2026-03-02|2026-03-01T10:30:00.5Z|false|two",
		"(null)|(null)|(null)|(null)|(null)|(null)|(null)|(null)",
	}
	if !reflect.DeepEqual(rows, want) {
		t.Errorf("got\n%q\nwant\n%q", rows, want)
	}
}

// TestMixedColumnsAreText checks that a column whose cells share no type keeps all of them.
func TestMixedColumnsAreText(t *testing.T) {
	tab := export.Table{
		Columns: []footnote.Column{
			{
				Name: "a",
				Kind: footnote.KindInteger,
			},
			{Name: "b", Kind: footnote.KindDecimal},
			{Name: "c", Kind: footnote.KindNumber},
		},
	}
	tab.Rows = table([][]any{
		{int64(1), "1." + strings.Repeat("1", 40), int64(2)}, {"99999999999999999999", "2", 0.5},
	}).Rows
	in, err := ipc.NewReader(bytes.NewReader(write(t, "arrow", tab)))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Release()
	if !in.Next() {
		t.Fatal(in.Err())
	}
	if got := in.RecordBatch().Column(0).ValueStr(1) + " " + in.RecordBatch().Column(1).ValueStr(1) + " " +
		in.RecordBatch().Column(2).ValueStr(0); got != "99999999999999999999 2 2" {
		t.Error(got)
	}
}

func TestRowErrorIsReturned(t *testing.T) {
	broken := errors.New("a chunk is gone")
	for name, f := range export.Formats() {
		tab := export.Table{Columns: columns, Rows: iter.Seq2[[][]any, error](func(yield func([][]any, error) bool) {
			if yield(cells, nil) {
				yield(nil, broken)
			}
		})}
		if err := f.Write(&bytes.Buffer{}, tab); !errors.Is(err, broken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func BenchmarkFormats(b *testing.B) {
	chunk := make([][]any, 10_000)
	for i := range chunk {
		chunk[i] = cells[i%2]
	}
	for name, f := range export.Formats() {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := f.Write(&bytes.Buffer{}, table(chunk)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
