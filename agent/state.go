package agent

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
)

// state is what a log says about its conversation: a fold over its events.
type state struct {
	events     []footnote.Event
	opened     footnote.Opened
	run        string // the run that has not ended
	started    footnote.RunStarted
	parked     bool
	resumes    int
	recoveries int // how often its owner died
	steps      int
	usage      footnote.Usage
	cost       footnote.Cost
	active     time.Duration // of the run before since; see spent
	since      time.Time     // when it last began or went on, if that was stored
	seen       time.Time     // of the newest event
	calls      []openCall
	approvals  map[string]footnote.ApprovalGiven // by call id
	asked      map[string]bool                   // call ids whose approval was asked for
	results    map[string]footnote.ToolResult    // by call id
	stored     []footnote.StoredResult
	ids        map[string]bool // call ids used so far
	ordinal    int             // tool calls so far
	question   string          // the newest user message
	answer     string          // the newest text of the run
	chart      json.RawMessage // the newest chart of the run
}

// openCall is a tool call of the run's newest model message.
type openCall struct {
	ID      string
	Name    string
	Input   json.RawMessage
	ordinal int // from 1 within the conversation
}

func (s *state) apply(ev footnote.Event) {
	s.events = append(s.events, ev)
	s.clock(ev)
	switch b := ev.Body.(type) {
	case footnote.Opened:
		s.opened = b
	case footnote.UserMessage:
		if b.Text != "" {
			s.question = b.Text
		}
	case footnote.RunStarted:
		s.run, s.started, s.parked, s.resumes, s.recoveries = ev.Run, b, false, 0, 0
		s.steps, s.usage, s.cost = 0, footnote.Usage{}, footnote.Cost{}
		s.answer, s.chart, s.calls = "", nil, nil
	case footnote.RunResumed:
		s.parked, s.resumes = false, b.Attempt
		if b.Reason == "recovered" {
			s.recoveries++
		}
	case footnote.RunParked:
		s.parked = true
	case footnote.StepFailed:
		s.usage, s.cost = s.usage.Add(b.Usage), s.cost.Add(b.Cost)
	case footnote.AssistantMessage:
		s.message(b)
	case footnote.ApprovalAsked:
		put(&s.asked, b.CallID, true)
	case footnote.ApprovalGiven:
		put(&s.approvals, b.CallID, b)
	case footnote.ToolResult:
		s.result(b)
	case footnote.RunFinished, footnote.RunFailed, footnote.RunStopped:
		s.run, s.parked, s.calls = "", false, nil
	}
}

// clock follows the time in which the run was active, from events that were stored.
func (s *state) clock(ev footnote.Event) {
	if !ev.Time.IsZero() {
		s.seen = ev.Time
	}
	switch ev.Body.(type) {
	case footnote.RunStarted:
		s.active, s.since = 0, ev.Time
	case footnote.RunParked:
		s.active, s.since = s.spent(), time.Time{}
	case footnote.RunResumed:
		s.active, s.since = s.spent(), ev.Time
	case footnote.RunFinished, footnote.RunFailed, footnote.RunStopped:
		s.active, s.since = 0, time.Time{}
	}
}

// spent is how long the run has been active. The time of an owner that died ends
// with the last event it stored.
func (s *state) spent() time.Duration {
	if s.since.IsZero() {
		return s.active
	}
	return s.active + max(0, s.seen.Sub(s.since))
}

func put[V any](m *map[string]V, k string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[k] = v
}

func (s *state) message(m footnote.AssistantMessage) {
	s.steps = m.Step
	s.usage, s.cost = s.usage.Add(m.Usage), s.cost.Add(m.Cost)
	s.calls = nil
	if m.StopReason == Refusal {
		return
	}
	if text := Text(m.Blocks); text != "" {
		s.answer = text
	}
	for _, c := range toolCalls(m.Blocks) {
		s.ordinal++
		c.ordinal = s.ordinal
		s.calls = append(s.calls, c)
		put(&s.ids, c.ID, true)
	}
}

func (s *state) result(r footnote.ToolResult) {
	if _, ok := s.results[r.CallID]; ok {
		return // only the first counts
	}
	put(&s.results, r.CallID, r)
	if r.Result != nil {
		s.stored = append(s.stored, *r.Result)
	}
	if r.Chart != nil {
		s.chart = r.Chart
	}
}

// open lists the calls that have no result yet, in order.
func (s *state) open() []openCall {
	var open []openCall
	for _, c := range s.calls {
		if _, ok := s.results[c.ID]; !ok {
			open = append(open, c)
		}
	}
	return open
}

// unusedID gives a call id that the conversation has not seen: some servers number
// the calls of each message anew.
func (s *state) unusedID(id string) string {
	free := id
	for n := 2; s.ids[free] || free == ""; n++ {
		free = id + "_" + strconv.Itoa(n)
	}
	return free
}

// Text is the text of a message's blocks, as the answer is read from it.
func Text(blocks []json.RawMessage) string {
	var b strings.Builder
	for _, raw := range blocks {
		if !mayBe(raw, TextBlock) {
			continue
		}
		var head struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}
		if json.Unmarshal(raw, &head) == nil && head.Type == TextBlock {
			b.WriteString(head.Text)
		}
	}
	return b.String()
}

// mayBe reports whether a block can be of a kind, by how it begins: a long text is
// not decoded to see that it is no tool call. One that begins in another way is
// looked at whole.
func mayBe(raw json.RawMessage, kind string) bool {
	rest, usual := bytes.CutPrefix(raw, []byte(`{"type":"`))
	return !usual || bytes.HasPrefix(rest, []byte(kind+`"`))
}

// toolCalls lists the tool calls among blocks.
func toolCalls(blocks []json.RawMessage) []openCall {
	var calls []openCall
	for _, raw := range blocks {
		if !mayBe(raw, ToolUseBlock) {
			continue
		}
		var head struct {
			Type  string          `json:"type"`
			ID    string          `json:"id"`
			Name  string          `json:"name"`
			Input json.RawMessage `json:"input"`
		}
		if json.Unmarshal(raw, &head) == nil && head.Type == ToolUseBlock {
			calls = append(calls, openCall{ID: head.ID, Name: head.Name, Input: head.Input})
		}
	}
	return calls
}
