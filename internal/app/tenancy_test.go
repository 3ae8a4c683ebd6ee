package app

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/demo/demotest"
	"github.com/footnotehq/footnote/internal/access"
	"github.com/footnotehq/footnote/store"
)

const cemsKey = "key-of-cem"

// counting counts the store calls of the endpoints.
type counting struct {
	store.Store
	calls *atomic.Int64
}

func (c counting) Get(ctx context.Context, id string) (store.Stream, error) {
	c.calls.Add(1)
	return c.Store.Get(ctx, id)
}

func (c counting) Find(ctx context.Context, org, user, kind, clientID string) (store.Stream, error) {
	c.calls.Add(1)
	return c.Store.Find(ctx, org, user, kind, clientID)
}

func (c counting) Events(ctx context.Context, stream string, after int64) iter.Seq2[footnote.Event, error] {
	c.calls.Add(1)
	return c.Store.Events(ctx, stream, after)
}

func (c counting) Blob(ctx context.Context, stream string, d footnote.Digest) ([]byte, error) {
	c.calls.Add(1)
	return c.Store.Blob(ctx, stream, d)
}

func (c counting) Delete(ctx context.Context, id string) error {
	c.calls.Add(1)
	return c.Store.Delete(ctx, id)
}

// Placeholders for the ids of a user's data in the table below.
const (
	aConversation = "CONVERSATION"
	anUpload      = "UPLOAD"
	aLine         = "DRAWING"
)

// probe is a request for another user's data.
type probe struct {
	target string // default: the path, with the placeholder of its id, and query
	query  string
	header string // carries the id of a conversation; empty: none
	body   any
	file   string // the name of a file to send instead of a body
	opens  bool   // an unknown id begins a conversation of the caller's own
	// described is an operation whose description says where it takes ids. Nil: the fields above say so.
	described *operation
}

// request builds a request of ada with the given ids.
func (p probe) request(g *rig, operation string, ids map[string]string) *http.Request {
	g.t.Helper()
	method, path, _ := strings.Cut(operation, " ")
	if p.described != nil {
		return g.example(method, path, *p.described, p.described.media()[0], ids)
	}
	fill := strings.NewReplacer(aConversation, ids[aConversation], anUpload, ids[anUpload], aLine, ids[aLine])
	var body any
	if p.body != nil {
		data, err := json.Marshal(p.body)
		if err != nil {
			g.t.Fatal(err)
		}
		body = []byte(fill.Replace(string(data)))
	}
	r := g.request(method, fill.Replace(p.targetOf(operation)), body)
	if p.file != "" {
		r = g.sendFile(method, fill.Replace(p.targetOf(operation)), p.file, []byte("a,b\n1,2\n"))
	}
	if p.header != "" {
		r.Header.Set(p.header, ids[aConversation])
	}
	return r
}

// targetOf returns the target of the probe of an operation.
func (p probe) targetOf(operation string) string {
	if p.target != "" {
		return p.target
	}
	path := strings.Fields(operation)[1]
	id := aConversation
	switch {
	case strings.HasPrefix(path, "/api/drawings/"):
		id = aLine
	case strings.HasPrefix(path, "/api/sources/"), strings.HasPrefix(path, "/v1/models/"):
		id = anUpload
	}
	return strings.NewReplacer("{id}", id, "{name}", id).Replace(path) + p.query
}

func in(fields ...any) map[string]any {
	m := map[string]any{}
	for i := 0; i < len(fields); i += 2 {
		m[fields[i].(string)] = fields[i+1]
	}
	return m
}

