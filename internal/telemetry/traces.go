package telemetry

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"log/slog"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/model/history"
	"github.com/footnotehq/footnote/tool"
)

// TraceOptions configures the destination and content of traces. Endpoint and Logger are required.
type TraceOptions struct {
	Endpoint string // of a collector, without /v1/traces
	Headers  map[string]string
	Ratio    float64 // fraction of runs to trace, unless the caller decides; 0: none
	// Content adds questions, answers, statements and rows, each redacted and then truncated to 16 KiB.
	Content  bool
	Redact   func(string) string
	Provider string // gen_ai.provider.name
	Server   string // address of the model's server; optional
	Version  string // of the program
	Logger   *slog.Logger
}

// Traces traces runs: it implements agent.Tracer. The names are those of OpenTelemetry's semantic conventions for
// generative AI: invoke_agent for a run, or a part of one; chat for a model call; execute_tool for a tool call.
//
// A run is one trace, on whichever servers it runs: the log keeps the position of the first part in the trace. If the
// request had no traceparent, the trace id is derived from the run's id: the first 16 bytes of its SHA-256.
type Traces struct {
	opts     TraceOptions
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	server   []attribute.KeyValue
}

// NewTraces starts sending. The caller must call Close.
func NewTraces(o TraceOptions) *Traces {
	if o.Redact == nil {
		o.Redact = func(s string) string { return s }
	}
	t := &Traces{opts: o}
	t.provider = sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(newOTLP(o.Endpoint, o.Headers, o.Logger)),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(o.Ratio))),
		sdktrace.WithIDGenerator(ids{}),
		sdktrace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", "footnote"), attribute.String("service.version", o.Version),
			attribute.String("service.instance.id", rand.Text()),
		)),
	)
	t.tracer = t.provider.Tracer("github.com/footnotehq/footnote")
	if u, err := url.Parse(o.Server); err == nil && u.Hostname() != "" {
		t.server = []attribute.KeyValue{attribute.String("server.address", u.Hostname())}
		if port, err := strconv.Atoi(u.Port()); err == nil {
			t.server = append(t.server, attribute.Int("server.port", port))
		}
	}
	return t
}

// Flush sends the ended spans.
func (t *Traces) Flush(ctx context.Context) error { return t.provider.ForceFlush(ctx) }

// closeTime limits how long sending the last spans may take.
const closeTime = 5 * time.Second

// Close sends the ended spans within a few seconds, and stops. An unavailable collector is not an error.
func (t *Traces) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	if err := t.provider.Shutdown(ctx); ctx.Err() == nil {
		return err
	}
	return nil
}

// ids generates the ids of spans, and of traces that start here.
type ids struct{}

func (ids) NewIDs(ctx context.Context) (id trace.TraceID, span trace.SpanID) {
	if run := footnote.OriginOf(ctx).Run; run != "" {
		sum := sha256.Sum256([]byte(run))
		copy(id[:], sum[:])
	} else {
		_, _ = rand.Read(id[:]) // never fails
	}
	return id, ids{}.NewSpanID(ctx, id)
}

func (ids) NewSpanID(context.Context, trace.TraceID) (span trace.SpanID) {
	_, _ = rand.Read(span[:])
	return span
}

// start begins a span. Without an enclosing span, it joins the trace of the caller, if any.
func (t *Traces) start(ctx context.Context, name string, o ...trace.SpanStartOption) (context.Context, trace.Span) {
	from := footnote.OriginOf(ctx)
	if !trace.SpanContextFromContext(ctx).IsValid() {
		if parent := parseTraceparent(from.Trace); parent.IsValid() {
			ctx = trace.ContextWithRemoteSpanContext(ctx, parent)
		}
	}
	ctx, span := t.tracer.Start(ctx, name, o...)
	from.Trace = traceparent(span.SpanContext())
	return footnote.WithOrigin(ctx, from), span
}

