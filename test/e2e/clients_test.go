package e2e

import (
	"context"
	"errors"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote/internal/clienttest"
	"github.com/footnotehq/footnote/model/modeltest"
)

// forClients returns the faults that the clients' tests name, besides the lines "fake: …".
func forClients() map[string]fault {
	all := faults()
	all["endless"] = fault{
		replies: []modeltest.Reply{
			modeltest.Blocks(modeltest.Block{
				Type: "text", Text: "word ", Repeat: true, Deltas: 100_000, Gap: 2 * time.Millisecond,
			}),
		},
	}
	all["silent"] = fault{replies: []modeltest.Reply{{Wait: 30 * time.Second}}}
	return all
}

// TestJavaScriptClient runs the official package, as published, against the program.
func TestJavaScriptClient(t *testing.T) {
	t.Parallel()
	fake, settings := imitate(t, scripted(t, forClients()))
	runClient(t, serve(t, append(settings, keys, "FOOTNOTE_BODY_LIMIT=65536")...), "program.test.js")
	eventually(t, "the upstream calls of clients that left have ended", func() bool { return fake.Metrics().Open == 0 })
}

// TestEventSource runs a published EventSource against the native stream.
func TestEventSource(t *testing.T) {
	t.Parallel()
	_, settings := imitate(t, auto(t))
	runClient(t, serve(t, append(settings, keys, "FOOTNOTE_BODY_LIMIT=65536")...), "analyze.test.js")
}

// TestMCPClient runs the published SDK of the Model Context Protocol against the program.
func TestMCPClient(t *testing.T) {
	t.Parallel()
	_, settings := imitate(t, scripted(t, forClients()))
	own := append(settings, "FOOTNOTE_SOURCES=shop="+shopDB, "FOOTNOTE_DATA="+t.TempDir()) // of footnote mcp
	runClient(t, serve(t, append(settings, keys)...), "mcp.test.js",
		append(own, "FOOTNOTE_TEST_PROGRAM="+binary)...)
}

// runClient runs a file of test/clients against a server.
func runClient(t *testing.T, p *process, file string, more ...string) {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("Node.js is needed for the client tests: ", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	dir := filepath.Join("..", "clients")
	if err := clienttest.Install(ctx, dir); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, node, "--test", "--test-reporter=tap", file)
	cmd.Dir, cmd.WaitDelay = dir, 5*time.Second
	cmd.Env = environ("FOOTNOTE_TEST_URL="+p.url, "FOOTNOTE_TEST_KEY="+adasKey, "FOOTNOTE_TEST_OTHER_KEY="+bobsKey)
	cmd.Env = append(cmd.Env, more...)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "# fail 0") || strings.Contains(string(out), "# pass 0") {
		t.Errorf("node --test: %v\n%s", err, out)
	}
}

// TestDisconnectEndsRun checks that when a client leaves, its model call ends.
func TestDisconnectEndsRun(t *testing.T) {
	t.Parallel()
	fake, settings := imitate(t, scripted(t, forClients()))
	p := serve(t, append(settings, keys)...)
	open := func(n int64) func() bool { return func() bool { return fake.Metrics().Open == n } }
	for _, text := range []string{"fault: endless", "fault: silent"} {
		for _, streamed := range []bool{true, false} {
			first := p.answered(t, question{text: "fake: say Hello.", key: adasKey})
			ctx, leave := context.WithCancel(t.Context())
			left := make(chan error, 1)
			go func() {
				q := question{text: text, key: adasKey, conversation: first.conversation, stream: streamed}
				left <- p.try(ctx, q).err
			}()
			eventually(t, "the model is asked", open(1))
			time.Sleep(20 * time.Millisecond) // time for some words
			leave()
			begun := time.Now()
			if err := <-left; !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", text, err)
			}
			eventually(t, "the upstream connection closes", open(0))
			t.Logf("%s, streamed %v: closed after %v", text, streamed, time.Since(begun))
			eventually(t, "the run is stopped", func() bool {
				events := p.log(t, first.conversation, adasKey)
				last := events[len(events)-1]
				return last.Kind == "run_stopped" && strings.Contains(last.line, `"by":"disconnect"`)
			})
			checkLog(t, p.log(t, first.conversation, adasKey))
			p.answered(t, question{text: nextQuestion, key: adasKey, conversation: first.conversation})
		}
	}
}

// TestRunContinuesAfterDisconnect checks that with on_disconnect=continue the run continues, and its answer can be
// read later.
func TestRunContinuesAfterDisconnect(t *testing.T) {
	t.Parallel()
	_, settings := imitate(t, auto(t))
	p := serve(t, append(settings, "FOOTNOTE_ON_DISCONNECT=continue")...)
	first := p.answered(t, question{text: "fake: say Hello."})
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan reply, 1)
	go func() {
		left <- p.try(ctx, question{text: "fake: wait 1s\nfake: say Read me later.", conversation: first.conversation})
	}()
	eventually(t, "the run begins", func() bool { return running(p.log(t, first.conversation, "")) })
	leave()
	if r := <-left; r.err == nil {
		t.Errorf("the answer came: %+v", r)
	}
	if r := p.ask(t, question{text: "fake: say No.", conversation: first.conversation}); r.status !=
		http.StatusConflict {
		t.Errorf("a question during the run got %d; want 409", r.status)
	}
	eventually(t, "the run ends", func() bool { return !running(p.log(t, first.conversation, "")) })
	events := p.log(t, first.conversation, "")
	checkLog(t, events)
	if all := events[len(events)-2]; !strings.Contains(all.line, "Read me later.") {
		t.Errorf("the log has %s", all.line)
	}
}
