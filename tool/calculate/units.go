package calculate

import (
	"regexp"
	"strings"

	"github.com/footnotehq/footnote"
)

// label sets the units and formats of the columns of a calculation where its formula keeps those of its parents: for a
// column that is passed through, for its sum, average, extreme or rounded value, and for sums and differences of
// columns with one unit. A product or a ratio has none, and neither has a statement with several SELECTs.
func label(sql string, parents []footnote.StoredResult, columns []footnote.Column) {
	known := map[string]footnote.Column{} // by name, in lower case
	for _, r := range parents {
		for _, c := range r.Columns {
			name, k := strings.ToLower(c.Name), footnote.Column{Unit: c.Unit, Format: c.Format}
			if old, ok := known[name]; ok && old != k {
				k = footnote.Column{} // one name, two units
			}
			known[name] = k
		}
	}
	items := selected(sql)
	if len(items) == 1 && items[0] == "*" && len(parents) == 1 && len(columns) == len(parents[0].Columns) {
		items = nil
		for _, c := range parents[0].Columns {
			items = append(items, `"`+c.Name+`"`)
		}
	}
	if len(items) != len(columns) {
		return
	}
	for i, item := range items {
		if k := unitOf(known, item); columns[i].Unit == "" && columns[i].Format == "" {
			columns[i].Unit, columns[i].Format = k.Unit, k.Format
		}
	}
}

var (
	onlyOne = regexp.MustCompile(`(?is)^\s*select\s+(.*)$`)
	others  = regexp.MustCompile(`(?i)\b(select|union|intersect|except|pivot|unpivot|distinct)\b`)
	alias   = regexp.MustCompile(`(?is)\s+as\s+("[^"]*"|\w+)$`)
	column  = regexp.MustCompile(`^(?:"?\w+"?\s*\.\s*)?("[^"]+"|[\pL_][\pL\p{Nd}_$]*)$`)
	call    = regexp.MustCompile(`(?is)^(?:sum|avg|min|max|median|any_value|first|last|abs|round)\s*` +
		`\((.*?)(?:,\s*-?\d+\s*)?\)$`)
)

// selected returns the expressions of a statement's only SELECT; nil if it has several.
func selected(sql string) []string {
	m := onlyOne.FindStringSubmatch(sql)
	if m == nil || others.MatchString(m[1]) || strings.Contains(sql, "--") || strings.Contains(sql, "/*") {
		return nil
	}
	items := split(m[1], func(s string, at int) (end, next int) {
		switch {
		case s[at] == ',':
			return at, at + 1
		case at > 0 && len(s) >= at+5 && strings.EqualFold(s[at:at+4], "from") && strings.TrimSpace(s[at-1:at]) == "" &&
			strings.TrimSpace(s[at+4:at+5]) == "":
			return at, -1 // the rest is no expression
		}
		return -1, 0
	})
	for i := range items {
		items[i] = strings.TrimSpace(alias.ReplaceAllString(strings.TrimSpace(items[i]), ""))
	}
	return items
}

// split cuts a text where cut says so, outside of quotes and brackets. cut returns where a part ends, or -1, and where
// the next one begins, or -1 if there is none.
func split(s string, cut func(s string, at int) (end, next int)) (parts []string) {
	depth, quote, from := 0, byte(0), 0
	for at := 0; at < len(s); at++ {
		switch c := s[at]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			depth--
		case depth == 0:
			end, next := cut(s, at)
			if end < 0 {
				continue
			}
			parts = append(parts, s[from:end])
			if next < 0 {
				return parts
			}
			from, at = next, next-1
		}
	}
	return append(parts, s[from:])
}

// unitOf returns the unit and format of an expression; empty ones if its columns have none or it does not keep them.
func unitOf(known map[string]footnote.Column, expression string) (k footnote.Column) {
	expression = strings.TrimSpace(expression)
	if m := column.FindStringSubmatch(expression); m != nil {
		return known[strings.ToLower(strings.Trim(m[1], `"`))]
	}
	terms := split(expression, func(s string, at int) (int, int) {
		if s[at] == '+' || s[at] == '-' {
			return at, at + 1
		}
		return -1, 0
	})
	if len(terms) > 1 {
		k = unitOf(known, terms[0])
		for _, t := range terms[1:] {
			if unitOf(known, t) != k {
				return footnote.Column{}
			}
		}
		return k
	}
	if m := call.FindStringSubmatch(expression); m != nil {
		return unitOf(known, m[1])
	}
	return k
}