// probes lists a request for another user's data for every operation that takes an id, unless its description says so.
var probes = map[string]probe{
	"GET /api/conversations/{id}":          {},
	"PATCH /api/conversations/{id}":        {body: in("title", "mine")},
	"DELETE /api/conversations/{id}":       {},
	"GET /api/conversations/{id}/events":   {},
	"GET /api/conversations/{id}/messages": {},
	"GET /api/conversations/{id}/export":   {query: "?format=html"},
	"POST /api/conversations/{id}/turns":   {body: in("text", "hi")},
	"POST /api/conversations/{id}/queries": {
		body: in("sql", "SELECT 1", "replaces", "r1", "columns", []any{}, "row_count", 0, "ms", 1),
	},
	"POST /api/conversations/{id}/stop":             {},
	"POST /api/conversations/{id}/sources":          {body: in("source", "x")},
	"GET /api/conversations/{id}/workspace":         {},
	"GET /api/conversations/{id}/workspace/file":    {query: "?path=x"},
	"POST /api/conversations/{id}/workspace/revert": {body: in("path", "x")},
	"POST /api/proposals": {body: in("draft", in(
		"conversation", aConversation, "seq", 5, "name", "x", "question", "X", "source", "shop", "sql", "SELECT 1",
	))},
	"POST /api/feedback":                        {body: in("conversation", aConversation, "seq", 5, "good", true)},
	"GET /api/results/{id}":                     {query: ".r1"},
	"GET /api/results/{id}/origins":             {target: "/api/results/" + aConversation + ".r1/origins"},
	"GET /api/results/{id}/export":              {target: "/api/results/" + aConversation + ".r1/export"},
	"POST /api/conversations/{id}/calculations": {body: in("sql", "SELECT * FROM r1")},
	"DELETE /api/sources/{name}":                {},
	"PUT /api/sources/{name}":                   {file: "x.db"},
	"POST /api/sources/{name}/append":           {file: "x.csv"},
	"GET /api/sources/{name}/schema":            {},
	"GET /api/sources/{name}/samples":           {query: "?table=orders"},
	"GET /api/sources/{name}/distribution":      {query: "?table=orders&column=status"},
	"POST /api/sources/{name}/query":            {body: in("sql", "SELECT 1")},
	"POST /api/sources/{name}/query of a conversation": {
		target: "/api/sources/shop/query",
		body:   in("sql", "SELECT 1", "conversation", aConversation),
	},
	"GET /api/suggestions": {query: "?source=" + anUpload},
	"POST /api/conversations": {
		body: in("text", "How many orders are there?", "sources", []string{anUpload}),
	},
	"POST /api/generate-sql":  {body: in("question", "How many orders are there?", "source", anUpload)},
	"GET /v1/models/{id}":     {},
	"GET /api/ai/{id}":        {},
	"GET /api/ai/{id}/stream": {},
	"POST /api/ai/{id}/stop":  {},
	"GET /api/chat/{id}":      {},
	"POST /api/chat": {
		body: in("message", "hi", "symbol", "EURUSD", "timeframe", "1h", "conversationId", aConversation),
	},
	"POST /api/chat/tool-result": {
		body: in("conversationId", aConversation, "toolCallId", "t1", "result", "x"),
	},
	"DELETE /api/drawings/{id}": {query: "?symbol=EURUSD"},
	"POST /api/drawings": {
		body: in("drawing",
			in("id", aLine, "type", "horizontal_line", "symbol", "EURUSD", "timeframe", "1h", "price", 1.2)),
	},
	"POST /api/analyze/tool-result": {
		body: in("sessionId", aConversation, "tool_call_id", "t1", "result", "x"),
	},
	"GET /api/analyze": {query: "?question=hi&sessionId=" + aConversation},
	"POST /api/analyze": {
		body:  in("question", "How many orders are there?", "sessionId", aConversation),
		opens: true,
	},
	"POST /api/chat-v2": {
		body:  in("message", "How many orders are there?", "conversationId", aConversation),
		opens: true,
	},
	"POST /v1/chat/completions": {
		header: "X-Conversation-Id",
		body:   in("model", "analyst", "messages", []any{in("role", "user", "content", "How many orders are there?")}),
		opens:  true,
	},
	"POST /api/ai": {
		body: in("id", aConversation, "messages", []any{
			in("id", "m1", "role", "user", "parts", []any{in("type", "text", "text", "How many orders are there?")}),
		}),
		opens: true,
	},
}

