package agent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/strictjson"
	"github.com/footnotehq/footnote/internal/unescaped"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/model/history"
)

// state is the state of a conversation, computed from the events of its log.
type state struct {
	events            []footnote.Event
	opened            footnote.Opened // with the model, tier and effort that were chosen last
	openingUnreadable bool            // the event Opened cannot be read
	run               string          // the run that has not ended
	lastRun           string          // the newest run, ended or not
	started           footnote.RunStarted
	parked            bool
	resumes           int
	recoveries        int // how often its engine died
	steps             int
	usage             footnote.Usage
	cost              footnote.Cost
	lostCost          footnote.Cost // the part of cost that was lost with a process
	active            time.Duration // active time of the run before since; see spent
	since             time.Time     // when the run last began or resumed, if stored
	seen              time.Time     // time of the newest event
	calls             []openCall
	approvals         map[string]footnote.ApprovalGiven // by call id
	asked             map[string]bool                   // call ids that need an approval
	costly            map[string]bool                   // those of them whose statement would read too much
	results           map[string]footnote.ToolResult    // by call id
	always            map[string]int64                  // always approved tools, with the event of the approval
	outside           string                            // which text from outside was read first; see outsideText
	stored            []footnote.StoredResult           // without rewound ones
	storedAt          []int64                           // the sequence of the event of each
	userQueries       []userQuery                       // since the newest message
	added             []sourceAdded                     // the message behind it tells the model
	ids               map[string]bool                   // call ids used so far
	ordinal           int                               // tool calls and people's queries so far
	messages          []userMessage                     // without rewound ones
	answer            string                            // the newest text of the run
	answerMarks       []footnote.Mark                   // in answer
	chart             json.RawMessage                   // the newest chart of the run
	titled            footnote.Titled
	answers           int  // Answered events so far
	damaged           bool // some events cannot be read
}

// userMessage is a message of the user, or one without text that the engine added.
type userMessage struct {
	seq int64
	footnote.UserMessage
}

// userQuery is a query that a person ran.
type userQuery struct {
	seq int64
	footnote.QueryRun
}

// sourceAdded is a source that was added to the open conversation.
type sourceAdded struct {
	seq int64
	footnote.SourceAdded
}

// openCall is a tool call of the run's newest model message.
type openCall struct {
	ID, Name string
	Input    json.RawMessage
	source   string // of the statement in the input; empty: unknown, or not a server-side call
	ordinal  int    // from 1 within the conversation
	read     int    // how many events came before its message
}

// apply adds the next event.
//
//gocyclo:ignore
func (s *state) apply(ev footnote.Event) {
	s.events = append(s.events, ev)
	s.clock(ev)
	switch b := ev.Body.(type) {
	case footnote.Unreadable:
		s.unreadable(ev, b)
	case footnote.Opened:
		s.opened = b
		if len(b.Sources) > 0 {
			s.outside = cmp.Or(s.outside, outsideSources)
		}
	case footnote.UserMessage:
		s.messages, s.userQueries = append(s.messages, userMessage{ev.Seq, b}), nil
	case footnote.Imported:
		s.outside = cmp.Or(s.outside, outsideHistory)
	case footnote.Rewound:
		s.rewind(b.ToSeq)
	case footnote.Segmented:
		s.usage, s.cost = s.usage.Add(b.Usage), s.cost.Add(b.Cost)
	case footnote.Titled:
		s.titled = b
	case footnote.Answered:
		s.answers++
	case footnote.QueryRun:
		s.ordinal++
		s.keep(ev.Seq, b.Result)
		s.userQueries = append(s.userQueries, userQuery{ev.Seq, b})
	case footnote.SourceAdded:
		if !slices.Contains(s.opened.Sources, b.Source) {
			s.opened.Sources = append(slices.Clip(s.opened.Sources), b.Source)
		}
		s.outside = cmp.Or(s.outside, outsideSources)
		s.added = append(s.added, sourceAdded{ev.Seq, b})
	case footnote.RunStarted:
		s.begin(ev.Run, b)
	case footnote.RunResumed:
		s.parked, s.resumes = false, b.Attempt
		if b.Reason == "recovered" {
			s.recoveries++
		}
	case footnote.RunParked:
		s.parked = true
	case footnote.StepFailed:
		s.usage, s.cost = s.usage.Add(b.Usage), s.cost.Add(b.Cost)
		if b.Lost {
			s.lostCost = s.lostCost.Add(b.Cost)
		}
	case footnote.AssistantMessage:
		s.replied(b)
	case footnote.ApprovalAsked:
		put(&s.asked, b.CallID, true)
		if b.Reason != "" {
			put(&s.costly, b.CallID, true)
			delete(s.approvals, b.CallID) // whoever approved the call did not know what it would read
		}
	case footnote.ApprovalGiven:
		put(&s.approvals, b.CallID, b)
		if b.Always && b.Approved && b.Tool != "" {
			put(&s.always, b.Tool, ev.Seq)
		}
	case footnote.ToolResult:
		s.result(ev.Seq, b)
	case footnote.RunFinished, footnote.RunFailed, footnote.RunStopped:
		s.run, s.parked, s.calls = "", false, nil
	}
}

