package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"gopkg.in/yaml.v3"

	"github.com/footnotehq/footnote/knowledge"
)

// spec is the OpenAPI description as the server serves it.
type spec struct {
	paths   map[string]map[string]operation
	schemas map[string]any
}

type operation struct {
	Parameters []struct {
		Name     string `json:"name"`
		In       string `json:"in"`
		Required bool   `json:"required"`
		Example  any    `json:"example"`
	} `json:"parameters"`
	RequestBody struct {
		Content map[string]struct {
			Example any `json:"example"`
		} `json:"content"`
	} `json:"requestBody"`
	Responses map[string]response `json:"responses"`
	// TakesIDs lists the ids that a request may carry. If it is set, the tests send the examples of the operation.
	// Otherwise they have their own requests for it.
	TakesIDs *[]takenID `json:"x-takes-ids"`
}

// takenID is the place of a request where its client may send the id of a conversation or of a source.
type takenID struct {
	Of    string `json:"of"` // conversation or source
	In    string `json:"in"` // path, query, header or body
	Name  string `json:"name"`
	Opens bool   `json:"opens"` // an unknown id opens a conversation of the caller's own
}

// media lists the media types of an operation's body; one empty string if it takes no body.
func (o operation) media() []string {
	if len(o.RequestBody.Content) == 0 {
		return []string{""}
	}
	return slices.Sorted(maps.Keys(o.RequestBody.Content))
}

// example builds a request of ada from the examples of an operation. The places of its ids hold those of ids, by
// aConversation and anUpload. It fails the test when an example is missing.
func (g *rig) example(method, path string, op operation, media string, ids map[string]string) *http.Request {
	g.t.Helper()
	values := map[string]map[string]string{"path": {}, "query": {}, "header": {}, "body": {}}
	for _, p := range op.Parameters {
		if p.Example != nil {
			values[p.In][p.Name] = fmt.Sprint(p.Example)
		}
	}
	for _, id := range *op.TakesIDs {
		kind, ok := map[string]string{"conversation": aConversation, "source": anUpload}[id.Of]
		if !ok || values[id.In] == nil {
			g.t.Fatalf("%s %s: x-takes-ids has %+v; an id is of a conversation or source, "+
				"in the path, query, header or body", method, path, id)
		}
		values[id.In][id.Name] = ids[kind]
	}
	query := url.Values{}
	for name, value := range values["query"] {
		query.Set(name, value)
	}
	target := path
	for name, value := range values["path"] {
		target = strings.ReplaceAll(target, "{"+name+"}", url.PathEscape(value))
	}
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	for _, p := range op.Parameters {
		if _, ok := values[p.In][p.Name]; p.Required && !ok {
			g.t.Fatalf("%s %s: the parameter %s needs an example in the OpenAPI document", method, path, p.Name)
		}
	}
	r := g.request(strings.ToUpper(method), target, g.exampleBody(method+" "+path, op, media, values["body"]))
	if r.Header.Del("Content-Type"); media != "" {
		r.Header.Set("Content-Type", media)
	}
	for name, value := range values["header"] {
		r.Header.Set(name, value)
	}
	return r
}

