package grammar

import (
	"strings"

	"github.com/footnotehq/footnote/source"
)

// phrase is an expression as it is written.
type phrase struct {
	sql     string
	class   int    // how tightly its operator binds; whole if it needs no brackets as an operand
	column  bool   // it is a column, which has a name
	literal bool   // it is a string, which the server names after its content
	loose   string // a string as it is compared by a column's own collation, where strings are compared exactly
}

const whole = 99

func (e phrase) wrapped() string {
	if e.class == whole {
		return e.sql
	}
	return "(" + e.sql + ")"
}

// chained returns a chain of operators and operands of a class behind the phrase. Servers read them from left to right,
// as this package does, so they need no brackets.
func (e phrase) chained(class int, chain []string) phrase {
	if len(chain) == 0 {
		return e
	}
	return phrase{class: class, sql: e.wrapped() + " " + strings.Join(chain, " ")}
}

// The classes of the logical operators and comparisons; those between numbers are indexes of binaries.
const (
	orClass = iota + 20
	xorClass
	andClass
	notClass
	comparison
)

// plain reads an expression.
func (p *parser) plain() string { return p.expression().sql }

// expression reads an expression: conditions joined by OR, XOR and AND.
func (p *parser) expression() phrase {
	var e phrase
	p.deeper(func() string {
		e = p.logical(orClass)
		return ""
	})
	return e
}

// connectives are the words and signs of the logical operators.
var connectives = map[int][2]string{orClass: {"or", ""}, xorClass: {"xor", ""}, andClass: {"and", "&&"}}

func (p *parser) logical(class int) phrase {
	if class == notClass {
		return p.negation()
	}
	e, c := p.logical(class+1), connectives[class]
	var chain []string
	for {
		if p.isSign("||") {
			p.refuse("|| means OR for MySQL and MariaDB, and joins texts elsewhere. Write OR, or CONCAT(a, b).")
		}
		if !p.word(c[0]) && (c[1] == "" || !p.sign(c[1])) {
			return e.chained(class, chain)
		}
		chain = append(chain, strings.ToUpper(c[0]), p.logical(class+1).wrapped())
	}
}

func (p *parser) negation() phrase {
	if !p.word("not") {
		return p.comparison()
	}
	var e phrase
	p.deeper(func() string {
		e = p.negation()
		return ""
	})
	return phrase{class: notClass, sql: "NOT " + e.wrapped()}
}

// comparisons are the operators of comparison.
var comparisons = []string{"=", "<=>", "<=", ">=", "<>", "!=", "<", ">"}

// comparison reads comparisons and IS, from left to right.
func (p *parser) comparison() phrase {
	e := p.predicate()
	for {
		t := p.peek()
		switch {
		case p.isWord("is"):
			e = p.is(e)
		case t.kind == sign && in(comparisons, t.value) && p.err == nil:
			p.next()
			operator := t.value
			right := phrase{class: whole, sql: p.quantity()}
			if right.sql == "" {
				right = p.predicate()
			}
			sql := e.wrapped() + " " + operator + " " + right.wrapped()
			if operator == "=" && e.column && right.loose != "" {
				// An index helps only with the column's own collation. What is the same byte by byte is the same in it.
				sql = "(" + e.sql + " = " + right.loose + " AND " + sql + ")"
			}
			e = phrase{class: comparison, sql: sql}
		default:
			return e
		}
	}
}

// quantity reads ALL, ANY or SOME with a query.
func (p *parser) quantity() string {
	if !p.oneOf("all", "any", "some") || p.ahead(1).value != "(" {
		return ""
	}
	return strings.ToUpper(p.next().low) + " " + p.subquery()
}

func (p *parser) subquery() string {
	return p.inBrackets(func() string { return p.query(true) })
}

// is reads IS [NOT] NULL, TRUE, FALSE or UNKNOWN behind an operand.
func (p *parser) is(e phrase) phrase {
	p.next()
	not := ""
	if p.word("not") {
		not = "NOT "
	}
	if p.isWord("distinct", "from") {
		p.refuse("There is no IS DISTINCT FROM. Write NOT (a <=> b).")
	}
	what := p.choose("null", "true", "false", "unknown")
	if what == "" {
		p.unexpected()
	}
	return phrase{class: comparison, sql: e.wrapped() + " IS " + not + what}
}

