// Package store is the contract of the event log: streams of numbered events,
// content-addressed blobs, leases for the runs that write, and cursors for the
// projections that must not miss anything. Mem keeps it in memory; the packages
// below it keep it on disk. Package storetest is the contract as tests.
package store

import (
	"context"
	"iter"
	"time"

	"github.com/footnotehq/footnote"
)

// Stream is the head of a log: what a listing needs, and what an append is
// checked against.
type Stream struct {
	ID        string
	Kind      string // "conversation" or "document"
	Org       string
	User      string
	ClientID  string // the id a client chose, unique per (org, user, kind); may be empty
	Assistant string
	Title     string
	Last      int64     // sequence of the last event; 0 when there is none
	Run       string    // id of the run that has not ended; empty when none
	RunState  string    // "", "running" or "parked"; follows RunStarted, RunParked, RunResumed and the terminal events
	Deadline  time.Time // of the park; zero when not parked
	Created   time.Time
	Updated   time.Time
}

// Append is one atomic write to a stream.
type Append struct {
	Stream string
	// After is the sequence the writer last saw. When the stream has moved on,
	// nothing is written and the error's code is footnote.Conflict.
	After int64
	// Lease is the fencing token the writer holds, or 0 to write without one.
	// A token that is not the stream's current, unexpired one is a Conflict; so is
	// 0 while somebody holds an unexpired lease.
	Lease int64
	// Run is written to each event.
	Run    string
	Bodies []footnote.Body
	// Blobs are stored with the events that refer to them, by content. The key
	// is the digest; a blob the stream already has is not stored twice.
	Blobs map[footnote.Digest][]byte
}

// Lease is the right to write to a stream until it expires.
type Lease struct {
	Token   int64 // fencing token; each acquisition has a larger one
	Owner   string
	Expires time.Time
}

// Page asks for part of a listing, newest change first.
type Page struct {
	Org, User string
	Kind      string
	Query     string // part of the title, any case; empty for all
	Before    string // cursor from the page before; empty for the first
	Limit     int    // 1 to 200
}

// Positioned is an event with its place in the order of the whole store.
type Positioned struct {
	footnote.Event
	Position  int64
	Org, User string
}

// Store keeps logs. Its methods may be called from several goroutines.
//
// Errors carry a code: NotFound for a stream or blob that does not exist,
// Conflict as said at Append, StorageUnavailable when the disk is full, read-only
// or gone. A successful Append is durable: it survives a kill -9 and, for the
// stores on disk, a loss of power.
type Store interface {
	// Create makes an empty stream. An ID or (Org, User, Kind, ClientID) that is
	// taken is a Conflict. Created and Updated are set by the store.
	Create(ctx context.Context, s Stream) error
	// CreateAppend makes a stream and its first events in one transaction; a is
	// as for Append, with After 0.
	CreateAppend(ctx context.Context, s Stream, a Append) ([]footnote.Event, error)
	// Get returns the head of a stream.
	Get(ctx context.Context, id string) (Stream, error)
	// Find returns the head of the stream a client knows as clientID.
	Find(ctx context.Context, org, user, kind, clientID string) (Stream, error)
	// List returns the heads of a user's streams and the cursor of the next
	// page, which is empty at the end.
	List(ctx context.Context, p Page) ([]Stream, string, error)
	// Append writes events and blobs, all or nothing, and returns the events as
	// stored, with Seq and Time.
	Append(ctx context.Context, a Append) ([]footnote.Event, error)
	// Events yields the events of a stream with Seq > after, in order. The last
	// pair yielded may be an error.
	Events(ctx context.Context, stream string, after int64) iter.Seq2[footnote.Event, error]
	// Blob returns a blob that an event of the stream refers to.
	Blob(ctx context.Context, stream string, d footnote.Digest) ([]byte, error)
	// Delete removes a stream with its events, its blobs that no other stream
	// uses, and its lease. Deleting what is not there is NotFound.
	Delete(ctx context.Context, id string) error

	// Acquire takes the lease of a stream for ttl. While another owner holds an
	// unexpired one it is a Conflict.
	Acquire(ctx context.Context, stream, owner string, ttl time.Duration) (Lease, error)
	// Renew extends a lease that is still the current one; otherwise Conflict.
	Renew(ctx context.Context, stream string, token int64, ttl time.Duration) error
	// Release gives a lease back; a lease that is no longer current is left
	// alone and is not an error.
	Release(ctx context.Context, stream string, token int64) error
	// Unfinished returns the heads of the streams whose run is running without
	// an unexpired lease, or parked with a deadline before now.
	Unfinished(ctx context.Context, now time.Time, limit int) ([]Stream, error)

	// Tail yields the events of all streams after a position, in the order of
	// positions. Events become visible in that order: a reader that has seen
	// position n will never be shown a smaller one later. A deleted stream's
	// events are gone from it.
	Tail(ctx context.Context, after int64, limit int) ([]Positioned, error)
	// Cursor returns the stored position of a projection; 0 when it has none.
	Cursor(ctx context.Context, name string) (int64, error)
	// SetCursor stores the position of a projection.
	SetCursor(ctx context.Context, name string, position int64) error

	// Ping reports whether the store can write.
	Ping(ctx context.Context) error
	Close() error
}
