package grammar

import (
	"strings"

	"github.com/footnotehq/footnote/source"
)

// expression reads operands with operators between them.
func (p *parser) expression() {
	p.deeper(func() {
		p.operand()
		for p.err == nil && p.operator() {
			p.operand()
		}
	})
}

// operatorSigns are the operators that are no words. -> begins the body of a lambda, => the value of a named argument.
var operatorSigns = map[string]bool{
	"+": true, "-": true, "*": true, "/": true, "%": true, "||": true, "=": true, "==": true, "!=": true, "<>": true,
	"<": true, ">": true, "<=": true, ">=": true, "<=>": true, "&": true, "|": true, "^": true, "<<": true, "->": true,
	"=>": true, "->>": true, "~": true, "~*": true, "!~": true, "!~*": true,
}

// operator reads an operator, and reports whether an operand must follow.
func (p *parser) operator() bool {
	for p.err == nil {
		t := p.peek()
		switch {
		case t.kind == sign && t.value == "||" && p.d.Transact != nil: // which not every version knows
			p.next()
			p.emit("+")
			return true
		case t.kind == sign && operatorSigns[t.value]:
			return p.sign(t.value)
		case p.choose("and", "or", "xor", "div", "mod", "between", "escape"):
			return true
		case p.take("at", "time", "zone"):
			return true
		case p.take("similar", "to"), p.choose("like", "ilike", "rlike", "regexp"):
			_ = p.choose("any", "all", "some")
			return true
		case p.isWord("not") && p.ahead(1).kind == word && afterNot[p.ahead(1).low]:
			p.need("not")
		case p.isWord("global") && (p.ahead(1).low == "in" || p.ahead(1).low == "not"):
			p.need("global")
		case p.take("in"):
			p.members()
		case p.take("is"):
			if p.is() {
				return true
			}
		case p.take("collate"):
			p.collation()
		default:
			return false
		}
	}
	return false
}

var afterNot = map[string]bool{
	"in": true, "like": true, "ilike": true, "rlike": true, "regexp": true, "between": true, "similar": true,
}

// is reads what follows IS, and reports whether an operand must follow.
func (p *parser) is() bool {
	p.take("not")
	if p.take("distinct", "from") {
		return true
	}
	if !p.choose("null", "true", "false", "unknown") {
		p.unexpected()
	}
	return false
}

// members reads what follows IN. Where a single name there may be a table's, brackets, signs and an alias around it do
// not change that.
func (p *parser) members() {
	n, brackets := 0, false
	for ; p.signAt(n, "(") || p.signAt(n, "+"); n++ {
		brackets = brackets || p.signAt(n, "(")
	}
	if p.d.InReadsTable && p.isName(n) {
		for n++; p.signAt(n, "."); n += 2 {
		}
		ends := p.signAt(n, ")") || p.ahead(n).low == "as" || p.isName(n)
		if brackets && ends || !brackets && !p.signAt(n, "(") {
			p.refuse("IN with a single name may read a table. Write x IN (SELECT … FROM …), or x = y.")
		}
	}
	p.operand()
}

// operand reads one operand with what precedes and follows it.
func (p *parser) operand() {
	for p.take("not") || p.sign("-") || p.sign("+") || p.sign("~") || p.sign("!") {
	}
	if !p.literal() {
		p.primary()
	}
	for p.err == nil {
		switch {
		case p.isSign("["):
			p.subscript()
		case p.sign("::"):
			p.typeName()
		case p.sign(":"):
			p.field()
		case p.sign("."):
			if !p.sign("*") {
				p.field()
				break
			}
			if p.changes(); p.isWord("as") && p.signAt(1, "(") {
				p.take("as")
				p.columns()
			}
			return
		default:
			return
		}
	}
}

func (p *parser) subscript() {
	p.needSign("[")
	p.expression()
	if p.sign(":") {
		p.expression()
	}
	p.needSign("]")
}

// field reads a name in a value: x.name, x.1, x:name.
func (p *parser) field() {
	if t := p.peek(); t.kind == number {
		p.next()
		p.emit(t.value)
		return
	}
	written, value := p.member()
	if p.method(value) {
		return
	}
	p.badColumn(value)
	p.emit(written)
	if p.isSign("(") {
		p.refuse("A function cannot be called behind a dot here: %.60s.", value)
	}
}

// badColumn refuses names that do something when they are read like columns.
func (p *parser) badColumn(value string) {
	if p.d.BadColumns[strings.ToLower(value)] {
		p.refuse("%.60s is not allowed: reading it changes something.", value)
	}
}

