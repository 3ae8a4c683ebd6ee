package agent

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/visible"
	"github.com/footnotehq/footnote/model/history"
	"github.com/footnotehq/footnote/tool"
)

// NotAnswered is what the model reads of a call whose user went on without it.
const NotAnswered = history.Unanswered

// Freeze gives the definitions of the tools a policy offers, as the model is sent
// them for the whole life of a conversation.
func Freeze(tools []tool.Tool, p Policy) json.RawMessage {
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
	return marshal([]map[string]string{{"type": "text", "text": visible.Text(s)}})
}

// DigestOf names a blob by its content.
func DigestOf(data []byte) footnote.Digest {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// lastDigest names the bytes it has named last without hashing them: conversations are
// opened with the same prompt and tools until something changes. Its methods may be
// called from several goroutines; what was named must not be changed.
type lastDigest struct{ last atomic.Pointer[named] }

type named struct {
	data   []byte
	digest footnote.Digest
}

func (l *lastDigest) of(data []byte) footnote.Digest {
	if n := l.last.Load(); n != nil && bytes.Equal(n.data, data) {
		return n.digest
	}
	n := &named{data, DigestOf(data)}
	l.last.Store(n)
	return n.digest
}

// open starts the first run of a new conversation.
func (e *Engine) open(ctx context.Context, a *Assistant, t *Turn) (Ticket, error) {
	tier, err := e.tier(t.Principal, a, t.Tier)
	if err != nil {
		return Ticket{}, err
	}
	system, sources, err := a.Opening(ctx, t.Principal, t.Sources)
	if err != nil {
		return Ticket{}, err
	}
	tools := e.toolsOf(t.Principal, a)
	opened := footnote.Opened{
		Assistant: a.Name, Model: tier.Model, Tier: tier.Name, Effort: cmp.Or(t.Effort, tier.Effort), Sources: sources,
		System: e.systemDigest.of(system), Tools: e.toolsDigest.of(tools),
	}
	head := footnote.Stream{
		ID: "conv_" + rand.Text(), Kind: "conversation", Org: t.Principal.Org, User: t.Principal.User,
		ClientID: t.ClientID, Assistant: a.Name,
	}
	r := e.newRun(head, a, &state{}, *t)
	r.system, r.tools = system, tools
	r.w.fresh = true
	if !e.claim(r) {
		r.drop()
		return Ticket{}, busy()
	}
	// Whoever had the name before may have had its answer since we looked.
	if now, found, err := e.find(ctx, t); err != nil || found {
		e.unclaim(r)
		r.drop()
		if err != nil {
			return Ticket{}, err
		}
		return e.goOn(ctx, a, now, t)
	}
	blobs := map[footnote.Digest][]byte{opened.System: system, opened.Tools: tools}
	ticket, err := e.begin(ctx, r, blobs, openingBodies(opened, t))
	if e.raced(err) && t.ClientID != "" {
		// Another engine has given the name away meanwhile.
		if now, found, err := e.find(ctx, t); err == nil && found {
			return e.goOn(ctx, a, now, t)
		}
	}
	return ticket, err
}

// openingBodies are the events that a new conversation begins with.
func openingBodies(opened footnote.Opened, t *Turn) []footnote.Body {
	bodies := []footnote.Body{opened}
	if title := title(t.Text); title != "" {
		bodies = append(bodies, footnote.Titled{Title: title, Auto: true})
	}
	if len(t.History) > 0 {
		bodies = append(bodies, footnote.Imported{Turns: t.History})
	}
	return bodies
}

// tier is what a new conversation is held with: a tier that was asked for, or the
// assistant's own model. Who may not use that gets the first tier that it may.
func (e *Engine) tier(p footnote.Principal, a *Assistant, name string) (Tier, error) {
	tiers := e.tiers(p, a)
	switch {
	case name == "" && e.opts.Access.Model(p, a.ModelName):
		return Tier{Model: a.ModelName}, nil
	case name == "" && len(tiers) > 0:
		return tiers[0], nil
	case name == "":
		return Tier{}, footnote.Errorf(footnote.InvalidRequest, "There is no model for the assistant %s.", a.Name)
	}
	names := make([]string, len(tiers))
	for i, t := range tiers {
		if names[i] = t.Name; t.Name == name {
			return t, nil
		}
	}
	if len(names) == 0 {
		return Tier{}, footnote.Errorf(footnote.InvalidRequest, "The assistant %s has no tiers to choose from.", a.Name)
	}
	return Tier{}, footnote.Errorf(footnote.InvalidRequest, "There is no tier %.40q; there are %s.", name,
		strings.Join(names, ", "))
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

func (e *Engine) unclaim(r *run) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if key := r.clientKey(); e.opening[key] == r {
		delete(e.opening, key)
	}
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

// takeBack finds the message that a turn replaces, and gives the turn what it takes
// over of it. The events after to no longer count then.
func (s *state) takeBack(a *Assistant, t *Turn) (to int64, err error) {
	old := s.message(t.Edit)
	switch {
	case old == nil && t.Edit == 0:
		return 0, footnote.Errorf(footnote.InvalidRequest, "There is no message to ask again.")
	case old == nil:
		return 0, footnote.Errorf(footnote.InvalidRequest, "Event %d is not a message that still counts.", t.Edit)
	case t.Regenerate:
		t.Text = old.Text
	}
	if t.MessageID == "" {
		t.MessageID = old.ID
	}
	if t.Context == "" && a.Setting == nil { // a setting is described anew
		t.Context = withoutDate(old.Context)
	}
	if t.Where == nil {
		t.Where = old.Where
	}
	return old.seq - 1, nil
}

// begin puts the first events of a run and lets it go. In a conversation that
// exists the stream must be locked.
func (e *Engine) begin(ctx context.Context, r *run, blobs map[footnote.Digest][]byte,
	bodies []footnote.Body) (Ticket, error) {
	t := &r.turn
	if t.Where == nil {
		t.Where = r.s.where()
	}
	more := t.Context
	if r.a.Setting != nil {
		more = strings.TrimSpace(more + "\n" + r.a.Setting.Describe(ctx, t.Principal, t.Where))
	}
	bodies = append(bodies,
		footnote.UserMessage{Text: t.Text, Context: r.context(more), ID: t.MessageID, Where: t.Where},
		footnote.RunStarted{Door: t.Door, OnDisconnect: t.OnDisconnect, RequestID: t.RequestID,
			Unattended: t.Unattended, Key: t.Key,
			Roles: t.Principal.Roles, Attributes: t.Principal.Attributes, MaxTokens: t.MaxTokens, Trace: r.trace})
	ticket := r.ticket()
	if e.opts.Shared == nil || r.w.fresh && t.ClientID == "" {
		r.put(blobs, bodies...)
		e.launch(r)
		return ticket, nil
	}
	// Another engine may be quicker, if only with a title, or give a client's name to a
	// conversation of its own: nothing is asked before that is known.
	r.mu.Lock()
	r.note(r.w.next, bodies)
	err := r.first(ctx, footnote.Append{Bodies: bodies, Blobs: blobs})
	r.mu.Unlock()
	if err != nil {
		e.unclaim(r)
		r.drop()
		ticket.reader.Close()
		return Ticket{}, err
	}
	e.launch(r)
	return ticket, nil
}

// The date, as the model reads it on a line of its own.
const (
	dateBegins = "Today is "
	dateEnds   = " (UTC)."
)

// context is what the model reads after a message: the date, when it has not read
// it in this conversation yet, what the user ran meanwhile, and what the door
// added.
func (r *run) context(more string) string {
	var lines []string
	today := dateBegins + r.e.opts.Now().UTC().Format("Monday, 2006-01-02") + dateEnds
	if !slices.ContainsFunc(r.s.said, func(m said) bool { return strings.Contains(m.Context, today) }) {
		lines = append(lines, today)
	}
	for _, a := range r.s.asides[max(0, len(r.s.asides)-mostAsides):] {
		lines = append(lines, a.words())
	}
	return strings.TrimSpace(strings.Join(append(lines, more), "\n"))
}

// withoutDate is a context without the date it begins with.
func withoutDate(context string) string {
	line, rest, _ := strings.Cut(context, "\n")
	if strings.HasPrefix(line, dateBegins) && strings.HasSuffix(line, dateEnds) {
		return rest
	}
	return context
}

// mostAsides is how many of the user's own queries the model is told about, and
// asideSQL how many bytes of each.
const (
	mostAsides = 5
	asideSQL   = 2_000
)

// words tells the model of a query that the user ran.
func (a aside) words() string {
	sql := a.Result.SQL
	if len(sql) > asideSQL {
		sql = strings.ToValidUTF8(sql[:asideSQL], "") + " …"
	}
	said := "Meanwhile the user ran a query"
	if a.Replaces != "" {
		said += ", an edited form of that of " + a.Replaces
	}
	return fmt.Sprintf("%s; it gave %d rows, which are result %s: %s", said, a.Result.RowCount, a.Result.ID,
		strings.Join(strings.Fields(sql), " "))
}

// answer takes results and approvals for calls that a run left open.
func (e *Engine) answer(ctx context.Context, t Turn) (Ticket, error) {
	head, found, err := e.find(ctx, &t)
	if err != nil {
		return Ticket{}, err
	}
	if !found {
		return Ticket{}, footnote.Errorf(footnote.NotFound, "There is no such conversation.")
	}
	for tries := noteTries; ; tries-- {
		ticket, err := e.answerElsewhere(ctx, head.ID, t)
		if err != nil || ticket.Duplicate {
			return ticket, err
		}
		ticket, raced, err := e.answerHere(ctx, head, t)
		if !raced || tries == 0 {
			return ticket, err
		}
	}
}

// answerHere takes results and approvals for a run of this engine, or a parked one.
// It is raced when another engine has written meanwhile.
func (e *Engine) answerHere(ctx context.Context, head footnote.Stream, t Turn) (_ Ticket, raced bool, err error) {
	unlock, err := e.lock(ctx, head.ID)
	if err != nil {
		return Ticket{}, false, err
	}
	defer unlock()
	if r := e.running(head.ID); r != nil {
		if ticket, done, err := r.deliver(ctx, t); done || err != nil {
			return ticket, false, err
		}
		if err := r.waitUntilOver(ctx); err != nil { // it is just about to park, or to end
			return Ticket{}, false, err
		}
	}
	if err := e.settleOrphan(ctx, head.ID); err != nil {
		return Ticket{}, false, err
	}
	if head, err = e.opts.Log.Get(ctx, head.ID); err != nil {
		return Ticket{}, false, err
	}
	if head.RunState == "running" {
		return Ticket{}, e.opts.Shared != nil, busy() // somebody else drives it, or it waits for its recovery
	}
	s, err := e.load(ctx, head)
	if err != nil {
		return Ticket{}, false, err
	}
	a, err := e.assistant(t.Principal, t.Assistant, s.opened.Assistant)
	if err == nil {
		err = e.mayGoOn(t.Principal, s)
	}
	if err != nil {
		return Ticket{}, false, err
	}
	fresh, err := s.check(a, t)
	if err != nil {
		e.withdraw(s.overruled(a, t, head.ID))
		return Ticket{}, false, err
	}
	if head.RunState == "parked" && !head.Deadline.After(e.opts.Now()) && len(fresh.Answers)+len(fresh.Approvals) > 0 {
		// Nobody has noticed yet, but the time is over.
		if err := e.expire(ctx, head, a, s); err != nil {
			return Ticket{}, e.raced(err), err
		}
		return Ticket{}, false, callClosed(append(fresh.callIDs(), "")[0])
	}
	given, err := e.accept(ctx, a, s, head.ID, fresh)
	if err != nil {
		return Ticket{}, false, err
	}
	fresh.have(given)
	denied := s.denied(a, fresh, head.ID)
	ticket, err := e.resume(ctx, e.newRun(head, a, s, t), fresh)
	if err == nil {
		e.withdraw(denied)
	}
	return ticket, e.raced(err), err
}

// callIDs are the calls that a turn brings answers or decisions for.
func (t Turn) callIDs() []string {
	var ids []string
	for _, a := range t.Answers {
		ids = append(ids, a.CallID)
	}
	for _, a := range t.Approvals {
		ids = append(ids, a.CallID)
	}
	return ids
}

// resume appends answers to a parked run and, when they were the last it waited
// for, goes on with it. The stream must be locked.
func (e *Engine) resume(ctx context.Context, r *run, fresh Turn) (Ticket, error) {
	ticket := r.ticket()
	if len(fresh.Answers)+len(fresh.Approvals) == 0 {
		ticket.Duplicate = true
		if r.s.run == "" {
			ticket.Run = r.s.lastRun
		}
		r.drop()
		return ticket, nil
	}
	// One append: answers without the resumption would leave the run parked, and
	// the client, trying again, would be told that all is well. An answer is
	// acknowledged only when it cannot be lost any more.
	r.purse.unknown = true // see keepForPage
	last, err := r.take(ctx, fresh)
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

// take writes answers, and what follows from them: the run goes on, or stays parked
// and its lease is given back. It reports whether it goes on.
func (r *run) take(ctx context.Context, fresh Turn) (resumes bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	blobs, bodies := r.answers(fresh)
	r.note(r.w.next, bodies)
	if resumes = len(r.s.waiting()) == 0; resumes {
		resumed := footnote.RunResumed{Attempt: r.s.resumes + 1, Reason: "answered"}
		r.note(r.w.next+int64(len(bodies)), []footnote.Body{resumed})
		bodies = append(bodies, resumed)
	}
	return resumes, r.first(ctx, footnote.Append{Blobs: blobs, Bodies: bodies, Release: !resumes})
}

// drop gives up a run that was not launched.
func (r *run) drop() {
	r.topic.Trim()
	r.topic.Close()
	r.stopTimer()
	r.cancel(nil)
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
	return e.closeRun(ctx, head, s, NotAnswered, footnote.RunStopped{By: "user"})
}

// closeRun ends a run that nothing drives: it answers its open calls with words
// and appends the terminal event. The stream must be locked.
func (e *Engine) closeRun(ctx context.Context, head footnote.Stream, s *state, words string, terminal footnote.Body) (
	footnote.Stream, error,
) {
	if s.run == "" || s.run != head.Run {
		// It has ended, or another one has begun, since the head was read.
		return head, footnote.Errorf(footnote.Conflict, "The conversation has moved on.")
	}
	bodies, settle, err := e.lost(ctx, head.ID, s, false)
	if err != nil {
		return head, err
	}
	usage, cost := s.usage, s.cost
	for _, b := range bodies {
		b := b.(footnote.StepFailed)
		usage, cost = usage.Add(b.Usage), cost.Add(b.Cost)
	}
	var lost []answer
	a := e.byName[s.opened.Assistant]
	if a != nil {
		lost = s.abandoned(a, ownTurn(head, s).Principal, head.ID)
	}
	for _, c := range s.open() {
		bodies = append(bodies, footnote.ToolResult{
			CallID: c.ID, Name: c.Name, Content: words, IsError: true, By: "recovery",
			Statements: s.abandon(a, c, footnote.StatementCancelled),
		})
	}
	bodies = append(bodies, withTotals(terminal, s.steps, usage, cost, s.spent()))
	events, err := e.opts.Log.Append(ctx, footnote.Append{
		Stream: head.ID, After: head.Last, Run: s.run, Bodies: bodies, Settle: settle,
		Take: &footnote.Take{Owner: e.opts.Owner, TTL: e.opts.LeaseTTL}, Release: true,
	})
	if err != nil {
		return head, err
	}
	e.withdraw(lost)
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
	s, err := e.load(ctx, head)
	if err != nil {
		return err
	}
	_, err = e.closeRun(ctx, head, s, history.Interrupted, footnote.RunStopped{By: "interrupted"})
	return err
}

// Recover goes on with the runs whose owner has died, and with parked ones whose
// deadline has passed. It is called once at the start; the engine then looks again
// every few seconds. Of several engines that want the same run one gets it.
func (e *Engine) Recover(ctx context.Context) error {
	begun := time.Now()
	heads, err := e.opts.Log.Unfinished(ctx, e.opts.Now(), 1000)
	if err == nil && len(heads) > 0 && e.opts.Shared != nil {
		err = e.opts.Shared.Ping(ctx)
	}
	e.availability.note(begun, err)
	if err != nil {
		return fmt.Errorf("list unfinished runs: %w", err)
	}
	if e.opts.Shared != nil {
		heads = e.availability.lost(heads)
	}
	e.recoverAll(ctx, heads)
	if e.opts.Shared != nil {
		err = e.stopParked(ctx)
	}
	return errors.Join(err, e.settleOverdue(ctx))
}

// recoverAll looks after runs that nothing drives.
func (e *Engine) recoverAll(ctx context.Context, heads []footnote.Stream) {
	for _, head := range heads {
		err := e.recover(ctx, head.ID)
		if err != nil && !e.raced(err) { // otherwise another engine was quicker
			e.opts.Logger.ErrorContext(ctx, "run not recovered", "conversation", head.ID, "err", err)
		}
	}
}

// mostRecoveries is how often a run may take its process down with it.
const mostRecoveries = 3

// recover goes on with one run, or ends it when nobody wants it any more. One that waits
// goes on waiting.
func (e *Engine) recover(ctx context.Context, stream string) error {
	leave, err := e.enter()
	if err != nil {
		return nil //nolint:nilerror // it is left to the next process
	}
	defer leave()
	return e.whileIdle(ctx, stream, func(ctx context.Context, stream string) error {
		if e.isOrphan(stream) {
			return e.settleOrphan(ctx, stream)
		}
		return e.recoverLocked(ctx, stream)
	})
}

// whileIdle calls do while the stream is locked, unless a run of this engine is under way.
func (e *Engine) whileIdle(ctx context.Context, stream string, do func(context.Context, string) error) error {
	unlock, err := e.lock(ctx, stream)
	if err != nil {
		return err
	}
	defer unlock()
	if e.running(stream) != nil {
		return nil
	}
	return do(ctx, stream)
}

// recoverLocked is recover for a stream that is locked, and in which nothing of ours
// runs.
func (e *Engine) recoverLocked(ctx context.Context, stream string) error {
	head, err := e.opts.Log.Get(ctx, stream)
	if err != nil || head.RunState == "" {
		return err
	}
	s, err := e.load(ctx, head)
	if err != nil {
		return err
	}
	if e.withdrawn(ctx, s.started.Key) {
		_, err = e.closeRun(ctx, head, s, "The run was stopped.", footnote.RunStopped{By: byRevoked})
		return err
	}
	if head.RunState == "parked" && head.Deadline.After(e.opts.Now()) {
		return nil
	}
	p := ownTurn(head, s).Principal
	a, err := e.assistant(p, "", s.opened.Assistant)
	if err == nil {
		err = e.mayGoOn(p, s)
	}
	orphan := head.RunState == "running"
	if err != nil || orphan && (s.started.OnDisconnect == Cancel || s.recoveries >= mostRecoveries) {
		return e.interrupt(ctx, head) // also when its user may no longer use the assistant, a source or the model
	}
	if !orphan {
		return e.expire(ctx, head, a, s)
	}
	return e.takeOver(ctx, head, a, s, true, footnote.RunResumed{Attempt: s.resumes + 1, Reason: "recovered"})
}

// ownTurn is the turn of a run that goes on without one.
func ownTurn(head footnote.Stream, s *state) Turn {
	return Turn{
		Principal: footnote.Principal{
			Org: head.Org, User: head.User, Roles: s.started.Roles, Attributes: s.started.Attributes,
		}, Key: s.started.Key,
		Door: s.started.Door, RequestID: s.started.RequestID,
	}
}

// late is what the model reads of a call whose time was over.
const late = "This call was not answered in time."

// expire goes on with a parked run whose deadline has passed. The stream must be
// locked.
func (e *Engine) expire(ctx context.Context, head footnote.Stream, a *Assistant, s *state) error {
	var bodies []footnote.Body
	for _, c := range s.waiting() {
		bodies = append(bodies, footnote.ToolResult{
			CallID: c.ID, Name: c.Name, Content: late, IsError: true, By: "recovery",
			Statements: s.abandon(a, c, footnote.StatementTimedOut),
		})
	}
	lost := s.abandoned(a, ownTurn(head, s).Principal, head.ID)
	err := e.takeOver(ctx, head, a, s, false,
		append(bodies, footnote.RunResumed{Attempt: s.resumes + 1, Reason: "deadline"})...)
	if err == nil {
		e.withdraw(lost)
	}
	return err
}

// tend looks for runs to recover until the engine stops.
func (e *Engine) tend() {
	tick := time.NewTimer(e.look())
	defer tick.Stop()
	for {
		select {
		case <-e.ctx.Done():
			return
		case <-tick.C:
			e.settleOrphans()
			ctx, cancel := context.WithTimeout(e.ctx, 30*time.Second)
			if err := e.Recover(ctx); err != nil && ctx.Err() == nil {
				e.opts.Logger.WarnContext(ctx, "recovery", "err", err)
			}
			cancel()
			tick.Reset(e.look()) // only now: a slow log gets a pause, too; see availability
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

// renew extends the leases of the running runs. One that is lost ends its run.
func (e *Engine) renew() {
	ctx, cancel := context.WithTimeout(e.ctx, e.opts.LeaseTTL)
	defer cancel()
	var renewals sync.WaitGroup
	slots := make(chan struct{}, renewAtOnce)
	for _, r := range e.live() {
		token := r.w.token()
		if token == 0 {
			continue
		}
		slots <- struct{}{}
		renewals.Go(func() {
			defer func() { <-slots }()
			err := r.w.renew(ctx, token)
			if footnote.CodeOf(err) == footnote.Conflict && r.w.token() == token {
				r.cancel(fmt.Errorf("lease lost: %w", err))
			}
		})
	}
	renewals.Wait()
}

// renewAtOnce is how many leases are renewed side by side: a slow store must not make the
// renewals of many runs take longer than a lease lasts.
const renewAtOnce = 8
