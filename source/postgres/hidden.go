package postgres

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/footnotehq/footnote/internal/wordlist"
	"github.com/footnotehq/footnote/source"
)

// Postgres can limit columns only by the role's privileges, and all principals share a role. So the gate writes a query
// of the visible columns in place of each table that has hidden ones:
//
//	FROM staff s → FROM (SELECT "id", "name" FROM staff) s
//
// Stars, whole rows, USING, natural joins and Postgres's own messages then know nothing of the other columns. The
// parser says where a table is named, and reads the new text once more: it must name the same tables in the places that
// were written, and nothing else, or the statement is refused.
//
// What could reveal a hidden column in another way does not exist for the statement: views that need one, directly or
// through another view, and generated columns of the table. A column is also hidden in the table's partitions, in what
// inherits from it and in what it inherits from. The system's tables, EXPLAIN and the types of rows are refused.

// reached holds the relations that a statement can reach.
type reached struct {
	hidden source.Hidden
	all    map[string]*reachedRelation // by OID
	ctx    context.Context
	e      *engine
	err    error // the first failure to read a definition
}

type reachedRelation struct {
	schema, name string
	definition   string          // of a view
	parts        []string        // OIDs of what it inherits from and of what inherits from it
	reads        [][2]string     // of a view: an OID, and a column or nothing
	columns      []reachedColumn // that the role may read

	judged, needs bool // the view needs something hidden
}

type reachedColumn struct {
	name      string
	generated bool
}

// hide returns a text that reads only what is not hidden from the principal, and its facts.
func (e *engine) hide(ctx context.Context, s *session, sql string, f facts, cat *catalog) (string, facts, error) {
	hidden := source.HiddenIn(ctx)
	if len(hidden) == 0 || f.Root == "VariableShowStmt" {
		return sql, f, nil
	}
	if err := cat.checkRevealing(f); err != nil {
		return "", f, err
	}
	if len(f.Reads) == 0 {
		return sql, f, nil
	}
	schemas := slices.Clone(s.path)
	for _, n := range f.Relations {
		if len(n) > 1 {
			schemas = append(schemas, n[0])
		}
	}
	r, err := e.reach(ctx, s, hidden, lasts(f.Relations), schemas)
	if err != nil {
		return "", f, err
	}
	if r.anyHidden() {
		if _, err := s.pc.Exec(ctx, withoutIndexOrder).ReadAll(); err != nil {
			s.broken = true
			return "", f, explain(ctx, err)
		}
	}
	slices.SortFunc(f.Reads, func(a, b place) int { return a.At - b.At })
	w := rewriter{sql: sql}
	for _, at := range f.Reads {
		columns, cut, err := r.visible(at.Name, s.path)
		if err != nil {
			return "", f, err
		}
		if err := w.write(at, columns, cut); err != nil {
			return "", f, err
		}
	}
	return w.check(ctx, e, f, cat)
}

// withoutIndexOrder has the transaction read tables in the order in which they are stored. Postgres would otherwise
// read all rows from an index that has the columns it needs, or many from one that begins with a visible column, and
// give them in the order of a hidden one. Bitmaps of an index remain.
const withoutIndexOrder = "SET LOCAL enable_indexscan = off; SET LOCAL enable_indexonlyscan = off"

// anyHidden reports whether a relation that the statement reaches has hidden columns.
func (r *reached) anyHidden() bool {
	for oid := range r.all {
		if columns, whole := r.hiddenOf(oid); whole || len(columns) > 0 {
			return true
		}
	}
	return false
}

// checkRevealing refuses what describes columns other than by a query of their table.
func (c *catalog) checkRevealing(f facts) error {
	if f.Root == "ExplainStmt" {
		return source.Refusef("EXPLAIN is not allowed here: a plan reveals columns that you cannot see.")
	}
	for _, n := range f.Relations {
		if described[n[0]] != nil || len(n) == 1 && c.system[n[0]] {
			return source.Refusef("%s is not allowed here: it describes columns that you cannot see.", n)
		}
	}
	for _, s := range called(f) {
		if describes(s) {
			return source.Refusef("The function %s is not allowed here: it describes columns that you cannot see.", s)
		}
	}
	for _, n := range slices.Concat(f.Types, f.Functions) {
		if n[len(n)-1] == "regclass" { // it tells which indexes there are, whose names have those of columns
			return source.Refusef("The type regclass is not allowed here.")
		}
		last := strings.TrimPrefix(n[len(n)-1], "_") // of an array
		if slices.ContainsFunc(c.relations, func(r relation) bool { return r.name == last }) {
			return source.Refusef("There is no type %s.", n)
		}
	}
	return nil
}

