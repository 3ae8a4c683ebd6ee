// Package grammar reads one statement that only reads data, in the SQL of databases that run statements over HTTP, and
// writes it anew. It knows the reading part of the language and nothing else, so whatever it does not know is refused:
// there is no list of dangerous statements that could miss one.
//
// The server never sees the text that was read. It gets what this package writes: words as they are, every name and
// string in one kind of quotes, no comments, and a space between any two of them. So it does not matter whether the two
// agree about quotes and comments. They need not agree about precedence either, because what a statement does depends
// only on the tables and functions that it names, and both are looked up.
//
// The databases share one grammar, which takes what any of them has. A database refuses by itself what only others
// have. A Dialect holds what must differ: quotes, and which functions are harmless.
package grammar

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/footnotehq/footnote/source"
)

// Dialect is how a database's SQL differs from the others.
type Dialect struct {
	NameQuote    byte   // encloses the names that are written: ", ` or [
	StringQuotes string // what may enclose a string: ' or '"; the other quotes enclose names
	Backslash    bool   // a backslash escapes in strings
	Escapes      string // which of \x27, \u0027 and \U00000027 a string may have: x, u and U
	RawStrings   bool   // r'…' is a string without escapes
	TripleQuotes bool   // '''…''' is a string
	Bytes        byte   // begins a literal of bytes: b or x
	Suffixes     string // letters that may follow a number, as its type
	Positional   bool   // $1 is the first column, in statements without arguments
	HashComments bool   // # begins a comment
	DottedNames  bool   // `a.b.c` is a table with its schema, and in FROM t, t.x the latter is an array of t
	InReadsTable bool   // x IN name reads the table of that name
	// Function returns whether a function, in lower case, is harmless; TableFunctions are those in FROM.
	Function       func(name string) bool
	TableFunctions map[string]bool
	BadColumns     map[string]bool // names that do something when they are read like columns
	Advice         map[string]string
	Transact       *Transact // for T-SQL
}

// Options say what a statement may read.
type Options struct {
	Args []any // the values of $1, $2, …
	Cut  bool  // tables may be replaced by queries
	// Routines are functions of the database's own, in lower case, which may have the names of harmless ones.
	Routines map[string]bool
	// Table returns how a table or view is written. The path has one to three names. Names of common table expressions
	// never get here.
	Table func(path []string) (Table, error)
}

// Table is a table or view as a statement may read it.
type Table struct {
	SQL    string // its name in quotes, or a query in brackets
	Name   string // its name as the database spells it
	Listed string // its name in Statement.Tables
	Query  bool   // SQL is a query
}

// Statement is a statement that only reads.
type Statement struct {
	SQL     string
	Tables  []string // that it reads, each once
	Explain bool     // it only asks for the plan
}

