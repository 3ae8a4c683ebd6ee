package audit

import (
	"encoding/json"
	"slices"
	"sync"
)

// Limits of what waits for the slowest sink. Beyond them the oldest entries are dropped.
const (
	maxInbox      = 1000
	maxInboxBytes = 16 << 20
)

// Inbox collects entries about what the log does not hold: a question that was refused before its run began, or a
// statement that was written for somebody. An Audit writes them to its sinks. Entries that no sink has taken when the
// process is killed are lost. The methods of an Inbox may be called from several goroutines; adding never waits.
type Inbox struct {
	mu      sync.Mutex // guards below
	entries [][]byte   // JSON, so that each sink redacts a copy of its own
	first   int64      // the number of entries[0]
	size    int        // the bytes of all entries
}

// Add takes an entry.
func (b *Inbox) Add(e Entry) {
	data, err := json.Marshal(e)
	if err != nil {
		panic(err) // an Entry consists of texts and numbers
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.entries = append(b.entries, data)
	b.size += len(data)
	for len(b.entries) > maxInbox || b.size > maxInboxBytes && len(b.entries) > 1 {
		b.trim(b.first + 1)
	}
}

// after returns the entries from number next on, the number that follows them, and how many were dropped before.
func (b *Inbox) after(next int64) (entries [][]byte, end, dropped int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	dropped = max(0, b.first-next)
	return slices.Clone(b.entries[max(0, next-b.first):]), b.first + int64(len(b.entries)), dropped
}

// forget drops the entries before number next, which every sink has.
func (b *Inbox) forget(next int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trim(next)
}

// trim drops the entries before number next. b.mu must be held.
func (b *Inbox) trim(next int64) {
	for b.first < next {
		b.size -= len(b.entries[0])
		b.entries[0] = nil
		b.entries, b.first = b.entries[1:], b.first+1
	}
}
