// Package grammar reads one statement of MySQL or MariaDB that only reads data, and writes it anew. It knows the
// reading part of the language and nothing else, so whatever it does not know is refused: there is no list of dangerous
// things that could miss one.
//
// The server never sees the text that was read. It gets what this package writes while it reads: every name in
// backticks, every string with one kind of quote, every comment left out, and brackets around operands. So it does not
// matter where the two might disagree about quotes, comments or precedence.
package grammar

import (
	"errors"
	"slices"
	"strings"

	"github.com/footnotehq/footnote/source"
)

// Options say what a statement may use. Calls and Table are required.
type Options struct {
	MariaDB  bool  // the server is MariaDB; otherwise it is MySQL
	Args     []any // the values of $1, $2, …
	Filtered bool  // tables may be replaced by queries: see Table
	// Call returns how a call of a function is written, or an error if it must not be called. Schema is empty for a
	// name without one.
	Call func(schema, name string) (string, error)
	// Table returns how a table or view that a statement reads is written. Schema is empty for a name without one.
	// Names of common table expressions never get here.
	Table func(schema, name string) (Table, error)
}

// Table is a table or view as a statement may read it.
type Table struct {
	SQL    string // its name in backticks, or a query in brackets
	Name   string // its name as the database spells it
	Listed string // its name in Statement.Tables
	Query  bool   // SQL is a query
}

// Statement is a statement that only reads.
type Statement struct {
	SQL    string
	Tables []string // that it reads, each once
}

// Read reads a statement. Errors are of type *source.Error. Double quotes enclose a string; in a statement that makes
// no sense so, they enclose names.
func Read(statement string, o Options) (Statement, error) {
	s, err := read(statement, o, usual, (*parser).statement)
	if err == nil || !strings.Contains(statement, `"`) {
		return s, err
	}
	if again, err2 := read(statement, o, ansi, (*parser).statement); err2 == nil {
		return again, nil
	} else if bad, ok := errors.AsType[*source.Error](err2); ok && bad.Kind == source.Failed {
		return s, err2
	}
	return s, err
}

// ReadQuery reads the query of a view.
func ReadQuery(query string, o Options) (Statement, error) {
	return read(query, o, usual, func(p *parser) string { return p.query(false) })
}

// ReadCondition reads the condition of a filter. Double quotes enclose names in it, and backslashes do not escape. Its
// strings are compared byte by byte: for the collation of a column, Acme and acme could be one organisation.
func ReadCondition(text string, o Options) (Statement, error) {
	return read(text, o, condition, func(p *parser) string { return p.expression().sql })
}

func read(text string, o Options, q quotes, phrase func(*parser) string) (Statement, error) {
	tokens, err := scan(text, q)
	if err != nil {
		return Statement{}, err
	}
	p := &parser{Options: o, text: text, tokens: tokens, used: map[int]bool{}}
	if q == condition {
		p.exact = map[bool]string{true: " COLLATE utf8mb4_nopad_bin", false: " COLLATE utf8mb4_0900_bin"}[o.MariaDB]
	}
	sql := phrase(p)
	for p.sign(";") {
	}
	if p.err == nil && p.peek().kind != ending {
		p.unexpected()
	}
	if p.err == nil && len(p.used) != len(o.Args) {
		p.err = source.Failf("The statement uses %d arguments, but there are %d.", len(p.used), len(o.Args))
	}
	if p.err != nil {
		if p.farthest > p.at {
			return Statement{}, p.reason
		}
		return Statement{}, p.err
	}
	return Statement{SQL: sql, Tables: p.tables}, nil
}

const (
	maxDepth = 150     // of brackets, queries and conditions inside each other
	maxSteps = 500_000 // tokens read, including those that are read again
)

