package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
)

// What is deleted leaves free pages in the file. They are given back to the file system
// in slices, while nobody waits for the writer. The file keeps a list for that, which
// files that were made before this existed do not have: a small one is rewritten with it
// when it is opened, a large one when its operator says so (Options.Compact).

const (
	slicePages  = 1000      // pages of a slice: some 4 MB, and one fsync
	sparePages  = 256       // that are kept for what comes next
	smallFile   = 256 << 20 // bytes of a file that is rewritten unasked: some seconds
	incremental = 2         // PRAGMA auto_vacuum
)

// compact rewrites a file that does not give space back; any file when it is forced.
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
	// The copy is as large as the file: not in memory.
	for _, sql := range []string{
		"PRAGMA temp_store = FILE", fmt.Sprintf("PRAGMA auto_vacuum = %d", incremental), "VACUUM",
		"PRAGMA temp_store = MEMORY",
	} {
		if _, err := w.conn.ExecContext(ctx, sql); err != nil {
			if forced {
				return fmt.Errorf("compact the file: %w", err)
			}
			return nil // there is no room for a copy, say: it stays as it was
		}
	}
	w.deleted = true
	w.emptyWAL()
	return nil
}

// giveBack gives a slice of the free pages back. It notes when there are none left.
func (w *writer) giveBack() {
	ctx := context.Background()
	left, err := w.slice(ctx)
	if err != nil || left <= sparePages {
		w.spare, w.deleted = false, true
		w.emptyWAL() // which is when the file gets shorter
	}
}

// slice returns how many free pages are left, or an error when the file has no list of
// them or cannot be written now.
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
		return 0, errors.New("the file does not give space back")
	}
	n := min(left-sparePages, slicePages)
	if n <= 0 {
		return left, nil
	}
	rows, err := w.conn.QueryContext(ctx, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", n))
	if err != nil {
		return 0, err
	}
	for rows.Next() { // a step for each page
	}
	return left - n, errors.Join(rows.Err(), rows.Close())
}
