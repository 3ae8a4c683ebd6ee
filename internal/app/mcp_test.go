package app

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
)

// mcpReply is the answer to one message of the protocol.
type mcpReply struct {
	Result struct {
		Tools []struct {
			Name        string
			Annotations struct{ ReadOnlyHint bool }
		}
		Prompts []struct {
			Name      string
			Arguments []struct{ Name, Description string }
		}
		Messages          []struct{ Content struct{ Text string } }
		IsError           bool
		Content           []struct{ Text string }
		StructuredContent struct {
			Answer       string
			Conversation string
			Footnotes    []footnote.Cite
			ID           string
			Rows         [][]float64
			Verified     any
			Found        *bool
		}
	}
	Error struct{ Message string }
}

// mcp sends a message with a key or token.
func (g *rig) mcp(bearer, method string, params any) (*httptest.ResponseRecorder, mcpReply) {
	g.t.Helper()
	r := g.request("POST", "/mcp", map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+bearer)
	w := g.do(r)
	var reply mcpReply
	for line := range strings.Lines(w.Body.String()) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			if err := json.Unmarshal([]byte(data), &reply); err != nil {
				g.t.Fatalf("%s: %v", line, err)
			}
		}
	}
	return w, reply
}

// tool calls a tool as ada.
func (g *rig) tool(name string, arguments map[string]any) mcpReply {
	g.t.Helper()
	w, reply := g.mcp(adasKey, "tools/call", map[string]any{"name": name, "arguments": arguments})
	if w.Code != http.StatusOK || reply.Error.Message != "" {
		g.t.Fatalf("%s: %d %s", name, w.Code, w.Body)
	}
	return reply
}

// TestMCPAnswersLikeOthers checks that a question gets the same answer and footnotes by MCP and by the OpenAI API, and
// the same kinds of events in the log.
func TestMCPAnswersLikeOthers(t *testing.T) {
	const question = "How many customers are there by country?"
	g := newRig(t, t.TempDir())
	got := g.tool("ask", map[string]any{"question": question}).Result.StructuredContent
	var other struct {
		Choices   []struct{ Message struct{ Content string } }
		Footnotes struct{ Cites []footnote.Cite }
	}
	r := g.request("POST", "/v1/chat/completions", map[string]any{
		"model": "analyst", "footnotes": true, "messages": []any{map[string]any{"role": "user", "content": question}},
	})
	w := g.do(r)
	if err := json.Unmarshal(w.Body.Bytes(), &other); err != nil {
		t.Fatal(err)
	}
	want, _ := json.Marshal(other.Footnotes.Cites)
	have, _ := json.Marshal(got.Footnotes)
	if got.Answer == "" || got.Answer != other.Choices[0].Message.Content || string(have) != string(want) {
		t.Errorf("MCP: %s %s\nOpenAI: %s", got.Answer, have, w.Body)
	}
	mine, theirs := kindsIn(g, got.Conversation), kindsIn(g, w.Header().Get("X-Conversation-Id"))
	if len(mine) == 0 || !slices.Equal(mine, theirs) {
		t.Errorf("the log by MCP is %v, by OpenAI %v", mine, theirs)
	}
}

// kindsIn returns the kinds of the events of a conversation.
func kindsIn(g *rig, conversation string) (list []string) {
	g.t.Helper()
	for ev, err := range g.app.store.Events(g.t.Context(), conversation, 0) {
		if err != nil {
			g.t.Fatal(err)
		}
		kind, _, err := footnote.EncodeBody(ev.Body)
		if err != nil {
			g.t.Fatal(err)
		}
		list = append(list, kind)
	}
	return list
}

