package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/tool"
)

// plan describes how one open call will be answered.
type plan struct {
	call    openCall
	tool    tool.Tool
	spec    tool.Spec
	refusal string // the text that the model reads instead of a result
	ask     bool   // a person must approve it first
	wait    bool   // a client or a person must act on it
	// approval is set while a person's approval is missing, and outside says which text from outside makes it
	// necessary, if any does.
	approval bool
	outside  string
	// declined is set when a person declined the call.
	declined bool
	// mayHaveRun is set when a process that died may have made the call before it was refused.
	mayHaveRun bool
}

// settle answers the open calls of the newest message. It runs the server-side calls, read-only ones concurrently, and
// parks the run when the others must wait.
func (r *run) settle() (parked bool, err error) {
	for {
		if err := r.checkCalls(); err != nil {
			return false, err
		}
		kept, err := r.keepForPage()
		if err != nil {
			return false, err
		}
		mine, parked, err := r.park(kept)
		if err != nil || len(mine) == 0 {
			return parked, err
		}
		if err := r.runCalls(mine); err != nil {
			return false, err
		}
	}
}

// checkCalls lets client tools check the calls that wait for the client, once each, in the order in which the model
// made them. This happens before the run parks, so that a client that waits for the run to park never sees a refused
// call.
func (r *run) checkCalls() error {
	type waiting struct {
		tool tool.Checked
		call tool.Call
	}
	var calls []waiting
	r.mu.Lock()
	for _, c := range r.s.open() {
		if p := r.plan(c); p.wait && p.spec.Side == tool.Client {
			if tool, ok := p.tool.(tool.Checked); ok {
				call := r.s.toolCall(p.call, p.spec.Name, r.turn.Principal, r.stream, r.id)
				calls = append(calls, waiting{tool, call})
			}
		}
	}
	r.mu.Unlock()
	var before []tool.Call
	for _, w := range calls {
		r.mu.Lock()
		words, done := r.checkedCalls[w.call.ID]
		r.mu.Unlock()
		if !done {
			var err error
			if words, err = r.checkCall(w.tool, w.call, before); err != nil {
				return err
			}
			r.mu.Lock()
			put(&r.checkedCalls, w.call.ID, words)
			r.mu.Unlock()
		}
		if words == "" {
			before = append(before, w.call)
		}
	}
	return nil
}

// checkCall calls Check, and retries while the store is unavailable.
func (r *run) checkCall(tool tool.Checked, call tool.Call, before []tool.Call) (words string, err error) {
	err = r.retryDuringOutage(r.ctx, func() (err error) {
		words, err = r.checkCallOnce(tool, call, before)
		return err
	})
	return words, err
}

// checkCallOnce calls Check under the time limit of tools. If Check takes longer or panics, the call is refused.
func (r *run) checkCallOnce(tool tool.Checked, call tool.Call, before []tool.Call) (words string, err error) {
	ctx, cancel := context.WithTimeoutCause(r.ctx, r.a.Limits.Tool, errToolTime)
	defer cancel()
	defer onPanic(r.log, "check of a call panicked", func(any) {
		words, err = "The call could not be checked. This is a fault of the server, not of the call.", nil
	}, "tool", call.Name)
	words, err = tool.Check(ctx, call, before)
	if err != nil && errors.Is(context.Cause(ctx), errToolTime) {
		return "The call could not be checked in time, and was not made.", nil
	}
	return words, err
}

// plan decides what to do with a call. r.mu must be held.
func (r *run) plan(c openCall) plan {
	p := plan{call: c}
	p.tool, p.spec = r.tool(&p.call)
	if p.spec.Side == tool.Server {
		p.call.source = r.s.sourceOf(p.call)
	}
	p.mayHaveRun = r.recovered && !r.s.unapproved(c.ID)
	if p.tool == nil {
		p.refusal = r.missing(c.Name)
		return p
	}
	r.judge(&p)
	if r.s.started.Unattended && (p.ask || p.wait) {
		p.refusal, p.ask, p.wait, p.mayHaveRun = unattended(p), false, false, false
	}
	r.refuseInvalid(&p)
	return p
}