// primary reads an operand that is not a literal.
func (p *parser) primary() {
	t := p.peek()
	switch {
	case p.isSign("("):
		p.brackets()
	case p.isSign("["):
		p.array()
	case t.kind == name:
		p.path()
	case t.kind == word:
		p.keyword()
	default:
		p.unexpected()
	}
}

// brackets reads a query or a list in brackets, which may be empty.
func (p *parser) brackets() {
	p.deeper(func() {
		if p.startsQuery() && p.try(func() { p.inBrackets(p.query) }) {
			return
		}
		p.inBrackets(func() {
			if !p.isSign(")") {
				p.list(p.item)
				p.orderBy() // of a PIVOT's ANY
			}
		})
	})
}

func (p *parser) array() {
	p.deeper(func() {
		p.needSign("[")
		if !p.isSign("]") {
			p.list(p.item)
		}
		p.needSign("]")
	})
}

// keyword reads what begins with a word: a construct of its own, a call or a name.
func (p *parser) keyword() {
	t := p.peek()
	called := p.signAt(1, "(")
	switch {
	case t.low == "case":
		p.cases()
	case t.low == "exists" && called && p.try(func() {
		p.take("exists")
		p.inBrackets(p.query)
	}):
	case t.low == "interval":
		p.interval()
	case called && (t.low == "cast" || t.low == "try_cast" || t.low == "safe_cast"):
		p.cast()
	case p.typedValue():
	case p.transactKeyword():
	case typedLiterals[t.low] && p.ahead(1).kind == text:
		p.emit(strings.ToUpper(t.low))
		p.next()
		p.literal()
	case called && reserved[t.low]: // a keyword that is also a function, such as left
		p.call(p.member())
	case p.signAt(1, "=>"): // or the name of an argument
		written, _ := p.member()
		p.emit(written)
	default:
		p.path()
	}
}

// typedValue reads ARRAY[1, 2], ARRAY<INT64>[1, 2] or STRUCT<a INT64>(1), if one comes next.
func (p *parser) typedValue() bool {
	t := p.peek()
	switch {
	case t.low == "array" && p.signAt(1, "["):
		p.take("array")
		p.array()
	case t.low != "array" && t.low != "struct" || !p.signAt(1, "<"):
		return false
	default:
		p.typeName()
		if p.isSign("[") {
			p.array()
		} else {
			p.brackets()
		}
	}
	return true
}

// path reads a column, perhaps with its table, or the call of a function.
func (p *parser) path() {
	begin, first := p.identifier, p.peek()
	if first.kind == word && p.signAt(1, ".") {
		begin = p.member // what a dot follows is a name
	}
	written, value := begin()
	path, low := []string{written}, []string{value}
	for p.isSign(".") && (p.ahead(1).kind == word || p.ahead(1).kind == name) {
		p.next()
		written, value = p.member()
		path, low = append(path, written), append(low, value)
	}
	if p.isSign("(") {
		p.call(strings.Join(path, "."), strings.Join(low, "."))
		return
	}
	if c, ok := p.x.Constants[first.low]; ok && len(path) == 1 && first.kind == word {
		p.emit(c)
		return
	}
	if len(path) > 2 && p.Cut {
		path = p.shorten(path, low)
	}
	for _, value := range low {
		p.badColumn(value)
	}
	p.emit(strings.Join(path, "."))
}

// shorten drops the schema of a column if its first names are those of a table.
func (p *parser) shorten(path, names []string) []string {
	if _, err := p.Table(names[:2]); err == nil {
		return path[1:]
	}
	return path
}

func (p *parser) cases() {
	p.deeper(func() {
		p.need("case")
		if !p.isWord("when") {
			p.expression()
		}
		for p.take("when") {
			p.expression()
			p.need("then")
			p.expression()
		}
		if p.take("else") {
			p.expression()
		}
		p.need("end")
	})
}

// interval reads INTERVAL 1 DAY, INTERVAL '1' DAY TO HOUR or INTERVAL '1 day'.
func (p *parser) interval() {
	p.need("interval")
	p.deeper(p.operand)
	for ok := true; ok; ok = p.take("to") || p.peek().kind == number && units[p.ahead(1).low] && p.literal() {
		if t := p.peek(); t.kind == word && units[t.low] {
			p.take(t.low)
		}
	}
}

// cast reads CAST(x AS type), or CAST(x, 'type').
func (p *parser) cast() {
	p.emit(strings.ToUpper(p.next().low))
	p.inBrackets(func() {
		p.expression()
		if p.sign(",") {
			p.literal()
		} else {
			p.need("as")
			p.typeName()
		}
		if p.take("format") {
			p.literal()
			if p.take("at", "time", "zone") {
				p.operand()
			}
		}
	})
}

