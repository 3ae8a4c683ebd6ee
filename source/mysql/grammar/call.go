package grammar

import (
	"fmt"
	"strconv"
	"strings"
)

// specials are the functions whose arguments are written in a way of their own. They read the brackets.
var specials map[string]func(*parser) string

func init() { // because its functions refer to it
	specials = map[string]func(*parser) string{
		"cast": (*parser).cast, "convert": (*parser).convert, "extract": (*parser).extract, "trim": (*parser).trim,
		"substring": (*parser).substring, "substr": (*parser).substring, "mid": (*parser).substring,
		"position": (*parser).position, "timestampadd": timestamp("TIMESTAMPADD"),
		"timestampdiff": timestamp("TIMESTAMPDIFF"), "char": (*parser).char, "get_format": (*parser).getFormat,
		"repeat": (*parser).repeat, "space": (*parser).blanks, "lpad": pad("LPAD"), "rpad": pad("RPAD"),
	}
}

// cast reads CAST(x AS type).
func (p *parser) cast() string {
	return "CAST" + p.inBrackets(func() string {
		x := p.plain()
		p.expectWord("as")
		return x + " AS " + p.castType()
	})
}

// convert reads CONVERT(x, type) and CONVERT(x USING charset).
func (p *parser) convert() string {
	return "CONVERT" + p.inBrackets(func() string {
		x := p.plain()
		if p.word("using") {
			return x + " USING " + p.charset()
		}
		p.expectSign(",")
		return x + ", " + p.castType()
	})
}

// castTypes are the types that CAST takes, and other names for them.
var castTypes = map[string]string{
	"binary": "BINARY", "char": "CHAR", "character": "CHAR", "nchar": "CHAR", "varchar": "CHAR", "text": "CHAR",
	"string": "CHAR", "date": "DATE", "datetime": "DATETIME", "timestamp": "DATETIME", "time": "TIME",
	"decimal": "DECIMAL", "numeric": "DECIMAL", "dec": "DECIMAL", "double": "DOUBLE", "float": "FLOAT",
	"real": "DOUBLE", "signed": "SIGNED", "int": "SIGNED", "integer": "SIGNED", "bigint": "SIGNED",
	"smallint": "SIGNED", "unsigned": "UNSIGNED", "json": "JSON", "year": "YEAR", "uuid": "UUID", "inet4": "INET4",
	"inet6": "INET6",
}

// castType reads the type of CAST.
func (p *parser) castType() string {
	t := p.peek()
	sql, ok := castTypes[t.low]
	if t.kind != word || !ok {
		if t.kind == word && p.err == nil {
			p.refuse("CAST has no type %.40s. Use SIGNED, DECIMAL(p, s), DOUBLE, CHAR, DATE, DATETIME, TIME or JSON.",
				t.value)
		}
		p.unexpected()
		return ""
	}
	p.next()
	switch sql {
	case "SIGNED", "UNSIGNED":
		if p.word("unsigned") {
			sql = "UNSIGNED"
		}
		_ = p.word("integer") || p.word("int")
		return sql
	case "DOUBLE":
		p.word("precision")
	}
	if sql == "BINARY" && p.isSign("(") { // it fills up with zeros
		return sql + p.inBrackets(func() string { return p.times(maxMade) })
	}
	sql += p.size()
	if p.word("character", "set") || p.word("charset") {
		sql += " CHARACTER SET " + p.charset()
	}
	if p.word("collate") {
		sql += " COLLATE " + p.charset()
	}
	return sql
}

// size reads the length of a type, or its digits.
func (p *parser) size() string {
	if !p.isSign("(") {
		return ""
	}
	return p.inBrackets(func() string { return p.list(p.digits) })
}

func (p *parser) digits() string {
	if t := p.peek(); t.kind == number {
		if n, err := strconv.ParseUint(t.value, 10, 32); err == nil {
			p.next()
			return strconv.FormatUint(n, 10)
		}
	}
	p.unexpected()
	return ""
}

// columnTypes are further types of columns of JSON_TABLE.
var columnTypes = map[string]bool{
	"int": true, "integer": true, "bigint": true, "smallint": true, "tinyint": true, "mediumint": true,
	"decimal": true, "numeric": true, "double": true, "float": true, "real": true, "varchar": true, "char": true,
	"text": true, "longtext": true, "mediumtext": true, "tinytext": true, "date": true, "datetime": true, "time": true,
	"timestamp": true, "year": true, "json": true, "boolean": true, "bool": true,
}

// columnType reads the type of a column of JSON_TABLE.
func (p *parser) columnType() string {
	t := p.peek()
	if t.kind != word || !columnTypes[t.low] {
		p.unexpected()
		return ""
	}
	p.next()
	sql := strings.ToUpper(t.low) + p.size()
	if p.word("unsigned") {
		sql += " UNSIGNED"
	}
	if p.word("character", "set") || p.word("charset") {
		sql += " CHARACTER SET " + p.charset()
	}
	if p.word("collate") {
		sql += " COLLATE " + p.charset()
	}
	return sql
}

func (p *parser) extract() string {
	return "EXTRACT" + p.inBrackets(func() string {
		unit := p.unit()
		p.expectWord("from")
		return unit + " FROM " + p.plain()
	})
}