// plainFunctions lists the functions whose names begin with pg_ and that do not describe the database.
var plainFunctions = wordlist.Set("pg_typeof pg_size_pretty pg_column_size")

// describes reports whether a function of Postgres describes relations, columns, or what is defined with them.
func describes(function string) bool {
	return strings.HasPrefix(function, "pg_") && !plainFunctions[function] ||
		strings.HasSuffix(function, "_description")
}

// reach looks up relations and what they reach.
func (e *engine) reach(ctx context.Context, s *session, hidden source.Hidden, names,
	schemas []string) (*reached, error) {
	r := &reached{hidden: hidden, all: map[string]*reachedRelation{}, ctx: ctx, e: e}
	args := []any{names, schemas}
	err := s.ask(ctx, []question{
		{query("reachedRelations"), args, func(row []string) {
			r.all[row[0]] = &reachedRelation{schema: row[1], name: row[2], definition: row[3]}
		}},
		{query("reachedColumns"), args, func(row []string) {
			if v := r.all[row[0]]; v != nil {
				v.reads = append(v.reads, [2]string{row[1], row[2]})
			}
		}},
		{query("reachedParts"), args, func(row []string) {
			for i := range 2 {
				if t := r.all[row[i]]; t != nil {
					t.parts = append(t.parts, row[1-i])
				}
			}
		}},
		{query("ownColumns"), args, func(row []string) {
			if t := r.all[row[0]]; t != nil {
				t.columns = append(t.columns, reachedColumn{row[1], row[2] == "t"})
			}
		}},
	})
	if err != nil {
		return nil, explain(ctx, err)
	}
	return r, nil
}

// hiddenOf returns the hidden columns of a relation, with those of its parts; whole means that it is hidden.
func (r *reached) hiddenOf(oid string) (columns map[string]bool, whole bool) {
	columns = map[string]bool{}
	seen := map[string]bool{}
	var add func(oid string)
	add = func(oid string) {
		t := r.all[oid]
		if seen[oid] {
			return
		}
		if seen[oid] = true; t == nil { // it changed in this moment
			whole = true
			return
		}
		names, all := r.hidden.Of(t.schema, t.name)
		whole = whole || all
		for n := range names {
			columns[n] = true
		}
		for _, part := range t.parts {
			add(part)
		}
	}
	add(oid)
	return columns, whole
}

// needsHidden reports whether a view needs something hidden, directly or through other views. A view that uses the
// whole row of a table with hidden columns counts as one that does.
func (r *reached) needsHidden(oid string) bool {
	v := r.all[oid]
	if v == nil {
		return true
	}
	if v.judged || v.definition == "" {
		return v.needs
	}
	v.judged, v.needs = true, true // until it is known
	needs, whole := false, false
	for _, use := range v.reads {
		columns, all := r.hiddenOf(use[0])
		needs = needs || all || use[1] != "" && source.Has(columns, use[1]) || r.needsHidden(use[0])
		whole = whole || len(columns) > 0
	}
	if whole && !needs {
		f, err := r.e.definition(r.ctx, v.definition)
		if err != nil && r.err == nil {
			r.err = err
		}
		needs = err != nil || f.All || f.Bad != "" || f.Refused != ""
	}
	v.needs = needs
	return needs
}

// find returns the OID of the relation that a name stands for.
func (r *reached) find(n name, path []string) string {
	schemas := path
	if len(n) > 1 {
		schemas = n[:1]
	}
	for _, schema := range schemas {
		for oid, t := range r.all {
			if t.schema == schema && t.name == n[len(n)-1] {
				return oid
			}
		}
	}
	return ""
}