func (s *state) begin(run string, b footnote.RunStarted) {
	s.run, s.lastRun, s.started, s.parked, s.resumes, s.recoveries = run, run, b, false, 0, 0
	if c := b.Choice; c != nil {
		s.opened.Model, s.opened.Tier, s.opened.Effort = c.Model, c.Tier, c.Effort
	}
	s.steps, s.usage, s.cost, s.lostCost = 0, footnote.Usage{}, footnote.Cost{}, footnote.Cost{}
	s.answer, s.answerMarks, s.chart, s.calls = "", nil, nil, nil
}

// unreadable applies an event of which only the kind can be read.
func (s *state) unreadable(ev footnote.Event, b footnote.Unreadable) {
	s.damaged = true
	s.openingUnreadable = s.openingUnreadable || ev.Seq == 1 // the first event of a conversation
	switch {
	case b.Kind == "run_started":
		s.begin(ev.Run, unknownStart)
	case b.Kind == "tool_result", b.Kind == "opened", b.Kind == "imported":
		s.outside = cmp.Or(s.outside, "a part of the conversation that cannot be read")
	case b.Kind == "run_parked", b.Kind == "run_resumed":
		s.parked = b.Kind == "run_parked"
	case b.Kind == "assistant_message":
		s.steps++
		s.calls = nil
	case footnote.Terminal(b):
		s.run, s.parked, s.calls = "", false, nil
	}
}

// unknownStart replaces an unreadable run_started event. Without the principal, the run cannot be continued.
var unknownStart = footnote.RunStarted{OnDisconnect: Cancel}

// agree corrects the state of a partly unreadable log from the head of the stream, which knows the unfinished run.
func (s *state) agree(head footnote.Stream) {
	newest := int64(0)
	if n := len(s.events); n > 0 {
		newest = s.events[n-1].Seq
	}
	s.damaged = s.damaged || newest < head.Last // the newest events are missing
	s.opened.Assistant = cmp.Or(s.opened.Assistant, head.Assistant)
	switch {
	case !s.damaged:
	case head.RunState == "":
		s.run, s.parked, s.calls = "", false, nil
	case s.run != head.Run:
		s.begin(head.Run, unknownStart)
		s.parked = head.RunState == "parked"
	default:
		s.parked = head.RunState == "parked"
	}
}

// clock updates the active time of the run from stored events.
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

// spent returns how long the run has been active. The time of an engine that died ends with the last event it stored.
func (s *state) spent() time.Duration {
	if s.since.IsZero() {
		return s.active
	}
	return s.active + max(0, s.seen.Sub(s.since))
}

func (s *state) replied(m footnote.AssistantMessage) {
	s.steps = m.Step
	s.usage, s.cost = s.usage.Add(m.Usage), s.cost.Add(m.Cost)
	s.calls = nil
	if m.StopReason == model.Refusal {
		return
	}
	if text := answerOf(m.Blocks); text != "" {
		s.answer, s.answerMarks = text, answerMarks(m)
	}
	for _, c := range toolCalls(m.Blocks) {
		s.ordinal++
		c.ordinal, c.read = s.ordinal, len(s.events)-1
		s.calls = append(s.calls, c)
		put(&s.ids, c.ID, true)
	}
}