// without lists the operations that take no id, besides those whose description says so.
var without = map[string]bool{
	"GET /api/session": true, "POST /api/session": true, "DELETE /api/session": true, "GET /api/conversations": true,
	"GET /api/assistants": true, "GET /api/sources": true,
	"POST /api/sources": true, "GET /api/usage": true, "GET /api/openapi.yaml": true, "GET /healthz": true,
	"GET /readyz": true, "GET /metrics": true, "GET /v1/models": true,
	"GET /api/chat": true, "GET /api/drawings": true, "POST /api/drawings/undo": true, "POST /api/drawings/redo": true,
	"GET /api/drawings/history": true,
	"GET /api/drawings/stream":  true, "GET /api/drawings/export": true, "POST /api/drawings/import": true,
	"GET /api/market/symbols": true, "GET /api/market/candles": true, "GET /api/market/events": true,
	"GET /api/market/price": true,
	"GET /api/proposals":    true, "POST /api/proposals/{id}/review": true, "GET /api/proposals/{id}/patch": true,
	"POST /api/analyze/schema": true, "GET /api/usage/people": true, "GET /api/usage/questions": true,
	// One drawing each, of the caller's own: the id is a word in the path.
	"DELETE /api/drawings/undo": true, "DELETE /api/drawings/redo": true, "DELETE /api/drawings/history": true,
	"DELETE /api/drawings/stream": true, "DELETE /api/drawings/export": true, "DELETE /api/drawings/import": true,
}

// TestForeignIdsDoNotExist sends ids of other users, of the same organisation or another, to every described
// endpoint. It checks that the answer equals that for an unknown id byte for byte, and needs as many store calls.
func TestForeignIdsDoNotExist(t *testing.T) {
	g := newRig(t, t.TempDir(), func(c *config.Config) {
		c.APIKeys = append(c.APIKeys, config.Key{Key: cemsKey, Org: "other", User: "cem"})
	})
	conversation := g.ask("How many orders are there?")
	var up struct{ Name string }
	if w := g.do(g.upload("mine.db", shopBytes(t))); json.Unmarshal(w.Body.Bytes(), &up) != nil || up.Name == "" {
		t.Fatal(w.Code, w.Body)
	}
	var drawn struct{ Drawing struct{ ID string } }
	g.call("POST", "/api/drawings", aDrawing, 200, &drawn)
	calls := &atomic.Int64{}
	g.app.store = counting{g.app.store, calls}
	var err error
	if g.api, err = g.app.API(); err != nil {
		t.Fatal(err)
	}
	last := func() int64 {
		head, err := g.app.store.Get(t.Context(), conversation)
		if err != nil {
			t.Fatal(err)
		}
		return head.Last
	}
	before := last()
	// Same length, so that errors quoting the ids have the same length, too.
	nobodys := map[string]string{
		aConversation: conversation[:len(conversation)-8] + "AAAAAAAA",
		anUpload:      up.Name[:len(up.Name)-4] + "zzzz",
		aLine:         drawn.Drawing.ID[:len(drawn.Drawing.ID)-4] + "zzzz",
	}
	foreign := map[string]string{aConversation: conversation, anUpload: up.Name, aLine: drawn.Drawing.ID}

	probes := maps.Clone(probes)
	for path, methods := range readSpec(t, g).paths {
		for method, op := range methods {
			name := strings.ToUpper(method) + " " + path
			_, known := probes[name]
			switch {
			case op.TakesIDs == nil && !known && !without[name]:
				t.Errorf("%s: the description does not say whether it takes an id; add x-takes-ids to its openapi.yaml", name)
			case op.TakesIDs != nil && len(*op.TakesIDs) > 0:
				probes[name] = probe{
					described: &op,
					opens:     slices.ContainsFunc(*op.TakesIDs, func(id takenID) bool { return id.Opens }),
				}
			}
		}
	}
	// Operations that open a conversation of the caller's own under the id come last.
	names := slices.SortedFunc(maps.Keys(probes), func(a, b string) int {
		if probes[a].opens != probes[b].opens {
			return map[bool]int{true: 1, false: -1}[probes[a].opens]
		}
		return strings.Compare(a, b)
	})
	for _, name := range names {
		p := probes[name]
		for _, key := range []string{bobsKey, cemsKey} {
			ask := func(ids map[string]string) (status int, body string, header http.Header, n int64) {
				r := p.request(g, name, ids)
				r.Header.Set("Authorization", "Bearer "+key)
				r.Header.Set("X-Request-Id", "r1")
				calls.Store(0)
				w := g.do(r)
				n = calls.Load()
				unfill := strings.NewReplacer(ids[aConversation], aConversation, ids[anUpload], anUpload, ids[aLine],
					aLine)
				return w.Code, unfill.Replace(w.Body.String()), w.Header(), n
			}
			status, body, header, n := ask(nobodys)
			status2, body2, header2, n2 := ask(foreign)
			if status != status2 {
				t.Errorf("%s: status %d for another user's id, %d for an unknown one: %.200s", name, status2, status,
					body2)
			}
			if p.opens {
				continue // the rest is the caller's own conversation, with its own ids
			}
			if status < 400 && status != http.StatusNoContent && body != "[]" { // a missing chat is empty
				t.Errorf("%s: %d %.200s", name, status, body)
			}
			if body != body2 || n != n2 {
				t.Errorf("%s: another user's id, after %d reads of the store:\n%s\nan unknown id, after %d:\n%s", name, n2, body2,
					n, body)
			}
			for field := range header {
				if field != "Date" && header.Get(field) != header2.Get(field) {
					t.Errorf("%s: the header %s is %q, and %q for an unknown id", name, field, header2.Get(field),
						header.Get(field))
				}
			}
		}
	}
	if got := last(); got != before {
		t.Errorf("another user's conversation went from event %d to %d", before, got)
	}
	g.call("GET", "/api/sources/"+up.Name+"/schema", nil, http.StatusOK, nil)
}

