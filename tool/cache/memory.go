package cache

import (
	"context"
	"math"
	"time"

	"github.com/maypok86/otter/v2"
)

// memoryEntry is an entry in memory.
type memoryEntry struct {
	owner string
	data  []byte
	ttl   time.Duration
}

// Memory is a backend in the memory of the process.
type Memory struct {
	entries *otter.Cache[string, memoryEntry]
	limit   int64
}

// overhead estimates the memory of an entry besides its texts, in bytes.
const overhead = 256

// NewMemory returns a backend limited to a number of entries and to their total size in bytes. It evicts by frequency
// and recency of use.
func NewMemory(bytes int64, entries int) (*Memory, error) {
	// One limit enforces both: each entry weighs at least its share of the bytes.
	least := max(bytes/int64(max(entries, 1)), 1)
	c, err := otter.New(&otter.Options[string, memoryEntry]{
		MaximumWeight: uint64(bytes),
		Weigher: func(k string, h memoryEntry) uint32 {
			weight := max(int64(len(k)+len(h.owner)+len(h.data)+overhead), least)
			return uint32(min(weight, math.MaxUint32))
		},
		ExpiryCalculator: otter.ExpiryWritingFunc(func(e otter.Entry[string, memoryEntry]) time.Duration {
			return e.Value.ttl
		}),
	})
	return &Memory{entries: c, limit: bytes}, err
}

// Get implements Backend.
func (m *Memory) Get(_ context.Context, key string) ([]byte, error) {
	h, _ := m.entries.GetIfPresent(key)
	return h.data, nil
}

// Put implements Backend. It does not store an entry that would evict most others.
func (m *Memory) Put(_ context.Context, key, owner string, data []byte, ttl time.Duration) error {
	if int64(len(data)) > m.limit/4 {
		m.entries.Invalidate(key)
		return nil
	}
	m.entries.Set(key, memoryEntry{owner, data, ttl})
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
