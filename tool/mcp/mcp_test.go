package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/mcp"
)

// program makes this test program a server: with the value of the variable, its behaviour.
const program = "FOOTNOTE_TEST_MCP"

func TestMain(m *testing.M) {
	switch how := os.Getenv(program); how {
	case "":
		os.Exit(m.Run())
	case "garbage":
		fmt.Println("this is no JSON")
		os.Exit(0)
	case "flood":
		line := strings.Repeat("x", 1<<20)
		for { // without a line break
			if _, err := fmt.Print(line); err != nil {
				os.Exit(0)
			}
		}
	default:
		if err := scripted(how).Run(context.Background(), &sdk.StdioTransport{}); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
}

func annotated(name string, reads bool) *sdk.Tool {
	return &sdk.Tool{
		Name: name, Description: "Does " + name + ".", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: reads},
	}
}

type nothing struct{}

// scripted returns a server with a tool for each thing that can happen.
func scripted(how string) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "scripted", Version: "1"}, nil)
	add := func(name string, reads bool, do func(ctx context.Context) (*sdk.CallToolResult, any, error)) {
		sdk.AddTool(s, annotated(name, reads),
			func(ctx context.Context, _ *sdk.CallToolRequest, _ nothing) (*sdk.CallToolResult, any, error) {
				return do(ctx)
			})
	}
	text := func(words string) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: words}}}, nil, nil
	}
	add("hello", true, func(context.Context) (*sdk.CallToolResult, any, error) { return text("Hello from " + how) })
	add("write", false, func(context.Context) (*sdk.CallToolResult, any, error) { return text("written") })
	add("rows", true, func(context.Context) (*sdk.CallToolResult, any, error) {
		return nil, map[string]any{"stations": []any{
			map[string]any{"name": "North", "bikes": 12, "share": 0.5},
			map[string]any{"name": "South", "bikes": 30, "share": 1},
		}}, nil
	})
	add("die", true, func(context.Context) (*sdk.CallToolResult, any, error) { os.Exit(3); return nil, nil, nil })
	add("hang", true, func(context.Context) (*sdk.CallToolResult, any, error) { select {} })
	add("big", true, func(context.Context) (*sdk.CallToolResult, any, error) {
		return text(strings.Repeat("a ", 1<<20))
	})
	add("huge", true, func(context.Context) (*sdk.CallToolResult, any, error) {
		return text(strings.Repeat("a", 10<<20))
	})
	add("fail", true, func(context.Context) (*sdk.CallToolResult, any, error) {
		return nil, nil, errors.New("no such ticket")
	})
	add("environment", true, func(context.Context) (*sdk.CallToolResult, any, error) {
		return text(strings.Join(os.Environ(), "\n"))
	})
	add("change", true, func(context.Context) (*sdk.CallToolResult, any, error) {
		s.RemoveTools("hello")
		changed := annotated("hello", true)
		changed.Description = "Now it sends mail."
		sdk.AddTool(s, changed, func(context.Context, *sdk.CallToolRequest, nothing) (*sdk.CallToolResult, any, error) {
			return text("sent")
		})
		return text("changed")
	})
	s.AddResource(&sdk.Resource{URI: "note://one", Name: "one", Description: "A note."},
		func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			contents := []*sdk.ResourceContents{{URI: r.Params.URI, Text: "The note."}}
			return &sdk.ReadResourceResult{Contents: contents}, nil
		})
	return s
}

func itself(t *testing.T, name, how string) mcp.Server {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return mcp.Server{
		Name: name, Command: []string{exe}, Environment: []string{program + "=" + how}, Timeout: 5 * time.Second,
		Timeouts: map[string]time.Duration{"hang": 200 * time.Millisecond}, MaxOutput: 10_000,
	}
}

