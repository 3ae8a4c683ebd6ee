//go:build conformance

package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/mcp"
)

// asClient makes this test program the client under test: it gets the address of the server as its last argument.
const asClient = "FOOTNOTE_CONFORMANCE_CLIENT"

func TestMain(m *testing.M) {
	if os.Getenv(asClient) == "" {
		os.Exit(m.Run())
	}
	if err := client(os.Args[len(os.Args)-1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// client connects like the server does, and makes the calls that the suite asks for, or else calls every tool.
func client(address string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	server := mcp.Server{Name: "suite", URL: address, Timeout: 10 * time.Second, MaxOutput: 50_000}
	var given struct {
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
		Calls        []struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"toolCalls"`
	}
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &given); err != nil {
			return fmt.Errorf("MCP_CONFORMANCE_CONTEXT: %w", err)
		}
	}
	if given.ClientSecret != "" {
		issuer, err := issuerOf(ctx, address)
		if err != nil {
			return err
		}
		server.OAuth = &mcp.OAuth{ClientID: given.ClientID, ClientSecret: given.ClientSecret, Issuer: issuer}
	}
	servers := mcp.Open([]mcp.Server{server}, mcp.Options{Version: "test"})
	defer servers.Close()
	servers.Ready(ctx)
	tools := servers.Tools([]string{"suite"})
	for _, c := range given.Calls {
		for _, t := range tools {
			if t.Spec().Name != "mcp__suite__"+c.Name {
				continue
			}
			if _, err := t.Call(ctx, tool.Call{Input: c.Arguments, ResultID: "r1"}); err != nil {
				return err
			}
		}
	}
	if len(given.Calls) > 0 {
		return nil
	}
	for _, t := range tools {
		if _, err := t.Call(ctx, tool.Call{Input: arguments(t.Spec().InputSchema), ResultID: "r1"}); err != nil {
			return err
		}
	}
	return nil
}

// arguments returns arguments that fit a simple schema.
func arguments(schema json.RawMessage) json.RawMessage {
	var s struct {
		Properties map[string]struct{ Type string }
	}
	_ = json.Unmarshal(schema, &s) // other schemas get no arguments
	values := map[string]any{}
	for name, p := range s.Properties {
		switch p.Type {
		case "number", "integer":
			values[name] = 5
		case "string":
			values[name] = "a"
		case "boolean":
			values[name] = true
		}
	}
	data, _ := json.Marshal(values) // plain values always encode
	return data
}

// TestClient runs the scenarios that a program without a person can pass; docs/mcp-servers.md lists the others with the
// reasons.
func TestClient(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(asClient, "1")
	for _, scenario := range []string{
		"initialize", "tools_call", "sse-retry", "request-metadata", "http-standard-headers", "http-custom-headers",
		"http-invalid-tool-headers", "json-schema-ref-no-deref", "auth/client-credentials-basic",
	} {
		t.Run(scenario, func(t *testing.T) {
			out := run(t, []string{"conformance", "client", "--command", exe, "--scenario", scenario})
			if !strings.Contains(out, "OVERALL: PASSED") {
				t.Error(out)
			}
		})
	}
}

// issuerOf returns the issuer that the suite's server names. A configuration has it from the operator.
func issuerOf(ctx context.Context, address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	u.Path = "/.well-known/oauth-protected-resource" + u.Path
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var metadata struct {
		Servers []string `json:"authorization_servers"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&metadata); err != nil || len(metadata.Servers) == 0 {
		return "", fmt.Errorf("the server names no issuer: %w", err)
	}
	return metadata.Servers[0], nil
}
