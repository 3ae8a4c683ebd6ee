// Package mysql implements a source over a database of MariaDB or MySQL. Several layers ensure that it never writes.
// The gate, package grammar, reads the part of the language that reads, and nothing else; the server gets only the text
// that the gate has written. It is sent as one command, of which the server runs one statement, in a transaction that
// is READ ONLY, on a connection whose modes are fixed. A user who may do more than read is refused at startup.
//
// The database has no policies for rows, so the gate applies filters: it replaces a table by a query of the rows that
// the principal may see, and a view by its definition over such queries. It hides columns in the same way.
//
// It was tested on MariaDB 10.11. Where MySQL differs, it follows MySQL's documentation and was not tried.
package mysql

import (
	"cmp"
	"context"
	"log/slog"
	"slices"

	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
)

var errVersion = &source.Error{Kind: source.Failed, Reason: "the statement must return one value"}

// Options configure a source; the zero value is ready to use.
type Options struct {
	Limits source.Limits // zero fields take source.DefaultLimits
	// Filters decide which rows a principal sees; see engines.Options.
	Filters map[string]string
	// Functions lists functions of the database itself that queries may call, as database.name, or as name for one of
	// the source's database.
	Functions []string
	// VersionSQL returns one value that changes with the data and replaces the server's counts.
	VersionSQL string
	Hiding     source.Hiding // decides which columns a principal must not see; nil hides none
	Logger     *slog.Logger  // default: discards
}

// Source is an open database. It implements source.Source.
type Source struct {
	source.Source // runs queries under limits
	engine        *engine
}

// Open connects to the database at an address, mysql://…, and reads its catalog. An error is a *footnote.Error with
// code DatabaseUnavailable, or InvalidRequest for an invalid address or filter. Messages refer to the database by name.
func Open(ctx context.Context, name, address string, o Options) (*Source, error) {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	e, err := connect(ctx, name, address, o)
	if err != nil {
		return nil, err
	}
	return &Source{engine: e, Source: child.Local(Dialect, e, o.Limits, o.Hiding)}, nil
}

// Proof implements source.Proved. The tests run on MariaDB only, which imitates MySQL.
func (s *Source) Proof() source.Proof {
	s.engine.mu.Lock()
	defer s.engine.mu.Unlock()
	if s.engine.cat.version.mariaDB {
		return source.Proof{Strength: source.Gated, TestedOn: source.Real}
	}
	return source.Proof{Strength: source.Gated, TestedOn: source.Imitation}
}

// Role returns the user that queries run as, and remarks about it for the operator.
func (s *Source) Role() (name string, remarks []string) {
	s.engine.mu.Lock()
	defer s.engine.mu.Unlock()
	return s.engine.cat.role, slices.Clone(s.engine.cat.remarks)
}
