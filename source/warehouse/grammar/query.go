package grammar

import (
	"fmt"
	"slices"
	"strings"
)

// query reads a query: WITH, selects joined by UNION and the like, ORDER BY and LIMIT.
func (p *parser) query() {
	p.deeper(func() {
		commons := len(p.commons)
		p.with()
		for single := true; single || p.setOperator(); single = false {
			p.operandQuery()
			if !single {
				p.topAt = 0
			}
			at, ordered := p.topAt, p.isWord("order", "by")
			p.orderBy()
			if p.d.Transact != nil {
				p.rowLimit(at, ordered)
			}
			p.limits()
			if p.d.Transact != nil {
				p.transactEnd()
			}
		}
		if p.err == nil {
			p.commons = p.commons[:commons]
		}
	})
}

// setOperator reads UNION and the like, if one comes next.
func (p *parser) setOperator() bool {
	n := 0
	for t := p.ahead(n); t.kind == word && joinWords[t.low]; t = p.ahead(n) {
		n++
	}
	if t := p.ahead(n); t.kind != word || !setOperators[t.low] {
		return false
	}
	for range n + 1 {
		p.take(p.peek().low)
	}
	_ = p.choose("all", "distinct")
	if _ = p.take("strict"); p.take("by", "name") || p.take("corresponding") {
		if p.choose("on", "by") {
			p.columns()
		}
	}
	return true
}

// with reads common table expressions, and names of values: WITH 5 AS five.
func (p *parser) with() {
	if !p.take("with") {
		return
	}
	recursive := p.d.Transact != nil && p.skip("recursive") || p.take("recursive")
	p.list(func() {
		if !p.try(func() { p.common(recursive) }) {
			p.expression()
			p.need("as")
			p.name()
		}
	})
}

// common reads a common table expression. Where something is hidden, it gets another name: should the server ever take
// its name for a table's, it finds nothing.
func (p *parser) common(recursive bool) {
	written, value := p.identifier()
	if p.Cut {
		p.renamed++
		written = fmt.Sprintf("footnote_with_%d", p.renamed)
	}
	c := common{strings.ToLower(value), written}
	if recursive {
		p.commons = append(p.commons, c)
	}
	p.emit(written)
	p.columns()
	p.need("as")
	if p.isWord("materialized") {
		p.next() // the server decides by itself
	} else if p.isWord("not", "materialized") {
		p.next()
		p.next()
	}
	p.inBrackets(p.query)
	if !recursive {
		p.commons = append(p.commons, c)
	}
}

// columns reads the names of columns in brackets, if there are any.
func (p *parser) columns() {
	if p.isSign("(") {
		p.inBrackets(func() { p.list(p.name) })
	}
}

// operandQuery reads a select, VALUES, or a query in brackets.
func (p *parser) operandQuery() {
	switch {
	case p.isSign("("):
		p.inBrackets(p.query)
		p.topAt = 0
	case p.oneOf("select", "from"):
		p.selection()
	case p.take("values"):
		p.list(p.expression)
	default:
		p.unexpected()
	}
}

// selection reads a select, which may begin with FROM. Its clauses come in an order that the server checks.
func (p *parser) selection() {
	outer := p.aliases
	p.aliases = nil // what encloses a select, or is beside it, may not be visible in it
	defer func() { p.aliases = outer }()
	if p.take("from") {
		p.list(p.joined)
	}
	p.need("select")
	if p.choose("all", "distinct") && p.take("on") {
		p.brackets()
	}
	at := len(p.out)
	defer func() { p.topAt = at }()
	if p.take("top") {
		p.top()
		at = -1
	}
	if p.isWord("as") && (p.ahead(1).low == "struct" || p.ahead(1).low == "value") {
		p.take("as")
		_ = p.choose("struct", "value")
	}
	p.items()
	for p.err == nil {
		switch {
		case p.take("from"):
			p.list(p.joined)
		case p.choose("prewhere", "where", "having", "qualify"):
			p.expression()
		case p.take("group", "by"):
			p.groups()
		case p.take("window"):
			p.list(func() {
				p.name()
				p.need("as")
				p.windowOrName()
			})
		default:
			return
		}
	}
}

// items reads the list of a select. A comma at its end is left out.
func (p *parser) items() {
	for p.item(); p.isSign(","); p.item() {
		if t := p.ahead(1); t.kind == ending || t.kind == word && t.low == "from" || p.signAt(1, ")") {
			p.next()
			return
		}
		p.needSign(",")
	}
}

// item reads an entry of a select's list.
func (p *parser) item() {
	if p.star() {
		return
	}
	p.expression()
	p.alias()
}

// star reads * or t.*, with the changes that may follow it.
func (p *parser) star() bool {
	n := 0
	for p.isName(n) && p.signAt(n+1, ".") {
		n += 2
	}
	if !p.signAt(n, "*") {
		return false
	}
	var path []string
	for range n / 2 {
		written, _ := p.identifier()
		path = append(path, written)
		p.next()
	}
	p.next()
	p.emit(strings.Join(append(p.cutPath(path), "*"), "."))
	p.changes()
	return true
}

