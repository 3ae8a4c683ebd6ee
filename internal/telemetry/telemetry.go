// Package telemetry exposes the work of the server: it counts for Prometheus, and sends traces of runs to a
// collector, with the names of OpenTelemetry's conventions for generative AI.
package telemetry

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/footnotehq/footnote"
)

// seconds are the buckets of duration histograms, from a millisecond to the longest run.
var seconds = []float64{.001, .005, .01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 240}

// lengths are the buckets of conversation histograms, in messages or events.
var lengths = []float64{1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 5000, 20_000}

// Metrics holds the instruments of one process. Its methods are safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	provider *sdk.MeterProvider
	meter    metric.Meter

	runs     metric.Int64Counter
	runTime  metric.Float64Histogram
	steps    metric.Int64Counter
	stepTime metric.Float64Histogram
	tokens   metric.Int64Counter
	cost     metric.Float64Counter
	toolTime metric.Float64Histogram
	requests metric.Int64Counter
	repairs  metric.Int64Counter
	damage   metric.Int64Counter
	failures metric.Int64Counter
	slow     metric.Int64Counter
	slowFrom time.Duration

	questions metric.Int64Histogram
	events    metric.Int64Histogram

	cacheLooks    metric.Int64Counter
	cacheFailures metric.Int64Counter

	requestTime metric.Float64Histogram
	streams     metric.Int64UpDownCounter

	labels labels
}

// New returns the instruments. Answers that take at least slow count as slow; 0 counts none.
func New(slow time.Duration) (*Metrics, error) {
	m := &Metrics{registry: prometheus.NewRegistry(), slowFrom: slow}
	m.registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	exporter, err := otelprom.New(otelprom.WithRegisterer(m.registry), otelprom.WithoutScopeInfo())
	if err != nil {
		return nil, fmt.Errorf("make the metrics exporter: %w", err)
	}
	m.provider = sdk.NewMeterProvider(sdk.WithReader(exporter),
		sdk.WithResource(resource.NewSchemaless(attribute.String("service.name", "footnote"))))
	m.meter = m.provider.Meter("footnote")
	b := builder{meter: m.meter}
	m.runs = b.counter("footnote_runs", "Runs that ended, by assistant and outcome.")
	m.runTime = b.histogram("footnote_run_seconds", "How long runs took.")
	m.steps = b.counter("footnote_steps", "Model calls, by model and whether they failed.")
	m.stepTime = b.histogram("footnote_step_seconds", "How long model calls took.")
	m.tokens = b.counter("footnote_tokens", "Tokens, by model and kind.")
	m.cost = b.money("footnote_cost_usd", "Money spent on models, in US dollars.")
	m.toolTime = b.histogram("footnote_tool_seconds", "How long tool calls took, by tool and outcome.")
	m.cacheLooks = b.counter("footnote_cache_lookups",
		"Tool calls that could be answered from the cache, by tool and outcome: hit, shared, miss or skipped.")
	m.cacheFailures = b.counter("footnote_cache_failures", "What the cache could not do: get, put, drop or decode.")
	m.repairs = b.counter("footnote_history_repairs",
		"What had to be made good in torn logs before a model could read them.")
	m.damage = b.counter("footnote_unreadable",
		"Events and results that are stored and cannot be read, each counted once.")
	m.failures = b.counter("footnote_errors",
		"What came to nothing, by where (run, step, request) and the code of the error.")
	m.slow = b.counter("footnote_slow_responses",
		"Answers that took slow_response or longer: runs, by assistant, and requests that are not streamed, by route.")
	m.questions = b.lengths("footnote_conversation_questions",
		"How many questions a conversation has when an answer has ended.")
	m.events = b.lengths("footnote_conversation_events", "How many events a conversation has when an answer has ended.")
	m.requests = b.counter("footnote_http_requests", "HTTP requests, by route, method and status.")
	m.requestTime = b.histogram("footnote_http_request_seconds", "How long HTTP requests took, by route.")
	m.streams = b.gauge("footnote_open_streams", "Streams that are open now, by protocol.")
	return m, b.err
}

// builder creates instruments and keeps the first error.
type builder struct {
	meter metric.Meter
	err   error
}

func (b *builder) keep(err error) {
	if b.err == nil && err != nil {
		b.err = fmt.Errorf("make a metric: %w", err)
	}
}

func (b *builder) counter(name, words string) metric.Int64Counter {
	c, err := b.meter.Int64Counter(name, metric.WithDescription(words))
	b.keep(err)
	return c
}

func (b *builder) gauge(name, words string) metric.Int64UpDownCounter {
	g, err := b.meter.Int64UpDownCounter(name, metric.WithDescription(words))
	b.keep(err)
	return g
}

func (b *builder) money(name, words string) metric.Float64Counter {
	c, err := b.meter.Float64Counter(name, metric.WithDescription(words))
	b.keep(err)
	return c
}

func (b *builder) histogram(name, words string) metric.Float64Histogram {
	h, err := b.meter.Float64Histogram(name, metric.WithDescription(words),
		metric.WithExplicitBucketBoundaries(seconds...))
	b.keep(err)
	return h
}

func (b *builder) lengths(name, words string) metric.Int64Histogram {
	h, err := b.meter.Int64Histogram(name, metric.WithDescription(words),
		metric.WithExplicitBucketBoundaries(lengths...))
	b.keep(err)
	return h
}

// Handler serves GET /metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Close ends the collection.
func (m *Metrics) Close(ctx context.Context) error { return m.provider.Shutdown(ctx) }

// Gauge registers a value that is read at each scrape.
func (m *Metrics) Gauge(name, words string, read func() int64) error {
	_, err := m.meter.Int64ObservableGauge(name, metric.WithDescription(words),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(read())
			return nil
		}))
	if err != nil {
		return fmt.Errorf("make the metric %s: %w", name, err)
	}
	return nil
}

