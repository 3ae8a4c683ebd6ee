package aisdk

import (
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/model"
)

// Chat is the state of a conversation according to the server's own log: a fold over its events, in order.
// The zero value is a conversation that does not exist.
type Chat struct {
	Opened footnote.Opened
	Last   int64 // sequence number of the newest event

	asks  []question // all questions that have not been undone
	runs  map[string]*chatRun
	calls map[string]*chatCall
	byAsk map[string]string // approval id → call id

	decided map[string]bool // by approval id
}

// question is a user's message.
type question struct {
	seq  int64
	id   string // as clients know it
	text string
	run  string // its newest run
}

type chatRun struct {
	seq           int64    // of its first event
	asked         question // what it answers
	parked        int64    // of the event that last parked it
	failed, ended bool
}

type chatCall struct {
	run   string
	park  int64 // the parking event that waits for this call; 0: none
	given bool  // it has a result
}

// Apply adds the next event.
//
// It is a flat switch over the kinds of events.
//
//gocyclo:ignore
func (c *Chat) Apply(ev footnote.Event) {
	if c.runs == nil {
		c.runs, c.calls, c.byAsk = map[string]*chatRun{}, map[string]*chatCall{}, map[string]string{}
		c.decided = map[string]bool{}
	}
	c.Last = ev.Seq
	switch b := ev.Body.(type) {
	case footnote.Opened:
		c.Opened = b
	case footnote.UserMessage:
		if b.Text != "" || b.ID != "" {
			c.asks = append(c.asks, question{seq: ev.Seq, id: userID(ev.Seq, b), text: b.Text})
		}
	case footnote.Rewound:
		for len(c.asks) > 0 && c.asks[len(c.asks)-1].seq > b.ToSeq {
			c.asks = c.asks[:len(c.asks)-1]
		}
	case footnote.RunStarted:
		c.runs[ev.Run] = &chatRun{seq: ev.Seq}
		if choice := b.Choice; choice != nil {
			c.Opened.Model, c.Opened.Tier = choice.Model, choice.Tier
		}
		if n := len(c.asks); n > 0 {
			c.asks[n-1].run = ev.Run
			c.runs[ev.Run].asked = c.asks[n-1]
		}
	case footnote.AssistantMessage:
		for _, b := range agent.Shown(b.Blocks) {
			if b.Kind == model.ToolUseBlock {
				c.calls[b.ID] = &chatCall{run: ev.Run}
			}
		}
	case footnote.ApprovalAsked:
		c.byAsk[b.ApprovalID] = b.CallID
	case footnote.ToolResult:
		if call := c.calls[b.CallID]; call != nil {
			call.given = true
		}
	case footnote.ApprovalGiven:
		c.decided[b.ApprovalID] = true
	case footnote.RunParked:
		c.park(ev, b)
	case footnote.RunFailed:
		c.end(ev.Run, true)
	case footnote.RunFinished, footnote.RunStopped:
		c.end(ev.Run, false)
	}
}

func (c *Chat) park(ev footnote.Event, b footnote.RunParked) {
	if r := c.runs[ev.Run]; r != nil {
		r.parked = ev.Seq
	}
	for _, id := range b.Calls {
		if call := c.calls[id]; call != nil {
			call.park = ev.Seq
		}
	}
}

func (c *Chat) end(run string, failed bool) {
	if r := c.runs[run]; r != nil {
		r.ended, r.failed = true, failed
	}
}

// userID returns the id under which clients know a user's message: their own, or one derived from its place
// in the log.
func userID(seq int64, m footnote.UserMessage) string {
	if m.ID != "" {
		return m.ID
	}
	return "msg_" + itoa(seq)
}

// Replay names a run to show again instead of starting one.
type Replay struct {
	Run   string
	After int64 // the event after which to begin
}

// Plan is the action for a post: submit Turn or, when Replay is set, show an earlier run.
type Plan struct {
	Turn   agent.Turn
	Replay *Replay
	// IfNothingNew is the run to show if the engine finds that Turn has nothing new.
	IfNothingNew Replay
}

// Plan decides what a post means in this chat, and completes its turn. It returns Conflict when the post does not match
// the open calls in the log.
func (c *Chat) Plan(p Post, t agent.Turn) (Plan, error) {
	t.Protocol, t.Assistant, t.Tier, t.Sources, t.Where = "aisdk", p.Assistant, p.Tier, p.Sources, p.Where
	switch {
	case p.Regenerate:
		return c.regenerate(t, p)
	case p.User:
		return c.ask(t, p)
	default:
		return c.continued(t, p)
	}
}

// find returns the index of a user's message in asks, or -1.
func (c *Chat) find(id string) int {
	for i := len(c.asks) - 1; i >= 0; i-- {
		if c.asks[i].id == id {
			return i
		}
	}
	return -1
}

