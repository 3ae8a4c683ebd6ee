//go:build race

package confine

// Race reports whether the race detector runs. It maps shadow memory for all memory: several bytes for each.
const Race = true

// Environment returns the environment of a child of this program: the variables, and nothing of the server's own. Under
// the race detector, which only tests use, a child would sleep for a second before each exit.
func Environment(variables ...string) []string { return append(variables, "GORACE=atexit_sleep_ms=0") }
