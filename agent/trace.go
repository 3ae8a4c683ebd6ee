package agent

import (
	"context"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/tool"
)

// Tracer traces runs across systems. The contexts that it returns are for what happens within; each end is
// called once, and not at all for a run that never began.
type Tracer interface {
	// Run follows a run, or a part of one that goes on. Own is what the log keeps of it:
	// the parent of later parts, at whichever server; empty when nothing is kept.
	Run(ctx context.Context, r Followed) (_ context.Context, own string, end func(RunEnd))
	// Step follows a model call: of a run, or beside all.
	Step(ctx context.Context, req *model.Request) (_ context.Context, end func(*model.Reply, error))
	// Tool follows a call of a tool of ours.
	Tool(ctx context.Context, c tool.Call) (_ context.Context, end func(tool.Output, error))
}

// Followed describes a run to a Tracer when it begins or resumes.
type Followed struct {
	Run, Conversation, Assistant, Protocol string
	Principal                              footnote.Principal
	Question                               string
	// Caller is the traceparent of the request that began it, or brought answers.
	Caller string
	// First is what Run gave as own when the run began; empty: it begins now, or nobody
	// followed it then.
	First string
	Part  int // 1 is the first
}

// RunEnd is how a part of a run ended.
type RunEnd struct {
	Model   string
	Outcome string        // "finished", "failed", "stopped", "parked" or "not_stored"
	Code    footnote.Code // of one that failed
	Usage   footnote.Usage
	Cost    footnote.Cost
	Answer  string
}

type noTracer struct{}

func (noTracer) Run(ctx context.Context, _ Followed) (context.Context, string, func(RunEnd)) {
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
	f := Followed{
		Run: r.id, Conversation: r.stream, Assistant: r.a.Name, Protocol: r.turn.Protocol,
		Principal: r.turn.Principal, Question: r.turn.Text, Caller: r.turn.Trace, Part: 1,
	}
	if r.s.run != "" {
		f.First, f.Part, f.Question = r.s.started.Trace, r.s.resumes+2, r.s.question()
	}
	ctx, r.trace, r.followed = r.e.opts.Tracer.Run(ctx, f)
	return ctx
}

// unfollow reports to the Tracer how this part of the run has ended.
func (r *run) unfollow(terminal footnote.Body, outcome string) {
	end := RunEnd{Model: r.s.opened.Model, Outcome: outcome, Usage: r.s.usage, Cost: r.s.cost, Answer: r.s.answer}
	if failed, ok := terminal.(footnote.RunFailed); ok {
		end.Code = failed.Code
	}
	r.followed(end)
}
