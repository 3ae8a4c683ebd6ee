package mysql

import (
	"context"
	"crypto/sha256"
	"database/sql/driver"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/mysql/grammar"
)

// The server can limit columns only by the user's privileges, and all principals share a user. So the gate writes a
// query of the visible columns in place of each table that has hidden ones:
//
//	FROM staff s → FROM (SELECT `id`, `name` FROM `shop`.`staff` USE INDEX (`PRIMARY`)) AS `s`
//
// Stars, USING, natural joins and the server's own messages then know nothing of the other columns. A view that reads
// such a table, directly or through another view, is replaced by its definition over such queries; a view that needs a
// hidden column does not exist for the statement. Generated columns of the table are hidden, too.
//
// The order of rows could also reveal a hidden column: the server likes to read all rows from the smallest index that
// has the columns it needs, which may be one of a hidden column. So it may use only indexes of visible columns, and
// where the table itself is stored in the order of a hidden column, the rows are sorted.

const (
	shapeTime = 2 * time.Second // maximum age of a shape in use
	maxBody   = 1 << 20         // of the text that replaces a view
)

// errGone is returned for a table that does not exist for the principal.
var errGone = source.Refusef("There is no such table, or it may not be read.")

// reach describes the part of a table or view that a statement may read.
type reach struct {
	from    string   // a name in backticks, or a query in brackets with a name
	columns []string // the visible columns; nil if all are
	order   string   // what the rows must be sorted by, or ""
	query   bool     // it is not simply the table
}

// sql returns a query, in brackets, of the rows that satisfy a condition, which may be "".
func (x reach) sql(condition string) string {
	list := "*"
	if x.columns != nil {
		list = quotedList(x.columns)
	}
	sql := "(SELECT " + list + " FROM " + x.from
	if condition != "" {
		sql += " WHERE " + condition
	}
	if x.order != "" {
		sql += " ORDER BY " + x.order
	}
	if condition != "" || x.order != "" {
		sql += everyRow
	}
	return sql + ")"
}

func quotedList(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = quote(n)
	}
	return strings.Join(quoted, ", ")
}

// visible decides on a table of a statement from which something is hidden, where no filters apply.
func (r *reader) visible(schema, name string) (grammar.Table, error) {
	if systems[strings.ToLower(schema)] {
		return grammar.Table{}, source.Refusef("The table %.60s.%.60s is not allowed here: it describes columns that "+
			"you cannot see.", schema, name)
	}
	t, ok := r.cat.find(cmpOr(schema, r.e.config.DBName), name)
	var x reach
	var err error = errGone
	if ok {
		x, err = r.reach(t)
	}
	if errors.Is(err, errGone) {
		r.unknown = true // also if it exists: it must take as long
		return grammar.Table{}, source.Refusef("There is no table %.60s, or it may not be read.", name)
	}
	if err != nil {
		return grammar.Table{}, err
	}
	out := grammar.Table{SQL: x.from, Name: t.name, Listed: r.cat.listed(t), Query: x.query}
	if x.query {
		out.SQL = x.sql("")
	}
	return out, nil
}

// reach returns what the principal may read of a table or view, or errGone.
func (r *reader) reach(t relation) (reach, error) {
	schema := t.schema
	if schema == r.cat.database {
		schema = ""
	}
	hidden, whole := r.hidden.Of(schema, t.name)
	switch {
	case whole:
		return reach{}, errGone
	case t.view:
		return r.reachView(t, hidden)
	case len(hidden) == 0:
		return reach{from: t.quoted()}, nil
	}
	r.cut = true
	s, err := r.e.shape(r.ctx, r.cat, t)
	if err != nil {
		return reach{}, err
	}
	x := reach{from: t.quoted() + " USE INDEX (" + quotedList(s.usable(hidden)) + ")", query: true}
	if x.columns = s.visible(hidden); x.columns == nil {
		return reach{}, errGone
	}
	if s.revealingOrder(hidden) {
		x.order = quotedList(x.columns)
	}
	return x, nil
}

