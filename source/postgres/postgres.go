// Package postgres is a source over a Postgres database. It never writes: the gate
// reads each statement with Postgres's own parser and lets one reading statement
// through, whose every table, function, type and operator it knows, down to the functions
// that run behind them; the statement runs by
// the extended protocol, which carries one, inside a transaction that is READ ONLY,
// on a connection whose transactions are by default; and a role that could get around
// that is refused at the start.
//
// Who asks is told to the database: the transaction has the settings footnote.org,
// footnote.user, footnote.roles and footnote.<attribute>, for its own policies of
// row-level security. No statement can change them.
//
// A program that opens one must call
//
//	child.Main(map[string]child.OpenFunc{postgres.Kind: postgres.OpenEngine})
//
// first thing in main.
package postgres

import (
	"context"
	"log/slog"
	"sync"

	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
)

// Options of a source; the zero value is good.
type Options struct {
	Limits      source.Limits // zero fields take source.DefaultLimits
	Concurrency int           // queries, and connections, at once; default 4
	// Functions are those of the database itself that queries may run, by name or behind
	// a type, a cast, an operator or a view, as schema.name, beside the harmless ones of
	// Postgres and of known extensions. A name without a schema is that of an extension:
	// all its functions may run.
	Functions []string
	// VersionSQL gives one value that changes with the data, instead of the count of what
	// was written; it runs as every query does, for nobody in particular.
	VersionSQL string
	Grammar    *Grammar     // shared by the sources of a process; default: one of its own
	Logger     *slog.Logger // default: discards
}

// Source is an open database: a source.Source.
type Source struct {
	source.Source // runs queries under limits
	engine        *engine
	own           *Grammar // to be closed; nil when it is shared

	mu     sync.Mutex // guards below
	schema source.Schema
}

// Open connects to the database at a URL, postgres://…, and reads its catalogue. An
// error is a *footnote.Error with code DatabaseUnavailable, or InvalidRequest for a
// URL that makes no sense. Name is how messages call the database.
func Open(ctx context.Context, name, url string, o Options) (*Source, error) {
	if o.Concurrency <= 0 {
		o.Concurrency = 4
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Source{}
	if o.Grammar == nil {
		s.own = NewGrammar(nil, o.Logger)
		o.Grammar = s.own
	}
	e, err := connect(ctx, name, url, o)
	if err != nil {
		if s.own != nil {
			s.own.Close()
		}
		return nil, err
	}
	s.engine, s.Source = e, child.Local("postgres", e, o.Limits)
	return s, nil
}

// Schema implements source.Source.
func (s *Source) Schema(ctx context.Context) (source.Schema, error) {
	version, err := s.Version(ctx)
	if err != nil {
		return source.Schema{}, err
	}
	s.mu.Lock()
	known := s.schema
	s.mu.Unlock()
	if known.Version == version {
		return known, nil
	}
	fresh, err := s.engine.Schema(ctx)
	if err != nil {
		return source.Schema{}, err
	}
	fresh.Version = version
	s.mu.Lock()
	s.schema = fresh
	s.mu.Unlock()
	return fresh, nil
}

// Role is the user that queries run as, and what its operator should know of it.
func (s *Source) Role() (name string, remarks []string) { return s.engine.role() }

// Close implements source.Source.
func (s *Source) Close() error {
	err := s.Source.Close()
	if s.own != nil {
		s.own.Close()
	}
	return err
}