// TestMCPChart checks that a stored result can be drawn, and that a chart that does not fit it is refused.
func TestMCPChart(t *testing.T) {
	g := newRig(t, t.TempDir())
	id := g.tool("ask", map[string]any{"question": "How many customers are there by country?"}).
		Result.StructuredContent.Conversation + ".r1"
	drawn := g.tool("chart", map[string]any{
		"result": id, "type": "bar", "x": "country", "y": []string{"number_of_customers"},
	})
	if drawn.Result.IsError || !strings.Contains(drawn.Result.Content[0].Text, "Germany") {
		t.Errorf("the chart is %+v", drawn)
	}
	wrong := g.tool("chart", map[string]any{"result": id, "type": "bar", "x": "nothing"})
	if !wrong.Result.IsError {
		t.Errorf("the chart is %+v", wrong)
	}
}

// TestMCPTableTools checks that the tools of common database servers are offered only if the setting asks for them.
func TestMCPTableTools(t *testing.T) {
	names := []string{"read_query", "list_tables", "describe_table"}
	for _, on := range []bool{false, true} {
		g := newRig(t, t.TempDir(), func(c *config.Config) { c.MCP.TableTools = on })
		_, list := g.mcp(adasKey, "tools/list", map[string]any{})
		offered := map[string]bool{}
		for _, tool := range list.Result.Tools {
			offered[tool.Name] = true
		}
		for _, name := range names {
			if offered[name] != on {
				t.Errorf("table_tools is %v: the tools are %v", on, slices.Sorted(maps.Keys(offered)))
			}
		}
		if !on {
			continue
		}
		for name, arguments := range map[string]map[string]any{
			names[0]: {"query": "SELECT count(*) AS n FROM orders"}, names[1]: {}, names[2]: {"table_name": "orders"},
		} {
			if r := g.tool(name, arguments); r.Result.IsError || r.Result.Content[0].Text == "" {
				t.Errorf("%s: %+v", name, r)
			}
		}
	}
}

