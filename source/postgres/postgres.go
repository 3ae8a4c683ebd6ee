// Package postgres implements a source over a Postgres database. Several layers ensure that it never writes. The
// gate parses each statement with Postgres's own parser and accepts a single reading statement, if it knows every
// table, function, type and operator in it, including the functions that run behind them. The statement is sent by
// the extended protocol, which carries only one. It runs in a READ ONLY transaction, on a connection that defaults
// to such transactions. A role that could bypass all this is refused at startup.
//
// The database knows the principal: the transaction has the settings footnote.org, footnote.user,
// footnote.roles and footnote.<attribute>, for use by the database's own row-level security policies. No statement
// can change them.
//
// A program that opens one must call
//
//	child.Main(map[string]child.OpenFunc{postgres.Kind: postgres.OpenEngine})
//
// first thing in main.
package postgres

import (
	"cmp"
	"context"
	"log/slog"

	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
)

// Options configure a source; the zero value is ready to use.
type Options struct {
	Limits source.Limits // zero fields take source.DefaultLimits
	// Functions lists functions of the database itself that queries may run, by name or behind a type, a cast, an
	// operator or a view, as schema.name. They are allowed in addition to the harmless functions of Postgres and of
	// known extensions. A name without a schema is an extension, all of whose functions may run.
	Functions []string
	// VersionSQL returns one value that changes with the data and replaces the count of writes. It runs like every
	// query, but for no particular principal.
	VersionSQL string
	Hiding     source.Hiding // decides which columns a principal must not see; nil hides none
	Grammar    *Grammar      // shared by the sources of the process; default: its own
	Logger     *slog.Logger  // default: discards
}

// Source is an open database. It implements source.Source.
type Source struct {
	source.Source // runs queries under limits
	engine        *engine
	own           *Grammar // nil if shared; otherwise Close closes it
}

// Open connects to the database at a URL, postgres://…, and reads its catalog. An error is a *footnote.Error with
// code DatabaseUnavailable, or InvalidRequest for an invalid URL. Messages refer to the database by name.
func Open(ctx context.Context, name, url string, o Options) (*Source, error) {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
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
	s.engine, s.Source = e, child.Local(Dialect, e, o.Limits, o.Hiding)
	return s, nil
}

// Role returns the user that queries run as, and remarks about it for the operator.
func (s *Source) Role() (name string, remarks []string) { return s.engine.role() }

// Close implements source.Source.
func (s *Source) Close() error {
	err := s.Source.Close()
	if s.own != nil {
		s.own.Close()
	}
	return err
}
