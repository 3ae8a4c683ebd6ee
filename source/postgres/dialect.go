package postgres

import (
	"context"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/source/engines"
)

// Dialect is Postgres's SQL.
var Dialect = source.NewDialect(source.Dialect{
	Plans:            plans,
	Name:             "postgres",
	Editor:           "PostgreSQL",
	Roundable:        "CAST({x} AS numeric)",
	DayArgument:      "{x}",
	FromSeconds:      "(to_timestamp({x}) AT TIME ZONE 'UTC')",
	FromMilliseconds: "(to_timestamp({x} / 1000.0) AT TIME ZONE 'UTC')",
	Periods: map[string]source.Expr{
		"year":    "to_char({x}, 'YYYY')",
		"quarter": `to_char({x}, 'YYYY-"Q"Q')`,
		"month":   "to_char({x}, 'YYYY-MM')",
		"week":    "to_char(date_trunc('week', {x}), 'YYYY-MM-DD')",
		"day":     "to_char({x}, 'YYYY-MM-DD')",
	},
	Parts: map[string]source.Part{
		"weekday":           {Name: "to_char({x}, 'FMDay')", Order: "EXTRACT(ISODOW FROM {x})"},
		"month of the year": {Name: "to_char({x}, 'FMMonth')", Order: "EXTRACT(MONTH FROM {x})"},
	},
	Before: func(day string, n int, unit string) string {
		return fmt.Sprintf("DATE '%s' - INTERVAL '%d %s'", day, n, unit)
	},
	Elapsed:      "(EXTRACT(EPOCH FROM CAST({y} AS timestamp)) - EXTRACT(EPOCH FROM CAST({x} AS timestamp))) / 86400",
	CalendarDays: "CAST({y} AS date) - CAST({x} AS date)",
	Median:       "percentile_cont(0.5) WITHIN GROUP (ORDER BY {x})",
	StdDev:       "stddev_samp({x})",
	Materialized: true,
	TextSearch:   tsvectors,
	Position:     "strpos({x}, {y})",
	SameBytes:    `{x} = {y} AND {x} COLLATE "C" = {y}`,
})

const searchAdvice = "Words are found in most of their forms (configuration {language}; join forms that differ more " +
	"by or); {accents}."

// tsvectors reads at most the first 250,000 characters of a row: a tsvector holds up to a megabyte, and a longer text
// would make everybody's search fail.
var tsvectors = source.TextSearch{
	Index:     source.IndexColumn,
	IndexType: "tsvector",
	Language:  "simple",
	Document:  "to_tsvector('{language}', left({text}, 250000))",
	Query:     "websearch_to_tsquery('{language}', {text})",
	Match:     "{document} @@ {query}",
	Score:     "ts_rank({document}, {query})",
	Snippet: "ts_headline('{language}', left({text}, 250000), {query},\n\t'StartSel=**, StopSel=**, MaxFragments=2, " +
		"MaxWords=25, MinWords=10, FragmentDelimiter=\" … \"')",
	Indexed: source.SearchMethod{
		Remark: "the column {index}, language {language}, in which {accents}",
		Advice: searchAdvice,
	},
	Scanned: source.SearchMethod{
		Remark: "a tsvector made for each row of each search (an index on the same expression is used), language " +
			"{language}, in which {accents}",
		Advice: searchAdvice,
	},
	AccentHint: func(works func(sql string) bool) string {
		if works("SELECT unaccent('é')") {
			return "unaccent is installed, but no dictionary of this configuration"
		}
		return "the extension unaccent is not installed, or not for this role"
	},
}

// OpenFunc is the type of engines.Engine.Open.
type OpenFunc = func(ctx context.Context, name, address string, o engines.Options) (source.Source, error)

// Engine returns Postgres for the program's list of engines. Its sources share one parser. Relatives opens servers that
// only speak its protocol; it returns nil for Postgres.
func Engine(relatives OpenFunc) engines.Engine {
	var (
		once    sync.Once
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
		Versions:    true,
		Proof:       source.Proof{Strength: source.Gated, TestedOn: source.Real},
		Open: func(ctx context.Context, name, address string, o engines.Options) (source.Source, error) {
			if src, err := relatives(ctx, name, address, o); src != nil || err != nil {
				return src, err
			}
			once.Do(func() {
				var pool *child.Pool
				if o.Budget != nil {
					pool = o.Budget.Pool(1)
				}
				grammar = NewGrammar(pool, o.Logger)
			})
			return Open(ctx, name, address, Options{
				Limits: o.Limits, Functions: o.Functions, VersionSQL: o.VersionSQL, Grammar: grammar, Logger: o.Logger,
				Hiding: o.Hiding,
			})
		},
		Close: func() error {
			once.Do(func() {}) // waits for Open
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
