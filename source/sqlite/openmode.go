package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/plainfile"
	"github.com/footnotehq/footnote/source/child"
)

// openMode is a way to open a file. It depends on the journal mode and on the files next to it: a database in WAL
// mode needs an index (-shm), which a writer maintains and a read-only reader cannot create.
type openMode string

const (
	plain  openMode = "plain"  // in place, with SQLite's locks
	shared openMode = "shared" // with the log and its index, which is only read
	still  openMode = "still"  // no process writes: no locks, no log
	copied openMode = "copied" // the log has no index: both files are copied
)

const notSQLite = "The file is not a SQLite database, or is encrypted."

// choose reads the head of a file, in the child and before SQLite opens it, and returns how to open it.
func choose(path string, immutable bool) (openMode, error) {
	head, err := plainfile.Head(path, 100)
	switch {
	case err != nil:
		return "", child.Unreadable(err)
	case len(head) < 100 || string(head[:16]) != "SQLite format 3\x00":
		return "", footnote.Errorf(footnote.DatabaseUnavailable, notSQLite)
	}
	wal, shm := beside(path+"-wal"), beside(path+"-shm")
	switch {
	case immutable:
		return still, nil
	case head[18] != 2 && head[19] != 2: // not in WAL mode
		return plain, nil
	case shm != nil:
		return shared, nil
	case wal == nil || wal.Size() == 0:
		return still, nil
	default:
		return copied, nil
	}
}

// uri builds the name that SQLite opens, and nothing else does: always an escaped, read-only file: URI.
func uri(path string, w openMode) string {
	params := "mode=ro"
	switch w {
	case shared:
		params += "&readonly_shm=1"
	case still:
		params += "&immutable=1"
	}
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: params}).String()
}

// copyHere copies a database and its log into the child's own working directory, where the index of the log can be
// created.
func copyHere(ctx context.Context, path string) (string, error) {
	size := int64(0)
	for _, end := range []string{"", "-wal"} {
		if info := beside(path + end); info != nil {
			size += info.Size()
		}
	}
	if size > maxTemp {
		return "", footnote.Errorf(footnote.DatabaseUnavailable,
			"The database has a write-ahead log that was not merged and is too large to be copied. Open it once with "+
				"a program that may write, to merge the log.")
	}
	to, err := filepath.Abs("copy.db")
	if err != nil {
		return "", err
	}
	for _, end := range []string{"", "-wal"} {
		if err := copyFile(ctx, path+end, to+end); err != nil {
			return "", fmt.Errorf("copy the database: %w", err)
		}
	}
	return to, nil
}

func copyFile(ctx context.Context, from, to string) error {
	in, err := plainfile.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	for err == nil && ctx.Err() == nil {
		_, err = io.CopyN(out, in, 4<<20)
	}
	if err == nil {
		err = context.Cause(ctx)
	} else if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, out.Close())
}
