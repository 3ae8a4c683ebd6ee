package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store/internal/schema"
)

// OpenReader opens a data file for reading only, beside the process that has it
// open for writing, if there is one. Methods that write fail, but those about keys,
// and so do those about leases, which only that process knows. A file that is not
// there is NotFound; one of another version is StorageUnavailable.
func OpenReader(ctx context.Context, path string) (_ *Store, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return nil, footnote.Errorf(footnote.NotFound, "There is no data file at %s.", path)
	}
	s := &Store{now: time.Now, path: path, readOnly: true, queue: make(chan *request), stopped: make(chan struct{})}
	close(s.stopped) // there is no writer to wait for
	defer func() {
		if err != nil {
			err = translate(ctx, "open "+path, err)
			_ = s.closeFiles()
		}
	}()
	if s.read, err = sql.Open("sqlite", dsn(path, readPragmas)); err != nil {
		return nil, err
	}
	var version int
	if err := s.read.QueryRowContext(ctx, "SELECT user_version FROM pragma_user_version").Scan(&version); err != nil {
		return nil, err
	}
	scripts, err := schema.Scripts(migrationFiles)
	if err != nil {
		return nil, err
	}
	if version != len(scripts) {
		return nil, footnote.Errorf(footnote.StorageUnavailable, "The data file is of another version of Footnote (schema %d; this one reads %d).", version, len(scripts))
	}
	return s, s.reads.prepare(ctx, s.read)
}

var errReader = &footnote.Error{
	Code: footnote.StorageUnavailable, Message: "The conversations were opened for reading only.",
	Err: fmt.Errorf("write on a reader"),
}
