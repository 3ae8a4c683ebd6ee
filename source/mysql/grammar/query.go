package grammar

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/footnotehq/footnote/source"
)

// query reads a query: WITH, selects joined by UNION and the like, ORDER BY and LIMIT. With inner, it is an operand in
// an expression, whose columns have no names.
func (p *parser) query(inner bool) string {
	return p.deeper(func() string {
		scopes := len(p.scopes)
		with := p.with()
		sql := with + p.unions(inner) + p.orderBy() + p.limit()
		if p.oneOf("into", "for", "lock", "procedure") {
			p.unexpected()
		}
		if p.err == nil {
			p.scopes = p.scopes[:scopes]
		}
		return sql
	})
}

// with reads common table expressions. In MySQL, each may use itself, if it is recursive, and those before it; in
// MariaDB, a recursive one may use all of them.
func (p *parser) with() string {
	if !p.word("with") {
		return ""
	}
	recursive := p.word("recursive")
	scope := map[string]string{}
	p.scopes = append(p.scopes, scope)
	if recursive && p.MariaDB {
		p.declare(scope)
	}
	sql := p.list(func() string {
		name := p.identifier()
		low, cte := strings.ToLower(name), p.cteName(name)
		if recursive {
			scope[low] = cte
		} else if _, twice := scope[low]; twice {
			p.refuse("Two queries of a WITH have the name %.60s.", name)
		}
		columns := ""
		if p.isSign("(") {
			columns = " " + p.inBrackets(func() string { return p.list(p.quoted) })
		}
		p.expectWord("as")
		_ = p.word("materialized") || p.word("not", "materialized") // both servers decide by themselves
		query := p.inBrackets(func() string { return p.query(false) })
		scope[low] = cte
		return Quote(cte) + columns + " AS " + query
	})
	if recursive {
		return "WITH RECURSIVE " + sql + " "
	}
	return "WITH " + sql + " "
}

// cteName returns the name under which a common table expression is written. Where rows are filtered, no table has it:
// should the server ever look for it in another place than this package, it finds nothing.
func (p *parser) cteName(name string) string {
	if p.Filtered {
		return "with " + name
	}
	return name
}

// declare finds the names of all common table expressions of a WITH in advance.
func (p *parser) declare(scope map[string]string) {
	is := func(i int, value string) bool {
		t := p.ahead(i)
		return (t.kind == sign || t.kind == word) && (t.value == value || t.low == value)
	}
	for i := 0; ; i++ { // at a name
		if t := p.ahead(i); t.kind == word || t.kind == name {
			scope[strings.ToLower(t.value)] = p.cteName(t.value)
		}
		if i++; is(i, "(") {
			i = p.afterBrackets(i)
		}
		for ; is(i, "as") || is(i, "not") || is(i, "materialized"); i++ {
		}
		if !is(i, "(") {
			return
		}
		if i = p.afterBrackets(i); !is(i, ",") {
			return
		}
	}
}

// afterBrackets returns where the brackets that open at a later token have closed.
func (p *parser) afterBrackets(i int) int {
	for depth := 0; p.ahead(i).kind != ending; i++ {
		if t := p.ahead(i); t.kind == sign {
			switch t.value {
			case "(":
				depth++
			case ")":
				depth--
			}
		}
		if depth == 0 {
			return i + 1
		}
	}
	return i
}

// unions reads selects joined by UNION, EXCEPT and INTERSECT.
func (p *parser) unions(inner bool) string {
	sql := p.operand(inner)
	for {
		operator := p.choose("union", "except", "intersect")
		if operator == "" {
			return sql
		}
		if all := p.choose("all", "distinct"); all != "" {
			operator += " " + all
		}
		sql += " " + operator + " " + p.operand(true)
	}
}

