package agent

import (
	"context"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/footnotehq/footnote"
)

const (
	sideJobs = 4                // calls of Complete side by side; others wait
	sideTime = 60 * time.Second // for one of them, waiting included
	sideSize = 10               // times the longest message: its prompt quotes a conversation
)

// Complete makes one model call without tools and without storing anything: for
// side jobs such as titles. At most a few run side by side; it waits for its turn.
//
// The error's code is InputTooLong for a prompt of more than ten times the longest
// message, AgentTimeout after a minute, ModelUnavailable when the engine drains,
// or the model's.
func (e *Engine) Complete(ctx context.Context, p footnote.Principal, prompt string) (string, footnote.Usage, error) {
	a := e.opts.Assistants[0]
	if n, most := utf8.RuneCountInString(prompt), sideSize*a.Limits.InputSize; n > most {
		return "", footnote.Usage{}, footnote.Errorf(footnote.InputTooLong, "The prompt has %d characters; at most %d are allowed.", n, most)
	}
	leave, err := e.enter()
	if err != nil {
		return "", footnote.Usage{}, err
	}
	defer leave()
	ctx, cancel := e.sideContext(ctx)
	defer cancel()
	select {
	case e.side <- struct{}{}:
		defer func() { <-e.side }()
	case <-ctx.Done():
		return "", footnote.Usage{}, sideError(ctx, nil)
	}
	begun := e.opts.Now()
	reply, err := e.call(ctx, a, Request{
		Principal: p,
		Model:     a.ModelName,
		System:    []byte(`[]`),
		Tools:     []byte(`[]`),
		Messages:  []Message{{Role: "user", Content: textContent(prompt)}},
		NoTools:   true,
		MaxCost:   a.Limits.MicroUSD,
	}, deaf{})
	took := e.opts.Now().Sub(begun)
	if err != nil {
		se := stepError(err)
		e.opts.Metrics.StepEnded(a.ModelName, se.Usage, se.Cost, took, true)
		return "", footnote.Usage{}, sideError(ctx, err)
	}
	m := reply.Message
	e.opts.Metrics.StepEnded(m.Model, m.Usage, m.Cost, took, false)
	return Text(m.Blocks), m.Usage, nil
}

// sideContext ends with the caller, with the engine, or when the time is over.
func (e *Engine) sideContext(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancelCause(ctx)
	detach := context.AfterFunc(e.ctx, func() { stop(context.Cause(e.ctx)) })
	ctx, cancel := context.WithTimeoutCause(ctx, sideTime, errRunTime)
	return ctx, func() { cancel(); detach(); stop(nil) }
}

// sideError classifies why a side job gave nothing.
func sideError(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errRunTime):
		return &footnote.Error{Code: footnote.AgentTimeout, Message: "The answer took too long.", Err: err}
	case errors.Is(cause, ErrShutdown):
		return &footnote.Error{Code: footnote.ModelUnavailable, Message: "The server is shutting down. Try again in a moment.", RetryAfter: 5 * time.Second, Err: err}
	case cause != nil:
		return cause
	default:
		return err
	}
}

// deaf is a Live that nobody listens to.
type deaf struct{}

func (deaf) Start(int, string, string, string)          {}
func (deaf) Delta(int, []byte)                          {}
func (deaf) Stop(int)                                   {}
func (deaf) Flush()                                     {}
func (deaf) Retrying(int, footnote.Code, time.Duration) {}