// Run implements agent.Tracer.
func (t *Traces) Run(ctx context.Context, f agent.TracedRun) (_ context.Context, own string, end func(agent.RunEnd)) {
	caller, first := parseTraceparent(f.Caller), parseTraceparent(f.First)
	options := []trace.SpanStartOption{trace.WithAttributes(
		attribute.String("gen_ai.operation.name", "invoke_agent"),
		attribute.String("gen_ai.provider.name", t.opts.Provider),
		attribute.String("gen_ai.agent.name", f.Assistant), attribute.String("gen_ai.conversation.id", f.Conversation),
		attribute.String("footnote.run.id", f.Run), attribute.Int("footnote.run.part", f.Part),
		attribute.String("footnote.door", f.Protocol),
		attribute.String("footnote.org", f.Principal.Org), attribute.String("user.id", f.Principal.User),
	)}
	if request := footnote.OriginOf(ctx).Request; request != "" {
		options = append(options, trace.WithAttributes(attribute.String("footnote.request.id", request)))
	}
	switch {
	case first.IsValid():
		ctx = trace.ContextWithRemoteSpanContext(ctx, first)
		if caller.IsValid() {
			options = append(options, trace.WithLinks(trace.Link{SpanContext: caller}))
		}
	case caller.IsValid():
		ctx = trace.ContextWithRemoteSpanContext(ctx, caller)
	}
	ctx, span := t.start(ctx, "invoke_agent "+f.Assistant, options...)
	t.addMessage(span, "gen_ai.input.messages", "user", "", f.Question)
	return ctx, traceparent(span.SpanContext()), func(e agent.RunEnd) {
		span.SetAttributes(append(usageOf(e.Usage), attribute.Float64("footnote.cost_usd", e.Cost.USD()),
			attribute.String("footnote.run.outcome", e.Outcome), attribute.String("gen_ai.request.model", e.Model))...)
		t.addMessage(span, "gen_ai.output.messages", "assistant", "stop", e.Answer)
		if e.Code != "" {
			failed(span, string(e.Code))
		} else if e.Outcome == "not_stored" {
			failed(span, string(footnote.StorageUnavailable))
		}
		span.End()
	}
}

// Step implements agent.Tracer.
func (t *Traces) Step(ctx context.Context, req *model.Request) (context.Context, func(*model.Reply, error)) {
	set := append([]attribute.KeyValue{
		attribute.String("gen_ai.operation.name", "chat"), attribute.String("gen_ai.provider.name", t.opts.Provider),
		attribute.String("gen_ai.request.model", req.Model), attribute.Bool("gen_ai.request.stream", true),
	}, t.server...)
	if req.Conversation != "" {
		set = append(set, attribute.String("gen_ai.conversation.id", req.Conversation))
	}
	if req.MaxTokens > 0 {
		set = append(set, attribute.Int("gen_ai.request.max_tokens", req.MaxTokens))
	}
	ctx, span := t.start(ctx, strings.TrimSpace("chat "+req.Model), trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(set...))
	if t.opts.Content && span.IsRecording() {
		t.addContent(span, "gen_ai.input.messages", messagesOf(req.Messages, t.opts.Redact))
	}
	return ctx, func(r *model.Reply, err error) {
		defer span.End()
		if err != nil {
			failed(span, errorType(ctx, err))
			return
		}
		m := &r.Message
		span.SetAttributes(append(usageOf(m.Usage), attribute.String("gen_ai.response.model", m.Model),
			attribute.Float64("footnote.cost_usd", m.Cost.USD()),
			attribute.StringSlice("gen_ai.response.finish_reasons", []string{m.StopReason}))...)
		if m.Upstream != "" {
			span.SetAttributes(attribute.String("gen_ai.response.id", m.Upstream))
		}
		t.addMessage(span, "gen_ai.output.messages", "assistant", m.StopReason, agent.Text(m.Blocks))
	}
}

