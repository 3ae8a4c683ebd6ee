package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/app"
)

// namedSources parses the --source flags: the name of a configured source, name=url-or-path, or an address alone,
// which is named after its file.
func namedSources(flags []string, configured map[string]string) (map[string]string, error) {
	named := map[string]string{}
	for _, f := range flags {
		name, where, ok := strings.Cut(f, "=")
		switch known, isName := configured[f]; {
		case isName:
			name, where = f, known
		case !ok || !app.IsSourceName(name):
			name, where = app.SourceName(f), f
		}
		if where == "" || len(name) > 64 {
			// The value is not repeated: it may hold a password.
			return nil, errors.New("a --source is neither a configured source's name nor name=url-or-path nor a " +
				"path; a name has at most 64 characters")
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
