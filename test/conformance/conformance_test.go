//go:build conformance

// Package conformance runs the official conformance suite of the Model Context Protocol against /mcp. The suite calls
// fixtures by their names; they are those of the official Go SDK's own test server, which scripts/conformance.sh adds
// to this package. Everything else is the server as users get it.
package conformance

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/footnotehq/footnote/agent/agenttest"
	"github.com/footnotehq/footnote/protocol"
	"github.com/footnotehq/footnote/protocol/mcp"
	"github.com/footnotehq/footnote/protocol/protocoltest"
)

// fixtures adds what the suite calls.
func fixtures(o *sdk.ServerOptions) func(*sdk.Server) {
	o.CompletionHandler = completionHandler
	o.SubscribeHandler, o.UnsubscribeHandler = subscribeHandler, unsubscribeHandler
	return func(s *sdk.Server) {
		registerTools(s)
		registerResources(s)
		registerPrompts(s)
	}
}

// TestServer runs the scenarios of both revisions. A scenario that fails must be in a list of expected failures, and
// one that is in a list must fail; docs/mcp.md has the reasons.
func TestServer(t *testing.T) {
	url := serve(t)
	for name, args := range map[string][]string{
		"2025-11-25": {"--suite", "active", "--spec-version", "2025-11-25"},
		"2026-07-28": {"--requirements", "2026-07-28"},
	} {
		t.Run(name, func(t *testing.T) {
			out := run(t, append([]string{
				"conformance", "server", "--url", url, "--expected-failures", name + ".yaml",
			}, args...))
			if t.Log(out); !strings.Contains(out, "server-initialize") && !strings.Contains(out, "server-stateless") {
				t.Error("no scenario ran")
			}
		})
	}
}

// TestInspector checks that the command line of the official Inspector lists and calls the tools.
func TestInspector(t *testing.T) {
	url := serve(t)
	for want, args := range map[string][]string{
		`"name": "ask"`:       {"--method", "tools/list"},
		"There are 42 orders": {"--method", "tools/call", "--tool-name", "ask", "--tool-arg", "question=How many?"},
	} {
		out := run(t, append([]string{"mcp-inspector", "--cli", url, "--transport", "http"}, args...))
		if !strings.Contains(out, want) {
			t.Errorf("%v: %s", args, out)
		}
	}
}

// serve starts a server with the fixtures, and returns the address of the protocol.
func serve(t *testing.T) string {
	t.Helper()
	api := protocoltest.New(t, protocoltest.Options{
		Model:     agenttest.Script(agenttest.Say("There are 42 orders.")),
		Protocols: []protocol.Protocol{mcp.New(mcp.Settings{Version: "test", Extend: fixtures})},
	})
	return protocoltest.Serve(t, api).URL + mcp.Address
}

// run runs a program of node_modules, and returns what it writes.
func run(t *testing.T, args []string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	bin, err := filepath.Abs(filepath.Join("node_modules", ".bin"))
	if err != nil {
		t.Fatal(err)
	}
	args[0] = filepath.Join(bin, args[0])
	out, err := exec.CommandContext(ctx, filepath.Join(bin, "node"), args...).CombinedOutput()
	if err != nil {
		t.Errorf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}
