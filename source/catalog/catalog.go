// Package catalog holds the open sources of a process: those that its configuration
// names, which everybody sees, and files that users uploaded, each of which its
// owner alone sees.
//
// An upload lives in a folder of its own, below one of its owner's:
//
//	<folder>/<org>/<user>/<name>/upload.about   what it is; written last
//	<folder>/<org>/<user>/<name>/<file>       as it came
//	<folder>/<org>/<user>/<name>/loaded/      what an engine makes of it
//
// Org and user are digests: what people call themselves is no path. A folder
// without upload.about is an upload that broke off, and goes at the next start.
// Uploads are opened when they are first asked for, by the same openers as other
// sources: in a confined child process, and proven read-only before the first query.
package catalog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
)

// Options of a catalogue. Without a Folder there are no uploads.
type Options struct {
	// Fixed are the configured sources; the catalogue closes them.
	Fixed map[string]source.Source
	// Allows reports whether a principal may use a configured source; nil: everybody may.
	Allows func(p footnote.Principal, name string) bool
	// Open opens the file of an upload and proves it read-only. What an engine makes
	// of the file goes into the folder scratch. Required with a Folder.
	Open   func(ctx context.Context, name, path, scratch string) (source.Source, error)
	Folder string
	// Shared says that the server has several users: names of uploads then bear a
	// mark of their owner, so that they say nothing of each other's.
	Shared   bool
	OpenTime time.Duration // for an upload to open; default 2 min
	MaxBytes int64         // of one upload; default 256 MB
	MaxTotal int64         // of all uploads of a user; default 2 GB
	MaxFiles int           // uploads of a user; default 50
	Logger   *slog.Logger
}

// Catalog is the sources of a process. Its methods may be called from several
// goroutines.
type Catalog struct {
	opts Options
	ctx  context.Context // of what is opened for nobody in particular; Close ends it
	end  context.CancelFunc

	mu      sync.RWMutex // guards below
	uploads map[string]*upload
	opening map[owner]chan struct{} // closed when the file ends that is being opened
	closed  bool
}

// Entry is what is known of a source without opening it.
type Entry struct {
	Name     string
	Uploaded bool
	Engine   string // of an upload
	Tables   int    // of an upload, when it came
	Rows     int64  // of an upload, when it came; -1 when not known
}

// New makes a catalogue, and finds the uploads of earlier times.
func New(o Options) (*Catalog, error) {
	if o.OpenTime <= 0 {
		o.OpenTime = 2 * time.Minute
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = 256 << 20
	}
	if o.MaxTotal <= 0 {
		o.MaxTotal = 2 << 30
	}
	if o.MaxFiles <= 0 {
		o.MaxFiles = 50
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Allows == nil {
		o.Allows = func(footnote.Principal, string) bool { return true }
	}
	c := &Catalog{opts: o, uploads: map[string]*upload{}, opening: map[owner]chan struct{}{}}
	c.ctx, c.end = context.WithCancel(context.Background())
	if o.Folder == "" {
		return c, nil
	}
	if o.Open == nil {
		return nil, errors.New("a catalogue with uploads needs a way to open them")
	}
	return c, c.restore()
}

// Uploads reports whether files can be uploaded, and how large they may be.
func (c *Catalog) Uploads() (maxBytes int64, ok bool) { return c.opts.MaxBytes, c.opts.Folder != "" }

// Source returns an open source by its name. Who may use it is not looked at: names
// that reach this point were chosen by Choose, or found by Find.
func (c *Catalog) Source(name string) (source.Source, error) {
	if src, ok := c.opts.Fixed[name]; ok {
		return src, nil
	}
	if u := c.upload(name); u != nil {
		return u.source(c)
	}
	return nil, missing(name)
}

func missing(name string) error {
	return footnote.Errorf(footnote.NotFound, "There is no source named %.80q.", name)
}

func (c *Catalog) upload(name string) *upload {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if u := c.uploads[name]; u != nil && !u.pending {
		return u
	}
	return nil
}

// Find returns a source that a principal may use.
func (c *Catalog) Find(p footnote.Principal, name string) (source.Source, error) {
	if !c.visible(p, name) {
		return nil, missing(name)
	}
	return c.Source(name)
}

func (c *Catalog) visible(p footnote.Principal, name string) bool {
	if _, ok := c.opts.Fixed[name]; ok {
		return c.opts.Allows(p, name)
	}
	u := c.upload(name)
	return u != nil && u.owner == ownerOf(p)
}

// List returns the sources of a principal: the configured ones by name, then its
// uploads by name.
func (c *Catalog) List(p footnote.Principal) []Entry {
	var list []Entry
	for _, name := range slices.Sorted(maps.Keys(c.opts.Fixed)) {
		if c.opts.Allows(p, name) {
			list = append(list, Entry{Name: name, Rows: -1})
		}
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, name := range slices.Sorted(maps.Keys(c.uploads)) {
		if u := c.uploads[name]; !u.pending && u.owner == ownerOf(p) {
			list = append(list, u.entry())
		}
	}
	return list
}

// Choose returns the names of the sources that a conversation of p is to use: those that
// were asked for, in their order, or else all that p may use. A name that is not p's to
// use is InvalidRequest.
func (c *Catalog) Choose(p footnote.Principal, asked []string) ([]string, error) {
	var all []string
	for _, e := range c.List(p) {
		all = append(all, e.Name)
	}
	if len(asked) == 0 {
		return all, nil
	}
	var names []string
	for _, name := range asked {
		if !slices.Contains(all, name) {
			return nil, footnote.Errorf(footnote.InvalidRequest, "There is no source %.80q. The sources are: %s.", name, strings.Join(all, ", "))
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// Close closes all sources.
func (c *Catalog) Close() error {
	c.end()
	c.mu.Lock()
	c.closed = true
	uploads := slices.Collect(maps.Values(c.uploads))
	c.mu.Unlock()
	var errs []error
	for _, u := range uploads {
		errs = append(errs, u.close())
	}
	for name, src := range c.opts.Fixed {
		if err := src.Close(); err != nil {
			errs = append(errs, fmt.Errorf("close source %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}
