package confine

import (
	"strings"
	"sync"
)

// Printed keeps the beginning of what a confined process prints: the first lines of a crash say what happened, the last
// ones only where.
type Printed struct {
	mu  sync.Mutex // guards below
	buf []byte
}

const printedSize = 4 << 10

// Write implements io.Writer. It never fails.
func (p *Printed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.buf = append(p.buf, b[:min(printedSize-len(p.buf), len(b))]...)
	return len(b), nil
}

// String returns what was kept, as valid UTF-8.
func (p *Printed) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.ToValidUTF8(string(p.buf), "\uFFFD")
}