// negated are the operators that may have NOT before them.
var negated = []string{"in", "between", "like", "regexp", "rlike"}

// predicate reads IN, BETWEEN, LIKE and REGEXP behind an operand.
func (p *parser) predicate() phrase {
	e := p.binary(0)
	not := ""
	if p.isWord("not") {
		if next := p.ahead(1); next.kind != word || !in(negated, next.low) {
			return e
		}
		p.next()
		not = "NOT "
	}
	if p.isWord("member") && !p.isWord("member", "of") || p.isWord("sounds") && !p.isWord("sounds", "like") {
		return e // the words are names
	}
	sql := e.wrapped() + " " + not
	switch p.choose("in", "between", "like", "regexp", "rlike", "sounds", "member") {
	case "IN":
		sql += "IN " + p.set()
	case "BETWEEN":
		from := p.binary(0).wrapped()
		p.expectWord("and")
		sql += "BETWEEN " + from + " AND " + p.predicate().wrapped()
	case "LIKE":
		sql += "LIKE " + p.binary(5).wrapped()
		if p.word("escape") {
			sql += " ESCAPE " + p.literal()
		}
	case "REGEXP", "RLIKE":
		sql += "REGEXP " + p.binary(0).wrapped()
	case "SOUNDS":
		p.expectWord("like")
		sql += "SOUNDS LIKE " + p.binary(0).wrapped()
	case "MEMBER":
		p.expectWord("of")
		sql += "MEMBER OF " + p.inBrackets(p.plain)
	default:
		return e
	}
	return phrase{class: comparison, sql: sql}
}

// set reads what follows IN: a query or a list.
func (p *parser) set() string {
	if p.queryAhead() {
		if sql, ok := p.try(p.subquery); ok {
			return sql
		}
	}
	return p.inBrackets(func() string { return p.list(p.plain) })
}

// queryAhead reports whether the brackets that open here seem to enclose a query.
func (p *parser) queryAhead() bool {
	i := 0
	for p.ahead(i).kind == sign && p.ahead(i).value == "(" {
		i++
	}
	t := p.ahead(i)
	return i > 0 && t.kind == word && in([]string{"select", "with", "values", "table"}, t.low) &&
		(t.low == "select" || t.low == "with" || i == 1 && p.ahead(i+1).value != ")")
}

// binaries are the operators between operands, by class; those of a later class bind more tightly.
var binaries = [][]string{{"|"}, {"&"}, {"<<", ">>"}, {"+", "-"}, {"*", "/", "%", "div", "mod"}, {"^"}}

// binary reads operators of a class and of those that bind more tightly.
func (p *parser) binary(class int) phrase {
	if class == len(binaries) {
		return p.unary()
	}
	e := p.binary(class + 1)
	var chain []string
	for {
		t := p.peek()
		operator := t.value
		if t.kind == word {
			operator = t.low
		}
		if p.err != nil || t.kind != sign && t.kind != word || !in(binaries[class], operator) {
			return e.chained(class, chain)
		}
		p.next()
		chain = append(chain, strings.ToUpper(operator), p.binary(class+1).wrapped())
	}
}

// unary reads signs, BINARY and COLLATE.
func (p *parser) unary() phrase {
	for _, operator := range []string{"-", "+", "~", "!"} {
		if p.sign(operator) {
			return phrase{class: notClass, sql: operator + p.inner().wrapped()}
		}
	}
	if p.word("binary") {
		return phrase{class: notClass, sql: "BINARY " + p.inner().wrapped()}
	}
	e := p.primary()
	for {
		switch {
		case p.word("collate"):
			e = phrase{class: notClass, sql: e.wrapped() + " COLLATE " + p.charset()}
		case p.isSign("->"), p.isSign("->>"):
			unquote := p.next().value == "->>"
			e = phrase{class: whole, sql: "JSON_EXTRACT(" + e.sql + ", " + p.literal() + ")"}
			if unquote {
				e.sql = "JSON_UNQUOTE(" + e.sql + ")"
			}
		default:
			if p.isSign("::") {
				p.refuse("There is no :: here. Write CAST(x AS type).")
			}
			return e
		}
	}
}

