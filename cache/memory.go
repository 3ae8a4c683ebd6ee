package cache

import (
	"context"
	"math"
	"time"

	"github.com/maypok86/otter/v2"
)

// held is an entry in memory.
type held struct {
	owner string
	data  []byte
	ttl   time.Duration
}

// Memory is a backend in the memory of the process.
type Memory struct {
	entries *otter.Cache[string, held]
	limit   int64
}

// overhead is about what the memory of an entry is beside its texts.
const overhead = 256

// NewMemory makes a backend that holds at most so many entries of so many bytes
// together. Which go first is decided by how often and when they were used.
func NewMemory(bytes int64, entries int) (*Memory, error) {
	// Both bounds are one: each entry weighs at least its part of the bytes.
	least := max(bytes/int64(max(entries, 1)), 1)
	c, err := otter.New(&otter.Options[string, held]{
		MaximumWeight: uint64(bytes),
		Weigher: func(k string, h held) uint32 {
			weight := max(int64(len(k)+len(h.owner)+len(h.data)+overhead), least)
			return uint32(min(weight, math.MaxUint32))
		},
		ExpiryCalculator: otter.ExpiryWritingFunc(func(e otter.Entry[string, held]) time.Duration { return e.Value.ttl }),
	})
	return &Memory{entries: c, limit: bytes}, err
}

// Get implements Backend.
func (m *Memory) Get(_ context.Context, key string) ([]byte, error) {
	h, _ := m.entries.GetIfPresent(key)
	return h.data, nil
}

// Put implements Backend. An entry that would push out most others is not kept.
func (m *Memory) Put(_ context.Context, key, owner string, data []byte, ttl time.Duration) error {
	if int64(len(data)) > m.limit/4 {
		m.entries.Invalidate(key)
		return nil
	}
	m.entries.Set(key, held{owner, data, ttl})
	return nil
}

// Drop implements Backend.
func (m *Memory) Drop(_ context.Context, owner string) error {
	for key, h := range m.entries.All() {
		if h.owner == owner {
			m.entries.Invalidate(key)
		}
	}
	return nil
}

// Close implements Backend.
func (m *Memory) Close() error {
	m.entries.InvalidateAll()
	m.entries.StopAllGoroutines()
	return nil
}
