package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/footnotehq/footnote"
)

// Hidden names what a principal must not see of a source. Engines behave as if it did not exist. Nil hides nothing.
type Hidden []HiddenTable

// HiddenTable names columns of a table or view, or all of it. Names are compared without regard to case, so that more
// is hidden where an engine tells apart names that differ in case.
type HiddenTable struct {
	Schema  string   `json:"schema,omitempty"` // empty: the table has this name in any schema
	Table   string   `json:"table"`
	Columns []string `json:"columns,omitempty"` // empty: the whole table
	// Except, when set, makes the entry mean all tables that none of these patterns matches, and nothing else.
	Except []TablePattern `json:"except,omitempty"`
	// Pattern, when set, makes the entry mean all tables that it matches, and nothing else.
	Pattern *TablePattern `json:"pattern,omitempty"`
}

// TablePattern matches tables by their names, in which * stands for any text. Without a schema, it matches tables of
// any schema. The engine's default schema has no name.
type TablePattern struct {
	Schema string `json:"schema,omitempty"`
	Table  string `json:"table"`
}

// NewTablePattern parses table or schema.table.
func NewTablePattern(text string) TablePattern {
	if schema, table, ok := strings.Cut(text, "."); ok {
		return TablePattern{Schema: schema, Table: table}
	}
	return TablePattern{Table: text}
}

// Matches reports whether the pattern matches a table.
func (p TablePattern) Matches(schema, table string) bool {
	return (p.Schema == "" || Like(fold(p.Schema), fold(schema))) && Like(fold(p.Table), fold(table))
}

// Like reports whether a text matches a pattern with *. It takes the earliest match of each piece, which is enough.
func Like(pattern, text string) bool {
	pieces := strings.Split(pattern, "*")
	text, ok := strings.CutPrefix(text, pieces[0])
	if len(pieces) == 1 || !ok {
		return ok && text == ""
	}
	for _, p := range pieces[1 : len(pieces)-1] {
		if _, text, ok = strings.Cut(text, p); !ok {
			return false
		}
	}
	return strings.HasSuffix(text, pieces[len(pieces)-1])
}

// covers reports whether the entry is about a table.
func (t HiddenTable) covers(schema, table string) bool {
	switch {
	case len(t.Except) > 0:
		return !slices.ContainsFunc(t.Except, func(p TablePattern) bool { return p.Matches(schema, table) })
	case t.Pattern != nil:
		return t.Pattern.Matches(schema, table) || schema == "" && Like(fold(t.Pattern.Table), fold(table))
	}
	return strings.EqualFold(t.Table, table) &&
		(t.Schema == "" || schema == "" || strings.EqualFold(t.Schema, schema))
}

// Hiding decides what principals must not see of a source. Its answers may change at any time.
type Hiding interface {
	// Any reports whether something may be hidden from somebody. An engine may have to be opened in another way then.
	Any() bool
	// For returns what is hidden from the principal in ctx. Without a principal, that is everything that is hidden from
	// somebody.
	For(ctx context.Context) Hidden
}

// Describer is a Hiding that also knows what the company says about the tables of a source.
type Describer interface {
	Hiding
	// Digest names the version of what it says, as a part of the source's version.
	Digest() string
	// Describe returns a schema, from which everything hidden has been cut, with descriptions, units and joins.
	Describe(s Schema) Schema
	// Label sets the units and formats of a result's columns. Tables are those that the statement reads.
	Label(tables []string, columns []footnote.Column)
}

// DigestFrom returns what a Hiding, which may be nil, adds to the version of a source: what it hides from the principal
// in ctx, and what it says.
func DigestFrom(ctx context.Context, h Hiding) string {
	digest := HiddenFrom(ctx, h).Digest()
	if d, ok := h.(Describer); ok {
		digest += d.Digest()
	}
	return digest
}

// Described returns a schema as the principal in ctx sees it. H may be nil.
func Described(ctx context.Context, h Hiding, s Schema) Schema {
	s = HiddenFrom(ctx, h).Cut(s)
	if d, ok := h.(Describer); ok {
		return d.Describe(s)
	}
	return s
}

// Label sets the units and formats of a result's columns. H may be nil.
func Label(h Hiding, sum Summary) Summary {
	if d, ok := h.(Describer); ok {
		d.Label(sum.Tables, sum.Columns)
	}
	return sum
}

// Of returns the columns of a table that are hidden, in lower case; whole means that all of the table is. Schema is ""
// for the engine's default schema, to which an entry with any schema may refer.
func (h Hidden) Of(schema, table string) (columns map[string]bool, whole bool) {
	for _, t := range h {
		if !t.covers(schema, table) {
			continue
		}
		if len(t.Columns) == 0 {
			return nil, true
		}
		for _, c := range t.Columns {
			if columns == nil {
				columns = map[string]bool{}
			}
			columns[fold(c)] = true
		}
	}
	return columns, false
}

// Has reports whether a column is among those that Of returned.
func Has(columns map[string]bool, name string) bool { return columns[fold(name)] }

func fold(name string) string { return strings.ToLower(name) }

