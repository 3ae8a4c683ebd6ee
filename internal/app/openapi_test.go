package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"gopkg.in/yaml.v3"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
)

// spec is the OpenAPI description as the server serves it.
type spec struct {
	paths   map[string]map[string]operation
	schemas map[string]any
}

type operation struct {
	Responses map[string]response `json:"responses"`
}

type response struct {
	Ref     string `json:"$ref"`
	Content map[string]struct {
		Schema any `json:"schema"`
	} `json:"content"`
}

func readSpec(t *testing.T, g *rig) spec {
	t.Helper()
	w := g.do(g.request("GET", "/api/openapi.yaml", nil))
	var tree map[string]any
	if err := yaml.Unmarshal(w.Body.Bytes(), &tree); err != nil || w.Code != 200 {
		t.Fatal(w.Code, err)
	}
	data, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		OpenAPI    string                          `json:"openapi"`
		Paths      map[string]map[string]operation `json:"paths"`
		Components struct {
			Schemas   map[string]any      `json:"schemas"`
			Responses map[string]response `json:"responses"`
		} `json:"components"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.1.") {
		t.Errorf("openapi is %q", doc.OpenAPI)
	}
	for _, methods := range doc.Paths {
		for _, op := range methods {
			for status, r := range op.Responses {
				if name, ok := strings.CutPrefix(r.Ref, "#/components/responses/"); ok {
					op.Responses[status] = doc.Components.Responses[name]
				}
			}
		}
	}
	return spec{doc.Paths, doc.Components.Schemas}
}

// check returns an error if the operation's description does not allow the answer.
func (s spec) check(r *http.Request, w *httptest.ResponseRecorder) error {
	for path, methods := range s.paths {
		if _, literal := s.paths[r.URL.Path]; !matches(path, r.URL.Path) || literal && path != r.URL.Path {
			continue
		}
		op, ok := methods[strings.ToLower(r.Method)]
		if !ok {
			return fmt.Errorf("%s has no method %s", path, r.Method)
		}
		return s.answer(op, w)
	}
	return fmt.Errorf("%s is not described", r.URL.Path)
}

var parameter = regexp.MustCompile(`\\\{[a-z]+\\\}`)

func matches(template, path string) bool {
	pattern := "^" + parameter.ReplaceAllString(regexp.QuoteMeta(template), `[^/]+`) + "$"
	return regexp.MustCompile(pattern).MatchString(path)
}

func (s spec) answer(op operation, w *httptest.ResponseRecorder) error {
	described, ok := op.Responses[fmt.Sprint(w.Code)]
	if !ok {
		if described, ok = op.Responses["default"]; !ok || w.Code < 400 {
			return fmt.Errorf("the status %d is not described", w.Code)
		}
	}
	if len(described.Content) == 0 {
		if w.Body.Len() > 0 {
			return fmt.Errorf("there is a body: %.200s", w.Body)
		}
		return nil
	}
	media, _, err := mime.ParseMediaType(w.Header().Get("Content-Type"))
	if err != nil {
		return err
	}
	content, ok := described.Content[media]
	if !ok {
		return fmt.Errorf("the type %s is not described", media)
	}
	bodies := [][]byte{w.Body.Bytes()}
	switch media {
	case "application/json":
	case "application/jsonl":
		bodies = bytes.Split(bytes.TrimSpace(w.Body.Bytes()), []byte("\n"))
	default:
		return nil
	}
	for _, body := range bodies {
		if err := s.validate(content.Schema, body); err != nil {
			return fmt.Errorf("%w: %.300s", err, body)
		}
	}
	return nil
}

func (s spec) validate(schema any, body []byte) error {
	root, err := json.Marshal(map[string]any{"allOf": []any{schema}, "$defs": s.schemas})
	if err != nil {
		return err
	}
	var parsed jsonschema.Schema
	if err := json.Unmarshal(bytes.ReplaceAll(root, []byte("#/components/schemas/"), []byte("#/$defs/")),
		&parsed); err != nil {
		return err
	}
	resolved, err := parsed.Resolve(nil)
	if err != nil {
		return err
	}
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		return err
	}
	return resolved.Validate(value)
}

// TestDescriptionIsComplete checks that the description covers every route and nothing else.
func TestDescriptionIsComplete(t *testing.T) {
	g := newRig(t, t.TempDir())
	described := map[string]string{}
	for path, methods := range readSpec(t, g).paths {
		described[path] = strings.ToUpper(strings.Join(slices.Sorted(maps.Keys(methods)), " "))
	}
	for pattern, methods := range g.api.Routes() {
		path := strings.ReplaceAll(pattern, "...}", "}")
		served := strings.Join(slices.DeleteFunc(slices.Clone(methods), func(m string) bool {
			return m == http.MethodHead
		}), " ")
		if described[path] != served {
			t.Errorf("%s takes %s; httpapi/openapi.yaml says %q", path, served, described[path])
		}
		delete(described, path)
	}
	for path := range described {
		t.Errorf("%s is described, and is not served", path)
	}
}

var aDrawing = map[string]any{"symbol": "EURUSD", "reason": "It held twice.", "drawing": map[string]any{
	"type": "horizontal_line", "symbol": "EURUSD", "timeframe": "1h", "price": 1.1, "label": "Support",
	"tags": []string{"support"}, "visibility": "all",
}}

// TestAnswersAreAsDescribed sends each request of the app's own API and compares the answer with its schema.
func TestAnswersAreAsDescribed(t *testing.T) {
	g := newRig(t, t.TempDir(), withMarket(t), func(c *config.Config) { c.APIKeys[0].Roles = []string{footnote.Admin} })
	s := readSpec(t, g)
	id := g.ask("revenue by category")
	var answered int64
	for _, ev := range g.events(id) {
		if ev.Kind == "answered" {
			answered = ev.Seq
		}
	}
	data := shopBytes(t)
	seen := map[string]bool{}
	up := g.do(g.upload("x.db", data))
	var source struct{ Name string }
	if err := json.Unmarshal(up.Body.Bytes(), &source); err != nil {
		t.Fatal(err)
	}
	type call struct {
		method, target string
		body           any
		status         int
	}
	calls := []call{
		{
			"GET", "/api/session", nil, 200,
		}, {
			"POST", "/api/session", map[string]any{"key": adasKey}, 204,
		}, {"POST", "/api/session", map[string]any{"key": "nobodys"}, 401},
		{"DELETE", "/api/session", nil, 204},
		{"GET", "/api/conversations?limit=1", nil, 200}, {"GET", "/api/conversations/" + id, nil, 200},
		{
			"PATCH", "/api/conversations/" + id, map[string]any{"title": "x"}, 200,
		}, {"GET", "/api/conversations/" + id + "/events", nil, 200},
		{
			"GET", "/api/conversations/" + id + "/events?format=jsonl", nil, 200,
		}, {"GET", "/api/conversations/" + id + "/events?view=seed", nil, 200},
		{
			"POST", "/api/chat-v2", map[string]any{"message": "Revenue by category?", "conversationId": id}, 200,
		}, {"POST", "/api/chat-v2", map[string]any{}, 400}, {"GET", "/api/conversations/" + id + "/messages", nil, 200},
		{
			"GET", "/api/conversations/" + id + "/export?format=html", nil, 200,
		}, {"POST", "/api/conversations/" + id + "/stop", nil, 204},
		{"POST", "/api/feedback", map[string]any{"conversation": id, "seq": answered, "good": true}, 204},
		{"GET", "/api/market/symbols", nil, 200}, {"GET", "/api/market/candles?symbol=EURUSD&timeframe=5m", nil, 200},
		{
			"GET", "/api/market/candles?symbol=EURUSD&timeframe=7m", nil, 400,
		}, {"GET", "/api/market/candles?symbol=NONE&timeframe=5m", nil, 404},
		{"GET", "/api/market/events?symbol=EURUSD", nil, 200},
		{
			"GET", "/api/assistants", nil, 200,
		}, {"GET", "/api/sources", nil, 200}, {"POST", "/api/sources", map[string]any{}, 400},
		{"GET", "/api/sources/shop/schema", nil, 200}, {"GET", "/api/sources/shop/samples?table=orders", nil, 200},
		{
			"GET", "/api/sources/shop/distribution?table=orders&column=status", nil, 200,
		}, {"GET", "/api/sources/shop/distribution?table=orders&column=total", nil, 200},
		{"GET", "/api/sources/shop/distribution?table=orders&column=ordered_at", nil, 200},
		{
			"POST", "/api/sources/shop/query", map[string]any{
				"sql":          "SELECT 1 AS n, NULL AS x, 'a' AS t, 0.5 AS f",
				"conversation": id,
			}, 200,
		},
		{
			"POST", "/api/conversations/" + id + "/queries", map[string]any{
				"sql": "SELECT 1 AS n", "replaces": "r1",
				"columns": []any{map[string]any{"name": "n", "kind": "integer"}}, "row_count": 1, "ms": 2,
			}, 200,
		},
		{
			"GET", "/api/suggestions?source=shop", nil, 200,
		}, {"GET", "/api/results/" + id + ".r1", nil, 200}, {"GET", "/api/results/" + id + ".r1?format=json", nil, 200},
		{
			"GET", "/api/results/" + id + ".r1?format=csv", nil, 200,
		}, {"GET", "/api/results/" + id + ".r1?format=xlsx", nil, 200},
		{"GET", "/api/results/" + id + ".r1?format=arrow", nil, 200}, {"GET", "/api/results/" + id + ".r99", nil, 404},
		{
			"GET", "/api/usage/people", nil, 200,
		}, {"GET", "/api/usage/people?format=csv", nil, 200}, {"GET", "/api/usage/people?from=2026-13-01", nil, 400},
		{"GET", "/api/usage/questions", nil, 200}, {"GET", "/api/usage/questions?before=x", nil, 400},
		{
			"GET", "/api/usage", nil, 200,
		}, {
			"GET", "/api/openapi.yaml", nil, 200,
		}, {"GET", "/healthz", nil, 200}, {"GET", "/readyz", nil, 200}, {"GET", "/metrics", nil, 200},
		{
			"POST", "/api/conversations", map[string]any{"text": "How many orders are there?"}, 202,
		}, {"POST", "/api/conversations", map[string]any{"txt": ""}, 400},
		{"POST", "/api/conversations/" + id + "/turns", map[string]any{"text": "How many customers are there?"}, 202},
		{
			"POST", "/api/drawings", aDrawing, 200,
		}, {"POST", "/api/drawings", map[string]any{"drawing": map[string]any{"type": "x"}}, 400},
		{
			"GET", "/api/drawings?symbol=EURUSD", nil, 200,
		}, {"GET", "/api/drawings", nil, 400}, {"POST", "/api/drawings/undo", map[string]any{"symbol": "EURUSD"}, 200},
		{
			"POST", "/api/drawings/undo", map[string]any{"symbol": "EURUSD"}, 409,
		}, {"POST", "/api/drawings/redo", map[string]any{"symbol": "EURUSD"}, 200},
		{"GET", "/api/drawings/export?symbol=EURUSD", nil, 200},
		{
			"POST", "/api/drawings/import", map[string]any{
				"format": "footnote-drawings-1",
				"symbol": "EURUSD",
				"drawings": []any{
					map[string]any{
						"id": "mine", "type": "horizontal_line", "symbol": "EURUSD", "timeframe": "1D", "price": 1.2,
						"visibility": []string{"1D"},
					},
				},
			}, 200,
		},
		{
			"DELETE", "/api/drawings/mine?symbol=EURUSD&base_version=1", nil, 409,
		}, {
			"DELETE", "/api/drawings/mine?symbol=EURUSD", nil, 200,
		}, {"DELETE", "/api/drawings/mine?symbol=EURUSD", nil, 404},
		{"GET", "/api/drawings/history?symbol=EURUSD", nil, 200},
		{"DELETE", "/api/sources/" + source.Name, nil, 204}, {"DELETE", "/api/conversations/" + id, nil, 204},
	}
	for _, word := range []string{"undo", "redo", "history", "export", "import"} { // these could also be ids
		calls = append(calls,
			call{"POST", "/api/drawings/import",
				map[string]any{"format": "footnote-drawings-1", "symbol": "EURUSD", "drawings": []any{
					map[string]any{
						"id": word, "type": "horizontal_line", "symbol": "EURUSD", "timeframe": "1D", "price": 1.2,
					},
				}}, 200}, call{"DELETE", "/api/drawings/" + word + "?symbol=EURUSD", nil, 200})
	}
	check := func(r *http.Request, w *httptest.ResponseRecorder, status int) {
		t.Helper()
		if err := s.check(r, w); err != nil || w.Code != status {
			t.Errorf("%s %s: %d, want %d: %v", r.Method, r.URL, w.Code, status, err)
		}
		for path := range s.paths {
			if matches(path, r.URL.Path) && status < 400 {
				seen[r.Method+" "+path] = true
			}
		}
	}
	check(g.request("POST", "/api/sources", nil), up, 201)
	for _, c := range calls {
		r := g.request(c.method, c.target, c.body)
		check(r, g.do(r), c.status)
	}
	for path, methods := range s.paths {
		if strings.HasPrefix(path, "/v1/") || strings.HasPrefix(path, "/api/a") && path != "/api/assistants" ||
			path == "/api/generate-sql" || strings.Contains(path, "/workspace") || path == "/api/drawings/stream" ||
			path == "/api/market/price" || path == "/api/chat" || strings.HasPrefix(path, "/api/chat/") {
			continue // the chat protocols, the workspaces and two streams have their own tests
		}
		for method := range methods {
			if name := strings.ToUpper(method) + " " + path; !seen[name] {
				t.Errorf("%s was not tried", name)
			}
		}
	}
}

// TestTheCheckCanFail checks that an answer that contradicts its description is noticed.
func TestTheCheckCanFail(t *testing.T) {
	g := newRig(t, t.TempDir())
	s := readSpec(t, g)
	for name, change := range map[string]func(*httptest.ResponseRecorder){
		"a key more": func(w *httptest.ResponseRecorder) {
			w.Body = bytes.NewBufferString(`{"sources":[],"more":1}`)
		},
		"a key missing":  func(w *httptest.ResponseRecorder) { w.Body = bytes.NewBufferString(`{}`) },
		"another type":   func(w *httptest.ResponseRecorder) { w.Body = bytes.NewBufferString(`{"sources":{}}`) },
		"another status": func(w *httptest.ResponseRecorder) { w.Code = 206 },
		"another media":  func(w *httptest.ResponseRecorder) { w.Header().Set("Content-Type", "text/html") },
	} {
		r := g.request("GET", "/api/sources", nil)
		w := g.do(r)
		if err := s.check(r, w); err != nil {
			t.Fatal(err)
		}
		if change(w); s.check(r, w) == nil {
			t.Errorf("%s: not noticed", name)
		}
	}
}
