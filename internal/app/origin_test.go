package app

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/model/modeltest"
)

// TestOriginReachesPostgresLog follows one id from the client's request through the run and the model calls to
// Postgres's own log.
func TestOriginReachesPostgresLog(t *testing.T) {
	server := pgtest.New(t, "log_statement=all")
	owner := server.Database(t)
	conn, err := pgx.Connect(t.Context(), owner)
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range append([]string{
		`CREATE ROLE reader LOGIN`,
	}, append(orders, `GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader`)...) {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	address, err := url.Parse(owner)
	if err != nil {
		t.Fatal(err)
	}
	address.User = url.User("reader")
	const sql = "SELECT count(*) AS n FROM orders"
	fake := modeltest.New(modeltest.Options{Key: "test", Replies: []modeltest.Reply{
		modeltest.Use("run_query", `{"sql":"`+sql+`"}`), modeltest.Say("There are 60 orders."), modeltest.Say("Orders"),
	}})
	base := fake.Start(t)
	var mu sync.Mutex                        // guards traces until the collector is closed
	var traces struct{ body, tenant string } // what the collector gets
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		traces.body, traces.tenant = traces.body+string(body), r.Header.Get("X-Tenant")
	}))
	defer collector.Close()
	g := newRig(t, t.TempDir(), func(c *config.Config) {
		c.Upstream, c.BaseURL, c.APIKey, c.Model = config.Anthropic, base, "test", "claude-sonnet-5"
		c.Sources = map[string]string{"shop": address.String()}
		c.Traces.Endpoint, c.Traces.Headers = collector.URL, "x-tenant=acme"
	})

	r := g.request("POST", "/v1/chat/completions", map[string]any{
		"model":    "analyst",
		"messages": []map[string]string{{"role": "user", "content": "How many orders?"}},
	})
	r.Header.Set("X-Request-Id", "ticket-4711")
	r.Header.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	w := g.do(r)
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "60 orders") {
		t.Fatalf("answer: %d %s", w.Code, w.Body)
	}
	asked := fake.Requests()
	run := asked[0].Header.Get("Footnote-Run")
	if !strings.HasPrefix(run, "run_") {
		t.Fatalf("the model's server is told no run: %v", asked[0].Header)
	}
	for i, req := range asked[:2] {
		if req.Header.Get("Footnote-Run") != run || req.Header.Get("Footnote-Request") != "ticket-4711" ||
			!strings.HasPrefix(req.User, "u_") {
			t.Errorf("call %d: run %q, request %q, user %q", i, req.Header.Get("Footnote-Run"),
				req.Header.Get("Footnote-Request"), req.User)
		}
	}
	if err := g.app.traces.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	followed := map[string]string{} // span names to ids, as received by the model's server
	collector.Close()
	for sent := json.NewDecoder(strings.NewReader(traces.body)); sent.More(); {
		var request struct {
			ResourceSpans []struct {
				ScopeSpans []struct {
					Spans []struct{ TraceID, SpanID, Name string }
				}
			}
		}
		if err := sent.Decode(&request); err != nil {
			t.Fatal(err)
		}
		for _, s := range request.ResourceSpans[0].ScopeSpans[0].Spans {
			followed[s.Name] = s.SpanID
			if s.TraceID != "0af7651916cd43dd8448eb211c80319c" {
				t.Errorf("the span %s is in the trace %s", s.Name, s.TraceID)
			}
		}
	}
	if got := asked[1].Header.Get("Traceparent"); got !=
		"00-0af7651916cd43dd8448eb211c80319c-"+followed["chat claude-sonnet-5"]+"-01" ||
		followed["execute_tool run_query"] == "" || traces.tenant != "acme" {
		t.Errorf("the model's server is told %q, the collector %v, %v", got, followed, traces.tenant)
	}
	if strings.Contains(traces.body, "orders") {
		t.Error("the question reached the collector")
	}
	log := string(server.Log(0))
	mark := "/* footnote run=" + run + " request=ticket-4711 */ "
	for _, want := range []string{
		mark + sql, mark + "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY", mark + "SELECT pg_catalog.set_config(",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("Postgres has not seen %s", want)
		}
	}
	if t.Failed() {
		t.Log(regexp.MustCompile(`(?m)^.*footnote.*$`).FindAllString(log, 40))
	}
	// People see the statement as it was written.
	if text := w.Body.String(); strings.Contains(text, "/* footnote") {
		t.Error(text)
	}
	for _, res := range g.results(w.Header().Get("X-Conversation-Id")) {
		if res.Result == nil || res.Result.SQL != sql {
			t.Errorf("the stored result is %+v", res.Result)
		}
	}
}
