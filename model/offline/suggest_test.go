package offline_test

import (
	"context"
	"slices"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/model/offline"
	"github.com/footnotehq/footnote/source"
)

// failingSource is a source that answers a number of statements and is then unavailable, until that number is raised.
type failingSource struct {
	source.Source
	left int
}

func (l *failingSource) Query(ctx context.Context, q source.Query, each func([]any) error) (source.Summary, error) {
	if l.left--; l.left < 0 {
		return source.Summary{}, footnote.Errorf(footnote.DatabaseUnavailable, "The database file is not there.")
	}
	return l.Source.Query(ctx, q, each)
}

// TestSuggestionsAfterAnOutage checks that an interrupted read is not kept, so that the suggestions are the same as
// without an outage.
func TestSuggestionsAfterAnOutage(t *testing.T) {
	c := shop(t)
	const enough = 1 << 30
	src := &failingSource{Source: c["shop"], left: enough}
	c["shop"] = src
	want, err := offline.New(offline.Options{Catalog: c}).Suggest(t.Context(), "shop", 6)
	if err != nil || len(want) != 6 {
		t.Fatalf("Suggest() = %q, %v, want six", want, err)
	}
	statements := enough - src.left
	for n := range statements {
		p := offline.New(offline.Options{Catalog: c})
		src.left = n
		if got, err := p.Suggest(t.Context(), "shop", 6); footnote.CodeOf(err) != footnote.DatabaseUnavailable {
			t.Fatalf("away after %d of %d statements: Suggest() = %q, %v, want that it cannot be read", n, statements,
				got, err)
		}
		src.left = enough
		got, err := p.Suggest(t.Context(), "shop", 6)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("back after %d statements: Suggest() = %q, %v, want %q", n, got, err, want)
		}
	}
}
