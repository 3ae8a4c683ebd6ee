package grammar

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/footnotehq/footnote/internal/wordlist"
)

// Transact describes how T-SQL differs further. Its statements need no semicolon between them, so a word that the
// server does not expect might end a statement, or be a name. Therefore, names are always written in brackets, except
// for functions, types and constants that are listed.
type Transact struct {
	Unknown  map[string]bool // words and signs that only other databases know; such a word is a name
	Reserved map[string]bool // further words that are names only in brackets
	Types    map[string]bool
	// Constants are how words without brackets that stand for values are written.
	Constants     map[string]string
	PartFunctions map[string]bool   // functions whose first argument is a part of a date
	Renamed       map[string]string // functions that only other databases know, and what they are here
}

func (d *Dialect) transact() *Transact {
	if d.Transact == nil {
		return &Transact{}
	}
	return d.Transact
}

// dateParts are the parts of dates.
var dateParts = wordlist.Set(`year yyyy yy quarter qq q month mm m dayofyear dy y day dd d week wk ww weekday dw w
	hour hh minute mi n second ss s millisecond ms microsecond mcs nanosecond ns tzoffset tz iso_week isowk isoww`)

// transactString returns a string literal, with N if it has characters that a code page may lack. A backslash at the
// end of a line would join it with the next one, so the literal is written in two parts there.
func transactString(s string) string {
	n := ""
	if strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII }) {
		n = "N"
	}
	s = strings.ReplaceAll(s, "'", "''")
	joined := strings.NewReplacer("\\\n", `\' + `+n+"'\n", "\\\r", `\' + `+n+"'\r").Replace(s)
	if joined != s {
		return "(" + n + "'" + joined + "')"
	}
	return n + "'" + s + "'"
}

// skip reads a word without writing it, and reports true even if it does not come next.
func (p *parser) skip(low string) bool {
	if p.isWord(low) && p.isName(1) {
		p.next()
	}
	return true
}

// textAlias reports whether a later token is an alias in the quotes of a string.
func (p *parser) textAlias(n int) bool {
	t := p.ahead(n)
	return p.d.Transact != nil && t.kind == text && t.value != "" && !strings.ContainsAny(t.value, "\"\\\n\r\t;")
}

// called returns how the name of a function is written, which is known to be harmless.
func (p *parser) called(written, value string) string {
	if p.d.Transact == nil {
		return written
	}
	return cmp.Or(p.x.Renamed[strings.ToLower(value)], strings.ToUpper(value))
}

// typed returns how the name of a type is written.
func (p *parser) typed(written, value string) string {
	if p.d.Transact == nil {
		return written
	}
	low := strings.ToLower(value)
	if !p.x.Types[low] {
		p.refuse("The type %.60s is not known here.", value)
	}
	return low
}

// collation reads the name of a collation, which T-SQL knows only without quotes.
func (p *parser) collation() {
	t := p.peek()
	if p.d.Transact == nil {
		p.name()
	} else if t.kind == word && strings.Contains(t.low, "_") {
		p.emit(p.next().value)
	} else {
		p.unexpected()
	}
}

// method reads the call of value('.', 'nvarchar(max)') of XML behind its dot.
func (p *parser) method(name string) bool {
	if p.d.Transact == nil || name != "value" || !p.isSign("(") {
		return false
	}
	p.out[len(p.out)-1] += name
	p.inBrackets(func() {
		if !p.literal() || !p.sign(",") || !p.literal() {
			p.unexpected()
		}
	})
	return true
}

// typedLiteral reads DATE '2024-01-31' and the like as a cast.
func (p *parser) typedLiteral() {
	kind, ok := map[string]string{"date": "date", "time": "time", "timestamp": "datetime2"}[p.next().low]
	if !ok {
		p.refuse("There are no such literals here. Write CAST('2024-01-31' AS date).")
	}
	p.emit("CAST", "(", p.d.String(p.next().value), "AS", kind, ")")
}

// transactKeyword reads CONVERT(type, x, style), and literals of types.
func (p *parser) transactKeyword() bool {
	t := p.peek()
	if p.d.Transact == nil {
		return false
	}
	if typedLiterals[t.low] && p.ahead(1).kind == text {
		p.typedLiteral()
		return true
	}
	if t.low != "convert" && t.low != "try_convert" || !p.signAt(1, "(") {
		return false
	}
	p.emit(strings.ToUpper(p.next().low))
	p.deeper(func() {
		p.inBrackets(func() {
			p.typeName()
			p.needSign(",")
			p.list(p.expression)
		})
	})
	return true
}

