package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/knowledge"
)

// contextFolder writes the files of a context, given as names and contents.
func contextFolder(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		if err := os.WriteFile(filepath.Join(dir, files[i]), []byte(files[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestContextIsFrozenWithTheConversation checks that the prompt begins with the glossary, that the log has the digest,
// and that a change reaches new conversations only.
func TestContextIsFrozenWithTheConversation(t *testing.T) {
	dir := contextFolder(t, "glossary.md", "A client is a customer.")
	g := newRig(t, t.TempDir(), func(c *config.Config) { c.Context = dir })
	first := g.app.knowledge.Current()
	o, err := g.app.opening(t.Context(), footnote.Principal{Org: "local", User: "local"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(o.System), `[{"type":"text","text":"# Glossary`) ||
		!strings.Contains(string(o.System), "A client is a customer.") || o.Context != first.Digest {
		t.Errorf("the prompt is %s, of the context %s", o.System, o.Context)
	}
}

// TestFaultyContextStopsTheStart checks that the error names the file and the line.
func TestFaultyContextStopsTheStart(t *testing.T) {
	dir := contextFolder(t, "model.yaml", "name: x\ntables: []\n")
	c := config.Default()
	c.Data, c.Context, c.Upstream, c.Model = t.TempDir(), dir, config.Offline, config.Offline
	_, err := Open(t.Context(), c, Options{})
	if _, ok := knowledge.IsFault(err); !ok || !strings.Contains(err.Error(), `model.yaml:2: the key "tables"`) {
		t.Errorf("error is %v", err)
	}
}
