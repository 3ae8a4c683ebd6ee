package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/footnotehq/footnote/source/mysql/grammar"
)

// maxRow is the number of bytes that one row may have on the wire.
const maxRow = 16 << 20

// errRowTooLarge is returned by a connection that reads a row of more than maxRow bytes.
var errRowTooLarge = errors.New("the row is too large")

// wire is the network connection below a driver's. It bounds the bytes of a row, which the driver does not.
type wire struct {
	net.Conn
	read     atomic.Int64 // bytes since the last row
	tooLarge atomic.Bool
}

func (w *wire) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	if w.read.Add(int64(n)) > maxRow {
		w.tooLarge.Store(true)
		return 0, errRowTooLarge
	}
	return n, err
}

// SyscallConn lets the driver look whether the server has closed an idle connection.
func (w *wire) SyscallConn() (syscall.RawConn, error) {
	if c, ok := w.Conn.(syscall.Conn); ok {
		return c.SyscallConn()
	}
	return nil, errors.New("the connection is no socket")
}

// conn is a connection to the server, set up for reading.
type conn struct {
	driver.Conn
	wire    *wire
	id      string // the server's number for it
	version version
}

// version is the version that a server reports.
type version struct {
	text    string
	mariaDB bool
}

// connector opens connections. It implements driver.Connector.
type connector struct {
	config *mysql.Config
	limit  time.Duration // of a statement
	memory int64         // of a connection
}

type wireKey struct{}

// newConnector completes the configuration of the driver.
func newConnector(c *mysql.Config, limit time.Duration, memory int64) *connector {
	c.Timeout = connectTime
	c.Logger = quiet{}
	c.ConnectionAttributes = "program_name:footnote"
	c.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		dialer := net.Dialer{KeepAlive: 15 * time.Second}
		nc, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		w, ok := ctx.Value(wireKey{}).(*wire)
		if !ok {
			return nc, nil
		}
		w.Conn = nc
		return w, nil
	}
	return &connector{config: c, limit: limit, memory: memory}
}

// quiet drops the driver's log: every error is also returned.
type quiet struct{}

func (quiet) Print(...any) {}

// Driver implements driver.Connector.
func (c *connector) Driver() driver.Driver { return &mysql.MySQLDriver{} }

// Connect implements driver.Connector.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	cn, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	if err := cn.setUp(ctx, c.limit, c.memory); err != nil {
		_ = cn.Close()
		return nil, err
	}
	return cn, nil
}

// dial opens a connection as the server sets it up.
func (c *connector) dial(ctx context.Context) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	inner, err := mysql.NewConnector(c.config)
	if err != nil {
		return nil, err
	}
	w := &wire{}
	dc, err := inner.Connect(context.WithValue(ctx, wireKey{}, w))
	if err != nil {
		return nil, err
	}
	return &conn{Conn: dc, wire: w}, nil
}

// setUp fixes everything that the meaning of a statement depends on: modes, character set and time zone.
func (c *conn) setUp(ctx context.Context, limit time.Duration, memory int64) error {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	rows, err := c.rows(ctx, "SELECT CONNECTION_ID(), VERSION(), @@version_comment")
	if err != nil {
		return err
	}
	if len(rows) != 1 {
		return errors.New("the server does not say its version")
	}
	c.id = rows[0][0]
	c.version = version{text: rows[0][1], mariaDB: strings.Contains(rows[0][1]+rows[0][2], "MariaDB") ||
		strings.Contains(strings.ToLower(rows[0][2]), "mariadb")}
	if err := c.exec(ctx, "SET NAMES utf8mb4"); err != nil {
		return err
	}
	required, optional := settings(c.version.mariaDB, limit, memory)
	if err := c.exec(ctx, "SET "+strings.Join(required, ", ")); err != nil {
		return err
	}
	for _, setting := range optional {
		if err := c.exec(ctx, "SET "+setting); err != nil && c.wire.read.Load() == 0 {
			return err
		}
	}
	return nil
}