// parser reads phrases and returns them written anew. After an error it returns nothing of use, and all tokens are at
// their end.
type parser struct {
	Options
	text   string
	tokens []token
	at     int
	steps  int
	depth  int
	err    error
	// Of the phrases that were tried and given up, the one that got farthest says best what is wrong.
	farthest int
	reason   error
	tables   []string
	exact    string              // what makes the comparison with a string exact, in the condition of a filter
	used     map[int]bool        // arguments
	scopes   []map[string]string // names of common table expressions, by their lower case, the innermost last
}

// peek returns the next token.
func (p *parser) peek() token { return p.ahead(0) }

// ahead returns a later token.
func (p *parser) ahead(n int) token {
	if p.err != nil || p.at+n >= len(p.tokens) {
		return p.tokens[len(p.tokens)-1]
	}
	return p.tokens[p.at+n]
}

func (p *parser) next() token {
	t := p.peek()
	if p.err == nil && t.kind != ending {
		p.at++
		p.steps++
		if p.steps > maxSteps {
			p.refuse("The statement is too complicated. Make it simpler.")
		}
	}
	return t
}

func (p *parser) refuse(format string, args ...any) {
	if p.err == nil {
		p.err = source.Refusef(format, args...)
	}
}

// unexpected refuses the statement because of its next token.
func (p *parser) unexpected() {
	t := p.peek()
	if t.kind == ending {
		p.refuse("The statement ends too early: something is missing at its end.")
		return
	}
	if advice, ok := advices[t.low]; ok && t.kind == word {
		p.refuse("%s", advice)
		return
	}
	end := min(len(p.text), t.from+40)
	p.refuse("Only one query that reads is allowed, in the SQL of MySQL and MariaDB. It cannot be read from here: %s",
		strings.ToValidUTF8(p.text[t.from:end], ""))
}

// isWord reports whether the next tokens are these keywords.
func (p *parser) isWord(words ...string) bool {
	for i, w := range words {
		if t := p.ahead(i); t.kind != word || t.low != w {
			return false
		}
	}
	return p.err == nil
}

// oneOf reports whether the next token is one of these keywords.
func (p *parser) oneOf(words ...string) bool {
	t := p.peek()
	return p.err == nil && t.kind == word && slices.Contains(words, t.low)
}

// word reads these keywords if they come next.
func (p *parser) word(words ...string) bool {
	if !p.isWord(words...) {
		return false
	}
	for range words {
		p.next()
	}
	return true
}

// choose reads one of these keywords if it comes next, and returns it in upper case.
func (p *parser) choose(words ...string) string {
	if !p.oneOf(words...) {
		return ""
	}
	return strings.ToUpper(p.next().low)
}

func (p *parser) isSign(s string) bool {
	t := p.peek()
	return p.err == nil && t.kind == sign && t.value == s
}

func (p *parser) sign(s string) bool {
	if !p.isSign(s) {
		return false
	}
	p.next()
	return true
}

func (p *parser) expectSign(s string) {
	if !p.sign(s) {
		p.unexpected()
	}
}

func (p *parser) expectWord(words ...string) {
	if !p.word(words...) {
		p.unexpected()
	}
}

// list reads phrases with commas between them.
func (p *parser) list(phrase func() string) string {
	parts := []string{phrase()}
	for p.sign(",") {
		parts = append(parts, phrase())
	}
	return strings.Join(parts, ", ")
}

// inBrackets reads a phrase in brackets.
func (p *parser) inBrackets(phrase func() string) string {
	p.expectSign("(")
	s := phrase()
	p.expectSign(")")
	return "(" + s + ")"
}

// deeper reads a phrase inside another one.
func (p *parser) deeper(phrase func() string) string {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxDepth {
		p.refuse("The statement is nested too deeply. Make it simpler, or use WITH.")
		return ""
	}
	return phrase()
}

