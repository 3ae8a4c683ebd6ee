package mysql

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source/child"
)

// counters are what a server counts when data or tables change. MariaDB counts the rows that statements write, and the
// temporary ones of queries apart from them; MySQL counts both together, but InnoDB's apart. Commits count, too, so
// that a long transaction is seen when it ends.
const counters = `'Handler_write', 'Handler_update', 'Handler_delete', 'Innodb_rows_inserted', 'Innodb_rows_updated',
	'Innodb_rows_deleted', 'Com_commit', 'Com_xa_commit', 'Com_alter_table', 'Com_create_table', 'Com_drop_table',
	'Com_create_view', 'Com_drop_view', 'Com_create_index', 'Com_drop_index', 'Com_rename_table', 'Com_truncate',
	'Com_create_db', 'Com_drop_db', 'Com_load'`

// Version implements child.Engine. It returns what the server counts when data change, and includes the principal's
// conditions if rows differ between users.
func (e *engine) Version(ctx context.Context) (string, error) {
	s, err := e.begin(ctx)
	if err != nil {
		return "", err
	}
	defer s.end()
	v := ""
	if e.version != "" {
		v, err = s.ownVersion(ctx, e.version)
	} else {
		v, err = s.counted(ctx)
	}
	if err == nil && e.rules != nil {
		v += " " + e.rules.For(ctx).Digest()
	}
	return v, err
}

// counted returns the server's counts, and when it was started, because it then counts from 0 again.
func (s *session) counted(ctx context.Context) (string, error) {
	rows, err := s.rows(ctx, "SHOW GLOBAL STATUS WHERE Variable_name IN ('Uptime', "+counters+")")
	if err != nil {
		return "", err
	}
	inno := false
	var values, handlers []string
	for _, r := range rows {
		switch {
		case r[0] == "Uptime":
			seconds, _ := strconv.Atoi(r[1])
			values = append(values, strconv.FormatInt(s.e.start(time.Duration(seconds)*time.Second).Unix(), 10))
		case strings.HasPrefix(r[0], "Handler_"):
			handlers = append(handlers, r[1])
		default:
			inno = inno || strings.HasPrefix(r[0], "Innodb_rows")
			values = append(values, r[1])
		}
	}
	if !inno {
		values = append(values, handlers...)
	}
	position := "@@GLOBAL.gtid_executed"
	if s.conn.version.mariaDB {
		position = "@@GLOBAL.gtid_slave_pos"
	}
	if rows, err = s.rows(ctx, "SELECT "+position); err != nil {
		return "", err
	}
	return strings.Join(append(values, rows[0][0]), "-"), nil
}

// start returns when the server was started. The server's clock and ours round differently, so a difference of two
// seconds is none.
func (e *engine) start(up time.Duration) time.Time {
	at := time.Now().Add(-up).Truncate(time.Second)
	e.mu.Lock()
	defer e.mu.Unlock()
	if d := at.Sub(e.started); d < -2*time.Second || d > 2*time.Second {
		e.started = at
	}
	return e.started
}

// ownVersion runs the configured statement.
func (s *session) ownVersion(ctx context.Context, sql string) (string, error) {
	var values []string
	_, err := s.query(ctx, sql, func(row []any) error {
		if len(row) != 1 {
			return errVersion
		}
		values = append(values, string(footnote.AppendRow(nil, row)))
		if len(values) > 1 {
			return errVersion
		}
		return nil
	})
	switch {
	case err != nil:
		return "", err
	case len(values) != 1:
		return "", errVersion
	}
	shape, err := s.rows(ctx, "SHOW GLOBAL STATUS LIKE 'Com_%table'")
	if err != nil {
		return "", err
	}
	for _, r := range shape {
		values = append(values, r[1])
	}
	return strings.Join(values, "-"), nil
}

// filterOf returns the configured spelling of a table's name in filters, or "".
func (e *engine) filterOf(name string) string { return child.Configured(e.filters, name) }