// settings returns the settings of a session. A server may lack the optional ones, which are younger.
func settings(mariaDB bool, limit time.Duration, memory int64) (required, optional []string) {
	required = []string{
		"SESSION time_zone = '+00:00'", "SESSION autocommit = 1", "SESSION sql_auto_is_null = 0",
		"SESSION sql_big_selects = 1", "SESSION sql_select_limit = DEFAULT", "SESSION group_concat_max_len = 1048576",
		"SESSION lock_wait_timeout = 3", "SESSION innodb_lock_wait_timeout = 3", "SESSION net_write_timeout = 60",
		"SESSION lc_time_names = 'en_US'", "SESSION default_week_format = 0", "SESSION div_precision_increment = 4",
	}
	const modes = "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"
	if mariaDB {
		// Without ONLY_FULL_GROUP_BY: MariaDB's refuses columns that depend on a key in GROUP BY.
		return append(required, "SESSION sql_mode = '"+modes+"'", "SESSION tx_read_only = 1",
				fmt.Sprintf("SESSION max_statement_time = %.3f", (limit+time.Second).Seconds())),
			[]string{
				"SESSION max_recursive_iterations = 1000000", "SESSION standard_compliant_cte = 1",
				fmt.Sprintf("SESSION max_session_mem_used = %d", memory),
			}
	}
	return append(required, "SESSION sql_mode = 'ONLY_FULL_GROUP_BY,"+modes+"'",
			"SESSION transaction_read_only = 1",
			fmt.Sprintf("SESSION max_execution_time = %d", (limit+time.Second).Milliseconds())),
		[]string{"SESSION cte_max_recursion_depth = 1000000"}
}

// exec runs one of this package's own statements without a result.
func (c *conn) exec(ctx context.Context, sql string) error {
	c.wire.read.Store(0)
	x, ok := c.Conn.(driver.ExecerContext)
	if !ok {
		return errors.New("the driver cannot run statements")
	}
	_, err := x.ExecContext(ctx, sql, nil)
	return err
}

// query starts a statement. The driver sends its text as one command, of which the server runs one statement.
func (c *conn) query(ctx context.Context, sql string) (driver.Rows, error) {
	c.wire.read.Store(0)
	q, ok := c.Conn.(driver.QueryerContext)
	if !ok {
		return nil, errors.New("the driver cannot run queries")
	}
	return q.QueryContext(ctx, sql, nil)
}

// rows runs one of this package's own queries and returns its rows as text; NULL is "".
func (c *conn) rows(ctx context.Context, sql string) (_ [][]string, err error) {
	r, err := c.query(ctx, sql)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	values := make([]driver.Value, len(r.Columns()))
	var out [][]string
	for {
		c.wire.read.Store(0)
		if err := r.Next(values); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, err
		}
		row := make([]string, len(values))
		for i, v := range values {
			switch v := v.(type) {
			case nil:
			case []byte:
				row[i] = string(v)
			default:
				row[i] = fmt.Sprint(v)
			}
		}
		out = append(out, row)
	}
}

// ResetSession implements driver.SessionResetter: it finds connections that the server has closed.
func (c *conn) ResetSession(ctx context.Context) error {
	c.wire.read.Store(0)
	if r, ok := c.Conn.(driver.SessionResetter); ok {
		return r.ResetSession(ctx)
	}
	return nil
}

// IsValid implements driver.Validator.
func (c *conn) IsValid() bool {
	v, ok := c.Conn.(driver.Validator)
	return !ok || v.IsValid()
}

// kill asks the server, over a connection of its own, to end the statement of another connection.
func (c *connector) kill(ctx context.Context, id string) error {
	k, err := c.dial(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = k.Close() }()
	return k.exec(ctx, "KILL QUERY "+id)
}

func quote(name string) string { return grammar.Quote(name) }
