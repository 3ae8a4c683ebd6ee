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
