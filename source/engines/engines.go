// Package engines describes the kinds of databases that Footnote can open. Each is a folder below source with a
// function that returns an Engine; the program makes a List of them. See "Adding a database engine" in CONTRIBUTING.md.
package engines

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/footnotehq/footnote/internal/plainfile"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
)

// Engine is one kind of database. Only Dialect and Open are required.
type Engine struct {
	// Dialect is the SQL of its sources. Its name is also the engine's.
	Dialect *source.Dialect
	// Schemes of the addresses that it opens, such as "postgres" for postgres://host/database.
	Schemes []string
	// Sniff reports how well the engine fits a path without a scheme. Head holds the first bytes of the file; it is
	// empty for folders and for files that cannot be read. Nil never fits.
	Sniff func(path string, head []byte) Fit
	// Open opens a source. Its errors refer to the database by name, and never contain a password.
	Open func(ctx context.Context, name, address string, o Options) (source.Source, error)
	// Hosts returns the hosts that opening an address may contact. Nil means that addresses name files.
	Hosts func(address string) []string
	// Children are what the engine runs in child processes, by kind.
	Children map[string]child.OpenFunc
	// ChildMemory is the memory limit of a child process of its own, besides those that run queries.
	ChildMemory int64
	// OwnPolicies means that the database itself decides which rows a principal sees. Such sources take no filters.
	OwnPolicies bool
	// Functions means that Options.Functions has a meaning for the engine.
	Functions bool
	// Close ends what the sources of the engine share. Nil means that they share nothing.
	Close func() error
}

// Options are what the program passes to Open.
type Options struct {
	Limits     source.Limits
	Filters    map[string]string // conditions by table, in the syntax of internal/rowfilter
	Functions  []string          // functions of the database that queries may run
	VersionSQL string            // the statement that returns the version of the data; empty: the engine's own
	Folder     string            // where to put data loaded from files
	Pool       *child.Pool       // for child processes that run queries
	LoadPool   *child.Pool       // for child processes that load files
	LoadMemory int64             // of each of the latter
	LoadWait   time.Duration     // how long a load waits for its turn
	Budget     *child.Budget     // the memory of all child processes
	// Progress, when set, is called while files load.
	Progress func(table string, rows int64)
	Logger   *slog.Logger
}

// Fit reports how well an engine fits a path.
type Fit int

// The fits, from worst to best.
const (
	NoFit         Fit = iota
	FitsByDefault     // nobody else fits better
	FitsByName        // the path has an extension of the engine
	FitsByContent     // the file begins as the engine's files do
)

// List holds the engines of a program. Of several that fit a path equally well, the first one opens it.
type List []Engine

// addressScheme matches the scheme of an address, which distinguishes it from a path. A single letter is the drive of
// a Windows path, and jdbc: precedes another scheme.
var addressScheme = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]+):(?:[A-Za-z][A-Za-z0-9+.-]*:)?//`)

// byScheme returns the engine of an address with a scheme.
func (l List) byScheme(address string) (Engine, bool) {
	scheme, _, ok := strings.Cut(address, ":")
	if !ok {
		return Engine{}, false
	}
	i := slices.IndexFunc(l, func(e Engine) bool { return slices.Contains(e.Schemes, scheme) })
	if i < 0 {
		return Engine{}, false
	}
	return l[i], true
}

// Find returns the engine that opens an address: by its scheme, or else by the file at its path. The error does not
// contain the address, which may hold a password.
func (l List) Find(address string) (Engine, error) {
	e, ok, err := l.withScheme(address)
	if ok || err != nil {
		return e, err
	}
	if e, ok = l.sniff(address, beginning(address)); !ok {
		return Engine{}, errors.New("no engine knows this kind of file")
	}
	return e, nil
}

// withScheme returns the engine of an address with a scheme. ok is false for a path.
func (l List) withScheme(address string) (_ Engine, ok bool, err error) {
	if e, ok := l.byScheme(address); ok {
		return e, true, nil
	}
	if m := addressScheme.FindStringSubmatch(address); m != nil {
		var known []string
		for _, e := range l {
			for _, scheme := range e.Schemes {
				known = append(known, scheme+":")
			}
		}
		return Engine{}, false, fmt.Errorf("the scheme %s is not supported yet: use %s or a path", m[1],
			strings.Join(known, ", "))
	}
	return Engine{}, false, nil
}

// sniff returns the engine that fits a path best.
func (l List) sniff(path string, head []byte) (best Engine, ok bool) {
	fits := NoFit
	for _, e := range l {
		if e.Sniff == nil {
			continue
		}
		if fit := e.Sniff(path, head); fit > fits {
			best, fits = e, fit
		}
	}
	return best, fits != NoFit
}

// beginning returns the first bytes of a file, or nothing if they cannot be read.
func beginning(path string) []byte {
	file, err := plainfile.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	head, _ := io.ReadAll(io.LimitReader(file, 512))
	return head
}

// Path returns the path of the file or folder that an address names, or "" if it names a database on a server.
func (l List) Path(address string) string {
	e, ok := l.byScheme(address)
	switch {
	case ok && e.Hosts != nil || !ok && addressScheme.MatchString(address):
		return ""
	case !ok:
		return address
	}
	_, rest, _ := strings.Cut(address, ":")
	rest, _, _ = strings.Cut(strings.TrimPrefix(rest, "//"), "?")
	if path, err := url.PathUnescape(rest); err == nil {
		return path
	}
	return rest
}

// Check rejects an address that no engine opens, and settings that its engine does not have. It reads nothing, so it
// takes a file for what its name says; opening it may find another engine, or none.
func (l List) Check(name, address string, filters map[string]string, functions []string) error {
	e, ok, err := l.withScheme(address)
	if !ok && err == nil {
		if e, ok = l.sniff(address, nil); !ok {
			return nil
		}
	}
	switch {
	case err != nil:
		return fmt.Errorf("sources.%s: %w", name, err)
	case e.OwnPolicies && len(filters) > 0:
		return fmt.Errorf("filters.%s: it is a %s database, which has policies of its own (row-level security): they "+
			"are told who asks, see docs/sources.md", name, e.Dialect.Name)
	case !e.Functions && len(functions) > 0:
		return fmt.Errorf("functions has %q, but %s databases have no such setting", name+"="+functions[0],
			e.Dialect.Name)
	}
	return nil
}

// Children returns the table for child.Main.
func (l List) Children() map[string]child.OpenFunc {
	all := map[string]child.OpenFunc{}
	for _, e := range l {
		maps.Copy(all, e.Children)
	}
	return all
}

// ChildMemory returns the largest ChildMemory of the engines.
func (l List) ChildMemory() int64 {
	var most int64
	for _, e := range l {
		most = max(most, e.ChildMemory)
	}
	return most
}

// Close closes what the sources of each engine share. Close the sources first.
func (l List) Close() error {
	var errs []error
	for _, e := range l {
		if e.Close != nil {
			errs = append(errs, e.Close())
		}
	}
	return errors.Join(errs...)
}
