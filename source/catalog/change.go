package catalog

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/wordlist"
	"github.com/footnotehq/footnote/source"
)

// A changed upload has a folder for each version, named by its number; the first version is in the upload's own folder.
// The description names the version, and is replaced in one step. So after a crash, either the old or the new version
// is there, and the next start removes what belongs to the other.

// dir returns the folder of the current version.
func (u *upload) dir() string {
	if u.about.Version == 0 {
		return u.folder
	}
	return filepath.Join(u.folder, strconv.Itoa(u.about.Version))
}

// Replace puts another file in the place of one of the principal's uploads, which keeps its name. Its errors are those
// of Add, and NotFound if there is no such upload.
func (c *Catalog) Replace(ctx context.Context, p footnote.Principal, name, filename string,
	content io.Reader) (Entry, error) {
	_, ext := fileName(filename)
	if !kinds[ext] {
		return Entry{}, notData(filename)
	}
	return c.change(p, name, func(old, next *upload) error {
		// A table may be named after the file.
		next.about.File = strings.TrimSuffix(old.about.File, filepath.Ext(old.about.File)) + ext
		return c.receive(ctx, next, content)
	})
}

// lines are the kinds of files to which others can be appended: those that consist of lines.
var lines = wordlist.Set(`.csv .tsv .txt .ndjson .jsonl`)

// Append adds the rows of a file to one of the principal's uploads. Both must be of one kind, and have the same columns
// of the same types. Its errors are those of Replace.
func (c *Catalog) Append(ctx context.Context, p footnote.Principal, name, filename string,
	content io.Reader) (Entry, error) {
	return c.change(p, name, func(old, next *upload) error {
		_, ext := fileName(filename)
		if was := filepath.Ext(old.about.File); !lines[ext] || ext != was {
			return footnote.Invalidf("A file of lines (.csv, .tsv, .jsonl) can be appended to a file of the same "+
				"kind. The upload is %s, and this file is called %.80q. Replace the upload instead.", was, filename)
		}
		before, err := old.schema(ctx, c)
		if err != nil {
			return err
		}
		folder := filepath.Join(old.folder, "appended")
		defer os.RemoveAll(folder)
		added := &upload{
			owner: old.owner, folder: folder, about: about{Name: name, File: old.about.File}, size: next.size,
		}
		if err := c.load(ctx, added, content); err != nil {
			return err
		}
		defer func() { _ = added.close() }()
		after, err := added.schema(ctx, c)
		if err == nil {
			err = sameColumns(before, after)
		}
		if err != nil {
			return err
		}
		joined, done, err := join(filepath.Join(old.dir(), old.about.File), filepath.Join(folder, old.about.File),
			ext != ".jsonl" && ext != ".ndjson")
		if err != nil {
			return err
		}
		defer done()
		if err := c.load(ctx, next, joined); err != nil {
			return err
		}
		all, err := next.schema(ctx, c)
		if err == nil {
			err = sameColumns(before, all)
		}
		if err == nil && next.about.Rows != old.about.Rows+added.about.Rows {
			err = footnote.Invalidf("The files do not fit together: %d and %d rows became %d. Their separators or "+
				"quotes may differ.", old.about.Rows, added.about.Rows, next.about.Rows)
		}
		if err != nil {
			return err
		}
		return next.publish()
	})
}

// change makes a new version of an upload. Make receives and publishes it.
func (c *Catalog) change(p footnote.Principal, name string, make func(old, next *upload) error) (Entry, error) {
	old, next, err := c.begin(p, name)
	if err != nil {
		return Entry{}, err
	}
	err = make(old, next)
	c.mu.Lock()
	old.changing = false
	old.size = old.about.Bytes
	if err == nil {
		next.size = next.about.Bytes
		c.uploads[name] = next
	}
	closed := c.closed
	c.mu.Unlock()
	if err != nil {
		return Entry{}, errors.Join(err, next.close(), os.RemoveAll(next.dir()))
	}
	err = errors.Join(old.close(), next.tidy())
	if closed { // Close ran before this version was opened
		err = errors.Join(err, next.close())
	}
	if err != nil {
		c.opts.Logger.Warn("the old version of an upload is not removed", "source", name, "err", err)
	}
	return next.entry(), nil
}

