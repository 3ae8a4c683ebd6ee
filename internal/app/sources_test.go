package app

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/engines"
)

// writable is a source that accepted a write.
type writable struct{ source.Source }

func (writable) Probe(context.Context) error {
	return fmt.Errorf("%w %q was accepted", source.ErrWritable, "VACUUM")
}

// readOnly is a source that refused every write.
type readOnly struct{ source.Source }

func (readOnly) Probe(context.Context) error { return nil }

func (readOnly) Dialect() *source.Dialect { return &source.Dialect{Name: "plain"} }

func TestWritableSourceIsRefused(t *testing.T) {
	err := probeReadOnly(t.Context(), "shop", writable{})
	if !errors.Is(err, source.ErrWritable) ||
		OneLine(err) != `source shop: Database is not read-only. Refusing to start. "VACUUM" was accepted` {
		t.Errorf("OneLine(err): %q", OneLine(err))
	}
}

// TestUnprovenSourceMustBeAccepted checks that a source of which less is known is refused until it is accepted by name.
func TestUnprovenSourceMustBeAccepted(t *testing.T) {
	c := config.Config{AcceptUnproven: []string{"lake"}}
	if err := checkProof(c, "lake", source.Proof{Strength: source.Unproven}); err != nil {
		t.Error(err)
	}
	if err := checkProof(c, "mart", source.Proof{Strength: source.Gated}); err != nil {
		t.Error(err)
	}
	err := checkProof(c, "mart", source.Proof{Strength: source.Unproven})
	if footnote.CodeOf(err) != footnote.InvalidRequest || !strings.Contains(err.Error(), "accept_unproven") {
		t.Errorf("a source that nobody accepted: %v", err)
	}
}

// TestStoreAsSource checks that the file of the conversations is refused as a source, under whatever name.
func TestStoreAsSource(t *testing.T) {
	folder := t.TempDir()
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(filepath.Join(folder, "footnote.db"), link); err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{
		filepath.Join(folder, "footnote.db"), "sqlite:" + filepath.Join(folder, "footnote.db"), link,
	} {
		c := config.Default()
		c.Data, c.Upstream, c.Model, c.Sources = folder, config.Offline, "offline", map[string]string{"log": address}
		a, err := Open(t.Context(), c, Options{})
		if err == nil {
			t.Fatalf("%s was opened: %v", address, a.Close(t.Context()))
		}
		if !strings.Contains(err.Error(), "footnote.db holds the conversations of Footnote") {
			t.Errorf("%s: %v", address, err)
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
		"":                 &config.Invalid{Err: errors.New("")},
	} {
		if got := OneLine(err); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestFiltersNeedEngineSupport checks that a source with filters opens only with an engine that applies them, and
// that users share cached rows only then.
func TestFiltersNeedEngineSupport(t *testing.T) {
	opened := 0
	list := engines.List{{
		Dialect: &source.Dialect{Name: "plain"}, Schemes: []string{"plain"},
		Open: func(context.Context, string, string, engines.Options) (source.Source, error) {
			opened++
			return readOnly{}, nil
		},
	}}
	c := config.Config{Sources: map[string]string{"shop": "plain:a"}}
	_, rowsPerUser, err := openSources(t.Context(), c, processes{children: children{databases: list}}, nil, nil)
	if err != nil || !rowsPerUser || opened != 1 {
		t.Errorf("without filters: %v, %v, opened %d times", rowsPerUser, err, opened)
	}
	c.Filters = map[string]map[string]string{"shop": {"orders": "org = {org}"}}
	_, _, err = openSources(t.Context(), c, processes{children: children{databases: list}}, nil, nil)
	if err == nil || !strings.HasPrefix(err.Error(), "filters.shop: plain databases take no filters") || opened != 1 {
		t.Errorf("with filters: %v, opened %d times", err, opened)
	}
	list[0].Filters = true
	_, rowsPerUser, err = openSources(t.Context(), c, processes{children: children{databases: list}}, nil, nil)
	if err != nil || rowsPerUser || opened != 2 {
		t.Errorf("with an engine that applies them: %v, %v, opened %d times", rowsPerUser, err, opened)
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
		"nosuch://me:hush@h":       "data", "nosuch://me:hush@h/shop": "data", "https://h/x.csv?hush": "data",
		"jdbc:nosuch://me:hush@h/d": "data",
	} {
		if got := SourceName(address); got != want {
			t.Errorf("SourceName(%q) = %q, want %q", address, got, want)
		}
	}
}

// TestServerWarnsOfEmptySource checks that a source without tables is named in the log, and no other.
func TestServerWarnsOfEmptySource(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.db")
	db, err := sql.Open("sqlite", empty)
	if err == nil {
		_, err = db.Exec("CREATE TABLE t (a); DROP TABLE t")
	}
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	g := newRig(t, t.TempDir(), func(c *config.Config) { c.Sources["typo"] = empty })
	var log bytes.Buffer
	g.app.log = slog.New(slog.NewTextHandler(&log, nil))
	g.app.warnOfEmptySources(t.Context())
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "no tables") ||
		!strings.Contains(got, "source=typo") {
		t.Errorf("the log has %q", got)
	}
}

// TestEveryEngineHasAProof checks that the list of sources can say how well each is known to be read-only.
func TestEveryEngineHasAProof(t *testing.T) {
	for _, e := range Databases() {
		if e.Proof.Strength == "" || e.Proof.TestedOn == "" {
			t.Errorf("%s has no proof", e.Dialect.Name)
		}
	}
}