// Read reads a statement. Errors are of type *source.Error.
func (d *Dialect) Read(statement string, o Options) (Statement, error) {
	tokens, err := scan(statement, d)
	if err != nil {
		return Statement{}, err
	}
	p := &parser{d: d, x: d.transact(), Options: o, text: statement, tokens: tokens, used: map[int]bool{}}
	for d.Transact != nil && p.isSign(";") { // habit puts it before WITH
		p.next()
	}
	explain := p.take("explain")
	if explain && o.Cut {
		p.refuse("Some columns are hidden here, so plans are not available. Use SELECT.")
	}
	p.query()
	for p.isSign(";") {
		p.next()
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
	return Statement{SQL: strings.Join(p.out, " "), Tables: p.tables, Explain: explain}, nil
}

// Quote returns a name in quotes.
func (d *Dialect) Quote(name string) string {
	if d.NameQuote == '[' {
		return "[" + strings.ReplaceAll(name, "]", "]]") + "]"
	}
	return string(d.NameQuote) + name + string(d.NameQuote)
}

// String returns a string literal.
func (d *Dialect) String(s string) string {
	if d.Transact != nil {
		return transactString(s)
	}
	if !d.Backslash {
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`, "\r", `\r`).Replace(s) + "'"
}

const (
	maxDepth = 200     // of brackets, queries and conditions inside each other
	maxSteps = 300_000 // tokens read, including those that are read again
)

// parser reads phrases and writes them to out. After an error, all tokens are at their end.
type parser struct {
	d *Dialect
	x *Transact // of d, or an empty one
	Options
	text   string
	tokens []token
	at     int
	steps  int
	depth  int
	err    error
	out    []string
	// Of the phrases that were tried and given up, the one that got farthest says best what is wrong.
	farthest int
	reason   error
	tables   []string
	used     map[int]bool // arguments
	aliases  []string     // of the tables of a FROM, in lower case
	commons  []common     // the common table expressions that are visible, the innermost last
	renamed  int
	topAt    int // where TOP goes in the select that was read last; -1 if it has one, 0 if it is no single select
}

// common is the name of a common table expression.
type common struct{ low, written string }

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

func (p *parser) emit(s ...string) { p.out = append(p.out, s...) }

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
	for _, list := range []map[string]string{p.d.Advice, advices} {
		if advice, ok := list[t.low]; ok && t.kind == word {
			p.refuse("%s", advice)
		}
	}
	end := min(len(p.text), t.from+40)
	p.refuse("Only one query that reads is allowed. It cannot be read from here: %s",
		strings.ToValidUTF8(p.text[t.from:end], ""))
}

// isWord reports whether the next tokens are these keywords.
func (p *parser) isWord(words ...string) bool {
	for i, w := range words {
		if t := p.ahead(i); t.kind != word || t.low != w || p.x.Unknown[w] {
			return false
		}
	}
	return p.err == nil
}

// oneOf reports whether the next token is one of these keywords.
func (p *parser) oneOf(words ...string) bool {
	t := p.peek()
	return p.err == nil && t.kind == word && slices.Contains(words, t.low) && !p.x.Unknown[t.low]
}

// take reads and writes these keywords if they come next.
func (p *parser) take(words ...string) bool {
	if !p.isWord(words...) {
		return false
	}
	for range words {
		p.emit(strings.ToUpper(p.next().low))
	}
	return true
}

// choose reads and writes one of these keywords if it comes next.
func (p *parser) choose(words ...string) bool {
	return p.oneOf(words...) && p.take(p.peek().low)
}

func (p *parser) need(words ...string) {
	if !p.take(words...) {
		p.unexpected()
	}
}

func (p *parser) isSign(s string) bool { return p.signAt(0, s) }

func (p *parser) signAt(i int, s string) bool {
	t := p.ahead(i)
	return p.err == nil && t.kind == sign && t.value == s && !p.x.Unknown[s]
}

// sign reads and writes a sign if it comes next.
func (p *parser) sign(s string) bool {
	if !p.isSign(s) {
		return false
	}
	p.next()
	p.emit(s)
	return true
}

func (p *parser) needSign(s string) {
	if !p.sign(s) {
		p.unexpected()
	}
}

// list reads phrases with commas between them.
func (p *parser) list(phrase func()) {
	phrase()
	for p.sign(",") {
		phrase()
	}
}

// inBrackets reads a phrase in brackets.
func (p *parser) inBrackets(phrase func()) {
	p.needSign("(")
	phrase()
	p.needSign(")")
}

// deeper reads a phrase inside another one.
func (p *parser) deeper(phrase func()) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxDepth {
		p.refuse("The statement is nested too deeply. Make it simpler, or use WITH.")
		return
	}
	phrase()
}

// try reads a phrase, or goes back to where it began and reports false.
func (p *parser) try(phrase func()) bool {
	if p.err != nil {
		return false
	}
	at, out, tables, aliases, commons, depth := p.at, len(p.out), p.tables, p.aliases, len(p.commons), p.depth
	if phrase(); p.err == nil {
		return true
	}
	if bad, ok := errors.AsType[*source.Error](p.err); !ok || bad.Kind != source.Refused || p.steps > maxSteps {
		return false
	}
	if p.at > p.farthest {
		p.farthest, p.reason = p.at, p.err
	}
	p.at, p.out, p.tables, p.aliases, p.commons = at, p.out[:out], tables, aliases, p.commons[:commons]
	p.depth, p.err = depth, nil
	return false
}

// isName reports whether a later token is a name.
func (p *parser) isName(i int) bool {
	t := p.ahead(i)
	return t.kind == name || t.kind == word && !reserved[t.low] && !p.x.Reserved[t.low]
}

// identifier reads a name, and returns it as it is written.
func (p *parser) identifier() (written, value string) {
	if !p.isName(0) {
		p.unexpected()
		return "", ""
	}
	return p.member()
}

// member reads a name behind a dot, where keywords are names, too.
func (p *parser) member() (written, value string) {
	switch t := p.peek(); t.kind {
	case word:
		p.next()
		if p.d.Transact != nil {
			return p.d.Quote(t.value), t.value
		}
		return t.value, t.value
	case name:
		p.next()
		return p.d.Quote(t.value), t.value
	}
	p.unexpected()
	return "", ""
}

func (p *parser) name() {
	written, _ := p.identifier()
	p.emit(written)
}

// alias reads a name with or without AS, if there is one. Behind AS, keywords and texts are names, too.
func (p *parser) alias() bool {
	as := p.isWord("as")
	switch t := p.ahead(1); {
	case as && t.kind == text:
		p.need("as")
		if p.d.Transact == nil {
			return p.literal()
		}
		p.emit(p.d.Quote(p.next().value))
		return true
	case p.textAlias(0) && !as:
		p.emit("AS", p.d.Quote(p.next().value))
		return true
	case as && (t.kind == name || t.kind == word):
		p.next()
	case as || !p.isName(0) || notAlias[p.peek().low] || p.isWord("at", "time"):
		return false
	}
	written, _ := p.member()
	p.emit("AS", written)
	return true
}

// literal reads $1, a number or a string.
func (p *parser) literal() bool {
	switch t := p.peek(); t.kind {
	case number:
		p.emit(t.value)
	case text:
		if t.low != "" { // bytes
			p.emit(t.low + "'" + strings.ReplaceAll(t.value, "'", `\x27`) + "'")
		} else {
			p.emit(p.d.String(t.value))
		}
	case argument:
		p.argument(t)
	default:
		return false
	}
	p.next()
	return true
}

// argument writes the value of $1.
func (p *parser) argument(t token) {
	n, err := strconv.Atoi(t.value)
	if p.d.Positional && len(p.Args) == 0 {
		p.emit("$" + t.value)
		return
	}
	if err != nil || n < 1 || n > len(p.Args) {
		if p.err == nil {
			p.err = source.Failf("The statement uses the argument $%s, but there are %d.", t.value, len(p.Args))
		}
		return
	}
	p.used[n] = true
	switch v := p.Args[n-1].(type) {
	case nil:
		p.emit("NULL")
	case bool:
		s := strconv.FormatBool(v)
		p.emit(cmp.Or(p.x.Constants[s], strings.ToUpper(s)))
	case int64:
		s := strconv.FormatInt(v, 10)
		if v < 0 {
			s = "(" + s + ")"
		}
		p.emit(s)
	case float64:
		p.emit("(" + strconv.FormatFloat(v, 'e', -1, 64) + ")")
		if math.IsNaN(v) || math.IsInf(v, 0) {
			p.err = source.Failf("Argument $%s is not a number that a database can keep.", t.value)
		}
	case string:
		if !utf8.ValidString(v) || strings.IndexByte(v, 0) >= 0 {
			p.err = source.Failf("Argument $%s is not text that a database can keep.", t.value)
		}
		p.emit(p.d.String(v))
	default:
		p.err = source.Failf("Argument $%s has a type that no database knows.", t.value)
	}
}