// reachView returns what the principal may read of a view. A view over something that the catalog does not know may
// read anything.
func (r *reader) reachView(t relation, hidden map[string]bool) (reach, error) {
	if t.refusal != "" {
		return reach{}, source.Refusef("The view %.60s is not allowed: %s", t.name, t.refusal)
	}
	if len(r.hidden) > 0 && t.definition == "" {
		return reach{}, errGone
	}
	body := r.body(t)
	if body.err != nil {
		return reach{}, body.err
	}
	x := reach{from: t.quoted()}
	if r.limits() || body.cut {
		x = reach{from: "(" + body.sql + ") AS " + quote(t.name), query: true}
	}
	r.cut = r.cut || body.cut || len(hidden) > 0
	if len(hidden) == 0 {
		return x, nil
	}
	s, err := r.e.shape(r.ctx, r.cat, t)
	if err != nil {
		return reach{}, err
	}
	x.query = true
	if x.columns = s.visible(hidden); x.columns == nil {
		return reach{}, errGone
	}
	return x, nil
}

// body is the query of a view over what the principal may read.
type body struct {
	sql string
	cut bool // it reads a table of which something is hidden
	err error
}

// body returns the query of a view. A statement may read a view many times, also below others, so it is kept.
func (r *reader) body(t relation) body {
	id := key(t.schema, t.name)
	if len(r.hidden) == 0 {
		id += "\x00 nothing is hidden" // as in the condition of a filter
	}
	if known, ok := r.bodies[id]; ok {
		return known
	}
	inner := r.inner(r.hidden, t.schema)
	sql, err := inner.below(t.name, func() (grammar.Statement, error) {
		return grammar.ReadQuery(t.definition, inner.options(nil))
	})
	b := body{sql: sql, cut: inner.cut, err: r.silent(err)}
	if len(sql) > maxBody {
		b.err = r.silent(source.Refusef("The view %.60s is too large.", t.name))
	}
	if b.err == nil && b.cut {
		b.err = r.e.checkBody(r.ctx, r.cat, sql)
	}
	r.bodies[id] = b
	return b
}

// silent returns the error of a view's definition. It may name what is hidden.
func (r *reader) silent(err error) error {
	if _, ok := errors.AsType[*source.Error](err); ok && len(r.hidden) > 0 {
		return errGone
	}
	return err
}

// shape describes a table or view.
type shape struct {
	read        time.Time
	columns     []shapeColumn
	indexes     []index
	partitioned bool
}

type shapeColumn struct {
	name      string
	generated bool
}

// index is an index of a table. Of an expression, the column is "".
type index struct {
	name    string
	unique  bool
	ignored bool // no statement may use or name it
	columns []string
}

// visible returns the columns that remain, or nil.
func (s *shape) visible(hidden map[string]bool) []string {
	var list []string
	for _, c := range s.columns {
		if !c.generated && !source.Has(hidden, c.name) {
			list = append(list, c.name)
		}
	}
	return list
}

// only reports whether an index is one of visible columns.
func (s *shape) only(i index, hidden map[string]bool) bool {
	visible := s.visible(hidden)
	return !slices.ContainsFunc(i.columns, func(c string) bool { return !slices.Contains(visible, c) })
}

// usable returns the indexes that a statement may use.
func (s *shape) usable(hidden map[string]bool) []string {
	var list []string
	for _, i := range s.indexes {
		if !i.ignored && s.only(i, hidden) {
			list = append(list, i.name)
		}
	}
	return list
}

// revealingOrder reports whether the table may be stored in the order of a hidden column: in that of its primary key;
// without one, in that of any unique index; or in partitions.
func (s *shape) revealingOrder(hidden map[string]bool) bool {
	revealing := s.partitioned
	for _, i := range s.indexes {
		if i.name == "PRIMARY" {
			return s.partitioned || !s.only(i, hidden)
		}
		revealing = revealing || i.unique && !s.only(i, hidden)
	}
	return revealing
}

// shape returns the shape of a table or view. A recent one may be in the catalog.
func (e *engine) shape(ctx context.Context, cat *catalog, t relation) (*shape, error) {
	id := key(t.schema, t.name)
	cat.mu.Lock()
	known := cat.shapes[id]
	cat.mu.Unlock()
	if known != nil && time.Since(known.read) < shapeTime {
		return known, nil
	}
	s, err := e.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer s.end()
	fresh := &shape{read: time.Now()}
	if err := s.shape(ctx, t, fresh); err != nil {
		return nil, err
	}
	cat.mu.Lock()
	cat.shapes[id] = fresh
	cat.mu.Unlock()
	return fresh, nil
}

