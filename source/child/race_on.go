//go:build race

package child

// The race detector maps shadow memory for all memory, and RLIMIT_DATA counts it.
const raceEnabled = true
