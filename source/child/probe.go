package child

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/footnotehq/footnote/internal/wordlist"
	"github.com/footnotehq/footnote/source"
)

// Attempts returns the statements of a list for an engine's Probe, one per line. {table} becomes the quoted name of a
// table, and {target} the path of a file that does not exist.
func Attempts(list, table, target string) []string {
	r := strings.NewReplacer("{table}", table, "{target}", strings.ReplaceAll(target, "'", "''"))
	return wordlist.Lines(r.Replace(list))
}

// TryQueries runs attempts as queries of an engine. It returns an error unless all are refused.
func TryQueries(ctx context.Context, e Engine, attempts []string, target string) error {
	ignore := func([]any) error { return nil }
	for _, text := range attempts {
		_, err := e.Query(ctx, source.Query{SQL: text, Limits: source.DefaultLimits()}, ignore)
		if err := CheckRefused(ctx, text, err, target, "as a query"); err != nil {
			return err
		}
	}
	return nil
}

// CheckRefused returns an error unless an attempt failed with err and left no file at target. How says how it was
// tried.
func CheckRefused(ctx context.Context, attempt string, err error, target, how string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err == nil {
		return fmt.Errorf("%w %q was accepted %s", source.ErrWritable, attempt, how)
	}
	if _, err := os.Stat(target); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w %q made a file %s", source.ErrWritable, attempt, how)
	}
	return nil
}
