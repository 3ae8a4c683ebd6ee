package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/visible"
	"github.com/footnotehq/footnote/tool"
)

// errToolTime is the cause of a tool call that took too long.
var errToolTime = errors.New("the tool call timed out")

// How long a tool may take to notice a timeout, or that its run was stopped, before the run continues without it.
const (
	toolGrace = 2 * time.Second
	stopGrace = 500 * time.Millisecond
)

// maxContent is the largest text of a result that a model reads, and maxDetail the largest detail kept for the page, in
// bytes.
const (
	maxContent = 1 << 20
	maxDetail  = 256 << 10
)

// execution holds the state of a call while it is made.
type execution struct {
	plan
	ran *footnote.Statements // the statements that sources recorded
	out tool.Output
	// broke is the outcome for statements that have none, because the tool broke or took too long. It is empty before
	// the tool is called and after it has answered.
	broke string

	mu    sync.Mutex // guards below
	price int64      // promised for the call, in millionths of a US dollar
	ended bool       // nothing more can be paid for
}

// call runs one call, or refuses it. A panic is an error of this run alone.
func (r *run) call(p plan) (o outcome) {
	if p.refusal != "" {
		return r.refusedCall(p)
	}
	if r.ctx.Err() != nil {
		return outcome{err: context.Cause(r.ctx)} // the run ended while the call waited for a free place
	}
	c, begun := &execution{plan: p}, r.e.opts.Now()
	defer func() {
		if o.err != nil && c.ran != nil { // the end of the run stores them with the result of the call
			r.mu.Lock()
			defer r.mu.Unlock()
			put(&r.cutShort, p.call.ID, c.statements())
		}
	}()
	defer onPanic(r.log, "call panicked", func(panicked any) {
		o = outcome{err: fmt.Errorf("call of %s panicked: %v", p.spec.Name, panicked)}
	}, "tool", p.spec.Name)
	res := footnote.ToolResult{CallID: p.call.ID, Name: p.call.Name, By: "server"}
	if err := r.pay(c, r.e.opts.Budget.ToolPrice(p.spec.Name)); err != nil {
		return r.unpaid(res, p.call, err)
	}
	settled := false
	defer func() {
		if cost := c.total(); !settled && cost > 0 {
			r.budget.callBroke(cost)
		}
	}()
	var ctx context.Context
	ctx, c.ran = footnote.WithStatements(r.ctx)
	clearance := r.clearance(c)
	out, err := r.callDuringOutage(footnote.WithClearance(ctx, clearance), c)
	cost, took := c.total(), r.e.opts.Now().Sub(begun)
	if reason := clearance.Reason(); reason != "" && clearance.CanAsk && cost == 0 && err == nil {
		r.e.opts.Metrics.ToolEnded(p.spec.Name, "asked", took)
		r.log.Info("a statement needs approval", "tool", p.spec.Name, "reason", reason)
		ask := footnote.ApprovalAsked{ApprovalID: "cost_" + p.call.ID, CallID: p.call.ID, Reason: reason}
		return outcome{ask: &ask}
	}
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
		o.result.Result.Parents, o.result.Marks = out.Parents, r.wantsMarks()
		o.result.Result.Verified = out.Verified
	}
	return o
}

// refusedCall returns the outcome of a refused call.
func (r *run) refusedCall(p plan) outcome {
	r.e.opts.Metrics.ToolEnded(p.spec.Name, "refused", 0)
	res := footnote.ToolResult{CallID: p.call.ID, Name: p.call.Name, By: "server", Content: p.refusal, IsError: true}
	if p.declined {
		res.By = "user"
	}
	res.Statements = statementsNotRun(p.call)
	if p.mayHaveRun {
		res.Statements = statementsMaybeRun(p.call, footnote.StatementCancelled)
	}
	return outcome{result: res}
}

// clearance returns the clearance of a call. A person is asked only for calls that can be made twice: the first time
// shows what the call would read.
func (r *run) clearance(c *execution) *footnote.Clearance {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &footnote.Clearance{
		CanAsk:  !r.s.started.Unattended && c.spec.ReadOnly,
		Given:   r.s.costly[c.call.ID] && r.s.approvals[c.call.ID].Approved,
		Reserve: func(_ context.Context, microUSD int64) error { return r.pay(c, microUSD) },
	}
}

var errCallEnded = errors.New("the call has ended")

// pay promises money for a call, in addition to the cost of the closing call. What a call that breaks was promised
// counts at the end of the run, because the call may have been made.
func (r *run) pay(c *execution, cost int64) error {
	if cost <= 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return errCallEnded
	}
	err := r.promise(cost)
	if err == nil {
		c.price += cost
	}
	return err
}

// total ends the payments of a call, and returns their sum.
func (c *execution) total() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	return c.price
}

// promise reserves money for a call.
func (r *run) promise(cost int64) error {
	r.budget.mu.Lock() // before r.mu, as in keepPricedResult
	defer r.budget.mu.Unlock()
	r.mu.Lock()
	left, c := r.left(), r.spending()
	r.mu.Unlock()
	promised := r.budget.promised + r.budget.maybeSpent + cost
	if promised+r.budget.closingCost > left {
		return footnote.Errorf(footnote.BudgetExceeded, "The rest of the budget of this question does not cover it.")
	}
	if err := r.w.flush(); err != nil { // the store must know what the run has spent
		return err
	}
	c.Max.MicroUSD, c.Lost.MicroUSD, c.Wait = promised+r.budget.closingCost, promised, false
	c.Enough = c.Max
	h, err := r.reserve(c)
	if err != nil {
		r.budget.unknown = r.budget.unknown || footnote.CodeOf(err) != footnote.BudgetExceeded // it may have been made
		return err
	}
	r.budget.reservation = h
	r.budget.promised += cost
	return nil
}

