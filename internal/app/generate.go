package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/httpapi"
	"github.com/footnotehq/footnote/internal/localschema"
	"github.com/footnotehq/footnote/model/offline"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/duckdb"
)

// generator implements httpapi.Generator: it writes SQL statements.
type generator struct {
	*App

	mu    sync.Mutex    // guards blank
	blank source.Source // an engine without data, for statements about a schema
}

const (
	checkTime = 5 * time.Second
	attempts  = 2 // calls of a model
)

// GenerateSQL implements httpapi.Generator. Each question has a line in the audit.
func (g *generator) GenerateSQL(ctx context.Context, p footnote.Principal,
	in httpapi.Generate) (sql, dialect string, err error) {
	begun := time.Now()
	ctx, checked := footnote.WithStatements(footnote.WithPrincipal(ctx, p))
	var spent footnote.Spent
	if in.Schema != nil {
		sql, err = g.forSchema(ctx, p, *in.Schema, in.Question, &spent)
		dialect = localschema.Dialect
	} else {
		sql, dialect, err = g.forSource(ctx, p, in, &spent)
	}
	e := g.outsideLog(ctx, p, "generate_sql", "app", spent, time.Since(begun), err)
	e.Question, e.Response = in.Question, sql
	for _, st := range checked.All() {
		e.Statement(st)
	}
	g.inbox.Add(e)
	return sql, dialect, err
}

// forSource writes a statement for a source of the server.
func (g *generator) forSource(ctx context.Context, p footnote.Principal, in httpapi.Generate,
	spent *footnote.Spent) (sql, dialect string, err error) {
	name := in.Source
	if name == "" {
		names, err := g.catalog.Choose(p, nil)
		if err != nil {
			return "", "", err
		}
		if len(names) == 0 {
			return "", "", footnote.Invalidf("There is no source to write a statement for. Send a schema.")
		}
		if len(names) > 1 {
			return "", "", footnote.Invalidf(
				"There are several sources: %s. Name one in source.", strings.Join(names, ", "))
		}
		name = names[0]
	}
	src, schema, err := data{g.App}.find(ctx, p, name)
	if err != nil {
		return "", "", err
	}
	if in.Dialect != "" && in.Dialect != src.Dialect().Name {
		return "", "", footnote.Invalidf("The source %s speaks %s, not %.40s.", name, src.Dialect().Name, in.Dialect)
	}
	check := func(sql string) error {
		return checkStatement(ctx, src, sql, footnote.Statement{SQL: sql, Source: name})
	}
	if g.cfg.Upstream == config.Offline {
		sql, err = g.planner.SQL(ctx, name, in.Question)
		if err == nil {
			err = personal(check(sql))
		}
		return sql, src.Dialect().Name, err
	}
	sql, err = g.ask(ctx, p, src.Dialect().Name, tablesOf(schema).Statements(), in.Question, check, spent)
	return sql, src.Dialect().Name, err
}

// forSchema writes a statement for files that only the caller has. It is checked on empty tables.
func (g *generator) forSchema(ctx context.Context, p footnote.Principal, schema localschema.Schema, question string,
	spent *footnote.Spent) (string, error) {
	blank, err := g.empty(ctx)
	if err != nil {
		return "", err
	}
	check := func(sql string) error {
		return checkStatement(ctx, blank, withEmptyTables(schema, sql), footnote.Statement{SQL: sql})
	}
	if g.cfg.Upstream == config.Offline {
		sql, err := offline.Local{}.SQL(schema, question)
		if err == nil {
			err = personal(check(sql))
		}
		return sql, err
	}
	return g.ask(ctx, p, localschema.Dialect, schema.Statements(), question, check, spent)
}

// ask has the model write the statement, and adds the usage to spent. If check rejects the statement, the model gets
// the reason and tries once more.
func (g *generator) ask(ctx context.Context, p footnote.Principal, dialect, schema, question string,
	check func(string) error, spent *footnote.Spent) (string, error) {
	prompt := fmt.Sprintf("Write one %s SELECT statement that answers the question. "+
		"Answer with the statement alone, without any other words.\n\n"+
		"<schema>\n%s\n</schema>\n\n<question>\n%s\n</question>", dialect, schema, question)
	for n := 1; ; n++ {
		text, used, err := g.engine.Complete(ctx, p, prompt)
		spent.Model = cmp.Or(used.Model, spent.Model)
		spent.Usage, spent.Cost = spent.Usage.Add(used.Usage), spent.Cost.Add(used.Cost)
		if err != nil {
			return "", err
		}
		sql := bareSQL(text)
		if err = check(sql); err == nil {
			return sql, nil
		}
		if _, ok := errors.AsType[*source.Error](err); !ok || n == attempts {
			return "", personal(err)
		}
		prompt += fmt.Sprintf("\n\nThis statement was refused:\n%s\n\nThe reason: %v\nWrite a correct one.", sql,
			err)
	}
}

