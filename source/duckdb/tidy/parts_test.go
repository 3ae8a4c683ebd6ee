package tidy

import (
	"archive/zip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// book describes a workbook that no spreadsheet program would write.
type book struct {
	strings, styles, rows string
	repeat                int // how often the sheet contains rows; 0 means once
	sheets                int // number of entries for the single sheet; 0 means one
	twice                 bool
}

const office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"

func (b book) write(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "book.xlsx")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := zip.NewWriter(f)
	put := func(name string, pieces ...string) {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range pieces {
			if _, err := w.Write([]byte(p)); err != nil {
				t.Fatal(err)
			}
		}
	}
	relations := func(list ...string) string {
		s := `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">`
		for i := 0; i < len(list); i += 2 {
			s += fmt.Sprintf(`<Relationship Id="rId%d" Type="%s/%s" Target="%s"/>`, i/2+1, office, list[i], list[i+1])
		}
		return s + "</Relationships>"
	}
	put("[Content_Types].xml", `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>`)
	put("_rels/.rels", relations("officeDocument", "xl/workbook.xml"))
	put("xl/_rels/workbook.xml.rels", relations("worksheet", "worksheets/sheet1.xml"))
	const main = `xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"`
	sheets := ""
	for i := range max(b.sheets, 1) {
		sheets += fmt.Sprintf(`<sheet name="S%d" sheetId="%d" r:id="rId1"/>`, i, i+1)
	}
	put("xl/workbook.xml", "<workbook "+main+` xmlns:r="`+office+`"><sheets>`+sheets+"</sheets></workbook>")
	put("xl/styles.xml", "<styleSheet "+main+">"+b.styles+"</styleSheet>")
	put("xl/sharedStrings.xml", "<sst "+main+">", b.strings, "</sst>")
	put("xl/worksheets/sheet1.xml", "<worksheet "+main+"><sheetData>", strings.Repeat(b.rows, max(b.repeat, 1)),
		"</sheetData></worksheet>")
	if b.twice {
		put("xl/worksheets/Sheet1.xml", "<worksheet/>")
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestBombs checks that small workbooks that would take much time or memory to read are refused with an
// explanation, and that a plain one built the same way is read.
func TestBombs(t *testing.T) {
	const row = `<row><c t="s"><v>0</v></c><c><v>1</v></c></row>`
	for name, test := range map[string]struct {
		book book
		want string // empty: it is read
	}{
		"plain": {book{strings: "<si><t>x</t></si>", rows: row}, ""},
		"millions of texts": {
			book{strings: strings.Repeat("<si><t>x</t></si>", 2_000_000), rows: row}, "too large when unpacked",
		},
		"millions of cells": {
			book{strings: "<si><t>x</t></si>", rows: row, repeat: 900_000}, "too large when unpacked",
		},
		"one sheet listed many times": {
			book{strings: "<si><t>x</t></si>", rows: row, repeat: 100, sheets: 300}, "as several sheets",
		},
		"too many sheets": {book{rows: row, sheets: 501}, "501 sheets"},
		"a text in each cell": {
			book{
				strings: "<si><t>" + strings.Repeat("y", 30_000) + "</t></si>",
				rows:    row,
				repeat:  5000,
			}, "too large when unpacked",
		},
		"a long format": {
			book{
				styles: `<numFmts><numFmt numFmtId="200" formatCode="` + strings.Repeat("0", 2000) + `"/></numFmts>`,
				rows:   row,
			}, "format of 2000",
		},
		"a part of two names":  {book{rows: row, twice: true}, "two parts"},
		"gigabytes of nothing": {book{rows: "<row/>" + strings.Repeat(" ", 80<<20)}, "too large when unpacked"},
	} {
		t.Run(name, func(t *testing.T) {
			sheets, err := Sheets(t.Context(), test.book.write(t), t.TempDir(), Limits{})
			switch {
			case test.want == "" && (err != nil || len(sheets) != 1):
				t.Errorf("%d sheets, %v", len(sheets), err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

// TestTooManyFields checks that a line of separators does not use memory for every one of them.
func TestTooManyFields(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in.csv")
	if err := os.WriteFile(path, []byte("a,b\n1,2\n"+strings.Repeat(",", 4<<20)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Plan(t.Context(), path, Limits{}); err == nil || !strings.Contains(err.Error(), "100000 cells") {
		t.Errorf("a line of separators: %v", err)
	}
}