// labels caches attribute sets: there are few of them, and building one costs more than counting.
type labels struct {
	mu    sync.RWMutex // guards below
	known map[pairs]metric.MeasurementOption
}

// pairs are the attributes of one measurement, as alternating names and values.
type pairs [6]string

const maxKnown = 4096 // the upstream names the models, so their number is unlimited

func (l *labels) of(p pairs) metric.MeasurementOption {
	l.mu.RLock()
	option := l.known[p]
	l.mu.RUnlock()
	if option != nil {
		return option
	}
	set := make([]attribute.KeyValue, 0, len(p)/2)
	for i := 0; i < len(p) && p[i] != ""; i += 2 {
		p[i+1] = strings.Clone(p[i+1]) // may belong to the buffer of an earlier request
		set = append(set, attribute.String(p[i], p[i+1]))
	}
	option = metric.WithAttributeSet(attribute.NewSet(set...))
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil || len(l.known) >= maxKnown {
		l.known = map[pairs]metric.MeasurementOption{}
	}
	l.known[p] = option
	return option
}

// RunEnded counts a run.
func (m *Metrics) RunEnded(assistant, outcome string, d time.Duration) {
	ctx := context.Background()
	m.runs.Add(ctx, 1, m.labels.of(pairs{"assistant", assistant, "outcome", outcome}))
	m.runTime.Record(ctx, d.Seconds(), m.labels.of(pairs{"assistant", assistant}))
	if m.slowFrom > 0 && d >= m.slowFrom {
		m.slow.Add(ctx, 1, m.labels.of(pairs{"what", "run", "of", assistant}))
	}
}

// RunFailed counts why a run failed.
func (m *Metrics) RunFailed(code footnote.Code) { m.failed("run", "", code) }

// StepFailed counts why a model call failed.
func (m *Metrics) StepFailed(code footnote.Code) { m.failed("step", "", code) }

// RequestFailed counts why a request failed.
func (m *Metrics) RequestFailed(route string, code footnote.Code) { m.failed("request", route, code) }

func (m *Metrics) failed(where, route string, code footnote.Code) {
	m.failures.Add(context.Background(), 1, m.labels.of(pairs{"where", where, "route", route, "code", string(code)}))
}

// ConversationGrew records the length of a conversation at the end of an answer.
func (m *Metrics) ConversationGrew(questions int, events int64) {
	ctx := context.Background()
	m.questions.Record(ctx, int64(questions))
	m.events.Record(ctx, events)
}

// Answered records the duration of an answer that was not streamed.
func (m *Metrics) Answered(route string, d time.Duration) {
	if m.slowFrom > 0 && d >= m.slowFrom {
		m.slow.Add(context.Background(), 1, m.labels.of(pairs{"what", "request", "of", route}))
	}
}

// StepEnded counts a model call.
func (m *Metrics) StepEnded(model string, u footnote.Usage, c footnote.Cost, d time.Duration, failed bool) {
	ctx := context.Background()
	outcome := "ok"
	if failed {
		outcome = "failed"
	}
	m.steps.Add(ctx, 1, m.labels.of(pairs{"model", model, "outcome", outcome}))
	m.stepTime.Record(ctx, d.Seconds(), m.labels.of(pairs{"model", model}))
	for _, t := range [...]struct {
		kind string
		n    int64
	}{
		{
			"input", u.Input,
		}, {"output", u.Output}, {"cache_read", u.CacheRead}, {"cache_write", u.CacheWrite5m + u.CacheWrite1h},
	} {
		if t.n > 0 {
			m.tokens.Add(ctx, t.n, m.labels.of(pairs{"model", model, "kind", t.kind}))
		}
	}
	m.cost.Add(ctx, c.USD(), m.labels.of(pairs{"model", model}))
}

// ToolEnded counts a tool call.
func (m *Metrics) ToolEnded(name, outcome string, d time.Duration) {
	m.toolTime.Record(context.Background(), d.Seconds(), m.labels.of(pairs{"tool", name, "outcome", outcome}))
}

// CacheLooked counts the cache outcome of a tool call.
func (m *Metrics) CacheLooked(tool, outcome string) {
	m.cacheLooks.Add(context.Background(), 1, m.labels.of(pairs{"tool", tool, "outcome", outcome}))
}

// CacheFailed counts a failure of the cache.
func (m *Metrics) CacheFailed(what string) {
	m.cacheFailures.Add(context.Background(), 1, m.labels.of(pairs{"what", what}))
}

// HistoryRepaired counts repairs to the history of a conversation.
func (m *Metrics) HistoryRepaired(repairs int) {
	m.repairs.Add(context.Background(), int64(repairs))
}

// Unreadable counts stored data that cannot be read.
func (m *Metrics) Unreadable() { m.damage.Add(context.Background(), 1) }

// RequestEnded counts an HTTP request.
func (m *Metrics) RequestEnded(route, method string, status int, d time.Duration) {
	ctx := context.Background()
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodOptions:
	default:
		method = "other" // callers must not be able to create labels
	}
	m.requests.Add(ctx, 1, m.labels.of(pairs{"route", route, "method", method, "status", strconv.Itoa(status)}))
	m.requestTime.Record(ctx, d.Seconds(), m.labels.of(pairs{"route", route}))
}

// StreamOpened counts an open stream of an endpoint.
func (m *Metrics) StreamOpened(protocol string) {
	m.streams.Add(context.Background(), 1, m.labels.of(pairs{"door", protocol}))
}

// StreamClosed removes a stream from that count.
func (m *Metrics) StreamClosed(protocol string) {
	m.streams.Add(context.Background(), -1, m.labels.of(pairs{"door", protocol}))
}
