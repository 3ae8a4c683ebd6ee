//go:build !linux

package child

import "os"

// dropPrivileges does what this system allows: an empty environment, a private directory, and a process that can be
// killed.
func dropPrivileges(l launch) (Confinement, error) {
	if l.Temp != "" {
		os.Setenv("TMPDIR", l.Temp)
		if err := os.Chdir(l.Temp); err != nil {
			return Confinement{}, err
		}
	}
	return Confinement{Missing: []string{"resource limits"}}, nil
}
