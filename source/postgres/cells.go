package postgres

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/footnotehq/footnote"
)

// Values arrive as text, which is exact in Postgres, and are parsed by type.

type column struct {
	name, typ string // typ is the base type's name; for an array, "[]" plus the element's
	kind      string
	exact     bool // a numeric with a declared scale
}

type columns []column

func newColumns(fields []pgconn.FieldDescription, cat *catalog) columns {
	cols := make(columns, len(fields))
	for i, f := range fields {
		typ := cat.base(f.DataTypeOID)
		cols[i] = column{
			name: strings.ToValidUTF8(f.Name, "\uFFFD"), typ: typ, kind: kindOf(typ), exact: f.TypeModifier >= 0,
		}
	}
	return cols
}

func (c columns) empty() bool { return len(c) == 0 }

func (c columns) describe() []footnote.Column {
	out := make([]footnote.Column, len(c))
	for i := range c {
		out[i] = footnote.Column{Name: c[i].name, Kind: c[i].kind}
	}
	return out
}

func (c columns) row(values [][]byte) []any {
	row := make([]any, len(c))
	for i, v := range values {
		if v != nil {
			row[i] = c[i].cell(string(v))
		}
	}
	return row
}

// kindOf returns the kind of a base type.
func kindOf(typ string) string {
	switch typ {
	case "bool":
		return footnote.KindBoolean
	case "int2", "int4", "int8", "oid":
		return footnote.KindInteger
	case "float4", "float8":
		return footnote.KindNumber
	case "numeric", "money":
		return footnote.KindDecimal
	case "date":
		return footnote.KindDate
	case "timestamp", "timestamptz":
		return footnote.KindTimestamp
	case "time", "timetz":
		return footnote.KindTime
	case "json", "jsonb":
		return footnote.KindJSON
	case "bytea":
		return footnote.KindBlob
	case "":
		return footnote.KindUnknown
	}
	if strings.HasPrefix(typ, "[]") {
		return footnote.KindJSON
	}
	return footnote.KindText
}

func (c *column) cell(s string) any {
	switch c.typ {
	case "bool":
		return s == "t"
	case "int2", "int4", "int8", "oid":
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return n
		}
		return s
	case "float4", "float8":
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return nil
		}
		return f
	case "numeric":
		return c.decimal(s)
	case "money":
		return strings.NewReplacer("$", "", ",", "").Replace(s)
	case "date", "timestamp", "timestamptz":
		return moment(s, c.typ)
	case "bytea":
		return blobText((len(s) - len(`\x`)) / 2)
	}
	if element, ok := strings.CutPrefix(c.typ, "[]"); ok {
		if text, ok := arrayJSON(s, element); ok {
			return text
		}
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

func blobText(n int) string {
	if n == 1 {
		return "blob, 1 byte"
	}
	return "blob, " + strconv.Itoa(n) + " bytes"
}

// decimal returns a numeric as Postgres writes it, without the trailing zeros that a division or an average adds.
func (c *column) decimal(s string) any {
	if s == "NaN" || s == "Infinity" || s == "-Infinity" {
		return nil
	}
	if whole, fraction, ok := strings.Cut(s, "."); ok && !c.exact && len(fraction) >= 10 {
		if fraction = strings.TrimRight(fraction, "0"); fraction == "" {
			return whole
		}
		return whole + "." + fraction
	}
	return s
}

func moment(s, typ string) any {
	if s == "infinity" || s == "-infinity" {
		return nil
	}
	if typ == "date" || len(s) < 19 || s[10] != ' ' {
		return s
	}
	s = s[:10] + "T" + s[11:]
	if typ == "timestamptz" {
		s = strings.TrimSuffix(s, "+00") + "Z"
	}
	return s
}

// arrayJSON converts an array to JSON. Postgres writes {1,2,NULL} and {"a b","c\"d"}, preceded by bounds unless
// they begin at 1.
func arrayJSON(s, element string) (string, bool) {
	if i := strings.Index(s, "={"); strings.HasPrefix(s, "[") && i > 0 {
		s = s[i+1:]
	}
	a := array{s: s, element: &column{typ: element}}
	if element == "box" || !a.list(0) || a.s != "" {
		return "", false
	}
	return string(a.out), true
}

type array struct {
	s       string // the unread rest
	element *column
	out     []byte
}

func (a *array) list(depth int) bool {
	if depth > 6 || a.s == "" || a.s[0] != '{' {
		return false
	}
	a.s = a.s[1:]
	a.out = append(a.out, '[')
	for first := true; ; first = false {
		if a.s == "" {
			return false
		}
		if a.s[0] == '}' {
			a.s = a.s[1:]
			a.out = append(a.out, ']')
			return true
		}
		if !first {
			if a.s[0] != ',' {
				return false
			}
			a.s = a.s[1:]
			a.out = append(a.out, ',')
		}
		ok := false
		switch {
		case a.s != "" && a.s[0] == '{':
			ok = a.list(depth + 1)
		case a.s != "" && a.s[0] == '"':
			ok = a.quoted()
		default:
			ok = a.bare()
		}
		if !ok {
			return false
		}
	}
}

func (a *array) quoted() bool {
	var b []byte
	for i := 1; i < len(a.s); i++ {
		switch a.s[i] {
		case '\\':
			if i++; i == len(a.s) {
				return false
			}
			b = append(b, a.s[i])
		case '"':
			a.s = a.s[i+1:]
			a.value(string(b))
			return true
		default:
			b = append(b, a.s[i])
		}
	}
	return false
}

func (a *array) bare() bool {
	end := strings.IndexAny(a.s, ",}")
	if end <= 0 {
		return false
	}
	word := a.s[:end]
	a.s = a.s[end:]
	if word == "NULL" {
		a.out = append(a.out, "null"...)
	} else {
		a.value(word)
	}
	return true
}

func (a *array) value(s string) {
	v := a.element.cell(s)
	if text, ok := v.(string); ok {
		switch a.element.typ {
		case "json", "jsonb", "numeric":
			if json.Valid([]byte(text)) {
				a.out = append(a.out, text...)
				return
			}
		}
	}
	data, err := json.Marshal(v)
	if err != nil {
		data = []byte("null")
	}
	a.out = append(a.out, data...)
}
