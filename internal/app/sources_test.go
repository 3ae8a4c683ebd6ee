package app

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
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
		OneLine(err) != `source shop: Database is not read-only. Refusing to start. "VACUUM" was accepted` {
		t.Errorf("%q", OneLine(err))
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
		"":                 &config.Invalid{Err: errors.New("")},
	} {
		if got := OneLine(err); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestSourceName(t *testing.T) {
	for address, want := range map[string]string{
		"a/my shop.db": "my_shop", "duckdb:x/a.duckdb?b=/c": "a", "sqlite:": "data",
		"postgres://me:hush@h/crm?sslmode=disable": "crm", "postgresql://h/crm.eu": "crm",
		"postgres://me:hush@h":  "postgres",
		"postgres://me:hush@h/": "postgres", "postgres:me:hush@h": "postgres",
		"postgres://me:1/hush@h": "postgres", "postgres://me:1/2?hush@h": "postgres",
		"postgres://me:%zz@h/hush": "postgres",
		"mysql://me:hush@h":        "data", "mysql://me:hush@h/shop": "data", "https://h/x.csv?hush": "data",
		"jdbc:mysql://me:hush@h/d": "data",
	} {
		if got := SourceName(address); got != want {
			t.Errorf("SourceName(%q) = %q, want %q", address, got, want)
		}
	}
}
