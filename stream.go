package footnote

import "time"

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

// Page asks for part of a listing of streams, newest change first.
type Page struct {
	Org, User string
	Kind      string // empty for all
	Query     string // part of the title, any case; empty for all
	Before    string // cursor from the page before; empty for the first
	Limit     int    // 1 to 200
}

// Positioned is an event with its place in the order of the whole store, and whose
// it is.
type Positioned struct {
	Event
	Position  int64
	Org, User string
}

// Append is one atomic write to a stream.
type Append struct {
	Stream string
	// ID names the append when it is made again after StorageUnavailable; random, or 0.
	// A store that may have lost sight of the first attempt's commit then finds the
	// events by it, and returns them instead of a Conflict.
	ID int64
	// After is the sequence the writer last saw. When the stream has moved on,
	// nothing is written and the error's code is Conflict.
	After int64
	// Lease is the fencing token the writer holds, or 0 to write without one.
	// A token that is not the stream's current, unexpired one is a Conflict; so is
	// 0 while somebody holds an unexpired lease.
	Lease int64
	// Take acquires the stream's lease with this append: Lease must then be 0, and
	// no other owner may hold an unexpired one. The same owner may take it anew,
	// which voids its older token. The new token is After + 1, the sequence of the
	// first event written.
	Take *Take
	// Release gives the lease back with this append.
	Release bool
	// Run is written to each event.
	Run    string
	Bodies []Body
	// Blobs are stored with the events that refer to them, by content. The key
	// is the digest; a blob the stream already has is not stored twice.
	Blobs map[Digest][]byte
	// Settle counts what model calls and tools have used, in the same transaction.
	Settle []Settle
}

// Take is a wish for the lease of a stream.
type Take struct {
	Owner string
	TTL   time.Duration
}

// Lease is the right to write to a stream until it expires.
type Lease struct {
	Token   int64 // fencing token; each acquisition has a larger one
	Owner   string
	Expires time.Time
}

// Holding is what the blobs of a stream take.
type Holding struct {
	Stream  string
	Bytes   int64
	Updated time.Time // when the stream was last written to
}

// StopAsked is a run that somebody asked to stop at another server than the one
// that drives it.
type StopAsked struct {
	Stream, Run string
	By          string
}