// operand reads a select, VALUES, TABLE, or a query in brackets.
func (p *parser) operand(inner bool) string {
	switch {
	case p.isSign("("):
		return p.inBrackets(func() string { return p.query(inner) })
	case p.word("select"):
		return p.selection(inner)
	case p.word("values"):
		return "VALUES " + p.list(p.rowOfValues)
	case p.word("table"):
		schema, name := p.tableName()
		if cte, ok := p.common(schema, name); ok {
			return "SELECT * FROM " + Quote(cte)
		}
		t := p.resolve(schema, name)
		if t.Query {
			return "SELECT * FROM " + t.SQL + " AS " + Quote(name)
		}
		return "SELECT * FROM " + t.SQL
	}
	p.unexpected()
	return ""
}

// rowOfValues reads a row of VALUES. The servers write it differently, and both ways are read.
func (p *parser) rowOfValues() string {
	p.word("row")
	row := p.inBrackets(func() string { return p.list(p.plain) })
	if p.MariaDB {
		return row
	}
	return "ROW" + row
}

// hints are words behind SELECT that change neither rows nor their order. They are left out.
var hints = []string{
	"high_priority", "sql_small_result", "sql_big_result", "sql_buffer_result", "sql_no_cache", "sql_cache",
}

// selection reads a select behind its first word.
func (p *parser) selection(inner bool) string {
	sql := "SELECT "
	for {
		switch {
		case p.oneOf("distinct", "distinctrow"):
			p.next()
			sql += "DISTINCT "
			continue
		case p.word("all"):
			continue
		case p.word("straight_join"):
			sql += "STRAIGHT_JOIN "
			continue
		case p.oneOf(hints...):
			p.next()
			continue
		}
		break
	}
	first := p.at
	sql += p.list(func() string {
		if p.at > first && p.isSign("*") {
			p.refuse("* must be the first in the list. Write t.* for all columns of t behind others.")
		}
		return p.item(inner)
	})
	if p.word("from") {
		if p.word("dual") {
			sql += " FROM DUAL"
		} else {
			sql += " FROM " + p.list(p.joined)
		}
	}
	if p.word("where") {
		sql += " WHERE " + p.plain()
	}
	if p.word("group", "by") {
		sql += " GROUP BY " + p.groups()
	}
	if p.word("having") {
		sql += " HAVING " + p.plain()
	}
	if p.word("window") {
		sql += " WINDOW " + p.list(func() string {
			window := p.quoted()
			p.expectWord("as")
			return window + " AS " + p.window()
		})
	}
	return sql
}

// groups reads what follows GROUP BY. ROLLUP (a, b) is what the servers call a, b WITH ROLLUP.
func (p *parser) groups() string {
	if p.isWord("rollup") && p.ahead(1).value == "(" {
		p.next()
		p.expectSign("(")
		sql := p.list(p.ordered)
		p.expectSign(")")
		return sql + " WITH ROLLUP"
	}
	sql := p.list(p.ordered)
	if p.word("with", "rollup") {
		sql += " WITH ROLLUP"
	}
	return sql
}

// item reads an entry of a select's list. The server would name a column after the text that it gets, so an expression
// gets the name that it has in the statement.
func (p *parser) item(inner bool) string {
	if p.sign("*") {
		return "*"
	}
	if star, ok := p.allOf(); ok {
		return star
	}
	from := p.peek().from
	e := p.expression()
	if alias, ok := p.alias(true); ok {
		return e.sql + " AS " + Quote(alias)
	}
	if inner || e.column || e.literal || p.err != nil {
		return e.sql // the server's name for it is the right one
	}
	return e.sql + " AS " + Quote(columnName(p.text[from:p.tokens[p.at-1].to]))
}

// maxName is the length of a column's name in characters.
const maxName = 64

// columnName returns a text as the name of a column.
func columnName(s string) string {
	s = strings.Join(strings.Fields(s[:min(len(s), maxName*utf8.UTFMax)]), " ")
	if runes := []rune(s); len(runes) > maxName {
		s = string(runes[:maxName])
	}
	if s = strings.TrimSpace(strings.ToValidUTF8(s, "")); s == "" {
		return "?"
	}
	return s
}

