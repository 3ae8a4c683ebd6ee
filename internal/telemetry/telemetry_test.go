package telemetry_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/telemetry"
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

func TestMetrics(t *testing.T) {
	m := telemetry.New(time.Second)
	telemetry.New(time.Second) // there can be two in one process
	m.RunEnded("analyst", "finished", time.Second)
	m.StepEnded("claude", footnote.Usage{
		Input: 10, Output: 5, CacheWrite5m: 1, CacheWrite1h: 2,
	}, footnote.Cost{MicroUSD: 2_000_000}, time.Second, true)
	m.ToolEnded("run_query", "ok", 20*time.Millisecond)
	m.RunEnded("analyst", "failed", 999*time.Millisecond)
	m.RunFailed(footnote.ModelUnavailable)
	m.StepFailed(footnote.RateLimited)
	m.RequestFailed("/v1/x", footnote.NotFound)
	m.Answered("/v1/x", time.Second)
	m.Answered("/v1/y", time.Second-1)
	m.ConversationGrew(3, 40)
	m.CacheLooked("run_query", "hit")
	m.CacheLooked("run_query", "miss")
	m.RequestEnded("POST /v1/x", "BREW", 418, time.Millisecond)
	m.StreamOpened("openai")
	m.StreamOpened("openai")
	m.StreamClosed("openai")
	m.Gauge("footnote_lag", "How far behind.", func() int64 { return 7 })
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
		`footnote_errors_total{code="model_unavailable",route="",where="run"} 1`,
		`footnote_errors_total{code="rate_limited",route="",where="step"} 1`,
		`footnote_errors_total{code="not_found",route="/v1/x",where="request"} 1`,
		`footnote_slow_responses_total{of="analyst",what="run"} 1`,
		`footnote_slow_responses_total{of="/v1/x",what="request"} 1`,
		`footnote_conversation_questions_sum 3`,
		`footnote_conversation_events_bucket{le="50"} 1`,
		`footnote_cache_lookups_total{outcome="hit",tool="run_query"} 1`,
		`target_info{service_name="footnote"} 1`,
		`go_goroutines `,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics do not say %s", want)
		}
	}
	if strings.Contains(text, `of="/v1/y"`) {
		t.Error("a quick operation is counted as slow")
	}
	if t.Failed() {
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "footnote") && !strings.Contains(line, "_bucket") {
				t.Log(line)
			}
		}
	}
}

// TestManyNames checks that an unlimited number of names uses limited memory, and that all are counted.
func TestManyNames(t *testing.T) {
	m := telemetry.New(0)
	for i := range 5_000 {
		m.CacheLooked(fmt.Sprint("tool", i), "hit")
		m.RunEnded("analyst", fmt.Sprint("outcome", i%7), time.Second)
	}
	text := scrape(t, m)
	for _, want := range []string{
		`footnote_runs_total{assistant="analyst",outcome="outcome6"} 714`,
		`footnote_cache_lookups_total{outcome="hit",tool="other"} 3000`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	if n := strings.Count(text, "footnote_cache_lookups_total{"); n != 2_001 {
		t.Errorf("%d tools have metrics of their own, want 2001 with the others", n)
	}
}

// BenchmarkAnswer counts everything that one answer of the OpenAI endpoint counts.
func BenchmarkAnswer(b *testing.B) {
	m := telemetry.New(0)
	b.ReportAllocs()
	for b.Loop() {
		m.StreamOpened("openai")
		m.StepEnded("claude", footnote.Usage{Input: 10, Output: 5}, footnote.Cost{MicroUSD: 2_000}, time.Second, false)
		m.RunEnded("analyst", "finished", time.Second)
		m.ConversationGrew(1, 7)
		m.StreamClosed("openai")
		m.RequestEnded("POST /v1/chat/completions", "POST", 200, time.Second)
	}
}
