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
	"github.com/footnotehq/footnote/history"
)

// TraceOptions say where traces go and what they hold. Endpoint and Logger are required.
type TraceOptions struct {
	Endpoint string // of a collector, without /v1/traces
	Headers  map[string]string
	Ratio    float64 // part of the runs that are followed, where the caller does not say; 0: none
	// Content adds questions, answers, statements and rows, each cut to 16 KiB, after
	// Redact.
	Content  bool
	Redact   func(string) string
	Provider string // gen_ai.provider.name
	Server   string // address of the model's server; may be empty
	Version  string // of the program
	Logger   *slog.Logger
}

// Traces follows runs: an agent.Tracer. The names are those of OpenTelemetry's semantic
// conventions for generative AI: invoke_agent for a run, or a part of one; chat for a
// model call; execute_tool for a call of a tool.
//
// A run is one trace, whichever servers it runs at: the log keeps the first part's place
// in it. A run whose request came without a traceparent has the trace that its id says,
// which is the first 16 bytes of its SHA-256.
type Traces struct {
	opts     TraceOptions
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	server   []attribute.KeyValue
}

// NewTraces begins to send. Close must be called.
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
			attribute.String("service.name", "footnote"), attribute.String("service.version", o.Version), attribute.String("service.instance.id", rand.Text()),
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

// Flush sends what has ended.
func (t *Traces) Flush(ctx context.Context) error { return t.provider.ForceFlush(ctx) }

// closeTime is how long the last spans may take to be sent.
const closeTime = 5 * time.Second

// Close sends what has ended, within a few seconds, and ends. A collector that is away
// is no error.
func (t *Traces) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	if err := t.provider.Shutdown(ctx); ctx.Err() == nil {
		return err
	}
	return nil
}

// ids makes the ids of spans, and of traces that nobody else has begun.
type ids struct{}

func (ids) NewIDs(ctx context.Context) (id trace.TraceID, span trace.SpanID) {
	if run := footnote.OriginOf(ctx).Run; run != "" {
		sum := sha256.Sum256([]byte(run))
		copy(id[:], sum[:])
	} else {
		_, _ = rand.Read(id[:]) // it never fails
	}
	return id, ids{}.NewSpanID(ctx, id)
}

func (ids) NewSpanID(context.Context, trace.TraceID) (span trace.SpanID) {
	_, _ = rand.Read(span[:])
	return span
}

