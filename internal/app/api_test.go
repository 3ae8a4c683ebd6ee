package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/demo/demotest"
	"github.com/footnotehq/footnote/httpapi"
	"github.com/footnotehq/footnote/internal/module"
	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/internal/sandbox"
	"github.com/footnotehq/footnote/market/install"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/source/duckdb"
	"github.com/footnotehq/footnote/source/mysql/mariatest"
)

func TestMain(m *testing.M) {
	child.Main(Databases().Children())
	sandbox.Main()
	code := pgtest.Run(m)
	mariatest.Close()
	os.Exit(code)
}

// needsDuckDB skips a test in the build without DuckDB. make test runs this package once with and once without it.
func needsDuckDB(t *testing.T) {
	t.Helper()
	if !duckdb.Available {
		t.Skip("built without DuckDB; the run with it has this test")
	}
}

const (
	adasKey = "key-of-ada"
	bobsKey = "key-of-bob"
)

// rig is the whole server over the demo shop, without a model or a network.
type rig struct {
	t   *testing.T
	app *App
	api *httpapi.Server
}

// newRig starts a server over a data folder for two users of one org.
func newRig(t *testing.T, folder string, change ...func(*config.Config)) *rig {
	t.Helper()
	c := config.Default()
	c.Data, c.Upstream, c.Model = folder, config.Offline, "offline"
	c.Sources = map[string]string{"shop": demotest.Shop(t)}
	c.APIKeys = []config.Key{{Key: adasKey, Org: "acme", User: "ada"}, {Key: bobsKey, Org: "acme", User: "bob"}}
	for _, f := range change {
		f(&c)
	}
	a, err := New(t.Context(), c, Options{
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), Modules: []module.Module{install.Module()},
	})
	if err != nil {
		t.Fatal(err)
	}
	api, err := a.API()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return &rig{t, a, api}
}

func shopBytes(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile(demotest.Shop(t))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// request builds a request from ada. It encodes body as JSON unless it is nil or bytes.
func (g *rig) request(method, target string, body any) *http.Request {
	g.t.Helper()
	data, ok := body.([]byte)
	if body != nil && !ok {
		var err error
		if data, err = json.Marshal(body); err != nil {
			g.t.Fatal(err)
		}
	}
	r := httptest.NewRequestWithContext(g.t.Context(), method, target, bytes.NewReader(data))
	r.Host, r.RemoteAddr = "localhost:8787", "127.0.0.1:50000"
	r.Header.Set("Authorization", "Bearer "+adasKey)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

func (g *rig) do(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	g.api.ServeHTTP(w, r)
	return w
}

// call sends a request as ada, checks the status and decodes the answer into v.
func (g *rig) call(method, target string, body any, status int, v any) {
	g.t.Helper()
	w := g.do(g.request(method, target, body))
	if w.Code != status {
		g.t.Fatalf("%s %s: %d, want %d: %s", method, target, w.Code, status, w.Body)
	}
	if v != nil {
		if err := json.Unmarshal(w.Body.Bytes(), v); err != nil {
			g.t.Fatalf("%s %s: %v: %s", method, target, err, w.Body)
		}
	}
}

// refused sends a request and checks the status and code of its error.
func (g *rig) refused(r *http.Request, status int, code string) {
	g.t.Helper()
	w := g.do(r)
	var body struct {
		Error struct{ Code, Message string }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || w.Code != status || body.Error.Code != code ||
		body.Error.Message == "" {
		g.t.Errorf("%s %s: %d %s, want %d %s", r.Method, r.URL, w.Code, w.Body, status, code)
	}
}

// taken is the answer to an accepted turn.
type taken struct {
	Conversation, Run string
	After             int64
}

// ask opens a conversation and waits for its answer.
func (g *rig) ask(text string) string {
	g.t.Helper()
	var t taken
	g.call("POST", "/api/conversations", map[string]any{"text": text}, 202, &t)
	g.settle(t.Conversation)
	return t.Conversation
}

// settle waits until a conversation is idle and returns its events.
func (g *rig) settle(id string) []event {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), 30*time.Second)
	defer cancel()
	r := g.request("GET", "/api/conversations/"+id+"/events", nil).WithContext(ctx)
	r.Header.Set("Accept", "text/event-stream") // the stream ends with the run
	g.do(r)
	var c struct{ State string }
	if g.call("GET", "/api/conversations/"+id, nil, 200, &c); c.State != "idle" {
		g.t.Fatalf("the conversation is still %s", c.State)
	}
	return g.events(id)
}

type event struct {
	Seq  int64
	Kind string
	Run  string
	Body json.RawMessage
}

func (g *rig) events(id string) []event {
	g.t.Helper()
	w := g.do(g.request("GET", "/api/conversations/"+id+"/events", nil))
	var events []event
	for line := range strings.Lines(w.Body.String()) {
		var ev event
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			g.t.Fatalf("%v: %s", err, line)
		}
		events = append(events, ev)
	}
	return events
}

func kinds(events []event) string {
	names := make([]string, len(events))
	for i, ev := range events {
		names[i] = ev.Kind
	}
	return strings.Join(names, " ")
}

type conv struct {
	ID, Title, Assistant, State, Created, Updated string
	Sources                                       []string
	Model                                         string
	Last                                          int64
}