func (p *parser) inner() phrase {
	var e phrase
	p.deeper(func() string {
		e = p.unary()
		return ""
	})
	return e
}

// charset reads the name of a collation or character set.
func (p *parser) charset() string {
	if p.word("binary") {
		return "binary"
	}
	t := p.peek()
	if t.kind != word || reserved[t.low] || strings.Trim(t.low, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		p.unexpected()
		return ""
	}
	p.next()
	return t.low
}

// primary reads an operand.
func (p *parser) primary() phrase {
	t := p.peek()
	switch t.kind {
	case text:
		return p.strings()
	case number, bits:
		p.next()
		return phrase{class: whole, sql: t.value}
	case argument:
		p.next()
		return phrase{class: whole, sql: p.argumentLiteral(t)}
	case sign:
		return p.bracketed()
	case name:
		return p.named()
	case word:
		return p.keyword()
	}
	p.unexpected()
	return phrase{}
}

// strings reads a string, which may be in several parts.
func (p *parser) strings() phrase {
	all := ""
	for p.err == nil && p.peek().kind == text {
		all += p.next().value
	}
	if p.exact != "" {
		return phrase{class: whole, sql: "(" + String(all) + p.exact + ")", loose: String(all)}
	}
	return phrase{class: whole, sql: String(all), literal: true}
}

// bracketed reads a query, an expression or a row in brackets.
func (p *parser) bracketed() phrase {
	switch {
	case p.isSign("@"), p.isSign("@@"):
		p.refuse("Variables (@…) are not allowed.")
	case p.isSign("?"):
		p.refuse("There are no values for ? here.")
	}
	if p.queryAhead() {
		if sql, ok := p.try(p.subquery); ok {
			return phrase{class: whole, sql: sql}
		}
	}
	if !p.sign("(") {
		p.unexpected()
		return phrase{}
	}
	e := p.expression()
	if p.isSign(",") {
		row := "(" + e.sql
		for p.sign(",") {
			row += ", " + p.plain()
		}
		p.expectSign(")")
		return phrase{class: whole, sql: row + ")"}
	}
	p.expectSign(")")
	return phrase{class: whole, sql: e.wrapped(), column: e.column}
}

// named reads a column or the call of a function.
func (p *parser) named() phrase {
	first := p.identifier()
	if p.isSign("(") {
		return p.call("", first)
	}
	path := []string{first}
	for p.sign(".") {
		path = append(path, p.member())
		if len(path) == 2 && p.isSign("(") {
			return p.call(path[0], path[1])
		}
	}
	if len(path) > 3 {
		p.refuse("The name %.60s has too many parts.", strings.Join(path, "."))
	}
	for i := range path {
		path[i] = Quote(path[i])
	}
	if p.isSign(":=") {
		p.refuse("Assignments (:=) are not allowed.")
	}
	return phrase{class: whole, sql: p.path(path), column: true}
}

// constants are words that are values.
var constants = map[string]string{
	"null": "NULL", "true": "TRUE", "false": "FALSE", "current_date": "CURRENT_DATE", "current_time": "CURRENT_TIME",
	"current_timestamp": "CURRENT_TIMESTAMP", "localtime": "LOCALTIME", "localtimestamp": "LOCALTIMESTAMP",
	"utc_date": "UTC_DATE", "utc_time": "UTC_TIME", "utc_timestamp": "UTC_TIMESTAMP",
}

// keyword reads what begins with a word: a construct of its own, a call, a constant or a name.
func (p *parser) keyword() phrase {
	t, after := p.peek(), p.ahead(1)
	called := after.kind == sign && after.value == "("
	switch {
	case t.low == "case":
		return phrase{class: whole, sql: p.cases()}
	case t.low == "exists" && called:
		p.next()
		return phrase{class: whole, sql: "EXISTS " + p.subquery()}
	case t.low == "interval":
		return p.interval()
	case t.low == "match" && called:
		return phrase{class: whole, sql: p.match()}
	case t.low == "row" && called:
		p.next()
		return phrase{class: whole, sql: "ROW" + p.inBrackets(func() string { return p.list(p.plain) })}
	case after.kind == text && introducers[t.low] != "":
		p.next()
		return phrase{class: whole, sql: introducers[t.low] + p.literal()}
	case called:
		p.next()
		return p.call("", t.value)
	}
	if c, ok := constants[t.low]; ok {
		p.next()
		return phrase{class: whole, sql: c}
	}
	return p.named()
}