// start begins a span, within the trace that somebody else has begun where there is no
// span of ours around it.
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
func (t *Traces) Run(ctx context.Context, f agent.Followed) (_ context.Context, own string, end func(agent.RunEnd)) {
	caller, first := parseTraceparent(f.Caller), parseTraceparent(f.First)
	options := []trace.SpanStartOption{trace.WithAttributes(
		attribute.String("gen_ai.operation.name", "invoke_agent"), attribute.String("gen_ai.provider.name", t.opts.Provider),
		attribute.String("gen_ai.agent.name", f.Assistant), attribute.String("gen_ai.conversation.id", f.Conversation),
		attribute.String("footnote.run.id", f.Run), attribute.Int("footnote.run.part", f.Part), attribute.String("footnote.door", f.Door),
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
	t.told(span, "gen_ai.input.messages", "user", "", f.Question)
	return ctx, traceparent(span.SpanContext()), func(e agent.RunEnd) {
		span.SetAttributes(append(usageOf(e.Usage), attribute.Float64("footnote.cost_usd", e.Cost.USD()), attribute.String("footnote.run.outcome", e.Outcome), attribute.String("gen_ai.request.model", e.Model))...)
		t.told(span, "gen_ai.output.messages", "assistant", "stop", e.Answer)
		if e.Code != "" {
			failed(span, string(e.Code))
		} else if e.Outcome == "not_stored" {
			failed(span, string(footnote.StorageUnavailable))
		}
		span.End()
	}
}

// Step implements agent.Tracer.
func (t *Traces) Step(ctx context.Context, req *agent.Request) (context.Context, func(*agent.Reply, error)) {
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
	ctx, span := t.start(ctx, strings.TrimSpace("chat "+req.Model), trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(set...))
	if t.opts.Content && span.IsRecording() {
		t.said(span, "gen_ai.input.messages", messagesOf(req.Messages, t.opts.Redact))
	}
	return ctx, func(r *agent.Reply, err error) {
		defer span.End()
		if err != nil {
			failed(span, errorType(ctx, err))
			return
		}
		m := &r.Message
		span.SetAttributes(append(usageOf(m.Usage), attribute.String("gen_ai.response.model", m.Model), attribute.Float64("footnote.cost_usd", m.Cost.USD()),
			attribute.StringSlice("gen_ai.response.finish_reasons", []string{m.StopReason}))...)
		if m.Upstream != "" {
			span.SetAttributes(attribute.String("gen_ai.response.id", m.Upstream))
		}
		t.told(span, "gen_ai.output.messages", "assistant", m.StopReason, agent.Text(m.Blocks))
	}
}

// Tool implements agent.Tracer.
func (t *Traces) Tool(ctx context.Context, c agent.Call) (context.Context, func(agent.Output, error)) {
	ctx, span := t.start(ctx, "execute_tool "+c.Name, trace.WithAttributes(
		attribute.String("gen_ai.operation.name", "execute_tool"), attribute.String("gen_ai.tool.name", c.Name),
		attribute.String("gen_ai.tool.call.id", c.ID), attribute.String("gen_ai.tool.type", "function"),
		attribute.String("gen_ai.conversation.id", c.Conversation),
	))
	t.said(span, "gen_ai.tool.call.arguments", string(c.Input))
	return ctx, func(out agent.Output, err error) {
		defer span.End()
		span.SetAttributes(attribute.Bool("footnote.cache.hit", out.CacheHit))
		if out.Rows != nil {
			span.SetAttributes(attribute.Int("footnote.rows", len(out.Rows.Rows)))
		}
		t.said(span, "gen_ai.tool.call.result", out.Content)
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

// mostSaid is how much of a text a span holds, in bytes.
const mostSaid = 16 << 10

// said adds what somebody has said, where that is wanted.
func (t *Traces) said(span trace.Span, key, text string) {
	if !t.opts.Content || text == "" || !span.IsRecording() {
		return
	}
	text = t.opts.Redact(text)
	if len(text) > mostSaid {
		text = strings.ToValidUTF8(text[:mostSaid], "")
	}
	span.SetAttributes(attribute.String(key, text))
}

// told is said for one message. What must not be seen goes before the text becomes JSON,
// which writes a quote or an & in another way.
func (t *Traces) told(span trace.Span, key, role, finish, text string) {
	if t.opts.Content && text != "" && span.IsRecording() {
		t.said(span, key, messageOf(role, finish, t.opts.Redact(text)))
	}
}

// part and message are what the conventions make of what was said.
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
	out, _ := json.Marshal([]message{{role, []part{{Type: "text", Content: text}}, finish}}) // text is always JSON
	return string(out)
}

// messagesOf is the end of a history: as many messages as fit.
func messagesOf(messages []agent.Message, redact func(string) string) string {
	var out []message
	size := 0
	for _, m := range slices.Backward(messages) {
		if size += len(m.Content); size > mostSaid/2 && len(out) > 0 {
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
	text, _ := json.Marshal(out) // text is always JSON
	return string(text)
}

// usageOf is what was used. The input has all that the model has read, cached or not.
func usageOf(u footnote.Usage) []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.Int64("gen_ai.usage.input_tokens", u.Prompt()), attribute.Int64("gen_ai.usage.output_tokens", u.Output),
		attribute.Int64("gen_ai.usage.cache_read.input_tokens", u.CacheRead), attribute.Int64("gen_ai.usage.cache_creation.input_tokens", u.CacheWrite5m+u.CacheWrite1h),
	}
}

// errorType is the code of an error, or that somebody stopped what failed.
func errorType(ctx context.Context, err error) string {
	if code := footnote.CodeOf(err); code != footnote.Internal || ctx.Err() == nil {
		return string(code)
	}
	return "cancelled"
}

// failed says that what a span follows came to nothing. The words of an error stay here:
// they may name tables and files.
func failed(span trace.Span, kind string) {
	span.SetAttributes(attribute.String("error.type", kind))
	span.SetStatus(codes.Error, kind)
}
