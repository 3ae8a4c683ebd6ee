package sqlite

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/rowfilter"
	"github.com/footnotehq/footnote/internal/wordlist"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
	sqlite3 "modernc.org/sqlite/lib"
)

// Kind names the engine in the table passed to child.Main.
const Kind = "sqlite"

// config is the configuration a child receives.
type config struct {
	Path      string `json:"path"` // absolute, without symbolic links
	Immutable bool   `json:"immutable"`

	// Filters, when set, lists the readable tables and whether each is readable without a condition. Every query
	// brings its own conditions; Blank holds sample conditions to check.
	Filters map[string]bool      `json:"filters,omitempty"`
	Blank   rowfilter.Conditions `json:"blank,omitempty"`
	// Hides means that queries bring columns that they must not see.
	Hides bool `json:"hides,omitempty"`
}

// engine is one database file inside the child.
type engine struct {
	way   openMode
	uri   string
	slots chan struct{} // one per connection in use

	cfg config

	mu   sync.Mutex // guards below
	idle []*conn    // the last one is the most recently used and is taken first, because its cache is warm
}

// OpenEngine opens the engine inside a child. It is a child.OpenFunc.
func OpenEngine(ctx context.Context, raw json.RawMessage) (child.Engine, error) {
	var cfg config
	if err := json.Unmarshal(raw, &cfg); err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	w, err := choose(cfg.Path, cfg.Immutable)
	if err != nil {
		return nil, err
	}
	if w == copied {
		if cfg.Path, err = copyHere(ctx, cfg.Path); err != nil {
			return nil, err
		}
	}
	e := &engine{way: w, uri: uri(cfg.Path, w), slots: make(chan struct{}, child.Concurrency), cfg: cfg}
	c, err := e.take(ctx)
	if err != nil {
		return nil, openError(err)
	}
	defer e.give(c)
	// The file is first read here, so a wrong or damaged one fails here.
	err = c.runTrusted(func() error { return c.exec("SELECT count(*) FROM sqlite_schema") })
	if err != nil {
		return nil, openError(err)
	}
	if c.guard != nil {
		return e, c.checkFilters()
	}
	return e, nil
}

// Info implements child.Informer: the server must know whether the engine sees changes to the file.
func (e *engine) Info() any { return e.way }

