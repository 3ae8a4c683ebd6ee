package cache

// Settle removes what is too much at once. It goes by itself, a little later.
func (m *Memory) Settle() { m.entries.CleanUp() }
