package engines_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/engines"
)

// list has an engine of files that it knows by content or name, one that takes any file, and one on a server.
var list = engines.List{
	{
		Dialect: &source.Dialect{Name: "lite"}, Schemes: []string{"lite", "file"}, Filters: true,
		Sniff: func(path string, head []byte) engines.Fit {
			switch {
			case strings.HasPrefix(string(head), "LITE"):
				return engines.FitsByContent
			case filepath.Ext(path) == ".db":
				return engines.FitsByName
			}
			return engines.NoFit
		},
	},
	{
		Dialect: &source.Dialect{Name: "any"}, Schemes: []string{"any"},
		Sniff: func(_ string, head []byte) engines.Fit {
			if strings.HasPrefix(string(head), "ANY") {
				return engines.FitsByContent
			}
			return engines.FitsByDefault
		},
	},
	{
		Dialect: &source.Dialect{Name: "remote"}, Schemes: []string{"remote"},
		OwnPolicies: true, Functions: true, Versions: true,
		Hosts: func(string) []string { return []string{"db.example"} }, ChildMemory: 5,
	},
	{Dialect: &source.Dialect{Name: "plain"}, Schemes: []string{"plain"}},
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for address, want := range map[string]string{
		"lite:a.csv": "lite", "file:///a": "lite", "any:a.db": "any", "remote://h/d": "remote",
		file("a.csv", "LITE…"): "lite", file("b.db", "a,b"): "lite", file("c.db", "ANY…"): "any",
		file("d.csv", "a,b"): "any", dir: "any", "missing.db": "lite", "missing.csv": "any", `C:\a.csv`: "any",
	} {
		if e, err := list.Find(address); err != nil || e.Dialect.Name != want {
			t.Errorf("Find(%q) = %v, %v, want %s", address, e.Dialect, err, want)
		}
	}
	for _, address := range []string{"nosuch://me:hush@h/d", "jdbc:nosuch://me:hush@h/d", "https://h/x.csv?hush"} {
		scheme, _, _ := strings.Cut(address, ":")
		if _, err := list.Find(address); err == nil || !strings.Contains(err.Error(), "the scheme "+scheme) ||
			!strings.Contains(err.Error(), "lite:, file:, any:, remote:, plain: or a path") ||
			strings.Contains(err.Error(), "hush") {
			t.Errorf("Find(%q): %v", address, err)
		}
	}
	if _, err := list[2:].Find("a.csv"); err == nil {
		t.Error("an engine on a server opens a file")
	}
}

func TestPath(t *testing.T) {
	for address, want := range map[string]string{
		"a b.db": "a b.db", "lite:a%20b.db?mode=ro": "a b.db", "file:///x/a.db": "/x/a.db", "any:dir/": "dir/",
		"remote://me:hush@h/d": "", "nosuch://h/d": "", "lite:%zz": "%zz",
	} {
		if got := list.Path(address); got != want {
			t.Errorf("Path(%q) = %q, want %q", address, got, want)
		}
	}
}

func TestCheck(t *testing.T) {
	filters := engines.Options{Filters: map[string]string{"t": "all"}}
	functions := engines.Options{Functions: []string{"public.f"}}
	version := engines.Options{VersionSQL: "SELECT 1"}
	for _, c := range []struct {
		address string
		options engines.Options
		want    string // "": no error
	}{
		{"lite:a.db", filters, ""},
		{"remote://h/d", functions, ""},
		{"remote://h/d", version, ""},
		{"remote://h/d", filters, "filters.shop: it is a remote database, which has policies of its own"},
		{"plain:a", filters, "filters.shop: plain databases take no filters"},
		{"plain:a", engines.Options{}, ""},
		{"lite:a.db", functions, `functions has "shop=public.f", but lite databases do not support this setting`},
		{"lite:a.db", version, "cache.versions has a statement for shop, but lite databases do not support this setting"},
		{"nosuch://h/d", engines.Options{}, "sources.shop: the scheme nosuch is not supported"},
	} {
		err := list.Check("shop", c.address, c.options)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("Check(%q) = %v, want %q", c.address, err, c.want)
		}
	}
}

func TestRowsPerUser(t *testing.T) {
	for what, c := range map[string]struct {
		engine engines.Engine
		want   bool
	}{
		"nothing": {engines.Engine{}, true}, "filters": {engines.Engine{Filters: true}, false},
		"policies": {engines.Engine{OwnPolicies: true}, true},
		"both":     {engines.Engine{Filters: true, OwnPolicies: true}, true},
	} {
		if got := c.engine.RowsPerUser(); got != c.want {
			t.Errorf("an engine with %s: %v", what, got)
		}
	}
}

// TestCheckReadsNothing checks that a check does not look into the file, which may be on a disk that does not answer.
func TestCheckReadsNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	if err := os.WriteFile(path, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	reads := engines.List{{
		Dialect: &source.Dialect{Name: "lite"},
		Sniff: func(_ string, head []byte) engines.Fit {
			if len(head) == 0 {
				return engines.NoFit
			}
			t.Errorf("it read %q", head)
			return engines.FitsByContent
		},
	}}
	if err := reads.Check("shop", path, engines.Options{}); err != nil {
		t.Errorf("a file that only its content can tell: %v", err)
	}
}

// proved is a source that knows better than its engine.
type proved struct{ source.Source }

func (proved) Proof() source.Proof {
	return source.Proof{Strength: source.Gated, TestedOn: source.Imitation}
}

// plainSource is a source of the engine lite.
type plainSource struct{ source.Source }

func (plainSource) Dialect() *source.Dialect { return list[0].Dialect }

func TestProof(t *testing.T) {
	l := engines.List{{
		Dialect: list[0].Dialect, Proof: source.Proof{Strength: source.Proven, TestedOn: source.Real},
	}}
	for want, src := range map[string]source.Source{
		"proven, tested on the real engine": plainSource{}, "gated, tested on an imitation of the engine": proved{},
	} {
		if got := l.Proof(src).String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := l.ProofOf("nosuch"); got != (source.Proof{}) {
		t.Errorf("an unknown engine has %v", got)
	}
}