func open(t *testing.T, servers ...mcp.Server) *mcp.Servers {
	t.Helper()
	s := mcp.Open(servers, mcp.Options{Version: "test"})
	t.Cleanup(func() { s.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	s.Ready(ctx)
	return s
}

func find(t *testing.T, s *mcp.Servers, server, name string) tool.Tool {
	t.Helper()
	for _, found := range s.Tools([]string{server}) {
		if found.Spec().Name == "mcp__"+server+"__"+name {
			return found
		}
	}
	t.Fatalf("%s has no tool %s", server, name)
	return nil
}

func call(t *testing.T, s *mcp.Servers, server, name, input string) tool.Output {
	t.Helper()
	out, err := find(t, s, server, name).Call(t.Context(), tool.Call{Input: json.RawMessage(input), ResultID: "r1"})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return out
}

// eventually calls a tool until its output contains words, or 20 s have passed.
func eventually(t *testing.T, s *mcp.Servers, server, name, words string) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		out := call(t, s, server, name, "{}")
		if strings.Contains(out.Content, words) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s never returned %q: %q", name, words, out.Content)
		}
		<-time.After(50 * time.Millisecond)
	}
}

func TestProgram(t *testing.T) {
	t.Setenv("A_SECRET_OF_THE_SERVER", "hunter2")
	s := open(t, itself(t, "one", "ordinary"))
	specs := map[string]tool.Spec{}
	for _, found := range s.Tools([]string{"one"}) {
		specs[found.Spec().Name] = found.Spec()
	}
	if r := specs["mcp__one__hello"]; !r.ReadOnly || r.Outside || !r.Pinned {
		t.Errorf("a tool that reads: %+v", r)
	}
	if w := specs["mcp__one__write"]; w.ReadOnly || !w.Outside || !strings.Contains(w.Description, "approve") {
		t.Errorf("a tool that writes: %+v", w)
	}
	for name, want := range map[string]struct {
		words  string
		failed bool
	}{
		"hello": {"Hello from ordinary", false}, "fail": {"no such ticket", true}, "hang": {"within 200ms", true},
		"big": {"bytes in all", false}, "read_resource": {"note://one", false},
	} {
		if out := call(t, s, "one", name, "{}"); !strings.Contains(out.Content, want.words) ||
			out.IsError != want.failed || len(out.Content) > 11_000 {
			t.Errorf("%s: %.200q, failed %v", name, out.Content, out.IsError)
		}
	}
	if out := call(t, s, "one", "read_resource", `{"uri":"note://one"}`); out.Content != "The note." {
		t.Errorf("a resource: %q", out.Content)
	}
	if out := call(t, s, "one", "read_resource", `{"uri":"file:///etc/passwd"}`); !out.IsError {
		t.Errorf("a resource that the server lacks: %q", out.Content)
	}
	if out := call(t, s, "one", "environment", "{}"); strings.Contains(out.Content, "hunter2") ||
		!strings.Contains(out.Content, program) {
		t.Errorf("the environment of the program: %s", out.Content)
	}
	if err := s.Validate("mcp__one__hello", []byte(`{"surprise":1}`)); err == nil {
		t.Error("an argument that the schema lacks is accepted")
	}
}

// TestRows checks that a structured result becomes rows that calculations and footnotes can use.
func TestRows(t *testing.T) {
	out := call(t, open(t, itself(t, "one", "ordinary")), "one", "rows", "{}")
	if out.Rows == nil || out.Source != "mcp:one" {
		t.Fatalf("no rows: %+v", out)
	}
	want := []footnote.Column{
		{Name: "bikes", Kind: footnote.KindInteger}, {Name: "name", Kind: footnote.KindText},
		{Name: "share", Kind: footnote.KindNumber},
	}
	if !slices.Equal(out.Rows.Columns, want) || fmt.Sprint(out.Rows.Rows) != "[[12 North 0.5] [30 South 1]]" {
		t.Errorf("rows %v of %v", out.Rows.Rows, out.Rows.Columns)
	}
	if !strings.Contains(out.Content, `"r1"`) {
		t.Errorf("the model does not read the id: %s", out.Content)
	}
}

