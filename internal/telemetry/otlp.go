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
		if err == nil || after < 0 || try == exportTries {
			return err
		}
		timer := time.NewTimer(max(after, rand.N(wait)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
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

// The OTLP messages in their JSON form.
type (
	exportRequest struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   resourceOf   `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	resourceOf struct {
		Attributes []keyValue `json:"attributes"`
	}
	scopeSpans struct {
		Scope struct {
			Name string `json:"name"`
		} `json:"scope"`
		Spans []spanOf `json:"spans"`
	}
	spanOf struct {
		TraceID    string     `json:"traceId"`
		SpanID     string     `json:"spanId"`
		TraceState string     `json:"traceState,omitempty"`
		Parent     string     `json:"parentSpanId,omitempty"`
		Flags      uint32     `json:"flags"`
		Name       string     `json:"name"`
		Kind       int        `json:"kind"`
		Start      string     `json:"startTimeUnixNano"`
		End        string     `json:"endTimeUnixNano"`
		Attributes []keyValue `json:"attributes,omitempty"`
		Links      []linkOf   `json:"links,omitempty"`
		Status     statusOf   `json:"status"`
	}
	linkOf struct {
		TraceID string `json:"traceId"`
		SpanID  string `json:"spanId"`
	}
	statusOf struct {
		Code    int    `json:"code,omitempty"`
		Message string `json:"message,omitempty"`
	}
	keyValue struct {
		Key   string `json:"key"`
		Value any    `json:"value"`
	}
)

// requestOf returns the message for spans, which share the resource and the scope of this process.
func requestOf(spans []sdktrace.ReadOnlySpan) exportRequest {
	if len(spans) == 0 {
		return exportRequest{ResourceSpans: []resourceSpans{}}
	}
	scope := scopeSpans{Spans: make([]spanOf, len(spans))}
	scope.Scope.Name = spans[0].InstrumentationScope().Name
	for i, s := range spans {
		scope.Spans[i] = encodeSpan(s)
	}
	return exportRequest{ResourceSpans: []resourceSpans{{
		Resource: resourceOf{encodeAttributes(spans[0].Resource().Attributes())}, ScopeSpans: []scopeSpans{scope},
	}}}
}

func encodeSpan(s sdktrace.ReadOnlySpan) spanOf {
	sc := s.SpanContext()
	out := spanOf{
		TraceID: sc.TraceID().String(), SpanID: sc.SpanID().String(), TraceState: sc.TraceState().String(),
		Flags: uint32(sc.TraceFlags()),
		Name:  s.Name(), Kind: int(s.SpanKind()), // the numeric values are the same
		Start: strconv.FormatInt(s.StartTime().UnixNano(), 10), End: strconv.FormatInt(s.EndTime().UnixNano(), 10),
		Attributes: encodeAttributes(s.Attributes()),
	}
	if p := s.Parent(); p.HasSpanID() {
		out.Parent = p.SpanID().String()
		out.Flags |= remoteKnown
		if p.IsRemote() {
			out.Flags |= remoteParent
		}
	}
	for _, l := range s.Links() {
		out.Links = append(out.Links, linkOf{l.SpanContext.TraceID().String(), l.SpanContext.SpanID().String()})
	}
	switch s.Status().Code {
	case codes.Ok:
		out.Status.Code = 1
	case codes.Error:
		out.Status = statusOf{2, s.Status().Description}
	case codes.Unset:
	}
	return out
}

// Bits of flags beyond those of the trace context.
const (
	remoteKnown  = 0x100
	remoteParent = 0x200
)

func encodeAttributes(set []attribute.KeyValue) []keyValue {
	out := make([]keyValue, len(set))
	for i, kv := range set {
		out[i] = keyValue{string(kv.Key), encodeValue(kv.Value)}
	}
	return out
}

func encodeValue(v attribute.Value) any {
	switch v.Type() {
	case attribute.BOOL:
		return map[string]bool{"boolValue": v.AsBool()}
	case attribute.INT64:
		return map[string]string{"intValue": strconv.FormatInt(v.AsInt64(), 10)}
	case attribute.FLOAT64:
		return map[string]float64{"doubleValue": v.AsFloat64()}
	case attribute.STRINGSLICE:
		values := []map[string]string{}
		for _, s := range v.AsStringSlice() {
			values = append(values, map[string]string{"stringValue": s})
		}
		return map[string]any{"arrayValue": map[string]any{"values": values}}
	default:
		return map[string]string{"stringValue": v.String()}
	}
}

// traceparent formats a span context as a W3C traceparent; an invalid one becomes an empty text.
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
