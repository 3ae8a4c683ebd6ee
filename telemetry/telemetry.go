// Package telemetry counts what the server does and shows it to Prometheus,
// through OpenTelemetry.
package telemetry

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
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

// seconds are the bounds of histograms of time, from a millisecond to the longest
// run.
var seconds = []float64{.001, .005, .01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 240}

// Metrics are the instruments of one process. Its methods may be called from
// several goroutines.
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

	cacheLooks    metric.Int64Counter
	cacheFailures metric.Int64Counter

	requestTime metric.Float64Histogram
	streams     metric.Int64UpDownCounter
}

// New makes the instruments.
func New() (*Metrics, error) {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
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
	m.cacheLooks = b.counter("footnote_cache_lookups", "Tool calls that could be answered from the cache, by tool and outcome: hit, shared, miss or skipped.")
	m.cacheFailures = b.counter("footnote_cache_failures", "What the cache could not do: get, put, drop or decode.")
	m.repairs = b.counter("footnote_history_repairs", "What had to be made good in torn logs before a model could read them.")
	m.requests = b.counter("footnote_http_requests", "HTTP requests, by route, method and status.")
	m.requestTime = b.histogram("footnote_http_request_seconds", "How long HTTP requests took, by route.")
	m.streams = b.gauge("footnote_open_streams", "Streams that are open now, by door.")
	return m, b.err
}

// builder makes instruments and keeps the first error.
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
	h, err := b.meter.Float64Histogram(name, metric.WithDescription(words), metric.WithExplicitBucketBoundaries(seconds...))
	b.keep(err)
	return h
}

// Handler serves GET /metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Close ends the collection.
func (m *Metrics) Close(ctx context.Context) error { return m.provider.Shutdown(ctx) }

// Gauge shows a value that is read when somebody looks.
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

func attrs(kv ...string) metric.MeasurementOption {
	set := make([]attribute.KeyValue, 0, len(kv)/2)
	for i := 0; i+1 < len(kv); i += 2 {
		set = append(set, attribute.String(kv[i], kv[i+1]))
	}
	return metric.WithAttributeSet(attribute.NewSet(set...))
}

// RunEnded counts a run.
func (m *Metrics) RunEnded(assistant, outcome string, d time.Duration) {
	ctx := context.Background()
	m.runs.Add(ctx, 1, attrs("assistant", assistant, "outcome", outcome))
	m.runTime.Record(ctx, d.Seconds(), attrs("assistant", assistant))
}

// StepEnded counts a model call.
func (m *Metrics) StepEnded(model string, u footnote.Usage, c footnote.Cost, d time.Duration, failed bool) {
	ctx := context.Background()
	outcome := "ok"
	if failed {
		outcome = "failed"
	}
	m.steps.Add(ctx, 1, attrs("model", model, "outcome", outcome))
	m.stepTime.Record(ctx, d.Seconds(), attrs("model", model))
	for kind, n := range map[string]int64{
		"input": u.Input, "output": u.Output, "cache_read": u.CacheRead, "cache_write": u.CacheWrite5m + u.CacheWrite1h,
	} {
		if n > 0 {
			m.tokens.Add(ctx, n, attrs("model", model, "kind", kind))
		}
	}
	m.cost.Add(ctx, c.USD(), attrs("model", model))
}

// ToolEnded counts a tool call.
func (m *Metrics) ToolEnded(name, outcome string, d time.Duration) {
	m.toolTime.Record(context.Background(), d.Seconds(), attrs("tool", name, "outcome", outcome))
}

// CacheLooked counts what the cache had for a tool call.
func (m *Metrics) CacheLooked(tool, outcome string) {
	m.cacheLooks.Add(context.Background(), 1, attrs("tool", tool, "outcome", outcome))
}

// CacheFailed counts a failure of the cache.
func (m *Metrics) CacheFailed(what string) {
	m.cacheFailures.Add(context.Background(), 1, attrs("what", what))
}

// HistoryRepaired counts what had to be made good in the log of a conversation.
func (m *Metrics) HistoryRepaired(repairs int) {
	m.repairs.Add(context.Background(), int64(repairs))
}

// RequestEnded counts an HTTP request.
func (m *Metrics) RequestEnded(route, method string, status int, d time.Duration) {
	ctx := context.Background()
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
	default:
		method = "other" // a label must not grow with what callers make up
	}
	m.requests.Add(ctx, 1, attrs("route", route, "method", method, "status", strconv.Itoa(status)))
	m.requestTime.Record(ctx, d.Seconds(), attrs("route", route))
}

// StreamOpened counts an open stream of a door.
func (m *Metrics) StreamOpened(door string) {
	m.streams.Add(context.Background(), 1, attrs("door", door))
}

// StreamClosed takes it back.
func (m *Metrics) StreamClosed(door string) {
	m.streams.Add(context.Background(), -1, attrs("door", door))
}
