// Package store defines the contract of the event log: streams of numbered events, content-addressed blobs, leases for
// the runs that write, and cursors for the projections that must see every event. Packages sqlite and postgres
// implement it, and the tests of this package hold them to it.
package store

import (
	"context"
	"iter"
	"time"

	"github.com/footnotehq/footnote"
)

// The types of the contract live in the root package, because the run loop uses them and must not import a store.
type (
	Stream = footnote.Stream
	Append = footnote.Append
	Page   = footnote.Page

	Positioned = footnote.Positioned
	Consent    = footnote.Consent
)

// Store keeps logs. Its methods may be called from several goroutines.
//
// Errors carry a code: NotFound for a stream or blob that does not exist, Conflict as documented at footnote.Append,
// StorageUnavailable when the disk is full, read-only or gone. A successful Append is durable: it survives a kill -9
// and a loss of power.
type Store interface {
	Keys
	Consents

	// Create creates an empty stream. It returns a Conflict if the ID or (Org, User, Kind, ClientID) is taken. The
	// store sets Created and Updated.
	Create(ctx context.Context, s Stream) error
	// CreateAppend creates a stream with its first events in one transaction. In a, After must be 0, Lease 0, and
	// Stream s.ID or empty.
	CreateAppend(ctx context.Context, s Stream, a Append) ([]footnote.Event, error)
	// Get returns the head of a stream.
	Get(ctx context.Context, id string) (Stream, error)
	// Find returns the head of the stream to which a client gave the id clientID.
	Find(ctx context.Context, org, user, kind, clientID string) (Stream, error)
	// List returns the heads of a user's streams and the cursor of the next page, which is empty on the last page.
	List(ctx context.Context, p Page) ([]Stream, string, error)
	// Append writes events and blobs, all or nothing, and returns the events as stored, with Seq and Time. Without
	// bodies it stores only the blobs; without blobs either, it only checks that the writer has seen the last event. If
	// ctx is done before the write begins, nothing is written; once the write has begun, Append waits for its end.
	Append(ctx context.Context, a Append) ([]footnote.Event, error)
	// Events yields the events of a stream with Seq > after, in order. The last pair yielded may be an error. It holds
	// no lock or connection while the loop body runs, so the body may take its time and use the store.
	Events(ctx context.Context, stream string, after int64) iter.Seq2[footnote.Event, error]
	// Blob returns a blob that was appended to the stream. It returns NotFound for a blob that only other streams have.
	Blob(ctx context.Context, stream string, d footnote.Digest) ([]byte, error)
	// Blobs returns the sizes of a stream's blobs, in bytes.
	Blobs(ctx context.Context, stream string) (map[footnote.Digest]int64, error)
	// DropBlobs removes blobs from a stream, but not its events. It deletes blobs that no other stream uses, and
	// ignores digests that the stream does not have.
	DropBlobs(ctx context.Context, stream string, digests []footnote.Digest) error
	// Holdings returns the storage used by the blobs of an organisation's streams of one kind: an entry for each stream
	// that has blobs, least recently written first.
	Holdings(ctx context.Context, org, kind string) ([]footnote.Holding, error)
	// Delete removes a stream with its events, its lease, and the blobs that no other stream uses. It returns NotFound
	// if the stream does not exist.
	Delete(ctx context.Context, id string) error

	// An append takes the lease of its stream (Append.Take). That append is a Conflict while another owner holds an
	// unexpired lease. The same owner may take the lease again, which invalidates the earlier token.

	// Renew extends the lease if token is the current one, even if the lease has expired since; otherwise it returns a
	// Conflict.
	Renew(ctx context.Context, stream string, token int64, ttl time.Duration) error
	// Release returns a lease. It does nothing, without an error, if token is not the current one.
	Release(ctx context.Context, stream string, token int64) error
	// Unfinished returns the heads of the streams whose run is running without an unexpired lease, or parked with a
	// deadline before now.
	Unfinished(ctx context.Context, now time.Time, limit int) ([]Stream, error)

	// The store adds up money and tokens per conversation, user, organisation and day. A caller reserves an amount
	// before a model call, and settles it with the append of the events that record the usage (Append.Settle).

	// Reserve reserves what a call or a run may use: r.Max, or what the limits leave of it, but at least r.Enough.
	// An existing reservation grows, never shrinks, and is not refused while it holds enough. Reserve is atomic:
	// concurrent calls never get more in total than a limit allows. If too little is left, the error's code is
	// BudgetExceeded, and its Limit names the scope and whether the rest is only reserved.
	Reserve(ctx context.Context, r footnote.Reserve) (footnote.Reservation, error)
	// Unreserve ends the reservation of a call that has used nothing. It does nothing, without an error, if the
	// reservation no longer exists.
	Unreserve(ctx context.Context, id string) error
	// Expire is Unreserve for a reservation that has expired. It does nothing if the reservation was renewed.
	Expire(ctx context.Context, id string) error
	// Reserved returns the unsettled reservations of a stream.
	Reserved(ctx context.Context, stream string) ([]footnote.Reservation, error)
	// Overdue returns expired reservations, oldest first.
	Overdue(ctx context.Context, limit int) ([]footnote.Reservation, error)
	// Balances returns the amounts spent and reserved in every scope, and the time by the clock that defines the
	// current day. Stream may be empty.
	Balances(ctx context.Context, org, user, stream string) (map[footnote.Scope]footnote.Balance, time.Time, error)
	// Tallies lists up to limit nonzero balances after a given one, ordered by org, user, stream and day. When a
	// conversation is deleted, its spending moves to its user's balance of footnote.DayDeleted.
	Tallies(ctx context.Context, after footnote.Tally, limit int) ([]footnote.Tally, error)
	// Running counts the running runs of a user, or of the whole organisation if user is empty.
	Running(ctx context.Context, org, user string) (int, error)

	// Tail returns up to limit events of all streams after a position, ordered by position. Events become visible in
	// that order: a reader that has seen position n never sees a smaller one later. The tail omits the events of
	// deleted streams.
	Tail(ctx context.Context, after int64, limit int) ([]Positioned, error)
	// Cursor returns the stored position of a projection; 0 if it has none.
	Cursor(ctx context.Context, name string) (int64, error)
	// SetCursor stores the position of a projection.
	SetCursor(ctx context.Context, name string, position int64) error

	// Ping reports whether the store can write.
	Ping(ctx context.Context) error
	Close() error
}
