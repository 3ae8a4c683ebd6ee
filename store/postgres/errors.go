package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/footnotehq/footnote/store"
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

// translate classifies an error of the driver. doing names the failed operation.
func translate(ctx context.Context, doing string, err error) error {
	return store.Classify(ctx, doing, err, message)
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
	msg, known := messages[e.Code]
	if !known {
		msg, known = messages[e.Code[:min(2, len(e.Code))]]
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok && !known {
		return msgDown, retryAfter // it accepts no connections, for whatever reason
	}
	switch msg {
	case "", msgMissing, msgRefuses, msgDamaged:
		return msg, 0
	}
	return msg, retryAfter
}

// messages are the user's messages by the code of an error, or by its class, the first two characters.
var messages = map[string]string{
	"0A000": msgReadOnly, // a standby
	"53100": msgFull, "58": msgFull,
	"53300": msgCrowded,
	"57014": msgBusy, "55P03": msgBusy, "40001": msgBusy, "40P01": msgBusy, "25P03": msgBusy, "25P04": msgBusy,
	"53200": msgBusy, "53000": msgBusy, "53400": msgBusy,
	"3D000": msgMissing, "3F000": msgMissing, "42P01": msgMissing, "42703": msgMissing,
	"42501": msgRefuses, "28": msgRefuses,
	"08": msgDown, "57": msgDown,
	"XX": msgDamaged,
}

// lostConn is an error that broke its connection.
type lostConn struct{ error }

func (l lostConn) Unwrap() error { return l.error }

// unreachable reports whether err, which the server did not send, is a network error or a timeout. Other errors are
// this program's own, such as a value that cannot be scanned, and would occur again.
func unreachable(err error) bool {
	known := []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, context.DeadlineExceeded, context.Canceled, errSlow}
	if slices.ContainsFunc(known, func(target error) bool { return errors.Is(err, target) }) {
		return true
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
