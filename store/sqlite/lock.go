package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/pause"
)

// errLocked is returned by tryLock while another process holds the lock.
var errLocked = errors.New("locked")

// waitFile is lockFile, but waits up to opts.Wait for another process to release the lock.
func waitFile(ctx context.Context, path string, opts Options) (*os.File, error) {
	end := time.Now().Add(opts.Wait)
	for first := true; ; first = false {
		f, err := lockFile(path)
		if !errors.Is(err, errLocked) || !time.Now().Before(end) {
			return f, err
		}
		if first && opts.Waiting != nil {
			opts.Waiting()
		}
		if err := pause.For(ctx, 50*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// lockFile locks the lock file of a data file. The system releases the lock when the process ends for any reason. The
// lock file stays: if it were removed, two processes could lock two files of the same name.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := tryLock(f); err != nil {
		defer f.Close()
		if !errors.Is(err, errLocked) {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		return nil, &footnote.Error{
			Code: footnote.StorageUnavailable,
			Message: "The conversations are in use by another process (" + holder(f) +
				"). Stop it, or give this one a data folder of its own.",
			Err: fmt.Errorf("lock %s: %w", path, err),
		}
	}
	host, _ := os.Hostname() // only for people who read the lock file
	text := fmt.Sprintf("process %d on %s since %s\n", os.Getpid(), host, time.Now().UTC().Format(time.RFC3339))
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt([]byte(text), 0)
	}
	// On a full disk the lock works without the text.
	if msg, _ := message(err); err != nil && msg != msgFull {
		f.Close()
		return nil, err
	}
	return f, nil
}

// holder returns the text that the holder of the lock wrote into the file.
func holder(f *os.File) string {
	b, _ := io.ReadAll(io.NewSectionReader(f, 0, 300))
	if text := strings.TrimSpace(strings.ToValidUTF8(string(b), "?")); text != "" {
		return text
	}
	return "of unknown id"
}