// allOf reads t.* or db.t.*.
func (p *parser) allOf() (string, bool) {
	if k := p.peek().kind; k != word && k != name {
		return "", false
	}
	for i := 1; i <= 3 && p.ahead(i).kind == sign && p.ahead(i).value == "."; i += 2 {
		if star := p.ahead(i + 1); star.kind != sign || star.value != "*" {
			continue
		}
		path := []string{Quote(p.identifier())}
		for p.sign(".") && !p.isSign("*") {
			path = append(path, Quote(p.member()))
		}
		p.expectSign("*")
		return p.path(path) + ".*", true
	}
	return "", false
}

// path joins names with dots. Where rows are filtered, a table is a query without a schema.
func (p *parser) path(names []string) string {
	if p.Filtered && len(names) == 3 {
		names = names[1:]
	}
	return strings.Join(names, ".")
}

// alias reads a name with or without AS. A column's name may be in quotes.
func (p *parser) alias(column bool) (string, bool) {
	as := p.word("as")
	t := p.peek()
	switch {
	case column && t.kind == text:
		p.next()
		return columnName(t.value), true
	case t.kind == name, t.kind == word && !reserved[t.low] && (as || !notAlias[t.low]):
		p.next()
		return t.value, true
	case as:
		p.unexpected()
	}
	return "", false
}

// ordered reads an expression with a direction.
func (p *parser) ordered() string {
	s := p.plain()
	if direction := p.choose("asc", "desc"); direction != "" {
		s += " " + direction
	}
	if p.isWord("nulls") {
		p.refuse("There is no NULLS FIRST or NULLS LAST. Order by x IS NULL, x.")
	}
	return s
}

func (p *parser) orderBy() string {
	if !p.word("order", "by") {
		return ""
	}
	return " ORDER BY " + p.list(p.ordered)
}

// limit reads LIMIT or FETCH in all their forms.
func (p *parser) limit() string {
	if p.word("limit") {
		first := p.count()
		switch {
		case p.sign(","):
			return " LIMIT " + first + ", " + p.count()
		case p.word("offset"):
			return " LIMIT " + first + " OFFSET " + p.count()
		}
		return " LIMIT " + first
	}
	offset := ""
	if p.word("offset") {
		offset = p.count()
		p.choose("row", "rows")
	}
	if !p.word("fetch") {
		if offset != "" {
			p.unexpected()
		}
		return ""
	}
	if p.choose("first", "next") == "" {
		p.unexpected()
	}
	count := "1"
	if !p.oneOf("row", "rows") {
		count = p.count()
	}
	if p.choose("row", "rows") == "" {
		p.unexpected()
	}
	if p.word("with", "ties") {
		if offset == "" {
			offset = "0"
		}
		return " OFFSET " + offset + " ROWS FETCH NEXT " + count + " ROWS WITH TIES"
	}
	p.expectWord("only")
	if offset != "" {
		offset = " OFFSET " + offset
	}
	return " LIMIT " + count + offset
}

// count reads a number of rows.
func (p *parser) count() string {
	t := p.next()
	switch t.kind {
	case number:
		if n, err := strconv.ParseUint(t.value, 10, 64); err == nil {
			return strconv.FormatUint(n, 10)
		}
	case argument:
		if v, ok := p.argument(t).(int64); ok && v >= 0 {
			return strconv.FormatInt(v, 10)
		}
	}
	p.refuse("LIMIT and OFFSET take whole numbers.")
	return ""
}

// argument returns the value of $1.
func (p *parser) argument(t token) any {
	n, err := strconv.Atoi(t.value)
	if err != nil || n < 1 || n > len(p.Args) {
		if p.err == nil {
			p.err = source.Failf("The statement uses the argument $%s, but there are %d.", t.value, len(p.Args))
		}
		return nil
	}
	p.used[n] = true
	return p.Args[n-1]
}

func (p *parser) argumentLiteral(t token) string {
	a := p.argument(t)
	if p.err != nil {
		return ""
	}
	sql, err := value(t.value, a)
	p.err = err
	return sql
}
