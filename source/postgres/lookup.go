package postgres

import (
	"context"
	_ "embed"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// This file sends the judge's queries of the system catalogs. The queries of one round share a round trip. They run
// with pg_catalog as the only schema and look up the names in a statement, so their cost does not grow with the
// number of tables.

//go:embed queries.sql
var queryFile string

// queries maps the names in queries.sql to the queries.
var queries = func() map[string]string {
	named := map[string]string{}
	_, text, _ := strings.Cut(queryFile, "\n-- name: ")
	for entry := range strings.SplitSeq(text, "\n-- name: ") {
		name, sql, _ := strings.Cut(entry, "\n")
		for strings.HasPrefix(sql, "--") {
			_, sql, _ = strings.Cut(sql, "\n")
		}
		for earlier, part := range named {
			sql = strings.ReplaceAll(sql, "{"+earlier+"}", part)
		}
		named[name] = strings.TrimSpace(sql)
	}
	return named
}()

// query returns a query in queries.sql.
func query(name string) string {
	sql, ok := queries[name]
	if !ok {
		panic("queries.sql has no query " + name)
	}
	return sql
}

// plannedSQL returns the query planned for a version of Postgres.
func plannedSQL(version int) string {
	if version < 140000 {
		return strings.Replace(query("planned"), query("statistics"), "", 1)
	}
	return query("planned")
}

// question is a query of the system's tables. Take is called for each row.
type question struct {
	sql  string
	args []any // string, bool or []string
	take func(row []string)
}

// ask sends all questions in one round trip.
func (s *session) ask(ctx context.Context, questions []question) error {
	batch := &pgconn.Batch{}
	batch.ExecParams(pinSQL, nil, nil, nil, nil)
	for _, q := range questions {
		values := make([][]byte, len(q.args))
		for i, a := range q.args {
			switch a := a.(type) {
			case []string:
				values[i] = list(a)
			case bool:
				values[i] = strconv.AppendBool(nil, a)
			case string:
				values[i] = []byte(a)
			}
		}
		batch.ExecParams(s.mark+q.sql, values, nil, nil, nil)
	}
	batch.ExecParams(unpinSQL, nil, nil, nil, nil)
	results, err := s.pc.ExecBatch(ctx, batch).ReadAll()
	if err != nil {
		s.broken = true
		return err
	}
	for i, q := range questions {
		for _, cells := range results[i+1].Rows {
			q.take(texts(cells))
		}
	}
	return nil
}

// texts returns the cells of a row as text; NULL is "".
func texts(cells [][]byte) []string {
	row := make([]string, len(cells))
	for i, cell := range cells {
		row[i] = string(cell)
	}
	return row
}

// list encodes texts as a Postgres array.
func list(texts []string) []byte {
	quoted := make([]string, len(texts))
	for i, s := range texts {
		quoted[i] = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
	}
	return []byte("{" + strings.Join(quoted, ",") + "}")
}

// firstOwn is the first OID assigned after initdb. Lower ones are Postgres's own.
const firstOwn = 16384

// own reports whether an OID belongs to an object that the database defines: neither 0 nor one of Postgres's own.
func own(oid string) bool {
	n, err := strconv.ParseUint(oid, 10, 32)
	return err != nil || n >= firstOwn
}

// function is a row of pg_proc.
type function struct {
	oid, schema, name, extension string
	volatile, definer            bool
	compiled                     bool     // written in C
	parsed                       bool     // written in SQL that was read when the function was made
	constructor                  bool     // one of Postgres's own, created with a range type
	conversion                   bool     // one of Postgres's own casts
	single                       bool     // it can be called with a single argument
	row                          bool     // … which is a row
	types                        []string // of its arguments and its result
}

func newFunction(r []string) function {
	return function{
		oid: r[0], schema: r[1], name: r[2], extension: r[3], volatile: r[4] == "t", definer: r[5] == "t",
		compiled: r[6] == "t", constructor: r[7] == "t",
		conversion: r[8] == "t", single: r[9] == "t", row: r[10] == "t", parsed: r[11] == "t",
		types: strings.Fields(r[12]),
	}
}
