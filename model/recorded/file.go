package recorded

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Limits of a file of recordings.
const (
	maxEntries = 100_000
	maxLine    = 8 << 20
	maxFile    = 256 << 20
)

// Tape is the content of a file of recordings.
type Tape struct {
	Head    Head
	Entries []Entry
}

// Read reads a file of recordings.
func Read(path string) (*Tape, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the recordings: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && (info.Size() > maxFile || !info.Mode().IsRegular()) {
		return nil, fmt.Errorf("the recordings %s are not a file of at most %d bytes", path, maxFile)
	}
	var t Tape
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		var into any = &t.Head
		if n > 1 {
			t.Entries = append(t.Entries, Entry{})
			into = &t.Entries[len(t.Entries)-1]
		}
		if err := json.Unmarshal(lines.Bytes(), into); err != nil {
			return nil, fmt.Errorf("line %d of the recordings %s cannot be read; record them again: %w", n, path, err)
		}
		if n == 1 && t.Head.Format != Format || len(t.Entries) > maxEntries {
			return nil, fmt.Errorf("the recordings %s have another format; record them again", path)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the recordings %s: %w", path, err)
	}
	if t.Head.Format != Format {
		return nil, fmt.Errorf("the recordings %s are empty; record them again", path)
	}
	return &t, nil
}

// Write replaces a file of recordings. Readers never see half of it.
func (t *Tape) Write(path string) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(t.Head); err != nil {
		return err
	}
	for _, e := range t.Entries {
		if err := enc.Encode(e); err != nil {
			return err
		}
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".recordings-*.tmp") // only its user may read it
	if err != nil {
		return fmt.Errorf("write the recordings: %w", err)
	}
	defer os.Remove(tmp.Name()) // fails after the rename, as intended
	_, err = tmp.Write(b.Bytes())
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write the recordings: %w", err)
	}
	return nil
}
