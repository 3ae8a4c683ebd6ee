package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/footnotehq/footnote"
)

// retryAfter is how long a client should wait while the database is unreachable.
const retryAfter = 5 * time.Second

// Messages for users. The driver's error, which has the host and user, goes to the log.
const (
	msgDown    = "The database that holds the conversations cannot be reached."
	msgRefuses = "The database that holds the conversations refuses this server: its user, password or privileges " +
		"are wrong."
	msgMissing   = "The database for the conversations does not exist, or lacks the tables of Footnote."
	msgFull      = "The disk of the database that holds the conversations is full. Nothing was lost."
	msgReadOnly  = "The store is read-only for now; conversations can be read."
	msgBusy      = "The database that holds the conversations is too busy."
	msgCrowded   = "The database that holds the conversations takes no further connections."
	msgDamaged   = "The database that holds the conversations reports damaged data."
	msgUncertain = "The connection to the database that holds the conversations broke during a write. The last write " +
		"may or may not be stored."
)

// translate classifies an error of the driver. An error that has a code keeps it. doing says what failed.
func translate(ctx context.Context, doing string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*footnote.Error](err); ok {
		return err
	}
	err = fmt.Errorf("%s: %w", doing, err)
	if ctx.Err() != nil { // the driver's words say less than the cause
		return fmt.Errorf("%s: %w", doing, context.Cause(ctx))
	}
	msg, retry := message(err)
	if msg == "" {
		return err
	}
	return &footnote.Error{Code: footnote.StorageUnavailable, Message: msg, RetryAfter: retry, Err: err}
}

// message returns the user's message for an error, and how long to wait if the error may be temporary. It returns ""
// for an error of the program itself.
func message(err error) (string, time.Duration) {
	if errors.Is(err, pgx.ErrNoRows) {
		return "", 0
	}
	if readOnly(err) {
		return msgReadOnly, retryAfter
	}
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok && unreachable(err) {
		return msgDown, retryAfter
	}
	if !ok {
		return "", 0
	}
	switch e.Code {
	case "0A000": // a standby
		return msgReadOnly, retryAfter
	case "53100":
		return msgFull, retryAfter
	case "53300":
		return msgCrowded, retryAfter
	case "57014", "55P03", "40001", "40P01", "25P03", "25P04", "53200", "53000", "53400":
		return msgBusy, retryAfter
	case "3D000", "3F000", "42P01", "42703":
		return msgMissing, 0
	case "42501":
		return msgRefuses, 0
	}
	switch e.Code[:min(2, len(e.Code))] {
	case "28":
		return msgRefuses, 0
	case "08", "57":
		return msgDown, retryAfter
	case "58":
		return msgFull, retryAfter
	case "XX":
		return msgDamaged, 0
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return msgDown, retryAfter // it accepts no connections, for whatever reason
	}
	return "", 0
}

// lostConn is an error that broke its connection.
type lostConn struct{ error }

func (l lostConn) Unwrap() error { return l.error }

// unreachable reports whether err, which the server did not send, is a network error or a timeout. Other errors are
// this program's own, such as a value that cannot be scanned, and would occur again.
func unreachable(err error) bool {
	for _, known := range []error{
		io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, context.DeadlineExceeded, context.Canceled, errSlow,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	_, network := errors.AsType[net.Error](err)
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	_, broken := errors.AsType[lostConn](err)
	return network || connecting || broken || pgconn.SafeToRetry(err)
}

// Reason returns the message of the database or the network for operators, without the password. It returns "" for
// other errors.
func Reason(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Message
	}
	e, ok := errors.AsType[*pgconn.ConnectError](err)
	if !ok {
		return ""
	}
	tries := strings.Split(e.Error(), "\n") // a line for each attempt, with and without TLS
	return strings.TrimSpace(tries[len(tries)-1])
}
