package audit

import (
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
)

// Limits of what waits for the slowest sink. Each line counts as at least leastSize bytes.
const (
	maxInbox      = 1000
	maxInboxBytes = 16 << 20
	leastSize     = maxInboxBytes / maxInbox
	// patience is how long the line of a statement that ran waits for room.
	patience = 5 * time.Second
)

// Inbox collects entries about what the log does not hold: a question that was refused before its run began, or a
// statement that was written for somebody. An Audit writes them to its sinks. Entries that no sink has taken when the
// process is killed are lost. The methods of an Inbox may be called from several goroutines.
//
// When it is full, the newest line of whoever has most goes. The line of a statement that ran stays: otherwise a person
// could remove it with requests that do nothing.
type Inbox struct {
	mu    sync.Mutex    // guards below
	lines []line        // oldest first
	next  int64         // the number of the next line
	size  int           // of all lines
	ran   int           // of those about statements that ran
	left  chan struct{} // closed when lines leave; nil when nobody waits for that
	wake  func()        // wakes the sinks; nil without an Audit
}

// line is an entry.
type line struct {
	number int64
	json   []byte // each sink redacts a copy of its own
	of     [2]string
	ran    bool // it is about a statement that may have run on the server
}

func (l line) size() int { return max(len(l.json), leastSize) }

// wakes sets what each new line calls.
func (b *Inbox) wakes(wake func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wake = wake
}

// Add takes an entry. It waits only if the entry is about a statement that ran, and only while there is no room, for a
// few seconds at most.
func (b *Inbox) Add(e Entry) {
	data, err := json.Marshal(e)
	if err != nil {
		panic(err) // an Entry consists of texts and numbers
	}
	l := line{json: data, of: [2]string{e.Org, e.User}, ran: slices.ContainsFunc(e.Results, mayHaveRun)}
	b.mu.Lock()
	defer b.mu.Unlock()
	if l.ran {
		b.waitFor(l.size())
	}
	l.number = b.next
	b.next++
	b.lines = append(b.lines, l)
	b.count(l, 1)
	for b.size > maxInboxBytes && len(b.lines) > 1 {
		at := b.victim()
		b.count(b.lines[at], -1)
		b.lines = slices.Delete(b.lines, at, at+1)
	}
	if b.wake != nil {
		b.wake()
	}
}

// mayHaveRun reports whether a statement may have run on the server.
func mayHaveRun(s Summary) bool {
	return !s.InBrowser && s.Outcome != footnote.StatementRefused && s.Outcome != footnote.StatementNotRun
}

// waitFor waits until a line of this size fits beside those of other statements that ran, or patience is over. b.mu
// must
// be held; it is free meanwhile.
func (b *Inbox) waitFor(size int) {
	late := time.NewTimer(patience)
	defer late.Stop()
	for waiting := true; waiting && b.ran > 0 && b.ran+size > maxInboxBytes; {
		if b.left == nil {
			b.left = make(chan struct{})
		}
		left := b.left
		b.mu.Unlock()
		select {
		case <-left:
		case <-late.C:
			waiting = false
		}
		b.mu.Lock()
	}
}

// victim returns the index of the line to drop: of whoever has most lines about nothing that ran the newest of these,
// or
// the newest line if there are none. b.mu must be held.
func (b *Inbox) victim() int {
	has := map[[2]string]int{}
	for _, l := range b.lines {
		if !l.ran {
			has[l.of] += l.size()
		}
	}
	at := len(b.lines) - 1
	for i, l := range b.lines {
		if !l.ran && (b.lines[at].ran || has[l.of] >= has[b.lines[at].of]) {
			at = i
		}
	}
	return at
}

// count adds a line to the sizes, or takes it away. b.mu must be held.
func (b *Inbox) count(l line, times int) {
	b.size += times * l.size()
	if l.ran {
		b.ran += times * l.size()
	}
}

// after returns the lines from number next on, the number that follows them, and how many of these numbers were
// dropped.
func (b *Inbox) after(next int64) (lines [][]byte, end, dropped int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.lines {
		if l.number >= next {
			lines = append(lines, l.json)
		}
	}
	return lines, b.next, b.next - next - int64(len(lines))
}

// forget removes the lines before number next, which every sink has.
func (b *Inbox) forget(next int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for ; n < len(b.lines) && b.lines[n].number < next; n++ {
		b.count(b.lines[n], -1)
	}
	b.lines = slices.Delete(b.lines, 0, n)
	if b.left != nil {
		close(b.left)
		b.left = nil
	}
}