// ask plans a new message, an edited one, or one that was sent twice.
func (c *Chat) ask(t agent.Turn, p Post) (Plan, error) {
	t.Text, t.Context, t.MessageID = p.Text, p.Files, p.ID
	if i := c.find(p.About); p.About != "" && i >= 0 {
		if shown, ok := c.beingAnswered(i, p); ok {
			return Plan{Replay: &shown}, nil
		}
		t.Edit = c.asks[i].seq
		return Plan{Turn: t}, nil
	}
	i := c.find(p.ID)
	if p.ID == "" || i < 0 {
		return Plan{Turn: t}, nil
	}
	q := c.asks[i]
	r := c.runs[q.run]
	switch {
	case i != len(c.asks)-1 || q.text != p.Text:
		return Plan{}, footnote.Errorf(footnote.Conflict,
			"The conversation already has a message with this id. Reload the conversation.")
	case r == nil || r.failed:
		t.Edit = q.seq
		return Plan{Turn: t}, nil
	}
	return Plan{Replay: &Replay{Run: q.run, After: r.seq - 1}}, nil
}

// beingAnswered returns the run that answers a message at this moment, if a post has the same message again.
func (c *Chat) beingAnswered(i int, p Post) (Replay, bool) {
	q := c.asks[i]
	r := c.runs[q.run]
	if i != len(c.asks)-1 || q.id != p.ID || q.text != p.Text || r == nil || r.ended || r.parked > 0 {
		return Replay{}, false
	}
	return Replay{Run: q.run, After: r.seq - 1}, true
}

// regenerate plans another answer to a message: the one before the named answer, or the last one. A message
// that never arrived is treated as new.
func (c *Chat) regenerate(t agent.Turn, p Post) (Plan, error) {
	about := p.About
	if about == "" && p.User {
		about = p.ID
	}
	run := c.runs[strings.TrimPrefix(about, "msg_")]
	i := c.find(about)
	switch {
	case run != nil && c.find(run.asked.id) >= 0:
		// If the answer was regenerated already, its message was replaced; the engine finds the replacement.
		t.Regenerate, t.Edit = true, run.asked.seq
	case about != "" && i >= 0:
		t.Regenerate, t.Edit = true, c.asks[i].seq
	case !p.User && p.About != "":
		return Plan{}, footnote.Errorf(footnote.Conflict, "The answer to regenerate is not in this conversation.")
	case !p.User:
		return Plan{}, footnote.Errorf(footnote.Conflict, "There is no question to answer again.")
	case p.Text == "" && p.Files == "":
		return Plan{}, footnote.Invalidf("The message is empty.")
	default:
		t.Text, t.Context, t.MessageID = p.Text, p.Files, p.ID
	}
	return Plan{Turn: t}, nil
}

// continued plans answers to open calls, and decisions. If the post has something new, repeated answers are
// history, and the log has the better record; otherwise the engine compares them.
func (c *Chat) continued(t agent.Turn, p Post) (Plan, error) {
	if t.Tier != "" && t.Tier != c.Opened.Tier {
		return Plan{}, footnote.Invalidf("Answers and approvals cannot change the tier; send it with the next message.")
	}
	plan := Plan{}
	note := func(id string) error {
		call := c.calls[id]
		if call == nil {
			return footnote.Errorf(footnote.CallUnknown, "No call %.100q waits for an answer in this conversation.", id)
		}
		plan.IfNothingNew = Replay{Run: call.run, After: max(plan.IfNothingNew.After, call.park)}
		return nil
	}
	fresh := t
	for _, a := range p.Answers {
		if err := note(a.CallID); err != nil {
			return Plan{}, err
		}
		t.Answers = append(t.Answers, a)
		if !c.calls[a.CallID].given {
			fresh.Answers = append(fresh.Answers, a)
		}
	}
	for _, d := range p.Decisions {
		id, ok := c.byAsk[d.ID]
		if !ok {
			return Plan{}, footnote.Errorf(footnote.CallUnknown,
				"No call in this conversation needs the approval %.100q.", d.ID)
		}
		if err := note(id); err != nil {
			return Plan{}, err
		}
		a := agent.Approval{CallID: id, ID: d.ID, Approved: d.Approved, Always: d.Always, Reason: d.Reason}
		t.Approvals = append(t.Approvals, a)
		if !c.decided[d.ID] {
			fresh.Approvals = append(fresh.Approvals, a)
		}
	}
	switch {
	case len(fresh.Answers)+len(fresh.Approvals) > 0:
		plan.Turn = fresh
	case len(t.Answers)+len(t.Approvals) > 0:
		plan.Turn = t
	default:
		return Plan{}, footnote.Errorf(footnote.Conflict,
			"The request answers no open call. Send a message to continue.")
	}
	return plan, nil
}

// Running returns the given run, and where it begins, if it has neither ended nor parked.
func (c *Chat) Running(run string) (Replay, bool) {
	r := c.runs[run]
	if r == nil || r.ended {
		return Replay{}, false
	}
	return Replay{Run: run, After: r.seq - 1}, true
}
