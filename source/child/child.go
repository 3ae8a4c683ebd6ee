// Package child runs an embedded database engine in a child process: the same binary, executed again. The child
// gives up its privileges before it opens the database, so an engine that is exploited, runs away or crashes takes only
// its own process down. The server kills the child at its deadline or memory limit, and the next query starts
// another.
//
// An engine implements Engine and is named in the table passed to Main, which must be the first call in main (and
// in TestMain, for tests that use a child). New returns the server's side: a source.Source.
//
//	func main() {
//		child.Main(map[string]child.OpenFunc{"sqlite": sqlite.OpenEngine})
//		…
//	}
//
// The two sides exchange length-prefixed frames over the child's standard input and output. Neither side trusts the
// other: the reader bounds frames, rows and cells.
package child

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/footnotehq/footnote/internal/rowfilter"
	"github.com/footnotehq/footnote/source"
)

// Engine is a database inside the child, or with Local in the server's own process. Several goroutines may call its
// methods at once.
//
// Its errors are of three types. A *source.Error is for the model to read: Refused if the statement is not allowed, by
// the gate, by the read-only mode or by the privileges of the database's user; Limited if it needs more time, memory or
// space than it may use, or waits for a lock too long; Failed if it is wrong, or its connection was lost. A
// *footnote.Error with the code DatabaseUnavailable means that the database cannot be reached or is broken. Any other
// error is a fault of Footnote, and nobody but the operator sees its text.
type Engine interface {
	Schema(ctx context.Context) (source.Schema, error)
	// Query runs one statement and calls each for every row, which the callee may keep. Limits have no zero fields.
	// The deadline is in ctx; each counts rows, bytes and cells. When each returns an error, the engine ends the
	// query and returns that error (it may wrap it) together with a Summary whose Columns are set. The caller fills
	// in Rows, Truncated, Limit and Elapsed of the Summary.
	//
	// A query that ends because ctx did may return any error. An engine on a server stops the statement there before
	// it returns: many drivers only close their connection.
	Query(ctx context.Context, q source.Query, each func(row []any) error) (source.Summary, error)
	Version(ctx context.Context) (string, error)
	// Probe returns source.ErrWritable if an attempt to write succeeds; see source.Source. It must not destroy data
	// when one does.
	Probe(ctx context.Context) error
	Close() error
}

// NoDatabase is embedded by engines that hold no database of their own: parsers and loaders.
type NoDatabase struct{}

var errNoDatabase = errors.New("the engine has no database")

func (NoDatabase) Schema(context.Context) (source.Schema, error) {
	return source.Schema{}, errNoDatabase
}
func (NoDatabase) Query(context.Context, source.Query, func([]any) error) (source.Summary, error) {
	return source.Summary{}, errNoDatabase
}
func (NoDatabase) Version(context.Context) (string, error) { return "", errNoDatabase }
func (NoDatabase) Probe(context.Context) error             { return errNoDatabase }
func (NoDatabase) Close() error                            { return nil }

// Caller is an Engine with methods of its own, for example for loading files.
type Caller interface {
	// Call runs a method; its result is encoded as JSON.
	Call(ctx context.Context, method string, params json.RawMessage) (any, error)
}

// Informer is an Engine that reports facts about itself to the server once it is open.
type Informer interface {
	Info() any // encoded as JSON
}

// OpenFunc opens an engine inside a child that has already given up its privileges. Config is the JSON of the config
// passed to New, or of the one that Options.Config returned. The working directory, which is also $TMPDIR, is a
// private directory that is removed with the child; only it and Options.Write are writable.
type OpenFunc func(ctx context.Context, config json.RawMessage) (Engine, error)

type conditionsKey struct{}

// Conditions returns the conditions of the query that the engine is running, from Options.Filters. Without conditions,
// no rows are visible.
func Conditions(ctx context.Context) rowfilter.Conditions {
	c, _ := ctx.Value(conditionsKey{}).(rowfilter.Conditions)
	return c
}

// Configured returns the spelling of a table's name in filters, or "" when it has none. The case of ASCII letters is
// ignored, as engines do.
func Configured(filters map[string]bool, name string) string {
	for configured := range filters {
		if source.Lower(configured) == source.Lower(name) {
			return configured
		}
	}
	return ""
}

