// Package engines describes the kinds of databases that Footnote can open. Each is a folder below source with a
// function that returns an Engine; the program makes a List of them. See "Adding a database engine" in CONTRIBUTING.md.
package engines

import (
	"context"
	"errors"
	"fmt"
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
	// Open opens a source. Its errors refer to the database by name (see source.Named), and never contain a password.
	// They are *footnote.Errors: InvalidRequest for an address or another setting that can never work, and
	// DatabaseUnavailable for a database that cannot be reached.
	Open func(ctx context.Context, name, address string, o Options) (source.Source, error)
	// Hosts returns the hosts that opening an address may contact. Nil means that addresses name files.
	Hosts func(address string) []string
	// Children are what the engine runs in child processes, by kind.
	Children map[string]child.OpenFunc
	// ChildMemory is the memory limit of a child process of its own, besides those that run queries.
	ChildMemory int64
	// Filters means that the engine applies Options.Filters. Without it, filters are refused.
	Filters bool
	// OwnPolicies means that the database itself decides which rows a principal sees, and that the engine tells it who
	// asks.
	OwnPolicies bool
	// Functions means that Options.Functions has a meaning for the engine.
	Functions bool
	// Versions means that the engine runs Options.VersionSQL.
	Versions bool
	// Proof says how well its sources are known to be read-only. A source that is a source.Proved knows better.
	Proof source.Proof
	// Close ends what the sources of the engine share. Nil means that they share nothing.
	Close func() error
}

// Options configures Open. The zero value is ready to use.
type Options struct {
	Limits source.Limits // of queries; zero fields take source.DefaultLimits
	// Filters maps names of tables and views to conditions, in the syntax of internal/rowfilter; see Engine.Filters.
	// When there are any, a query sees those rows of a table for which its condition holds for the principal, and
	// nothing of other tables.
	Filters map[string]string
	// Hiding decides which columns a principal must not see; nil hides none. Every engine must apply it.
	Hiding    source.Hiding
	Functions []string // functions of the database that queries may run; see Engine.Functions
	// VersionSQL, when set, returns one value, which is the version of the data instead of the engine's own. It runs
	// like every query, but for no particular principal. Open runs it once: a statement that fails or returns several
	// values is an InvalidRequest. See Engine.Versions.
	VersionSQL string
	// Dir is the directory for data loaded from files, which is kept so that an unchanged file is loaded only once. All
	// sources and several processes may share it. The default is footnote/files in the user's cache directory.
	Dir        string
	Pool       *child.Pool   // for child processes that run queries
	LoadPool   *child.Pool   // for child processes that load files; default Pool
	LoadMemory int64         // of each of the latter; default 1 GB
	LoadWait   time.Duration // how long a load waits for its turn; default LoadTime
	LoadTime   time.Duration // how long a load may take; default 30 min
	Budget     *child.Budget // the memory of all child processes
	// Progress, when set, is called while files load and once at the end of each table, always from one goroutine.
	Progress func(table string, rows int64)
	Logger   *slog.Logger // default: discards
}

// Fit reports how well an engine fits a path.
type Fit int

// The fits, from worst to best.
const (
	NoFit         Fit = iota
	FitsByDefault     // used if no other engine fits
	FitsByName        // the path has an extension of the engine
	FitsByContent     // the file begins as the engine's files do
)

// List holds the engines of a program. Of several that fit a path equally well, the first one opens it.
type List []Engine

// addressScheme matches the scheme of an address, which distinguishes it from a path. A single letter is the drive of
// a Windows path, and jdbc: precedes another scheme.
var addressScheme = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]+):(?:[A-Za-z][A-Za-z0-9+.-]*:)?//`)

// Find returns the engine that opens an address: by its scheme, or else by the file at its path. The error does not
// contain the address, which may hold a password.
func (l List) Find(address string) (Engine, error) {
	e, ok, err := l.withScheme(address)
	if ok || err != nil {
		return e, err
	}
	head, _ := plainfile.Head(address, 512) // nothing if it cannot be read
	if e, ok = l.sniff(address, head); !ok {
		return Engine{}, errors.New("no engine knows this kind of file")
	}
	return e, nil
}

