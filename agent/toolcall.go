package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/visible"
	"github.com/footnotehq/footnote/tool"
)

// BeforeTool may change a call's input, or refuse the call with words for the
// model. An error ends the run.
type BeforeTool func(ctx context.Context, c *tool.Call) (refusal string, err error)

// AfterTool may change what a tool gave. An error ends the run.
type AfterTool func(ctx context.Context, c tool.Call, out *tool.Output) error

// errToolTime is the cause of a tool call that took too long.
var errToolTime = errors.New("the tool's time is over")

// How long a tool may take to notice that its time is over, or that its run was
// stopped, before the run goes on without it.
const (
	toolGrace = 2 * time.Second
	stopGrace = 500 * time.Millisecond
)

// maxContent is how much of a result a model ever reads, and maxDetail how much
// is kept beside it for a page, in bytes.
const (
	maxContent = 1 << 20
	maxDetail  = 256 << 10
)

// execution is a call that is being made.
type execution struct {
	plan
	ran *footnote.Statements // what sources have noted of its statements
	out tool.Output          // what the tool gave, before hooks changed it
	// broke is what became of the statements that have no outcome when the tool does not answer: it broke, or was not
	// waited for. It is empty before the tool is called and after it has answered.
	broke string
}

// call runs one call, or refuses it. A hook that panics is an error of this run alone.
func (r *run) call(p plan) (o outcome) {
	if p.refusal != "" {
		return r.refusedCall(p)
	}
	if r.ctx.Err() != nil {
		return outcome{err: context.Cause(r.ctx)} // it waited for its turn beside others
	}
	c, begun := &execution{plan: p}, r.e.opts.Now()
	defer func() {
		if panicked := recover(); panicked != nil {
			r.e.opts.Logger.Error("hook panicked", "tool", p.spec.Name, "conversation", r.stream,
				"panic", panicked, "stack", string(debug.Stack()))
			o = outcome{err: fmt.Errorf("hook of %s panicked: %v", p.spec.Name, panicked)}
		}
		if o.err != nil && c.ran != nil {
			r.keepStatements(p.call.ID, c.statements())
		}
	}()
	res := footnote.ToolResult{CallID: p.call.ID, Name: p.call.Name, By: "server"}
	cost, err := r.price(p)
	if err != nil {
		return r.unpaid(res, p.call, err)
	}
	settled := false
	defer func() {
		if !settled && cost > 0 {
			r.budget.callBroke(cost)
		}
	}()
	var ctx context.Context
	ctx, c.ran = footnote.WithStatements(r.ctx)
	out, err := r.callWhileAway(ctx, c)
	took := r.e.opts.Now().Sub(begun)
	if err != nil {
		r.e.opts.Metrics.ToolEnded(p.spec.Name, "broken", took)
		return outcome{err: err}
	}
	res.Millis, res.Statements = took.Milliseconds(), c.statements()
	r.fill(&res, p, out, took)
	o = outcome{result: res, rows: out.Rows}
	if cost > 0 {
		settled = true
		if !out.CacheHit {
			o.result.Cost = footnote.Cost{MicroUSD: cost}
		}
		o.price = cost
	}
	if out.Rows != nil {
		o.result.Result, o.blobs = storeRows(resultID(p.call), out.Source, out.SQL, *out.Rows)
	}
	return o
}

// refusedCall is the outcome of a call that is refused.
func (r *run) refusedCall(p plan) outcome {
	r.e.opts.Metrics.ToolEnded(p.spec.Name, "refused", 0)
	res := footnote.ToolResult{CallID: p.call.ID, Name: p.call.Name, By: "server", Content: p.refusal, IsError: true}
	if p.declined {
		res.By = "user"
	}
	res.Statements = notRun(p.call)
	if p.mayHaveRun {
		res.Statements = possiblyRun(p.call, footnote.StatementCancelled)
	}
	return outcome{result: res}
}