// take returns an idle connection or opens one; it waits while all are in use.
func (e *engine) take(ctx context.Context) (*conn, error) {
	select {
	case e.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	e.mu.Lock()
	if n := len(e.idle); n > 0 {
		c := e.idle[n-1]
		e.idle = e.idle[:n-1]
		e.mu.Unlock()
		return c, nil
	}
	e.mu.Unlock()
	c, err := dial(e.uri, true)
	if err != nil {
		<-e.slots
		return nil, err
	}
	if e.cfg.Filters != nil || e.cfg.Hides {
		c.guard = &guard{filters: e.cfg.Filters, all: e.cfg.Filters == nil, blank: e.cfg.Blank}
	}
	return c, nil
}

func (e *engine) give(c *conn) {
	if c.guard != nil && c.guard.broken {
		c.close()
		<-e.slots
		return
	}
	e.mu.Lock()
	e.idle = append(e.idle, c)
	e.mu.Unlock()
	<-e.slots
}

// Close implements child.Engine. It waits for the connections in use.
func (e *engine) Close() error {
	for range cap(e.slots) {
		e.slots <- struct{}{}
	}
	for _, c := range e.idle {
		c.close()
	}
	e.idle = nil
	return nil
}

// Version implements child.Engine. The server does not call it; see Open.
func (e *engine) Version(context.Context) (string, error) { return "", nil }

// Query implements child.Engine.
func (e *engine) Query(ctx context.Context, q source.Query, each func(row []any) error) (source.Summary, error) {
	if err := gate(q.SQL); err != nil {
		return source.Summary{}, err
	}
	c, err := e.take(ctx)
	if err != nil {
		return source.Summary{}, takeError(err)
	}
	defer e.give(c)
	if c.guard != nil {
		return c.guarded(ctx, q, each)
	}
	if len(source.HiddenIn(ctx)) > 0 {
		return source.Summary{}, source.Refusef("What you may see of the database has just changed. Try again.")
	}
	stop := c.interruptOn(ctx)
	defer stop()
	return c.query(q, each)
}

// query runs a statement on a connection. It does not rely on the gate: it also refuses more than one statement,
// and statements that SQLite does not consider read-only.
func (c *conn) query(q source.Query, each func(row []any) error) (source.Summary, error) {
	st, tail, err := c.prepare(q.SQL)
	reads := c.reads // later, SQLite also prepares statements of its own (full-text search)
	sum, err := c.read(q, each, st, tail, err)
	if bad, ok := errors.AsType[*source.Error](err); !ok || bad.Kind != source.Refused {
		sum.Tables = reads
	}
	return sum, err
}

// read runs a prepared statement; its last three arguments are the results of prepare.
func (c *conn) read(q source.Query, each func(row []any) error, st *stmt, tail string,
	err error) (source.Summary, error) {
	if err != nil {
		if e, ok := errors.AsType[*sqliteError](err); ok && e.primary() == sqlite3.SQLITE_NOMEM {
			// This is SQLite's message for a program with more steps than its limit.
			return source.Summary{},
				source.Failf("The statement is too large to be compiled. Shorten its lists, unions and joins.")
		}
		return source.Summary{}, c.explain(err)
	}
	if st == nil {
		return source.Summary{}, source.Refusef("There is no statement in the text.")
	}
	defer st.close()
	if !blank(tail) {
		return source.Summary{},
			source.Refusef("Only one statement is allowed; there is more after the first semicolon.")
	}
	if c.guard != nil && !c.guard.off && st.explains() {
		return source.Summary{},
			source.Refusef("EXPLAIN is not allowed here: query plans reveal rows or columns that you cannot see.")
	}
	if !st.readOnly() {
		return source.Summary{}, source.Refusef("The statement is not allowed: the database is read-only.")
	}
	if err := st.bind(q.Args); err != nil {
		return source.Summary{}, source.Failf("Binding the arguments: %s.", err.Error())
	}
	r := newReader(st, q.Limits.Cell)
	for {
		more, err := st.step()
		if err != nil {
			return r.summary(), c.explain(err)
		}
		if !more {
			return r.summary(), nil
		}
		row, err := r.row()
		if err != nil {
			return r.summary(), err
		}
		if err := each(row); err != nil {
			return r.summary(), err
		}
	}
}

// explain turns a SQLite error into one that the model should read.
func (c *conn) explain(err error) error {
	e, ok := errors.AsType[*sqliteError](err)
	if !ok {
		return err
	}
	if c.denied != "" && (e.primary() == sqlite3.SQLITE_AUTH || e.primary() == sqlite3.SQLITE_ERROR) {
		return source.Refusef("%s", c.denied)
	}
	switch e.primary() {
	case sqlite3.SQLITE_INTERRUPT:
		return source.Limitf("The query was stopped.")
	case sqlite3.SQLITE_TOOBIG:
		return source.Limitf("A text or blob became larger than %d MB. Read or build less at once.", maxValue>>20)
	case sqlite3.SQLITE_NOMEM:
		return source.Limitf("The query ran out of memory. Aggregate or filter before sorting and joining.")
	case sqlite3.SQLITE_FULL:
		return errSpace
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return errLocked
	case sqlite3.SQLITE_READONLY:
		return source.Refusef("The database is read-only: %s.", e.text)
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return source.Failf("The database file is damaged: %s. Tables not affected can still be read.", e.text)
	case sqlite3.SQLITE_IOERR:
		if e.code == sqlite3.SQLITE_IOERR_WRITE {
			return errSpace
		}
		return openError(err)
	case sqlite3.SQLITE_CANTOPEN:
		return openError(err)
	default:
		return source.Failf("%s%s", c.redact(e.text), equivalent(e.text))
	}
}

// equivalent suggests SQLite's equivalent for a function of another database, given the message that the function or
// table does not exist.
func equivalent(text string) string {
	name, ok := strings.CutPrefix(text, "no such function: ")
	if !ok {
		name, _ = strings.CutPrefix(text, "no such table: ")
		if name != "generate_series" {
			return ""
		}
	}
	if hint := foreignFunctions[strings.ToLower(name)]; hint != "" {
		return ". In SQLite it is " + hint + "."
	}
	return ""
}

//go:embed foreign.txt
var foreignFile string

// foreignFunctions maps functions of other databases to what SQLite has instead.
var foreignFunctions = wordlist.Map(foreignFile)

var errSpace = source.Limitf("The query needed more temporary space than it may use. Aggregate or filter before " +
	"sorting and joining.")

var errLocked = source.Failf("The database is locked: another program is writing to it. Try again in a moment.")

// takeError returns the error of a query that got no connection.
func takeError(err error) error {
	if e, ok := errors.AsType[*sqliteError](err); ok &&
		(e.primary() == sqlite3.SQLITE_BUSY || e.primary() == sqlite3.SQLITE_LOCKED) {
		return errLocked
	}
	return openError(err)
}

// openFaults maps result codes of opening a file to messages for the operator.
var openFaults = map[int32]string{
	sqlite3.SQLITE_NOTADB:   notSQLite,
	sqlite3.SQLITE_CORRUPT:  "The database file is damaged.",
	sqlite3.SQLITE_BUSY:     "The database is locked: another program holds it for writing.",
	sqlite3.SQLITE_LOCKED:   "The database is locked: another program holds it for writing.",
	sqlite3.SQLITE_CANTOPEN: "The database file cannot be opened.",
	sqlite3.SQLITE_READONLY: "The database was not closed properly by its last writer and must be opened once by a " +
		"program that may write, to be repaired.",
	sqlite3.SQLITE_IOERR: "The database file cannot be read.",
}

// openError turns an error of opening a file into a message for the operator.
func openError(err error) error {
	e, ok := errors.AsType[*sqliteError](err)
	if !ok {
		return err
	}
	text := cmp.Or(openFaults[e.primary()], "The database cannot be opened.")
	return footnote.Wrapf(footnote.DatabaseUnavailable, err, "%s", text)
}
