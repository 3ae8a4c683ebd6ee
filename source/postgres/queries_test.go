package postgres

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestQueries checks that queries.sql has every query that the package names, and no other.
func TestQueries(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	code := ""
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		code += string(data)
	}
	used := map[string]bool{}
	for _, m := range regexp.MustCompile(`query\("(\w+)"\)`).FindAllStringSubmatch(code, -1) {
		used[m[1]] = true
		query(m[1])
	}
	for name, sql := range queries {
		if !used[name] && !strings.Contains(queryFile, "{"+name+"}") {
			t.Errorf("nothing uses the query %s", name)
		}
		if part := regexp.MustCompile(`\{\w+\}|^--`).FindString(sql); part != "" {
			t.Errorf("the query %s contains %s", name, part)
		}
	}
}
