package main

import (
	"database/sql"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/config"
)

func TestNamedSources(t *testing.T) {
	configured := config.Config{Sources: map[string]string{"shop": "/data/shop.db", "old": "/data/old.db"}}
	for _, c := range []struct {
		flags []string
		want  map[string]string // nil: an error
	}{
		{[]string{"shop"}, map[string]string{"shop": "/data/shop.db"}},
		{[]string{"./shop"}, map[string]string{"shop": "./shop"}},
		{[]string{"a=b=c.csv"}, map[string]string{"a": "b=c.csv"}},
		{[]string{"shop=other.db", "old"}, map[string]string{"shop": "other.db", "old": "/data/old.db"}},
		{[]string{"Store-Sales EU.csv"}, map[string]string{"Store-Sales_EU": "Store-Sales EU.csv"}},
		{
			[]string{
				"sqlite:///data/my.shop.db?mode=ro&immutable=1",
			}, map[string]string{"my_shop": "sqlite:///data/my.shop.db?mode=ro&immutable=1"},
		},
		{[]string{"/data/files/"}, map[string]string{"files": "/data/files/"}},
		{[]string{"año.csv"}, map[string]string{"a_o": "año.csv"}},
		{[]string{"数据.csv"}, map[string]string{"data": "数据.csv"}},
		{
			[]string{
				strings.Repeat("x", 200) + ".csv",
			}, map[string]string{strings.Repeat("x", 64): strings.Repeat("x", 200) + ".csv"},
		},
		{[]string{"/"}, map[string]string{"data": "/"}},
		{[]string{"nosuch://me:hush@h"}, map[string]string{"data": "nosuch://me:hush@h"}},
		{[]string{"postgres://me:hush@h/crm?x=y"}, map[string]string{"crm": "postgres://me:hush@h/crm?x=y"}},
		{[]string{"a="}, nil},
		{[]string{""}, nil},
		{[]string{"x/a.csv", "y/a.csv"}, nil},
		{[]string{"shop", "shop"}, nil},
		{[]string{strings.Repeat("x", 65) + "=a.csv"}, nil},
	} {
		got, err := namedSources(c.flags, configured)
		if (err == nil) != (c.want != nil) || err == nil && !maps.Equal(got, c.want) {
			t.Errorf("%q: %v, %v; want %v", c.flags, got, err, c.want)
		}
	}
}

// TestInvalidSources tries addresses and settings that no engine takes.
func TestInvalidSources(t *testing.T) {
	for what, c := range map[string]struct {
		env  string
		want []string
	}{
		"unknown":  {"FOOTNOTE_SOURCES=shop=nosuch://me:hush@h/d", []string{"sources.shop", "nosuch", "sqlite:"}},
		"the web":  {"FOOTNOTE_SOURCES=a=a.db,b=https://h/x.csv?hush", []string{"sources.b", "https", "path"}},
		"JDBC":     {"FOOTNOTE_SOURCES=shop=jdbc:nosuch://me:hush@h/d", []string{"sources.shop", "jdbc"}},
		"Postgres": {"FOOTNOTE_FILTERS={crm: {sales: all}}", []string{"filters.crm", "row-level security"}},
		"a file":   {"FOOTNOTE_FUNCTIONS=shop=public.f", []string{"functions", `"shop=public.f"`, "sqlite"}},
		"version":  {"FOOTNOTE_CACHE_VERSIONS=shop=SELECT 1", []string{"cache.versions", "shop", "sqlite"}},
	} {
		e := []string{"FOOTNOTE_DATA=" + t.TempDir(), "FOOTNOTE_SOURCES=shop=shop.db,crm=postgres://db/crm", c.env}
		_, err := (&settings{}).load(e, "")
		for _, want := range append(c.want, "") {
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hush") {
				t.Errorf("%s: %v, want %q", what, err, want)
			}
		}
	}
}

