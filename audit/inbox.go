package audit

import (
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
)

// Limits of the lines that wait for the slowest sink. Each line counts as at least minSize bytes.
const (
	maxInbox      = 1000
	maxInboxBytes = 16 << 20
	minSize       = maxInboxBytes / maxInbox
	// patience limits how long Add waits for room for a statement that ran.
	patience = 5 * time.Second
)

// Inbox collects entries that are not in the log, such as a question that was refused before its run began, or a
// statement that was written for a user. An Audit writes them to its sinks. If the process is killed, entries that no
// sink has written are lost. The methods of an Inbox may be called from several goroutines.
//
// A full inbox drops the newest line of the user with the most lines. It never drops the line of a statement that ran,
// because a user could otherwise push it out with requests that do nothing.
type Inbox struct {
	mu    sync.Mutex    // guards below
	lines []line        // oldest first
	next  int64         // the number of the next line
	size  int           // of all lines
	ran   int           // of those about statements that ran
	left  chan struct{} // closed when lines are removed; nil if no goroutine waits for that
	wake  func()        // wakes the sinks; nil without an Audit
}

// line is an entry.
type line struct {
	number int64
	json   []byte    // each sink redacts its own copy
	owner  [2]string // organisation and user
	ran    bool      // it is about a statement that may have run on the server
}

func (l line) size() int { return max(len(l.json), minSize) }

// setWake sets the function that Add calls for each new line.
func (b *Inbox) setWake(wake func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wake = wake
}

// Add adds an entry. If the entry is about a statement that ran and the inbox is full, Add waits a few seconds for
// room.
func (b *Inbox) Add(e Entry) {
	data, err := json.Marshal(e)
	if err != nil {
		panic(err) // an Entry consists of texts and numbers
	}
	l := line{json: data, owner: [2]string{e.Org, e.User}, ran: slices.ContainsFunc(e.Results, mayHaveRun)}
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

// waitFor waits up to patience until a line of this size fits beside those of other statements that ran. b.mu must be
// held; waitFor releases it while it waits.
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

// victim returns the index of the line to drop. Among the lines that are not about statements that ran, it is the
// newest line of the user with the most such lines. Without any it is the newest line. b.mu must be held.
func (b *Inbox) victim() int {
	has := map[[2]string]int{}
	for _, l := range b.lines {
		if !l.ran {
			has[l.owner] += l.size()
		}
	}
	at := len(b.lines) - 1
	for i, l := range b.lines {
		if !l.ran && (b.lines[at].ran || has[l.owner] >= has[b.lines[at].owner]) {
			at = i
		}
	}
	return at
}

// count adds a line to the totals, or subtracts it. b.mu must be held.
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