func (s *state) result(seq int64, r footnote.ToolResult) {
	if _, ok := s.results[r.CallID]; ok {
		return // only the first counts
	}
	put(&s.results, r.CallID, r)
	s.outside = cmp.Or(s.outside, fmt.Sprintf("a result of %.64s", r.Name))
	s.cost = s.cost.Add(r.Cost)
	if !s.ids[r.CallID] { // the message that made the call cannot be read
		s.ordinal++
		put(&s.ids, r.CallID, true)
	}
	if r.Result != nil {
		s.keep(seq, *r.Result)
	}
	if r.Chart != nil {
		s.chart = r.Chart
	}
}

func (s *state) keep(seq int64, r footnote.StoredResult) {
	s.stored, s.storedAt = append(s.stored, r), append(s.storedAt, seq)
}

// freshResults returns the results for the user's newest message.
func (s *state) freshResults() []footnote.StoredResult {
	m := s.message(0)
	if m == nil {
		return nil
	}
	n, _ := slices.BinarySearch(s.storedAt, m.seq+1)
	return s.stored[n:]
}

// rewind removes the messages, results and standing approvals after an event. It keeps the ids and results of calls, so
// that result ids never repeat, and late answers are still recognised.
func (s *state) rewind(to int64) {
	s.messages = slices.DeleteFunc(s.messages, func(m userMessage) bool { return m.seq > to })
	n, _ := slices.BinarySearch(s.storedAt, to+1)
	// Clipped, so that a later append makes a new array: tools may still hold the old one.
	s.stored, s.storedAt = s.stored[:n:n], s.storedAt[:n:n]
	s.userQueries = slices.DeleteFunc(s.userQueries, func(a userQuery) bool { return a.seq > to })
	maps.DeleteFunc(s.always, func(_ string, since int64) bool { return since > to })
}

// question returns the text of the user's newest message.
func (s *state) question() string {
	if m := s.message(0); m != nil {
		return m.Text
	}
	return ""
}

// questions returns the number of the user's messages.
func (s *state) questions() int {
	n := 0
	for i := range s.messages {
		if s.messages[i].Text != "" {
			n++
		}
	}
	return n
}

// where returns the newest Where of a message.
func (s *state) where() json.RawMessage {
	for _, m := range slices.Backward(s.messages) {
		if m.Where != nil {
			return m.Where
		}
	}
	return nil
}

// message returns the user's message with sequence seq, or the newest one for 0. It returns nil if there is none.
func (s *state) message(seq int64) *userMessage {
	for _, m := range slices.Backward(s.messages) {
		if m.Text != "" && (seq == 0 || m.seq == seq) {
			return &m
		}
	}
	return nil
}

// repeats finds the message of a turn in the log of its conversation. It returns the event of the message, or an event
// without a body if the log does not contain the message.
func (t *Turn) repeats(log []footnote.Event) (asked footnote.Event) {
	at := 0
	for i, ev := range log {
		switch b := ev.Body.(type) {
		case footnote.UserMessage:
			if t.isMessage(log[:i], ev, b) {
				asked, at = ev, i
			}
		case footnote.Rewound:
			if asked.Seq > b.ToSeq {
				asked = footnote.Event{}
			}
		}
	}
	if t.Regenerate && asked.Body != nil && t.Edit != log[at-1].Body.(footnote.Rewound).ToSeq+1 &&
		!inProgress(log, asked.Run) {
		return footnote.Event{} // the turn asks for one more answer
	}
	return asked
}

// isMessage reports whether m, in the log, is the message of the turn: it has the same id, or it replaced the message
// that the turn rewinds. A turn that rewinds a message which was not rewound yet is no repetition. While a message is
// answered again, its new event and the newest message also identify it.
func (t *Turn) isMessage(before []footnote.Event, ev footnote.Event, m footnote.UserMessage) bool {
	if !t.rewinds() {
		return t.MessageID != "" && m.ID == t.MessageID
	}
	if len(before) == 0 {
		return false
	}
	rewound, ok := before[len(before)-1].Body.(footnote.Rewound)
	if !ok {
		return false
	}
	replaced := rewound.ToSeq + 1
	if !t.Regenerate {
		return t.Edit == replaced && m.Text == t.Text
	}
	old, ok := before[history.Index(before, replaced)].Body.(footnote.UserMessage)
	return ok && old.Text == m.Text && (t.Edit == replaced || t.Edit == ev.Seq || t.Edit == 0)
}

// inProgress reports whether a run has neither ended nor parked.
func inProgress(log []footnote.Event, run string) (yes bool) {
	for _, ev := range log {
		if ev.Run != run {
			continue
		}
		_, parked := ev.Body.(footnote.RunParked)
		yes = !parked && !footnote.Terminal(ev.Body)
	}
	return yes
}

