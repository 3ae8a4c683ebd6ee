package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/footnotehq/footnote/source"
)

// conn is one connection, used by one goroutine at a time. It calls the C-like half of modernc.org/sqlite rather
// than its database/sql driver, because it needs what that driver hides: the read-only flag of open, the tail of
// the text and the read-only bit of a statement, the size of a cell before it is copied, the stored text of DATE
// columns, and an interrupt that also applies to rows after the first. It shares nothing with the driver, so this
// package's rules do not affect the event store's connections.
type conn struct {
	tls     *libc.TLS
	db      uintptr
	scratch uintptr // room for two pointers

	// denied is the first reason why the authorizer refused the statement being prepared.
	denied string
	// reads lists, in order, the tables that the authorizer allowed the statement being prepared to read.
	reads []string
	// modules lists the virtual table modules that may not be read by their own name.
	modules map[string]bool
	// guard, when set, restricts statements to the rows visible to the principal.
	guard *guard
}

// sqliteError is a result code of SQLite with its message.
type sqliteError struct {
	code int32 // an extended result code
	text string
}

func (e *sqliteError) Error() string { return e.text }

func (e *sqliteError) primary() int32 { return e.code & 0xff }

// These limits of a connection complement those of a query. They bound the work between two checks of the clock: a
// single function call, parsing, planning.
const (
	maxValue = 4 << 20  // bytes of a value or row inside the engine
	maxSQL   = 64 << 10 // bytes of a statement
)

var connLimits = map[int32]int32{
	sqlite3.SQLITE_LIMIT_LENGTH:              maxValue,
	sqlite3.SQLITE_LIMIT_SQL_LENGTH:          maxValue, // definitions too; the gate has a lower limit
	sqlite3.SQLITE_LIMIT_EXPR_DEPTH:          500,
	sqlite3.SQLITE_LIMIT_COMPOUND_SELECT:     50,
	sqlite3.SQLITE_LIMIT_VDBE_OP:             100_000,
	sqlite3.SQLITE_LIMIT_FUNCTION_ARG:        100,
	sqlite3.SQLITE_LIMIT_ATTACHED:            0,
	sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 100,
	sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER:     1000,
	sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH:       10,
	sqlite3.SQLITE_LIMIT_WORKER_THREADS:      0,
}

