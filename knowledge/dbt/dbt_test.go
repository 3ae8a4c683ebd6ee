package dbt_test

import (
	"flag"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/footnotehq/footnote/knowledge"
	"github.com/footnotehq/footnote/knowledge/dbt"
)

// imported imports files and reads the result as a context.
func imported(t *testing.T, files ...string) (*knowledge.Context, []string, string) {
	t.Helper()
	data := make([][]byte, 2)
	for i, name := range files {
		var err error
		if data[i], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	m, left, err := dbt.Import(data[0], data[1])
	if err != nil {
		t.Fatal(err)
	}
	text, err := knowledge.Write(m)
	if err != nil {
		t.Fatal(err)
	}
	c, err := knowledge.Read(fstest.MapFS{"model.yaml": &fstest.MapFile{Data: text}})
	if err != nil {
		t.Fatalf("the model is faulty: %v\n%s", err, text)
	}
	return c, left, string(text)
}

var update = flag.Bool("update", false, "rewrite the expected files")

// TestImport imports a project that has everything that is taken and most of what is not.
func TestImport(t *testing.T) {
	_, left, text := imported(t, "testdata/manifest.json", "testdata/semantic_manifest.json")
	got := text + "\n# What was not taken:\n# " + strings.Join(left, "\n# ") + "\n"
	const file = "testdata/model.yaml"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the import is\n%s\nwant\n%s", got, want)
	}
}

// TestOtherFiles checks that files which dbt did not write are refused.
func TestOtherFiles(t *testing.T) {
	for text, want := range map[string]string{
		"":              "read the manifest",
		"[]":            "read the manifest",
		`{"nodes": {}}`: "no manifest.json of dbt",
		`{"metadata": {"dbt_schema_version": "https://schemas.getdbt.com/dbt/catalog/v1.json"}}`: "no manifest.json of dbt",
	} {
		if _, _, err := dbt.Import([]byte(text), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v, want %q", text, err, want)
		}
	}
	const manifest = `{"metadata": {"dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json"}}`
	if _, _, err := dbt.Import([]byte(manifest), []byte("{")); err == nil {
		t.Error("a broken semantic manifest is accepted")
	}
}

// FuzzImport checks that no file makes the import fail other than by an error.
func FuzzImport(f *testing.F) {
	for _, name := range []string{"testdata/manifest.json", "testdata/semantic_manifest.json"} {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, data)
	}
	f.Fuzz(func(t *testing.T, manifest, semantic []byte) {
		if m, _, err := dbt.Import(manifest, semantic); err == nil {
			if _, err := knowledge.Write(m); err != nil {
				t.Error(err)
			}
		}
	})
}