// judge decides whether a call of a known tool is refused, made, or waits for a person or a client.
func (r *run) judge(p *plan) {
	c := p.call
	decision, decided := r.s.approvals[c.ID]
	p.outside = r.outsideText(p.spec)
	standing := p.outside == "" && r.s.isAlways(p.spec.Name)
	switch verdict := r.a.Policy.Verdict(p.spec); {
	case verdict == Deny || verdict == Unlisted:
		p.refusal = "The tool " + p.spec.Name + " may not be used here."
	case !r.isFrozen(p.tool):
		p.refusal = "The tool " + p.spec.Name + " has changed since this conversation began, so it cannot be used in " +
			"it. Tell the user that it can be used in a new conversation."
	case decided && !decision.Approved:
		p.refusal, p.declined = declined(decision.Reason), true
	case r.s.costly[c.ID] && !decided:
		p.approval, p.wait = true, true
	case (verdict == Ask || p.outside != "") && !decided && !standing:
		p.ask, p.approval = !r.s.asked[c.ID], true
		p.wait = !p.ask
	case p.spec.Side == tool.Client:
		p.wait = true
	case r.recovered && !p.spec.ReadOnly:
		p.refusal = mayHaveRun
	}
}

// refuseInvalid refuses a call with invalid input, or one that checkCalls refused.
func (r *run) refuseInvalid(p *plan) {
	c := p.call
	if p.refusal == "" && r.a.Validate != nil && (!p.wait || p.spec.Side == tool.Client) {
		if err := r.a.Validate(p.spec.Name, p.call.Input); err != nil {
			p.refusal, p.ask, p.wait = err.Error(), false, false
		}
	}
	if words := r.checkedCalls[c.ID]; words != "" && p.refusal == "" {
		p.refusal, p.ask, p.wait = words, false, false
	}
}

func declined(reason string) string {
	if reason = strings.TrimSpace(reason); reason != "" {
		return "The user declined: " + reason
	}
	return "The user declined this call."
}

// unattended returns the refusal of a call that a client or a person would have to act on, in a run without one.
func unattended(p plan) string {
	switch {
	case p.spec.Family == tool.Question:
		return "No one can answer a question here. Continue with the most likely assumption, " +
			"and say in your answer what you assumed."
	case p.spec.Side == tool.Client:
		return "The tool " + p.spec.Name + " runs in the user's page, and no page is open here. Continue without it."
	case p.outside != "":
		return "A person must approve calls of " + p.spec.Name + ", because this conversation has read text from " +
			"outside (" + p.outside + "), and no one can do so here. Continue without it."
	default:
		return "A person must approve calls of " + p.spec.Name + ", and no one can do so here. Continue without it."
	}
}

// tool returns the tool of a call, by name or alias. For an alias, it also renames the arguments of the call.
func (r *run) tool(c *openCall) (tool.Tool, tool.Spec) {
	for _, t := range r.a.tools() {
		s := t.Spec()
		if !r.e.opts.Access.Tool(r.turn.Principal, s.Name) {
			continue
		}
		if s.Name == c.Name {
			return t, s
		}
		if args, ok := s.Aliases[c.Name]; ok {
			c.Input = renameArguments(c.Input, args)
			return t, s
		}
	}
	return nil, tool.Spec{}
}

func renameArguments(input json.RawMessage, names map[string]string) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(input, &object) != nil {
		return input
	}
	for alias, name := range names {
		if v, ok := object[alias]; ok && object[name] == nil {
			object[name] = v
			delete(object, alias)
		}
	}
	return marshal(object)
}