var connConfig = []struct{ option, value int32 }{
	{sqlite3.SQLITE_DBCONFIG_DEFENSIVE, 1},
	{sqlite3.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
	{sqlite3.SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0},
	{sqlite3.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
	{sqlite3.SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0},
	{sqlite3.SQLITE_DBCONFIG_ENABLE_ATTACH_CREATE, 0},
	{sqlite3.SQLITE_DBCONFIG_ENABLE_ATTACH_WRITE, 0},
	{sqlite3.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
}

// session runs on every new connection, before the authorizer is installed.
const session = `PRAGMA query_only=1; PRAGMA temp_store=1; PRAGMA cache_size=-16000; PRAGMA mmap_size=0; PRAGMA ` +
	`cell_size_check=1;`

const busyTimeout = 2 * time.Second

// dial opens a connection. Authorize installs the authorizer; only the probe does without.
func dial(uri string, authorize bool) (*conn, error) {
	c := &conn{tls: libc.NewTLS(), scratch: libc.NewVaListN(2), modules: make(map[string]bool)}
	if err := c.open(uri, authorize); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *conn) open(uri string, authorize bool) error {
	name, err := libc.CString(uri)
	if err != nil {
		return err
	}
	defer libc.Xfree(c.tls, name)
	const flags = sqlite3.SQLITE_OPEN_READONLY | sqlite3.SQLITE_OPEN_URI | sqlite3.SQLITE_OPEN_FULLMUTEX |
		sqlite3.SQLITE_OPEN_EXRESCODE
	rc := sqlite3.Xsqlite3_open_v2(c.tls, name, c.scratch, flags, 0)
	c.db = libc.AtomicLoadNUintptr(c.scratch, 0)
	if rc != sqlite3.SQLITE_OK {
		return c.err(rc)
	}
	for _, o := range connConfig {
		if err := c.configure(o.option, o.value); err != nil {
			return err
		}
	}
	for id, n := range connLimits {
		sqlite3.Xsqlite3_limit(c.tls, c.db, id, n)
	}
	sqlite3.Xsqlite3_busy_timeout(c.tls, c.db, int32(busyTimeout/time.Millisecond))
	if err := c.exec(session); err != nil {
		return err
	}
	if err := c.prepareTables(); err != nil {
		return err
	}
	if authorize {
		authorizers.Store(c.db, c)
		if rc := sqlite3.Xsqlite3_set_authorizer(c.tls, c.db, authorizerPointer, c.db); rc != sqlite3.SQLITE_OK {
			return c.err(rc)
		}
	}
	return nil
}

func (c *conn) configure(option, value int32) error {
	args := libc.VaList(c.scratch, value, uintptr(0))
	if rc := sqlite3.Xsqlite3_db_config(c.tls, c.db, option, args); rc != sqlite3.SQLITE_OK {
		return fmt.Errorf("configure the connection (%d): %w", option, c.err(rc))
	}
	return nil
}

// prepareTables lists the modules of virtual tables and connects the database's virtual tables. Connecting one
// prepares statements that write (rtree does), which the authorizer would refuse later.
func (c *conn) prepareTables() error {
	rows, err := c.all("SELECT name FROM pragma_module_list")
	if err != nil {
		return err
	}
	for _, r := range rows {
		if name := r[0].(string); !readableModules[name] {
			c.modules[name] = true
		}
	}
	rows, err = c.all("SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage = 0 AND sql LIKE 'CREATE " +
		"VIRTUAL TABLE%'")
	if err != nil {
		return err
	}
	for _, r := range rows {
		if name, ok := r[0].(string); ok {
			// A table whose module is not built in cannot be read; the others can.
			if st, _, err := c.prepare("SELECT 1 FROM " + quote(name) + " LIMIT 0"); err == nil {
				st.close()
			}
		}
	}
	return nil
}

func (c *conn) close() {
	if c.db != 0 {
		sqlite3.Xsqlite3_close_v2(c.tls, c.db)
		authorizers.Delete(c.db)
		c.db = 0
	}
	if c.scratch != 0 {
		libc.Xfree(c.tls, c.scratch)
		c.scratch = 0
	}
	c.tls.Close()
}

// err returns the error of the last call, whose result code was rc.
func (c *conn) err(rc int32) error {
	if c.db == 0 {
		return &sqliteError{rc, libc.GoString(sqlite3.Xsqlite3_errstr(c.tls, rc))}
	}
	return &sqliteError{rc, libc.GoString(sqlite3.Xsqlite3_errmsg(c.tls, c.db))}
}

// interruptOn interrupts the connection from the moment ctx ends until stop is called. It repeats the interrupt,
// because SQLite forgets one that arrives between two statements.
func (c *conn) interruptOn(ctx context.Context) (stop func()) {
	ended, over := make(chan struct{}), make(chan struct{})
	unhook := context.AfterFunc(ctx, func() {
		defer close(over)
		tls := libc.NewTLS() // c.tls belongs to the interrupted goroutine
		defer tls.Close()
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			sqlite3.Xsqlite3_interrupt(tls, c.db)
			select {
			case <-ended:
				return
			case <-tick.C:
			}
		}
	})
	return func() {
		close(ended)
		if !unhook() {
			<-over
		}
	}
}

// stmt is a prepared statement.
type stmt struct {
	c      *conn
	p      uintptr
	allocs []uintptr
}

// prepare compiles the first statement of a text and returns the rest. The stmt is nil if the text holds no
// statement.
func (c *conn) prepare(sql string) (_ *stmt, tail string, err error) {
	text, err := libc.CString(sql)
	if err != nil {
		return nil, "", err
	}
	defer libc.Xfree(c.tls, text)
	c.denied, c.reads = "", nil
	rc := sqlite3.Xsqlite3_prepare_v3(c.tls, c.db, text, int32(len(sql)+1), 0, c.scratch,
		c.scratch+unsafe.Sizeof(uintptr(0)))
	if rc != sqlite3.SQLITE_OK {
		return nil, "", c.err(rc)
	}
	p := libc.AtomicLoadNUintptr(c.scratch, 0)
	if end := libc.AtomicLoadNUintptr(c.scratch+unsafe.Sizeof(uintptr(0)), 0); end >= text &&
		end-text <= uintptr(len(sql)) {
		tail = sql[end-text:]
	}
	if p == 0 {
		return nil, tail, nil
	}
	return &stmt{c: c, p: p}, tail, nil
}

func (s *stmt) close() {
	sqlite3.Xsqlite3_finalize(s.c.tls, s.p)
	for _, p := range s.allocs {
		libc.Xfree(s.c.tls, p)
	}
}

// explains reports whether the statement is an EXPLAIN.
func (s *stmt) explains() bool { return sqlite3.Xsqlite3_stmt_isexplain(s.c.tls, s.p) != 0 }

// readOnly reports whether SQLite itself considers the statement read-only.
func (s *stmt) readOnly() bool { return sqlite3.Xsqlite3_stmt_readonly(s.c.tls, s.p) != 0 }

func (s *stmt) bind(args []any) error {
	if n := int(sqlite3.Xsqlite3_bind_parameter_count(s.c.tls, s.p)); n != len(args) {
		return fmt.Errorf("the statement has %d parameters and was given %d arguments", n, len(args))
	}
	for i, arg := range args {
		n, rc := int32(i+1), int32(0)
		switch v := arg.(type) {
		case nil:
			rc = sqlite3.Xsqlite3_bind_null(s.c.tls, s.p, n)
		case bool:
			var b int64
			if v {
				b = 1
			}
			rc = sqlite3.Xsqlite3_bind_int64(s.c.tls, s.p, n, b)
		case int64:
			rc = sqlite3.Xsqlite3_bind_int64(s.c.tls, s.p, n, v)
		case float64:
			rc = sqlite3.Xsqlite3_bind_double(s.c.tls, s.p, n, v)
		case string:
			p, err := libc.CString(v)
			if err != nil {
				return err
			}
			s.allocs = append(s.allocs, p) // must live as long as the statement
			rc = sqlite3.Xsqlite3_bind_text(s.c.tls, s.p, n, p, int32(len(v)), sqlite3.SQLITE_STATIC)
		default:
			return fmt.Errorf("argument %d cannot be a %T", n, arg)
		}
		if rc != sqlite3.SQLITE_OK {
			return s.c.err(rc)
		}
	}
	return nil
}

// step moves to the next row; it returns false at the end.
func (s *stmt) step() (bool, error) {
	switch rc := sqlite3.Xsqlite3_step(s.c.tls, s.p); rc {
	case sqlite3.SQLITE_ROW:
		return true, nil
	case sqlite3.SQLITE_DONE:
		return false, nil
	default:
		return false, s.c.err(rc)
	}
}

func (s *stmt) columns() int { return int(sqlite3.Xsqlite3_column_count(s.c.tls, s.p)) }

func (s *stmt) name(i int) string {
	return libc.GoString(sqlite3.Xsqlite3_column_name(s.c.tls, s.p, int32(i)))
}

// declared returns the declared type of a table's column, or "" for other expressions.
func (s *stmt) declared(i int) string {
	return libc.GoString(sqlite3.Xsqlite3_column_decltype(s.c.tls, s.p, int32(i)))
}

func (s *stmt) kind(i int) int32 { return sqlite3.Xsqlite3_column_type(s.c.tls, s.p, int32(i)) }

// size returns the length of a text or blob in bytes.
func (s *stmt) size(i int) int { return int(sqlite3.Xsqlite3_column_bytes(s.c.tls, s.p, int32(i))) }

func (s *stmt) integer(i int) int64 { return sqlite3.Xsqlite3_column_int64(s.c.tls, s.p, int32(i)) }

func (s *stmt) float(i int) float64 { return sqlite3.Xsqlite3_column_double(s.c.tls, s.p, int32(i)) }

func (s *stmt) text(i int) string {
	p := sqlite3.Xsqlite3_column_text(s.c.tls, s.p, int32(i))
	n := s.size(i)
	if p == 0 || n == 0 {
		return ""
	}
	return string(libc.GoBytes(p, n))
}

// exec runs this package's own statements.
func (c *conn) exec(sql string) error {
	_, err := c.try(sql)
	return err
}

// try runs statements until one fails, and returns how many succeeded.
func (c *conn) try(sql string) (done int, err error) {
	for sql != "" && sql[0] != 0 { // SQLite ignores everything after a NUL
		st, tail, err := c.prepare(sql)
		if err != nil {
			return done, err
		}
		for more := st != nil; more; {
			if more, err = st.step(); err != nil {
				st.close()
				return done, err
			}
		}
		if st != nil {
			st.close()
		}
		sql = tail
		done++
	}
	return done, nil
}

// autocommit reports whether the connection is outside a transaction.
func (c *conn) autocommit() bool { return sqlite3.Xsqlite3_get_autocommit(c.tls, c.db) != 0 }

// all runs one of this package's own statements and returns its rows.
func (c *conn) all(sql string, args ...any) (rows [][]any, err error) {
	st, _, err := c.prepare(sql)
	if err != nil {
		return nil, err
	}
	defer st.close()
	if err := st.bind(args); err != nil {
		return nil, err
	}
	for {
		more, err := st.step()
		if err != nil || !more {
			return rows, err
		}
		row := make([]any, st.columns())
		for i := range row {
			switch st.kind(i) {
			case sqlite3.SQLITE_INTEGER:
				row[i] = st.integer(i)
			case sqlite3.SQLITE_NULL:
			default:
				row[i] = st.text(i)
			}
		}
		rows = append(rows, row)
	}
}

// authorizers maps handles to connections, because callbacks from SQLite pass only the handle. Connections add
// themselves when they open and remove themselves when they close; they share nothing else.
var authorizers sync.Map // uintptr → *conn

// authorizerPointer is the C function pointer of authorizer. modernc.org/libc represents one as the address of the
// function's code pointer.
var authorizerPointer = *(*uintptr)(unsafe.Pointer(&struct {
	f func(*libc.TLS, uintptr, int32, uintptr, uintptr, uintptr, uintptr) int32
}{authorizer}))

func authorizer(_ *libc.TLS, db uintptr, action int32, a1, a2, database, accessor uintptr) int32 {
	v, ok := authorizers.Load(db)
	if !ok {
		return sqlite3.SQLITE_DENY
	}
	c := v.(*conn)
	reason := ""
	if c.guard == nil {
		reason = c.judge(action, libc.GoString(a1), libc.GoString(a2), libc.GoString(database))
	} else {
		reason = c.judgeGuarded(action, libc.GoString(a1), libc.GoString(a2), libc.GoString(database),
			libc.GoString(accessor))
	}
	if reason == "" {
		if action == sqlite3.SQLITE_READ {
			c.noteRead(libc.GoString(a1))
		}
		return sqlite3.SQLITE_OK
	}
	if c.denied == "" {
		c.denied = reason
	}
	return sqlite3.SQLITE_DENY
}

// noteRead records a table that the statement being prepared reads. It skips the views made for the filters, and
// table-valued functions.
func (c *conn) noteRead(table string) {
	if c.guard != nil && (c.guard.trusted || c.guard.tableReaders[table]) {
		return
	}
	if table == "" || c.modules[source.Lower(table)] || strings.HasPrefix(source.Lower(table), "pragma_") ||
		slices.Contains(c.reads, table) {
		return
	}
	c.reads = append(c.reads, table)
}
