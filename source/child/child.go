// Package child runs an embedded database engine in a child process: the same
// binary, executed again. The child gives up its rights before it opens the
// database, so an engine that is talked into something, runs away or crashes
// takes no more with it than itself; the server kills it at its deadline and its
// memory limit, and the next query starts another.
//
// An engine implements Engine and is named in the table given to Main, which is
// the first thing main (and TestMain, of tests that use a child) calls. New gives
// the server's side: a source.Source.
//
//	func main() {
//		child.Main(map[string]child.OpenFunc{"sqlite": sqlite.OpenEngine})
//		…
//	}
//
// The two sides speak in length-prefixed frames over the child's standard input
// and output. Each side trusts the other as little as it can: frames, rows and
// cells are bounded where they are read.
package child

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/footnotehq/footnote/source"
)

// Engine is a database inside the child. Its methods may be called from several
// goroutines.
type Engine interface {
	Schema(ctx context.Context) (source.Schema, error)
	// Query runs one statement and calls each for every row; the row is the
	// callee's to keep. Limits have no zero fields. The deadline is in ctx, and
	// rows, bytes and cells are counted by each: when each returns an error the
	// engine ends the query and returns that error (it may wrap it) together
	// with a Summary whose Columns are set. Rows, Truncated, Limit and Elapsed of
	// the Summary are filled in by the caller.
	//
	// A query that ends because ctx did may return any error.
	Query(ctx context.Context, q source.Query, each func(row []any) error) (source.Summary, error)
	Version(ctx context.Context) (string, error)
	Probe(ctx context.Context) error
	Close() error
}

// Caller is an Engine with methods of its own, for example to load files.
type Caller interface {
	// Call runs a method; the result is encoded as JSON.
	Call(ctx context.Context, method string, params json.RawMessage) (any, error)
}

// Informer is an Engine that tells the server something of itself once it is open.
type Informer interface {
	Info() any // encoded as JSON
}

// OpenFunc opens an engine inside a child that has already given up its rights.
// Config is the JSON of what New was given, or of what Options.Prepare returned.
// The working directory, also $TMPDIR, is a private directory that is removed
// with the child; it is the only writable place beside Options.Write.
type OpenFunc func(ctx context.Context, config json.RawMessage) (Engine, error)

type attachedKey struct{}

// Attached is what came along with the query that an engine runs; see Options.Attach.
func Attached(ctx context.Context) []byte {
	data, _ := ctx.Value(attachedKey{}).([]byte)
	return data
}

// What a child may do.
type Profile string

const (
	// Serve reads. Files it writes (temporary ones) are limited to MaxFile.
	Serve Profile = "serve"
	// Load may write the directories in Options.Write without a limit on the
	// size of a file, and is asked to end rather than killed when it is closed.
	Load Profile = "load"
)

// Options of a Client. Only Dialect is required.
type Options struct {
	Dialect string
	Profile Profile // default Serve
	// Files must exist before every query; one that is gone is a
	// DatabaseUnavailable. They are readable in the child.
	Files []string
	// Read lists further files and directories the child may read; Write those it
	// may also write. Paths that do not exist when the child starts are left out.
	Read  []string
	Write []string
	// Grant, when set, is asked before each start for further files and
	// directories to read.
	Grant func() []string
	// Stamp identifies what the Files hold, as far as the engine cares; when it
	// changes, the next query gets a new child. The default is FileStamp(Files...).
	Stamp func() (string, error)
	// Same, when set, says whether a child that was started under one stamp, and
	// gave info of itself (see Informer), is good under another. The default is
	// that the stamps are equal.
	Same func(info json.RawMessage, then, now string) bool
	// Version, when set, answers Version without a child.
	Version func(ctx context.Context) (string, error)
	// Prepare, when set, runs in the server before each start of a child. It may
	// put files into temp, the child's private directory, and returns the config
	// the engine is opened with.
	Prepare func(ctx context.Context, temp string) (config any, err error)
	// Attach, when set, gives what goes along with a query beside its text: what
	// follows from who asks. The engine reads it with Attached.
	Attach func(ctx context.Context) ([]byte, error)
	// Limits bound every query; zero fields take source.DefaultLimits.
	Limits source.Limits
	// Concurrency is how many queries run at once; the others wait. Default 4.
	Concurrency int
	// Idle is how long a child stays without a query. Default 5 minutes.
	Idle time.Duration
	// Grace is how long after its deadline, or after it was cancelled, a query
	// may take to end before the child is killed. Default 1 second.
	Grace time.Duration
	// Wait is how long the start of a child waits for memory, or for a place in the
	// pool. Default 30 s, or Limits.Time if that is more.
	Wait time.Duration
	// MaxFile limits the files a Serve child writes, in bytes. Default 64 MB.
	MaxFile int64
	// Pool bounds the children of the process, and the memory of all of them; nil is a
	// pool of this client alone.
	Pool *Pool
	// TempDir is where private directories are made. Default os.TempDir().
	TempDir string
	Logger  *slog.Logger // default: discards
}

func (o Options) withDefaults() Options {
	if o.Profile == "" {
		o.Profile = Serve
	}
	def := source.DefaultLimits()
	if o.Limits.Time <= 0 {
		o.Limits.Time = def.Time
	}
	if o.Limits.Rows <= 0 {
		o.Limits.Rows = def.Rows
	}
	if o.Limits.Bytes <= 0 {
		o.Limits.Bytes = def.Bytes
	}
	if o.Limits.Cell <= 0 {
		o.Limits.Cell = def.Cell
	}
	if o.Limits.Memory <= 0 {
		o.Limits.Memory = def.Memory
	}
	o.Limits.Cell = min(o.Limits.Cell, maxRow/2)
	if o.Concurrency <= 0 {
		o.Concurrency = 4
	}
	if o.Idle <= 0 {
		o.Idle = 5 * time.Minute
	}
	if o.Grace <= 0 {
		o.Grace = time.Second
	}
	if o.Wait <= 0 {
		o.Wait = max(o.Limits.Time, def.Time)
	}
	if o.MaxFile <= 0 {
		o.MaxFile = 64 << 20
	}
	if o.Pool == nil {
		o.Pool = NewPool(0)
	}
	if o.Stamp == nil {
		files := o.Files
		o.Stamp = func() (string, error) { return FileStamp(files...) }
	}
	if o.Same == nil {
		o.Same = func(_ json.RawMessage, then, now string) bool { return then == now }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}
