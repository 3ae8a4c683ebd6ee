package offline

import (
	"context"
	"fmt"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/sqlite"
)

// perUserSource is a source whose version contains the user. It counts how often its schema is read.
type perUserSource struct {
	source.Source
	read int
}

func (p *perUserSource) Dialect() *source.Dialect { return sqlite.Dialect }

func (p *perUserSource) Version(ctx context.Context) (string, error) {
	who, _ := footnote.ActingPrincipal(ctx)
	return "7 " + who.Org, nil
}

func (p *perUserSource) Schema(context.Context) (source.Schema, error) {
	p.read++
	return source.Schema{}, nil
}

// TestProfilesOfAlternatingUsers checks that each user's profile is read once and not shared.
func TestProfilesOfAlternatingUsers(t *testing.T) {
	src, c := &perUserSource{}, profiles{m: map[string]*profileEntry{}}
	ask := func(org string) *profile {
		t.Helper()
		p, err := c.get(footnote.WithPrincipal(t.Context(), footnote.Principal{Org: org}), "shop", src, nil)
		if err != nil || p.version != "7 "+org {
			t.Fatalf("%s has the profile of %q: %v", org, p.version, err)
		}
		return p
	}
	first := ask("acme")
	for range 5 {
		if ask("globex"); ask("acme") != first {
			t.Fatal("acme's profile was made again")
		}
	}
	if src.read != 2 {
		t.Errorf("the schema was read %d times for two orgs", src.read)
	}
	for i := range maxProfiles {
		ask(fmt.Sprint("org", i))
	}
	if len(c.m["shop"].known) != maxProfiles || ask("acme") == first {
		t.Errorf("%d profiles are kept", len(c.m["shop"].known))
	}
}
