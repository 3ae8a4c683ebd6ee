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

// The nouns of the contract live in the root package, where the run loop, which
// knows no store, shares them.
type (
	Stream = footnote.Stream
	Append = footnote.Append
	Lease  = footnote.Lease
	Page   = footnote.Page

	Positioned = footnote.Positioned
)

// Store keeps logs. Its methods may be called from several goroutines.
//
// Errors carry a code: NotFound for a stream or blob that does not exist,
// Conflict as said at Append, StorageUnavailable when the disk is full, read-only
// or gone. A successful Append is durable: it survives a kill -9 and, for the
// stores on disk, a loss of power.
type Store interface {
	Keys

	// Create makes an empty stream. An ID or (Org, User, Kind, ClientID) that is
	// taken is a Conflict. Created and Updated are set by the store.
	Create(ctx context.Context, s Stream) error
	// CreateAppend makes a stream and its first events in one transaction; a is
	// as for Append, with After 0, no Lease, and a.Stream equal to s.ID or empty.
	CreateAppend(ctx context.Context, s Stream, a Append) ([]footnote.Event, error)
	// Get returns the head of a stream.
	Get(ctx context.Context, id string) (Stream, error)
	// Find returns the head of the stream a client knows as clientID.
	Find(ctx context.Context, org, user, kind, clientID string) (Stream, error)
	// List returns the heads of a user's streams and the cursor of the next
	// page, which is empty at the end.
	List(ctx context.Context, p Page) ([]Stream, string, error)
	// Append writes events and blobs, all or nothing, and returns the events as
	// stored, with Seq and Time. Without bodies it stores the blobs, or only
	// checks that the writer is up to date. When ctx is done before the write has
	// begun, nothing is written; a write that has begun is waited for.
	Append(ctx context.Context, a Append) ([]footnote.Event, error)
	// Events yields the events of a stream with Seq > after, in order. The last
	// pair yielded may be an error. It holds nothing while the caller works on an
	// event, so the loop may take its time and use the store.
	Events(ctx context.Context, stream string, after int64) iter.Seq2[footnote.Event, error]
	// Blob returns a blob that was appended to the stream. One that only other
	// streams have is NotFound.
	Blob(ctx context.Context, stream string, d footnote.Digest) ([]byte, error)
	// Blobs returns the sizes of a stream's blobs, in bytes.
	Blobs(ctx context.Context, stream string) (map[footnote.Digest]int64, error)
	// DropBlobs takes blobs from a stream, whose events stay as they are. What no other
	// stream uses is deleted. Digests that the stream does not have are left out.
	DropBlobs(ctx context.Context, stream string, digests []footnote.Digest) error
	// Holdings returns what the blobs of an org's streams of a kind take, for each
	// stream that has any, those first that were not written to for longest.
	Holdings(ctx context.Context, org, kind string) ([]footnote.Holding, error)
	// Delete removes a stream with its events, its blobs that no other stream
	// uses, and its lease. Deleting what is not there is NotFound.
	Delete(ctx context.Context, id string) error

	// A lease is taken by an append (Append.Take). While another owner holds an
	// unexpired one that append is a Conflict; the same owner may take it again,
	// which voids the former token.

	// Renew extends a lease that is still the current one, also when it has
	// expired and nobody took it since; otherwise Conflict.
	Renew(ctx context.Context, stream string, token int64, ttl time.Duration) error
	// Release gives a lease back; a lease that is no longer current is left
	// alone and is not an error.
	Release(ctx context.Context, stream string, token int64) error
	// Unfinished returns the heads of the streams whose run is running without
	// an unexpired lease, or parked with a deadline before now.
	Unfinished(ctx context.Context, now time.Time, limit int) ([]Stream, error)

	// Money and tokens are added up per conversation, user, org and day. What a call
	// may use is reserved before it is made, and settled by the append of the events
	// that say what it has used (Append.Settle).

	// Reserve sets apart what a call or a run may use: all of it, or what is left of the
	// ceilings, but no less than is enough. A reservation that exists grows, never shrinks,
	// and is not refused while it holds enough. Reserve is atomic: calls side by side are
	// never granted more in all than a ceiling allows. The error's code is BudgetExceeded
	// when too little is left; its Limit says of which scope, and whether the rest is only
	// reserved.
	Reserve(ctx context.Context, r footnote.Reserve) (footnote.Reservation, error)
	// Unreserve gives back what was reserved for a call that has used nothing. A
	// reservation that is not there any more is left alone and is not an error.
	Unreserve(ctx context.Context, id string) error
	// Expire is Unreserve for a reservation that has expired. One that was renewed is left alone.
	Expire(ctx context.Context, id string) error
	// Reserved returns the reservations of a stream that are not settled.
	Reserved(ctx context.Context, stream string) ([]footnote.Reservation, error)
	// Overdue returns reservations that have expired, the oldest first.
	Overdue(ctx context.Context, limit int) ([]footnote.Reservation, error)
	// Balances returns what has been spent and is reserved, in every scope, and the
	// time by the clock that says which day it is. Stream may be empty.
	Balances(ctx context.Context, org, user, stream string) (map[footnote.Scope]footnote.Balance, time.Time, error)
	// Tallies lists all balances that are not zero in the order of their org, user,
	// stream and day, those after a given one, at most limit of them. What a
	// conversation has used stays, when it is deleted, in its user's balance of
	// footnote.DayDeleted.
	Tallies(ctx context.Context, after footnote.Tally, limit int) ([]footnote.Tally, error)
	// Running counts the runs of a user that are running, or of the whole org when
	// user is empty.
	Running(ctx context.Context, org, user string) (int, error)

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
