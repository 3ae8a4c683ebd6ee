package cache

// Settle evicts entries over the limit now, which otherwise happens a little later.
func (m *Memory) Settle() { m.entries.CleanUp() }
