package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestContextCommands imports a dbt project and drafts a model, both of which footnote can read.
func TestContextCommands(t *testing.T) {
	dir := t.TempDir()
	testdata := filepath.Join("..", "..", "knowledge", "dbt", "testdata")
	out, errs, code := program(t, "context", "import", filepath.Join(testdata, "manifest.json"),
		filepath.Join(testdata, "semantic_manifest.json"))
	if code != 0 || !strings.Contains(out, "source: mart.fct_sales") ||
		!strings.Contains(errs, "not taken: metric so_far: cumulative metrics are not supported") ||
		!strings.Contains(errs, "3 tables, 1 join and 5 metrics taken; 16 other things not") {
		t.Errorf("import: exit code %d\n%s\n%s", code, out, errs)
	}
	if _, errs, code = program(t, "context", "import", filepath.Join(dir, "missing.json")); code != exitUsage {
		t.Errorf("a missing manifest: exit code %d: %s", code, errs)
	}
	shop := filepath.Join(dir, "shop.db")
	if _, errs, code = program(t, "seed-demo", shop); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	out, errs, code = program(t, "context", "draft", "--source", "shop="+shop)
	if code != 0 || !strings.Contains(out, "One of: cancelled, delivered, processing, returned, shipped.") ||
		!strings.Contains(out, "From 2025-05-02 to 2026-10-31.") {
		t.Fatalf("draft: exit code %d\n%s\n%s", code, out, errs)
	}
	folder := filepath.Join(dir, "context")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "model.yaml"), []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	out, errs, code = program(t, "doctor", "--data", dir, "--source", "shop="+shop, "--set", "context="+folder)
	if code != 0 || !strings.Contains(out, "4 datasets, 0 metrics") {
		t.Errorf("the draft does not fit its source: exit code %d\n%s\n%s", code, out, errs)
	}
}

// TestMisspelledHiddenColumn checks that every command that reads data refuses a context that hides a column that does
// not exist: nothing would be hidden.
func TestMisspelledHiddenColumn(t *testing.T) {
	dir := t.TempDir()
	shop, folder := filepath.Join(dir, "shop.db"), filepath.Join(dir, "context")
	if _, errs, code := program(t, "seed-demo", shop); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	const text = "name: shop\ndatasets:\n  - name: customers\n    source: customers\n    fields:\n" +
		"      - {name: emial, hidden: true}\n"
	if err := os.WriteFile(filepath.Join(folder, "model.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"query", "SELECT max(email) FROM customers"}, {"ask", "How many customers are there?"},
		{"serve", "--listen", "127.0.0.1:0"}, {"doctor"},
	} {
		args = append(args, "--data", dir, "--source", "shop="+shop, "--set", "context="+folder)
		out, errs, code := program(t, args...)
		if code == 0 || !strings.Contains(out+errs, `model.yaml:6: the table customers has no column "emial"`) ||
			strings.Contains(out, "@") {
			t.Errorf("%s: exit code %d\n%s\n%s", args[0], code, out, errs)
		}
	}
}
