//go:build !race

package confine

// Race reports whether the race detector runs. It maps shadow memory for all memory: several bytes for each.
const Race = false

// Environment returns the environment of a child of this program: the variables, and nothing of the server's own.
func Environment(variables ...string) []string { return variables }