// price reserves the price of a call beside what the closing call needs. The price of a call
// that breaks counts at the end of the run: the call may have been made.
func (r *run) price(p plan) (int64, error) {
	cost := r.e.opts.Budget.ToolPrice(p.spec.Name)
	if cost <= 0 {
		return 0, nil
	}
	r.budget.mu.Lock() // before r.mu, as in keepPriced
	defer r.budget.mu.Unlock()
	r.mu.Lock()
	left, c := r.left(), r.spending()
	r.mu.Unlock()
	promised := r.budget.promised + r.budget.maybeSpent + cost
	if promised+r.budget.closingCost > left {
		return 0, footnote.Errorf(footnote.BudgetExceeded,
			"What is left of the money for this question does not pay for it.")
	}
	if err := r.w.flush(); err != nil { // the store has to know what the run has spent
		return 0, err
	}
	c.Max.MicroUSD, c.Lost.MicroUSD, c.Wait = promised+r.budget.closingCost, promised, false
	c.Enough = c.Max
	h, err := r.reserve(c)
	if err != nil {
		r.budget.unknown = r.budget.unknown || footnote.CodeOf(err) != footnote.BudgetExceeded // it may have been made
		return 0, err
	}
	r.budget.reservation = h
	r.budget.promised += cost
	return cost, nil
}

// callBroke records the price of a call that broke and may have been made.
func (p *budget) callBroke(price int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.promised -= price
	p.maybeSpent += price
}

// unpaid is the outcome of a call that costs more than is left.
func (r *run) unpaid(res footnote.ToolResult, c openCall, err error) outcome {
	if footnote.CodeOf(err) != footnote.BudgetExceeded {
		return outcome{err: err}
	}
	r.e.opts.Metrics.ToolEnded(res.Name, "refused", 0)
	res.Content, res.IsError, res.Statements = "The call was not made. "+footnote.MessageOf(err), true, notRun(c)
	return outcome{result: res}
}

// callWhileAway is hooked for a store that may go away. It retries a call that only reads; for any other the
// model reads that it may have run.
func (r *run) callWhileAway(ctx context.Context, m *execution) (out tool.Output, err error) {
	if !m.spec.ReadOnly {
		if out, err = r.hooked(ctx, m); away(err) {
			r.e.opts.Logger.Warn("the store went away during a call",
				"tool", m.spec.Name, "conversation", r.stream, "err", err)
			return tool.Fail(mayHaveRun), nil
		}
		return out, err
	}
	err = r.retryWhileAway(r.ctx, func() error {
		out, err = r.hooked(ctx, m)
		return err
	})
	return out, err
}

// mayHaveRun is the result of a call that may or may not have changed something.
const mayHaveRun = "This call was interrupted and may have run. Check before you make it again."

// hooked runs a tool between its hooks.
func (r *run) hooked(ctx context.Context, m *execution) (tool.Output, error) {
	r.mu.Lock()
	c := r.s.toolCall(m.call, m.spec.Name, r.turn.Principal, r.stream, r.id)
	r.mu.Unlock()
	for _, before := range r.e.opts.Before {
		refusal, err := before(ctx, &c)
		if err != nil {
			return tool.Output{}, err
		}
		if refusal != "" {
			return tool.Fail(refusal), nil
		}
	}
	tctx, end := r.e.opts.Tracer.Tool(ctx, c)
	out, err := r.limited(tctx, m, c)
	end(out, err)
	m.out = out
	if err != nil {
		return tool.Output{}, err
	}
	for _, after := range r.e.opts.After {
		if err := after(ctx, c, &out); err != nil {
			return tool.Output{}, err
		}
	}
	return out, nil
}

// toolCall returns a call as its tool receives it.
func (s *state) toolCall(c openCall, name string, p footnote.Principal, stream, run string) tool.Call {
	return tool.Call{
		ID: c.ID, Name: name, Input: c.Input, Principal: p, Conversation: stream, Run: run, Where: s.where(),
		Sources: s.opened.Sources, ResultID: resultID(c), Results: s.stored[:len(s.stored):len(s.stored)],
		Read: s.events[:c.read:c.read],
	}
}