// exampleBody returns the example of an operation's body with the given fields, or nil if it takes none.
func (g *rig) exampleBody(name string, op operation, media string, fields map[string]string) any {
	g.t.Helper()
	body := op.RequestBody.Content[media].Example
	object, isObject := body.(map[string]any)
	switch text, isText := body.(string); {
	case media == "":
	case body == nil:
		g.t.Fatalf("%s: its body in %s needs an example in the OpenAPI document", name, media)
	case isText && media != "application/json":
		body = []byte(text)
	case isObject:
		object = maps.Clone(object)
		for field, value := range fields {
			object[field] = value
		}
		return object
	}
	if len(fields) > 0 {
		g.t.Fatalf("%s: the example of its body is not an object, so it cannot have an id", name)
	}
	return body
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
		t.Fatalf("GET /api/openapi.yaml: %d, %v; the log says why", w.Code, err)
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
	for _, m := range pointer.FindAllStringSubmatch(string(data), -1) {
		_, isSchema := doc.Components.Schemas[m[2]]
		_, isResponse := doc.Components.Responses[m[2]]
		if m[1] == "schemas" && !isSchema || m[1] == "responses" && !isResponse {
			t.Errorf("the OpenAPI document has no %s", m[0])
		}
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

var pointer = regexp.MustCompile(`#/components/(\w+)/(\w+)`)

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
			t.Errorf("%s takes %s; the openapi.yaml of its protocol, or of httpapi, says %q", path, served,
				described[path])
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

// TestResponsesMatchDescription sends each request of the app's own API and compares the answer with its schema.
func TestResponsesMatchDescription(t *testing.T) {
	needsDuckDB(t)
	words := t.TempDir()
	if err := knowledge.AddFiles(words, map[string][]byte{
		"tests/one.yaml": []byte("tests: [{question: 'How many orders are there?', expect: {rows: [[1]]}}]"),
	}); err != nil {
		t.Fatal(err)
	}
	g := newRig(t, t.TempDir(), withMarket(t), admins(words))
	s := readSpec(t, g)
	draft := g.complain("How many orders are there?")
	g.as(carlasKey, "POST", "/api/proposals", in("draft", draft), 201)
	another := g.complain("How many products are there?")
	id := g.ask("revenue by category")
	var calculated ownResult
	g.call("POST", "/api/conversations/"+id+"/calculations", map[string]any{"sql": "FROM r1"}, 200, &calculated)
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
		{"GET", "/api/session", nil, 200},
		{"POST", "/api/session", map[string]any{"key": adasKey}, 204},
		{"POST", "/api/session", map[string]any{"key": "nobodys"}, 401},
		{"DELETE", "/api/session", nil, 204},
		{"GET", "/api/conversations?limit=1", nil, 200},
		{"GET", "/api/conversations/" + id, nil, 200},
		{"PATCH", "/api/conversations/" + id, map[string]any{"title": "x"}, 200},
		{"GET", "/api/conversations/" + id + "/events", nil, 200},
		{"GET", "/api/conversations/" + id + "/events?format=jsonl", nil, 200},
		{"GET", "/api/conversations/" + id + "/events?view=seed", nil, 200},
		{"POST", "/api/chat-v2", map[string]any{"message": "Revenue by category?", "conversationId": id}, 200},
		{"POST", "/api/chat-v2", map[string]any{}, 400},
		{"GET", "/api/conversations/" + id + "/messages", nil, 200},
		{"GET", "/api/conversations/" + id + "/export?format=html", nil, 200},
		{"POST", "/api/conversations/" + id + "/stop", nil, 204},
		{"POST", "/api/feedback", map[string]any{"conversation": id, "seq": answered, "good": true}, 204},
		{"GET", "/api/market/symbols", nil, 200},
		{"GET", "/api/market/candles?symbol=EURUSD&timeframe=5m", nil, 200},
		{"GET", "/api/market/candles?symbol=EURUSD&timeframe=7m", nil, 400},
		{"GET", "/api/market/candles?symbol=NONE&timeframe=5m", nil, 404},
		{"GET", "/api/market/events?symbol=EURUSD", nil, 200},
		{"GET", "/api/assistants", nil, 200},
		{"GET", "/api/sources", nil, 200},
		{"POST", "/api/sources", map[string]any{}, 400},
		{"GET", "/api/sources/shop/schema", nil, 200},
		{"GET", "/api/sources/shop/samples?table=orders", nil, 200},
		{"GET", "/api/sources/shop/distribution?table=orders&column=status", nil, 200},
		{"GET", "/api/sources/shop/distribution?table=orders&column=total", nil, 200},
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
		{"GET", "/api/suggestions?source=shop", nil, 200},
		{"GET", "/api/results/" + id + ".r1", nil, 200},
		{"GET", "/api/results/" + id + ".r1?format=json", nil, 200},
		{"GET", "/api/results/" + id + ".r1?format=csv", nil, 200},
		{"GET", "/api/results/" + id + ".r1?format=xlsx", nil, 200},
		{"GET", "/api/results/" + id + ".r1?format=arrow", nil, 200},
		{"GET", "/api/results/" + id + ".r1?format=parquet", nil, 200},
		{"GET", "/api/results/" + id + ".r99", nil, 404},
		{"POST", "/api/conversations/" + id + "/calculations", map[string]any{"sql": "FROM r1"}, 200},
		{"POST", "/api/conversations/" + id + "/calculations", map[string]any{"sql": "DELETE FROM r1"}, 400},
		{"GET", "/api/results/" + calculated.Result.ID + "/origins", nil, 200},
		{"GET", "/api/results/" + id + ".r1/origins", nil, 400},
		{"GET", "/api/results/" + id + ".r1/export?format=jsonl", nil, 200},
		{"GET", "/api/results/" + calculated.Result.ID + "/export", nil, 400},
		{"GET", "/api/inbox", nil, 200},
		{"GET", "/api/inbox?before=x", nil, 400},
		{"POST", "/api/proposals", in("draft", another, "check", true), 200},
		{"POST", "/api/proposals", in("draft", another), 201},
		{"POST", "/api/proposals", in("draft", in("name", "x")), 404},
		{"POST", "/api/proposals/2/review", in("approve", true), 403},
		{"POST", "/api/proposals/1/review", in(), 400},
		{"POST", "/api/proposals/1/review", in("approve", true), 200},
		{"GET", "/api/proposals/1/patch", nil, 200},
		{"GET", "/api/proposals/x/patch", nil, 404},
		{"GET", "/api/proposals", nil, 200},
		{"GET", "/api/usage/people", nil, 200},
		{"GET", "/api/usage/people?format=csv", nil, 200},
		{"GET", "/api/usage/people?from=2026-13-01", nil, 400},
		{"GET", "/api/usage/questions", nil, 200},
		{"GET", "/api/usage/questions?before=x", nil, 400},
		{"GET", "/api/usage", nil, 200},
		{"GET", "/api/openapi.yaml", nil, 200},
		{"GET", "/healthz", nil, 200},
		{"GET", "/readyz", nil, 200},
		{"GET", "/metrics", nil, 200},
		{"POST", "/api/conversations", map[string]any{"text": "How many orders are there?"}, 202},
		{"POST", "/api/conversations", map[string]any{"txt": ""}, 400},
		{"POST", "/api/conversations/" + id + "/turns", map[string]any{"text": "How many customers are there?"}, 202},
		{"POST", "/api/drawings", aDrawing, 200},
		{"POST", "/api/drawings", map[string]any{"drawing": map[string]any{"type": "x"}}, 400},
		{"GET", "/api/drawings?symbol=EURUSD", nil, 200},
		{"GET", "/api/drawings", nil, 400},
		{"POST", "/api/drawings/undo", map[string]any{"symbol": "EURUSD"}, 200},
		{"POST", "/api/drawings/undo", map[string]any{"symbol": "EURUSD"}, 409},
		{"POST", "/api/drawings/redo", map[string]any{"symbol": "EURUSD"}, 200},
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
		{"DELETE", "/api/drawings/mine?symbol=EURUSD&base_version=1", nil, 409},
		{"DELETE", "/api/drawings/mine?symbol=EURUSD", nil, 200},
		{"DELETE", "/api/drawings/mine?symbol=EURUSD", nil, 404},
		{"GET", "/api/drawings/history?symbol=EURUSD", nil, 200},
		{"POST", "/api/conversations/" + id + "/sources", map[string]any{"source": source.Name}, 204},
		{"DELETE", "/api/sources/" + source.Name, nil, 204},
		{"DELETE", "/api/conversations/" + id, nil, 204},
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
	put := g.sendFile("PUT", "/api/sources/"+source.Name, "x.db", data)
	check(put, g.do(put), 200)
	more := g.do(g.upload("y.csv", []byte("a,b\n1,2\n")))
	var lines struct{ Name string }
	if json.Unmarshal(more.Body.Bytes(), &lines) == nil && more.Code == 201 { // with DuckDB
		r := g.sendFile("POST", "/api/sources/"+lines.Name+"/append", "y.csv", []byte("a,b\n3,4\n"))
		check(r, g.do(r), 200)
	}
	for path, methods := range s.paths {
		for method, op := range methods {
			if op.TakesIDs != nil {
				g.tryExamples(method, path, op, map[string]string{aConversation: id, anUpload: source.Name}, check)
			}
		}
	}
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
				t.Errorf("%s was not tried; give it x-takes-ids and an example in its openapi.yaml", name)
			}
		}
	}
}

