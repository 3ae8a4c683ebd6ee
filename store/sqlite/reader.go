package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store/internal/group"
	"github.com/footnotehq/footnote/store/internal/schema"
)

// OpenReader opens a data file for reading, even while another process has it open for writing. Methods for keys also
// write; all other methods that write fail, and so do those that need the leases, which only the writing process knows.
// The error has the code NotFound if there is no file, and StorageUnavailable if the file has another version.
func OpenReader(ctx context.Context, path string) (*Store, error) {
	s, state, err := openToRead(ctx, path)
	if err != nil {
		return nil, err
	}
	if state.Have == state.Want {
		err = prepare(ctx, s.read, readQueries(&s.reads))
	} else {
		err = footnote.Errorf(footnote.StorageUnavailable,
			"The data file belongs to another version of Footnote (schema %d; this one reads %d).", state.Have,
			state.Want)
	}
	if err != nil {
		return nil, errors.Join(translate(ctx, "open "+path, err), s.closeFiles())
	}
	return s, nil
}

// State is the result of Inspect.
type State struct {
	Have, Want int  // schema versions of the file and of this program
	Compacts   bool // the file returns free space to the file system
}

// Inspect reads the versions of a data file without changing it. It returns an error if the file cannot be used as a
// store, with the code NotFound if there is no file.
func Inspect(ctx context.Context, path string) (State, error) {
	s, state, err := openToRead(ctx, path)
	if err != nil {
		return State{}, err
	}
	if err := schema.Check(state.Have, state.Want); err != nil {
		return State{}, errors.Join(err, s.closeFiles())
	}
	return state, s.closeFiles()
}

// openToRead opens a data file of any version, without preparing statements.
func openToRead(ctx context.Context, path string) (_ *Store, state State, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return nil, state, err
	}
	s := &Store{now: time.Now, path: path, readOnly: true, queue: group.New[*request](0), stopped: make(chan struct{})}
	close(s.stopped) // there is no writer to wait for
	defer func() {
		if err != nil {
			err = translate(ctx, "open "+path, err)
			_ = s.closeFiles()
		}
	}()
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, state, footnote.Errorf(footnote.NotFound, "There is no data file at %s.", path)
	case err != nil:
		return nil, state, err
	case info.Size() == 0:
		return nil, state, footnote.Errorf(footnote.StorageUnavailable,
			"The data file %s is empty. If it held conversations, restore it from a backup; otherwise remove it.", path)
	}
	scripts, err := schema.Scripts(migrationFiles)
	if err != nil {
		return nil, state, err
	}
	if s.read, err = sql.Open("sqlite", dsn(path, readPragmas)); err != nil {
		return nil, state, err
	}
	if state.Have, err = versionOf(ctx, s.read); err != nil {
		return nil, state, err
	}
	var mode int
	err = s.read.QueryRowContext(ctx, "SELECT auto_vacuum FROM pragma_auto_vacuum").Scan(&mode)
	state.Want, state.Compacts = len(scripts), mode == incremental
	return s, state, err
}

var errReader = &footnote.Error{
	Code: footnote.StorageUnavailable, Message: "The conversations were opened for reading only.",
	Err: errors.New("write to a store opened by OpenReader"),
}
