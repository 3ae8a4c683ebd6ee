package agent

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/model/history"
)

const (
	summaryTokens = 4_000     // thinking included
	summaryQuotes = 2_000     // characters of one message, call or result
	summaryText   = 120_000   // characters of what is summarised; the newest count
	summaryBytes  = 16_000    // of a summary
	summaryShare  = 4         // the part of a question's money that a summary may cost
	carriedBytes  = 128 << 10 // of the texts that protocols added to messages, such as a schema
	mostHistory   = 2         // times Limits.History: the most messages that are sent when summaries fail
)

// segment shortens a history that has grown too long, at the start of a run: an event in the log replaces everything
// before one of the user's messages with a summary. The cut is made where every call has its result, and leaves about
// half of the allowed messages. A history that cannot be summarised stays whole, so that the next run can try again, up
// to mostHistory times the limit. Then the end of its transcript replaces the summary.
//
// Because the summary is paid first, segment reserves what the run needs with the shorter history before it asks for a
// summary. It returns an error if the budget is too small for that.
func (r *run) segment() error {
	limit := r.a.Limits.History
	events := r.events()
	if limit <= 0 || r.s.steps > 0 {
		return nil
	}
	length := len(history.Messages(events))
	if length <= limit {
		return nil
	}
	from := r.cut(events, limit/2)
	if from == 0 {
		return nil // there is only one message
	}
	before := events[:history.Index(events, from)]
	if r.a.Summaries {
		if err := r.affordSegment(events, before, from); err != nil {
			return err
		}
	}
	seg := footnote.Segmented{FromSeq: from}
	words, settle, err := r.summarise(history.Messages(before), &seg)
	switch {
	case err != nil && (length <= mostHistory*limit || r.ctx.Err() != nil):
		r.log.Warn("the history was not summarised; it is sent whole", "messages", length, "err", err)
		return nil //nolint:nilerror // it was logged
	case err != nil:
		r.log.Warn("the history was not summarised; the end of its transcript is sent", "messages", length, "err", err)
		seg = footnote.Segmented{FromSeq: from} // what the call used is recorded already
		words = tail(transcript(history.Messages(before)), summaryBytes)
	}
	seg.Summary = strings.TrimSpace(words + "\n\n" + r.carried(before))
	r.putSettled(settle, nil, seg)
	r.log.Info("the history was summarised", "from_seq", from)
	return nil
}

// affordSegment reserves what the first step needs when its history begins at from, with the longest possible summary
// before it.
func (r *run) affordSegment(events, before []footnote.Event, from int64) error {
	words := strings.Repeat("x", min(summaryBytes, len(transcript(history.Messages(before)))))
	seg := footnote.Segmented{FromSeq: from, Summary: words + "\n\n" + r.carried(before)}
	req := r.request(false)
	req.Messages = history.Messages(append(slices.Clip(events), footnote.Event{Body: seg}))
	r.e.permit(&req)
	err := r.reserveStep(&req)
	r.budget.calling, r.budget.closing = false, false // step reserves again for its actual request
	return err
}

// cut returns the sequence of the oldest message of the user from which at most max messages are left, or else of the
// newest one. It returns 0 if nothing comes before that message.
func (r *run) cut(events []footnote.Event, max int) (from int64) {
	for _, m := range slices.Backward(r.s.messages) {
		if m.Text == "" {
			continue // added by the engine between a call and its result
		}
		if from != 0 && len(history.Messages(events[history.Index(events, m.seq):])) > max {
			return from
		}
		from = m.seq
	}
	return 0
}

// summarise returns the model's summary of messages, or the end of their transcript if the assistant has no Summaries.
func (r *run) summarise(messages []history.Message,
	seg *footnote.Segmented) (words string, settle []footnote.Settle, err error) {
	text := transcript(messages)
	if !r.a.Summaries {
		return tail(text, summaryBytes), nil, nil
	}
	c := Spending{ID: newReservation(), Conversation: r.stream, Run: r.id, Tier: r.s.opened.Tier}
	req := model.Request{
		Principal: r.turn.Principal, Model: r.s.opened.Model, Effort: footnote.EffortOff, MaxTokens: summaryTokens,
		MaxCost:  max(1, r.money/summaryShare),
		Messages: []model.Message{{Role: "user", Content: textContent(summaryPrompt(tail(text, summaryText)))}},
	}
	var m footnote.AssistantMessage
	var hold Reservation
	err = r.retryDuringOutage(r.ctx, func() error {
		m, hold, err = r.e.sideCall(r.ctx, r.a, footnote.ForSummary, c, req)
		return err
	})
	if err != nil {
		return "", nil, err
	}
	seg.Model, seg.Usage, seg.Cost = m.Model, m.Usage, m.Cost
	if words = strings.TrimSpace(Text(m.Blocks)); words == "" {
		return "", nil, errors.Join(errors.New("the model gave no summary"),
			r.e.wasted(r.ctx, r.turn.Principal, r.stream, footnote.ForSummary, m, hold))
	}
	return strings.ToValidUTF8(words[:min(len(words), summaryBytes)], ""), hold.Settle(m.Usage, m.Cost, false), nil
}

func summaryPrompt(conversation string) string {
	return "Summarise this conversation for the assistant that continues it without seeing it. " +
		"Keep what the user wants and has decided, every figure with the id of the result it comes from (r1, r2, …), " +
		"names of tables and columns, what failed, and what is still open. " +
		"Answer with the summary alone, in the language of the user.\n\n" +
		"<conversation>\n" + conversation + "\n</conversation>"
}

// carried returns the texts that protocols added to messages before the cut, and the date.
// They appear in the log once, and later messages depend on them.
func (r *run) carried(before []footnote.Event) string {
	date, size := "", 0
	var kept []string
	for _, ev := range slices.Backward(before) {
		m, ok := ev.Body.(footnote.UserMessage)
		if !ok || m.Text == "" {
			continue
		}
		context := withoutDate(m.Context)
		if date == "" && context != m.Context {
			date, _, _ = strings.Cut(m.Context, "\n")
		}
		if size += len(context); context != "" && size <= carriedBytes && !slices.Contains(kept, context) {
			kept = append(kept, context)
		}
	}
	slices.Reverse(kept)
	if date != "" {
		kept = append(kept, date)
	}
	return strings.Join(kept, "\n")
}

// transcript returns a history as text. It shortens each block to summaryQuotes characters.
func transcript(messages []history.Message) string {
	var b strings.Builder
	for _, m := range messages {
		for _, block := range history.Blocks(m) {
			switch {
			case block.Name != "":
				fmt.Fprintf(&b, "%s calls %s: %s\n", m.Role, block.Name, beginning(block.Text, summaryQuotes))
			case block.Result:
				fmt.Fprintf(&b, "result: %s\n", beginning(block.Text, summaryQuotes))
			default:
				fmt.Fprintf(&b, "%s: %s\n", m.Role, beginning(block.Text, summaryQuotes))
			}
		}
	}
	return strings.TrimSpace(b.String())
}

// tail returns the last max bytes of a text, from the beginning of a line.
func tail(s string, max int) string {
	if len(s) <= max {
		return s
	}
	s = s[len(s)-max:]
	if _, rest, ok := strings.Cut(s, "\n"); ok {
		s = rest
	}
	return "(…)\n" + strings.ToValidUTF8(s, "")
}
