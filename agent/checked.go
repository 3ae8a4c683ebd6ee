package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/tool"
)

// vet lets the tools of the client's side look at calls that wait for the client, once,
// in the order in which the model made them. Only then does the run park: a client that
// waits for that sees no call which is refused.
func (r *run) vet() error {
	type waiting struct {
		tool tool.Checked
		call tool.Call
	}
	var calls []waiting
	r.mu.Lock()
	for _, c := range r.s.open() {
		if p := r.plan(c); p.wait && p.spec.Side == tool.Client {
			if tool, ok := p.tool.(tool.Checked); ok {
				calls = append(calls, waiting{tool, r.s.tell(p.call, p.spec.Name, r.turn.Principal, r.stream, r.id)})
			}
		}
	}
	r.mu.Unlock()
	var before []tool.Call
	for _, w := range calls {
		r.mu.Lock()
		words, done := r.vetted[w.call.ID]
		r.mu.Unlock()
		if !done {
			var err error
			if words, err = r.checked(w.tool, w.call, before); err != nil {
				return err
			}
			r.mu.Lock()
			put(&r.vetted, w.call.ID, words)
			r.mu.Unlock()
		}
		if words == "" {
			before = append(before, w.call)
		}
	}
	return nil
}

// checked is Check, retried while the store is away.
func (r *run) checked(tool tool.Checked, call tool.Call, before []tool.Call) (words string, err error) {
	err = r.retryWhileAway(r.ctx, func() (err error) {
		words, err = r.checkedOnce(tool, call, before)
		return err
	})
	return words, err
}

// checkedOnce is Check, under the time limit of tools. One that takes longer refuses the
// call, as does one that breaks.
func (r *run) checkedOnce(tool tool.Checked, call tool.Call, before []tool.Call) (words string, err error) {
	ctx, cancel := context.WithTimeoutCause(r.ctx, r.a.Limits.Tool, errToolTime)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			r.e.opts.Logger.Error("check of a call panicked", "tool", call.Name, "conversation", r.stream, "panic", p,
				"stack", string(debug.Stack()))
			words, err = "The call could not be checked. This is a fault of the server, not of the call.", nil
		}
	}()
	words, err = tool.Check(ctx, call, before)
	if err != nil && errors.Is(context.Cause(ctx), errToolTime) {
		return "The call could not be checked in time, and was not made.", nil
	}
	return words, err
}

// acceptTime is how long the effect of a client's answer may take. It does not depend
// on whether the client still waits.
const acceptTime = 10 * time.Second

// given is accept for a run that goes on.
func (r *run) given(t Turn) (map[string]tool.Output, error) {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil, nil // the parked run takes them
	}
	fresh, err := r.s.check(r.a, t)
	if err != nil {
		lost := r.s.overruled(r.a, t, r.stream)
		r.mu.Unlock()
		r.e.withdraw(lost)
		return nil, err
	}
	calls := r.s.answered(r.a, fresh, r.stream)
	r.mu.Unlock()
	return r.e.accepted(context.Background(), calls)
}

// accept lets the tools of the client's side take the answers of a turn, which were
// checked before. What it gives is by call.
func (e *Engine) accept(ctx context.Context, a *Assistant, s *state, stream string,
	fresh Turn) (map[string]tool.Output, error) {
	return e.accepted(ctx, s.answered(a, fresh, stream))
}

// answer is what a tool is to take.
type answer struct {
	tool tool.Checked
	call tool.Call
	tool.Answer
}

// answered are the answers of a turn that are a Checked tool's to take.
func (s *state) answered(a *Assistant, fresh Turn, stream string) []answer {
	return s.checked(a, fresh, stream, func(an tool.Answer) bool { return !an.IsError })
}