func TestConversations(t *testing.T) {
	g := newRig(t, t.TempDir())
	id := g.ask("How many orders are there?")
	other := g.ask("revenue by category")

	var c conv
	g.call("GET", "/api/conversations/"+id, nil, 200, &c)
	if c.Title != "How many orders are there?" || c.Assistant != "analyst" || len(c.Sources) != 1 ||
		c.Sources[0] != "shop" || c.Last == 0 || c.Model == "" {
		t.Errorf("conversation: %+v", c)
	}
	var list struct {
		Conversations []conv
		Next          string
	}
	g.call("GET", "/api/conversations", nil, 200, &list)
	if len(list.Conversations) != 2 || list.Conversations[0].ID != other {
		t.Errorf("newest first: %+v", list)
	}
	g.call("GET", "/api/conversations?limit=1", nil, 200, &list)
	first := list.Conversations[0].ID
	if list.Next == "" {
		t.Fatal("no next page")
	}
	g.call("GET", "/api/conversations?limit=1&before="+list.Next, nil, 200, &list)
	if len(list.Conversations) != 1 || list.Conversations[0].ID == first {
		t.Errorf("second page: %+v", list)
	}
	g.call("GET", "/api/conversations?q=ORDERS", nil, 200, &list)
	if len(list.Conversations) != 1 || list.Conversations[0].ID != id {
		t.Errorf("search: %+v", list)
	}
	g.call("PATCH", "/api/conversations/"+id, map[string]any{"title": " The  orders "}, 200, &c)
	if c.Title != "The orders" {
		t.Errorf("renamed: %+v", c)
	}
	for name, body := range map[string]any{
		"empty":       map[string]any{"title": " "},
		"long":        map[string]any{"title": strings.Repeat("x", 201)},
		"unknown key": map[string]any{"titel": "x"},
	} {
		t.Log(name)
		g.refused(g.request("PATCH", "/api/conversations/"+id, body), 400, "invalid_request")
	}
	g.refused(g.request("GET", "/api/conversations?limit=0", nil), 400, "invalid_request")
	g.refused(g.request("GET", "/api/conversations?before=nonsense", nil), 400, "invalid_request")

	g.call("DELETE", "/api/conversations/"+id, nil, 204, nil)
	g.refused(g.request("GET", "/api/conversations/"+id, nil), 404, "not_found")
	g.call("GET", "/api/conversations", nil, 200, &list)
	if len(list.Conversations) != 1 || list.Conversations[0].ID != other {
		t.Errorf("after the deletion: %+v", list)
	}
}

// TestForeignIsUnknown checks that every endpoint answers for someone else's data exactly as for data that does not
// exist.
func TestForeignIsUnknown(t *testing.T) {
	g := newRig(t, t.TempDir())
	id := g.ask("How many orders are there?")
	requests := []struct {
		method, target string
		body           any
	}{
		{"GET", "/api/conversations/$", nil},
		{"PATCH", "/api/conversations/$", map[string]any{"title": "x"}},
		{"DELETE", "/api/conversations/$", nil},
		{"GET", "/api/conversations/$/events", nil},
		{"GET", "/api/conversations/$/messages", nil},
		{"GET", "/api/conversations/$/export", nil},
		{"POST", "/api/conversations/$/turns", map[string]any{"text": "x"}},
		{"POST", "/api/conversations/$/stop", nil},
		{"GET", "/api/results/$.r1", nil},
		{"GET", "/api/results/$.r1?format=csv", nil},
		{"POST", "/api/feedback", map[string]any{"conversation": "$", "seq": 1, "good": true}},
		{"POST", "/api/sources/shop/query", map[string]any{"conversation": "$", "sql": "SELECT 1"}},
	}
	for _, q := range requests {
		var bodies []string
		for _, name := range []string{id, "conv_ABCDEFGHIJKLMNOPQRSTUVWXYZ"} {
			body := q.body
			if m, ok := body.(map[string]any); ok && m["conversation"] != nil {
				body = maps.Clone(m)
				body.(map[string]any)["conversation"] = name
			}
			r := g.request(q.method, strings.ReplaceAll(q.target, "$", name), body)
			r.Header.Set("Authorization", "Bearer "+bobsKey)
			r.Header.Set("X-Request-Id", "same")
			w := g.do(r)
			if w.Code != 404 {
				t.Errorf("%s %s: %d", q.method, q.target, w.Code)
			}
			bodies = append(bodies, w.Body.String())
		}
		if bodies[0] != bodies[1] {
			t.Errorf("%s %s: the answers differ: %q", q.method, q.target, bodies)
		}
	}
	g.call("GET", "/api/conversations/"+id, nil, 200, nil)
}

func TestTurnsAndStop(t *testing.T) {
	g := newRig(t, t.TempDir())
	id := g.ask("orders by status")
	before := len(g.events(id))
	var next taken
	g.call("POST", "/api/conversations/"+id+"/turns", map[string]any{
		"text": "How many customers are there?",
	}, 202, &next)
	if next.Conversation != id || next.Run == "" || next.After != int64(before) {
		t.Errorf("%+v after %d events", next, before)
	}
	// An accepted message is already stored.
	if events := g.events(id); len(events) <= before || events[before].Kind != "user_message" {
		t.Errorf("accepted, but the log ends with %s", kinds(events))
	}
	if got := kinds(g.settle(id)[before:]); !strings.HasPrefix(got,
		"user_message run_started assistant_message tool_result") || !strings.HasSuffix(got, "answered run_finished") {
		t.Error(got)
	}
	turns := "/api/conversations/" + id + "/turns"
	for name, body := range map[string]map[string]any{
		"nothing":                {},
		"two kinds":              {"text": "x", "regenerate": true},
		"no answers":             {"answers": []any{}},
		"context alone":          {"context": "x"},
		"answer without id":      {"answers": []any{map[string]any{"content": "x"}}},
		"answer without content": {"answers": []any{map[string]any{"call_id": "c"}}},
		"ragged rows": {
			"answers": []any{
				map[string]any{
					"call_id": "c",
					"columns": []any{map[string]any{"name": "a"}},
					"rows":    []any{[]any{1, 2}},
				},
			},
		},
		"a cell of its own": {
			"answers": []any{
				map[string]any{
					"call_id": "c",
					"columns": []any{map[string]any{"name": "a"}},
					"rows":    []any{[]any{[]any{}}},
				},
			},
		},
		"edit of nothing":    {"edit": map[string]any{"text": "x"}},
		"unknown key":        {"txt": "x"},
		"approval of no one": {"approvals": []any{map[string]any{"approved": true}}},
	} {
		t.Log(name)
		g.refused(g.request("POST", turns, body), 400, "invalid_request")
	}
	g.call("POST", "/api/conversations/"+id+"/stop", nil, 204, nil) // no run is active, so nothing happens
}

