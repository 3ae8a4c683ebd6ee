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
)

// errLocked is what tryLock returns while another process has the lock.
var errLocked = errors.New("locked")

// waitFile is lockFile that waits for another process as long as opts say.
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
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// lockFile takes the lock beside a data file. The system gives it up when the
// process ends, however it ends. The file itself stays: removing it would let two
// processes lock two files of one name.
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
	host, _ := os.Hostname() // only words for whoever finds the lock
	words := fmt.Sprintf("process %d on %s since %s\n", os.Getpid(), host, time.Now().UTC().Format(time.RFC3339))
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt([]byte(words), 0)
	}
	// On a full disk the lock works without the words.
	if msg, _ := message(err); err != nil && msg != msgFull {
		f.Close()
		return nil, err
	}
	return f, nil
}

// holder is what the holder of the lock wrote about itself.
func holder(f *os.File) string {
	b, _ := io.ReadAll(io.NewSectionReader(f, 0, 300))
	if words := strings.TrimSpace(strings.ToValidUTF8(string(b), "?")); words != "" {
		return words
	}
	return "which did not say its name"
}
