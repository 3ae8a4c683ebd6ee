package suite

import (
	"fmt"
	"maps"
	"slices"
)

// Join returns the tests of several files as one suite; nil without files. Each test keeps the limits of its file.
func Join(files map[string][]byte) (*Suite, error) {
	if len(files) == 0 {
		return nil, nil
	}
	all := &Suite{}
	seen := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		s, err := Parse(files[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, t := range s.Tests {
			if other := seen[t.Name]; other != "" {
				return nil, fmt.Errorf("%s and %s both have a test named %q", other, name, t.Name)
			}
			seen[t.Name] = name
		}
		all.Tests = append(all.Tests, s.Tests...)
	}
	if len(all.Tests) > maxTests {
		return nil, fmt.Errorf("there are %d tests; a suite has at most %d", len(all.Tests), maxTests)
	}
	return all, nil
}
