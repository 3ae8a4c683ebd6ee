// Package clienttest is an engine that plays scenarios, for testing the protocols with unmodified clients. The
// user's text selects the scenario: "scenario: 429" is rejected, "scenario: midstream" breaks off, anything
// else gets an answer in two steps.
//
// It keeps its log in memory and publishes to a real hub.
package clienttest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/hub"
)

// Engine plays scenarios. It implements httpapi.Engine and httpapi.Log.
type Engine struct {
	Hub *hub.Hub
	wg  sync.WaitGroup

	mu      sync.Mutex // guards below
	streams map[string]*stream
	readers map[string]*hub.Reader // of tickets, by run
	seen    map[string]int         // submissions, by text
	turns   []agent.Turn
}

type stream struct {
	head   footnote.Stream
	events []footnote.Event
	cancel context.CancelCauseFunc // of the run; nil: none
}

// New returns an engine without conversations. The caller must close it.
func New() *Engine {
	return &Engine{
		Hub: hub.New(), streams: map[string]*stream{}, readers: map[string]*hub.Reader{}, seen: map[string]int{},
	}
}

// Close stops all runs and waits for them.
func (e *Engine) Close() {
	e.mu.Lock()
	for _, s := range e.streams {
		if s.cancel != nil {
			s.cancel(stoppedBy("shutdown"))
		}
	}
	e.mu.Unlock()
	e.wg.Wait()
	e.Hub.Close()
}

type stoppedBy string

func (s stoppedBy) Error() string { return "stopped by " + string(s) }

// Turns returns the submitted turns.
func (e *Engine) Turns() []agent.Turn {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.turns)
}

// Assistants returns two assistants, one of them with an alias that contains a slash.
func (e *Engine) Assistants(footnote.Principal) []agent.AssistantInfo {
	created := time.Unix(1_767_225_600, 0)
	return []agent.AssistantInfo{
		{Name: "analyst", Aliases: []string{"claude-da/analyst"}, Model: "scripted", Created: created},
		{Name: "explore", Model: "scripted", Created: created},
	}
}

// Complete answers side jobs.
func (e *Engine) Complete(_ context.Context, _ footnote.Principal, prompt string) (string, footnote.Spent, error) {
	if strings.Contains(prompt, "scenario: 429") {
		return "", footnote.Spent{}, footnote.Errorf(footnote.RateLimited, "Too many requests.")
	}
	return `{"title": "Orders in May"}`, footnote.Spent{Usage: footnote.Usage{Input: 30, Output: 6}}, nil
}

// scenario returns the word after "scenario:" in a text.
func scenario(text string) string {
	_, rest, _ := strings.Cut(text, "scenario:")
	if words := strings.Fields(rest); len(words) > 0 {
		return words[0]
	}
	return ""
}

// refusals are the errors of the scenarios in which no run begins.
var refusals = map[string]error{
	"429": tooMany(1500 * time.Millisecond), "429-once": tooMany(20 * time.Millisecond),
	"budget":   footnote.Errorf(footnote.BudgetExceeded, "The budget of today is used up."),
	"conflict": footnote.Errorf(footnote.Conflict, "The conversation is still answering."),
	"500":      errors.New("dial 10.0.0.7: secret of the operator"),
	"503": &footnote.Error{
		Code: footnote.ModelUnavailable, Message: "The model is not reachable.",
		Err: errors.New("secret of the operator"),
	},
}

func tooMany(retryAfter time.Duration) error {
	return &footnote.Error{Code: footnote.RateLimited, Message: "Too many requests.", RetryAfter: retryAfter}
}

