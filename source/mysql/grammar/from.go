package grammar

import (
	"slices"
	"strings"
)

// tableName reads the name of a table, perhaps with its schema.
func (p *parser) tableName() (schema, name string) {
	name = p.identifier()
	if p.sign(".") {
		schema, name = name, p.member()
	}
	return schema, name
}

// common returns the name of a common table expression as it was declared. The server may compare names by case, so
// the caller writes the declared one.
func (p *parser) common(schema, name string) (string, bool) {
	if schema != "" {
		return "", false
	}
	for _, scope := range slices.Backward(p.scopes) {
		if declared, ok := scope[strings.ToLower(name)]; ok {
			return declared, true
		}
	}
	return "", false
}

// resolve returns a table of the database, and counts it as read.
func (p *parser) resolve(schema, name string) Table {
	if p.err != nil {
		return Table{}
	}
	t, err := p.Table(schema, name)
	if err != nil {
		p.err = err
		return Table{}
	}
	if t.Listed != "" && !slices.Contains(p.tables, t.Listed) {
		p.tables = append(slices.Clip(p.tables), t.Listed)
	}
	return t
}

// joins maps the words that begin a join to how it is written. Longer ones come first.
var joins = [][]string{
	{"natural", "left", "outer", "join"}, {"natural", "right", "outer", "join"}, {"natural", "left", "join"},
	{"natural", "right", "join"}, {"natural", "inner", "join"}, {"natural", "join"}, {"left", "outer", "join"},
	{"right", "outer", "join"}, {"left", "join"}, {"right", "join"}, {"inner", "join"}, {"cross", "join"}, {"join"},
	{"straight_join"},
}

// joined reads tables joined to each other.
func (p *parser) joined() string {
	return p.deeper(func() string {
		sql := p.factor()
		open := 0 // joins whose condition comes later: a JOIN b JOIN c ON … ON …
		for {
			if open > 0 && p.oneOf("on", "using") {
				sql += p.joinCondition()
				open--
				continue
			}
			join := p.join()
			if join == "" {
				return sql
			}
			sql += " " + join + " " + p.factor()
			switch {
			case p.oneOf("on", "using"):
				sql += p.joinCondition()
			case !strings.HasPrefix(join, "NATURAL") && !strings.HasPrefix(join, "CROSS"):
				open++
			}
		}
	})
}

func (p *parser) join() string {
	for _, words := range joins {
		if p.word(words...) {
			return strings.ToUpper(strings.Join(words, " "))
		}
	}
	if p.isWord("full") {
		p.unexpected()
	}
	return ""
}

func (p *parser) joinCondition() string {
	if p.word("on") {
		return " ON " + p.plain()
	}
	p.expectWord("using")
	return " USING " + p.inBrackets(func() string { return p.list(p.quoted) })
}

// factor reads one table of a FROM.
func (p *parser) factor() string {
	switch {
	case p.isSign("("):
		if sql, ok := p.try(func() string { return p.derived() }); ok {
			return sql
		}
		return p.deeper(func() string {
			return p.inBrackets(func() string { return p.list(p.joined) })
		})
	case p.word("lateral"):
		return "LATERAL " + p.derived()
	case p.isWord("json_table") && p.ahead(1).value == "(":
		return p.jsonTable()
	case p.isSign("{"):
		p.refuse("The escapes {oj …} of ODBC are not allowed.")
	}
	return p.namedTable()
}

// derived reads a query in brackets with its alias.
func (p *parser) derived() string {
	sql := p.inBrackets(func() string { return p.query(false) })
	alias, ok := p.alias(false)
	if !ok {
		p.refuse("A query in FROM needs a name: (SELECT …) AS t.")
		return ""
	}
	sql += " AS " + Quote(alias)
	if p.isSign("(") {
		sql += " " + p.inBrackets(func() string { return p.list(p.quoted) })
	}
	return sql
}

