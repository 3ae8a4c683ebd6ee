package app

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/doctor"
	"github.com/footnotehq/footnote/model/modeltest"
)

// serve serves an MCP server and returns settings for it.
func serve(t *testing.T, s *sdk.Server) map[string]config.MCPServer {
	t.Helper()
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
	t.Cleanup(web.Close)
	return map[string]config.MCPServer{"city": {
		URL: web.URL, Assistants: []string{"analyst"}, Timeout: 5 * time.Second, MaxOutput: 50_000,
	}}
}

func addTool(s *sdk.Server, name, description string, calls *atomic.Int64, out any) {
	sdk.AddTool(s, &sdk.Tool{
		Name: name, Description: description, Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true},
	}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		calls.Add(1)
		return nil, out, nil
	})
}

// TestChangedTool checks that a tool that changes during a conversation cannot be called in it, but in a new one.
func TestChangedTool(t *testing.T) {
	var calls atomic.Int64
	s := sdk.NewServer(&sdk.Implementation{Name: "city", Version: "1"}, nil)
	addTool(s, "bikes", "Counts bikes.", &calls, map[string]int{"bikes": 12})
	fake := modeltest.New(modeltest.Options{Key: "test", Replies: []modeltest.Reply{
		modeltest.Use("mcp__city__bikes", "{}"), modeltest.Say("There are 12 bikes."), modeltest.Say(`{"title":"Bikes"}`),
		modeltest.Use("mcp__city__bikes", "{}"), modeltest.Say("It has changed."),
		modeltest.Use("mcp__city__bikes", "{}"), modeltest.Say("There are 12 bikes."), modeltest.Say(`{"title":"Bikes"}`),
	}})
	g := newRig(t, t.TempDir(), func(c *config.Config) {
		c.Upstream, c.BaseURL, c.APIKey, c.Model = config.Anthropic, fake.Start(t), "test", "claude-sonnet-5-5"
		c.MCPServers = serve(t, s)
	})
	conversation := g.ask("How many bikes are there?")
	if calls.Load() != 1 {
		t.Fatalf("%d calls", calls.Load())
	}
	before := g.app.mcpServers.Tools([]string{"city"})[0].Spec().Description
	s.RemoveTools("bikes")
	addTool(s, "bikes", "Counts bikes, and sells them.", &calls, map[string]int{"bikes": 12})
	deadline := time.Now().Add(10 * time.Second)
	for {
		tools := g.app.mcpServers.Tools([]string{"city"})
		if len(tools) == 1 && tools[0].Spec().Description != before {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the change was not noticed")
		}
		<-time.After(10 * time.Millisecond)
	}
	var begun taken
	g.call("POST", "/api/conversations/"+conversation+"/turns", map[string]any{"text": "And now?"}, 202, &begun)
	g.settle(conversation)
	refusals := strings.Count(g.log(conversation), "has changed since this conversation began")
	if refusals != 1 || calls.Load() != 1 {
		t.Errorf("%d refusals, %d calls", refusals, calls.Load())
	}
	g.ask("How many bikes are there?")
	if calls.Load() != 2 {
		t.Errorf("a new conversation cannot call the tool: %d calls", calls.Load())
	}
}

// TestMCPResults checks that a structured result gets footnotes, and that calculations read it.
func TestMCPResults(t *testing.T) {
	needsDuckDB(t)
	var calls atomic.Int64
	s := sdk.NewServer(&sdk.Implementation{Name: "city", Version: "1"}, nil)
	addTool(s, "stations", "Lists stations.", &calls, map[string]any{"stations": []any{
		map[string]any{"name": "North", "bikes": 12}, map[string]any{"name": "South", "bikes": 31},
	}})
	fake := modeltest.New(modeltest.Options{Key: "test", Replies: []modeltest.Reply{
		modeltest.Use("mcp__city__stations", "{}"),
		modeltest.Use("calculate", `{"sql":"SELECT sum(bikes) AS bikes FROM r1"}`),
		modeltest.Say("There are 43 bikes in all, 31 of them at South."), modeltest.Say(`{"title":"Bikes"}`),
	}})
	g := newRig(t, t.TempDir(), func(c *config.Config) {
		c.Upstream, c.BaseURL, c.APIKey, c.Model = config.Anthropic, fake.Start(t), "test", "claude-sonnet-5-5"
		c.MCPServers = serve(t, s)
	})
	conversation := g.ask("How many bikes are there?")
	cited, calculated := map[string]string{}, false
	for ev, err := range g.app.store.Events(t.Context(), conversation, 0) {
		if err != nil {
			t.Fatal(err)
		}
		switch b := ev.Body.(type) {
		case footnote.ToolResult:
			calculated = calculated || b.Result != nil && slices.Equal(b.Result.Parents, []string{"r1"})
		case footnote.Answered:
			for _, c := range b.Cites {
				cited[c.Text] = c.Result
			}
		}
	}
	if cited["43"] == "" || cited["31"] != "r1" {
		t.Errorf("footnotes %v", cited)
	}
	if !calculated {
		t.Error("the calculation has not read the result")
	}
}

func (g *rig) log(conversation string) string {
	return g.do(g.request("GET", "/api/conversations/"+conversation+"/events", nil)).Body.String()
}

// TestDoctorOnMCPServers checks that doctor lists tools, and contacts servers over HTTP only if it may.
func TestDoctorOnMCPServers(t *testing.T) {
	var calls atomic.Int64
	s := sdk.NewServer(&sdk.Implementation{Name: "city", Version: "1"}, nil)
	addTool(s, "stations", "Lists stations.", &calls, map[string]any{})
	c := config.Default()
	c.MCPServers = serve(t, s)
	c.MCPServers["broken"] = config.MCPServer{Command: []string{"/no/such/program"}}
	for online, want := range map[bool]string{true: "mcp__city__stations", false: doctor.NotAsked} {
		r := &doctor.Report{Online: online}
		checkMCPServers(t.Context(), c, r)
		text := ""
		for _, check := range r.Checks {
			text += check.What + " " + check.State + " " + check.Detail + "\n"
		}
		if !strings.Contains(text, want) || !strings.Contains(text, "mcp server broken FAIL") {
			t.Errorf("online %v: %s", online, text)
		}
	}
}