// changes reads what may follow a star.
func (p *parser) changes() {
	for p.err == nil {
		switch {
		case p.oneOf("except", "exclude", "replace", "rename") && p.signAt(1, "(") && p.ahead(2).low != "select" &&
			p.ahead(2).low != "with" && p.choose("except", "exclude", "replace", "rename"):
			p.brackets()
		case p.take("exclude"), p.take("rename"):
			p.name()
			if p.isWord("as") {
				p.alias()
			}
		case p.take("apply"):
			p.apply()
		default:
			return
		}
	}
}

// apply reads the function that is applied to each column of a star: APPLY max, APPLY(max) or APPLY(x -> f(x)).
func (p *parser) apply() {
	brackets := p.sign("(")
	if p.isName(0) && p.signAt(1, "->") {
		p.expression()
	} else {
		written, value := p.identifier()
		p.harmless(value)
		p.emit(written)
		if p.isSign("(") { // of a parameter: quantile(0.9)
			p.deeper(p.arguments)
		}
	}
	if brackets {
		p.needSign(")")
	}
}

// cutPath drops the schema of a column where a table may be a query, which has none.
func (p *parser) cutPath(path []string) []string {
	if p.Cut && len(path) > 1 {
		return path[len(path)-1:]
	}
	return path
}

// named reads an expression that may have a name.
func (p *parser) named() {
	if p.expression(); p.isWord("as") {
		p.alias()
	}
}

func (p *parser) groups() {
	_ = p.isWord("distinct") && !p.signAt(1, "(") && p.take("distinct")
	p.list(p.group)
	for p.isWord("with") {
		if p.need("with"); !p.choose("rollup", "cube", "totals") {
			p.unexpected()
		}
	}
}

// group reads an entry of GROUP BY.
func (p *parser) group() {
	switch {
	case p.take("grouping", "sets"), p.oneOf("rollup", "cube") && p.signAt(1, "(") && p.choose("rollup", "cube"):
		p.deeper(func() { p.inBrackets(func() { p.list(p.group) }) })
	case p.take("all"):
		if p.oneOf("grouping", "rollup", "cube") {
			p.group()
		}
	default:
		p.named()
	}
}

func (p *parser) orderBy() {
	if !p.take("order", "by") {
		return
	}
	p.list(func() {
		if !p.take("all") {
			p.named()
		}
		_ = p.choose("asc", "desc")
		_ = p.take("nulls", "first") || p.take("nulls", "last")
		if p.take("with", "fill") {
			for p.choose("from", "to", "step") {
				p.expression()
			}
		}
	})
}

// limits reads LIMIT, OFFSET and FETCH in all their forms.
func (p *parser) limits() {
	for p.err == nil {
		switch {
		case p.take("limit"):
			if !p.take("all") {
				p.list(p.expression)
			}
			if p.take("by") {
				p.list(p.expression)
			}
		case p.take("offset"):
			p.expression()
			_ = p.choose("row", "rows")
		case p.take("fetch"):
			_ = p.choose("first", "next")
			p.literal()
			if !p.choose("row", "rows") {
				p.unexpected()
			}
			p.take("only")
		case !p.take("with", "ties"):
			return
		}
	}
}

// joined reads tables joined to each other.
func (p *parser) joined() {
	p.deeper(func() {
		p.factor()
		for p.err == nil {
			switch {
			case p.isWord("lateral", "view"):
				p.lateralView()
			case !p.join():
				return
			}
		}
	})
}

// join reads a join with its condition, if one comes next.
func (p *parser) join() bool {
	n := 0
	if p.d.Transact != nil && (p.take("cross", "apply") || p.take("outer", "apply")) {
		p.factor()
		return true
	}
	for t := p.ahead(n); t.kind == word && joinWords[t.low] && !p.x.Unknown[t.low]; t = p.ahead(n) {
		n++
	}
	if t := p.ahead(n); t.kind != word || t.low != "join" {
		return false
	}
	array := false
	for range n + 1 {
		t := p.next()
		array = array || t.low == "array"
		p.emit(strings.ToUpper(t.low))
	}
	if array {
		p.list(p.item)
		return true
	}
	p.factor()
	if p.take("match_condition") {
		p.brackets()
	}
	for p.choose("on", "using") {
		p.list(p.expression)
	}
	return true
}

// lateralView reads LATERAL VIEW explode(x) t AS a, b.
func (p *parser) lateralView() {
	p.need("lateral", "view")
	p.take("outer")
	p.tableFunction()
	if !p.isWord("as") {
		p.name()
	}
	if p.take("as") {
		p.list(p.name)
	}
}