// denied are the answers of a turn, accepted or not, that say of a Checked tool's call that
// it failed. An answer that said otherwise may have had its effect and never come into the
// log, with the server that took it: what it has done does not count.
func (s *state) denied(a *Assistant, fresh Turn, stream string) []answer {
	return s.checked(a, fresh, stream, func(an tool.Answer) bool {
		return an.IsError || an.Accepted != nil && an.Accepted.IsError
	})
}

// checked are those answers to open calls of Checked tools of which a function says so.
func (s *state) checked(a *Assistant, fresh Turn, stream string, wanted func(tool.Answer) bool) (list []answer) {
	open := map[string]openCall{}
	for _, c := range s.open() {
		open[c.ID] = c
	}
	for _, an := range fresh.Answers {
		c, ok := open[an.CallID]
		if !ok || !wanted(an) {
			continue
		}
		if tool := a.checked(c.Name); tool != nil {
			list = append(list, answer{tool, s.tell(c, c.Name, fresh.Principal, stream, s.run), an})
		}
	}
	return list
}

// checked is the Checked tool of a name; nil when there is none.
func (a *Assistant) checked(name string) tool.Checked {
	for _, t := range a.Tools {
		if tool, ok := t.(tool.Checked); ok && t.Spec().Name == name {
			return tool
		}
	}
	return nil
}

func (e *Engine) accepted(ctx context.Context, list []answer) (given map[string]tool.Output, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), acceptTime)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("tool panicked over an answer: %v\n%s", p, debug.Stack())
		}
	}()
	for _, an := range list {
		out, err := an.tool.Accept(ctx, an.call, an.Answer)
		if err != nil {
			return nil, err
		}
		put(&given, an.call.ID, out)
	}
	return given, nil
}

// overruled are the answers of a turn to calls of which the log says an error: they came
// too late, and what they may have done does not count.
func (s *state) overruled(a *Assistant, t Turn, stream string) (list []answer) {
	late := map[string]tool.Answer{}
	for _, an := range t.Answers {
		if res, ok := s.results[an.CallID]; ok && res.IsError && !an.IsError {
			late[an.CallID] = an
		}
	}
	if len(late) == 0 {
		return nil
	}
	var where json.RawMessage
	for _, ev := range s.events {
		switch b := ev.Body.(type) {
		case footnote.UserMessage:
			if b.Where != nil {
				where = b.Where
			}
		case footnote.AssistantMessage:
			for _, c := range toolCalls(b.Blocks) {
				an, ok := late[c.ID]
				if checked := a.checked(c.Name); ok && checked != nil {
					list = append(list, answer{checked, tool.Call{
						ID: c.ID, Name: c.Name, Input: c.Input, Principal: t.Principal, Conversation: stream,
						Run: ev.Run, Where: where,
					}, an})
				}
			}
		}
	}
	return list
}

// abandoned are the calls of a Checked tool that wait, as if they had been answered: the
// server that took the answer may have died before the log had it.
func (s *state) abandoned(a *Assistant, p footnote.Principal, stream string) []answer {
	t := Turn{Principal: p}
	for _, c := range s.waiting() {
		t.Answers = append(t.Answers, tool.Answer{CallID: c.ID})
	}
	return s.answered(a, t, stream)
}

// withdraw takes back what answers have done that the log did not take.
func (e *Engine) withdraw(list []answer) {
	ctx, cancel := context.WithTimeout(context.Background(), acceptTime)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			e.opts.Logger.Error("tool panicked over an answer that does not count", "panic", p, "stack",
				string(debug.Stack()))
		}
	}()
	for _, an := range list {
		if err := an.tool.Withdraw(ctx, an.call); err != nil {
			e.opts.Logger.Error("what an answer has done that does not count is still there", "tool", an.call.Name,
				"call", an.call.ID, "conversation", an.call.Conversation, "err", err)
		}
	}
}

// have notes what tools made of the answers.
func (t *Turn) have(given map[string]tool.Output) {
	for i, a := range t.Answers {
		if out, ok := given[a.CallID]; ok {
			t.Answers[i].Accepted = &out
		}
	}
}