func (p *parser) trim() string {
	return "TRIM" + p.inBrackets(func() string {
		side := p.choose("both", "leading", "trailing")
		if side != "" {
			side += " "
		}
		what := ""
		if !p.isWord("from") {
			what = p.plain()
		}
		if p.word("from") {
			if what != "" {
				what += " "
			}
			return side + what + "FROM " + p.plain()
		}
		if side != "" {
			p.unexpected()
		}
		return what
	})
}

func (p *parser) substring() string {
	return "SUBSTRING" + p.inBrackets(func() string {
		sql := p.plain()
		if !p.word("from") {
			for p.sign(",") {
				sql += ", " + p.plain()
			}
			return sql
		}
		sql += ", " + p.plain()
		if p.word("for") {
			sql += ", " + p.plain()
		}
		return sql
	})
}

func (p *parser) position() string {
	return "POSITION" + p.inBrackets(func() string {
		what := p.binary(0).wrapped()
		p.expectWord("in")
		return what + " IN " + p.plain()
	})
}

// timestamp returns a function for TIMESTAMPADD and TIMESTAMPDIFF.
func timestamp(function string) func(*parser) string {
	return func(p *parser) string {
		return function + p.inBrackets(func() string {
			sql := p.unit()
			for range 2 {
				p.expectSign(",")
				sql += ", " + p.plain()
			}
			return sql
		})
	}
}

func (p *parser) char() string {
	return "CHAR" + p.inBrackets(func() string {
		sql := p.list(p.plain)
		if p.word("using") {
			sql += " USING " + p.charset()
		}
		return sql
	})
}

func (p *parser) getFormat() string {
	return "GET_FORMAT" + p.inBrackets(func() string {
		kind := p.choose("date", "time", "datetime", "timestamp")
		p.expectSign(",")
		if kind == "" {
			p.unexpected()
		}
		return kind + ", " + p.plain()
	})
}

// maxMade is the length of a text that REPEAT and its like make of little. No server can be interrupted in the middle
// of a function, and some functions take the square of a text's length.
const (
	maxMade   = 20_000
	maxCopies = 1_000 // of a text whose length is not known, or where the number is not
)

// times reads how often something is repeated, at most limit times. A number that is computed is cut to maxCopies.
func (p *parser) times(limit int) string {
	e := p.expression()
	n, err := strconv.ParseFloat(e.sql, 64)
	if err != nil {
		return fmt.Sprintf("LEAST(%s, %d)", e.sql, maxCopies)
	}
	if n > float64(limit) {
		p.refuse("REPEAT, SPACE, LPAD and RPAD make texts of at most %d characters, and at most %d copies of a "+
			"column.", maxMade, maxCopies)
	}
	return e.sql
}

func (p *parser) repeat() string {
	return "REPEAT" + p.inBrackets(func() string {
		e := p.expression()
		limit := maxCopies
		if e.literal {
			limit = maxMade / max(len(e.sql)-len("''"), 1)
		}
		p.expectSign(",")
		return e.sql + ", " + p.times(limit)
	})
}

// blanks reads SPACE(n).
func (p *parser) blanks() string {
	return "SPACE" + p.inBrackets(func() string { return p.times(maxMade) })
}

// pad returns a function for LPAD and RPAD.
func pad(function string) func(*parser) string {
	return func(p *parser) string {
		return function + p.inBrackets(func() string {
			sql := p.plain()
			p.expectSign(",")
			sql += ", " + p.times(maxMade)
			if p.sign(",") {
				sql += ", " + p.plain()
			}
			return sql
		})
	}
}

// over reads what may follow the brackets of an aggregate or of a function of windows.
func (p *parser) over(function string) string {
	sql := ""
	if p.word("within", "group") {
		sql += " WITHIN GROUP " + p.inBrackets(func() string { return strings.TrimSpace(p.orderBy()) })
	}
	if p.isWord("filter") && p.ahead(1).value == "(" {
		p.unexpected()
	}
	if p.isWord("ignore", "nulls") {
		p.refuse("There is no IGNORE NULLS. Leave out rows that are NULL in a subquery.")
	}
	p.word("respect", "nulls")
	if !p.word("over") {
		return sql
	}
	if p.isSign("(") {
		return sql + " OVER " + p.window()
	}
	return sql + " OVER " + p.quoted()
}

// window reads the definition of a window in brackets.
func (p *parser) window() string {
	return p.inBrackets(func() string {
		var parts []string
		if t := p.peek(); t.kind == name || t.kind == word && !reserved[t.low] && t.low != "groups" {
			parts = append(parts, p.quoted())
		}
		if p.word("partition", "by") {
			parts = append(parts, "PARTITION BY "+p.list(p.plain))
		}
		if order := p.orderBy(); order != "" {
			parts = append(parts, strings.TrimSpace(order))
		}
		if unit := p.choose("rows", "range"); unit != "" {
			parts = append(parts, unit+" "+p.frame())
		}
		return strings.Join(parts, " ")
	})
}

func (p *parser) frame() string {
	if !p.word("between") {
		return p.bound()
	}
	from := p.bound()
	p.expectWord("and")
	return "BETWEEN " + from + " AND " + p.bound()
}

func (p *parser) bound() string {
	if p.word("current", "row") {
		return "CURRENT ROW"
	}
	amount := "UNBOUNDED"
	if !p.word("unbounded") {
		amount = p.binary(0).sql
	}
	direction := p.choose("preceding", "following")
	if direction == "" {
		p.unexpected()
	}
	return amount + " " + direction
}