// begin reserves space for a new version of an upload, and holds off other changes of it.
func (c *Catalog) begin(p footnote.Principal, name string) (old, next *upload, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old = c.uploads[name]
	if old == nil || old.pending || old.owner != ownerOf(p) {
		return nil, nil, missing(name)
	}
	if old.changing || c.closed {
		return nil, nil, footnote.Errorf(footnote.Conflict, "This upload is being changed. Try again in a moment.")
	}
	others := int64(0)
	for _, u := range c.uploads {
		if u.owner == old.owner && u != old {
			others += u.size
		}
	}
	next = &upload{owner: old.owner, folder: old.folder, about: about{
		Name: name, File: old.about.File, Version: old.about.Version + 1, Changed: time.Now().UTC(),
	}}
	next.size = min(c.opts.MaxBytes, c.opts.MaxTotal-others)
	old.changing, old.size = true, max(old.size, next.size)
	return old, next, nil
}

// schema returns the tables of an upload, and opens it if necessary.
func (u *upload) schema(ctx context.Context, c *Catalog) (source.Schema, error) {
	src, err := u.source(c)
	if err != nil {
		return source.Schema{}, err
	}
	s, err := src.Schema(ctx)
	if err == nil && len(s.Tables) != 1 {
		err = footnote.Invalidf("Rows can be appended to a file with one table; this one has %d.", len(s.Tables))
	}
	return s, err
}

// sameColumns returns an error that says which columns of two tables differ.
func sameColumns(a, b source.Schema) error {
	var differ []string
	have := func(t, other source.Table, words string) {
		for _, col := range t.Columns {
			if _, ok := other.Column(col.Name); !ok {
				differ = append(differ, fmt.Sprintf(words, col.Name))
			}
		}
	}
	old, added := a.Tables[0], b.Tables[0]
	have(old, added, "%s is missing")
	have(added, old, "%s is new")
	for _, col := range old.Columns {
		if other, ok := added.Column(col.Name); ok && other.Type != col.Type {
			differ = append(differ, fmt.Sprintf("%s is %s, and was %s", col.Name, other.Type, col.Type))
		}
	}
	if len(differ) == 0 {
		return nil
	}
	return footnote.Invalidf("The columns are not those of the upload: %s.", strings.Join(differ, "; "))
}

// join returns the text of two files. With a header, their first lines must be the same, and the second file's is left
// out.
func join(first, second string, header bool) (io.Reader, func(), error) {
	a, err := os.Open(first)
	if err != nil {
		return nil, nil, unwritable(err)
	}
	b, err := os.Open(second)
	if err != nil {
		return nil, nil, errors.Join(unwritable(err), a.Close())
	}
	done := func() { _, _ = a.Close(), b.Close() }
	from, to := bufio.NewReader(a), bufio.NewReader(b)
	head := []byte(nil)
	if header {
		var other []byte
		head, _ = from.ReadBytes('\n')
		other, _ = to.ReadBytes('\n')
		if plain := func(line []byte) string {
			return strings.TrimPrefix(strings.TrimRight(string(line), "\r\n"), "\ufeff")
		}; plain(head) != plain(other) {
			done()
			return nil, nil, footnote.Invalidf("The first lines of the files differ. Both must have the same header.")
		}
	}
	return io.MultiReader(bytes.NewReader(head), &ended{r: from, last: '\n'}, to), done, nil
}

// ended is a text to which a line break is added if it does not end with one.
type ended struct {
	r    io.Reader
	last byte
}

func (e *ended) Read(p []byte) (int, error) {
	n, err := e.r.Read(p)
	if n > 0 {
		e.last = p[n-1]
	}
	if err == io.EOF && n == 0 && e.last != '\n' && len(p) > 0 {
		p[0], e.last = '\n', '\n'
		return 1, nil
	}
	return n, err
}

// tidy removes what belongs to other versions of an upload.
func (u *upload) tidy() error {
	entries, err := os.ReadDir(u.folder)
	for _, e := range entries {
		name := e.Name()
		current := name == filepath.Base(u.dir())
		if u.about.Version == 0 {
			current = name == u.about.File || name == "loaded"
		}
		if name != aboutFile && !current {
			err = errors.Join(err, os.RemoveAll(filepath.Join(u.folder, name)))
		}
	}
	return err
}