var fence = regexp.MustCompile("(?s)```[a-zA-Z]*\\s*\\n(.*?)```")

// bareSQL extracts the statement from a model's answer.
func bareSQL(text string) string {
	if m := fence.FindStringSubmatch(text); m != nil {
		text = m[1]
	}
	return strings.TrimRight(strings.TrimSpace(text), "; \n\t")
}

// checkStatement runs a statement with low limits, so that the engine's gate and binder check it. A statement that only
// takes too long passes. The audit lists the check under the SQL and the source of shown.
func checkStatement(ctx context.Context, src source.Source, sql string, shown footnote.Statement) error {
	check, ran := footnote.WithStatements(ctx)
	query := source.Query{SQL: sql, Limits: source.Limits{Time: checkTime, Rows: 1}}
	_, _, err := source.Collect(check, src, query)
	for _, st := range ran.All() {
		st.SQL, st.Source = shown.SQL, shown.Source
		footnote.NoteStatement(ctx, st)
	}
	if bad, ok := errors.AsType[*source.Error](err); ok && bad.Kind == source.Limited {
		return nil
	}
	return err
}

// tablesOf returns the names and types in a schema.
func tablesOf(s source.Schema) localschema.Schema {
	var out localschema.Schema
	for _, t := range s.Tables {
		lt := localschema.Table{Name: t.FullName()}
		for _, c := range t.Columns {
			lt.Columns = append(lt.Columns, localschema.Column{Name: c.Name, Type: c.Type})
		}
		out.Tables = append(out.Tables, lt)
	}
	return out
}

// empty returns a DuckDB without data, opened on first use.
func (g *generator) empty(ctx context.Context) (source.Source, error) {
	if !duckdb.Available {
		return nil, footnote.Errorf(footnote.ModelUnavailable,
			"This program was built without DuckDB, so statements for it cannot be checked here.")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.blank != nil {
		return g.blank, nil
	}
	dir := filepath.Join(g.cfg.Data, "blank")
	file := filepath.Join(dir, "blank.csv")
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = os.WriteFile(file, []byte("nothing\n0\n"), 0o600)
	}
	if err != nil {
		return nil, &footnote.Error{
			Code: footnote.StorageUnavailable, Message: "The data folder cannot be written to.", Err: err,
		}
	}
	src, err := duckdb.Open(ctx, "blank", file, duckdb.Options{Dir: dir, Logger: g.log})
	if err != nil {
		return nil, err
	}
	g.blank = src
	return src, nil
}

func (g *generator) close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.blank == nil {
		return nil
	}
	return g.blank.Close()
}

var (
	plainType = regexp.MustCompile(`^[A-Za-z_ ]{1,40}(\(\d{1,3}(,\s*\d{1,3})?\))?(\[\])?$`)
	with      = regexp.MustCompile(`(?is)^(?:\s|--[^\n]*\n|/\*.*?\*/)*with\s+(recursive\s)?`)
)

// withEmptyTables prefixes a statement with empty tables of a schema.
func withEmptyTables(s localschema.Schema, sql string) string {
	name := func(n string) string { return `"` + strings.ReplaceAll(n, `"`, `""`) + `"` }
	var tables []string
	for _, t := range s.Tables {
		var cols []string
		for _, c := range t.Columns {
			kind := c.Type
			if !plainType.MatchString(kind) {
				kind = "VARCHAR"
			}
			cols = append(cols, "CAST(NULL AS "+kind+") AS "+name(c.Name))
		}
		tables = append(tables, name(t.Name)+" AS (SELECT "+strings.Join(cols, ", ")+" WHERE 1 = 0)")
	}
	head := "WITH " + strings.Join(tables, ", ")
	if m := with.FindStringSubmatchIndex(sql); m != nil {
		if m[2] >= 0 {
			head = "WITH RECURSIVE " + strings.Join(tables, ", ")
		}
		return head + ", " + sql[m[1]:]
	}
	return head + " " + sql
}
