// Package rowfilter decides which rows of a source a principal may see, for engines without row-level
// security. A filter is a SQL condition with placeholders for attributes of the principal; the engines apply
// it beneath anything that a statement can express.
//
// It fails closed: a table without a filter cannot be read, and a placeholder without a value makes the whole
// condition false.
package rowfilter

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/footnotehq/footnote"
)

// Open is the filter of a table whose rows everybody may see.
const Open = "all"

// nothing is the condition that matches no rows, in every engine's SQL.
const nothing = "1 = 0"

// Rules are the filters of one source. Nil rules filter nothing.
type Rules struct{ tables map[string][]part }

// part is a piece of a condition: literal text or a placeholder.
type part struct {
	text  string
	place string // org, user, roles, or "attributes." and a name
	list  bool   // expands to all its values, separated by commas
}

// Parse parses filters by table name. It returns nil rules if there are no filters.
func Parse(filters map[string]string) (*Rules, error) {
	if len(filters) == 0 {
		return nil, nil
	}
	r := &Rules{tables: make(map[string][]part, len(filters))}
	folded := map[string]string{}
	for _, table := range slices.Sorted(maps.Keys(filters)) {
		low := strings.ToLower(table)
		if other, twice := folded[low]; twice {
			return nil, fmt.Errorf("%s and %s are one table", other, table)
		}
		folded[low] = table
		if table == "" || !utf8.ValidString(table) || strings.IndexByte(table, 0) >= 0 {
			return nil, fmt.Errorf("%q is not a valid table name", table)
		}
		if strings.EqualFold(strings.TrimSpace(filters[table]), Open) {
			r.tables[table] = nil
			continue
		}
		parts, err := parse(filters[table])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", table, err)
		}
		r.tables[table] = parts
	}
	return r, nil
}

var placeName = regexp.MustCompile(`^(org|user|roles|attributes\.[A-Za-z_][A-Za-z0-9_.-]{0,60})(\[\])?$`)

// parse splits a condition at its placeholders. A placeholder stands for whole values, so it must not be
// inside quotes. parse rejects anything that engines read differently, or that would end the condition.
func parse(text string) ([]part, error) {
	if strings.TrimSpace(text) == "" {
		return nil, fmt.Errorf("the filter is empty; for a table that everybody may see write %s", Open)
	}
	if !utf8.ValidString(text) || strings.ContainsAny(text, "\x00;\\$`") {
		return nil, errors.New("the filter has a character that it must not have: one of ; \\ $ ` or NUL")
	}
	for _, mark := range []string{"--", "/*"} {
		if strings.Contains(text, mark) {
			return nil, fmt.Errorf("the filter has a comment (%s)", mark)
		}
	}
	var parts []part
	depth, from := 0, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\'', '"':
			end := strings.IndexByte(text[i+1:], c)
			if end < 0 {
				return nil, errors.New("the filter has a quote that is not closed")
			}
			if inner := text[i+1 : i+1+end]; strings.ContainsAny(inner, "{}") {
				return nil, fmt.Errorf(
					"the filter has a brace inside quotes: write %s without them, it becomes a whole value",
					strings.Trim(inner, " "))
			}
			i += end + 1
		case '[', ']':
			return nil, errors.New("the filter has a square bracket outside a place; quote names with double quotes")
		case '(':
			depth++
		case ')':
			if depth--; depth < 0 {
				return nil, errors.New("the filter closes a parenthesis that it did not open")
			}
		case '{':
			place, end, err := parsePlace(text[i:])
			if err != nil {
				return nil, err
			}
			parts = append(parts, part{text: text[from:i]}, place)
			i += end
			from = i + 1
		case '}':
			return nil, errors.New("the filter closes a brace that it did not open")
		}
	}
	if depth != 0 {
		return nil, errors.New("the filter has a parenthesis that is not closed")
	}
	return append(parts, part{text: text[from:]}), nil
}

