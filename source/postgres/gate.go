package postgres

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/footnotehq/footnote/source"
)

const (
	maxText  = 64 << 10 // bytes of a statement
	maxDepth = 100      // brackets in brackets
	staleFor = 2 * time.Second
)

//go:embed functions.txt
var functionList string

// builtin are the functions of pg_catalog that a query may call.
var builtin = func() map[string]bool {
	var words []string
	for line := range strings.Lines(functionList) {
		if !strings.HasPrefix(line, "#") {
			words = append(words, line)
		}
	}
	return set(strings.Join(words, " "))
}()

// described are the system's own relations that tell of tables and columns only.
var described = map[string]map[string]bool{
	"information_schema": set("tables columns views key_column_usage table_constraints constraint_column_usage referential_constraints schemata"),
	"pg_catalog":         set("pg_tables pg_views pg_namespace pg_attribute pg_type pg_enum pg_description pg_matviews"),
}

// badTypes tell of the server's users and functions.
var badTypes = set("regrole regproc regprocedure regoper regoperator aclitem refcursor")

// admit is the gate for a statement with some arguments. It returns the catalogue that
// the statement was judged by.
func (e *engine) admit(ctx context.Context, text string, args int) (*catalog, error) {
	if err := plain(text); err != nil {
		return nil, err
	}
	f, err := e.grammar.read(ctx, text)
	if err != nil {
		return nil, err
	}
	cat, err := e.catalog(ctx, time.Time{})
	if err != nil {
		return nil, err
	}
	if err = cat.check(f); err == nil && f.Params != args {
		err = &source.Error{Kind: source.Failed, Reason: fmt.Sprintf("The statement has %d parameters and %d arguments.", f.Params, args)}
	}
	if err != nil {
		if time.Since(cat.read) < staleFor || f.Bad != "" || f.Refused != "" || f.Params != args {
			return nil, err
		}
		// A table or function may be newer than the catalogue.
		if cat, err = e.catalog(ctx, time.Now().Add(-staleFor)); err != nil {
			return nil, err
		}
		return cat, cat.check(f)
	}
	return cat, nil
}

// plain checks what needs no parser: size, encoding and nesting.
func plain(text string) error {
	switch {
	case len(text) > maxText:
		return source.Refusef("The statement is too long: %d bytes of at most %d.", len(text), maxText)
	case !utf8.ValidString(text):
		return source.Refusef("The statement is not valid UTF-8.")
	case strings.IndexByte(text, 0) >= 0:
		return source.Refusef("The statement holds a NUL character.")
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
	if deepest > maxDepth { // also where they stand in a text: nobody writes that many
		return source.Refusef("The statement has brackets %d deep; at most %d are allowed.", deepest, maxDepth)
	}
	return nil
}

// check judges a statement by what is known of the database.
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
	case f.Root == "ExplainStmt" && (c.guarded || c.personal):
		return source.Refusef("EXPLAIN is not allowed here: the tables have row-level security, and a plan tells of rows of others.")
	}
	for _, kind := range f.Kinds {
		if c.version < newKinds[kind] {
			return source.Refusef("This form of JSON is not known to the database's version of Postgres.")
		}
	}
	for _, r := range f.Relations {
		if err := c.relation(r); err != nil {
			return err
		}
	}
	for _, n := range f.Functions {
		if err := c.function(n); err != nil {
			return err
		}
	}
	for _, o := range f.Operators {
		if len(o) > 0 && c.operators[o[len(o)-1]] {
			return source.Refusef("The operator %s is not allowed: it is defined in the database, by a function that nobody has checked.", o)
		}
	}
	for _, t := range f.Types {
		if len(t) == 0 || len(t) > 2 || badTypes[t[len(t)-1]] {
			return source.Refusef("The type %s is not allowed.", t)
		}
	}
	for _, a := range f.Attributes {
		if c.attributes[a] {
			return source.Refusef("%s is a function of the database and may not be called.", a)
		}
	}
	return nil
}

func (c *catalog) relation(n name) error {
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
		return source.Refusef("%s is the name of a table and of one of the system's own: write its schema before it.", n)
	case c.system[n[0]]:
		return c.relation(name{"pg_catalog", n[0]})
	case !own:
		return unknown
	}
	return nil
}

func (c *catalog) function(n name) error {
	bad := source.Refusef("The function %s is not allowed.", n)
	switch len(n) {
	case 1:
		for _, f := range c.functions[n[0]] {
			if f.extension != "-" && slices.Contains(c.path, f.schema) {
				if builtin[n[0]] {
					return source.Refusef("%s is also a function of the database itself, which may not be called. Write pg_catalog.%s for Postgres's own.", n, n)
				}
				return source.Refusef("The function %s is the database's own, and not allowed: an operator can allow it in the configuration.", n)
			}
		}
		if !builtin[n[0]] && !slices.ContainsFunc(c.functions[n[0]], func(f function) bool { return slices.Contains(c.path, f.schema) }) {
			return bad
		}
		return nil
	case 2:
		if n[0] == "pg_catalog" && builtin[n[1]] {
			return nil
		}
		found := false
		for _, f := range c.functions[n[1]] {
			if f.schema == n[0] {
				if f.extension != "-" {
					return bad
				}
				found = true
			}
		}
		if !found {
			return bad
		}
		return nil
	}
	return bad
}