// limited runs a tool under its time limit. A tool that panics or does not stop in time has failed; the run
// continues.
func (r *run) limited(ctx context.Context, m *execution, c tool.Call) (tool.Output, error) {
	limit := m.spec.Timeout
	if limit <= 0 {
		limit = r.a.Limits.Tool
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errToolTime)
	defer cancel()
	type answer struct {
		out      tool.Output
		err      error
		panicked bool
	}
	done := make(chan answer, 1)
	m.broke = footnote.StatementFailed
	r.e.tools.Go(func() {
		defer func() {
			if panicked := recover(); panicked != nil {
				r.e.opts.Logger.Error("tool panicked", "tool", m.spec.Name, "conversation", r.stream,
					"panic", panicked, "stack", string(debug.Stack()))
				const words = "The tool broke while it ran. This is a fault of the server, not of the call."
				done <- answer{out: tool.Fail(words), panicked: true}
			}
		}()
		out, err := m.tool.Call(ctx, c)
		done <- answer{out: out, err: err}
	})
	over := tool.Fail(fmt.Sprintf("The call took longer than %s and was ended. Ask for less.", limit))
	over.Fault = footnote.FaultLimited
	finished := func(a answer) (tool.Output, error) {
		switch {
		case a.err != nil && errors.Is(context.Cause(ctx), errToolTime):
			m.broke = footnote.StatementTimedOut
			return over, nil
		case a.err != nil && r.ctx.Err() != nil:
			m.broke = r.brokeOff()
		case a.err == nil && !a.panicked:
			m.broke = ""
		}
		return a.out, a.err
	}
	select {
	case a := <-done:
		return finished(a)
	case <-ctx.Done():
	}
	patience := toolGrace
	if r.ctx.Err() != nil {
		patience = stopGrace
	}
	grace := time.NewTimer(patience)
	defer grace.Stop()
	select {
	case a := <-done:
		return finished(a)
	case <-grace.C:
		r.e.opts.Logger.Error("tool ignores its context", "tool", m.spec.Name, "conversation", r.stream)
		if r.ctx.Err() != nil {
			m.broke = r.brokeOff()
			return tool.Output{}, context.Cause(r.ctx)
		}
		m.broke = footnote.StatementTimedOut
		return over, nil
	}
}

// brokeOff is what became of a statement that had not ended when the run ended.
func (r *run) brokeOff() string {
	if errors.Is(r.ctx.Err(), context.DeadlineExceeded) {
		return footnote.StatementTimedOut
	}
	return footnote.StatementCancelled
}

// fill copies a tool's output to the result of its call.
func (r *run) fill(res *footnote.ToolResult, p plan, out tool.Output, took time.Duration) {
	word := "ok"
	if out.IsError {
		word = "failed"
	}
	r.e.opts.Metrics.ToolEnded(p.spec.Name, word, took)
	res.Content, res.IsError, res.Chart, res.CacheHit = bounded(out.Content), out.IsError, out.Chart, out.CacheHit
	res.Fault = out.Fault
	if out.CacheHit {
		res.RanAt = out.RanAt.UTC()
	}
	if out.Chart != nil && !json.Valid(out.Chart) {
		r.e.opts.Logger.Error("tool gave a chart that is not JSON", "tool", p.spec.Name, "conversation", r.stream)
		res.Chart = nil
	}
	if len(out.Detail) <= maxDetail && json.Valid(out.Detail) {
		res.Detail = out.Detail
	} else if out.Detail != nil {
		r.e.opts.Logger.Warn("a tool's detail is dropped",
			"tool", p.spec.Name, "conversation", r.stream, "bytes", len(out.Detail))
	}
}

// bounded is the text of a result as it is stored: valid UTF-8, without anything that
// its reader would not see, and not endless.
func bounded(s string) string {
	s = visible.Text(strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) <= maxContent {
		return s
	}
	const end = "\n… (cut here: the result is too long)"
	return strings.ToValidUTF8(s[:maxContent-len(end)], "") + end
}

// keepStatements keeps the statements of a call that broke for the result with which the end of
// the run closes it.
func (r *run) keepStatements(call string, ran []footnote.Statement) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cutShort == nil {
		r.cutShort = map[string][]footnote.Statement{}
	}
	r.cutShort[call] = ran
}
