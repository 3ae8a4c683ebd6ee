package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
	sqlite3 "modernc.org/sqlite/lib"
)

// Kind is the name of the engine in the table given to child.Main.
const Kind = "sqlite"

// config is what the child is told.
type config struct {
	URI   string `json:"uri"`
	Conns int    `json:"conns"`
}

// engine is one database file inside the child.
type engine struct {
	uri   string
	conns chan *conn // nil stands for one not yet opened
}

// OpenEngine opens the engine inside a child; it is a child.OpenFunc.
func OpenEngine(ctx context.Context, raw json.RawMessage) (child.Engine, error) {
	var cfg config
	if err := json.Unmarshal(raw, &cfg); err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	e := &engine{uri: cfg.URI, conns: make(chan *conn, max(cfg.Conns, 1))}
	for range cap(e.conns) {
		e.conns <- nil
	}
	c, err := e.take(ctx)
	if err != nil {
		return nil, err
	}
	defer e.give(c)
	// The file is only read now: a wrong or damaged one shows here.
	if _, err := c.all("SELECT count(*) FROM sqlite_schema"); err != nil {
		return nil, openError(err)
	}
	return e, nil
}

// take waits for a connection.
func (e *engine) take(ctx context.Context) (*conn, error) {
	select {
	case c := <-e.conns:
		if c != nil {
			return c, nil
		}
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	c, err := dial(e.uri, true)
	if err != nil {
		e.conns <- nil
		return nil, openError(err)
	}
	return c, nil
}

func (e *engine) give(c *conn) { e.conns <- c }

// Close implements child.Engine.
func (e *engine) Close() error {
	for range cap(e.conns) {
		if c := <-e.conns; c != nil {
			c.close()
		}
	}
	return nil
}

// Version implements child.Engine. The server answers for itself, see Open.
func (e *engine) Version(context.Context) (string, error) { return "", nil }

// Query implements child.Engine.
func (e *engine) Query(ctx context.Context, q source.Query, each func(row []any) error) (source.Summary, error) {
	if err := gate(q.SQL); err != nil {
		return source.Summary{}, err
	}
	c, err := e.take(ctx)
	if err != nil {
		return source.Summary{}, err
	}
	defer e.give(c)
	stop := c.interruptOn(ctx)
	defer stop()
	return c.query(q, each)
}

// query runs a statement on a connection. It does not rely on the gate: more than
// one statement, or one that SQLite does not call read-only, is refused here too.
func (c *conn) query(q source.Query, each func(row []any) error) (source.Summary, error) {
	st, tail, err := c.prepare(q.SQL)
	if err != nil {
		if e, ok := errors.AsType[*sqliteError](err); ok && e.primary() == sqlite3.SQLITE_NOMEM {
			// So SQLite says that a program has more steps than its limit.
			return source.Summary{}, &source.Error{Kind: source.Failed, Reason: "The statement is too large to be compiled. Shorten its lists, unions and joins."}
		}
		return source.Summary{}, c.explain(err)
	}
	if st == nil {
		return source.Summary{}, source.Refusef("There is no statement in the text.")
	}
	defer st.close()
	if !blank(tail) {
		return source.Summary{}, source.Refusef("Only one statement is allowed; there is more after the first semicolon.")
	}
	if !st.readOnly() {
		return source.Summary{}, source.Refusef("The statement is not allowed: the database is read-only.")
	}
	if err := st.bind(q.Args); err != nil {
		return source.Summary{}, &source.Error{Kind: source.Failed, Reason: "Binding the arguments: " + err.Error() + "."}
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

// explain turns an error of SQLite into what the model should read.
func (c *conn) explain(err error) error {
	e, ok := errors.AsType[*sqliteError](err)
	if !ok {
		return err
	}
	if c.denied != "" && (e.primary() == sqlite3.SQLITE_AUTH || e.primary() == sqlite3.SQLITE_ERROR) {
		return &source.Error{Kind: source.Refused, Reason: c.denied}
	}
	limited := func(text string) error { return &source.Error{Kind: source.Limited, Reason: text} }
	switch e.primary() {
	case sqlite3.SQLITE_INTERRUPT:
		return limited("The query was stopped.")
	case sqlite3.SQLITE_TOOBIG:
		return limited(fmt.Sprintf("A text or blob became larger than %d MB. Read or build less at once.", maxValue>>20))
	case sqlite3.SQLITE_NOMEM:
		return limited("The query ran out of memory. Aggregate or filter before sorting and joining.")
	case sqlite3.SQLITE_FULL:
		return limited("The query needed more temporary space than it may use. Aggregate or filter before sorting and joining.")
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return &source.Error{Kind: source.Failed, Reason: "The database is locked: another program is writing to it. Try again in a moment."}
	case sqlite3.SQLITE_READONLY:
		return source.Refusef("The database is read-only: %s.", e.text)
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return &source.Error{Kind: source.Failed, Reason: "The database file is damaged: " + e.text + ". Tables not affected can still be read."}
	case sqlite3.SQLITE_IOERR:
		if e.code == sqlite3.SQLITE_IOERR_WRITE {
			return limited("The query needed more temporary space than it may use. Aggregate or filter before sorting and joining.")
		}
		return &footnote.Error{Code: footnote.DatabaseUnavailable, Message: "The database file cannot be read.", Err: err}
	case sqlite3.SQLITE_CANTOPEN:
		return &footnote.Error{Code: footnote.DatabaseUnavailable, Message: "The database file cannot be opened.", Err: err}
	default:
		return &source.Error{Kind: source.Failed, Reason: e.text}
	}
}

// openError turns an error of opening a file into words for its operator.
func openError(err error) error {
	e, ok := errors.AsType[*sqliteError](err)
	if !ok {
		return err
	}
	var text string
	switch e.primary() {
	case sqlite3.SQLITE_NOTADB:
		text = "The file is not a SQLite database, or is encrypted."
	case sqlite3.SQLITE_CORRUPT:
		text = "The database file is damaged."
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		text = "The database is locked: another program holds it for writing."
	case sqlite3.SQLITE_CANTOPEN:
		text = "The database file cannot be opened."
	case sqlite3.SQLITE_READONLY:
		text = "The database was not closed properly by its last writer and must be opened once by a program that may write, to be repaired."
	case sqlite3.SQLITE_IOERR:
		text = "The database file cannot be read."
	default:
		text = "The database cannot be opened."
	}
	return &footnote.Error{Code: footnote.DatabaseUnavailable, Message: text, Err: err}
}
