package agent

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/history"
)

// NotAnswered is what the model reads of a call whose user went on without it.
const NotAnswered = history.Unanswered

// Freeze gives the definitions of the tools a policy offers, as the model is sent
// them for the whole life of a conversation.
func Freeze(tools []Tool, p Policy) json.RawMessage {
	type definition struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"input_schema"`
	}
	defs := []definition{}
	for _, t := range tools {
		s := t.Spec()
		if v := p.Verdict(s); v == Allow || v == Ask {
			defs = append(defs, definition{s.Name, s.Description, s.InputSchema})
		}
	}
	return marshal(defs)
}

// marshal encodes without HTML escaping.
func marshal(v any) json.RawMessage {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err)) // a tool whose schema is not JSON: a programmer's mistake
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}

func textContent(s string) json.RawMessage {
	return marshal([]map[string]string{{"type": "text", "text": s}})
}

// DigestOf names a blob by its content.
func DigestOf(data []byte) footnote.Digest {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// open starts the first run of a new conversation.
func (e *Engine) open(ctx context.Context, a *Assistant, t Turn) (Ticket, error) {
	system, sources, err := a.Opening(ctx, t.Principal)
	if err != nil {
		return Ticket{}, err
	}
	tools := e.frozen[a]
	opened := footnote.Opened{Assistant: a.Name, Model: a.ModelName, Sources: sources, System: DigestOf(system), Tools: DigestOf(tools)}
	head := footnote.Stream{
		ID: "conv_" + rand.Text(), Kind: "conversation", Org: t.Principal.Org, User: t.Principal.User,
		ClientID: t.ClientID, Assistant: a.Name,
	}
	r := e.newRun(head, a, &state{}, t)
	r.system, r.tools = system, tools
	r.w.fresh = true
	if !e.claim(r) {
		r.drop()
		return Ticket{}, busy()
	}
	blobs := map[footnote.Digest][]byte{opened.System: system, opened.Tools: tools}
	bodies := []footnote.Body{opened}
	if title := title(t.Text); title != "" {
		bodies = append(bodies, footnote.Titled{Title: title})
	}
	if len(t.History) > 0 {
		bodies = append(bodies, footnote.Imported{Turns: t.History})
	}
	return e.begin(r, t, blobs, bodies)
}

// claim keeps a client's name for a conversation to one run while its first event
// is being written: of a message that is sent twice, one is refused. It lasts until
// the run is over.
func (e *Engine) claim(r *run) bool {
	if r.turn.ClientID == "" {
		return true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	key := r.clientKey()
	if old := e.opening[key]; old != nil && !old.w.broken() {
		return false
	}
	e.opening[key] = r
	return true
}

func (r *run) clientKey() clientKey {
	return clientKey{r.turn.Principal.Org, r.turn.Principal.User, r.turn.ClientID}
}

// title is a first name for a conversation: the beginning of its first message.
func title(text string) string {
	words := strings.Fields(text)
	out := ""
	for _, w := range words {
		if len([]rune(out))+len([]rune(w)) > 60 {
			if out == "" {
				out = string([]rune(w)[:60])
			}
			return out + "…"
		}
		out = strings.TrimSpace(out + " " + w)
	}
	return out
}

// start begins a run in a conversation that exists. The stream must be locked.
func (e *Engine) start(head footnote.Stream, a *Assistant, s *state, t Turn) (Ticket, error) {
	return e.begin(e.newRun(head, a, s, t), t, nil, nil)
}

// begin puts the first events of a run and lets it go.
func (e *Engine) begin(r *run, t Turn, blobs map[footnote.Digest][]byte, bodies []footnote.Body) (Ticket, error) {
	bodies = append(bodies,
		footnote.UserMessage{Text: t.Text, Context: r.context(t.Context)},
		footnote.RunStarted{Door: t.Door, OnDisconnect: t.OnDisconnect, RequestID: t.RequestID})
	ticket := r.ticket()
	r.put(blobs, bodies...)
	e.launch(r)
	return ticket, nil
}

// context is what the model reads after a message: the date, when it has not read
// it in this conversation yet, and what the door added.
func (r *run) context(more string) string {
	today := "Today is " + r.e.opts.Now().UTC().Format("Monday, 2006-01-02") + " (UTC)."
	for _, ev := range r.s.events {
		if m, ok := ev.Body.(footnote.UserMessage); ok && strings.Contains(m.Context, today) {
			today = ""
			break
		}
	}
	return strings.TrimSpace(today + "\n" + more)
}

// answer takes results and approvals for calls that a run left open.
func (e *Engine) answer(ctx context.Context, t Turn) (Ticket, error) {
	head, found, err := e.find(ctx, t)
	if err != nil {
		return Ticket{}, err
	}
	if !found {
		return Ticket{}, footnote.Errorf(footnote.NotFound, "There is no such conversation.")
	}
	unlock, err := e.lock(ctx, head.ID)
	if err != nil {
		return Ticket{}, err
	}
	defer unlock()
	if r := e.running(head.ID); r != nil {
		if ticket, done, err := r.deliver(t); done || err != nil {
			return ticket, err
		}
		select {
		case <-r.done: // it is just about to park, or to end
		case <-ctx.Done():
			return Ticket{}, context.Cause(ctx)
		}
	}
	if err := e.adopt(ctx, head.ID); err != nil {
		return Ticket{}, err
	}
	if head, err = e.opts.Log.Get(ctx, head.ID); err != nil {
		return Ticket{}, err
	}
	if head.RunState == "running" {
		return Ticket{}, busy() // somebody else drives it, or it waits for its recovery
	}
	s, err := e.load(ctx, head.ID)
	if err != nil {
		return Ticket{}, err
	}
	a, err := e.assistant(t.Assistant, s.opened.Assistant)
	if err != nil {
		return Ticket{}, err
	}
	fresh, err := s.check(a, t)
	if err != nil {
		return Ticket{}, err
	}
	return e.resume(e.newRun(head, a, s, t), fresh)
}

// resume appends answers to a parked run and, when they were the last it waited
// for, goes on with it. The stream must be locked.
func (e *Engine) resume(r *run, fresh Turn) (Ticket, error) {
	ticket := r.ticket()
	if len(fresh.Answers)+len(fresh.Approvals) == 0 {
		ticket.Duplicate = true
		r.drop()
		return ticket, nil
	}
	// One append: answers without the resumption would leave the run parked, and
	// the client, trying again, would be told that all is well.
	last := r.take(fresh)
	err := r.w.flush() // an answer is acknowledged only when it cannot be lost any more
	if err != nil || !last {
		r.drop()
	} else {
		e.launch(r)
	}
	if err != nil {
		ticket.reader.Close()
		return Ticket{}, err
	}
	return ticket, nil
}

// take puts answers, and what follows from them: the run goes on, or stays parked
// and its lease is given back. It reports whether it goes on.
func (r *run) take(fresh Turn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	blobs, bodies := r.answers(fresh)
	r.note(r.w.next, bodies)
	resumes := len(r.s.waiting()) == 0
	if resumes {
		resumed := footnote.RunResumed{Attempt: r.s.resumes + 1, Reason: "answered"}
		r.note(r.w.next+int64(len(bodies)), []footnote.Body{resumed})
		bodies = append(bodies, resumed)
	}
	r.w.enqueue(write{bodies: bodies, blobs: blobs, release: !resumes}, true)
	return resumes
}

// drop gives up a run that was not launched.
func (r *run) drop() {
	r.topic.Trim()
	r.topic.Close()
	r.stopTimer()
	r.cancel(nil)
}

// check sorts the answers of a turn against the log: those already given in the
// same words are dropped, anything that does not fit is refused. Only calls of
// client tools can be answered: what a tool of ours gave is for nobody to say.
func (s *state) check(a *Assistant, t Turn) (fresh Turn, err error) {
	open := map[string]openCall{}
	for _, c := range s.open() {
		open[c.ID] = c
	}
	answers := map[string]Answer{}
	for _, an := range t.Answers {
		an.Content = bounded(an.Content)
		twin, twice := answers[an.CallID]
		given, ok := s.results[an.CallID]
		c, isOpen := open[an.CallID]
		denied := s.approvals[an.CallID].CallID != "" && !s.approvals[an.CallID].Approved
		switch {
		case twice && twin.Content == an.Content && twin.IsError == an.IsError:
		case ok && given.By == "client" && given.Content == an.Content && given.IsError == an.IsError:
		case ok || twice:
			return fresh, footnote.Errorf(footnote.Conflict, "The call %.100q has been answered already, differently.", an.CallID)
		case !isOpen || s.run == "":
			return fresh, footnote.Errorf(footnote.Conflict, "There is no open call %.100q in this conversation.", an.CallID)
		case denied || a.side(c.Name) != Client:
			return fresh, footnote.Errorf(footnote.Conflict, "The call %.100q is not for the client to answer.", an.CallID)
		default:
			answers[an.CallID] = an
			fresh.Answers = append(fresh.Answers, an)
		}
	}
	fresh.Principal = t.Principal
	fresh.Approvals, err = s.decisions(open, t.Approvals)
	return fresh, err
}

// decisions is check for approvals.
func (s *state) decisions(open map[string]openCall, approvals []Approval) (fresh []Approval, err error) {
	decided := map[string]bool{}
	for id, given := range s.approvals {
		decided[id] = given.Approved
	}
	for _, a := range approvals {
		given, ok := decided[a.CallID]
		_, isOpen := open[a.CallID]
		switch {
		case ok && given == a.Approved:
		case ok:
			return nil, footnote.Errorf(footnote.Conflict, "The call %.100q has been decided already, differently.", a.CallID)
		case !isOpen || !s.asked[a.CallID] || s.run == "":
			return nil, footnote.Errorf(footnote.Conflict, "No approval is open for the call %.100q.", a.CallID)
		default:
			decided[a.CallID] = a.Approved
			fresh = append(fresh, a)
		}
	}
	return fresh, nil
}

// side is where the tool of a call runs; empty when there is no such tool.
func (a *Assistant) side(name string) string {
	for _, t := range a.Tools {
		s := t.Spec()
		if _, alias := s.Aliases[name]; alias || s.Name == name {
			return s.Side
		}
	}
	return ""
}

// waiting lists the open calls that somebody outside must still act on: those
// without a result, but for the ones that have been decided and are ours to run.
func (s *state) waiting() []openCall {
	var calls []openCall
	for _, c := range s.open() {
		if _, decided := s.approvals[c.ID]; !decided {
			calls = append(calls, c)
		}
	}
	return calls
}

// supersede closes the open calls of a parked run, because its user went on.
func (e *Engine) supersede(ctx context.Context, head footnote.Stream, s *state) (footnote.Stream, error) {
	return e.closeRun(ctx, head, s, NotAnswered, "user")
}

// closeRun ends a run that nothing drives: it answers its open calls with words
// and appends the terminal event. The stream must be locked.
func (e *Engine) closeRun(ctx context.Context, head footnote.Stream, s *state, words, by string) (footnote.Stream, error) {
	var bodies []footnote.Body
	for _, c := range s.open() {
		bodies = append(bodies, footnote.ToolResult{CallID: c.ID, Name: c.Name, Content: words, IsError: true, By: "recovery"})
	}
	bodies = append(bodies, footnote.RunStopped{By: by, Steps: s.steps, Usage: s.usage, Cost: s.cost, Millis: s.spent().Milliseconds()})
	events, err := e.opts.Log.Append(ctx, footnote.Append{
		Stream: head.ID, After: head.Last, Run: s.run, Bodies: bodies,
		Take: &footnote.Take{Owner: e.opts.Owner, TTL: e.opts.LeaseTTL}, Release: true,
	})
	if err != nil {
		return head, err
	}
	topic := e.opts.Hub.Open(head.ID, head.Last)
	topic.Publish(events...)
	topic.Trim()
	topic.Close()
	for _, ev := range events {
		s.apply(ev)
	}
	head.Last += int64(len(events))
	head.Run, head.RunState = "", ""
	return head, nil
}

// interrupt ends a run whose owner is gone and whose reader has left.
func (e *Engine) interrupt(ctx context.Context, head footnote.Stream) error {
	s, err := e.load(ctx, head.ID)
	if err != nil {
		return err
	}
	_, err = e.closeRun(ctx, head, s, history.Interrupted, "interrupted")
	return err
}

// Recover goes on with the runs whose owner has died, and with parked ones whose
// deadline has passed. It is called once at the start; the engine then looks again
// every few seconds.
func (e *Engine) Recover(ctx context.Context) error {
	heads, err := e.opts.Log.Unfinished(ctx, e.opts.Now(), 1000)
	if err != nil {
		return fmt.Errorf("list unfinished runs: %w", err)
	}
	for _, head := range heads {
		if err := e.recover(ctx, head.ID); err != nil {
			e.opts.Logger.ErrorContext(ctx, "run not recovered", "conversation", head.ID, "err", err)
		}
	}
	return nil
}

// mostRecoveries is how often a run may take its process down with it.
const mostRecoveries = 3

// recover goes on with one run, or ends it when nobody wants it any more.
func (e *Engine) recover(ctx context.Context, stream string) error {
	leave, err := e.enter()
	if err != nil {
		return nil //nolint:nilerror // it is left to the next process
	}
	defer leave()
	unlock, err := e.lock(ctx, stream)
	if err != nil {
		return err
	}
	defer unlock()
	if e.running(stream) != nil {
		return nil
	}
	head, err := e.opts.Log.Get(ctx, stream)
	if err != nil || head.RunState == "" {
		return err
	}
	if head.RunState == "parked" && head.Deadline.After(e.opts.Now()) {
		return nil
	}
	s, err := e.load(ctx, stream)
	if err != nil {
		return err
	}
	a, err := e.assistant("", s.opened.Assistant)
	orphan := head.RunState == "running"
	if err != nil || orphan && (s.started.OnDisconnect == Cancel || s.recoveries >= mostRecoveries) {
		return e.interrupt(ctx, head) // also when the assistant is gone from the configuration
	}
	r := e.newRun(head, a, s, Turn{Principal: footnote.Principal{Org: head.Org, User: head.User}, Door: s.started.Door})
	r.recovered = orphan
	resumed := footnote.RunResumed{Attempt: s.resumes + 1, Reason: "recovered"}
	var bodies []footnote.Body
	if !orphan {
		resumed.Reason = "deadline"
		for _, c := range s.waiting() {
			bodies = append(bodies, footnote.ToolResult{CallID: c.ID, Name: c.Name, Content: "This call was not answered in time.", IsError: true, By: "recovery"})
		}
	}
	r.put(nil, append(bodies, resumed)...)
	e.launch(r)
	return nil
}

// tend looks for runs to recover until the engine stops.
func (e *Engine) tend() {
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-e.ctx.Done():
			return
		case <-tick.C:
			e.retryOrphans()
			ctx, cancel := context.WithTimeout(e.ctx, 30*time.Second)
			if err := e.Recover(ctx); err != nil && ctx.Err() == nil {
				e.opts.Logger.WarnContext(ctx, "recovery", "err", err)
			}
			cancel()
		}
	}
}

// keepLeases renews leases until the engine stops. Nothing that may take long is
// done beside it: a lease that is renewed too late ends its run.
func (e *Engine) keepLeases() {
	tick := time.NewTicker(e.opts.LeaseTTL / 3)
	defer tick.Stop()
	for {
		select {
		case <-e.ctx.Done():
			return
		case <-tick.C:
			e.renew()
		}
	}
}

func (e *Engine) retryOrphans() {
	e.mu.Lock()
	ids := make([]string, 0, len(e.orphans))
	for id := range e.orphans {
		ids = append(ids, id)
	}
	e.mu.Unlock()
	for _, id := range ids {
		ctx, cancel := context.WithTimeout(e.ctx, 5*time.Second)
		if err := e.retryOrphan(ctx, id); err != nil && e.ctx.Err() == nil {
			e.opts.Logger.WarnContext(ctx, "run not closed yet", "conversation", id, "err", err)
		}
		cancel()
	}
}

func (e *Engine) retryOrphan(ctx context.Context, stream string) error {
	unlock, err := e.lock(ctx, stream)
	if err != nil {
		return err
	}
	defer unlock()
	if e.running(stream) != nil {
		return nil
	}
	return e.adopt(ctx, stream)
}

// renew extends the leases of the running runs. One that is lost ends its run.
func (e *Engine) renew() {
	for _, r := range e.live() {
		token := r.w.token()
		if token == 0 {
			continue
		}
		ctx, cancel := context.WithTimeout(e.ctx, 5*time.Second)
		err := e.opts.Log.Renew(ctx, r.stream, token, e.opts.LeaseTTL)
		cancel()
		if footnote.CodeOf(err) == footnote.Conflict && r.w.token() == token {
			r.cancel(fmt.Errorf("lease lost: %w", err))
		}
	}
}