// Submit starts the run of a scenario.
func (e *Engine) Submit(_ context.Context, t agent.Turn) (agent.Ticket, error) {
	name := scenario(t.Text)
	e.mu.Lock()
	defer e.mu.Unlock()
	before := e.seen[t.Text]
	e.seen[t.Text]++
	e.turns = append(e.turns, t)
	if name == "panic" {
		panic("secret of the operator")
	}
	if err := refusals[name]; err != nil && (name != "429-once" || before == 0) {
		return agent.Ticket{}, err
	}
	if t.Conversation != "" && e.streams[t.Conversation] == nil {
		return agent.Ticket{}, footnote.Errorf(footnote.NotFound, "There is no such conversation.")
	}
	s := e.find(t)
	if t.Prepare != nil {
		if err := t.Prepare(&t, s.head, s.events); err != nil {
			return agent.Ticket{}, err
		}
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	s.cancel = cancel
	after := int64(len(s.events))
	r := &run{e: e, s: s, id: "run_" + rand.Text(), ctx: ctx, turn: t, topic: e.Hub.Open(s.head.ID, after)}
	s.head.Run, s.head.RunState = r.id, "running"
	reader, _ := e.Hub.Subscribe(s.head.ID, after)
	e.readers[r.id] = reader
	e.wg.Go(func() { r.play(name) })
	return agent.Ticket{Conversation: s.head.ID, Run: r.id, After: after, OnDisconnect: t.OnDisconnect}, nil
}

// find returns the stream of a turn, which may be new. e.mu must be held.
func (e *Engine) find(t agent.Turn) *stream {
	if s := e.streams[t.Conversation]; s != nil {
		return s
	}
	for _, s := range e.streams {
		if t.ClientID != "" && s.head.ClientID == t.ClientID && t.Principal.Owner(s.head.Org, s.head.User) {
			return s
		}
	}
	s := &stream{head: footnote.Stream{
		ID: "conv_" + rand.Text(), Kind: "conversation", Org: t.Principal.Org, User: t.Principal.User,
		ClientID: t.ClientID, Assistant: t.Assistant,
	}}
	e.streams[s.head.ID] = s
	return s
}

// Subscribe returns the reader of a ticket.
func (e *Engine) Subscribe(t agent.Ticket) *hub.Reader {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.readers[t.Run]
}

// Stop ends the run of a conversation.
func (e *Engine) Stop(_ context.Context, conversation, by string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s := e.streams[conversation]; s != nil && s.cancel != nil {
		s.cancel(stoppedBy(by))
	}
	return nil
}

// Get returns the head of a conversation.
func (e *Engine) Get(_ context.Context, id string) (footnote.Stream, error) {
	return e.headOf(func(head footnote.Stream) bool { return head.ID == id })
}

// Find returns the head of a conversation by its client id.
func (e *Engine) Find(_ context.Context, org, user, _, clientID string) (footnote.Stream, error) {
	return e.headOf(func(head footnote.Stream) bool {
		return clientID != "" && head.ClientID == clientID && head.Org == org && head.User == user
	})
}

func (e *Engine) headOf(is func(head footnote.Stream) bool) (footnote.Stream, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range e.streams {
		if head := s.head; is(head) {
			head.Last = int64(len(s.events))
			return head, nil
		}
	}
	return footnote.Stream{}, footnote.Errorf(footnote.NotFound, "There is no such stream.")
}

// Events yields the log of a conversation.
func (e *Engine) Events(_ context.Context, id string, after int64) iter.Seq2[footnote.Event, error] {
	return func(yield func(footnote.Event, error) bool) {
		e.mu.Lock()
		var events []footnote.Event
		if s := e.streams[id]; s != nil {
			events = s.events
		}
		e.mu.Unlock()
		for _, ev := range events {
			if ev.Seq > after && !yield(ev, nil) {
				return
			}
		}
	}
}

// List returns the heads of a user's conversations.
func (e *Engine) List(_ context.Context, p footnote.Page) ([]footnote.Stream, string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var heads []footnote.Stream
	for _, s := range e.streams {
		if s.head.Org == p.Org && s.head.User == p.User && len(heads) < p.Limit {
			heads = append(heads, s.head)
		}
	}
	return heads, "", nil
}

// Blob returns NotFound: no scenario stores rows.
func (e *Engine) Blob(context.Context, string, footnote.Digest) ([]byte, error) {
	return nil, footnote.Errorf(footnote.NotFound, "There is no such blob.")
}

// Append appends a person's action.
func (e *Engine) Append(_ context.Context, _ footnote.Principal, id string, body footnote.Body,
	_ *footnote.Result) (int64, footnote.Body, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.streams[id]
	seq := int64(len(s.events)) + 1
	s.events = append(s.events, footnote.Event{
		Stream: id, Seq: seq, Body: body, Time: time.Unix(1_767_225_600, 0).UTC(),
	})
	return seq, body, nil
}

// Record does nothing: no client of these tests opens a conversation with a statement.
func (e *Engine) Record(context.Context, footnote.Principal, string, footnote.QueryRun, *footnote.Result) (string,
	footnote.QueryRun, error) {
	return "", footnote.QueryRun{}, errors.ErrUnsupported
}

// Delete removes a conversation.
func (e *Engine) Delete(_ context.Context, id string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.streams, id)
	return nil
}