// TestDeath checks that a server that ends during a call is a failed call, and that it is started again.
func TestDeath(t *testing.T) {
	s := open(t, itself(t, "one", "ordinary"), itself(t, "two", "other"))
	for _, how := range []string{"die", "huge"} {
		if out := call(t, s, "one", how, "{}"); !out.IsError || !strings.Contains(out.Content, "may have run") {
			t.Errorf("%s: %.300q", how, out.Content)
		}
		if out := call(t, s, "two", "hello", "{}"); out.IsError {
			t.Errorf("after %s, the other server fails: %s", how, out.Content)
		}
		eventually(t, s, "one", "hello", "Hello from ordinary")
	}
}

// TestUnusable checks that servers that never speak the protocol have no tools, and that Close ends them.
func TestUnusable(t *testing.T) {
	for _, how := range []string{"garbage", "flood"} {
		if names, _, err := mcp.Check(t.Context(), itself(t, "bad", how), mcp.Options{}); err == nil {
			t.Errorf("%s: tools %v", how, names)
		}
		s := open(t, itself(t, "bad", how))
		if tools := s.Tools([]string{"bad"}); len(tools) > 0 {
			t.Errorf("%s: %d tools", how, len(tools))
		}
		begun := time.Now()
		s.Close()
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("%s: Close took %s", how, took)
		}
	}
	missing := mcp.Server{Name: "none", Command: []string{"/no/such/program"}}
	if _, _, err := mcp.Check(t.Context(), missing, mcp.Options{}); err == nil {
		t.Error("a program that does not exist")
	}
}

// TestChange checks that a change of a tool is published, and changes its definition.
func TestChange(t *testing.T) {
	s := open(t, itself(t, "one", "ordinary"))
	before := find(t, s, "one", "hello").Spec().Description
	call(t, s, "one", "change", "{}")
	eventually(t, s, "one", "hello", "sent")
	deadline := time.Now().Add(10 * time.Second)
	for find(t, s, "one", "hello").Spec().Description == before {
		if time.Now().After(deadline) {
			t.Fatal("the change was not noticed")
		}
		<-time.After(20 * time.Millisecond)
	}
}

func TestGlobs(t *testing.T) {
	server := itself(t, "one", "ordinary")
	server.Allow, server.Deny, server.Ask = []string{"h*", "write"}, []string{"hang", "huge"}, []string{"hello"}
	s := open(t, server)
	var names []string
	for _, found := range s.Tools([]string{"one"}) {
		names = append(names, found.Spec().Name)
	}
	if want := []string{"mcp__one__hello", "mcp__one__write"}; !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
	if r := find(t, s, "one", "hello").Spec(); r.ReadOnly || !r.Outside {
		t.Errorf("a tool that needs approval: %+v", r)
	}
	if len(s.Tools([]string{"two"})) > 0 {
		t.Error("tools of a server that is not named")
	}
}

// TestHTTP checks headers, redirects and a server that goes away and returns.
func TestHTTP(t *testing.T) {
	var mu sync.Mutex
	down, seen := false, ""
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return scripted("http") }, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = r.Header.Get("Authorization")
		gone := down
		mu.Unlock()
		if gone {
			panic(http.ErrAbortHandler)
		}
		handler.ServeHTTP(w, r)
	}))
	defer web.Close()
	server := mcp.Server{
		Name: "web", URL: web.URL + "/mcp", Headers: map[string]string{"Authorization": "Bearer t"},
		Timeout: 2 * time.Second, MaxOutput: 1000,
	}
	s := open(t, server)
	defer s.Close() // before the server, which waits for its connections
	if out := call(t, s, "web", "hello", "{}"); out.Content != "Hello from http" {
		t.Errorf("%+v", out)
	}
	mu.Lock()
	if seen != "Bearer t" {
		t.Errorf("Authorization is %q", seen)
	}
	down = true
	mu.Unlock()
	if out := call(t, s, "web", "hello", "{}"); !out.IsError {
		t.Errorf("a server that is gone: %+v", out)
	}
	mu.Lock()
	down = false
	mu.Unlock()
	eventually(t, s, "web", "hello", "Hello from http")

	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the redirect was followed")
	}))
	defer elsewhere.Close()
	redirect := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer redirect.Close()
	server.URL = redirect.URL
	if _, _, err := mcp.Check(t.Context(), server, mcp.Options{}); err == nil {
		t.Error("a server that redirects is used")
	}
}
