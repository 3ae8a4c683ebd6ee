package telemetry_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/telemetry"
)

func scrape(t *testing.T, m *telemetry.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func TestWhatHappenedIsShown(t *testing.T) {
	m, err := telemetry.New()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := telemetry.New(); err != nil { // two of them in one process
		t.Fatal(err)
	}
	m.RunEnded("analyst", "finished", time.Second)
	m.StepEnded("claude", footnote.Usage{Input: 10, Output: 5, CacheWrite5m: 1, CacheWrite1h: 2}, footnote.Cost{MicroUSD: 2_000_000}, time.Second, true)
	m.ToolEnded("run_query", "ok", 20*time.Millisecond)
	m.RequestEnded("POST /v1/x", "BREW", 418, time.Millisecond)
	m.StreamOpened("openai")
	m.StreamOpened("openai")
	m.StreamClosed("openai")
	if err := m.Gauge("footnote_lag", "How far behind.", func() int64 { return 7 }); err != nil {
		t.Fatal(err)
	}
	text := scrape(t, m)
	for _, want := range []string{
		`footnote_runs_total{assistant="analyst",outcome="finished"} 1`,
		`footnote_steps_total{model="claude",outcome="failed"} 1`,
		`footnote_tokens_total{kind="input",model="claude"} 10`,
		`footnote_tokens_total{kind="cache_write",model="claude"} 3`,
		`footnote_cost_usd_total{model="claude"} 2`,
		`footnote_tool_seconds_bucket{outcome="ok",tool="run_query",le="0.05"} 1`,
		`footnote_http_requests_total{method="other",route="POST /v1/x",status="418"} 1`,
		`footnote_open_streams{door="openai"} 1`,
		`footnote_lag 7`,
		`target_info{service_name="footnote"} 1`,
		`go_goroutines `,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics do not say %s", want)
		}
	}
	if t.Failed() {
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "footnote") && !strings.Contains(line, "_bucket") {
				t.Log(line)
			}
		}
	}
	if err := m.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
