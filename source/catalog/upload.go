package catalog

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/plainfile"
	"github.com/footnotehq/footnote/internal/wordlist"
	"github.com/footnotehq/footnote/source"
)

// upload is one user's file.
type upload struct {
	owner  owner
	folder string
	about  about
	// Guarded by the catalog's mu
	pending  bool  // it is still being received
	changing bool  // its next version is being received
	size     int64 // while pending or changing, the bytes reserved for it; then its size

	mu   sync.Mutex // guards below
	src  source.Source
	gone bool
}

// about is the content of upload.about.
type about struct {
	Name   string `json:"name"`
	File   string `json:"file"`
	Engine string `json:"engine"`
	Tables int    `json:"tables"`
	Rows   int64  `json:"rows"` // -1: unknown
	Bytes  int64  `json:"bytes"`
	// Version counts the changes, the last of which was made at Changed.
	Version int       `json:"version,omitempty"`
	Changed time.Time `json:"changed,omitzero"`
}

// owner identifies a principal in paths.
type owner struct{ org, user string }

func ownerOf(p footnote.Principal) owner { return owner{Digest(p.Org), Digest(p.User)} }

// Digest returns the name of an org or user in the upload folder.
func Digest(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:16])
}

func (o owner) folder(root string) string { return filepath.Join(root, o.org, o.user) }

// kinds lists the extensions of files that can be uploaded. The engine that opens a file goes by its content
// instead.
var kinds = wordlist.Set(`.csv .tsv .txt .json .ndjson .jsonl .parquet .xlsx .sqlite .sqlite3 .db .duckdb`)

const aboutFile = "upload.about" // no data file has this name

// Add stores a file and opens it. Filename is chosen by the owner; only its harmless characters are kept.
//
// The error's code is InvalidRequest when the file cannot be read as data, TooLarge when it exceeds the limits,
// Conflict when its owner has too many, and StorageUnavailable when it cannot be written.
func (c *Catalog) Add(ctx context.Context, p footnote.Principal, filename string, content io.Reader) (Entry, error) {
	if c.opts.Folder == "" {
		return Entry{}, footnote.Errorf(footnote.Forbidden, "Uploads are turned off on this server.")
	}
	base, ext := fileName(filename)
	if !kinds[ext] {
		return Entry{}, notData(filename)
	}
	u, err := c.reserve(p, base, ext)
	if err != nil {
		return Entry{}, err
	}
	if err := c.receive(ctx, u, content); err != nil {
		c.drop(u)
		return Entry{}, errors.Join(err, u.remove())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	u.pending, u.size = false, u.about.Bytes
	if c.closed { // Close ran before this source was opened
		return u.entry(), u.close()
	}
	return u.entry(), nil
}

func notData(filename string) error {
	return footnote.Invalidf(
		"A file of data is .csv, .tsv, .json, .parquet, .xlsx, .sqlite or .duckdb; this one is called %.80q.", filename)
}

var notPlain = regexp.MustCompile(`[^\pL\pN_-]+`)

// fileName sanitizes a name chosen by a user. It keeps letters, digits, _ and -, and returns the extension
// separately.
func fileName(name string) (base, ext string) {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	ext = strings.ToLower(filepath.Ext(name))
	base = strings.Trim(notPlain.ReplaceAllString(strings.ToValidUTF8(strings.TrimSuffix(name, filepath.Ext(name)), ""),
		"_"), "_-")
	for len(base) > 48 {
		base = base[:len(base)-1]
	}
	if base = strings.ToValidUTF8(base, ""); base == "" {
		base = "data"
	}
	return base, ext
}

// reserve assigns a file its name and space, within its owner's limits.
func (c *Catalog) reserve(p footnote.Principal, base, ext string) (*upload, error) {
	u := &upload{owner: ownerOf(p), pending: true, size: c.opts.MaxBytes, about: about{File: base + ext}}
	c.mu.Lock()
	defer c.mu.Unlock()
	files, bytes := 0, int64(0)
	for _, other := range c.uploads {
		if other.owner == u.owner {
			files++
			bytes += other.size
		}
	}
	switch {
	case c.closed:
		return nil, footnote.Errorf(footnote.ModelUnavailable, "The server is shutting down. Try again in a moment.")
	case files >= c.opts.MaxFiles:
		return nil, footnote.Errorf(footnote.Conflict,
			"You have %d uploaded files, the most that are kept. Delete one first.", files)
	case bytes >= c.opts.MaxTotal:
		return nil, footnote.Errorf(footnote.Conflict,
			"Your uploaded files have %d MB, which is as much as is kept. Delete one first.", bytes>>20)
	}
	u.size = min(u.size, c.opts.MaxTotal-bytes)
	u.about.Name = c.freeName(u.owner, base)
	u.folder = filepath.Join(u.owner.folder(c.opts.Folder), u.about.Name)
	c.uploads[u.about.Name] = u
	return u, nil
}

// freeName returns a name that no source has, ignoring case. c.mu must be held.
func (c *Catalog) freeName(o owner, base string) string {
	base = strings.ToLower(base)
	if c.opts.Shared {
		base += "_" + Digest(o.org + o.user)[:6]
	}
	taken := map[string]bool{}
	for name := range c.opts.Fixed {
		taken[strings.ToLower(name)] = true
	}
	name := base
	for n := 2; taken[name] || c.uploads[name] != nil; n++ {
		name = base + "_" + strconv.Itoa(n)
	}
	return name
}

func (c *Catalog) drop(u *upload) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.uploads, u.about.Name)
}