// run is one scenario being played.
type run struct {
	e     *Engine
	s     *stream
	id    string
	ctx   context.Context
	turn  agent.Turn
	topic *hub.Topic
}

var usage = footnote.Usage{Input: 12, CacheRead: 100, Output: 9, Thinking: 2}

// put appends events and publishes them.
func (r *run) put(bodies ...footnote.Body) {
	r.e.mu.Lock()
	var events []footnote.Event
	for _, b := range bodies {
		ev := footnote.Event{
			Stream: r.s.head.ID, Seq: int64(len(r.s.events)) + 1, Run: r.id, Body: b,
			Time: time.Unix(1_767_225_600+int64(len(r.s.events)), 0).UTC(),
		}
		r.s.events = append(r.s.events, ev)
		events = append(events, ev)
		switch {
		case footnote.Terminal(b):
			r.s.head.Run, r.s.head.RunState, r.s.cancel = "", "", nil
		case footnote.KindOf(b) == "run_parked":
			r.s.head.RunState = "parked"
		}
	}
	r.e.mu.Unlock()
	r.topic.Publish(events...)
}

func (r *run) head(step, index int, kind string) footnote.Delta {
	return footnote.Delta{Run: r.id, Step: step, Attempt: 1, Index: index, Kind: kind}
}

// say makes a text block grow piece by piece.
func (r *run) say(step int, pieces ...string) {
	b := r.topic.Start(r.head(step, 0, "text"))
	for _, p := range pieces {
		quoted, _ := json.Marshal(p) // a string always encodes
		b.Grow(quoted[1 : len(quoted)-1])
		r.topic.Flush()
	}
	b.End()
	r.topic.Flush()
}

func block(v map[string]any) json.RawMessage {
	b, _ := json.Marshal(v) // strings and maps always encode
	return b
}

func text(s string) json.RawMessage { return block(map[string]any{"type": "text", "text": s}) }

var toolCall = block(map[string]any{
	"type": "tool_use", "id": "toolu_1", "name": "query", "input": map[string]any{"sql": "SELECT count(*) FROM orders"},
})

func (r *run) message(step int, stop string, blocks ...json.RawMessage) {
	r.put(footnote.AssistantMessage{Step: step, Model: "scripted", Blocks: blocks, StopReason: stop, Usage: usage})
}

func (r *run) fail(code footnote.Code, words string) {
	r.put(footnote.RunFailed{Code: code, Message: words, Usage: usage})
}

// answer writes a text in one step, and ends the run.
func (r *run) answer(reason, words string) {
	r.say(1, words)
	r.message(1, reason, text(words))
	r.finish(reason, words, nil)
}

