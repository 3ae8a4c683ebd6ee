package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"syscall"
	"time"

	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/footnotehq/footnote/store"
)

// retryAfter is how long a client should wait while the disk fails.
const retryAfter = 5 * time.Second

// Messages for users. The driver's error, which has the path, goes to the log.
const (
	msgFull     = "The disk that holds the conversations is full. Nothing was lost; free some space and try again."
	msgReadOnly = "The place that holds the conversations cannot be written."
	msgIO       = "The disk that holds the conversations reports an error."
	msgCorrupt  = "The file that holds the conversations is damaged. Restore it from a backup."
	msgBusy     = "The file that holds the conversations is locked by another program."
	msgOpen     = "The file that holds the conversations cannot be opened."
	msgGone     = "The file that holds the conversations was moved or removed while it was in use. Put it back and " +
		"restart."
)

// translate classifies an error of the driver or the system. doing names the failed operation. A storage error is
// reported even if the context has ended meanwhile.
func translate(ctx context.Context, doing string, err error) error {
	if words, _ := message(err); words != "" {
		ctx = context.WithoutCancel(ctx)
	}
	return store.Classify(ctx, doing, err, message)
}

// message returns the user's message for a storage error, and how long to wait if the error may be temporary. It
// returns "" for any other error.
func message(err error) (string, time.Duration) {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return msgFull, retryAfter
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return msgReadOnly, 0
	case errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.ENOTDIR):
		return msgOpen, 0
	case errors.Is(err, syscall.EIO):
		return msgIO, retryAfter
	}
	e, ok := errors.AsType[*driver.Error](err)
	if !ok {
		return "", 0
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_FULL:
		return msgFull, retryAfter
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM:
		return msgReadOnly, 0
	case sqlite3.SQLITE_IOERR:
		return msgIO, retryAfter
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return msgCorrupt, 0
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL:
		return msgBusy, retryAfter
	case sqlite3.SQLITE_CANTOPEN:
		return msgOpen, retryAfter
	}
	return "", 0
}

// unique reports whether err means that a key is taken.
func unique(err error) bool {
	e, ok := errors.AsType[*driver.Error](err)
	return ok && (e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || e.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)
}