// Digest returns a short digest, as a part of a version; "" if nothing is hidden.
func (h Hidden) Digest() string {
	if len(h) == 0 {
		return ""
	}
	sum := sha256.New()
	for _, t := range h {
		fmt.Fprintf(sum, "%q %q %q %q", t.Schema, t.Table, t.Columns, t.Except)
		if t.Pattern != nil {
			fmt.Fprintf(sum, " %q", *t.Pattern)
		}
		fmt.Fprintln(sum)
	}
	return hex.EncodeToString(sum.Sum(nil)[:12])
}

// Cut returns a schema without what is hidden, and without comments that mention it.
func (h Hidden) Cut(s Schema) Schema {
	if len(h) == 0 {
		return s
	}
	var tables []Table
	for _, t := range s.Tables {
		columns, whole := h.Of(t.Schema, t.Name)
		if whole {
			continue
		}
		t.Comment = h.silent(t.Comment)
		t.Columns = slices.Clone(t.Columns)
		t.Columns = slices.DeleteFunc(t.Columns, func(c Column) bool { return Has(columns, c.Name) })
		for i := range t.Columns {
			t.Columns[i].Comment = h.silent(t.Columns[i].Comment)
		}
		if slices.ContainsFunc(t.PrimaryKey, func(c string) bool { return Has(columns, c) }) {
			t.PrimaryKey = nil
		}
		t.ForeignKeys = slices.Clone(t.ForeignKeys)
		t.ForeignKeys = slices.DeleteFunc(t.ForeignKeys, func(k ForeignKey) bool {
			return h.cutsKey(columns, k)
		})
		tables = append(tables, t)
	}
	s.Tables = tables
	return s
}

// cutsKey reports whether a foreign key of a table with some hidden columns uses something hidden.
func (h Hidden) cutsKey(columns map[string]bool, k ForeignKey) bool {
	schema, table := "", k.RefTable
	if at := strings.LastIndexByte(table, '.'); at >= 0 {
		schema, table = table[:at], table[at+1:]
	}
	others, whole := h.Of(schema, table)
	return whole || slices.ContainsFunc(k.Columns, func(c string) bool { return Has(columns, c) }) ||
		slices.ContainsFunc(k.RefColumns, func(c string) bool { return Has(others, c) })
}

// silent returns a text, or "" if it mentions something hidden.
func (h Hidden) silent(text string) string {
	if h.mentionedIn(text, nil) {
		return ""
	}
	return text
}

// mentionedIn reports whether a text has the name of something hidden as a word, besides the words in known.
func (h Hidden) mentionedIn(text string, known map[string]bool) bool {
	if text == "" {
		return false
	}
	words := wordsOf(text)
	for _, t := range h {
		if len(t.Except) > 0 {
			continue // nearly every word is one that it does not list
		}
		if t.Pattern != nil {
			for w := range words {
				if !known[w] && Like(fold(t.Pattern.Table), w) {
					return true
				}
			}
			continue
		}
		names := t.Columns
		if len(names) == 0 {
			names = []string{t.Table}
		}
		for _, n := range names {
			n = fold(n)
			if known[n] {
				continue
			}
			plain := !strings.ContainsFunc(n, notInName)
			if plain && words[n] || !plain && strings.Contains(fold(text), n) {
				return true
			}
		}
	}
	return false
}

// wordsOf returns the words of a text, in lower case.
func wordsOf(text string) map[string]bool {
	words := map[string]bool{}
	for w := range strings.FieldsFuncSeq(fold(text), notInName) {
		words[w] = true
	}
	return words
}

func notInName(r rune) bool {
	return r != '_' && r != '$' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

// Redact replaces the reason of an engine's error that names something hidden, unless the caller wrote the name: an
// engine that behaves as if a column did not exist still repeats it. Own means that the program wrote the statement.
func (h Hidden) Redact(sql string, own bool, err error) error {
	bad, ok := err.(*Error)
	if !ok || len(h) == 0 {
		return err
	}
	var known map[string]bool
	if !own {
		known = wordsOf(sql)
	}
	if !h.mentionedIn(bad.Reason, known) {
		return err
	}
	silent := *bad
	silent.Redacted = true
	silent.Reason = "The statement uses something that you may not see, or that does not exist."
	return &silent
}

type hiddenKey struct{}

// WithHidden returns a context with what is hidden from a query, for an Engine.
func WithHidden(ctx context.Context, h Hidden) context.Context {
	if len(h) == 0 {
		return ctx
	}
	return context.WithValue(ctx, hiddenKey{}, h)
}

// HiddenIn returns what is hidden from the query that an engine is running.
func HiddenIn(ctx context.Context) Hidden {
	h, _ := ctx.Value(hiddenKey{}).(Hidden)
	return h
}

type unhiddenKey struct{}

// Unhidden returns a context for the program's own requests, from which nothing is hidden.
func Unhidden(ctx context.Context) context.Context {
	return context.WithValue(ctx, unhiddenKey{}, true)
}

// HiddenFrom returns what a Hiding, which may be nil, hides from the principal in ctx.
func HiddenFrom(ctx context.Context, h Hiding) Hidden {
	if h == nil || ctx.Value(unhiddenKey{}) != nil {
		return nil
	}
	return h.For(ctx)
}
