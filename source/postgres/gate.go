package postgres

import (
	"context"
	_ "embed"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/footnotehq/footnote/internal/wordlist"
	"github.com/footnotehq/footnote/source"
)

const (
	maxText  = 64 << 10 // bytes per statement
	maxDepth = 100      // nested brackets
	staleFor = 2 * time.Second
)

//go:embed functions.txt
var functionList string

// builtin lists the functions in pg_catalog that a query may call.
var builtin = wordlist.Set(functionList)

// Harmless reports whether a function of Postgres, in lower case, may be called by a query.
func Harmless(name string) bool { return builtin[name] }

// sizes lists functions that return how much is stored, including hidden rows. They may be called only where all users
// see the same rows.
var sizes = wordlist.Set("pg_indexes_size pg_relation_size pg_table_size pg_total_relation_size")

// counts lists the columns of pg_class that count rows, including hidden ones; see sizes.
var counts = []string{"reltuples", "relpages", "relallvisible", "relallfrozen"}

// described lists the readable system relations. They describe only tables and columns.
var described = map[string]map[string]bool{
	"information_schema": wordlist.Set(`tables columns views key_column_usage table_constraints
		constraint_column_usage referential_constraints schemata`),
	"pg_catalog": wordlist.Set(`pg_tables pg_views pg_namespace pg_class pg_attribute pg_type pg_enum pg_description
		pg_matviews pg_constraint pg_index pg_indexes`),
}

// badTypes maps the OIDs of types that would reveal the server's users and functions, and of their arrays, to the
// names of the types.
var badTypes = map[string]string{
	"24": "regproc", "1033": "aclitem", "1790": "refcursor", "2202": "regprocedure", "2203": "regoper",
	"2204": "regoperator", "4096": "regrole",
	"1008": "regproc", "1034": "aclitem", "2201": "refcursor", "2207": "regprocedure", "2208": "regoper",
	"2209": "regoperator", "4097": "regrole",
}

// admit checks a statement with args arguments against the catalog. It returns the facts of the statement and that
// catalog. Checks that have to query the database are left to judge.
func (e *engine) admit(ctx context.Context, text string, args int) (facts, *catalog, error) {
	if err := plain(text); err != nil {
		return facts{}, nil, err
	}
	f, err := e.grammar.read(ctx, text)
	if err != nil {
		return f, nil, err
	}
	cat, err := e.catalog(ctx, time.Time{})
	if err != nil {
		return f, nil, err
	}
	if err = cat.check(f); err == nil && f.Params != args {
		err = source.Failf("The statement has %d parameters and %d arguments.", f.Params, args)
	}
	if err == nil || time.Since(cat.read) < staleFor || f.Bad != "" || f.Refused != "" || f.Params != args {
		return f, cat, err
	}
	// A table may be newer than the catalog.
	if cat, err = e.catalog(ctx, time.Now().Add(-staleFor)); err != nil {
		return f, nil, err
	}
	return f, cat, cat.check(f)
}

// plain checks what needs no parser: size, encoding and nesting.
func plain(text string) error {
	switch {
	case len(text) > maxText:
		return source.Refusef("The statement is too long: %d bytes of at most %d.", len(text), maxText)
	case !utf8.ValidString(text):
		return source.Refusef("The statement is not valid UTF-8.")
	case strings.IndexByte(text, 0) >= 0:
		return source.Refusef("The statement contains a NUL character.")
	}
	depth, deepest := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '(', '[':
			depth++
			deepest = max(deepest, depth)
		case ')', ']':
			depth--
		}
	}
	if deepest > maxDepth { // brackets inside texts count too, but no real statement has so many
		return source.Refusef("The statement has brackets %d deep; at most %d are allowed.", deepest, maxDepth)
	}
	return nil
}