// shape reads the shape of a table or view. The server may compare names without regard to case.
func (s *session) shape(ctx context.Context, t relation, out *shape) error {
	where := " WHERE TABLE_SCHEMA = " + grammar.String(t.schema) + " AND TABLE_NAME = " + grammar.String(t.name)
	is := func(r []string) bool { return r[0] == t.schema && r[1] == t.name }
	rows, err := s.rows(ctx, "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, GENERATION_EXPRESSION FROM "+
		"information_schema.COLUMNS"+where+" ORDER BY ORDINAL_POSITION")
	if err != nil {
		return err
	}
	for _, r := range rows {
		if is(r) {
			out.columns = append(out.columns, shapeColumn{name: r[2], generated: r[3] != ""})
		}
	}
	if t.view {
		return nil
	}
	rows, err = s.rows(ctx, "SELECT TABLE_SCHEMA, TABLE_NAME, CREATE_OPTIONS FROM information_schema.TABLES"+where)
	if err != nil {
		return err
	}
	for _, r := range rows {
		out.partitioned = out.partitioned || is(r) && strings.Contains(r[2], "partitioned")
	}
	if rows, err = s.rows(ctx, "SHOW INDEX FROM "+t.quoted()); err != nil {
		return err
	}
	for _, r := range rows {
		out.takeIndex(r, s.conn.version.mariaDB)
	}
	return nil
}

// takeIndex takes a row of SHOW INDEX: a column of an index. The last of these fields says in MySQL whether an index
// is visible, and in MariaDB whether it is ignored; old versions of MariaDB do not have it.
func (s *shape) takeIndex(r []string, mariaDB bool) {
	const unique, name, column, last = 1, 2, 4, 13
	n := len(s.indexes)
	if n == 0 || s.indexes[n-1].name != r[name] {
		ignored := len(r) > last && (r[last] == "YES") == mariaDB
		s.indexes = append(s.indexes, index{name: r[name], unique: r[unique] == "0", ignored: ignored})
		n++
	}
	s.indexes[n-1].columns = append(s.indexes[n-1].columns, r[column])
}

// errUnknownColumn is the number of the server's error for a column that does not exist.
const errUnknownColumn = 1054

// checkBody returns errGone if the text that replaces a view needs a column that it does not have. The server finds
// that out without running it. A view whose text cannot be checked is gone as well.
func (e *engine) checkBody(ctx context.Context, cat *catalog, body string) error {
	id := sha256.Sum256([]byte(body))
	cat.mu.Lock()
	works, known := cat.bodies[id]
	cat.mu.Unlock()
	if !known {
		s, err := e.begin(ctx)
		if err != nil {
			return err
		}
		err = s.prepare(ctx, "SELECT 1 FROM ("+body+") AS t")
		s.end()
		bad, refused := errors.AsType[*mysql.MySQLError](err)
		switch works = err == nil; {
		case refused && bad.Number != errUnknownColumn:
			return errGone // perhaps not the next time
		case err != nil && !refused:
			return e.unreachable(ctx, err)
		}
		cat.mu.Lock()
		cat.bodies[id] = works
		cat.mu.Unlock()
	}
	if !works {
		return errGone
	}
	return nil
}

// prepare has the server read a statement without running it.
func (s *session) prepare(ctx context.Context, sql string) error {
	p, ok := s.conn.Conn.(driver.ConnPrepareContext)
	if !ok {
		return errors.New("the driver cannot prepare statements")
	}
	stop := s.killOn(ctx)
	s.conn.wire.read.Store(0)
	st, err := p.PrepareContext(context.WithoutCancel(ctx), s.mark+sql)
	if stop() {
		s.broken = true
	}
	if err != nil {
		_, refused := errors.AsType[*mysql.MySQLError](err)
		s.broken = s.broken || !refused
		return err
	}
	return st.Close()
}

// seen returns which columns the principal sees of each table in the catalog: nil for all of them. Tables that do not
// exist for the principal are left out.
func (e *engine) seen(ctx context.Context, cat *catalog) (map[string][]string, error) {
	r := e.reader(ctx, cat, e.rules.For(ctx))
	list := map[string][]string{}
	for _, t := range cat.relations {
		if e.filters != nil && e.filterOf(cat.listed(t)) == "" {
			continue
		}
		x, err := r.reach(t)
		if _, refused := errors.AsType[*source.Error](err); refused {
			continue
		} else if err != nil {
			return nil, err
		}
		list[key(t.schema, t.name)] = x.columns
	}
	return list, nil
}