// factor reads one table of a FROM.
func (p *parser) factor() {
	switch {
	case p.isSign("("):
		p.bracketFactor()
	case p.take("lateral"):
		p.factor()
		return
	case p.isWord("table") && p.signAt(1, "("):
		p.need("table")
		p.inBrackets(p.tableFunction)
	case p.isWord("values") && p.signAt(1, "("):
		p.need("values")
		p.list(p.expression)
	case p.isName(0) && p.signAt(1, "("):
		p.tableFunction()
	default:
		p.table()
		return
	}
	p.tableAlias()
	p.modifiers()
}

func (p *parser) bracketFactor() {
	p.deeper(func() {
		if !p.startsQuery() || !p.try(func() { p.inBrackets(p.query) }) {
			p.inBrackets(func() { p.list(p.joined) })
		}
	})
}

// startsQuery reports whether the opening brackets that come next are those of a query.
func (p *parser) startsQuery() bool {
	n := 0
	for p.signAt(n, "(") {
		n++
	}
	t := p.ahead(n)
	return t.kind == word && (t.low == "select" || t.low == "with" || t.low == "values" || t.low == "from")
}

func (p *parser) tableAlias() bool {
	ok := p.alias()
	if ok {
		p.aliases = append(p.aliases, strings.ToLower(p.tokens[p.at-1].value))
		p.columns()
	}
	return ok
}

// modifiers reads what may follow a table.
func (p *parser) modifiers() {
	for p.err == nil {
		switch {
		case p.hints():
		case p.take("final"), p.take("with", "ordinality"):
			p.tableAlias()
		case p.take("with", "offset"):
			p.alias()
		case p.take("sample"), p.take("tablesample"):
			_ = p.choose("bernoulli", "system", "row", "block")
			p.sample()
		case p.choose("pivot", "unpivot"):
			_ = p.choose("include", "exclude") && p.take("nulls")
			p.inBrackets(func() {
				p.list(p.item)
				p.need("for")
				p.expression()
			})
			p.tableAlias()
		default:
			return
		}
	}
}

func (p *parser) sample() {
	if !p.isSign("(") {
		p.expression()
		if p.take("offset") {
			p.expression()
		}
		return
	}
	p.inBrackets(func() {
		p.literal()
		_ = p.choose("percent", "rows")
	})
	if p.choose("seed", "repeatable") {
		p.brackets()
	}
}

// tableFunction reads a call of a function that returns rows.
func (p *parser) tableFunction() {
	written, value := p.identifier()
	low := strings.ToLower(value)
	if p.err == nil && (!p.d.TableFunctions[low] || p.d.Transact != nil && p.Routines[low]) {
		p.refuse("The function %.60s is not allowed in FROM: it is not among the harmless ones.", value)
	}
	p.emit(p.called(written, value))
	p.arguments()
	p.columnsOfJSON(low)
}

// table reads a table, a view or a common table expression.
func (p *parser) table() {
	written, value := p.identifier()
	path := []string{value}
	if p.d.DottedNames {
		value = p.dashed(value)
		path = strings.Split(value, ".")
	}
	for p.isSign(".") {
		p.next()
		written, value = p.member()
		path = append(path, value)
	}
	if p.err != nil {
		return
	}
	if p.d.DottedNames && strings.Contains(value, ".") {
		written = p.d.Quote(path[len(path)-1])
	}
	if cte, ok := p.commonTable(path); ok {
		p.emit(cte)
		p.aliasOr(written, cte != written)
		return
	}
	if p.d.DottedNames && !p.Cut && len(path) > 1 && slices.Contains(p.aliases, strings.ToLower(path[0])) {
		p.emit(strings.Join(path, "."))
		p.aliasOr(written, false)
		return
	}
	t, err := p.Table(path)
	if err != nil {
		p.err = err
		return
	}
	if !slices.Contains(p.tables, t.Listed) {
		p.tables = append(slices.Clip(p.tables), t.Listed)
	}
	p.emit(t.SQL)
	p.aliasOr(written, t.Query || t.Name != path[len(path)-1])
}

// dashed reads the rest of the name of a project without quotes, such as my-project.
func (p *parser) dashed(value string) string {
	for p.isSign("-") && p.peek().from == p.tokens[p.at-1].to && p.ahead(1).from == p.peek().to &&
		(p.ahead(1).kind == word || p.ahead(1).kind == number) {
		p.next()
		value += "-" + p.next().value
	}
	return value
}

// aliasOr reads the alias of a table, or writes one if it needs one, and what may follow.
func (p *parser) aliasOr(written string, needed bool) {
	if !p.tableAlias() {
		p.aliases = append(p.aliases, strings.ToLower(strings.Trim(written, string(p.d.NameQuote))))
		if needed {
			p.emit("AS", written)
		}
	}
	p.modifiers()
}

// commonTable returns how the common table expression of a name is written.
func (p *parser) commonTable(path []string) (string, bool) {
	if len(path) > 1 {
		return "", false
	}
	for _, c := range slices.Backward(p.commons) {
		if c.low == strings.ToLower(path[0]) {
			return c.written, true
		}
	}
	return "", false
}