// namedTable reads a table, a view or a common table expression.
func (p *parser) namedTable() string {
	schema, name := p.tableName()
	if p.isSign("(") {
		p.refuse("%.60s is not a function that returns rows.", name)
	}
	if cte, ok := p.common(schema, name); ok {
		alias, ok := p.alias(false)
		if !ok {
			alias = name
		}
		return Quote(cte) + " AS " + Quote(alias)
	}
	t := p.resolve(schema, name)
	part := p.partition() + p.systemTime()
	alias, ok := p.alias(false)
	hint := p.indexHints()
	switch {
	case part != "" && t.Query:
		p.refuse("This source limits what each user sees, so PARTITION and FOR SYSTEM_TIME are not available.")
	case t.Query:
		hint = "" // the query has no indexes
	}
	if !ok && (t.Query || t.Name != name) {
		alias, ok = name, true
	}
	if ok {
		return t.SQL + part + " AS " + Quote(alias) + hint
	}
	return t.SQL + part + hint
}

func (p *parser) partition() string {
	if !p.word("partition") {
		return ""
	}
	return " PARTITION " + p.inBrackets(func() string { return p.list(p.quoted) })
}

// systemTime reads the clause that reads the past of a table in MariaDB.
func (p *parser) systemTime() string {
	if !p.word("for", "system_time") {
		return ""
	}
	moment := func() string {
		p.word("timestamp")
		return "TIMESTAMP " + p.binary(0).wrapped()
	}
	switch {
	case p.word("all"):
		return " FOR SYSTEM_TIME ALL"
	case p.word("as", "of"):
		return " FOR SYSTEM_TIME AS OF " + moment()
	case p.word("from"):
		from := moment()
		p.expectWord("to")
		return " FOR SYSTEM_TIME FROM " + from + " TO " + moment()
	case p.word("between"):
		from := moment()
		p.expectWord("and")
		return " FOR SYSTEM_TIME BETWEEN " + from + " AND " + moment()
	}
	p.unexpected()
	return ""
}

// indexHints reads which indexes to use. They change no rows.
func (p *parser) indexHints() string {
	sql := ""
	for p.oneOf("use", "ignore", "force") {
		hint := p.choose("use", "ignore", "force")
		if p.choose("index", "key") == "" {
			p.unexpected()
		}
		hint += " INDEX"
		if p.word("for") {
			switch {
			case p.word("join"):
				hint += " FOR JOIN"
			case p.word("order", "by"):
				hint += " FOR ORDER BY"
			default:
				p.expectWord("group", "by")
				hint += " FOR GROUP BY"
			}
		}
		sql += " " + hint + " " + p.inBrackets(func() string {
			if p.isSign(")") {
				return ""
			}
			return p.list(func() string { return Quote(p.member()) })
		})
	}
	return sql
}

// jsonTable reads JSON_TABLE, which turns a document into rows.
func (p *parser) jsonTable() string {
	p.next()
	sql := "JSON_TABLE" + p.inBrackets(func() string {
		document := p.plain()
		p.expectSign(",")
		return document + ", " + p.literal() + " " + p.jsonColumns()
	})
	alias, ok := p.alias(false)
	if !ok {
		p.refuse("JSON_TABLE needs a name: JSON_TABLE(…) AS t.")
	}
	return sql + " AS " + Quote(alias)
}

func (p *parser) jsonColumns() string {
	return p.deeper(func() string {
		p.expectWord("columns")
		return "COLUMNS " + p.inBrackets(func() string { return p.list(p.jsonColumn) })
	})
}

func (p *parser) jsonColumn() string {
	if p.word("nested") {
		p.word("path")
		return "NESTED PATH " + p.literal() + " " + p.jsonColumns()
	}
	column := p.quoted()
	if p.word("for", "ordinality") {
		return column + " FOR ORDINALITY"
	}
	column += " " + p.columnType()
	if p.word("exists") {
		column += " EXISTS"
	}
	p.expectWord("path")
	column += " PATH " + p.literal()
	for p.oneOf("null", "error", "default") {
		switch p.choose("null", "error", "default") {
		case "NULL":
			column += " NULL ON "
		case "ERROR":
			column += " ERROR ON "
		default:
			column += " DEFAULT " + p.literal() + " ON "
		}
		p.expectWord("on")
		if when := p.choose("empty", "error"); when != "" {
			column += when
		} else {
			p.unexpected()
		}
	}
	return column
}

// literal reads a string.
func (p *parser) literal() string {
	if t := p.peek(); t.kind == text {
		p.next()
		return String(t.value)
	}
	p.unexpected()
	return ""
}