// receive writes the file, opens it and writes its description.
func (c *Catalog) receive(ctx context.Context, u *upload, content io.Reader) error {
	if err := c.load(ctx, u, content); err != nil {
		return err
	}
	return u.publish()
}

// load writes the file and opens it.
func (c *Catalog) load(ctx context.Context, u *upload, content io.Reader) error {
	if err := os.RemoveAll(filepath.Join(u.dir(), u.about.File)); err != nil { // of an interrupted change
		return unwritable(err)
	}
	if err := os.MkdirAll(filepath.Join(u.dir(), "loaded"), 0o700); err != nil {
		return unwritable(err)
	}
	n, err := write(filepath.Join(u.dir(), u.about.File), content, u.size)
	if err != nil {
		return err
	}
	u.about.Bytes = n
	done, err := c.waitTurn(ctx, u.owner)
	if err != nil {
		return err
	}
	defer done()
	ctx, cancel := context.WithTimeout(ctx, c.opts.OpenTime)
	defer cancel()
	src, err := c.opts.Open(ctx, u.about.Name, filepath.Join(u.dir(), u.about.File), filepath.Join(u.dir(), "loaded"))
	if err != nil {
		return c.unreadable(ctx, u.about.Name, err)
	}
	u.src = src
	s, err := src.Schema(ctx)
	if err != nil {
		return c.unreadable(ctx, u.about.Name, err)
	}
	u.describe(src, s)
	return nil
}

// publish writes the description, which makes the file the upload's.
func (u *upload) publish() error {
	data, err := json.Marshal(u.about)
	if err == nil {
		err = plainfile.Replace(filepath.Join(u.folder, aboutFile), data)
	}
	if err != nil {
		return unwritable(err)
	}
	return nil
}

// turnWait limits how long a file waits while another file of the same owner is opened.
const turnWait = time.Minute

// waitTurn waits until no other file of the owner is being opened, because reading one may take much memory that other
// users need, too. The caller must call done.
func (c *Catalog) waitTurn(ctx context.Context, o owner) (done func(), err error) {
	timer := time.NewTimer(turnWait)
	defer timer.Stop()
	for {
		c.mu.Lock()
		other := c.opening[o]
		if other == nil {
			mine := make(chan struct{})
			c.opening[o] = mine
			c.mu.Unlock()
			return func() {
				c.mu.Lock()
				defer c.mu.Unlock()
				delete(c.opening, o)
				close(mine)
			}, nil
		}
		c.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-timer.C:
			return nil, &footnote.Error{
				Code: footnote.RateLimited, RetryAfter: 10 * time.Second,
				Message: "Another of your files is still being read. Wait for it, then upload this one again.",
			}
		}
	}
}

