package tidy

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// FuzzPlan checks that no file makes the reader panic, and that every record is accounted for.
func FuzzPlan(f *testing.F) {
	paths, _ := filepath.Glob("testdata/*.txtar")
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			if !strings.HasSuffix(file.Name, ".want") {
				f.Add(file.Data)
			}
		}
	}
	f.Add([]byte("a;b\n\"x\n1;2\n"))
	f.Add([]byte("\xff\xfea\x00,\x00b\x00\n\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "in.csv")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		account(t, path)
	})
}

// account reads a file and checks its counts against the rows returned and the records in the file.
func account(t testing.TB, path string) *Table {
	t.Helper()
	table, err := Plan(t.Context(), path, Limits{})
	if err != nil {
		if _, ok := errors.AsType[*Error](err); !ok {
			t.Fatalf("an unreadable file gave %T: %v", err, err)
		}
		return nil
	}
	rows := int64(0)
	err = table.Each(t.Context(), func(values []any) error {
		if len(values) != len(table.Columns) {
			t.Fatalf("a row has %d values, want %d", len(values), len(table.Columns))
		}
		for i, v := range values {
			cellText(table.Columns[i], v)
		}
		rows++
		return nil
	})
	if err != nil {
		t.Fatalf("reading again: %v", err)
	}
	c := table.Counts
	if rows != c.Loaded || c.Records != c.Loaded+c.Titles+c.Headers+c.Totals+c.Remarks {
		t.Fatalf("%d rows, counts %+v", rows, c)
	}
	if c.Totals > 0 != strings.Contains(table.Comment(), "totals row") ||
		c.Remarks > 0 != strings.Contains(table.Comment(), "below the table") ||
		c.Titles > 0 != strings.Contains(table.Comment(), "above the header") {
		t.Fatalf("counts %+v are not what the notes say: %s", c, table.Comment())
	}
	return table
}

// TestRandomTables writes tables of random cells and checks that every row comes back, whatever its cells contain.
func TestRandomTables(t *testing.T) {
	vocabulary := []string{
		"", "x", "Total", "Sum", "1", "-5", "1,5", "1.5", "1.234,56", "1,234.56", "€5", "$7", "5%", "12:30",
		"2024-01-02", "03/04/2024", "31.12.2023", "yes", "no", "N",
		"NA", "null", "-", "007", "+4912345678", "1e5", "a;b", "a,b", "a|b", "a\tb", "line\nbreak", "say \"hi\"", "ünï",
		"字", " padded ", "99999999999999999999", "Source: x", "0",
	}
	dir := t.TempDir()
	for seed := range uint64(1500) {
		rng := rand.New(rand.NewPCG(seed, 3))
		width, height := 2+rng.IntN(5), 1+rng.IntN(30)
		var buf bytes.Buffer
		w := csv.NewWriter(&buf)
		w.Comma = []rune{',', ';', '\t', '|'}[rng.IntN(4)]
		var header []string
		for i := range width {
			header = append(header, fmt.Sprintf("col %c", 'a'+i))
		}
		w.Write(header)
		for range height {
			row := make([]string, width)
			for i := range row {
				row[i] = vocabulary[rng.IntN(len(vocabulary))]
			}
			row[rng.IntN(width)] = "filled" // blank lines are not records
			w.Write(row)
		}
		w.Flush()
		path := filepath.Join(dir, "in.csv")
		if err := os.WriteFile(path, buf.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		table := account(t, path)
		if table == nil {
			t.Fatalf("seed %d was not read:\n%s", seed, buf.String())
		}
		if table.Counts.Records != int64(height)+1 && len(table.Columns) == width {
			t.Errorf("seed %d has %d records, want %d:\n%s\n%s", seed, table.Counts.Records, height+1, table.Comment(),
				buf.String())
		}
	}
}

// TestLargeFields reads records that exceed the buffer.
func TestLargeFields(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in.csv")
	big := strings.Repeat("long text ", 60_000) // 600 KB
	quotedBig := strings.Repeat("quoted, text\n", 15_000)
	if err := os.WriteFile(path, []byte("id,text\n1,"+big+"\n2,\""+quotedBig+"\"\n3,end\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	table := account(t, path)
	if table.Counts.Loaded != 3 {
		t.Fatalf("counts %+v", table.Counts)
	}
	if err := os.WriteFile(path, []byte("id,text\n1,"+strings.Repeat("x", 17<<20)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Plan(t.Context(), path, Limits{}); err == nil || !strings.Contains(err.Error(), "16 MB") {
		t.Errorf("a record of 17 MB: %v", err)
	}
}

// TestLimits checks the limits on a file.
func TestLimits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in.csv")
	if err := os.WriteFile(path, []byte("a,b,c\n1,2,3\n4,5,6\n7,8,9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, limits := range map[string]Limits{
		"more than 2 rows":    {Rows: 2},
		"more than 2 columns": {Columns: 2},
		"the limit is":        {Bytes: 10},
	} {
		if _, err := Plan(t.Context(), path, limits); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v gave %v, want %q", limits, err, want)
		}
	}
	if table, err := Plan(t.Context(), path, Limits{Rows: 3, Columns: 3}); err != nil || table.Counts.Loaded != 3 {
		t.Errorf("at the limits: %v", err)
	}
}

// TestChangedFile checks that the reader notices a file that changes between the two passes.
func TestChangedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in.csv")
	write := func(s string) {
		if err := os.WriteFile(path, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, after := range []string{"a,b\n1,2\nx,4\n", "a,b\n1,2\n", "a,b\n1,2\n3,4\n5,6\n"} {
		write("a,b\n1,2\n3,4\n")
		table, err := Plan(t.Context(), path, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		write(after)
		if err := table.Each(t.Context(), func([]any) error { return nil }); !errors.Is(err, errChanged) {
			t.Errorf("%q was read: %v", after, err)
		}
	}
}

// TestSplitter compares the splitter with encoding/csv on input that encoding/csv accepts.
func TestSplitter(t *testing.T) {
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 9))
		var b strings.Builder
		for range rng.IntN(60) {
			b.WriteString([]string{
				"a", ",", ",", "\n", "\"x\"", "\"x,\ny\"", "\"\"\"\"", "b c", "\r\n", "é",
			}[rng.IntN(10)])
		}
		in := b.String()
		r := csv.NewReader(strings.NewReader(in))
		r.FieldsPerRecord = -1
		var want []string
		ok := true
		for {
			rec, err := r.Read()
			if err == io.EOF {
				break
			}
			if err != nil {
				ok = false
				break
			}
			if s := strings.Join(rec, "|"); strings.Trim(strings.ReplaceAll(s, "|", ""), " \n") != "" {
				want = append(want, s)
			}
		}
		if !ok {
			continue
		}
		s := newSplitter(strings.NewReader(in), ',', false)
		s.buf = make([]byte, 1+rng.IntN(8))
		var got []string
		for {
			rec, err := s.next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, strings.ReplaceAll(string(bytes.Join(rec, []byte("|"))), "\r\n", "\n"))
		}
		if strings.Join(got, "¶") != strings.Join(want, "¶") {
			t.Fatalf("seed %d, %q:\n got %q\nwant %q", seed, in, got, want)
		}
	}
}