// Tool implements agent.Tracer.
func (t *Traces) Tool(ctx context.Context, c tool.Call) (context.Context, func(tool.Output, error)) {
	ctx, span := t.start(ctx, "execute_tool "+c.Name, trace.WithAttributes(
		attribute.String("gen_ai.operation.name", "execute_tool"), attribute.String("gen_ai.tool.name", c.Name),
		attribute.String("gen_ai.tool.call.id", c.ID), attribute.String("gen_ai.tool.type", "function"),
		attribute.String("gen_ai.conversation.id", c.Conversation),
	))
	t.addContent(span, "gen_ai.tool.call.arguments", string(c.Input))
	return ctx, func(out tool.Output, err error) {
		defer span.End()
		span.SetAttributes(attribute.Bool("footnote.cache.hit", out.CacheHit))
		if out.Rows != nil {
			span.SetAttributes(attribute.Int("footnote.rows", len(out.Rows.Rows)))
		}
		t.addContent(span, "gen_ai.tool.call.result", out.Content)
		switch {
		case err != nil:
			failed(span, errorType(ctx, err))
		case out.IsError && out.Fault != "":
			failed(span, out.Fault)
		case out.IsError:
			failed(span, "tool_error")
		}
	}
}

// maxContent is the largest part of a text in a span, in bytes.
const maxContent = 16 << 10

// addContent adds a text from the conversation if content is enabled.
func (t *Traces) addContent(span trace.Span, key, text string) {
	if !t.opts.Content || text == "" || !span.IsRecording() {
		return
	}
	text = t.opts.Redact(text)
	if len(text) > maxContent {
		text = strings.ToValidUTF8(text[:maxContent], "")
	}
	span.SetAttributes(attribute.String(key, text))
}

// addMessage adds a single message. It redacts before encoding, because JSON writes a quote or an & differently.
func (t *Traces) addMessage(span trace.Span, key, role, finish, text string) {
	if t.opts.Content && text != "" && span.IsRecording() {
		t.addContent(span, key, messageOf(role, finish, t.opts.Redact(text)))
	}
}

// part and message are the conventions' format for conversation content.
type part struct {
	Type    string `json:"type"`
	Content string `json:"content,omitempty"`
	Name    string `json:"name,omitempty"`
	Result  string `json:"response,omitempty"`
}

type message struct {
	Role   string `json:"role"`
	Parts  []part `json:"parts"`
	Finish string `json:"finish_reason,omitempty"`
}

func messageOf(role, finish, text string) string {
	out, _ := json.Marshal([]message{{role, []part{{Type: "text", Content: text}}, finish}}) // text always encodes
	return string(out)
}

// messagesOf returns the end of a history: as many messages as fit.
func messagesOf(messages []model.Message, redact func(string) string) string {
	var out []message
	size := 0
	for _, m := range slices.Backward(messages) {
		if size += len(m.Content); size > maxContent/2 && len(out) > 0 {
			break
		}
		said := message{Role: m.Role, Parts: []part{}}
		for _, b := range history.Blocks(m) {
			b.Text = redact(b.Text)
			switch {
			case b.Name != "":
				said.Parts = append(said.Parts, part{Type: "tool_call", Name: b.Name, Content: b.Text})
			case b.Result:
				said.Parts = append(said.Parts, part{Type: "tool_call_response", Result: b.Text})
			default:
				said.Parts = append(said.Parts, part{Type: "text", Content: b.Text})
			}
		}
		out = append(out, said)
	}
	slices.Reverse(out)
	text, _ := json.Marshal(out) // text always encodes
	return string(text)
}

// usageOf returns the usage attributes. The input counts everything the model read, cached or not.
func usageOf(u footnote.Usage) []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.Int64("gen_ai.usage.input_tokens", u.Prompt()),
		attribute.Int64("gen_ai.usage.output_tokens", u.Output),
		attribute.Int64("gen_ai.usage.cache_read.input_tokens", u.CacheRead),
		attribute.Int64("gen_ai.usage.cache_creation.input_tokens", u.CacheWrite5m+u.CacheWrite1h),
	}
}

// errorType returns the code of an error, or a value that says the operation was cancelled.
func errorType(ctx context.Context, err error) string {
	if code := footnote.CodeOf(err); code != footnote.Internal || ctx.Err() == nil {
		return string(code)
	}
	return "cancelled"
}

// failed marks a span as failed. It omits the text of the error, which may name tables and files.
func failed(span trace.Span, kind string) {
	span.SetAttributes(attribute.String("error.type", kind))
	span.SetStatus(codes.Error, kind)
}