// tryExamples sends the example requests of an operation. Each must succeed, and one with another media type must not.
func (g *rig) tryExamples(method, path string, op operation, ids map[string]string,
	check func(r *http.Request, w *httptest.ResponseRecorder, status int)) {
	g.t.Helper()
	for _, media := range op.media() {
		ctx, cancel := context.WithTimeout(g.t.Context(), time.Minute)
		defer cancel()
		r := g.example(method, path, op, media, ids).WithContext(ctx)
		w := g.do(r)
		check(r, w, max(http.StatusOK, min(w.Code, 299)))
		if media != "" {
			r = g.example(method, path, op, media, ids)
			r.Header.Set("Content-Type", "application/x-unknown")
			check(r, g.do(r), http.StatusBadRequest)
		}
	}
}

// TestResponseCheckDetectsMismatch checks that a response that contradicts its description is detected.
func TestResponseCheckDetectsMismatch(t *testing.T) {
	g := newRig(t, t.TempDir())
	s := readSpec(t, g)
	for name, change := range map[string]func(*httptest.ResponseRecorder){
		"an extra key": func(w *httptest.ResponseRecorder) {
			w.Body = bytes.NewBufferString(`{"sources":[],"more":1}`)
		},
		"a missing key":  func(w *httptest.ResponseRecorder) { w.Body = bytes.NewBufferString(`{}`) },
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