// isAlways reports whether the user has approved all calls of a tool.
func (s *state) isAlways(tool string) bool { return s.always[tool] != 0 }

// open returns the calls that have no result yet, in order.
func (s *state) open() []openCall {
	var open []openCall
	for _, c := range s.calls {
		if _, ok := s.results[c.ID]; !ok {
			open = append(open, c)
		}
	}
	return open
}

// unusedID returns a call id that is new in the conversation. Some servers number the calls of each message from 1.
func (s *state) unusedID(id string) string {
	free := id
	for n := 2; s.ids[free] || free == ""; n++ {
		free = id + "_" + strconv.Itoa(n)
	}
	return free
}

// Text returns the concatenated text of a message's text blocks.
func Text(blocks []json.RawMessage) string {
	var b strings.Builder
	for _, raw := range blocks {
		if !mayHaveType(raw, model.TextBlock) {
			continue
		}
		if block, ok := decodeBlock(raw); ok && block.Type == model.TextBlock {
			b.WriteString(block.Text)
		}
	}
	return b.String()
}

// block is the readable part of a block in a message.
type block struct {
	Type     string          `json:"type"`
	Text     string          `json:"text,omitempty"`
	Thinking string          `json:"thinking,omitempty"`
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Input    json.RawMessage `json:"input"`
}

// decodeBlock decodes a block; ok is false if it is unreadable.
func decodeBlock(raw json.RawMessage) (b block, ok bool) {
	if text, ok := plainText(raw); ok {
		return block{Type: model.TextBlock, Text: text}, true
	}
	err := json.Unmarshal(raw, &b)
	return b, err == nil
}

// plainText returns the text of a block in the usual form {"type":"text","text":"…"}. It avoids encoding/json, because
// the text of a long answer is read several times.
func plainText(raw json.RawMessage) (text string, ok bool) {
	inner, escaped, ok := plainInner(raw)
	switch {
	case !ok || !utf8.Valid(inner):
		return "", false
	case escaped:
		return string(strictjson.AppendUnescaped(make([]byte, 0, len(inner)), inner)), true
	}
	return string(inner), true
}

// isPlain reports whether a block has the usual form of a text block. Such a block is valid JSON.
func isPlain(raw json.RawMessage) bool {
	_, _, ok := plainInner(raw)
	return ok
}

// plainInner returns the contents of the JSON string in a plain text block, which may be invalid UTF-8, and whether it
// has escapes.
func plainInner(raw json.RawMessage) (inner []byte, escaped, ok bool) {
	const head, tail = `{"type":"text","text":"`, `"}`
	if len(raw) < len(head)+len(tail) || string(raw[:len(head)]) != head || string(raw[len(raw)-len(tail):]) != tail {
		return nil, false, false
	}
	inner = raw[len(head) : len(raw)-len(tail)]
	for i := 0; i < len(inner); i++ {
		if i += unescaped.Prefix(inner[i:]); i == len(inner) {
			break
		}
		if inner[i] >= utf8.RuneSelf {
			continue
		}
		if inner[i] != '\\' {
			return nil, false, false
		}
		if i++; i == len(inner) || !isShortEscape(inner[i]) {
			return nil, false, false // \u is left to encoding/json, which handles surrogate pairs
		}
		escaped = true
	}
	return inner, escaped, true
}

func isShortEscape(c byte) bool {
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	}
	return false
}

// mayHaveType reports whether a block may have the given type. It compares only the usual prefix, to avoid decoding
// long text; any other prefix yields true.
func mayHaveType(raw json.RawMessage, kind string) bool {
	rest, usual := bytes.CutPrefix(raw, []byte(`{"type":"`))
	return !usual || bytes.HasPrefix(rest, []byte(kind+`"`))
}

// toolCalls returns the tool calls among blocks.
func toolCalls(blocks []json.RawMessage) []openCall {
	var calls []openCall
	for _, raw := range blocks {
		if !mayHaveType(raw, model.ToolUseBlock) {
			continue
		}
		if b, ok := decodeBlock(raw); ok && b.Type == model.ToolUseBlock {
			calls = append(calls, openCall{ID: b.ID, Name: b.Name, Input: b.Input})
		}
	}
	return calls
}