// check judges a statement by the catalog.
func (c *catalog) check(f facts) error {
	switch {
	case f.Bad != "":
		return source.Refusef("The statement cannot be read: %s.", strings.TrimSpace(f.Bad))
	case f.Refused != "":
		return source.Refusef("%s", f.Refused)
	case f.Root == "VariableShowStmt":
		if !slices.Contains([]string{"server_version", "timezone", "datestyle"}, strings.ToLower(f.Show)) {
			return source.Refusef("SHOW %.40s is not allowed.", f.Show)
		}
		return nil
	case f.Root == "ExplainStmt" && c.rowsPerUser:
		return source.Refusef(
			"EXPLAIN is not allowed here: users see different rows, and a plan reveals other users' rows.")
	}
	if f.Odd && c.encoding != "UTF8" || f.Letters && c.encoding == "SQL_ASCII" {
		return source.Refusef("The database's encoding is %s. There, a name with letters beyond ASCII must be short "+
			"and have no capitals beyond ASCII.", c.encoding)
	}
	for _, kind := range f.Kinds {
		if c.version < nodes[kind] {
			return source.Refusef("This form of JSON is not known to the database's version of Postgres.")
		}
	}
	for _, r := range f.Relations {
		if err := c.checkRelation(r); err != nil {
			return err
		}
	}
	if err := c.checkPrivacy(f); err != nil {
		return err
	}
	return checkNames(f)
}

// checkNames refuses names that are not written as name or schema.name.
func checkNames(f facts) error {
	for _, n := range slices.Concat(f.Functions, f.Operators, f.Collations) {
		if len(n) > 2 {
			return source.Refusef("%s is not allowed: a name is written as schema.name, without a database.", n)
		}
	}
	for _, t := range f.Types {
		if len(t) == 0 || len(t) > 2 {
			return source.Refusef("The type %s is not allowed.", t)
		}
	}
	return nil
}

// checkPrivacy refuses what would reveal the user's name, or how many rows there are that the user may not see.
func (c *catalog) checkPrivacy(f facts) error {
	if f.User {
		return source.Refusef("A statement may not read the name of the user or of the database.")
	}
	if !c.rowsPerUser {
		return nil
	}
	const why = "is not allowed here: users see different rows, and it reveals other users' rows."
	for _, n := range f.Functions {
		if len(n) > 0 && sizes[n[len(n)-1]] {
			return source.Refusef("The function %s %s", n, why)
		}
	}
	for _, a := range slices.Concat(f.Fields, lasts(f.Attributes)) {
		if sizes[a] {
			return source.Refusef("The function %s %s", a, why)
		}
	}
	if slices.Contains(f.Columns, "ctid") || slices.Contains(f.Fields, "ctid") {
		return source.Refusef("The column ctid %s", why) // its last value tells how many rows there are
	}
	if slices.ContainsFunc(f.Relations, func(n name) bool { return n[len(n)-1] == "pg_class" }) &&
		(f.All || slices.ContainsFunc(counts, func(column string) bool { return slices.Contains(f.Columns, column) })) {
		return source.Refusef("The columns %s of pg_class may not be read here, so name the columns you need: "+
			"users see different rows, and these columns reveal other users' rows.", strings.Join(counts, ", "))
	}
	return nil
}

// checkRelation returns an error if a statement may not read the named relation.
func (c *catalog) checkRelation(n name) error {
	unknown := source.Refusef("There is no table %s, or it may not be read.", n)
	if len(n) == 2 {
		if allowed, ok := described[n[0]]; ok {
			if !allowed[n[1]] {
				return source.Refusef("%s is not allowed: only relations that describe tables and columns are.", n)
			}
			return nil
		}
		if !c.readable[n[0]+"."+n[1]] {
			return unknown
		}
		return nil
	}
	own := slices.ContainsFunc(c.path, func(schema string) bool { return c.readable[schema+"."+n[0]] })
	switch {
	case c.system[n[0]] && own:
		return source.Refusef("%s is the name of a table and of a system table: write its schema before it.", n)
	case c.system[n[0]]:
		return c.checkRelation(name{"pg_catalog", n[0]})
	case !own:
		return unknown
	}
	return nil
}
