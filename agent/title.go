package agent

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/model"
)

const (
	titleTime   = 20 * time.Second
	titleTokens = 400   // including the thinking of models that always think
	titleQuotes = 1_000 // characters of the question and of the answer
	titleShare  = 20    // the part of a question's money that its title may cost
)

// retitle asks the model for a title after the first answer of a conversation, in place of the beginning of the
// question. It is a side call for which nothing waits. If it fails, the conversation keeps its title. Drain ends it.
func (r *run) retitle(terminal footnote.Body) {
	finished, ok := terminal.(footnote.RunFinished)
	if !ok || finished.Reason == model.Refusal || !r.a.Titles || r.s.started.Unattended || r.s.answers != 1 ||
		!r.s.titled.Auto {
		return
	}
	question, answer, tier := r.s.question(), r.s.answer, r.e.cheapest(r.turn.Principal, r.a, r.s.opened.Model)
	weightTier := r.s.opened.Tier
	owner, last := r.turn.Principal, r.w.seen()
	from := context.WithoutCancel(r.ctx) // keeps the origin; the run is over
	r.e.own.Go(func() {                  // Drain waits for it, and still waits for this run now
		ctx, cancel := context.WithTimeout(from, titleTime)
		defer cancel()
		defer context.AfterFunc(r.e.ctx, cancel)()
		err := r.e.retitle(ctx, r.a, tier, weightTier, owner, r.stream, last, question, answer)
		if err != nil && !errors.Is(err, errStale) && r.e.ctx.Err() == nil {
			r.log.Warn("cannot make a title", "err", err)
		}
	})
}

func (e *Engine) retitle(ctx context.Context, a *Assistant, tier Tier, weightTier string, p footnote.Principal,
	stream string, last int64, question, answer string) error {
	prompt := "Give the title of a conversation that begins like this. Answer with the title alone: at most seven " +
		"words, in the language of the question, " +
		"without quotes, without figures.\n\n<question>\n" + beginning(question, titleQuotes) +
		"\n</question>\n\n<answer>\n" + beginning(answer, titleQuotes) + "\n</answer>"
	m, hold, err := e.sideCall(ctx, a, footnote.ForTitle, Spending{
		Conversation: stream,
		Tier:         weightTier,
		TTL:          titleTime,
	}, model.Request{
		Principal: p, Model: tier.Model, Effort: footnote.EffortOff,
		Messages: []model.Message{{Role: "user", Content: textContent(prompt)}}, MaxTokens: titleTokens,
		MaxCost: max(1, a.Limits.MicroUSD/titleShare),
	})
	if err != nil {
		return err
	}
	if err = e.entitle(ctx, p, stream, last, m, hold); err != nil {
		err = errors.Join(err, e.wasted(ctx, p, stream, footnote.ForTitle, m, hold))
	}
	return err
}

// entitle gives a conversation the title that the model suggested. last was its newest event when the model was
// asked.
func (e *Engine) entitle(ctx context.Context, p footnote.Principal, stream string, last int64,
	m footnote.AssistantMessage, hold Reservation) error {
	title := title(strings.Trim(firstLine(Text(m.Blocks)), " \t\"'“”„«»*#."))
	if title == "" {
		return errors.New("the model gave no title")
	}
	leave, err := e.enter()
	if err != nil {
		return err
	}
	defer leave()
	titled := footnote.Titled{Title: title, Auto: true, Usage: m.Usage, Cost: m.Cost, Model: m.Model, Millis: m.Millis}
	settle := hold.Settle(m.Usage, m.Cost, false)
	if err = e.appendAfter(ctx, stream, last, titled, settle); footnote.CodeOf(err) == footnote.Conflict {
		// Other events were appended meanwhile.
		_, _, err = e.appendTo(ctx, p, stream, addition{body: titled, settle: settle})
	}
	return err
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// beginning returns the first n characters of a text.
func beginning(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i] + " …"
		}
	}
	return s
}
