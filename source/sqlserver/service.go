package sqlserver

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/warehouse"
)

// Run implements warehouse.Service. When it returns, the server has confirmed that the statement does not run, or the
// connection is closed.
func (s *service) Run(ctx context.Context, st warehouse.Statement, to warehouse.Sink) error {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return s.explain(ctx, err)
	}
	defer release(ctx, conn)
	rows, err := conn.QueryContext(ctx, st.SQL)
	if err != nil {
		return s.explain(ctx, err)
	}
	defer rows.Close() // stops the statement if rows are left
	types, err := rows.ColumnTypes()
	if err != nil {
		return s.explain(ctx, err)
	}
	columns, values, into := make([]warehouse.Column, len(types)), make([]any, len(types)), make([]any, len(types))
	kinds := make([]string, len(types))
	for i, t := range types {
		kinds[i] = kindOf(t.DatabaseTypeName())
		columns[i] = warehouse.Column{Name: t.Name(), Type: strings.ToLower(t.DatabaseTypeName())}
		into[i] = &values[i]
	}
	to.Columns(columns)
	cells := make([]any, len(values))
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return s.explain(ctx, err)
		}
		for i, v := range values {
			if cells[i], err = s.cell(columns[i].Type, kinds[i], v); err != nil {
				return err
			}
		}
		if err := to.Row(cells); err != nil {
			return err
		}
	}
	return s.explain(ctx, rows.Err())
}

const rollback = "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION"

// release ends the transaction of a connection, which the settings began. If that fails, the connection is closed.
func release(ctx context.Context, conn *sql.Conn) {
	ctx, cancel := warehouse.Stopping(ctx)
	defer cancel()
	if _, err := conn.ExecContext(ctx, rollback); err != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
	_ = conn.Close()
}

// cell returns a value as warehouse.Sink takes it. Numbers stay exact: money and decimals come as texts.
func (s *service) cell(typ, kind string, v any) (any, error) {
	switch v := v.(type) {
	case int64, float64, bool:
		if typ == "sql_variant" {
			return fmt.Sprint(v), nil
		}
		return v, nil
	case time.Time:
		return moment(typ, v), nil
	case string:
		return v, nil // if it was cut, it is longer than a cell may be
	case []byte:
		if len(v) >= s.longest {
			return nil, source.Limitf("A value is longer than a cell may be. Select a part of it.")
		}
		return bytesOf(typ, kind, v)
	}
	return nil, nil
}

// bytesOf returns a value that the driver leaves as bytes.
func bytesOf(typ, kind string, v []byte) (any, error) {
	switch kind {
	case footnote.KindDecimal:
		return string(v), nil
	case footnote.KindBlob:
		return base64.StdEncoding.EncodeToString(v), nil
	}
	if typ == "uniqueidentifier" {
		var id mssql.UniqueIdentifier
		if err := id.Scan(v); err != nil {
			return nil, footnote.Wrapf(footnote.DatabaseUnavailable, err, "The database sent a wrong value.")
		}
		return id.String(), nil
	}
	if text := string(v); typ == "sql_variant" && strings.Trim(text, "-.0123456789") == "" {
		return text, nil // a decimal
	}
	return "0x" + strings.ToUpper(hex.EncodeToString(v)), nil
}

// moment returns a date or time. One with an offset is in UTC, as those of other databases are.
func moment(typ string, t time.Time) string {
	switch typ {
	case "date":
		return t.Format("2006-01-02")
	case "time":
		return t.Format("15:04:05.9999999")
	case "datetimeoffset":
		return t.UTC().Format("2006-01-02T15:04:05.9999999Z")
	}
	return t.Format("2006-01-02T15:04:05.9999999")
}

// The numbers of errors that mean something else than a statement that is wrong.
const (
	loginFailed  = 18456
	noDatabase   = 4060
	deniedObject = 229
	deniedColumn = 230
	deadlock     = 1205
	lockTimeout  = 1222
	noMemory     = 701
	waitedMemory = 8645
	tooCostly    = 8649 // the server's own limit
	fatalClass   = 20   // from this class on, the server ends the connection
)

// explain returns the error for a driver's error. Without one, it is nil, even if ctx has ended.
func (s *service) explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	message := s.clean(err.Error())
	bad, ok := errors.AsType[mssql.Error](err)
	if ok {
		message = s.clean(bad.Message)
	}
	switch {
	case errors.Is(err, errRoute):
		return footnote.Errorf(footnote.DatabaseUnavailable, "The database cannot be used: %s.", message)
	case !ok || bad.Class >= fatalClass:
		return footnote.Wrapf(footnote.DatabaseUnavailable, errors.New(message), "The database cannot be reached.")
	}
	switch bad.Number {
	case loginFailed, noDatabase:
		return footnote.Errorf(footnote.DatabaseUnavailable, "The database refused the login: %s", message)
	case deniedObject, deniedColumn:
		return source.Refusef("%s", message)
	case deadlock, lockTimeout:
		return source.Limitf("The statement waited too long for others that change the same rows: %s", message)
	case noMemory, waitedMemory, tooCostly:
		return source.Limitf("The statement needed more than it may use: %s", message)
	}
	return source.Failf("%s", message)
}

// clean returns a message without the password, and shortened.
func (s *service) clean(message string) string {
	const longest = 1000
	if s.password != "" {
		message = strings.ReplaceAll(message, s.password, "…")
	}
	message = strings.TrimSpace(strings.ToValidUTF8(message, "\uFFFD"))
	if len(message) > longest {
		message = strings.ToValidUTF8(message[:longest], "") + "…"
	}
	return message
}

// Excess implements warehouse.Service.
func (s *service) Excess(ctx context.Context) ([]string, error) {
	var found []string
	err := warehouse.Collect(ctx, s, rights, func(row []string) error {
		found = append(found, row[0])
		return nil
	})
	return found, err
}
