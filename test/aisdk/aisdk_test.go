// Package aisdk tests the AI SDK's protocol with the SDK itself, as published: the code behind useChat of each
// major version, against a server whose model is an imitation of the Messages API.
package aisdk

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/agent/agenttest"
	"github.com/footnotehq/footnote/httpapi"
	"github.com/footnotehq/footnote/hub"
	"github.com/footnotehq/footnote/internal/clienttest"
	"github.com/footnotehq/footnote/model/claude"
	"github.com/footnotehq/footnote/model/modeltest"
	"github.com/footnotehq/footnote/protocol"
	"github.com/footnotehq/footnote/protocol/aisdk"
	"github.com/footnotehq/footnote/store/sqlite/sqlitetest"
	"github.com/footnotehq/footnote/tool"
)

const (
	adasKey = "key-of-ada"
	bobsKey = "key-of-bob"
)

// TestClients runs the scenarios of test/clients/aisdk with the newest release of each major version.
func TestClients(t *testing.T) {
	for _, version := range []string{"v5", "v6", "v7"} {
		t.Run(version, func(t *testing.T) { t.Parallel(); drive(t, version) })
	}
}

// drive runs the scenarios with the packages that a folder pins.
func drive(t *testing.T, version string) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("Node.js is needed for the client tests: ", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	dir := filepath.Join("..", "clients", "aisdk", version)
	if err := clienttest.Install(ctx, dir); err != nil {
		t.Fatal(err)
	}
	url := serve(t)
	cmd := exec.CommandContext(ctx, node, "--test", "--test-reporter=tap", "chat.test.js")
	cmd.Dir, cmd.WaitDelay = dir, 5*time.Second
	cmd.Env = append(os.Environ(), "FOOTNOTE_TEST_URL="+url, "FOOTNOTE_TEST_KEY="+adasKey,
		"FOOTNOTE_TEST_OTHER_KEY="+bobsKey)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "# fail 0") || strings.Contains(string(out), "# pass 0") {
		t.Errorf("node --test: %v\n%s", err, out)
	}
}

