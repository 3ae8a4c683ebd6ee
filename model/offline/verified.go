package offline

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/currency"
	"github.com/footnotehq/footnote/knowledge/verified"
	"github.com/footnotehq/footnote/model"
)

// Verified queries: a question that is a wording of one is answered with its rows, before any rule is tried.

const verifiedTool = "verified_query"

// verified returns the call that runs the verified query for the last question, or its rows as the answer. It returns
// false if the question is no wording of one, or if the query has failed: the rules then read the question.
func (pn *Planner) verified(req model.Request, h History) (Answer, bool) {
	if pn.opts.Verified == nil {
		return Answer{}, false
	}
	found, ok := pn.opts.Verified().Match(verified.Caller{
		Roles: req.Principal.Roles, Sources: req.Sources, Now: time.Now(),
	}, h.Last())
	if !ok {
		return Answer{}, false
	}
	c := h.Result(verifiedTool)
	if c == nil {
		if req.NoTools || h.called(verifiedTool) || !Offered(req.Tools, verifiedTool) {
			return Answer{}, false
		}
		return ToolCall(h, verifiedTool, map[string]any{"question": h.Last()}), true
	}
	res, err := ParseResult(c)
	if err != nil || len(res.Columns) == 0 {
		return Answer{}, false
	}
	w := &Writer{}
	w.writeVerified(res, found.Question)
	if len(h.Questions) <= 1 {
		w.writeBadge()
	}
	return w.Answer(), true
}

// VerifiedFirst is a model that answers a question itself, with the call of its verified query, if it is a wording of
// one. The other model reads the rows, so that no model can pass over a verified query.
type VerifiedFirst struct {
	model.Model
	Planner *Planner
}

// Step implements model.Model.
func (v VerifiedFirst) Step(ctx context.Context, req model.Request, live model.Live) (model.Reply, error) {
	if call, ok := v.call(req); ok {
		return Emit(call, live), nil
	}
	return v.Model.Step(ctx, req, live)
}

// call returns the call for a question that has just been asked. It reads only the last message.
func (v VerifiedFirst) call(req model.Request) (Answer, bool) {
	if v.Planner.opts.Verified == nil || len(v.Planner.opts.Verified().All()) == 0 || len(req.Messages) == 0 {
		return Answer{}, false
	}
	h := ReadHistory(req.Messages[len(req.Messages)-1:])
	if len(h.Questions) == 0 || len(h.Calls) > 0 {
		return Answer{}, false
	}
	a, ok := v.Planner.verified(req, h)
	a.id = fmt.Sprintf("toolu_verified_%d", len(req.Messages)) // it must differ from those before
	return a, ok && a.tool != ""
}

// MaxUse returns the estimate of the other model.
func (v VerifiedFirst) MaxUse(req model.Request) (tokens int64, cost footnote.Cost) {
	if p, ok := v.Model.(pricer); ok {
		return p.MaxUse(req)
	}
	return 0, footnote.Cost{MicroUSD: req.MaxCost}
}

// MinUse returns the estimate of the other model.
func (v VerifiedFirst) MinUse(req model.Request, grown int) (tokens int64, cost footnote.Cost) {
	if p, ok := v.Model.(pricer); ok {
		return p.MinUse(req, grown)
	}
	return 0, footnote.Cost{}
}

// pricer is implemented by models that can estimate a call.
type pricer interface {
	MaxUse(req model.Request) (tokens int64, cost footnote.Cost)
	MinUse(req model.Request, grown int) (tokens int64, cost footnote.Cost)
}

// writeVerified writes the rows of a verified query. A row of few columns is a sentence, and others are a table.
func (w *Writer) writeVerified(res Result, question string) {
	const inSentence = 4 // columns
	question = strings.TrimRight(question, "?!. ")
	res.currency = func(_, col int) string {
		return cmp.Or(known(res.Units[res.Columns[col]]), currency.InName(res.Columns[col]))
	}
	switch {
	case len(res.Rows) == 0:
		w.say(echo(question), ": no rows match.")
	case len(res.Rows) == 1 && res.Count <= 1 && len(res.Columns) <= inSentence:
		w.say(echo(question), ": ")
		for i, name := range res.Columns {
			if i > 0 {
				w.Text(", ")
			}
			if len(res.Columns) > 1 {
				w.say(label(heading(nil, name)), " ")
			}
			w.say("**", cell{res, 0, i, true, false}, "**")
		}
		w.Text(".")
	default:
		w.say(echo(question), ": ")
		w.writeRowCount(res)
		w.Text(".")
		w.writeTable(res, nil, false)
	}
}
