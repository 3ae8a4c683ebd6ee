package child

import (
	"fmt"
	"strings"
)

// Confinement says what a child has given up before it opened its database.
type Confinement struct {
	Landlock int      `json:"landlock"` // ABI in force; 0 when the kernel has none
	Seccomp  bool     `json:"seccomp"`  // no sockets, no other programs
	Missing  []string `json:"missing,omitempty"`
	Limits   []string `json:"limits,omitempty"` // resource limits, in words
}

// String says it in one line, for the operator.
func (c Confinement) String() string {
	var parts []string
	switch {
	case c.Landlock >= 4:
		parts = append(parts, fmt.Sprintf("Landlock ABI %d (files and TCP)", c.Landlock))
	case c.Landlock > 0:
		parts = append(parts, fmt.Sprintf("Landlock ABI %d (files)", c.Landlock))
	default:
		parts = append(parts, "Landlock not available")
	}
	if c.Seccomp {
		parts = append(parts, "seccomp (no sockets, no programs)")
	} else {
		parts = append(parts, "seccomp not available")
	}
	parts = append(parts, c.Limits...)
	for _, m := range c.Missing {
		parts = append(parts, "not in force: "+m)
	}
	return strings.Join(parts, "; ")
}