// try reads a phrase, or goes back to where it began and reports false.
func (p *parser) try(phrase func() string) (string, bool) {
	if p.err != nil {
		return "", false
	}
	at, tables, scopes, depth := p.at, p.tables, len(p.scopes), p.depth
	s := phrase()
	if p.err == nil {
		return s, true
	}
	if bad, ok := errors.AsType[*source.Error](p.err); !ok || bad.Kind != source.Refused || p.steps > maxSteps {
		return "", false
	}
	if p.at > p.farthest {
		p.farthest, p.reason = p.at, p.err
	}
	p.at, p.tables, p.scopes, p.depth, p.err = at, tables, p.scopes[:scopes], depth, nil
	return "", false
}

// identifier reads a name. Keywords are names only in backticks, or behind a dot.
func (p *parser) identifier() string {
	t := p.peek()
	if t.kind == name || t.kind == word && !reserved[t.low] {
		p.next()
		return t.value
	}
	p.unexpected()
	return ""
}

// member reads the name behind a dot.
func (p *parser) member() string {
	if t := p.peek(); t.kind == word {
		p.next()
		return t.value
	}
	return p.identifier()
}

func (p *parser) quoted() string { return Quote(p.identifier()) }

// statement reads a whole statement.
func (p *parser) statement() string {
	switch {
	case p.isWord("explain"), p.isWord("describe"), p.isWord("desc"):
		return p.explain()
	case p.isWord("show"):
		return p.show()
	case p.oneOf("select", "with", "values", "table"), p.isSign("("):
		return p.query(false)
	}
	p.unexpected()
	return ""
}

// explain reads EXPLAIN of a query, or of a table, which describes its columns.
func (p *parser) explain() string {
	p.next()
	p.open()
	format := ""
	if p.word("format") {
		p.expectSign("=")
		if t := p.next(); t.kind == word && slices.Contains([]string{"json", "traditional", "tree"}, t.low) {
			format = "FORMAT=" + strings.ToUpper(t.low) + " "
		} else {
			p.unexpected()
		}
	} else {
		_ = p.word("extended") || p.word("partitions")
	}
	if p.oneOf("select", "with", "values", "table") || p.isSign("(") {
		return "EXPLAIN " + format + p.query(false)
	}
	if format != "" || p.isWord("analyze") {
		p.unexpected()
	}
	return "DESCRIBE " + p.base()
}

// open refuses statements that tell of a table as a whole, where rows are filtered.
func (p *parser) open() {
	if p.Filtered {
		p.refuse("This source limits what each user sees, so plans and lists of columns are not available. Use SELECT.")
	}
}

// base reads the name of a table that is not a common table expression.
func (p *parser) base() string {
	schema, name := p.tableName()
	return p.resolve(schema, name).SQL
}

// show reads the statements that list tables and columns.
func (p *parser) show() string {
	p.next()
	p.open()
	full := ""
	if p.word("full") {
		full = "FULL "
	}
	switch {
	case p.word("tables"):
		return "SHOW " + full + "TABLES" + p.database() + p.like()
	case p.word("columns"), p.word("fields"):
		_ = p.word("from") || p.word("in")
		return "SHOW " + full + "COLUMNS FROM " + p.base() + p.like()
	case full != "":
	case p.word("index"), p.word("indexes"), p.word("keys"):
		_ = p.word("from") || p.word("in")
		return "SHOW INDEX FROM " + p.base()
	case p.word("create", "table"):
		return "SHOW CREATE TABLE " + p.base()
	}
	p.refuse("Of SHOW, only TABLES, COLUMNS, INDEX and CREATE TABLE are allowed.")
	return ""
}

// database reads the name of a database in SHOW TABLES.
func (p *parser) database() string {
	if !p.oneOf("from", "in") {
		return ""
	}
	p.next()
	schema := p.identifier()
	if _, err := p.Table(schema, ""); err != nil && p.err == nil { // it is one of the server's own
		p.err = err
	}
	return " FROM " + Quote(schema)
}

func (p *parser) like() string {
	if !p.word("like") {
		return ""
	}
	if t := p.next(); t.kind == text {
		return " LIKE " + String(t.value)
	}
	p.unexpected()
	return ""
}
