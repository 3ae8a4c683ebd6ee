// Package catalog holds the open sources of a process: the configured ones, and files that users uploaded. An
// upload is visible only to its owner.
//
// Each upload has a folder of its own, below its owner's:
//
//	<folder>/<org>/<user>/<name>/upload.about   what it is; written last
//	<folder>/<org>/<user>/<name>/<file>       the file as uploaded
//	<folder>/<org>/<user>/<name>/loaded/      an engine's version of it
//	<folder>/<org>/<user>/<name>/<n>/         both, after n changes
//
// Org and user are digests, because names of orgs and users may not be valid in paths. A folder without
// upload.about is an interrupted upload, which the next start removes. Uploads are opened on first use, by the same
// openers as other sources: in a confined child process, and proven read-only before the first query.
package catalog

import (
	"cmp"
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

// Options configure a catalog. Without a Folder, there are no uploads.
type Options struct {
	// Fixed holds the configured sources. The catalog closes them.
	Fixed map[string]source.Source
	// Allows reports whether a principal may use a configured source; nil allows everybody.
	Allows func(p footnote.Principal, name string) bool
	// Open opens an upload's file and proves it read-only. An engine puts the files it derives into the folder
	// scratch. Open is required with a Folder.
	Open   func(ctx context.Context, name, path, scratch string) (source.Source, error)
	Folder string
	// Shared means that the server has several users. Names of uploads then contain a mark of their owner, so that
	// they reveal nothing about other users' uploads.
	Shared   bool
	OpenTime time.Duration // for opening one upload; default 2 min
	MaxBytes int64         // per upload; default 256 MB
	MaxTotal int64         // for all uploads of a user; default 2 GB
	MaxFiles int           // uploads per user; default 50
	Logger   *slog.Logger
}

// Catalog holds the sources of a process. Several goroutines may call its methods at once.
type Catalog struct {
	opts Options
	ctx  context.Context // for opening uploads outside a request; Close cancels it
	end  context.CancelFunc

	mu      sync.RWMutex // guards below
	uploads map[string]*upload
	opening map[owner]chan struct{} // each is closed when the owner's current opening ends
	closed  bool
}

// Entry describes a source without opening it.
type Entry struct {
	Name     string
	Uploaded bool
	Engine   string    // of an upload
	Tables   int       // of an upload, when it was added
	Rows     int64     // of an upload, when it was added; -1 when unknown
	Changed  time.Time // of an upload that was replaced or appended to
}

// New returns a catalog with the uploads found in the folder.
func New(o Options) (*Catalog, error) {
	o.OpenTime = cmp.Or(max(o.OpenTime, 0), 2*time.Minute)
	o.MaxBytes = cmp.Or(max(o.MaxBytes, 0), 256<<20)
	o.MaxTotal = cmp.Or(max(o.MaxTotal, 0), 2<<30)
	o.MaxFiles = cmp.Or(max(o.MaxFiles, 0), 50)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
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

// Source returns an open source by name. It does not check permissions: names that reach it come from Choose or
// Find.
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

// Find returns a source that the principal may use.
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

// Changed returns when one of the principal's uploads was last replaced or appended to. For others, it is zero.
func (c *Catalog) Changed(p footnote.Principal, name string) time.Time {
	if u := c.upload(name); u != nil && u.owner == ownerOf(p) {
		return u.about.Changed
	}
	return time.Time{}
}

// List returns a principal's sources: the configured ones by name, then the uploads by name.
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

// Choose returns the names of the sources for a conversation of p: the requested ones, in their order, or else all
// that p may use. A name that p may not use is an InvalidRequest error.
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
			return nil, footnote.Invalidf("There is no source %.80q. The sources are: %s.", name,
				strings.Join(all, ", "))
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
