package agent

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/mark"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/tool"
)

const (
	maxSideCalls = 4                // concurrent side calls; others wait
	sideCallTime = 60 * time.Second // for one side call, waiting included
	sideCallSize = 10               // times the longest message: its prompt quotes a conversation
)

// Complete makes one model call without tools for a side job, such as writing a statement. It stores only the usage of
// the call, and returns that too, even with an error. At most a few side calls run at a time; others wait.
//
// The error's code is InputTooLong for a prompt of more than ten times the longest message, BudgetExceeded before the
// model is called, AgentTimeout after a minute, ModelUnavailable when the engine drains, StorageUnavailable when the
// usage cannot be stored, or the model's own code.
func (e *Engine) Complete(ctx context.Context, p footnote.Principal, prompt string) (string, footnote.Spent, error) {
	a := e.first(p)
	if a == nil {
		return "", footnote.Spent{}, footnote.Errorf(footnote.ModelNotFound, "There is no assistant.")
	}
	tier, err := e.tier(p, a, "")
	if err != nil {
		return "", footnote.Spent{}, err
	}
	if n, limit := utf8.RuneCountInString(prompt), sideCallSize*a.Limits.InputSize; n > limit {
		return "", footnote.Spent{},
			footnote.Errorf(footnote.InputTooLong, "The prompt has %d characters; at most %d are allowed.", n, limit)
	}
	leave, err := e.enter()
	if err != nil {
		return "", footnote.Spent{}, err
	}
	defer leave()
	m, hold, err := e.sideCall(ctx, a, "", Spending{Wait: true, Tier: tier.Name}, model.Request{
		Principal: p,
		Model:     tier.Model,
		Messages:  []model.Message{{Role: "user", Content: textContent(prompt)}},
		MaxCost:   cmp.Or(e.opts.Budget.PerRun(p), a.Limits.MicroUSD),
	})
	spent := footnote.Spent{Model: m.Model, Usage: m.Usage, Cost: m.Cost}
	if err == nil {
		err = e.spent(ctx, p, spent, hold)
	}
	if err != nil {
		return "", spent, err
	}
	return Text(m.Blocks), spent, nil
}

// accountID is the ClientID of the stream that records the usage of a user's side calls.
const accountID = "spent"

const (
	spentTime  = 10 * time.Second
	spentTries = 20 // other processes may write to the same account
)

// spent stores the usage of a side call, whether or not its caller still waits.
func (e *Engine) spent(ctx context.Context, p footnote.Principal, b footnote.Spent, hold Reservation) error {
	if b.Usage == (footnote.Usage{}) && b.Cost == (footnote.Cost{}) {
		hold.Drop()
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), spentTime)
	defer cancel()
	unlock, err := e.lock(ctx, "account\x00"+p.Org+"\x00"+p.User)
	if err != nil {
		return err
	}
	defer unlock()
	for range spentTries {
		if err = e.account(ctx, p, b, hold.Settle(b.Usage, b.Cost, false)); footnote.CodeOf(err) != footnote.Conflict {
			break
		}
	}
	return err
}

// wasted stores the usage of a side call that gave nothing to store in its conversation.
func (e *Engine) wasted(ctx context.Context, p footnote.Principal, conversation, purpose string,
	m footnote.AssistantMessage, hold Reservation) error {
	return e.spent(ctx, p, footnote.Spent{
		Model: m.Model, Usage: m.Usage, Cost: m.Cost, Conversation: conversation, For: purpose,
	}, hold)
}

// account appends to the stream of a user's side calls, and creates it for the first one. The error's code is Conflict
// when another process was quicker.
func (e *Engine) account(ctx context.Context, p footnote.Principal, b footnote.Spent, settle []footnote.Settle) error {
	head, err := e.opts.Log.Find(ctx, p.Org, p.User, "account", accountID)
	switch {
	case footnote.CodeOf(err) == footnote.NotFound:
		head = footnote.Stream{
			ID: "acct_" + rand.Text(), Kind: "account", Org: p.Org, User: p.User, ClientID: accountID,
		}
		_, err = e.opts.Log.CreateAppend(ctx, head, footnote.Append{Bodies: []footnote.Body{b}, Settle: settle})
	case err == nil:
		_, err = e.opts.Log.Append(ctx, footnote.Append{
			Stream: head.ID, After: head.Last, Bodies: []footnote.Body{b}, Settle: settle,
		})
	}
	return err
}

// sideCall reserves money, waits for a free place, makes one model call outside the runs, and returns the message with
// its reservation. The usage of a failed call is stored, and returned in a message without content. Purpose is
// ForTitle, ForSummary, or empty when the caller writes the audit entry itself.
func (e *Engine) sideCall(ctx context.Context, a *Assistant, purpose string, c Spending,
	req model.Request) (footnote.AssistantMessage, Reservation, error) {
	ctx, cancel := e.sideCallContext(ctx)
	defer cancel()
	req.System, req.Tools, req.NoTools = []byte(`[]`), []byte(`[]`), true
	c.TTL = cmp.Or(c.TTL, sideCallTime) + graceTTL
	hold, err := e.reserve(ctx, a, &req, c) // first: a call that waits for money must not occupy a place
	if err != nil {
		return footnote.AssistantMessage{}, nil, err
	}
	select {
	case e.sideCalls <- struct{}{}:
		defer func() { <-e.sideCalls }()
	case <-ctx.Done():
		hold.Drop()
		return footnote.AssistantMessage{}, nil, sideCallError(ctx, nil)
	}
	begun := e.opts.Now()
	reply, err := e.call(ctx, a, &req, noLive{})
	took := e.opts.Now().Sub(begun)
	if err != nil {
		se := stepError(err)
		e.opts.Metrics.StepEnded(req.Model, se.Usage, se.Cost, took, true)
		e.opts.Metrics.StepFailed(se.Code)
		m := footnote.AssistantMessage{Model: req.Model, Usage: se.Usage, Cost: se.Cost}
		if lost := e.wasted(ctx, req.Principal, c.Conversation, purpose, m, hold); lost != nil {
			e.logOf(footnote.OriginOf(ctx)).Error("the usage of a model call was not stored", "err", lost)
		}
		return m, nil, sideCallError(ctx, err)
	}
	m := reply.Message
	m.Blocks, _ = mark.CutBlocks(m.Blocks, tool.FinalAnswer)
	m.Millis = took.Milliseconds()
	e.opts.Metrics.StepEnded(m.Model, m.Usage, m.Cost, took, false)
	return m, hold, nil
}

// sideCallContext returns a context that ends with ctx, with the engine, or after sideCallTime.
func (e *Engine) sideCallContext(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancelCause(ctx)
	detach := context.AfterFunc(e.ctx, func() { stop(context.Cause(e.ctx)) })
	ctx, cancel := context.WithTimeoutCause(ctx, sideCallTime, errRunTime)
	return ctx, func() { cancel(); detach(); stop(nil) }
}

// sideCallError returns the error of a side call: the reason why its context ended, or else err.
func sideCallError(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errRunTime):
		return footnote.Wrapf(footnote.AgentTimeout, err, "The answer took too long.")
	case errors.Is(cause, ErrShutdown):
		return ShuttingDown(err)
	case cause != nil:
		return cause
	default:
		return err
	}
}

// noLive implements model.Live for a call without readers.
type noLive struct{}

func (noLive) Start(int, string, string, string)          {}
func (noLive) Delta(int, []byte)                          {}
func (noLive) Stop(int)                                   {}
func (noLive) Flush()                                     {}
func (noLive) Retrying(int, footnote.Code, time.Duration) {}