// callBroke records the price of a call that broke and may have been made.
func (p *budget) callBroke(price int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.promised -= price
	p.maybeSpent += price
}

// unpaid returns the outcome of a call whose price could not be reserved.
func (r *run) unpaid(res footnote.ToolResult, c openCall, err error) outcome {
	if footnote.CodeOf(err) != footnote.BudgetExceeded {
		return outcome{err: err}
	}
	r.e.opts.Metrics.ToolEnded(res.Name, "refused", 0)
	res.Content, res.IsError = "The call was not made. "+footnote.MessageOf(err), true
	res.Statements = statementsNotRun(c)
	return outcome{result: res}
}

// callDuringOutage calls the tool, and handles a store that becomes unavailable meanwhile. It retries a read-only call.
// For any other call, the model reads that the call may have run.
func (r *run) callDuringOutage(ctx context.Context, m *execution) (out tool.Output, err error) {
	if !m.spec.ReadOnly {
		if out, err = r.callTool(ctx, m); isOutage(err) {
			r.log.Warn("the store became unavailable during a call", "tool", m.spec.Name, "err", err)
			return tool.Fail(mayHaveRun), nil
		}
		return out, err
	}
	err = r.retryDuringOutage(r.ctx, func() error {
		out, err = r.callTool(ctx, m)
		return err
	})
	return out, err
}

// mayHaveRun is the result that the model reads for a call that may or may not have changed something.
const mayHaveRun = "This call was interrupted and may have run. Check before you make it again."

func (r *run) callTool(ctx context.Context, m *execution) (tool.Output, error) {
	r.mu.Lock()
	c := r.s.toolCall(m.call, m.spec.Name, r.turn.Principal, r.stream, r.id)
	c.Rows = r.rowsOf
	r.mu.Unlock()
	ctx, end := r.e.opts.Tracer.Tool(ctx, c)
	out, err := r.limited(ctx, m, c)
	end(out, err)
	m.out = out
	return out, err
}

// toolCall returns a call as its tool receives it.
func (s *state) toolCall(c openCall, name string, p footnote.Principal, stream, run string) tool.Call {
	return tool.Call{
		ID: c.ID, Name: name, Input: c.Input, Principal: p, Conversation: stream, Run: run, Where: s.where(),
		Sources: s.opened.Sources, ResultID: resultID(c), Results: s.stored[:len(s.stored):len(s.stored)],
		Read: s.events[:c.read:c.read],
	}
}

// limited runs a tool under its time limit. If the tool panics or does not stop in time, the call has failed and the
// run continues.
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
		defer onPanic(r.log, "tool panicked", func(any) {
			const words = "The tool broke while it ran. This is a fault of the server, not of the call."
			done <- answer{out: tool.Fail(words), panicked: true}
		}, "tool", m.spec.Name)
		out, err := m.tool.Call(ctx, c)
		done <- answer{out: out, err: err}
	})
	over := tool.Fail(fmt.Sprintf("The call took longer than %s and was ended. Ask for less.", limit))
	over.Fault = footnote.FaultLimited
	var a answer
	select {
	case a = <-done:
	case <-ctx.Done():
		patience := toolGrace
		if r.ctx.Err() != nil {
			patience = stopGrace
		}
		select {
		case a = <-done:
		case <-time.After(patience):
			r.log.Error("tool ignores its context", "tool", m.spec.Name)
			a.err = context.Cause(ctx)
		}
	}
	switch {
	case a.err != nil && errors.Is(context.Cause(ctx), errToolTime):
		m.broke = footnote.StatementTimedOut
		return over, nil
	case a.err != nil && r.ctx.Err() != nil:
		m.broke = r.interruptedOutcome()
	case a.err == nil && !a.panicked:
		m.broke = ""
	}
	return a.out, a.err
}

// interruptedOutcome returns the outcome of a statement that was still running when the run ended.
func (r *run) interruptedOutcome() string {
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
	r.log.Info("tool call ended", "tool", p.spec.Name, "outcome", word, "cache_hit", out.CacheHit,
		"took_ms", took.Milliseconds())
	res.Content, res.IsError, res.Chart, res.CacheHit = bounded(out.Content), out.IsError, out.Chart, out.CacheHit
	res.Fault = out.Fault
	if out.CacheHit {
		res.RanAt = out.RanAt.UTC()
	}
	if out.Chart != nil && !json.Valid(out.Chart) {
		r.log.Error("dropped a chart that is not JSON", "tool", p.spec.Name)
		res.Chart = nil
	}
	if len(out.Detail) <= maxDetail && json.Valid(out.Detail) {
		res.Detail = out.Detail
	} else if out.Detail != nil {
		r.log.Warn("dropped the detail of a result: it is too large or not JSON", "tool", p.spec.Name,
			"bytes", len(out.Detail))
	}
}

// bounded returns the text of a result as it is stored: valid UTF-8, without invisible characters, and at most
// maxContent bytes.
func bounded(s string) string {
	s = visible.Text(strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) <= maxContent {
		return s
	}
	const end = "\n… (cut here: the result is too long)"
	return strings.ToValidUTF8(s[:maxContent-len(end)], "") + end
}