// visible returns the columns of a relation that are visible; cut means that others may not be read.
func (r *reached) visible(n name, path []string) (columns []string, cut bool, err error) {
	unknown := source.Refusef("There is no table %s, or it may not be read.", n)
	oid := r.find(n, path)
	if oid == "" {
		return nil, false, unknown
	}
	hidden, whole := r.hiddenOf(oid)
	if whole || r.needsHidden(oid) {
		return nil, false, cmp.Or(r.err, error(unknown))
	}
	if len(hidden) == 0 {
		return nil, false, nil
	}
	for _, c := range r.all[oid].columns {
		if !c.generated && !source.Has(hidden, c.name) {
			columns = append(columns, quote(c.name))
		}
	}
	if len(columns) == 0 {
		return nil, false, unknown
	}
	return columns, true, nil
}

// rewriter writes queries in place of tables, from the beginning of a text to its end.
type rewriter struct {
	sql    string
	done   int // bytes of sql that are in out
	out    strings.Builder
	places []place // of the relations in out
}

// write copies the text up to a place and, if the relation is cut, writes a query of some columns there.
func (w *rewriter) write(at place, columns []string, cut bool) error {
	refused := source.Refusef("The name of the table %s cannot be read here. Write it as in FROM table AS name.",
		at.Name)
	end, ok := nameEnd(w.sql, at.At, at.Name)
	if !ok || at.At < w.done {
		return refused
	}
	w.out.WriteString(w.sql[w.done:at.At])
	if cut {
		w.out.WriteString("(SELECT " + strings.Join(columns, ", ") + " FROM ")
	}
	w.places = append(w.places, place{Name: at.Name, At: w.out.Len()})
	w.out.WriteString(w.sql[at.At:end])
	if cut {
		w.out.WriteString(")")
		if !at.Alias {
			w.out.WriteString(" AS " + quote(at.Name[len(at.Name)-1]))
		}
	}
	w.done = end
	return nil
}

// check reads the new text: it must name the relations in the places where they were written.
func (w *rewriter) check(ctx context.Context, e *engine, before facts, cat *catalog) (string, facts, error) {
	sql := w.out.String() + w.sql[w.done:]
	if sql == w.sql {
		return sql, before, nil
	}
	f, err := e.grammar.read(ctx, sql)
	if err != nil {
		return "", f, err
	}
	slices.SortFunc(f.Reads, func(a, b place) int { return a.At - b.At })
	same := slices.EqualFunc(f.Reads, w.places, func(a, b place) bool {
		return a.At == b.At && slices.Equal(a.Name, b.Name)
	})
	if f.Bad != "" || f.Root != before.Root || !same {
		return "", f, source.Refusef("The statement reads a table with columns that you cannot see in a form that is " +
			"not supported. Write it as in SELECT … FROM table AS name, without ONLY, TABLE and TABLESAMPLE.")
	}
	return sql, f, cat.check(f)
}

// nameEnd returns where the name of a relation ends that begins at a place of a text. ok is false if the text has
// another name there, or one that is written in an unusual way.
func nameEnd(sql string, at int, n name) (end int, ok bool) {
	if at < 0 || at > len(sql) {
		return 0, false
	}
	for i, part := range n {
		if i > 0 {
			at = skipSpace(sql, at)
			if !strings.HasPrefix(sql[at:], ".") {
				return 0, false
			}
			at = skipSpace(sql, at+1)
		}
		got, next := identifier(sql, at)
		if got != part {
			return 0, false
		}
		at = next
	}
	return at, true
}

func skipSpace(sql string, at int) int {
	for at < len(sql) && strings.IndexByte(" \t\r\n", sql[at]) >= 0 {
		at++
	}
	return at
}

// identifier reads an identifier at a place of a text, and returns its name and where it ends.
func identifier(sql string, at int) (value string, end int) {
	if !strings.HasPrefix(sql[at:], `"`) {
		end = at
		for end < len(sql) && (sql[end] == '_' || sql[end] == '$' || sql[end] >= 0x80 || isAlphanumeric(sql[end])) {
			end++
		}
		return source.Lower(sql[at:end]), end
	}
	var b strings.Builder
	for end = at + 1; end < len(sql); end++ {
		if sql[end] == '"' {
			if !strings.HasPrefix(sql[end:], `""`) {
				return b.String(), end + 1
			}
			end++
		}
		b.WriteByte(sql[end])
	}
	return "", at
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
