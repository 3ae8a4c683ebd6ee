package postgres

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/wordlist"
)

// Values arrive as text, which is exact in Postgres, and are parsed by type.

type column struct {
	name, typ string // typ is the base type's name; for an array, "[]" plus the element's
	kind      string
	exact     bool // a numeric with a declared scale
	types     *pgtype.Map
}

type columns []column

func newColumns(fields []pgconn.FieldDescription, cat *catalog, types *pgtype.Map) columns {
	cols := make(columns, len(fields))
	for i, f := range fields {
		typ := cat.base(f.DataTypeOID)
		cols[i] = column{
			name: strings.ToValidUTF8(f.Name, "\uFFFD"), typ: typ, kind: kindOf(typ), exact: f.TypeModifier >= 0,
			types: types,
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

// kinds maps base types to kinds. The others are texts.
var kinds = wordlist.Map(`
	bool: boolean
	int2 int4 int8 oid: integer
	float4 float8: number
	numeric money: decimal
	date: date
	timestamp timestamptz: timestamp
	time timetz: time
	json jsonb: json
	bytea: blob`)

// kindOf returns the kind of a base type.
func kindOf(typ string) string {
	switch {
	case typ == "":
		return footnote.KindUnknown
	case strings.HasPrefix(typ, "[]"):
		return footnote.KindJSON
	}
	return cmp.Or(kinds[typ], footnote.KindText)
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
		if text, ok := c.arrayJSON(s, element); ok {
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

// arrayJSON converts an array to JSON. Arrays of all types are written like those of text, except those of boxes.
func (c *column) arrayJSON(s, element string) (string, bool) {
	var a pgtype.Array[*string]
	if element == "box" || c.types.Scan(pgtype.TextArrayOID, pgtype.TextFormatCode, []byte(s), &a) != nil {
		return "", false
	}
	of := column{typ: element}
	list := make([]string, len(a.Elements))
	for i, v := range a.Elements {
		list[i] = "null"
		if v != nil {
			list[i] = of.json(*v)
		}
	}
	for _, dimension := range slices.Backward(a.Dims) { // the innermost first
		var rows []string
		for row := range slices.Chunk(list, max(int(dimension.Length), 1)) {
			rows = append(rows, "["+strings.Join(row, ",")+"]")
		}
		list = rows
	}
	if len(list) == 0 {
		return "[]", true
	}
	return list[0], len(list) == 1
}

// json returns a cell as JSON.
func (c *column) json(s string) string {
	v := c.cell(s)
	if text, ok := v.(string); ok && slices.Contains([]string{"json", "jsonb", "numeric"}, c.typ) &&
		json.Valid([]byte(text)) {
		return text
	}
	data, err := json.Marshal(v)
	if err != nil {
		return "null"
	}
	return string(data)
}