func (r *run) offered() []string {
	var names []string
	for _, t := range r.a.tools() {
		s := t.Spec()
		if v := r.a.Policy.Verdict(s); (v == Allow || v == Ask) && r.e.opts.Access.Tool(r.turn.Principal, s.Name) {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	return names
}

// refuse stores words as the result of calls that will not run.
func (r *run) refuse(calls []openCall, words string) {
	for _, c := range calls {
		r.put(nil, footnote.ToolResult{
			CallID: c.ID, Name: c.Name, Content: words, IsError: true, By: "server",
			Statements: statementsNotRun(r.s.named(r.a, c)),
		})
	}
}

// runCalls handles calls in order. Adjacent read-only calls run concurrently.
func (r *run) runCalls(plans []plan) error {
	for len(plans) > 0 {
		n := 1
		for plans[0].concurrent() && n < len(plans) && plans[n].concurrent() {
			n++
		}
		if err := r.runGroup(plans[:n]); err != nil {
			return err
		}
		plans = plans[n:]
	}
	return nil
}

// concurrent reports whether a call may be handled concurrently with others.
func (p plan) concurrent() bool { return !p.ask && (p.refusal != "" || p.spec.ReadOnly) }

// outcome holds the result of one call.
type outcome struct {
	result footnote.ToolResult
	ask    *footnote.ApprovalAsked // instead of a result: a person must approve the call
	rows   *footnote.Result
	blobs  map[footnote.Digest][]byte
	price  int64 // promised for the call until its result is put
	err    error
}

// runGroup runs calls concurrently and puts their results in the order of the calls.
func (r *run) runGroup(plans []plan) error {
	if plans[0].ask {
		c := plans[0].call
		r.put(nil, footnote.ApprovalAsked{ApprovalID: r.s.approvalID(c.ID), CallID: c.ID, Outside: plans[0].outside})
		return nil
	}
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx) // start no call after the end of the run
	}
	if !plans[0].concurrent() {
		// The message with the call must be stored before the call changes anything.
		if err := r.w.flush(); err != nil {
			return err
		}
		// After a pause, another engine may have taken the run over.
		if err := r.retryDuringOutage(r.ctx, func() error { return r.w.secure(r.ctx) }); err != nil {
			return err
		}
	}
	slots := make(chan struct{}, r.a.Limits.Parallel)
	outcomes := make([]chan outcome, len(plans))
	for i, p := range plans {
		outcomes[i] = make(chan outcome, 1)
		if len(plans) == 1 {
			outcomes[i] <- r.call(p)
			break
		}
		slots <- struct{}{}
		r.e.work.Go(func() {
			defer func() { <-slots }()
			outcomes[i] <- r.call(p)
		})
	}
	var failed error
	for i := range plans {
		o := <-outcomes[i]
		switch {
		case o.err == nil:
			r.keepResult(o) // even if another call failed
		case failed == nil:
			failed = o.err
		}
	}
	return failed
}

// keepResult puts a result and keeps its rows for the footnotes.
func (r *run) keepResult(o outcome) {
	switch {
	case o.ask != nil:
		r.put(nil, *o.ask)
	case o.price > 0:
		r.keepPricedResult(o)
	default:
		r.put(o.blobs, o.result)
	}
	if o.rows != nil && o.result.Result != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.rows[o.result.Result.ID] = *o.rows
	}
}

// keepPricedResult puts the result of a call with a price, and settles the price. The prices of calls still under way
// stay promised, and count if the process dies.
func (r *run) keepPricedResult(o outcome) {
	p := &r.budget
	p.mu.Lock()
	defer p.mu.Unlock()
	p.promised -= o.price
	settle := p.reservation.Settle(footnote.Usage{}, o.result.Cost, true)
	for i := range settle {
		settle[i].Lost.MicroUSD = p.promised + p.maybeSpent
	}
	r.putSettled(settle, o.blobs, o.result)
}

func resultID(c openCall) string { return fmt.Sprintf("r%d", c.ordinal) }

// approvalID returns the id of the newest approval that a call needs. A call may need two: one because of its tool, and
// one because of its cost, which is known only when the call is made.
func (s *state) approvalID(call string) string {
	if s.costly[call] {
		return "cost_" + call
	}
	return "appr_" + call
}