type result struct {
	ID, Source, SQL string
	Columns         []struct{ Name, Kind string }
	Rows            [][]any
	RowCount        int `json:"row_count"`
	Offset          int
}

func TestResultPages(t *testing.T) {
	g := newRig(t, t.TempDir())
	id := g.ask("revenue by category") + ".r1"
	var all, page result
	g.call("GET", "/api/results/"+id, nil, 200, &all)
	if all.ID != id || all.Source != "shop" || !strings.Contains(all.SQL, "SELECT") || len(all.Rows) != all.RowCount ||
		all.RowCount < 3 || len(all.Columns) != 2 {
		t.Fatalf("all rows: %+v", all)
	}
	g.call("GET", "/api/results/"+id+"?offset=1&limit=1", nil, 200, &page)
	if len(page.Rows) != 1 || page.Offset != 1 || page.Rows[0][0] != all.Rows[1][0] {
		t.Errorf("second page: %+v", page)
	}
	g.call("GET", "/api/results/"+id+"?offset=1000", nil, 200, &page)
	if page.Rows == nil || len(page.Rows) != 0 {
		t.Errorf("beyond the end: %+v", page)
	}
	for _, q := range []string{"?limit=10001", "?limit=-1", "?offset=-1", "?offset=x"} {
		g.refused(g.request("GET", "/api/results/"+id+q, nil), 400, "invalid_request")
	}
	for _, wrong := range []string{"r1", strings.TrimSuffix(id, "1") + "9", "." + id, id + "."} {
		g.refused(g.request("GET", "/api/results/"+wrong, nil), 404, "not_found")
	}
}

// TestResultViews filters, sorts and aggregates the rows of a result on the server.
func TestResultViews(t *testing.T) {
	g := newRig(t, t.TempDir())
	id := g.ask("revenue by category") + ".r1"
	type viewed struct {
		result
		Matching int
		Numbers  []int `json:"row_numbers"`
	}
	get := func(query string) (v viewed) {
		g.call("GET", "/api/results/"+id+query, nil, 200, &v)
		return v
	}
	all := get("")
	last := len(all.Rows) - 1
	if all.Numbers != nil || last < 2 {
		t.Fatalf("all rows: %+v", all)
	}
	// The rows are stored by revenue, the highest first.
	for range 2 { // the second time, the view is kept
		if v := get("?sort=revenue&limit=1"); v.Matching != last+1 || v.Numbers[0] != last || v.RowCount != last+1 ||
			fmt.Sprint(v.Rows) != fmt.Sprint(all.Rows[last:]) {
			t.Errorf("lowest revenue: %+v", v)
		}
	}
	if v := get("?sort=revenue&offset=1&limit=1"); v.Numbers[0] != last-1 || v.Offset != 1 {
		t.Errorf("second page: %+v", v)
	}
	second := url.QueryEscape(fmt.Sprint(all.Rows[1][0]))
	if v := get("?filter=category:eq:" + second); v.Matching != 1 || v.Numbers[0] != 1 {
		t.Errorf("one category: %+v", v)
	}
	if v := get("?offset=100&sort=category"); v.Rows == nil || len(v.Rows) != 0 || v.Matching != last+1 {
		t.Errorf("beyond the end: %+v", v)
	}
	v := get("?aggregate=count&aggregate=distinct:category")
	if fmt.Sprint(v.Rows) != fmt.Sprintf("[[%d %d]]", last+1, last+1) || v.Columns[1].Name != "distinct(category)" {
		t.Errorf("aggregate: %+v", v)
	}
	file := g.do(g.request("GET", "/api/results/"+id+"?sort=revenue&filter=revenue:gt:0&format=csv", nil)).Body.String()
	lines := strings.Split(file, "\r\n")
	if len(lines) != last+3 || !strings.HasPrefix(lines[1], fmt.Sprint(all.Rows[last][0])) {
		t.Errorf("file: %s", file)
	}
	for _, q := range []string{"?sort=profit", "?filter=category:like:x", "?aggregate=sum:category", "?group=profit"} {
		g.refused(g.request("GET", "/api/results/"+id+q, nil), 400, "invalid_request")
	}
}

func TestResultFiles(t *testing.T) {
	g := newRig(t, t.TempDir())
	id := g.ask("revenue by category") + ".r1"
	var all result
	g.call("GET", "/api/results/"+id, nil, 200, &all)
	for format, begin := range map[string]string{
		"csv": "category,", "json": "[\n{\"category\":", "xlsx": "PK\x03\x04", "arrow": "\xff\xff\xff\xff",
		"parquet": "PAR1",
	} {
		w := g.do(g.request("GET", "/api/results/"+id+"?format="+format, nil))
		h := w.Header()
		if w.Code != 200 || !strings.HasPrefix(w.Body.String(), begin) ||
			!strings.HasPrefix(h.Get("Content-Disposition"), "attachment; filename=conv_") ||
			h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %v %.60q", format, w.Code, h, w.Body)
		}
		if format == "csv" && strings.Count(w.Body.String(), "\r\n") != all.RowCount+1 {
			t.Errorf("csv: %s", w.Body)
		}
	}
	for name, want := range map[string]string{
		"revenue-by-month": "attachment; filename=revenue-by-month.csv",
		"%C3%BC":           "attachment; filename*=utf-8''%C3%BC.csv",
		"../a%0d%0ab":      "attachment; filename=..ab.csv", "%ff": "attachment; filename=" + id + ".csv",
		strings.Repeat("x", 200): "attachment; filename=" + strings.Repeat("x", 100) + ".csv",
	} {
		w := g.do(g.request("GET", "/api/results/"+id+"?format=csv&name="+name, nil))
		if got := w.Header().Get("Content-Disposition"); w.Code != 200 || got != want {
			t.Errorf("name %s: %d %q, want %q", name, w.Code, got, want)
		}
	}
	g.refused(g.request("GET", "/api/results/"+id+"?format=pdf", nil), 400, "invalid_request")
}