func (r *run) finish(reason, words string, cites []footnote.Cite) {
	r.put(footnote.Answered{Text: words, Cites: cites}, footnote.RunFinished{Reason: reason, Steps: 1, Usage: usage})
}

// play plays a scenario to its end.
func (r *run) play(name string) {
	defer r.topic.Close()
	r.put(footnote.UserMessage{Text: r.turn.Text, Context: r.turn.Context},
		footnote.RunStarted{Protocol: r.turn.Protocol, OnDisconnect: r.turn.OnDisconnect, RequestID: r.turn.RequestID})
	switch name {
	case "run-429":
		r.fail(footnote.RateLimited, "The model has too many requests.")
	case "database":
		r.fail(footnote.DatabaseUnavailable, "The database is not reachable.")
	case "504":
		r.fail(footnote.AgentTimeout, "The answer took longer than 240 s.")
	case "storage":
		r.topic.Fail(footnote.Errorf(footnote.StorageUnavailable, "The answer could not be stored."))
	case "midstream":
		r.say(1, "Let me look. ")
		<-time.After(20 * time.Millisecond) // so that the text is sent before the failure is known
		r.fail(footnote.ModelUnavailable, "The model is not reachable.")
	case "refusal":
		r.answer("refusal", "I can't help with that.")
	case "length":
		r.answer("max_tokens", "There are forty-")
	case "parked":
		r.message(1, "tool_use", toolCall)
		r.put(footnote.RunParked{Calls: []string{"toolu_1"}, Deadline: time.Unix(1_767_225_600, 0)})
		<-r.ctx.Done()
		r.stopped()
	case "slow", "silent":
		r.drip(name == "slow")
	case "echo":
		b, _ := json.Marshal(map[string]any{ // plain fields
			"conversation": r.turn.Conversation, "client_id": r.turn.ClientID, "assistant": r.turn.Assistant,
			"user": r.turn.Principal.User, "history": r.turn.History, "text": r.turn.Text,
			"context": r.turn.Context, "max_tokens": r.turn.MaxTokens,
		})
		r.answer("end_turn", string(b))
	default:
		r.two()
	}
}

// drip writes text forever, or nothing, until it is stopped.
func (r *run) drip(speaks bool) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	b := r.topic.Start(r.head(1, 0, "text"))
	for n := 0; r.ctx.Err() == nil; n++ {
		if speaks {
			b.Grow(fmt.Appendf(nil, "%d ", n))
			r.topic.Flush()
		}
		select {
		case <-tick.C:
		case <-r.ctx.Done():
		}
	}
	b.End()
	r.topic.Flush()
	r.stopped()
}

func (r *run) stopped() {
	by := "shutdown"
	if s, ok := errors.AsType[stoppedBy](context.Cause(r.ctx)); ok {
		by = string(s)
	}
	r.put(footnote.RunStopped{By: by, Usage: usage})
}

// two writes an answer in two steps, with a server-side tool between them.
func (r *run) two() {
	const first, second = "Let me count.", "There are 42 orders, <b>\"naïve\"</b> 😀."
	r.say(1, "Let me ", "count.")
	call := r.topic.Start(footnote.Delta{
		Run: r.id, Step: 1, Attempt: 1, Index: 1, Kind: "tool_use", ID: "toolu_1", Name: "query",
	})
	call.Grow([]byte(`{\"sql\":\"SELECT count(*) FROM orders\"}`))
	call.End()
	r.topic.Flush()
	r.message(1, "tool_use", text(first), toolCall)
	r.put(footnote.ToolResult{CallID: "toolu_1", Name: "query", Content: "42", By: "server"})
	r.say(2, "There are ", "42 orders, ", "<b>\"naïve\"</b> 😀.")
	r.message(2, "end_turn", text(second))
	row := 0
	r.finish("end_turn", second, []footnote.Cite{
		{Start: 10, End: 12, Text: "42", Result: "r1", Row: &row, Column: "count", Value: "42", Confidence: 1},
	})
}
