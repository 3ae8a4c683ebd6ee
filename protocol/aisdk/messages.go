package aisdk

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/model"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// Message is a UIMessage.
type Message struct {
	ID       string    `json:"id"`
	Role     string    `json:"role"` // "user" or "assistant"
	Metadata *Metadata `json:"metadata,omitempty"`
	Parts    []Part    `json:"parts"`
}

// Part is a part of a UIMessage. Its type determines which fields are set.
type Part struct {
	Type             string          `json:"type"`
	Text             *string         `json:"text,omitempty"`
	State            string          `json:"state,omitempty"`
	ToolCallID       string          `json:"toolCallId,omitempty"`
	Input            json.RawMessage `json:"input,omitempty"`
	Output           json.RawMessage `json:"output,omitempty"`
	ErrorText        *string         `json:"errorText,omitempty"`
	ProviderExecuted bool            `json:"providerExecuted,omitempty"`
	Approval         *PartApproval   `json:"approval,omitempty"`
	ID               string          `json:"id,omitempty"`
	Data             json.RawMessage `json:"data,omitempty"`
}

// PartApproval is the decision about a call; Approved is nil until there is one.
type PartApproval struct {
	ID       string `json:"id"`
	Approved *bool  `json:"approved,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

// Messages returns a conversation as a page shows it, from its whole log in order, without undone events. It
// is a pure function.
func Messages(events []footnote.Event, o Options) []Message {
	b := builder{opt: o, kinds: o.kinds(), answers: map[int64]*entry{}}
	for _, ev := range events {
		b.apply(ev)
	}
	out := []Message{}
	for _, e := range b.entries {
		if len(e.m.Parts) == 0 || e.running && !o.Unfinished {
			continue
		}
		out = append(out, e.m)
	}
	return out
}

// builder folds a log into messages.
type builder struct {
	opt     Options
	kinds   map[string]kind
	opened  footnote.Opened
	entries []*entry
	answers map[int64]*entry // by the sequence number of the answer
}

// entry is a message and the state needed to continue it.
type entry struct {
	m       Message
	seq     int64 // of its first event
	run     string
	running bool // its run is in progress and not parked
	step    int
	charted bool
	usage   footnote.Usage
	weight  int64
	cost    footnote.Cost
	tools   map[string]int    // call id → index of its part
	asks    map[string]int    // approval id → index of the asking part, in the Core dialect
	by      map[string]string // approval id → call id
}

func (b *builder) apply(ev footnote.Event) {
	switch body := ev.Body.(type) {
	case footnote.Opened:
		b.opened = body
	case footnote.Imported:
		b.imported(ev, body)
	case footnote.UserMessage:
		b.user(ev, body)
	case footnote.Rewound:
		b.rewound(body)
	case footnote.RunStarted:
		if c := body.Choice; c != nil {
			b.opened.Model = c.Model
		}
		b.begin(ev).weight = body.Weight
	case footnote.Unreadable:
		b.unreadable(ev, body)
	case footnote.Feedback:
		if e := b.answers[body.Seq]; e != nil {
			e.m.Metadata.Feedback = &Feedback{Good: body.Good, Words: body.Words}
		}
	default:
		if e := b.entryOf(ev.Run); e != nil {
			b.run(e, ev)
		}
	}
}

// begin starts the message of a run.
func (b *builder) begin(ev footnote.Event) *entry {
	e := &entry{
		seq: ev.Seq, run: ev.Run, running: true,
		m: Message{ID: messageID(ev.Run), Role: "assistant", Parts: []Part{}, Metadata: &Metadata{
			Conversation: b.opt.Conversation, Assistant: b.opened.Assistant, Model: b.opened.Model,
			Created: timeOf(ev.Time),
		}},
		tools: map[string]int{}, asks: map[string]int{}, by: map[string]string{},
	}
	b.entries = append(b.entries, e)
	return e
}

// unreadable marks the place of an event that cannot be read: within the message of its run, or as its own
// message.
func (b *builder) unreadable(ev footnote.Event, body footnote.Unreadable) {
	words := "Event " + itoa(ev.Seq) + " of this conversation cannot be read."
	e := b.entryOf(ev.Run)
	switch {
	case body.Kind == "run_started":
		e = b.begin(ev)
	case e == nil:
		role := "assistant"
		if body.Kind == "user_message" {
			role = "user"
		}
		b.entries = append(b.entries, &entry{seq: ev.Seq, m: Message{
			ID: "unreadable_" + itoa(ev.Seq), Role: role, Metadata: &Metadata{Seq: ev.Seq, Created: timeOf(ev.Time)},
			Parts: []Part{textPart("text", words)},
		}})
		return
	}
	e.begin(0)
	e.m.Parts = append(e.m.Parts, textPart("text", words))
	switch {
	case footnote.Terminal(body):
		e.end(0, 0, e.usage, e.cost)
	case body.Kind == "run_parked":
		e.running = false
	}
}

func (b *builder) entryOf(run string) *entry {
	for _, e := range slices.Backward(b.entries) {
		if e.run == run && run != "" {
			return e
		}
	}
	return nil
}

func (b *builder) imported(ev footnote.Event, body footnote.Imported) {
	for i, t := range body.Turns {
		b.entries = append(b.entries, &entry{seq: ev.Seq, m: Message{
			ID: "imported_" + itoa(ev.Seq) + "_" + strconv.Itoa(i), Role: t.Role,
			Parts: []Part{textPart("text", t.Text)},
		}})
	}
}

func (b *builder) user(ev footnote.Event, body footnote.UserMessage) {
	if body.Text == "" && body.ID == "" {
		return // our own text to the model
	}
	b.entries = append(b.entries, &entry{seq: ev.Seq, m: Message{
		ID: userID(ev.Seq, body), Role: "user", Metadata: &Metadata{Seq: ev.Seq, Created: timeOf(ev.Time)},
		Parts: []Part{{Type: "text", Text: &body.Text}},
	}})
}

func (b *builder) rewound(body footnote.Rewound) {
	b.entries = slices.DeleteFunc(b.entries, func(e *entry) bool { return e.seq > body.ToSeq })
}

func textPart(kind, text string) Part { return Part{Type: kind, Text: &text, State: "done"} }

// run adds an event of a run to its message.
func (b *builder) run(e *entry, ev footnote.Event) {
	switch body := ev.Body.(type) {
	case footnote.RunParked:
		e.running = false
	case footnote.RunResumed:
		e.running = true
	case footnote.StepFailed:
		e.usage, e.cost = e.usage.Add(body.Usage), e.cost.Add(body.Cost)
		if body.Partial != "" {
			e.begin(0)
			e.m.Parts = append(e.m.Parts, textPart("text", body.Partial))
		}
	case footnote.AssistantMessage:
		b.message(e, body)
	case footnote.ApprovalAsked:
		b.asked(e, body)
	case footnote.ApprovalGiven:
		b.given(e, body)
	case footnote.ToolResult:
		b.result(e, body)
	case footnote.Answered:
		b.answers[ev.Seq], e.m.Metadata.Answered = e, ev.Seq
		if body.Chart != nil && !e.charted {
			e.data("chart", "answer", compact(body.Chart))
		}
		e.data("footnotes", "footnotes", mustJSON(footnotesOf(body)))
	case footnote.RunFinished:
		e.end(body.Steps, body.Millis, body.Usage, body.Cost)
	case footnote.RunStopped:
		e.end(body.Steps, body.Millis, body.Usage, body.Cost)
		e.m.Metadata.Stopped = body.By
	case footnote.RunFailed:
		e.end(body.Steps, body.Millis, body.Usage, body.Cost)
		e.data("error", "error", mustJSON(map[string]string{"code": string(body.Code), "message": body.Message}))
	}
}

func (e *entry) begin(step int) {
	if step == 0 || e.step != step {
		e.m.Parts = append(e.m.Parts, Part{Type: "step-start"})
	}
	e.step = step
}

func (e *entry) data(kind, id string, data json.RawMessage) {
	e.m.Parts = append(e.m.Parts, Part{Type: "data-" + kind, ID: id, Data: data})
}

// end ends the message with a step without tool calls, as a stream does.
func (e *entry) end(steps int, ms int64, u footnote.Usage, c footnote.Cost) {
	e.running = false
	for i := len(e.m.Parts) - 1; i >= 0 && e.m.Parts[i].Type != "step-start"; i-- {
		if e.m.Parts[i].ToolCallID != "" {
			e.begin(0)
			break
		}
	}
	m := e.m.Metadata
	m.Steps, m.Millis, m.Usage, m.Cost = steps, ms, tokens(u, e.weight), money(c)
}

func (b *builder) message(e *entry, m footnote.AssistantMessage) {
	e.usage, e.cost = e.usage.Add(m.Usage), e.cost.Add(m.Cost)
	for _, bl := range agent.Shown(m.Blocks) {
		switch {
		case bl.Kind != model.ToolUseBlock && bl.Text != "":
			e.begin(m.Step)
			e.m.Parts = append(e.m.Parts, textPart(partKind[bl.Kind], bl.Text))
		case bl.Kind == model.ToolUseBlock:
			e.begin(m.Step)
			e.tools[bl.ID] = len(e.m.Parts)
			e.m.Parts = append(e.m.Parts, Part{
				Type: "tool-" + bl.Name, ToolCallID: bl.ID, State: "input-available", Input: compact(bl.Input),
				ProviderExecuted: !b.kinds[bl.Name].client,
			})
		}
	}
}

// asked marks a call that waits for a person. Until then, a browser call is shown as run by the server; for a
// client that does not know approvals, so is every call.
func (b *builder) asked(e *entry, body footnote.ApprovalAsked) {
	i, ok := e.tools[body.CallID]
	if !ok {
		return
	}
	e.by[body.ApprovalID] = body.CallID
	part := &e.m.Parts[i]
	client := !part.ProviderExecuted
	part.ProviderExecuted = true
	if b.opt.Dialect >= V6 && !client {
		part.State, part.Approval = "approval-requested", &PartApproval{ID: body.ApprovalID}
		if body.Reason != "" {
			e.m.Parts = append(e.m.Parts, Part{Type: "data-approval", ID: body.ApprovalID, Data: approvalReason(body)})
		}
		return
	}
	c := &call{id: body.CallID, name: part.Type[len("tool-"):], input: part.Input, approval: body.ApprovalID}
	if b.opt.Dialect == Unstated {
		e.m.Parts = append(e.m.Parts, textPart("text", approvalText(c.name)))
	}
	e.asks[body.ApprovalID] = len(e.m.Parts)
	e.m.Parts = append(e.m.Parts, Part{
		Type: "tool-" + AskTool, ToolCallID: body.ApprovalID, State: "input-available", Input: askInput(c, body.Reason),
	})
}

func (b *builder) given(e *entry, body footnote.ApprovalGiven) {
	i, ok := e.tools[body.CallID]
	if !ok {
		return
	}
	part := &e.m.Parts[i]
	if n, ok := e.asks[body.ApprovalID]; ok {
		ask := &e.m.Parts[n]
		ask.State, ask.Output = "output-available", decisionOf(body)
		part.ProviderExecuted = !body.Approved || !b.kinds[part.Type[len("tool-"):]].client
		return
	}
	part.State = "approval-responded"
	part.Approval = &PartApproval{ID: body.ApprovalID, Approved: &body.Approved, Reason: body.Reason}
}

func (b *builder) result(e *entry, r footnote.ToolResult) {
	i, ok := e.tools[r.CallID]
	if !ok {
		return
	}
	delete(e.tools, r.CallID) // only the first result counts
	part := &e.m.Parts[i]
	denied := part.Approval != nil && part.Approval.Approved != nil && !*part.Approval.Approved
	switch {
	case denied:
		part.State = "output-denied"
	case r.IsError:
		part.State, part.ErrorText = "output-error", &r.Content
	default:
		part.State, part.Output = "output-available", outputOf(r.Content)
	}
	if part.State != "output-denied" && part.Approval != nil && part.Approval.Approved == nil {
		part.Approval = nil // nobody decided, and only one state allows an open approval
	}
	if r.Result != nil {
		e.data("result", r.Result.ID, mustJSON(resultOf(r.CallID, *r.Result)))
	}
	if r.Detail != nil {
		e.data("detail", r.CallID, compact(r.Detail))
	}
	if r.Chart != nil {
		e.charted = true
		e.data("chart", r.CallID, compact(r.Chart))
	}
}