// TestPersonsQuery checks that a person's statement passes through the same gate as the agent's, and that a statement
// in a conversation is logged and has its own result.
func TestPersonsQuery(t *testing.T) {
	g := newRig(t, t.TempDir())
	type answer struct {
		Result struct {
			result
			Seq int64
			SQL string
			MS  *int64
		}
	}
	const address = "/api/sources/shop/query"
	var a answer
	g.call("POST", address, map[string]any{"sql": "SELECT count(*) AS n FROM orders"}, 200, &a)
	if a.Result.ID != "" || a.Result.RowCount != 1 || len(a.Result.Rows) != 1 || a.Result.Columns[0].Name != "n" ||
		a.Result.MS == nil {
		t.Errorf("result: %+v", a)
	}
	id := g.ask("revenue by category")
	before := len(g.events(id))
	g.call("POST", address, map[string]any{
		"sql":          "SELECT category, count(*) FROM products GROUP BY 1",
		"conversation": id,
		"replaces":     "r1",
	}, 200, &a)
	events := g.events(id)
	if len(events) != before+1 || events[before].Kind != "query_run" || events[before].Seq != a.Result.Seq ||
		!strings.Contains(string(events[before].Body), `"by":"ada"`) ||
		!strings.Contains(string(events[before].Body), `"replaces":"r1"`) {
		t.Errorf("%s: %s", kinds(events), events[len(events)-1].Body)
	}
	var stored result
	g.call("GET", "/api/results/"+a.Result.ID, nil, 200, &stored)
	if stored.SQL != a.Result.SQL || len(stored.Rows) != a.Result.RowCount || stored.Source != "shop" {
		t.Errorf("%+v is not %+v", stored, a)
	}
	for _, sql := range []string{
		"DELETE FROM orders", "SELECT 1; SELECT 2", "ATTACH 'x.db' AS x", "PRAGMA query_only=OFF",
		"SELECT nothing FROM orders", "VACUUM INTO '/tmp/x'", " ",
	} {
		g.refused(g.request("POST", address, map[string]any{"sql": sql, "conversation": id}), 400, "invalid_request")
	}
	if n := len(g.events(id)); n != before+1 {
		t.Errorf("a refused statement is in the log: %d events", n)
	}
	g.refused(g.request("POST", address, map[string]any{"sql": "SELECT 1", "replaces": "r1"}), 400, "invalid_request")
	// A query that ran in the browser sends no rows.
	var here struct{ ID string }
	ran := "/api/conversations/" + id + "/queries"
	g.call("POST", ran, map[string]any{
		"sql": "SELECT x FROM mine", "replaces": "r1", "columns": []any{map[string]any{"name": "x", "kind": "text"}},
		"row_count": 70,
	}, 200, &here)
	g.call("GET", "/api/results/"+here.ID, nil, 200, &stored)
	if stored.SQL != "SELECT x FROM mine" || stored.Source != "client" || stored.RowCount != 70 ||
		len(stored.Rows) != 0 {
		t.Errorf("stored result of the browser: %+v", stored)
	}
	for _, body := range []map[string]any{
		{"sql": "SELECT 1"},
		{
			"sql":      " ",
			"replaces": "r1",
		},
		{
			"sql":      "SELECT 1",
			"replaces": "r99",
		},
		{
			"sql":       "SELECT 1",
			"replaces":  "r1",
			"row_count": -1,
		},
		{"sql": "SELECT 1", "replaces": "r1", "rows": []any{}},
	} {
		g.refused(g.request("POST", ran, body), 400, "invalid_request")
	}
	g.refused(g.request("POST", address, map[string]any{"sql": "SELECT 1", "conversation": id, "replaces": "r99"}), 400,
		"invalid_request")
	g.refused(g.request("POST", "/api/sources/nothing/query", map[string]any{"sql": "SELECT 1"}), 404, "not_found")
	foreign := g.request("POST", address, map[string]any{"sql": "SELECT 1", "conversation": id})
	foreign.Header.Set("Authorization", "Bearer "+bobsKey)
	g.refused(foreign, 404, "not_found")
}

func TestFeedback(t *testing.T) {
	g := newRig(t, t.TempDir())
	id := g.ask("How many orders are there?")
	var answered int64
	for _, ev := range g.events(id) {
		if ev.Kind == "answered" {
			answered = ev.Seq
		}
	}
	g.call("POST", "/api/feedback", map[string]any{
		"conversation": id, "seq": answered, "good": false, "words": "Too short.",
	}, 204, nil)
	events := g.events(id)
	if last := events[len(events)-1]; last.Kind != "feedback" || !strings.Contains(string(last.Body), "Too short.") {
		t.Errorf("want feedback as the last event: %s", kinds(events))
	}
	for _, wrong := range []map[string]any{
		{
			"conversation": id,
			"seq":          answered,
		},
		{"conversation": id, "seq": 1, "good": true},
		{"conversation": id, "seq": -1, "good": true},
	} {
		g.refused(g.request("POST", "/api/feedback", wrong), 400, "invalid_request")
	}
	g.refused(g.request("POST", "/api/feedback", map[string]any{"conversation": "conv_X", "seq": 1, "good": true}), 404,
		"not_found")
}

