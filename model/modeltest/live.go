package modeltest

import (
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/model"
)

// LiveChecker is a model.Live that discards the pieces of a message. It reports blocks that overlap, and retries.
type LiveChecker struct {
	Errorf func(format string, args ...any) // required; of a test
	open   bool
}

var _ model.Live = (*LiveChecker)(nil)

// Start opens a block, which must be the first of its message.
func (l *LiveChecker) Start(index int, _, _, _ string) {
	if l.open || index != 0 {
		l.Errorf("block %d started while another is open", index)
	}
	l.open = true
}

// Delta discards a piece of the open block.
func (l *LiveChecker) Delta(int, []byte) {}

// Stop closes the block.
func (l *LiveChecker) Stop(int) { l.open = false }

// Flush does nothing.
func (l *LiveChecker) Flush() {}

// Retrying reports the retry, because planners never retry.
func (l *LiveChecker) Retrying(int, footnote.Code, time.Duration) { l.Errorf("the model retried") }
