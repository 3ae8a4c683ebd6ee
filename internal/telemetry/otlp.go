package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/footnotehq/footnote/internal/pause"
)

// otlp sends spans to a collector by OTLP over HTTP, in the JSON form. JSON carries the same messages as the binary
// form and needs only the standard library; OpenTelemetry's own exporter would add all of gRPC to the program.
type otlp struct {
	address string // including /v1/traces
	headers map[string]string
	client  *http.Client
	log     *slog.Logger
	failing atomic.Bool // so that an unavailable collector is logged once
}

const (
	exportTries   = 4
	exportFirst   = 500 * time.Millisecond // delay before the second attempt, then doubled
	exportMaxWait = 10 * time.Second
)

func newOTLP(endpoint string, headers map[string]string, log *slog.Logger) *otlp {
	address := strings.TrimRight(endpoint, "/")
	if !strings.HasSuffix(address, "/v1/traces") {
		address += "/v1/traces"
	}
	return &otlp{address: address, headers: headers, log: log, client: &http.Client{
		Timeout: exportMaxWait,
		// headers hold keys
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// ExportSpans implements sdktrace.SpanExporter. It drops spans that cannot be sent: the server never waits for a
// collector.
func (o *otlp) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	body, err := json.Marshal(requestOf(spans))
	if err == nil {
		err = o.send(ctx, body)
	}
	switch {
	case err != nil && !o.failing.Swap(true):
		o.log.Warn("trace export failed; dropping spans until it works", "spans", len(spans), "err", err)
	case err == nil && o.failing.Swap(false):
		o.log.Info("trace export works again")
	}
	return nil
}

// Shutdown implements sdktrace.SpanExporter.
func (o *otlp) Shutdown(context.Context) error {
	o.client.CloseIdleConnections()
	return nil
}

// send sends a request until the collector accepts it or rejects it permanently.
func (o *otlp) send(ctx context.Context, body []byte) error {
	wait := exportFirst
	for try := 1; ; try++ {
		after, err := o.post(ctx, body)
		if err == nil || after < 0 || try == exportTries || pause.For(ctx, max(after, rand.N(wait))) != nil {
			return err
		}
		wait *= 2
	}
}

// post sends the request once. After a failure it returns the delay before a retry, or a negative one for no retry.
func (o *otlp) post(ctx context.Context, body []byte) (after time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, o.address, bytes.NewReader(body))
	if err != nil {
		return -1, err
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range o.headers {
		req.Header.Set(name, value)
	}
	res, err := o.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)) // so that the connection can be reused
	switch {
	case res.StatusCode/100 == 2:
		return 0, nil
	case res.StatusCode == http.StatusTooManyRequests, res.StatusCode == http.StatusBadGateway,
		res.StatusCode == http.StatusServiceUnavailable, res.StatusCode == http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(res.Header.Get("Retry-After")) // dates are ignored
		return min(time.Duration(seconds)*time.Second, exportMaxWait),
			fmt.Errorf("the collector answers with status %d", res.StatusCode)
	}
	return -1, fmt.Errorf("the collector answers with status %d", res.StatusCode)
}

// object is an OTLP message in its JSON form.
type object = map[string]any

// requestOf returns the message for spans, which share the resource and the scope of this process.
func requestOf(spans []sdktrace.ReadOnlySpan) object {
	if len(spans) == 0 {
		return object{"resourceSpans": []object{}}
	}
	encoded := make([]object, len(spans))
	for i, s := range spans {
		encoded[i] = encodeSpan(s)
	}
	return object{"resourceSpans": []object{{
		"resource":   object{"attributes": encodeAttributes(spans[0].Resource().Attributes())},
		"scopeSpans": []object{{"scope": object{"name": spans[0].InstrumentationScope().Name}, "spans": encoded}},
	}}}
}

func encodeSpan(s sdktrace.ReadOnlySpan) object {
	sc := s.SpanContext()
	flags := uint32(sc.TraceFlags())
	status := object{}
	links := []object{}
	for _, l := range s.Links() {
		links = append(links, object{
			"traceId": l.SpanContext.TraceID().String(), "spanId": l.SpanContext.SpanID().String(),
		})
	}
	out := object{
		"traceId": sc.TraceID().String(), "spanId": sc.SpanID().String(), "traceState": sc.TraceState().String(),
		"name": s.Name(), "kind": int(s.SpanKind()), // the numeric values are the same
		"startTimeUnixNano": strconv.FormatInt(s.StartTime().UnixNano(), 10),
		"endTimeUnixNano":   strconv.FormatInt(s.EndTime().UnixNano(), 10),
		"attributes":        encodeAttributes(s.Attributes()), "links": links, "status": status,
	}
	if p := s.Parent(); p.HasSpanID() {
		out["parentSpanId"] = p.SpanID().String()
		flags |= remoteKnown
		if p.IsRemote() {
			flags |= remoteParent
		}
	}
	out["flags"] = flags
	switch s.Status().Code {
	case codes.Ok:
		status["code"] = 1
	case codes.Error:
		status["code"], status["message"] = 2, s.Status().Description
	case codes.Unset:
	}
	return out
}

// Bits of flags beyond those of the trace context.
const (
	remoteKnown  = 0x100
	remoteParent = 0x200
)

func encodeAttributes(set []attribute.KeyValue) []object {
	out := make([]object, len(set))
	for i, kv := range set {
		out[i] = object{"key": string(kv.Key), "value": encodeValue(kv.Value)}
	}
	return out
}

func encodeValue(v attribute.Value) object {
	switch v.Type() {
	case attribute.BOOL:
		return object{"boolValue": v.AsBool()}
	case attribute.INT64:
		return object{"intValue": strconv.FormatInt(v.AsInt64(), 10)}
	case attribute.FLOAT64:
		return object{"doubleValue": v.AsFloat64()}
	case attribute.STRINGSLICE:
		values := []object{}
		for _, s := range v.AsStringSlice() {
			values = append(values, object{"stringValue": s})
		}
		return object{"arrayValue": object{"values": values}}
	default:
		return object{"stringValue": v.String()}
	}
}

// traceparent formats a span context as a W3C traceparent; an invalid one becomes an empty string.
func traceparent(sc trace.SpanContext) string {
	headers := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(trace.ContextWithSpanContext(context.Background(), sc), headers)
	return headers["traceparent"]
}

// parseTraceparent parses a traceparent; the result is invalid if s is malformed.
func parseTraceparent(s string) trace.SpanContext {
	headers := propagation.MapCarrier{"traceparent": s}
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), headers))
}