func TestDataBrowser(t *testing.T) {
	g := newRig(t, t.TempDir())
	var sources struct{ Sources []httpapi.SourceInfo }
	g.call("GET", "/api/sources", nil, 200, &sources)
	if len(sources.Sources) != 1 || sources.Sources[0].Name != "shop" || sources.Sources[0].Engine != "sqlite" ||
		!sources.Sources[0].OK || sources.Sources[0].Tables < 4 {
		t.Errorf("sources: %+v", sources)
	}
	var schema httpapi.SourceSchema
	g.call("GET", "/api/sources/shop/schema", nil, 200, &schema)
	if schema.EditorDialect != "SQLite" {
		t.Errorf("the editor highlights %q, want SQLite", schema.EditorDialect)
	}
	found := false
	for _, table := range schema.Tables {
		for _, c := range table.Columns {
			if table.Name == "order_items" && c.Name == "order_id" {
				found = c.References != nil && c.References.Table == "orders" && c.References.Column == "id"
			}
		}
	}
	if !found {
		t.Errorf("no foreign key from order_items to orders: %+v", schema)
	}
	var samples result
	g.call("GET", "/api/sources/shop/samples?table=orders&limit=3", nil, 200, &samples)
	if len(samples.Rows) != 3 || samples.Columns[0].Name != "id" {
		t.Errorf("samples: %+v", samples)
	}
	var d httpapi.Distribution
	g.call("GET", "/api/sources/shop/distribution?table=orders&column=status", nil, 200, &d)
	sum := d.Nulls
	for _, v := range d.Values {
		sum += v.Count
	}
	if d.Type == "" || d.Distinct == nil || *d.Distinct != int64(len(d.Values)) || sum != d.Rows || d.Rows == 0 {
		t.Errorf("status: %+v", d)
	}
	g.call("GET", "/api/sources/shop/distribution?table=orders&column=total&limit=5", nil, 200, &d)
	if len(d.Min) == 0 || len(d.Max) == 0 || len(d.Avg) == 0 || len(d.Values) == 0 || len(d.Values[0].From) == 0 ||
		len(d.Values[0].To) == 0 {
		t.Errorf("total: %+v", d)
	}
	for target, want := range map[string]int{
		"/api/sources/nothing/schema": 404, "/api/sources/shop/samples": 404,
		"/api/sources/shop/samples?table=nothing":     404,
		"/api/sources/shop/distribution?table=orders": 404, "/api/sources/shop/samples?table=orders&limit=0": 400,
		"/api/suggestions?source=nothing": 404, `/api/sources/shop/samples?table=orders"--`: 404,
	} {
		g.refused(g.request("GET", target, nil), want, map[int]string{404: "not_found", 400: "invalid_request"}[want])
	}
}

// TestSuggestions checks that every suggestion has an answer with footnotes.
func TestSuggestions(t *testing.T) {
	g := newRig(t, t.TempDir())
	var s struct{ Suggestions []struct{ Text string } }
	g.call("GET", "/api/suggestions?source=shop", nil, 200, &s)
	if len(s.Suggestions) != 6 {
		t.Fatalf("suggestions: %+v", s)
	}
	for _, q := range s.Suggestions {
		events := g.settle(g.ask(q.Text))
		if got := kinds(events); !strings.Contains(got, "tool_result") || !strings.Contains(got, "answered") {
			t.Errorf("%s: %s", q.Text, got)
		}
	}
}

func TestAssistants(t *testing.T) {
	g := newRig(t, t.TempDir())
	var a struct {
		Assistants []struct {
			Name, Title, Model string
			Available          bool
			Tools              []struct{ Name, Side, Verdict string }
		}
	}
	g.call("GET", "/api/assistants", nil, 200, &a)
	if len(a.Assistants) == 0 || a.Assistants[0].Name != "analyst" || !a.Assistants[0].Available ||
		a.Assistants[0].Title == "" || len(a.Assistants[0].Tools) < 5 || a.Assistants[0].Tools[0].Verdict != "allow" {
		t.Errorf("assistants: %+v", a)
	}
}

// TestSession checks how a page signs in, and what a cookie may do.
func TestSession(t *testing.T) {
	folder := t.TempDir()
	g := newRig(t, folder)
	var about struct {
		Org, User string
		SignedIn  bool `json:"signed_in"`
		NeedsKey  bool `json:"needs_key"`
		Offline   bool
	}
	bare := func(method, target string, body any) *http.Request {
		r := g.request(method, target, body)
		r.Header.Del("Authorization")
		return r
	}
	read := func(r *http.Request) {
		t.Helper()
		w := g.do(r)
		about.SignedIn, about.User = false, ""
		if err := json.Unmarshal(w.Body.Bytes(), &about); err != nil || w.Code != 200 {
			t.Fatal(w.Code, err, w.Body)
		}
	}
	if read(bare("GET", "/api/session", nil)); about.SignedIn || !about.NeedsKey || !about.Offline || about.User != "" {
		t.Errorf("before: %+v", about)
	}
	g.refused(bare("POST", "/api/session", map[string]any{"key": "key-of-nobody"}), 401, "unauthorized")
	w := g.do(bare("POST", "/api/session", map[string]any{"key": adasKey}))
	cookies := w.Result().Cookies()
	if w.Code != 204 || len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode ||
		cookies[0].Path != "/" || strings.Contains(cookies[0].Value, "ada") {
		t.Fatalf("sign-in: %d %+v", w.Code, cookies)
	}
	with := func(r *http.Request) *http.Request { r.AddCookie(cookies[0]); return r }
	if read(with(bare("GET", "/api/session", nil))); !about.SignedIn || about.User != "ada" {
		t.Errorf("after: %+v", about)
	}
	r := with(bare("POST", "/api/conversations", map[string]any{"text": "How many orders are there?"}))
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if w := g.do(r); w.Code != 202 {
		t.Errorf("our own page: %d %s", w.Code, w.Body)
	}
	for _, site := range []string{"cross-site", "same-site"} { // another port is the same site
		r := with(bare("POST", "/api/conversations", map[string]any{"text": "How many orders are there?"}))
		r.Header.Set("Sec-Fetch-Site", site)
		g.refused(r, 403, "forbidden")
		r = bare("POST", "/api/session", map[string]any{"key": adasKey})
		r.Header.Set("Sec-Fetch-Site", site)
		g.refused(r, 403, "forbidden")
	}
	// A good cookie does not hide a wrong key.
	r = with(bare("GET", "/api/conversations", nil))
	r.Header.Set("Authorization", "Bearer key-of-nobody")
	g.refused(r, 401, "unauthorized")

	if w := g.do(with(bare("DELETE", "/api/session", nil))); w.Code != 204 || w.Result().Cookies()[0].MaxAge >= 0 {
		t.Errorf("sign-out: %d %+v", w.Code, w.Result().Cookies())
	}
	g.refused(with(bare("GET", "/api/conversations", nil)), 401, "unauthorized")
}

