package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
)

// Deleted rows leave free pages in the file. The writer returns them to the file system in slices while no request
// waits. SQLite can do so only in a file with a map of its pages, which files of early versions lack. Open rewrites a
// small file without the map, and a large one if the operator asks for it (Options.Compact).

const (
	slicePages  = 1000      // pages of a slice: about 4 MB, and one fsync
	sparePages  = 256       // free pages kept for the next writes
	smallFile   = 256 << 20 // bytes up to which Open rewrites a file unasked, in a few seconds
	incremental = 2         // PRAGMA auto_vacuum
)

// compact rewrites a small file that cannot return free space, or any file if forced.
func (w *writer) compact(ctx context.Context, forced bool) (err error) {
	var mode int
	if err := w.conn.QueryRowContext(ctx, "SELECT auto_vacuum FROM pragma_auto_vacuum").Scan(&mode); err != nil {
		return err
	}
	info, err := os.Stat(w.s.path)
	if err != nil {
		return err
	}
	if !forced && (mode == incremental || info.Size() > smallFile) {
		return nil
	}
	// The copy is as large as the file, too large for memory.
	for _, sql := range []string{
		"PRAGMA temp_store = FILE", fmt.Sprintf("PRAGMA auto_vacuum = %d", incremental), "VACUUM",
		"PRAGMA temp_store = MEMORY",
	} {
		if _, err := w.conn.ExecContext(ctx, sql); err != nil {
			if forced {
				return fmt.Errorf("compact the file: %w", err)
			}
			return nil // for example without room for a copy: the file stays as it is
		}
	}
	w.deleted = true
	w.emptyWAL()
	return nil
}

// returnPages returns a slice of the free pages, and clears w.spare when none are left.
func (w *writer) returnPages() {
	ctx := context.Background()
	left, err := w.slice(ctx)
	if err != nil || left <= sparePages {
		w.spare, w.deleted = false, true
		w.emptyWAL() // this shortens the file
	}
}

// slice returns a slice of free pages to the file system, and the number of pages left. It returns an error if the file
// has no list of free pages or cannot be written now.
func (w *writer) slice(ctx context.Context) (left int64, err error) {
	if w.conn == nil {
		return 0, sql.ErrConnDone
	}
	const state = "SELECT auto_vacuum, freelist_count FROM pragma_auto_vacuum, pragma_freelist_count"
	var mode int
	if err := w.conn.QueryRowContext(ctx, state).Scan(&mode, &left); err != nil {
		return 0, err
	}
	if mode != incremental {
		return 0, errors.New("the file has no list of free pages")
	}
	n := min(left-sparePages, slicePages)
	if n <= 0 {
		return left, nil
	}
	rows, err := w.conn.QueryContext(ctx, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", n))
	if err != nil {
		return 0, err
	}
	for rows.Next() { // each step returns one page
	}
	return left - n, errors.Join(rows.Err(), rows.Close())
}