// Profile selects what a child may do.
type Profile string

const (
	// Serve only reads. MaxFile limits the (temporary) files it writes.
	Serve Profile = "serve"
	// Load may write to the directories in Options.Write, with no limit on file size. On Close it is asked to end
	// rather than killed.
	Load Profile = "load"
)

// Concurrency is the number of queries of a source that run at once.
const Concurrency = 4

// Options configure a Client. Only Dialect is required.
type Options struct {
	Dialect *source.Dialect
	Profile Profile // default Serve
	// Read lists files and directories the child may read; it may also write those in Write. Paths that do not exist
	// when the child starts are left out.
	Read  []string
	Write []string
	// Grant, when set, is called before each start and returns further files and directories to read.
	Grant func() []string
	// Stamp, when set, identifies the contents of the files, as far as the engine cares. When it changes, the next
	// query gets a new child.
	Stamp func() (string, error)
	// Same, when set, reports whether a child that was started under one stamp, and sent info about itself (see
	// Informer), can still be used under another. By default the stamps must be equal.
	Same func(info json.RawMessage, then, now string) bool
	// Version, when set, implements Client.Version without a child.
	Version func() (string, error)
	// Config, when set, is called before each start of a child and returns the config for opening the engine.
	Config func() (any, error)
	// Filters limit the rows that a principal sees; nil filters nothing. The engine reads a query's with Conditions.
	Filters *rowfilter.Rules
	// Hiding decides which columns a principal must not see; nil hides none. The engine reads those of a query with
	// source.HiddenIn. The config must tell the engine whether Hiding.Any holds; when that changes, the next query gets
	// a new child.
	Hiding source.Hiding
	// Limits bound every query; zero fields take source.DefaultLimits.
	Limits source.Limits
	// Concurrency limits how many queries run at once; the others wait. The default is the constant of that name.
	Concurrency int
	// Idle limits how long an unused child lives. Default 1 minute.
	Idle time.Duration
	// Grace limits how long a query may take to end after its deadline or cancellation before the child is killed.
	// Default 1 second.
	Grace time.Duration
	// Wait limits how long the start of a child waits for memory or for a place in the pool. Default 30 s, or
	// Limits.Time if that is longer.
	Wait time.Duration
	// MaxFile limits the files a Serve child writes, in bytes. Default 64 MB.
	MaxFile int64
	// Pool limits the number of children in the process and their total memory. The default is a pool for this
	// client alone.
	Pool *Pool
	// TempDir is the parent of the private directories. Default os.TempDir().
	TempDir string
	Logger  *slog.Logger // default: discards
}

func (o Options) withDefaults() Options {
	o.Profile = cmp.Or(o.Profile, Serve)
	def := source.DefaultLimits()
	o.Limits.Time = cmp.Or(max(o.Limits.Time, 0), def.Time)
	o.Limits.Rows = cmp.Or(max(o.Limits.Rows, 0), def.Rows)
	o.Limits.Bytes = cmp.Or(max(o.Limits.Bytes, 0), def.Bytes)
	o.Limits.Cell = cmp.Or(max(o.Limits.Cell, 0), def.Cell)
	o.Limits.Memory = cmp.Or(max(o.Limits.Memory, 0), def.Memory)
	o.Limits.Cell = min(o.Limits.Cell, maxRow/2)
	o.Concurrency = cmp.Or(max(o.Concurrency, 0), Concurrency)
	o.Idle = cmp.Or(max(o.Idle, 0), time.Minute)
	o.Grace = cmp.Or(max(o.Grace, 0), time.Second)
	o.Wait = cmp.Or(max(o.Wait, 0), max(o.Limits.Time, def.Time))
	o.MaxFile = cmp.Or(max(o.MaxFile, 0), 64<<20)
	o.Pool = cmp.Or(o.Pool, NewPool(0))
	if o.Stamp == nil {
		o.Stamp = func() (string, error) { return "", nil }
	}
	if o.Same == nil {
		o.Same = func(_ json.RawMessage, then, now string) bool { return then == now }
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return o
}
