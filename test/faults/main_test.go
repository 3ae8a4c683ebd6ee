package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTable checks that the page has thirty rows, and that each test it names exists.
func TestTable(t *testing.T) {
	root := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "faults.md"))
	if err != nil {
		t.Fatal(err)
	}
	table, err := Parse(string(page))
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range table {
		if row.N != i+1 {
			t.Errorf("after row %d comes %d", i, row.N)
		}
		if len(row.Tests) == 0 && row.N != 27 {
			t.Errorf("row %d has no tests", row.N)
		}
		for _, test := range row.Tests {
			if !there(t, filepath.Join(root, filepath.FromSlash(test.Package)), test.Name) {
				t.Errorf("row %d: %s has no %s", row.N, test.Package, test.Name)
			}
		}
	}
	if len(table) != 30 {
		t.Errorf("%d rows", len(table))
	}
}

func there(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "func "+name+"(") {
			return true
		}
	}
	return false
}
