package app

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/tool/workspace"
)

// TestWorkspaceAddresses checks that the endpoints of a workspace match their description, for its owner only.
func TestWorkspaceAddresses(t *testing.T) {
	g := newRig(t, t.TempDir(), func(c *config.Config) {
		c.Workspace, c.Coder.Allow = filepath.Join(c.Data, "workspaces"), []string{"Write"}
	})
	var took taken
	g.call("POST", "/api/conversations", map[string]any{
		"assistant": "coder",
		"text":      "write hello to notes.txt",
	}, 202, &took)
	g.settle(took.Conversation)
	spec, base := readSpec(t, g), "/api/conversations/"+took.Conversation+"/workspace"
	for target, want := range map[string]string{
		base:                          `{"files":[{"path":"notes.txt","size":6,`,
		base + "/file?path=notes.txt": "hello\n",
	} {
		r := g.request("GET", target, nil)
		w := g.do(r)
		if err := spec.check(r, w); err != nil || w.Code != 200 || !strings.HasPrefix(w.Body.String(), want) {
			t.Errorf("%s: %d %s, %v; want %s", target, w.Code, w.Body, err, want)
		}
		if h := w.Header(); strings.Contains(target, "file") &&
			(h.Get("X-Content-Type-Options") != "nosniff" ||
				!strings.HasPrefix(h.Get("Content-Disposition"), "attachment")) {
			t.Errorf("headers = %v", h)
		}
		r = g.request("GET", target, nil)
		r.Header.Set("Authorization", "Bearer "+bobsKey)
		g.refused(r, 404, "not_found")
	}
	for target, status := range map[string]int{
		"/file?path=none":                                404,
		"/file?path=../../footnote.db":                   400,
		"/file?digest=sha256:" + strings.Repeat("0", 64): 404,
	} {
		if w := g.do(g.request("GET", base+target, nil)); w.Code != status {
			t.Errorf("%s: %d %s, want %d", target, w.Code, w.Body, status)
		}
	}
	for pattern, methods := range g.api.Routes() {
		if strings.Contains(pattern, "/workspace") && len(spec.paths[pattern]) == 0 {
			t.Errorf("%s %v is not described", pattern, methods)
		}
	}
}

func TestCoderPolicy(t *testing.T) {
	w, err := workspace.Open(workspace.Options{
		Folder:   t.TempDir(),
		Log:      newRig(t, t.TempDir()).app.store,
		Commands: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for name, c := range map[string]struct {
		config.Coder
		want string // the verdicts of Read, Write, Edit, Glob, Grep, Bash
	}{
		"nothing set": {config.Coder{}, "allow ask ask allow allow ask"},
		"allow":       {config.Coder{Allow: []string{"Edit", "B*"}}, "allow ask allow allow allow allow"},
		"ask":         {config.Coder{Ask: []string{"*"}, Allow: []string{"*"}}, "ask ask ask ask ask ask"},
		"deny wins": {
			config.Coder{
				Deny:  []string{"Bash", "Read"},
				Allow: []string{"*"},
				Ask:   []string{"Bash"},
			}, "deny allow allow allow allow deny",
		},
	} {
		p, err := coderPolicy(config.Config{Coder: c.Coder})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, tool := range w.Tools() {
			got = append(got, p.Verdict(tool.Spec()))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
	if _, err := coderPolicy(config.Config{Coder: config.Coder{Deny: []string{"bash"}}}); err == nil ||
		!strings.Contains(err.Error(), `coder.deny has "bash"`) {
		t.Errorf("an entry that names no tool: %v", err)
	}
}

// TestDefaultAssistant checks which assistant a useChat page gets that names none.
func TestDefaultAssistant(t *testing.T) {
	ask := func(g *rig, query string, body map[string]any) (assistant string) {
		t.Helper()
		body["messages"] = []any{map[string]any{
			"id": "m1", "role": "user", "parts": []any{map[string]any{"type": "text", "text": "list files"}},
		}}
		w := g.do(g.request("POST", "/api/ai"+query, body))
		found := regexp.MustCompile(`"assistant":"(\w+)"`).FindStringSubmatch(w.Body.String())
		if w.Code != 200 || found == nil {
			t.Fatalf("POST /api/ai%s: %d %s", query, w.Code, w.Body)
		}
		return found[1]
	}
	without := newRig(t, t.TempDir())
	with := newRig(t, t.TempDir(), func(c *config.Config) { c.Workspace = filepath.Join(c.Data, "workspaces") })
	for _, test := range []struct {
		g           *rig
		query, want string
		body        map[string]any
	}{
		{without, "", "analyst", map[string]any{"id": "a"}},
		{with, "", "coder", map[string]any{"id": "a"}},
		{with, "?assistant=analyst", "analyst", map[string]any{"id": "b"}},
		{with, "?assistant=coder&dialect=7", "analyst", map[string]any{"id": "c", "assistant": "analyst"}},
		{with, "?assistant=analyst", "analyst", map[string]any{"id": "b"}}, // again
	} {
		if got := ask(test.g, test.query, test.body); got != test.want {
			t.Errorf("%s %v: %s, want %s", test.query, test.body, got, test.want)
		}
	}
	for _, path := range []string{"/api/ai", "/api/ai/c/stop"} {
		if w := with.do(with.request("POST", path+"?asistant=analyst", []byte("{}"))); w.Code != 400 ||
			!strings.Contains(w.Body.String(), "asistant") {
			t.Errorf("%s: a misspelt query parameter: %d %s", path, w.Code, w.Body)
		}
	}
}