// TestSourceWithoutFunctions replaces a configured source that has functions and a version by a file, which can have
// neither.
func TestSourceWithoutFunctions(t *testing.T) {
	e := []string{"FOOTNOTE_DATA=" + t.TempDir(), "FOOTNOTE_SOURCES=shop=postgres://h/d"}
	e = append(e, "FOOTNOTE_FUNCTIONS=shop=public.f", "FOOTNOTE_CACHE_VERSIONS=shop=SELECT max(at) FROM loads")
	c, err := (&settings{Source: []string{"shop=copy.db"}}).load(e, "")
	if err != nil || c.Sources["shop"] != "copy.db" {
		t.Errorf("sources: %v, %v", c.Sources, err)
	}
	if _, err := (&settings{Source: []string{"shop"}}).load(e, ""); err != nil {
		t.Error(err)
	}
}

// TestSourcesWithPasswords checks that no message about an unnamed --source has a part of a password.
func TestSourcesWithPasswords(t *testing.T) {
	for _, flag := range []string{
		"nosuch://me:hush@h", "nosuch://me:hush@h/d", "nosuch://me:hu/hush@h", "https://h/hush?hush",
		"jdbc:nosuch://me:hush@h",
		strings.Repeat("x", 65) + "=postgres://me:hush@h/d", strings.Repeat("hush", 20) + "=",
	} {
		_, err := (&settings{Source: []string{flag}}).load([]string{"FOOTNOTE_DATA=" + t.TempDir()}, "")
		if err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("--source %s: %v", flag, err)
		}
	}
}

// TestFiltersOfCommands checks that filters apply at the terminal too, to the principal of this machine.
func TestFiltersOfCommands(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sales.db")
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`CREATE TABLE sales (id integer PRIMARY KEY, org text NOT NULL);
		INSERT INTO sales (org) WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < 19)
		SELECT CASE WHEN i > 12 THEN 'globex' ELSE 'acme' END FROM s`); err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("footnote.yaml", "sources:\n  shop: "+file+"\nfilters:\n  shop:\n    sales: org = {org}\n")
	if text := command(t, 0, "query", "SELECT count(*) AS n FROM sales"); !strings.Contains(text, "0") ||
		strings.Contains(text, "19") {
		t.Error(text)
	}
	if text := command(t, 0, "query", "--source", "shop", "SELECT count(*) AS n FROM sales"); strings.Contains(text,
		"19") {
		t.Error(text)
	}
	if text := command(t, 2, "query", "--source", "other="+file, "SELECT count(*) FROM sales"); !strings.Contains(text,
		"filters for this address") {
		t.Error(text)
	}
	put("footnote.yaml", "sources:\n  shop: "+file+"\nfilters:\n  shop:\n    sales: organisation = {org}\n")
	for _, args := range [][]string{{"query", "SELECT 1"}, {"doctor"}} {
		if text := command(t, 1, args...); !strings.Contains(text, "the filter of sales cannot be enforced") ||
			!strings.Contains(text, "organisation") {
			t.Error(text)
		}
	}
}

// TestDemoDatabaseIsDefaultSource checks that demo.db in the working folder is used only if nothing else is named.
func TestDemoDatabaseIsDefaultSource(t *testing.T) {
	t.Chdir(t.TempDir())
	load := func(env []string, flags ...string) map[string]string {
		t.Helper()
		c, err := (&settings{Source: flags}).load(env, "")
		if err != nil {
			t.Fatal(err)
		}
		return c.Sources
	}
	if got := load(nil); len(got) != 0 {
		t.Errorf("without the file: %v", got)
	}
	for _, name := range []string{"demo.db", "other.db"} {
		db, err := sql.Open("sqlite", name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec("CREATE TABLE t (a)"); err != nil {
			t.Fatal(err)
		}
		db.Close()
	}
	for what, got := range map[string]map[string]string{
		"nothing": load(nil), "the environment": load([]string{"FOOTNOTE_SOURCES=x=other.db"}),
		"a flag": load(nil, "x=other.db"),
	} {
		want := map[string]string{"x": "other.db"}
		if what == "nothing" {
			want = map[string]string{"demo": "demo.db"}
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s names %v, want %v", what, got, want)
		}
	}
}
