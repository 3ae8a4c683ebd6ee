package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/app"
)

// notName matches the characters that a source name must not contain.
var notName = regexp.MustCompile(`[^a-zA-Z0-9_-]+`)

// namedSources parses the --source flags: the name of a configured source, name=url-or-path, or an address alone,
// which is named after its file.
func namedSources(flags []string, configured map[string]string) (map[string]string, error) {
	named := map[string]string{}
	for _, f := range flags {
		name, where, ok := strings.Cut(f, "=")
		switch known, isName := configured[f]; {
		case isName:
			name, where = f, known
		case !ok || name == "" || notName.MatchString(name):
			name, where = app.SourceName(f), f
		}
		if where == "" || len(name) > 64 {
			return nil, fmt.Errorf("--source %q is neither a configured source's name nor name=url-or-path nor a path",
				f)
		}
		if err := config.CheckSource(name, where); err != nil {
			return nil, err
		}
		if _, twice := named[name]; twice {
			return nil, fmt.Errorf("two sources are named %s; rename one with --source name=path", name)
		}
		named[name] = where
	}
	return named, nil
}

// sameFiltered rejects a source that is configured with filters but given under a name without them.
func sameFiltered(named map[string]string, c config.Config) error {
	for name, where := range named {
		for configured, address := range c.Sources {
			if len(c.Filters[configured]) > 0 && len(c.Filters[name]) == 0 && app.SameSource(address, where) {
				return fmt.Errorf("--source %s: the configuration has filters for this address, under the name %s. "+
					"Use --source %s", where, configured, configured)
			}
		}
	}
	return nil
}
