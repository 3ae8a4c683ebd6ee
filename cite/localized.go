package cite

import (
	"strings"
	"unicode"
)

// This file reads text columns with formatted numbers: "84.310,50", "€1,204.00", "12,5 %". All cells of a column must
// have the same style.

// localNumbers returns the cells of a column as plain decimals, and whether they are percentages. ok is false unless
// every cell is a number and at least one is formatted.
func localNumbers(ci int, rows [][]any) (cells []any, percent, ok bool) {
	comma, marked := false, false
	for _, row := range rows {
		s, isText := row[ci].(string)
		if !isText || s == "" {
			continue
		}
		body, pct := bareNumber(s)
		if body == "" || len(body) > 30 {
			return nil, false, false
		}
		percent = percent || pct
		i := strings.LastIndexAny(body, ".,")
		marked = marked || i >= 0 || pct || body != s
		if i < 0 {
			continue
		}
		if !strings.ContainsAny(body[:i], ".,") || body[strings.IndexAny(body, ".,")] == body[i] {
			comma = comma || body[i] == '.' && strings.Count(body, ".") > 1
		}
	}
	if !marked {
		return nil, false, false
	}
	group, point := ",", "."
	if comma {
		group, point = ".", ","
	}
	for _, row := range rows {
		s, _ := row[ci].(string)
		body, _ := bareNumber(s)
		body = strings.Replace(strings.ReplaceAll(body, group, ""), point, ".", 1)
		if body == "" {
			cells = append(cells, nil)
			continue
		}
		if _, fine := parseRat(body); !fine {
			return nil, false, false
		}
		cells = append(cells, body)
	}
	return cells, percent, true
}

// bareNumber strips currency, percent signs and spaces from a cell. It returns "" if the cell is not a number.
func bareNumber(s string) (body string, percent bool) {
	var b strings.Builder
	digits := 0
	for i, c := range s {
		switch {
		case c >= '0' && c <= '9':
			digits++
			b.WriteRune(c)
		case c == '.' || c == ',':
			b.WriteRune(c)
		case (c == '-' || c == '−' || c == '+') && digits == 0 && b.Len() == 0:
			if c != '+' {
				b.WriteByte('-')
			}
		case c == '%' && digits > 0:
			percent = true
		case unicode.Is(unicode.Sc, c), unicode.IsSpace(c), c == '\'' && i > 0, c == '’' && i > 0:
		default:
			return "", false
		}
	}
	out := strings.TrimRight(b.String(), ".,")
	if digits == 0 || digits < len(s)/3 || len(out) != b.Len() || isDateOrVersion(out) {
		return "", false
	}
	return out, percent
}

// isDateOrVersion reports whether a text is a date or a version, such as 14.02.2024 or 1.2.3.
func isDateOrVersion(s string) bool {
	parts := strings.FieldsFunc(s, func(c rune) bool { return c == '.' || c == ',' })
	if len(parts) < 3 {
		return false
	}
	for _, p := range parts[1 : len(parts)-1] {
		if len(p) != 3 {
			return true
		}
	}
	last := parts[len(parts)-1]
	same := strings.Count(s, ".") == 0 || strings.Count(s, ",") == 0
	return same && len(last) != 3
}
