package tidy

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata")

// TestDirtyFiles reads every input in testdata/*.txtar and compares the result with the file of the same name plus
// .want. Words before an input's name change its bytes: latin1, utf16, bom, crlf, cr.
func TestDirtyFiles(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	n := 0
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := make(map[string]string)
		out := &txtar.Archive{Comment: archive.Comment}
		for _, f := range archive.Files {
			if name, ok := strings.CutSuffix(f.Name, ".want"); ok {
				want[name] = string(f.Data)
			}
		}
		for _, f := range archive.Files {
			if strings.HasSuffix(f.Name, ".want") {
				continue
			}
			n++
			got := describe(t, disguise(t, f))
			if got != want[f.Name] && !*update {
				t.Errorf("%s, %s:\n got:\n%s\nwant:\n%s", path, f.Name, got, want[f.Name])
			}
			out.Files = append(out.Files, f, txtar.File{Name: f.Name + ".want", Data: []byte(got)})
		}
		if *update {
			if err := os.WriteFile(path, txtar.Format(out), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("%d files", n)
}

// disguise returns the bytes of an input.
func disguise(t *testing.T, f txtar.File) []byte {
	data := bytes.ReplaceAll(f.Data, []byte("␀"), []byte("\x00"))
	for _, word := range strings.Fields(f.Name) {
		var err error
		switch word {
		case "latin1":
			data, err = charmap.Windows1252.NewEncoder().Bytes(data)
		case "utf16":
			data, err = unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().Bytes(data)
		case "utf16be":
			data, err = unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM).NewEncoder().Bytes(data)
		case "bom":
			data = append([]byte("\xEF\xBB\xBF"), data...)
		case "crlf":
			data = bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))
		case "cr":
			data = bytes.ReplaceAll(data, []byte("\n"), []byte("\r"))
		case "unended":
			data = bytes.TrimSuffix(data, []byte("\n"))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return data
}

var typeNames = [...]string{
	"text", "integer", "huge", "decimal", "double", "boolean", "date", "timestamp", "zoned", "time",
}

// describe reads a file and returns its notes, columns and rows as text.
func describe(t *testing.T, data []byte) string {
	path := filepath.Join(t.TempDir(), "in.csv")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	table, err := Plan(t.Context(), path, Limits{})
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", table.Comment())
	for _, c := range table.Columns {
		fmt.Fprintf(&b, "%s: %s", c.Name, typeNames[c.Type])
		if c.Type == Decimal {
			fmt.Fprintf(&b, "(%d)", c.Scale)
		}
		if c.Comment != "" {
			fmt.Fprintf(&b, " -- %s", c.Comment)
		}
		b.WriteString("\n")
	}
	for _, row := range render(t, table)[1:] {
		b.WriteString("|")
		for _, cell := range row {
			b.WriteString(strings.ReplaceAll(cell, "\n", `\n`) + "|")
		}
		b.WriteString("\n")
	}
	c := table.Counts
	if c.Records != c.Loaded+c.Titles+c.Headers+c.Totals+c.Remarks {
		t.Errorf("counts do not add up: %+v", c)
	}
	return b.String()
}
