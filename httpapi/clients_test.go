package httpapi_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/httpapi"
	"github.com/footnotehq/footnote/internal/clienttest"
)

const (
	adasKey = "key-of-ada"
	bobsKey = "key-of-bob"
	answer  = "Let me count.\n\nThere are 42 orders, <b>\"naïve\"</b> 😀."
)

// newAPI starts a server with two users and scripted scenarios.
func newAPI(t *testing.T, change func(*httpapi.Options)) (*httpapi.Server, *clienttest.Engine) {
	t.Helper()
	engine := clienttest.New()
	t.Cleanup(engine.Close)
	o := httpapi.Options{
		Engine: engine, Log: engine, Hub: engine.Hub, Protocols: allProtocols(),
		Keys: map[string]footnote.Principal{
			adasKey: {Org: "acme", User: "ada"},
			bobsKey: {Org: "acme", User: "bob"},
		},
		BodyLimit: 64 << 10,
	}
	if change != nil {
		change(&o)
	}
	api, err := httpapi.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return api, engine
}

// TestJavaScriptClient runs the official package, as published, against the server.
func TestJavaScriptClient(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("Node.js is needed for the client tests: ", err)
	}
	dir := filepath.Join("..", "test", "clients")
	if err := clienttest.Install(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	api, _ := newAPI(t, nil)
	srv := serve(t, api)
	out := run(t, dir, 2*time.Minute, []string{
		"FOOTNOTE_TEST_URL=" + srv.URL, "FOOTNOTE_TEST_KEY=" + adasKey,
	}, node, "--test-reporter=tap", "openai.test.js")
	if !strings.Contains(out, "# fail 0") || strings.Contains(out, "# pass 0") {
		t.Errorf("no sign that the tests ran:\n%s", out)
	}
}

func run(t *testing.T, dir string, limit time.Duration, env []string, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, append(os.Environ(), env...), 5*time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}