// parsePlace reads the place that text begins with, and returns where its closing brace is.
func parsePlace(text string) (p part, end int, err error) {
	if end = strings.IndexByte(text, '}'); end < 0 {
		return p, 0, errors.New("the filter has a brace that is not closed")
	}
	m := placeName.FindStringSubmatch(text[1:end])
	if m == nil {
		return p, 0, fmt.Errorf("the filter has {%.60s}; it must be {org}, {user}, {roles[]}, {attributes.NAME} or "+
			"{attributes.NAME[]}", text[1:end])
	}
	if m[1] == "roles" && m[2] == "" {
		return p, 0, errors.New(
			"the filter has {roles}; a user may have several: write {roles[]}, as in x IN ({roles[]})")
	}
	return part{place: m[1], list: m[2] != ""}, end, nil
}

// Opened maps each table that may be read to whether everybody may see all of its rows. It returns nil for nil rules.
func (r *Rules) Opened() map[string]bool {
	if r == nil {
		return nil
	}
	open := make(map[string]bool, len(r.tables))
	for table, parts := range r.tables {
		open[table] = parts == nil
	}
	return open
}

// Asks reports whether a filter uses a placeholder.
func (r *Rules) Asks(place string) bool {
	return r != nil && slices.ContainsFunc(slices.Concat(slices.Collect(maps.Values(r.tables))...),
		func(p part) bool { return p.place == place })
}

// Conditions maps tables with a filter to their conditions for one principal.
type Conditions map[string]string

// Of returns the condition of a table. A table without one shows no rows.
func (c Conditions) Of(table string) string { return cmp.Or(c[table], nothing) }

// For returns the conditions for the principal in ctx. Without a principal, no row of a table with a filter
// is visible. It returns nil for nil rules.
func (r *Rules) For(ctx context.Context) Conditions {
	if r == nil {
		return nil
	}
	p, known := footnote.ActingPrincipal(ctx)
	c := Conditions{}
	for table, parts := range r.tables {
		if parts == nil {
			continue
		}
		c[table] = nothing
		if text, ok := render(parts, func(place part) string { return value(p, place) }); ok && known {
			c[table] = text
		}
	}
	return c
}

// Blank returns the conditions with NULL for every placeholder, so that an engine can check them in advance.
func (r *Rules) Blank() Conditions {
	if r == nil {
		return nil
	}
	c := Conditions{}
	for table, parts := range r.tables {
		if parts != nil {
			c[table], _ = render(parts, func(part) string { return "NULL" })
		}
	}
	return c
}

// Digest returns a short digest of the conditions; different conditions have different digests.
func (c Conditions) Digest() string {
	h := sha256.New()
	for _, table := range slices.Sorted(maps.Keys(c)) {
		fmt.Fprintf(h, "%d %s%d %s", len(table), table, len(c[table]), c[table])
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

func render(parts []part, value func(part) string) (string, bool) {
	var b strings.Builder
	for _, p := range parts {
		if p.place == "" {
			b.WriteString(p.text)
			continue
		}
		v := value(p)
		if v == "" {
			return "", false
		}
		b.WriteString(v)
	}
	return b.String(), true
}

// value renders a placeholder: a literal, several separated by commas, or "" if the principal has no value.
func value(p footnote.Principal, place part) string {
	var values []string
	switch name, isAttribute := strings.CutPrefix(place.place, "attributes."); {
	case isAttribute && place.list:
		values = strings.Split(p.Attributes[name], ",")
	case isAttribute:
		values = []string{p.Attributes[name]}
	case name == "org":
		values = []string{p.Org}
	case name == "user":
		values = []string{p.User}
	default:
		values = p.Roles
	}
	var literals []string
	for _, v := range values {
		if place.list {
			v = strings.TrimSpace(v)
		}
		if v == "" {
			continue
		}
		if !utf8.ValidString(v) || strings.IndexByte(v, 0) >= 0 {
			return "" // no literal can represent it
		}
		literals = append(literals, "'"+strings.ReplaceAll(v, "'", "''")+"'")
	}
	return strings.Join(literals, ", ")
}