// TestSessionEndsWithKey checks that removing a key from the configuration ends its sessions.
func TestSessionEndsWithKey(t *testing.T) {
	folder := t.TempDir()
	g := newRig(t, folder)
	var cookie *http.Cookie
	r := g.request("POST", "/api/session", map[string]any{"key": adasKey})
	cookie = g.do(r).Result().Cookies()[0]
	if err := g.app.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, keys := range []int{2, 1} {
		g = newRig(t, folder, func(c *config.Config) { c.APIKeys = c.APIKeys[2-keys:] })
		r := g.request("GET", "/api/conversations", nil)
		r.Header.Del("Authorization")
		r.AddCookie(cookie)
		if want := map[int]int{2: 200, 1: 401}[keys]; g.do(r).Code != want {
			t.Errorf("%d keys are left: %d, want %d", keys, g.do(r).Code, want)
		}
		if err := g.app.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// ownResult is the response to a statement of a person's own.
type ownResult struct {
	Result struct {
		ID   string
		Rows [][]any
	}
}

// upload builds a request that posts a file as a form.
func (g *rig) upload(name string, data []byte) *http.Request {
	return g.sendFile("POST", "/api/sources", name, data)
}

// sendFile builds a request with a file as a form.
func (g *rig) sendFile(method, target, name string, data []byte) *http.Request {
	g.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", name)
	if err == nil {
		_, err = part.Write(data)
	}
	if err = errors.Join(err, form.Close()); err != nil {
		g.t.Fatal(err)
	}
	r := g.request(method, target, body.Bytes())
	r.Header.Set("Content-Type", form.FormDataContentType())
	return r
}

// TestUploads checks that only the owner of an uploaded file can ask about it, also after a restart.
func TestUploads(t *testing.T) {
	folder := t.TempDir()
	g := newRig(t, folder)
	w := g.do(g.upload("My shop.db", shopBytes(t)))
	var up httpapi.SourceInfo
	if err := json.Unmarshal(w.Body.Bytes(),
		&up); err != nil || w.Code != 201 || up.Engine != "sqlite" || !up.Uploaded || up.Tables < 4 ||
		!strings.HasPrefix(up.Name, "my_shop") {
		t.Fatalf("upload: %d %s", w.Code, w.Body)
	}
	ask := func() {
		t.Helper()
		var run taken
		g.call("POST", "/api/conversations", map[string]any{
			"text":    "How many orders are there?",
			"sources": []string{up.Name},
		}, 202, &run)
		if got := kinds(g.settle(run.Conversation)); !strings.HasSuffix(got, "answered run_finished") {
			t.Error(got)
		}
		var c conv
		g.call("GET", "/api/conversations/"+run.Conversation, nil, 200, &c)
		if len(c.Sources) != 1 || c.Sources[0] != up.Name {
			t.Errorf("conversation about the upload: %+v", c)
		}
	}
	ask()
	if err := g.app.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	g = newRig(t, folder)
	ask()
	var list struct{ Sources []httpapi.SourceInfo }
	g.call("GET", "/api/sources", nil, 200, &list)
	if len(list.Sources) != 2 || !list.Sources[1].Uploaded || list.Sources[1].Rows == nil {
		t.Errorf("sources: %+v", list)
	}
	for _, q := range []struct {
		method, target string
		body           any
		want           int
	}{
		{"GET", "/api/sources/" + up.Name + "/schema", nil, 404},
		{"DELETE", "/api/sources/" + up.Name, nil, 404},
		{"POST", "/api/sources/" + up.Name + "/query", map[string]any{"sql": "SELECT 1"}, 404},
		{"POST", "/api/conversations", map[string]any{"text": "x", "sources": []string{up.Name}}, 400},
		{"GET", "/api/suggestions?source=" + up.Name, nil, 404},
	} {
		r := g.request(q.method, q.target, q.body)
		r.Header.Set("Authorization", "Bearer "+bobsKey)
		if w := g.do(r); w.Code != q.want {
			t.Errorf("bob, %s %s: %d %s", q.method, q.target, w.Code, w.Body)
		}
	}
	g.refused(g.request("DELETE", "/api/sources/shop", nil), 404, "not_found") // it belongs to the operator
	g.call("DELETE", "/api/sources/"+up.Name, nil, 204, nil)
	g.refused(g.request("GET", "/api/sources/"+up.Name+"/schema", nil), 404, "not_found")
}

func TestRejectedUploads(t *testing.T) {
	g := newRig(t, t.TempDir(), func(c *config.Config) { c.UploadLimit = 1000 })
	g.refused(g.upload("a.exe", []byte("x")), 400, "invalid_request")
	g.refused(g.upload("a.db", []byte("this is no database")), 400, "invalid_request")
	g.refused(g.upload("a.db", make([]byte, 1001)), 413, "too_large")
	g.refused(g.upload("a.db", make([]byte, 200_000)), 413, "too_large")
	long := g.upload("a.db", make([]byte, 200_000))
	long.ContentLength = -1
	g.refused(long, 413, "too_large")
	g.refused(g.request("POST", "/api/sources", map[string]any{}), 400, "invalid_request")
	torn := g.upload("a.db", make([]byte, 500))
	torn.Body = io.NopCloser(io.LimitReader(torn.Body, 400))
	g.refused(torn, 400, "invalid_request")
	empty := g.upload("a.db", nil)
	empty.Body = io.NopCloser(strings.NewReader("--x--"))
	empty.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	g.refused(empty, 400, "invalid_request")
	var list struct{ Sources []httpapi.SourceInfo }
	if g.call("GET", "/api/sources", nil, 200, &list); len(list.Sources) != 1 {
		t.Errorf("something is left: %+v", list)
	}
	off := newRig(t, t.TempDir(), func(c *config.Config) { c.UploadLimit = 0 })
	off.refused(off.upload("a.csv", []byte("a,b\n1,2\n")), 403, "forbidden")
}

// TestCSVUpload checks that an uploaded CSV becomes a source if DuckDB is available, and is rejected with the reason
// otherwise.
func TestCSVUpload(t *testing.T) {
	g := newRig(t, t.TempDir())
	r := g.upload("sales.csv", []byte("city,amount\nOslo,10\nRome,32\n"))
	if !duckdb.Available {
		g.refused(r, 400, "invalid_request")
		return
	}
	w := g.do(r)
	var up httpapi.SourceInfo
	if err := json.Unmarshal(w.Body.Bytes(), &up); err != nil || w.Code != 201 || up.Engine != "duckdb" ||
		up.Rows == nil || *up.Rows != 2 {
		t.Fatalf("upload: %d %s", w.Code, w.Body)
	}
	var a struct{ Result result }
	g.call("POST", "/api/sources/"+up.Name+"/query", map[string]any{"sql": "SELECT sum(amount) FROM sales"}, 200, &a)
	if len(a.Result.Rows) != 1 || a.Result.Rows[0][0] != 42.0 && a.Result.Rows[0][0] != "42" {
		t.Errorf("answer about the upload: %+v", a)
	}
	g.refused(g.request("POST", "/api/sources/"+up.Name+"/query", map[string]any{
		"sql": "SELECT * FROM read_csv('/etc/passwd')",
	}), 400, "invalid_request")
}

// TestChangedUploads replaces an upload and appends to it. Its name stays, and older results say that it has changed.
func TestChangedUploads(t *testing.T) {
	folder := t.TempDir()
	g := newRig(t, folder)
	conversation := g.ask("How many orders are there?")
	w := g.do(g.upload("sales.csv", []byte("city,amount\nOslo,10\n")))
	if !duckdb.Available {
		t.Skip("CSV files need DuckDB")
	}
	var up httpapi.SourceInfo
	if err := json.Unmarshal(w.Body.Bytes(), &up); err != nil || w.Code != 201 {
		t.Fatal(w.Code, w.Body)
	}
	total := func(want float64) string {
		t.Helper()
		var a struct{ Result struct{ ID string } }
		g.call("POST", "/api/sources/"+up.Name+"/query", map[string]any{
			"sql": "SELECT sum(amount) AS n FROM sales", "conversation": conversation,
		}, 200, &a)
		var page struct {
			Rows    [][]float64
			Changed *time.Time `json:"source_changed"`
		}
		if g.call("GET", "/api/results/"+a.Result.ID, nil, 200, &page); page.Rows[0][0] != want || page.Changed != nil {
			t.Errorf("%+v, want %v", page, want)
		}
		return a.Result.ID
	}
	old := total(10)
	change := func(method, path, name, text string, status int, words string) {
		t.Helper()
		w := g.do(g.sendFile(method, "/api/sources/"+up.Name+path, name, []byte(text)))
		if w.Code != status || !strings.Contains(w.Body.String(), words) {
			t.Errorf("%s %s: %d %s", method, name, w.Code, w.Body)
		}
	}
	change("PUT", "", "new.csv", "city,amount\nRome,32\nOslo,1", 200, `"rows":2`)
	newer := total(33)
	change("POST", "/append", "more.csv", "city,amount\r\nOslo,7\r\n", 200, `"rows":3`)
	total(40)
	for _, id := range []string{old, newer} {
		if w := g.do(g.request("GET", "/api/results/"+id, nil)); !strings.Contains(w.Body.String(), "source_changed") {
			t.Errorf("an older result: %s", w.Body)
		}
	}
	change("POST", "/append", "x.csv", "city,total\nOslo,7\n", 400, "amount is missing; total is new")
	change("POST", "/append", "x.csv", "city,amount\nOslo,many\n", 400, "amount is VARCHAR, and was BIGINT")
	change("POST", "/append", "x.csv", "amount,city\n7,Oslo\n", 400, "The first lines of the files differ")
	change("POST", "/append", "x.db", "city,amount\nOslo,7\n", 400, "can be appended to a file of the same kind")
	change("PUT", "", "x.db", "no database", 400, "cannot be used")
	total(40)
	theirs := g.sendFile("PUT", "/api/sources/"+up.Name, "x.csv", []byte("a\n1\n"))
	theirs.Header.Set("Authorization", "Bearer "+bobsKey)
	g.refused(theirs, 404, "not_found")
	g.refused(g.sendFile("PUT", "/api/sources/shop", "x.csv", []byte("a\n1\n")), 404, "not_found")
	if err := g.app.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	g = newRig(t, folder)
	total(40)
}

// TestAddedSource adds an upload to an open conversation: the event is in the log, the next message tells the model,
// and the next question is answered from it.
func TestAddedSource(t *testing.T) {
	g := newRig(t, t.TempDir())
	id := g.ask("How many orders are there?")
	up := func(r *http.Request) string {
		var info httpapi.SourceInfo
		if w := g.do(r); json.Unmarshal(w.Body.Bytes(), &info) != nil || w.Code != 201 {
			t.Fatal(w.Code, w.Body)
		}
		return info.Name
	}
	name := up(g.upload("extra.db", shopBytes(t)))
	theirs := g.upload("theirs.db", shopBytes(t))
	theirs.Header.Set("Authorization", "Bearer "+bobsKey)
	path := "/api/conversations/" + id + "/sources"
	for _, source := range []string{"shop", "nothing", up(theirs)} {
		g.refused(g.request("POST", path, map[string]any{"source": source}), 400, "invalid_request")
	}
	foreign := g.request("POST", path, map[string]any{"source": name})
	foreign.Header.Set("Authorization", "Bearer "+bobsKey)
	g.refused(foreign, 404, "not_found")
	g.call("POST", path, map[string]any{"source": name}, 204, nil)
	g.refused(g.request("POST", path, map[string]any{"source": name}), 400, "invalid_request")
	var c conv
	if g.call("GET", "/api/conversations/"+id, nil, 200, &c); !slices.Equal(c.Sources, []string{"shop", name}) {
		t.Errorf("the sources are %v", c.Sources)
	}
	g.call("POST", "/api/conversations/"+id+"/turns",
		map[string]any{"text": "How many customers are in " + name + "?"}, 202, nil)
	var told, again string
	for _, ev := range g.settle(id) {
		var m footnote.UserMessage
		if ev.Kind == "user_message" && json.Unmarshal(ev.Body, &m) == nil {
			told = m.Context
		}
	}
	if !strings.Contains(told, "added the source "+name) || !strings.Contains(told, "<data>\ncustomers (id INTEGER") {
		t.Errorf("the model reads %q", told)
	}
	results := g.results(id)
	if last := results[len(results)-1]; last.Result == nil || last.Result.Source != name {
		t.Errorf("the answer is not from the added source: %+v", last)
	}
	g.call("POST", "/api/conversations/"+id+"/turns", map[string]any{"text": "How many orders are in shop?"}, 202, nil)
	for _, ev := range g.settle(id) {
		var m footnote.UserMessage
		if ev.Kind == "user_message" && json.Unmarshal(ev.Body, &m) == nil {
			again = m.Context
		}
	}
	if strings.Contains(again, "added the source") {
		t.Errorf("the model reads it twice: %q", again)
	}
	page := g.do(g.request("GET", "/api/conversations/"+id+"/export?format=html", nil)).Body.String()
	if !strings.Contains(page, "The source "+name+" was added.") {
		t.Error("the exported conversation does not tell")
	}
}

func TestExportAndMessages(t *testing.T) {
	g := newRig(t, t.TempDir())
	id := g.ask("revenue by category")
	w := g.do(g.request("GET", "/api/conversations/"+id+"/export?format=html", nil))
	if page := w.Body.String(); w.Code != 200 || !strings.Contains(page, `<h2 dir="auto">revenue by category</h2>`) ||
		!strings.Contains(page, `href="#r1-`) || !strings.Contains(page, "SELECT") ||
		!strings.Contains(w.Header().Get("Content-Security-Policy"), "default-src 'none'") ||
		!strings.HasPrefix(w.Header().Get("Content-Disposition"), "attachment") {
		t.Errorf("export: %d %v %s", w.Code, w.Header(), page)
	}
	g.refused(g.request("GET", "/api/conversations/"+id+"/export?format=pdf", nil), 400, "invalid_request")
	var m struct {
		Messages []struct {
			Role  string
			Parts []struct{ Type, Text string }
		}
	}
	g.call("GET", "/api/conversations/"+id+"/messages", nil, 200, &m)
	if len(m.Messages) != 2 || m.Messages[0].Role != "user" || m.Messages[0].Parts[0].Text != "revenue by category" ||
		m.Messages[1].Role != "assistant" || len(m.Messages[1].Parts) < 2 {
		t.Errorf("messages: %+v", m)
	}
}

// TestUsageEndpoint checks that usage outlives its conversation.
func TestUsageEndpoint(t *testing.T) {
	g := newRig(t, t.TempDir())
	var before, after, bobs struct {
		Used int64 `json:"used_tokens"`
		Days []struct{ Tokens int64 }
	}
	id := g.ask("revenue by category")
	used := footnote.AssistantMessage{
		Usage:  footnote.Usage{Input: 100, CacheRead: 10, CacheWrite5m: 5, Output: 7},
		Blocks: []json.RawMessage{},
	}
	var c conv
	g.call("GET", "/api/conversations/"+id, nil, 200, &c)
	if _, err := g.app.store.Append(t.Context(), footnote.Append{
		Stream: id, After: c.Last, Run: "run_x",
		Bodies: []footnote.Body{footnote.RunStarted{}, used, footnote.RunFinished{}},
	}); err != nil {
		t.Fatal(err)
	}
	g.call("GET", "/api/usage", nil, 200, &before)
	if before.Used != 122*3 || len(before.Days) != 1 || before.Days[0].Tokens != 122 {
		t.Errorf("usage: %+v", before)
	}
	g.call("DELETE", "/api/conversations/"+id, nil, 204, nil)
	if g.call("GET", "/api/usage", nil, 200, &after); after.Used != before.Used {
		t.Errorf("after the deletion: %+v", after)
	}
	r := g.request("GET", "/api/usage", nil)
	r.Header.Set("Authorization", "Bearer "+bobsKey)
	if err := json.Unmarshal(g.do(r).Body.Bytes(), &bobs); err != nil || bobs.Used != 0 {
		t.Errorf("bob: %+v, %v", bobs, err)
	}
}
