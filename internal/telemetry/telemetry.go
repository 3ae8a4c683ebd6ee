// Package telemetry exposes the work of the server: it counts for Prometheus, and sends traces of runs to a
// collector, with the names of OpenTelemetry's conventions for generative AI.
package telemetry

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/footnotehq/footnote"
)

// seconds are the buckets of duration histograms, from a millisecond to the longest run.
var seconds = []float64{.001, .005, .01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 240}

// lengths are the buckets of conversation histograms, in messages or events.
var lengths = []float64{1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 5000, 20_000}

// Metrics holds the metrics of one process. Its methods are safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	slowFrom time.Duration
	names    names

	runs, steps, tokens, cost, cacheLooks, cacheFailures, failures, slow, requests *prometheus.CounterVec
	runTime, stepTime, toolTime, requestTime                                       *prometheus.HistogramVec
	questions, events                                                              prometheus.Observer
	marks                                                                          *prometheus.CounterVec
	repairs, damage                                                                prometheus.Counter
	streams                                                                        *prometheus.GaugeVec
	contextFault                                                                   prometheus.Gauge
}

// New returns the metrics. Answers that take at least slow count as slow; 0 counts none.
func New(slow time.Duration) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), slowFrom: slow}
	m.registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	make := promauto.With(m.registry)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return make.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return make.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	}
	make.NewGaugeVec(prometheus.GaugeOpts{Name: "target_info", Help: "Target metadata"}, []string{"service_name"}).
		WithLabelValues("footnote").Set(1)
	m.runs = counter("footnote_runs_total", "Runs that ended, by assistant and outcome.", "assistant", "outcome")
	m.runTime = histogram("footnote_run_seconds", "How long runs took.", seconds, "assistant")
	m.steps = counter("footnote_steps_total", "Model calls, by model and whether they failed.", "model", "outcome")
	m.stepTime = histogram("footnote_step_seconds", "How long model calls took.", seconds, "model")
	m.tokens = counter("footnote_tokens_total", "Tokens, by model and kind.", "model", "kind")
	m.cost = counter("footnote_cost_usd_total", "Money spent on models, in US dollars.", "model")
	m.toolTime = histogram("footnote_tool_seconds", "How long tool calls took, by tool and outcome.", seconds,
		"tool", "outcome")
	m.cacheLooks = counter("footnote_cache_lookups_total",
		"Tool calls that could be answered from the cache, by tool and outcome: hit, shared, miss or skipped.",
		"tool", "outcome")
	m.cacheFailures = counter("footnote_cache_failures_total",
		"Failures of the cache, by operation: get, put, drop or decode.", "what")
	m.marks = counter("footnote_marks_total", "Marks that models wrote behind figures, by outcome.", "model", "outcome")
	m.repairs = counter("footnote_history_repairs_total",
		"Repairs of incomplete logs, so that a model could read them.").WithLabelValues()
	m.damage = counter("footnote_unreadable_total",
		"Events and results that are stored and cannot be read, each counted once.").WithLabelValues()
	m.failures = counter("footnote_errors_total", "Failures, by where (run, step, request) and the code of the error.",
		"where", "route", "code")
	m.slow = counter("footnote_slow_responses_total",
		"Answers that took slow_response or longer: runs, by assistant, and requests that are not streamed, by route.",
		"what", "of")
	m.questions = histogram("footnote_conversation_questions",
		"How many questions a conversation has when an answer has ended.", lengths).WithLabelValues()
	m.events = histogram("footnote_conversation_events",
		"How many events a conversation has when an answer has ended.", lengths).WithLabelValues()
	m.requests = counter("footnote_http_requests_total", "HTTP requests, by route, method and status.",
		"route", "method", "status")
	m.requestTime = histogram("footnote_http_request_seconds", "How long HTTP requests took, by route.", seconds,
		"route")
	m.streams = make.NewGaugeVec(prometheus.GaugeOpts{
		Name: "footnote_open_streams", Help: "Streams that are open now, by protocol.",
	}, []string{"door"})
	m.contextFault = make.NewGauge(prometheus.GaugeOpts{
		Name: "footnote_context_faulty", Help: "1 if the context folder is faulty, so that an older version is in use.",
	})
	return m
}

// ContextFaulty records whether the context folder is faulty.
func (m *Metrics) ContextFaulty(yes bool) {
	if m.contextFault.Set(0); yes {
		m.contextFault.Set(1)
	}
}

// Handler serves GET /metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Gauge registers a value that is read at each scrape.
func (m *Metrics) Gauge(name, help string, read func() int64) {
	promauto.With(m.registry).NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help},
		func() float64 { return float64(read()) })
}

// names bounds how many models and tools have metrics of their own: servers and clients choose the names.
type names struct {
	known sync.Map // copies of the names, by name
	count atomic.Int64
}