// TestMCPTokens checks that only a valid token of the issuer for this server gets in, and that a client without one
// learns who signs them.
func TestMCPTokens(t *testing.T) {
	folder := t.TempDir()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := json.Marshal(jose.JSONWebKeySet{
		Keys: []jose.JSONWebKey{{Key: secret.Public(), KeyID: "k1", Algorithm: "ES256"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "keys.json")
	if err := os.WriteFile(file, shown, 0o600); err != nil {
		t.Fatal(err)
	}
	const issuer, audience = "https://login.example", "https://data.example/mcp"
	g := newRig(t, folder, func(c *config.Config) {
		c.Auth.JWT = config.JWT{Issuer: issuer, Audience: audience, Keys: file}
		c.MCP.URL = audience
	})
	signer, err := jose.NewSigner(jose.SigningKey{
		Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: secret, KeyID: "k1"},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	token := func(change map[string]any) string {
		claims := map[string]any{
			"iss": issuer, "aud": audience, "exp": time.Now().Add(time.Hour).Unix(), "org": "acme", "sub": "ada",
		}
		maps.Copy(claims, change)
		text, err := jwt.Signed(signer).Claims(claims).Serialize()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	const metadata = "https://data.example/.well-known/oauth-protected-resource/mcp"
	for name, change := range map[string]map[string]any{
		"another audience": {"aud": "https://other.example/mcp"}, "another issuer": {"iss": "https://evil.example"},
		"no organisation": {"org": ""},
		"expired":         {"exp": time.Now().Add(-time.Hour).Unix()}, "no expiry": {"exp": nil},
	} {
		w, reply := g.mcp(token(change), "tools/list", map[string]any{})
		if w.Code != http.StatusUnauthorized || len(reply.Result.Tools) > 0 {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
		if got := w.Header().Get("Www-Authenticate"); !strings.Contains(got, `resource_metadata="`+metadata+`"`) {
			t.Errorf("%s: the challenge is %s", name, got)
		}
	}
	if w, reply := g.mcp(token(nil), "tools/list", map[string]any{}); w.Code != 200 || len(reply.Result.Tools) == 0 {
		t.Errorf("a valid token: %d %s", w.Code, w.Body)
	}
	id := g.tool("ask", map[string]any{"question": "How many orders are there?"}).Result.StructuredContent.Conversation
	params := map[string]any{"name": "result", "arguments": map[string]any{"id": id + ".r1"}}
	if _, r := g.mcp(token(nil), "tools/call", params); r.Result.IsError {
		t.Errorf("ada's token does not open her result: %+v", r)
	}
	if _, r := g.mcp(token(map[string]any{"org": "other"}), "tools/call", params); !r.Result.IsError {
		t.Error("a token of another organisation opens the result")
	}
	r := g.request("GET", "/.well-known/oauth-protected-resource/mcp", nil)
	r.Header.Del("Authorization")
	w := g.do(r)
	var about struct {
		Resource string
		Servers  []string `json:"authorization_servers"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &about); err != nil || about.Resource != audience ||
		!slices.Equal(about.Servers, []string{issuer}) {
		t.Errorf("the metadata is %d %s", w.Code, w.Body)
	}
	plain := newRig(t, t.TempDir())
	w = plain.do(plain.request("GET", "/.well-known/oauth-protected-resource", nil))
	if w.Code != http.StatusNotFound {
		t.Errorf("without an issuer, the metadata is %d %s", w.Code, w.Body)
	}
}

// TestMCPVerified checks that verified queries are a tool and prompts, for the people for whom they exist.
func TestMCPVerified(t *testing.T) {
	for name, c := range map[string]struct {
		header string
		exists bool
	}{
		"for everybody": {"", true}, "expired": {"-- expires: 2026-11-03\n", false},
		"of a role": {"-- roles: boss\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := verifiedFolder(t, c.header+volume)
			g := newRig(t, t.TempDir(), func(c *config.Config) { c.Context = dir })
			w, list := g.mcp(adasKey, "tools/list", map[string]any{})
			if len(list.Result.Tools) != 6 || w.Body.Len() > 8<<10 {
				t.Errorf("%d tools in %d bytes", len(list.Result.Tools), w.Body.Len())
			}
			_, prompts := g.mcp(adasKey, "prompts/list", map[string]any{})
			_, filled := g.mcp(adasKey, "prompts/get", map[string]any{
				"name": "volume", "arguments": map[string]string{"month": "March 2026"},
			})
			asked := g.tool("verified_query", map[string]any{"question": "How much was booked in March 2026?"})
			named := g.tool("verified_query", map[string]any{
				"name": "volume", "parameters": map[string]string{"month": "March 2026"},
			})
			if !c.exists {
				if len(prompts.Result.Prompts) > 0 || filled.Error.Message == "" || !named.Result.IsError ||
					asked.Result.StructuredContent.Found == nil {
					t.Errorf("a query that does not exist for ada: %+v %+v %+v %+v", prompts, filled, asked, named)
				}
				return
			}
			if p := prompts.Result.Prompts; len(p) != 1 || p[0].Name != "volume" || len(p[0].Arguments) != 1 {
				t.Errorf("the prompts are %+v", prompts)
			}
			question, _, _ := strings.Cut(filled.Result.Messages[0].Content.Text, "\n")
			if question != "Booked volume in 2026-03" {
				t.Errorf("the prompt is %q", question)
			}
			again := g.tool("verified_query", map[string]any{"question": question}).Result.StructuredContent
			a, n := asked.Result.StructuredContent, named.Result.StructuredContent
			if len(a.Rows) != 1 || a.Rows[0][0] <= 0 || a.Verified == nil || again.Verified == nil ||
				again.Rows[0][0] != a.Rows[0][0] || n.Rows[0][0] != a.Rows[0][0] || n.Verified != nil {
				t.Errorf("by its wording %+v, by its prompt %+v, by its name %+v", a, again, n)
			}
			if kinds := kindsIn(g, a.Conversation); !slices.Contains(kinds, "query_run") {
				t.Errorf("the log has %v", kinds)
			}
			for _, wrong := range []map[string]any{
				{}, {"name": "volume"}, {"name": "none"},
				{"name": "volume", "parameters": map[string]string{"month": "1'; DROP TABLE x"}},
			} {
				if r := g.tool("verified_query", wrong); !r.Result.IsError {
					t.Errorf("%v was accepted", wrong)
				}
			}
		})
	}
}