// typeName reads a type: Array(Nullable(Decimal(18, 2))), ARRAY<STRUCT<a INT64>>, TIMESTAMP(3) WITH TIME ZONE, ….
func (p *parser) typeName() {
	p.deeper(func() {
		written, value := p.member()
		p.emit(p.typed(written, value))
		_ = p.choose("precision", "varying")
		for _, b := range []string{"()", "<>"} {
			if p.sign(b[:1]) {
				p.list(p.typePart)
				p.needSign(b[1:])
			}
		}
		if p.isWord("with") || p.isWord("without") {
			_ = p.choose("with", "without")
			p.take("local")
			p.need("time", "zone")
		}
	})
}

// typePart reads what may be inside the brackets of a type: a number, a string with a value, a type, or a name and a
// type.
func (p *parser) typePart() {
	if p.literal() {
		if p.sign("=") {
			p.sign("-")
			p.literal()
		}
		return
	}
	if k := p.ahead(1).kind; k == word || k == name || p.signAt(1, ":") {
		written, _ := p.member()
		p.emit(written)
		p.sign(":")
	}
	p.typeName()
}

// harmless refuses a function that may have an effect.
func (p *parser) harmless(function string) {
	if low := source.Lower(function); p.err == nil && (!p.d.Function(low) || p.Routines[low]) {
		p.refuse("The function %.60s is not allowed: it is not among the harmless ones.", function)
	}
}

// call reads the call of a function behind its name.
func (p *parser) call(written, value string) {
	p.harmless(value)
	p.emit(p.called(written, value))
	if p.x.PartFunctions[source.Lower(value)] {
		p.dateFunction()
		return
	}
	p.deeper(p.arguments)
	if p.isSign("(") { // quantile(0.5)(x)
		p.deeper(p.arguments)
	}
	if strings.EqualFold(value, "columns") {
		p.changes()
	}
	for p.err == nil {
		switch {
		case p.take("within", "group"):
			p.inBrackets(p.orderBy)
		case p.isWord("filter") && p.signAt(1, "("):
			p.need("filter")
			p.inBrackets(func() {
				p.need("where")
				p.expression()
			})
		case p.take("ignore", "nulls"), p.take("respect", "nulls"):
		case p.take("over"):
			p.windowOrName()
		default:
			return
		}
	}
}

// arguments reads the arguments of a function, with what only aggregates and the functions of texts have.
func (p *parser) arguments() {
	p.inBrackets(func() {
		if p.isSign(")") {
			return
		}
		_ = p.choose("distinct", "all")
		_ = p.choose("both", "leading", "trailing")
		if p.oneOf("select", "with") || p.isWord("values") && (p.signAt(1, "(") || p.ahead(1).kind >= text) {
			p.query()
			return
		}
		if !p.isWord("from") {
			p.list(p.passed)
		}
		for p.choose("from", "for", "placing") {
			p.expression()
		}
		_ = p.take("ignore", "nulls") || p.take("respect", "nulls")
		if p.take("on", "overflow") {
			_ = p.choose("error", "truncate") && p.literal()
			_ = p.choose("with", "without") && p.take("count")
		}
		if p.isWord("having") && (p.ahead(1).low == "max" || p.ahead(1).low == "min") {
			p.need("having")
			_ = p.choose("max", "min")
			p.expression()
		}
		if p.take("group", "by") {
			p.groups()
		}
		p.orderBy()
		p.limits()
	})
}

// passed reads an argument: an expression, or TABLE t.
func (p *parser) passed() {
	if p.isWord("table") && p.isName(1) {
		p.take("table")
		p.table()
		return
	}
	p.item()
}

func (p *parser) windowOrName() {
	if p.isSign("(") {
		p.window()
	} else {
		p.name()
	}
}

// window reads the definition of a window in brackets.
func (p *parser) window() {
	p.inBrackets(func() {
		if p.isName(0) && !p.oneOf("partition", "rows", "range", "groups") {
			p.name()
		}
		if p.take("partition", "by") {
			p.list(p.expression)
		}
		p.orderBy()
		if p.choose("rows", "range", "groups") {
			if !p.take("between") {
				p.bound()
				return
			}
			p.bound()
			p.need("and")
			p.bound()
		}
	})
}

func (p *parser) bound() {
	if p.take("current", "row") {
		return
	}
	if !p.take("unbounded") {
		p.operand()
	}
	if !p.choose("preceding", "following") {
		p.unexpected()
	}
}