func (u *upload) describe(src source.Source, s source.Schema) {
	u.about.Engine, u.about.Tables = src.Dialect().Name, len(s.Tables)
	for _, t := range s.Tables {
		if t.Rows < 0 || u.about.Rows < 0 {
			u.about.Rows = -1
			return
		}
		u.about.Rows += t.Rows
	}
}

// write copies at most limit bytes to a new file and syncs it.
func write(path string, content io.Reader, limit int64) (int64, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, unwritable(err)
	}
	n, err := io.Copy(f, io.LimitReader(content, limit+1))
	if _, ours := errors.AsType[*fs.PathError](err); err != nil && !ours { // the content could not be read
		return 0, errors.Join(err, f.Close())
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return 0, unwritable(err)
	}
	if n > limit {
		return 0, footnote.Errorf(footnote.TooLarge, "The file may have at most %d bytes.", limit)
	}
	return n, nil
}

func unwritable(err error) error {
	return footnote.Wrapf(footnote.StorageUnavailable, err, "The file could not be stored.")
}

// unreadable returns the error that tells the owner why a file cannot be opened.
func (c *Catalog) unreadable(ctx context.Context, name string, err error) error {
	if errors.Is(err, source.ErrWritable) {
		return err // not the file's fault
	}
	if e, ok := errors.AsType[*footnote.Error](err); ok && e.Code == footnote.RateLimited {
		return &footnote.Error{
			Code: footnote.RateLimited, RetryAfter: e.RetryAfter, Err: err,
			Message: "The server is busy reading other files. Upload this one again in a moment.",
		}
	}
	if ctx.Err() != nil {
		return footnote.Errorf(footnote.TooLarge, "The file could not be read within %s.", c.opts.OpenTime)
	}
	words := ""
	if e, ok := errors.AsType[*footnote.Error](err); ok {
		words = strings.TrimPrefix(e.Message, "database "+name+": ") // the owner knows it as a file
	} else if e, ok := errors.AsType[*source.Error](err); ok {
		words = e.Reason
	} else {
		return err
	}
	return footnote.Wrapf(footnote.InvalidRequest, err, "The file cannot be used: %s", words)
}

func (u *upload) entry() Entry {
	return Entry{
		Name: u.about.Name, Uploaded: true, Engine: u.about.Engine, Tables: u.about.Tables, Rows: u.about.Rows,
		Changed: u.about.Changed,
	}
}

// source returns the upload's source and opens it first if necessary.
func (u *upload) source(c *Catalog) (source.Source, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.gone {
		return nil, missing(u.about.Name)
	}
	if u.src != nil {
		return u.src, nil
	}
	ctx, cancel := context.WithTimeout(c.ctx, c.opts.OpenTime)
	defer cancel()
	src, err := c.opts.Open(ctx, u.about.Name, filepath.Join(u.dir(), u.about.File), filepath.Join(u.dir(), "loaded"))
	if err != nil {
		c.opts.Logger.Warn("upload not opened", "source", u.about.Name, "err", err)
		return nil, footnote.Wrapf(footnote.DatabaseUnavailable, err, "The uploaded file %s cannot be opened now.",
			u.about.Name)
	}
	u.src = src
	return src, nil
}

// close closes the upload permanently.
func (u *upload) close() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.gone = true
	if u.src == nil {
		return nil
	}
	err := u.src.Close()
	u.src = nil
	return err
}

// remove closes the upload and deletes its files, description first, so that the next start finishes an interrupted
// removal.
func (u *upload) remove() error {
	err := u.close()
	if rerr := os.Remove(filepath.Join(u.folder, aboutFile)); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
		err = errors.Join(err, rerr)
	}
	if err = errors.Join(err, os.RemoveAll(u.folder)); err != nil {
		return fmt.Errorf("remove the upload %s: %w", u.about.Name, err)
	}
	return nil
}

