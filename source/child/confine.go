package child

import (
	"fmt"
	"strings"
)

// Confinement describes what a child gave up before it opened its database.
type Confinement struct {
	Landlock int      `json:"landlock"` // the ABI in use; 0 when the kernel has none
	Seccomp  bool     `json:"seccomp"`  // no sockets, no other programs
	Missing  []string `json:"missing,omitempty"`
	Limits   []string `json:"limits,omitempty"` // resource limits, as text
}

// String returns the confinement as one line for the operator.
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
