package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/store"
)

// TestOutageErrors checks that only connection errors count as an outage, which callers wait out.
func TestOutageErrors(t *testing.T) {
	for _, c := range []struct {
		err  error
		want footnote.Code
	}{
		{pgx.ScanArgError{ColumnIndex: 1, Err: errors.New("cannot scan infinity")}, footnote.Internal},
		{errors.New("failed to encode args[0]"), footnote.Internal},
		{pgx.ErrNoRows, footnote.Internal},
		{io.ErrUnexpectedEOF, footnote.StorageUnavailable},
		{context.DeadlineExceeded, footnote.StorageUnavailable},
		{&net.OpError{Op: "read", Err: errors.New("connection reset")}, footnote.StorageUnavailable},
		{&pgconn.ConnectError{Config: &pgconn.Config{}}, footnote.StorageUnavailable},
		{lostConn{errors.New("unknown message type")}, footnote.StorageUnavailable},
	} {
		err := translate(t.Context(), "read", fmt.Errorf("a cause: %w", c.err))
		if got := footnote.CodeOf(err); got != c.want {
			t.Errorf("%T is %s, want %s", c.err, got, c.want)
		}
	}
}

// TestIncompleteImport checks that an import whose events do not match its stream is not reported as an outage.
func TestIncompleteImport(t *testing.T) {
	s := openAt(t, pgtest.Database(t), Options{})
	head := store.Stream{ID: "c1", Kind: "conversation", Org: "o", User: "u", Last: 3}
	err := s.Import(t.Context(), head, func(func(footnote.Event, error) bool) {}, func(func(store.Blob, error) bool) {})
	if footnote.CodeOf(err) != footnote.Internal {
		t.Errorf("the import says %v", err)
	}
}