// Remove deletes one of the principal's uploads. For any other source it returns NotFound.
func (c *Catalog) Remove(p footnote.Principal, name string) error {
	u := c.upload(name)
	if u == nil || u.owner != ownerOf(p) {
		return missing(name)
	}
	c.mu.Lock()
	changing := u.changing
	c.mu.Unlock()
	if changing {
		return footnote.Errorf(footnote.Conflict, "This upload is being changed. Try again in a moment.")
	}
	if err := u.remove(); err != nil {
		return footnote.Wrapf(footnote.StorageUnavailable, err, "The file could not be deleted.")
	}
	c.drop(u) // last, so that no other file gets its name and folder before
	return nil
}

// Expire deletes uploads that are older than age returns for their owner. Age receives the org and the user in the
// form returned by Digest; a negative result keeps the uploads.
func (c *Catalog) Expire(now time.Time, age func(org, user string) time.Duration) error {
	_, err := c.removeAll(func(u *upload) bool {
		maxAge := age(u.owner.org, u.owner.user)
		if maxAge < 0 {
			return false
		}
		info, err := os.Stat(filepath.Join(u.folder, aboutFile))
		return err == nil && now.Sub(info.ModTime()) > maxAge // an error: it was removed meanwhile
	})
	return err
}

// Forget deletes all uploads of a principal and returns their number.
func (c *Catalog) Forget(p footnote.Principal) (int, error) {
	return c.removeAll(func(u *upload) bool { return u.owner == ownerOf(p) })
}

// removeAll deletes the selected uploads, except those still being received.
func (c *Catalog) removeAll(selected func(*upload) bool) (n int, err error) {
	c.mu.Lock()
	var all []*upload
	for _, u := range c.uploads {
		if !u.pending && !u.changing {
			all = append(all, u)
		}
	}
	c.mu.Unlock()
	for _, u := range all {
		if !selected(u) {
			continue
		}
		if rerr := u.remove(); rerr != nil {
			err = errors.Join(err, rerr)
			continue
		}
		c.drop(u)
		n++
	}
	return n, err
}

// restore finds the existing uploads and removes interrupted ones.
func (c *Catalog) restore() error {
	if err := os.MkdirAll(c.opts.Folder, 0o700); err != nil {
		return fmt.Errorf("folder of uploads: %w", err)
	}
	folders, err := fs.Glob(os.DirFS(c.opts.Folder), "*/*/*")
	if err != nil {
		return fmt.Errorf("folder of uploads: %w", err)
	}
	for _, name := range folders {
		folder := filepath.Join(c.opts.Folder, name)
		u, err := read(folder)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			err = os.RemoveAll(folder)
		case err == nil && c.opts.Fixed[u.about.Name] != nil:
			err = fmt.Errorf("the configuration has a source named %s, too", u.about.Name)
		case err == nil:
			c.uploads[u.about.Name] = u
			err = u.tidy()
		}
		if err != nil {
			c.opts.Logger.Warn("cannot restore an upload; leaving it out", "folder", folder, "err", err)
		}
	}
	return nil
}

// read reads the description in a folder.
func read(folder string) (*upload, error) {
	data, err := plainfile.Read(filepath.Join(folder, aboutFile), 64<<10)
	if err != nil {
		return nil, err
	}
	user := filepath.Dir(folder)
	u := &upload{owner: owner{filepath.Base(filepath.Dir(user)), filepath.Base(user)}, folder: folder}
	if err := json.Unmarshal(data, &u.about); err != nil {
		return nil, err
	}
	if u.about.Name != filepath.Base(folder) || u.about.File != filepath.Base(u.about.File) {
		return nil, errors.New("its description belongs to another upload")
	}
	u.size = u.about.Bytes
	return u, nil
}
