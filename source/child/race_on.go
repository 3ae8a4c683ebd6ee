//go:build race

package child

// The race detector maps a shadow of all memory, which RLIMIT_DATA counts.
const raceEnabled = true