// serve starts a server with tools of every kind. Its model does what the questions say; see obey.
func serve(t *testing.T) string {
	t.Helper()
	fake := modeltest.New(modeltest.Options{Rule: rule})
	upstream := fake.Start(t)
	t.Cleanup(func() {
		for _, r := range fake.Refusals() {
			t.Error("the API refused ", r)
		}
	})
	model, err := claude.New(claude.Options{
		Profile: claude.Anthropic, BaseURL: upstream, APIKey: "test", Model: "claude-sonnet-5-5",
	})
	if err != nil {
		t.Fatal(err)
	}
	log, live := sqlitetest.New(t), hub.New()
	logger := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError}))
	engine, err := agent.New(agent.Options{
		Log: log, Hub: live, Logger: logger, Resolve: resolve,
		Assistants: []*agent.Assistant{{
			Name: "analyst", Model: model, ModelName: "claude-sonnet-5-5", Tools: tools(),
			Limits: agent.Limits{Steps: 6},
			Opening: func(context.Context, footnote.Principal, []string) (agent.Opening, error) {
				system := json.RawMessage(`[{"type":"text","text":"You are a test."}]`)
				return agent.Opening{System: system, Sources: []string{"shop"}}, nil
			},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	api, err := httpapi.New(httpapi.Options{
		Engine: engine, Log: log, Hub: live, Logger: logger,
		Protocols: []protocol.Protocol{aisdk.New()}, BodyLimit: 16 << 10,
		Keys: map[string]footnote.Principal{adasKey: {Org: "acme", User: "ada"}, bobsKey: {Org: "acme", User: "bob"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(api)
	t.Cleanup(func() {
		now, cancel := context.WithCancel(context.Background())
		cancel()
		engine.Drain(now)
		live.Close()
		srv.CloseClientConnections()
		srv.Close()
		model.Close()
	})
	return srv.URL
}

// resolve finds the number 42.
func resolve(d agent.Draft) agent.Resolved {
	at := strings.Index(d.Text, "42")
	if at < 0 || len(d.Tables) == 0 {
		return agent.Resolved{}
	}
	row := 0
	return agent.Resolved{Cites: []footnote.Cite{{
		Start: at, End: at + 2, Text: "42", Result: d.Tables[0].ID, Row: &row, Column: "n", Value: "42", Confidence: 1,
	}}}
}

// tools returns a tool that reads, one that needs a person's approval, and the same two for the browser.
func tools() []tool.Tool {
	count := func(context.Context, tool.Call) (tool.Output, error) {
		rows := footnote.Result{
			Columns: []footnote.Column{{Name: "n", Kind: footnote.KindInteger}},
			Rows:    [][]any{{int64(42)}},
		}
		return tool.Output{
			Content: `{"n": 42}`, Rows: &rows, Source: "shop", SQL: "SELECT count(*) AS n FROM orders",
		}, nil
	}
	drop := func(_ context.Context, c tool.Call) (tool.Output, error) {
		return tool.Output{Content: "dropped " + string(c.Input)}, nil
	}
	return []tool.Tool{
		agenttest.NewTool(tool.Spec{Name: "count", Description: "Counts.", Side: tool.Server, ReadOnly: true}, count),
		agenttest.NewTool(tool.Spec{Name: "drop", Description: "Drops.", Side: tool.Server}, drop),
		agenttest.NewTool(tool.Spec{
			Name: "pick", Description: "Asks the browser.", Side: tool.Client, ReadOnly: true,
		}, nil),
		agenttest.NewTool(tool.Spec{Name: "draw", Description: "Draws in the browser.", Side: tool.Client}, nil),
	}
}

// rule follows the lines of the newest question. Lines "then" separate the model calls; after the last one,
// it reports the newest results.
func rule(r modeltest.Request) modeltest.Reply {
	question, n := newest(r.Messages)
	steps := strings.Split(question, "\nthen\n")
	if n < len(steps) {
		if reply, ok := obey(steps[n]); ok {
			return reply
		}
	}
	said := []string{}
	for _, res := range r.Results() {
		word := res.Content
		if res.IsError {
			word = "error: " + word
		}
		said = append(said, res.Name+" gave "+word)
	}
	return modeltest.Say("Done. " + strings.Join(said, "; ") + ".")
}

// newest returns the newest question, and how many messages with results followed it. A question whose answer
// broke off is in the same message as the next one.
func newest(messages []modeltest.Message) (question string, results int) {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role != "user" {
			continue
		}
		for _, c := range slices.Backward(messages[i].Content) {
			if _, found := obey(c.Text); c.Type == "text" && found {
				return c.Text, results
			}
		}
		results++
	}
	return "", results
}

func obey(step string) (reply modeltest.Reply, found bool) {
	for line := range strings.Lines(step) {
		verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		first, second, _ := strings.Cut(rest, " ")
		switch verb {
		case "say":
			reply.Blocks = append(reply.Blocks, modeltest.TextBlock(rest))
		case "think":
			reply.Blocks = append(reply.Blocks, modeltest.ThinkBlock(rest))
		case "call":
			reply.Blocks = append(reply.Blocks, modeltest.CallBlock(first, second))
		case "slow":
			n, err := strconv.Atoi(first)
			if err != nil {
				panic(err) // an invalid scenario
			}
			reply.Blocks = append(reply.Blocks, modeltest.Block{
				Type: "text", Text: "word ", Repeat: true, Deltas: n, Gap: 10 * time.Millisecond,
			})
		case "fail":
			n, err := strconv.Atoi(first)
			if err != nil {
				panic(err)
			}
			reply.Error = &modeltest.Failure{Status: n, Message: "secret of the upstream"}
		case "break":
			reply.Fault = &modeltest.Fault{Kind: modeltest.Reset, After: 2}
		default:
			continue
		}
		found = true
	}
	return reply, found
}