// withScheme returns the engine of an address with a scheme. ok is false for a path.
func (l List) withScheme(address string) (_ Engine, ok bool, err error) {
	scheme, _, colon := strings.Cut(address, ":")
	var known []string
	for _, e := range l {
		if colon && slices.Contains(e.Schemes, scheme) {
			return e, true, nil
		}
		for _, s := range e.Schemes {
			known = append(known, s+":")
		}
	}
	if m := addressScheme.FindStringSubmatch(address); m != nil {
		err = fmt.Errorf("the scheme %s is not supported yet: use %s or a path", m[1], strings.Join(known, ", "))
	}
	return Engine{}, false, err
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

// Path returns the path of the file or folder that an address names, or "" if it names a database on a server.
func (l List) Path(address string) string {
	e, ok, err := l.withScheme(address)
	switch {
	case err != nil, ok && e.Hosts != nil:
		return ""
	case !ok:
		return address
	}
	if path, _, err := FilePath(address, e.Schemes...); err == nil {
		return path
	}
	_, rest, _ := strings.Cut(address, ":")
	return strings.TrimPrefix(rest, "//")
}

// FilePath parses the address of a file: a scheme of the engine with an escaped path and perhaps parameters, or a plain
// path, which is taken literally, even with % or ? in it. The parameters of a plain path are nil.
func FilePath(address string, schemes ...string) (path string, parameters url.Values, err error) {
	path = address
	if scheme, rest, ok := strings.Cut(address, ":"); ok && slices.Contains(schemes, scheme) {
		rest, query, _ := strings.Cut(rest, "?")
		var err1, err2 error
		path, err1 = url.PathUnescape(strings.TrimPrefix(rest, "//"))
		parameters, err2 = url.ParseQuery(query)
		if err := errors.Join(err1, err2); err != nil {
			return "", nil, fmt.Errorf("the address cannot be read: %w", err)
		}
	}
	if path == "" || path == ":memory:" || strings.IndexByte(path, 0) >= 0 {
		return "", nil, fmt.Errorf("%q does not name a file or folder", address)
	}
	return path, parameters, nil
}

// CheckFilters rejects filters that the engine would not apply.
func (e Engine) CheckFilters(filters map[string]string) error {
	switch {
	case len(filters) == 0 || e.Filters:
		return nil
	case e.OwnPolicies:
		return fmt.Errorf("it is a %s database, which has policies of its own (row-level security) that know who "+
			"asks: see docs/sources.md", e.Dialect.Name)
	}
	return fmt.Errorf("%s databases take no filters, so every user would see all rows: remove the filters, and limit "+
		"what the database lets Footnote read", e.Dialect.Name)
}

// RowsPerUser reports whether two principals with the same roles and attributes may see different rows although no
// filter asks for the user. An engine that applies no filters may do as it likes, so it counts as one that does.
func (e Engine) RowsPerUser() bool { return e.OwnPolicies || !e.Filters }

// Check rejects an address that no engine opens, and options that its engine would ignore. It reads nothing, so it
// goes by a file's name; Open may find that another engine applies, or none.
func (l List) Check(name, address string, o Options) error {
	e, ok, err := l.withScheme(address)
	if !ok && err == nil {
		if e, ok = l.sniff(address, nil); !ok {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("sources.%s: %w", name, err)
	}
	if err := e.CheckFilters(o.Filters); err != nil {
		return fmt.Errorf("filters.%s: %w", name, err)
	}
	if !e.Functions && len(o.Functions) > 0 {
		return fmt.Errorf("functions has %q, but %s databases do not support this setting; remove it",
			name+"="+o.Functions[0], e.Dialect.Name)
	}
	if !e.Versions && o.VersionSQL != "" {
		return fmt.Errorf("cache.versions has a statement for %s, but %s databases do not support this setting; "+
			"remove it", name, e.Dialect.Name)
	}
	return nil
}

// Proof returns the proof of a source.
func (l List) Proof(src source.Source) source.Proof {
	if p, ok := source.Inner(src).(source.Proved); ok {
		return p.Proof()
	}
	return l.ProofOf(src.Dialect().Name)
}

// ProofOf returns the proof of an engine by its name.
func (l List) ProofOf(name string) source.Proof {
	for _, e := range l {
		if e.Dialect.Name == name {
			return e.Proof
		}
	}
	return source.Proof{}
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
	var largest int64
	for _, e := range l {
		largest = max(largest, e.ChildMemory)
	}
	return largest
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
