package footnote

import "time"

// Stream is the head of a log: the data for a listing, and the state that an append is checked against.
type Stream struct {
	ID        string
	Kind      string // "conversation" or "document"
	Org, User string
	ClientID  string // the id a client chose, unique per (org, user, kind); may be empty
	Assistant string
	Title     string
	Last      int64     // sequence of the last event; 0 when there is none
	Run       string    // id of the run that has not ended; empty when none
	RunState  string    // "", "running" or "parked"; follows RunStarted, RunParked, RunResumed and the terminal events
	Deadline  time.Time // of the park; zero when not parked
	Created   time.Time
	Updated   time.Time
	Found     string // in the listing of a search: the part of a message with the text; empty: the title has it
}

// Page requests part of a listing of streams, newest change first.
type Page struct {
	Org, User string
	Kind      string // empty for all
	Query     string // part of the title or of a message, any case; empty for all
	Before    string // cursor from the page before; empty for the first
	Limit     int    // 1 to 200
}

// Positioned is an event with its owner and its position in the order of the whole store.
type Positioned struct {
	Event
	Position  int64
	Org, User string
}

// Append is one atomic write to a stream.
type Append struct {
	Stream string
	// ID identifies the append when it is retried after StorageUnavailable; random, or 0. A store that does not know
	// whether the first attempt committed looks for events with this ID, and returns them instead of a Conflict.
	ID int64
	// After is the last sequence the writer saw. If the stream has moved on, the store writes nothing and returns a
	// Conflict.
	After int64
	// Lease is the writer's fencing token, or 0 to write without one. The append is a Conflict if the token is
	// not the stream's current, unexpired one, or if it is 0 while an unexpired lease exists.
	Lease int64
	// Take acquires the stream's lease with this append. Lease must then be 0, and no other owner
	// may hold an unexpired lease. The same owner may take it again, which invalidates its older
	// token. The new token is After + 1, the sequence of the first event written.
	Take *Take
	// Release returns the lease with this append.
	Release bool
	// Run is written to each event.
	Run    string
	Bodies []Body
	// Blobs are stored together with the events that refer to them. The key is the digest; a blob the stream already
	// has is not stored twice.
	Blobs map[Digest][]byte
	// Settle charges what model calls and tools have used, in the same transaction.
	Settle []Settle
}

// Take is a request for the lease of a stream.
type Take struct {
	Owner string
	TTL   time.Duration
}

// Holding is the storage that the blobs of a stream use.
type Holding struct {
	Stream  string
	Bytes   int64
	Updated time.Time // when the stream was last written to
}

// StopAsked is a run with a stop request through a server other than the one that drives it.
type StopAsked struct {
	Stream, Run string
	By          string
}