// dateFunction reads the arguments of a function whose first one is a part of a date.
func (p *parser) dateFunction() {
	p.deeper(func() {
		p.inBrackets(func() {
			if t := p.next(); t.kind == word && dateParts[t.low] {
				p.emit(strings.ToUpper(t.low))
			} else {
				p.refuse("The first argument must be a part of a date, such as DAY or MONTH, without quotes.")
			}
			for p.sign(",") {
				p.expression()
			}
		})
	})
}

// top reads what follows TOP.
func (p *parser) top() {
	if p.isSign("(") {
		p.inBrackets(func() { p.literal() })
	} else {
		p.literal()
	}
	p.take("percent")
	p.take("with", "ties")
}

// hints reads the hints of a table that only ask for reading without locks, and drops them: rows that were not
// committed must not be footnoted.
func (p *parser) hints() bool {
	if p.d.Transact == nil || !p.isWord("with") || !p.signAt(1, "(") {
		return false
	}
	written := len(p.out)
	p.need("with")
	p.inBrackets(func() {
		p.list(func() {
			if !p.choose("nolock", "readuncommitted", "readcommitted") {
				p.refuse("Table hints are not allowed, but for NOLOCK, which is ignored.")
			}
		})
	})
	p.out = p.out[:written]
	return true
}

// columnsOfJSON reads what may follow OPENJSON(x): WITH (name type 'path' AS JSON, …).
func (p *parser) columnsOfJSON(function string) {
	if p.d.Transact == nil || function != "openjson" || !p.isWord("with") {
		return
	}
	p.need("with")
	p.inBrackets(func() {
		p.list(func() {
			p.name()
			p.typeName()
			p.literal()
			p.take("as", "json")
		})
	})
}

// rowLimit reads LIMIT, which becomes TOP at a place in what was written, or else OFFSET and FETCH, which need an
// order. The order of a subquery needs one of them.
func (p *parser) rowLimit(topAt int, ordered bool) {
	if !p.isWord("limit") {
		if ordered && topAt >= 0 && p.depth > 1 && !p.oneOf("offset", "for") {
			p.emit("OFFSET", "0", "ROWS")
		}
		return
	}
	p.next()
	n, skip := p.count(), "0"
	if p.isWord("offset") {
		p.next()
		skip, topAt = p.count(), 0
	}
	if p.err != nil {
		return
	}
	if topAt > 0 {
		p.out = slices.Insert(p.out, topAt, "TOP", "(", n, ")")
		return
	}
	if !ordered {
		p.emit("ORDER", "BY", "1")
	}
	p.emit("OFFSET", skip, "ROWS", "FETCH", "NEXT", n, "ROWS", "ONLY")
}

// transactEnd reads what may end a query.
func (p *parser) transactEnd() {
	p.forText()
	if p.depth == 1 && p.isWord("option") && p.signAt(1, "(") {
		p.options()
	}
}

// count reads a number of rows, and returns how it is written.
func (p *parser) count() string {
	from := len(p.out)
	if !p.literal() {
		p.unexpected()
		return ""
	}
	written := p.out[from]
	p.out = p.out[:from]
	return written
}

// forText reads FOR XML PATH and FOR JSON in a subquery, where they return one value. Their rows come in pieces
// elsewhere.
func (p *parser) forText() {
	if !p.isWord("for", "xml", "path") && !p.isWord("for", "json") {
		return
	}
	if p.depth == 1 {
		p.refuse("FOR XML and FOR JSON are only allowed in a subquery: SELECT (SELECT … FOR JSON PATH) AS x.")
	}
	if !p.take("for", "xml", "path") && !p.take("for", "json", "path") {
		p.need("for", "json", "auto")
	}
	option := func() {
		if p.isSign("(") {
			p.inBrackets(func() { p.literal() })
		}
	}
	option()
	for p.sign(",") {
		if !p.choose("type", "root", "include_null_values", "without_array_wrapper") {
			p.unexpected()
		}
		option()
	}
}

// options reads OPTION (MAXRECURSION 100), which a series of days needs.
func (p *parser) options() {
	p.need("option")
	p.inBrackets(func() {
		p.list(func() {
			if !p.take("recompile") && !(p.take("maxrecursion") && p.literal()) {
				p.unexpected()
			}
		})
	})
}