// introducers are words before a string: types, and character sets in which it is written as in the connection's.
var introducers = map[string]string{
	"date": "DATE", "time": "TIME", "timestamp": "TIMESTAMP", "_utf8mb4": "_utf8mb4", "_utf8mb3": "_utf8mb3",
	"_utf8": "_utf8", "_binary": "_binary",
}

// cases reads CASE.
func (p *parser) cases() string {
	return p.deeper(func() string {
		p.next()
		sql := "CASE"
		if !p.isWord("when") {
			sql += " " + p.plain()
		}
		for p.word("when") {
			sql += " WHEN " + p.plain()
			p.expectWord("then")
			sql += " THEN " + p.plain()
		}
		if p.word("else") {
			sql += " ELSE " + p.plain()
		}
		p.expectWord("end")
		return sql + " END"
	})
}

// interval reads INTERVAL 1 DAY, or the function of that name.
func (p *parser) interval() phrase {
	p.next()
	if p.isSign("(") {
		if sql, ok := p.try(func() string {
			e := p.plain()
			return e + " " + p.unit()
		}); ok {
			return phrase{class: whole, sql: "INTERVAL " + sql}
		}
		return phrase{class: whole, sql: "INTERVAL" + p.inBrackets(func() string { return p.list(p.plain) })}
	}
	e := p.expression()
	if t := p.peek(); t.kind != word || !units[t.low] {
		p.refuse("An interval is written like INTERVAL 1 DAY, with the unit behind the number.")
	}
	return phrase{class: whole, sql: "INTERVAL " + e.sql + " " + p.unit()}
}

func (p *parser) unit() string {
	t := p.peek()
	if t.kind != word || !units[t.low] {
		p.unexpected()
		return ""
	}
	p.next()
	return strings.ToUpper(t.low)
}

// match reads a search for words in columns that have an index of words.
func (p *parser) match() string {
	p.next()
	sql := "MATCH " + p.inBrackets(func() string {
		return p.list(func() string {
			if e := p.named(); e.column {
				return e.sql
			}
			p.refuse("MATCH takes columns.")
			return ""
		})
	})
	p.expectWord("against")
	return sql + " AGAINST " + p.inBrackets(func() string {
		words := p.binary(0).sql
		switch {
		case p.word("in", "boolean", "mode"):
			words += " IN BOOLEAN MODE"
		case p.word("in", "natural", "language", "mode"):
			words += " IN NATURAL LANGUAGE MODE"
		}
		if p.word("with", "query", "expansion") {
			words += " WITH QUERY EXPANSION"
		}
		return words
	})
}

func in(list []string, s string) bool {
	for _, other := range list {
		if s == other {
			return true
		}
	}
	return false
}

// call reads a call of a function behind its name.
func (p *parser) call(schema, name string) phrase {
	low := source.Lower(name)
	if schema == "" {
		if special, ok := specials[low]; ok {
			return phrase{class: whole, sql: p.deeper(func() string { return special(p) })}
		}
	}
	var written string
	if p.err == nil {
		written, p.err = p.Call(schema, name)
	}
	sql := written + p.deeper(func() string { return p.inBrackets(func() string { return p.arguments(low) }) })
	return phrase{class: whole, sql: sql + p.over(low)}
}

// arguments reads the arguments of a function, with what only aggregates have.
func (p *parser) arguments(function string) string {
	if p.isSign(")") {
		return ""
	}
	if p.isSign("*") && function == "count" {
		p.next()
		return "*"
	}
	sql := ""
	if p.word("distinct") {
		sql = "DISTINCT "
	} else {
		p.word("all")
	}
	sql += p.list(p.plain)
	if function != "group_concat" && function != "json_arrayagg" {
		return sql
	}
	sql += p.orderBy()
	if p.word("separator") {
		sql += " SEPARATOR " + p.literal()
	}
	return sql + p.limit()
}
