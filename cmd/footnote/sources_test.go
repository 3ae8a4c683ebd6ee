package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
)

// writable is a source that accepted a write.
type writable struct{ source.Source }

func (writable) Probe(context.Context) error {
	return fmt.Errorf("%w %q was accepted", source.ErrWritable, "VACUUM")
}

func TestWritableSourceIsRefused(t *testing.T) {
	err := prove(t.Context(), "shop", writable{})
	if !errors.Is(err, source.ErrWritable) ||
		oneLine(err) != `source shop: Database is not read-only. Refusing to start. "VACUUM" was accepted` {
		t.Errorf("%q", oneLine(err))
	}
}

func TestNamedSources(t *testing.T) {
	configured := map[string]string{"shop": "/data/shop.db", "old": "/data/old.db"}
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

// TestSourcesThatStopTheStart tries addresses and settings that no engine takes.
func TestSourcesThatStopTheStart(t *testing.T) {
	for what, c := range map[string]struct {
		env  string
		want []string
	}{
		"mysql":    {"FOOTNOTE_SOURCES=shop=mysql://me:hush@h/d", []string{"sources.shop", "mysql", "sqlite:"}},
		"the web":  {"FOOTNOTE_SOURCES=a=a.db,b=https://h/x.csv?hush", []string{"sources.b", "https", "path"}},
		"JDBC":     {"FOOTNOTE_SOURCES=shop=jdbc:mysql://me:hush@h/d", []string{"sources.shop", "jdbc"}},
		"Postgres": {"FOOTNOTE_FILTERS={crm: {sales: all}}", []string{"filters.crm", "row-level security"}},
		"a file":   {"FOOTNOTE_FUNCTIONS=shop=public.f", []string{"functions", `"shop=public.f"`, "sqlite"}},
	} {
		e := env{"FOOTNOTE_DATA=" + t.TempDir(), "FOOTNOTE_SOURCES=shop=shop.db,crm=postgres://db/crm", c.env}
		_, err := (&settings{}).load(e, nil)
		for _, want := range append(c.want, "") {
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hush") {
				t.Errorf("%s: %v, want %q", what, err, want)
			}
		}
	}
}

func TestOneLine(t *testing.T) {
	classified := &footnote.Error{
		Code:    footnote.DatabaseUnavailable,
		Message: "It is not there.",
		Err:     errors.New("stat x:\n  ^ here"),
	}
	for want, err := range map[string]error{
		"It is not there.": classified,
		"one; two":         errors.Join(errors.New("one"), errors.New("two")),
		"":                 &exit{code: exitFailed},
	} {
		if got := oneLine(err); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
