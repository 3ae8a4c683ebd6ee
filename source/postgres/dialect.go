package postgres

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/source/engines"
)

// Dialect is Postgres's SQL.
var Dialect = &source.Dialect{
	Name: "postgres",
}

// Engine returns Postgres for the program's list of engines. Its sources share one parser.
func Engine() engines.Engine {
	var (
		mu      sync.Mutex
		grammar *Grammar
	)
	return engines.Engine{
		Dialect:     Dialect,
		Schemes:     []string{"postgres", "postgresql"},
		Hosts:       Hosts,
		Children:    map[string]child.OpenFunc{Kind: OpenEngine},
		ChildMemory: GrammarMemory,
		OwnPolicies: true,
		Functions:   true,
		Open: func(ctx context.Context, name, address string, o engines.Options) (source.Source, error) {
			mu.Lock()
			if grammar == nil {
				var pool *child.Pool
				if o.Budget != nil {
					pool = o.Budget.Pool(1)
				}
				grammar = NewGrammar(pool, o.Logger)
			}
			mu.Unlock()
			return Open(ctx, name, address, Options{
				Limits: o.Limits, Functions: o.Functions, VersionSQL: o.VersionSQL, Grammar: grammar, Logger: o.Logger,
			})
		},
		Close: func() error {
			mu.Lock()
			defer mu.Unlock()
			if grammar == nil {
				return nil
			}
			return grammar.Close()
		},
	}
}

// Hosts returns the hosts that opening a URL may contact, as the driver reads them from the URL and the environment.
// A URL that cannot be parsed is never contacted.
func Hosts(url string) []string {
	c, err := pgx.ParseConfig(url)
	if err != nil {
		return nil
	}
	var hosts []string
	for _, f := range append(c.Fallbacks, &pgconn.FallbackConfig{Host: c.Host, Port: c.Port}) {
		if network, _ := pgconn.NetworkAddress(f.Host, f.Port); network != "unix" {
			hosts = append(hosts, f.Host)
		}
	}
	return hosts
}
