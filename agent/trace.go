package agent

import (
	"context"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/tool"
)

// Tracer traces runs across systems. The contexts that it returns are used for the work within the run, step or call.
// Each end function is called once, or not at all for a run that never began.
type Tracer interface {
	// Run traces a run, or one part of it after the run was resumed. own is stored in the log as the parent of later
	// parts, which may run on another server; it may be empty.
	Run(ctx context.Context, r TracedRun) (_ context.Context, own string, end func(RunEnd))
	// Step traces a model call of a run, or a side call.
	Step(ctx context.Context, req *model.Request) (_ context.Context, end func(*model.Reply, error))
	// Tool traces a server-side tool call.
	Tool(ctx context.Context, c tool.Call) (_ context.Context, end func(tool.Output, error))
}

// TracedRun describes a run to a Tracer when it begins or resumes.
type TracedRun struct {
	Run, Conversation, Assistant, Protocol string
	Principal                              footnote.Principal
	Question                               string
	// Caller is the traceparent of the request that began or resumed the run.
	Caller string
	// First is the own value that Run returned when the run began. It is empty if the run begins now, or was not traced
	// when it began.
	First string
	Part  int // 1 is the first
}

// RunEnd describes how a part of a run ended.
type RunEnd struct {
	Model   string
	Outcome string        // "finished", "failed", "stopped", "parked" or "not_stored"
	Code    footnote.Code // of a failed run
	Usage   footnote.Usage
	Cost    footnote.Cost
	Answer  string
}

type noTracer struct{}

func (noTracer) Run(ctx context.Context, _ TracedRun) (context.Context, string, func(RunEnd)) {
	return ctx, "", func(RunEnd) {}
}

func (noTracer) Step(ctx context.Context, _ *model.Request) (context.Context, func(*model.Reply, error)) {
	return ctx, func(*model.Reply, error) {}
}

func (noTracer) Tool(ctx context.Context, _ tool.Call) (context.Context, func(tool.Output, error)) {
	return ctx, func(tool.Output, error) {}
}

// traced reports a run that begins or resumes to the Tracer.
func (r *run) traced(ctx context.Context) context.Context {
	f := TracedRun{
		Run: r.id, Conversation: r.stream, Assistant: r.a.Name, Protocol: r.turn.Protocol,
		Principal: r.turn.Principal, Question: r.turn.Text, Caller: r.turn.Trace, Part: 1,
	}
	if r.s.run != "" {
		f.First, f.Part, f.Question = r.s.started.Trace, r.s.resumes+2, r.s.question()
	}
	ctx, r.trace, r.endTrace = r.e.opts.Tracer.Run(ctx, f)
	return ctx
}

// traceEnd reports to the Tracer how this part of the run has ended.
func (r *run) traceEnd(terminal footnote.Body, outcome string) {
	end := RunEnd{Model: r.s.opened.Model, Outcome: outcome, Usage: r.s.usage, Cost: r.s.cost, Answer: r.s.answer}
	if failed, ok := terminal.(footnote.RunFailed); ok {
		end.Code = failed.Code
	}
	r.endTrace(end)
}