var ids = regexp.MustCompile(`(conv|run|req)_[A-Za-z0-9]+`)

// TestAccessRules checks that what the rules do not grant a user behaves as if it did not exist: when asking,
// listing, running statements, and for suggestions, results and exports.
func TestAccessRules(t *testing.T) {
	folder := t.TempDir()
	rules := []access.Rule{
		{
			Users: []string{"ada"}, Assistants: []string{"*"}, Sources: []string{"*"}, Tools: []string{"*"},
			Tiers: []string{"*"}, Models: []string{"*"},
		},
		{
			Orgs: []string{"acme"}, Assistants: []string{"analyst"}, Sources: []string{"open"},
			Tools: []string{"run_query", "list_tables"}, Models: []string{"*"},
		},
	}
	both := func(c *config.Config) {
		c.Sources["open"] = demotest.Shop(t)
		c.Sources = map[string]string{"open": c.Sources["open"], "shop": c.Sources["shop"]}
		c.Access = rules
		c.APIKeys = append(c.APIKeys, config.Key{Key: cemsKey, Org: "other", User: "cem"})
	}
	g := newRig(t, folder, both)
	as := func(key, method, target string, body any) (int, string) {
		r := g.request(method, target, body)
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header.Set("X-Request-Id", "r1")
		w := g.do(r)
		return w.Code, w.Body.String()
	}
	for key, want := range map[string][2]string{
		adasKey: {`"name":"open"`, `"name":"shop"`},
		bobsKey: {`"name":"open"`, ""},
		cemsKey: {"", ""},
	} {
		_, list := as(key, "GET", "/api/sources", nil)
		for i, name := range []string{"open", "shop"} {
			if has := strings.Contains(list, `"name":"`+name+`"`); has != (want[i] != "") {
				t.Errorf("%s: the sources are %s", key, list)
			}
		}
	}
	for _, c := range []struct {
		method, allowed, denied, none string
		body                          any
	}{
		{"GET", "/api/sources/open/schema", "/api/sources/shop/schema", "/api/sources/none/schema", nil},
		{
			"GET", "/api/sources/open/samples?table=orders", "/api/sources/shop/samples?table=orders",
			"/api/sources/none/samples?table=orders", nil,
		},
		{
			"POST", "/api/sources/open/query", "/api/sources/shop/query", "/api/sources/none/query",
			in("sql", "SELECT 1 AS n"),
		},
		{"GET", "/api/suggestions?source=open", "/api/suggestions?source=shop", "/api/suggestions?source=none", nil},
		{"GET", "/v1/models/analyst", "/v1/models/explore", "/v1/models/nothing", nil},
	} {
		if status, body := as(bobsKey, c.method, c.allowed, c.body); status != http.StatusOK {
			t.Errorf("%s: %d %s", c.allowed, status, body)
		}
		s1, b1 := as(bobsKey, c.method, c.denied, c.body)
		s2, b2 := as(bobsKey, c.method, c.none, c.body)
		b1 = strings.NewReplacer("shop", "none", "explore", "nothing").Replace(b1)
		if s1 != http.StatusNotFound || s1 != s2 || b1 != b2 {
			t.Errorf("%s: %d %s; of nothing %d %s", c.denied, s1, b1, s2, b2)
		}
	}
	ask := func(key string, more ...any) (int, string) {
		status, body := as(key, "POST", "/api/conversations",
			in(append([]any{"text", "How many orders are there?"}, more...)...))
		var out struct{ Conversation string }
		_ = json.Unmarshal([]byte(body), &out)
		if out.Conversation != "" {
			g.settleAs(key, out.Conversation)
		}
		return status, body
	}
	for _, c := range []struct {
		what   string
		key    string
		more   []any
		status int
	}{
		{"the open source", bobsKey, nil, 202},
		{"by name", bobsKey, in2("sources", []string{"open"}), 202},
		{"a closed source", bobsKey, in2("sources", []string{"shop"}), 400},
		{"another assistant", bobsKey, in2("assistant", "explore"), 404},
		{"a tier", bobsKey, in2("tier", "low"), 400},
		{"nothing is allowed", cemsKey, nil, 404},
		{"everything is", adasKey, in2("sources", []string{"shop"}), 202},
	} {
		if status, body := ask(c.key, c.more...); status != c.status {
			t.Errorf("%s: %d %s", c.what, status, body)
		}
	}
	_, denied := ask(bobsKey, "sources", []string{"shop"})
	if _, none := ask(bobsKey, "sources", []string{"none"}); strings.ReplaceAll(denied, "shop", "none") != none {
		t.Errorf("a closed source: %s; one that is not there: %s", denied, none)
	}
	if status, body := as(cemsKey, "GET", "/api/assistants", nil); status != 200 ||
		!strings.Contains(body, `"assistants":[]`) {
		t.Errorf("cem's assistants: %s", body)
	}
	_, assistants := as(bobsKey, "GET", "/api/assistants", nil)
	if strings.Contains(assistants, "explore") || strings.Contains(assistants, "column_distribution") ||
		!strings.Contains(assistants, "run_query") {
		t.Errorf("bob's assistants: %s", assistants)
	}

	// A conversation over a source disappears while its user may not use the source.
	_, body := ask(adasKey, "sources", []string{"shop"})
	id := ids.FindString(body)
	rules[0].Sources = []string{"open"}
	for _, target := range []string{"", "/events", "/messages", "/export?format=html"} {
		if status, body := as(adasKey, "GET", "/api/conversations/"+id+target, nil); status != http.StatusNotFound {
			t.Errorf("%s of a conversation over a closed source: %d %s", target, status, body)
		}
	}
	for name, got := range map[string]int{
		"its result": first(as(adasKey, "GET", "/api/results/"+id+".r1", nil)),
		"a turn":     first(as(adasKey, "POST", "/api/conversations/"+id+"/turns", in("text", "And now?"))),
	} {
		if got != http.StatusNotFound {
			t.Errorf("%s: %d", name, got)
		}
	}
	if _, list := as(adasKey, "GET", "/api/conversations", nil); strings.Contains(list, id) {
		t.Errorf("it is listed: %s", list)
	}
	rules[0].Sources = []string{"*"}
	if status, _ := as(adasKey, "GET", "/api/conversations/"+id, nil); status != http.StatusOK {
		t.Errorf("allowed again: %d", status)
	}
}

func in2(fields ...any) []any { return fields }

func first(status int, _ string) int { return status }

// settleAs waits until the run of a conversation has ended.
func (g *rig) settleAs(key, id string) {
	g.t.Helper()
	r := g.request("GET", "/api/conversations/"+id+"/events", nil)
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Accept", "text/event-stream")
	g.do(r)
}