const maxNames = 2_000

// of returns a copy of a name, which may belong to the buffer of a request, or "other" if too many names are known.
func (n *names) of(name string) string {
	if known, ok := n.known.Load(name); ok {
		return known.(string)
	}
	if n.count.Load() >= maxNames {
		return "other"
	}
	name = strings.Clone(name)
	if _, known := n.known.LoadOrStore(name, name); !known {
		n.count.Add(1)
	}
	return name
}

// RunEnded counts a run.
func (m *Metrics) RunEnded(assistant, outcome string, d time.Duration) {
	m.runs.WithLabelValues(assistant, outcome).Inc()
	m.runTime.WithLabelValues(assistant).Observe(d.Seconds())
	m.countSlow("run", assistant, d)
}

func (m *Metrics) countSlow(what, of string, d time.Duration) {
	if m.slowFrom > 0 && d >= m.slowFrom {
		m.slow.WithLabelValues(what, of).Inc()
	}
}

// RunFailed counts why a run failed.
func (m *Metrics) RunFailed(code footnote.Code) { m.failed("run", "", code) }

// StepFailed counts why a model call failed.
func (m *Metrics) StepFailed(code footnote.Code) { m.failed("step", "", code) }

// RequestFailed counts why a request failed.
func (m *Metrics) RequestFailed(route string, code footnote.Code) { m.failed("request", route, code) }

func (m *Metrics) failed(where, route string, code footnote.Code) {
	m.failures.WithLabelValues(where, route, string(code)).Inc()
}

// ConversationGrew records the length of a conversation at the end of an answer.
func (m *Metrics) ConversationGrew(questions int, events int64) {
	m.questions.Observe(float64(questions))
	m.events.Observe(float64(events))
}

// Answered records the duration of an answer that was not streamed.
func (m *Metrics) Answered(route string, d time.Duration) { m.countSlow("request", route, d) }

// StepEnded counts a model call.
func (m *Metrics) StepEnded(model string, u footnote.Usage, c footnote.Cost, d time.Duration, failed bool) {
	model = m.names.of(model)
	outcome := "ok"
	if failed {
		outcome = "failed"
	}
	m.steps.WithLabelValues(model, outcome).Inc()
	m.stepTime.WithLabelValues(model).Observe(d.Seconds())
	m.countTokens(model, "input", u.Input)
	m.countTokens(model, "output", u.Output)
	m.countTokens(model, "cache_read", u.CacheRead)
	m.countTokens(model, "cache_write", u.CacheWrite5m+u.CacheWrite1h)
	m.cost.WithLabelValues(model).Add(max(0, c.USD()))
}

func (m *Metrics) countTokens(model, kind string, n int64) {
	if n > 0 {
		m.tokens.WithLabelValues(model, kind).Add(float64(n))
	}
}

// ToolEnded counts a tool call.
func (m *Metrics) ToolEnded(name, outcome string, d time.Duration) {
	m.toolTime.WithLabelValues(m.names.of(name), outcome).Observe(d.Seconds())
}

// CacheLooked counts the cache outcome of a tool call.
func (m *Metrics) CacheLooked(tool, outcome string) {
	m.cacheLooks.WithLabelValues(m.names.of(tool), outcome).Inc()
}

// CacheFailed counts a failure of the cache.
func (m *Metrics) CacheFailed(what string) { m.cacheFailures.WithLabelValues(what).Inc() }

// MarksChecked counts the marks of an answer that were verified, and those that were not.
func (m *Metrics) MarksChecked(model string, held, broken int) {
	m.marks.WithLabelValues(model, "verified").Add(float64(held))
	m.marks.WithLabelValues(model, "wrong").Add(float64(broken))
}

// HistoryRepaired counts repairs to the history of a conversation.
func (m *Metrics) HistoryRepaired(repairs int) { m.repairs.Add(float64(repairs)) }

// Unreadable counts stored data that cannot be read.
func (m *Metrics) Unreadable() { m.damage.Inc() }

// RequestEnded counts an HTTP request.
func (m *Metrics) RequestEnded(route, method string, status int, d time.Duration) {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodOptions:
	default:
		method = "other" // callers must not be able to create labels
	}
	m.requests.WithLabelValues(route, method, strconv.Itoa(status)).Inc()
	m.requestTime.WithLabelValues(route).Observe(d.Seconds())
}

// StreamOpened counts an open stream of an endpoint.
func (m *Metrics) StreamOpened(protocol string) { m.streams.WithLabelValues(protocol).Inc() }

// StreamClosed removes a stream from that count.
func (m *Metrics) StreamClosed(protocol string) { m.streams.WithLabelValues(protocol).Dec() }
