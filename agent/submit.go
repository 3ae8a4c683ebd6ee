package agent

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/hub"
	"github.com/footnotehq/footnote/internal/pause"
	"github.com/footnotehq/footnote/model/history"
)

// Submit starts or resumes a run for a turn and returns once the run is under way; its first events may not be
// committed yet. The ticket's reader, from Subscribe, must be closed.
//
// The error's code is InvalidRequest, InputTooLong or TooLarge for an invalid turn, NotFound for a conversation that is
// not the principal's, Conflict when the conversation is busy. If one answer or approval does not fit the open calls,
// the whole turn is refused: with CallUnknown when the call was never open to the client, CallAnswered when it has
// another answer, and CallClosed when it timed out or the conversation continued without it.
//
// Submit is idempotent: a message or an answer that is sent again, even at the same time or to another engine, gets a
// Duplicate ticket. So does an edit or a regeneration that is sent again, until its run is over, or later if it names
// the message that it replaced. A message that has the id of another message and a different text is refused with
// Conflict.
func (e *Engine) Submit(ctx context.Context, t Turn) (Ticket, error) {
	if t.OnBusy == Enqueue {
		leave, err := e.queueFor(ctx, &t)
		if err != nil {
			return Ticket{}, err
		}
		defer leave()
	}
	for {
		ticket, err := e.submit(ctx, t)
		if !errors.Is(err, errBusy) || !t.empty() || t.OnBusy != Enqueue && t.OnBusy != Interrupt {
			ticket.OnDisconnect = t.OnDisconnect
			return ticket, err
		}
		if err := e.waitToResubmit(ctx, &t); err != nil {
			return Ticket{}, err
		}
	}
}

// queueFor waits for the earlier messages of the conversation. It does not wait if the conversation is new and has no
// name.
func (e *Engine) queueFor(ctx context.Context, t *Turn) (leave func(), err error) {
	head, found, err := e.find(ctx, t)
	switch {
	case err != nil:
		return nil, err
	case found:
		return e.queue(ctx, head.ID)
	case t.ClientID != "":
		return e.queue(ctx, t.name())
	}
	return func() {}, nil
}

// interruptTime is how long a message waits for the answer that it interrupts to end.
const interruptTime = 10 * time.Second

// waitToResubmit waits until a message that was refused with errBusy can be submitted again.
func (e *Engine) waitToResubmit(ctx context.Context, t *Turn) error {
	head, found, err := e.opened(ctx, t)
	if err != nil {
		return err
	}
	if !found { // its first append has just failed
		return pause.For(ctx, pollElsewhere)
	}
	if t.OnBusy == Interrupt {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, interruptTime, errBusy)
		defer cancel()
		if err := e.Stop(ctx, head.ID, "user"); err != nil {
			return err
		}
	}
	return e.waitForIdle(ctx, head.ID)
}

// submit makes one attempt of Submit. It returns errBusy if the conversation is busy.
func (e *Engine) submit(ctx context.Context, t Turn) (Ticket, error) {
	leave, err := e.enter()
	if err != nil {
		return Ticket{}, err
	}
	defer leave()
	if t.Prepare != nil {
		if err := e.prepare(ctx, &t); err != nil {
			return Ticket{}, err
		}
	}
	if !t.empty() {
		if err := t.checkSize(); err != nil {
			return Ticket{}, err
		}
		return e.receive(ctx, t)
	}
	return e.ask(ctx, &t)
}

// prepare reads the log of a turn's conversation and lets the turn's protocol complete the turn.
func (e *Engine) prepare(ctx context.Context, t *Turn) error {
	head, found, err := e.find(ctx, t)
	if err != nil {
		return err
	}
	if found {
		if t.log, err = e.read(ctx, head.ID, nil); err != nil {
			return err
		}
		if err := e.maySee(t.Principal, head, t.log); err != nil {
			return err
		}
	}
	return t.Prepare(t, head, t.log)
}

// Subscribe returns the reader of a ticket, for all events with Seq > After.
func (e *Engine) Subscribe(t Ticket) *hub.Reader {
	if t.reader == nil { // a duplicate
		t.reader, _ = e.opts.Hub.Subscribe(t.Conversation, t.After)
	}
	return t.reader
}

// ask starts a run for a message.
func (e *Engine) ask(ctx context.Context, t *Turn) (Ticket, error) {
	head, found, err := e.find(ctx, t)
	if err != nil {
		return Ticket{}, err
	}
	if found && (t.MessageID != "" || t.rewinds()) { // before limits, because a duplicate costs nothing
		if ticket, ok, err := e.duplicateTicket(ctx, head, t); ok || err != nil {
			return ticket, err
		}
	}
	if t.Repeated {
		return Ticket{}, footnote.Errorf(footnote.NotFound, "The conversation has no such message.")
	}
	a, err := e.assistant(t.Principal, t.Assistant, head.Assistant)
	if err != nil {
		return Ticket{}, err
	}
	if err := a.checkMessage(t); err != nil {
		return Ticket{}, err
	}
	if t.rewinds() && !found {
		return Ticket{}, noConversation(nil)
	}
	if a.Unavailable != "" {
		return Ticket{}, footnote.Errorf(footnote.ModelUnavailable, "%s", a.Unavailable)
	}
	done, err := e.opts.Budget.Admit(ctx, t.Principal, head.ID)
	if err != nil {
		e.refused(*t, head.ID, err)
		return Ticket{}, err
	}
	t.admitted = done
	var ticket Ticket
	if found {
		ticket, err = e.startRun(ctx, a, head, t)
	} else {
		ticket, err = e.open(ctx, a, t)
	}
	if err != nil || ticket.Duplicate {
		done()
	}
	return ticket, err
}

// find returns the stream of a turn's conversation, if it exists already.
func (e *Engine) find(ctx context.Context, t *Turn) (head footnote.Stream, found bool, err error) {
	p := t.Principal
	switch {
	case t.Conversation != "":
		head, err = e.opts.Log.Get(ctx, t.Conversation)
	case t.ClientID != "":
		if err := checkClientID(t.ClientID); err != nil {
			return head, false, err
		}
		head, err = e.opts.Log.Find(ctx, p.Org, p.User, "conversation", t.ClientID)
		if footnote.CodeOf(err) == footnote.NotFound {
			return head, false, nil
		}
	default:
		return head, false, nil
	}
	if err != nil && footnote.CodeOf(err) != footnote.NotFound {
		return head, false, err
	}
	// The error must not reveal whether the conversation exists.
	if err != nil || !p.Owner(head.Org, head.User) || head.Kind != "conversation" {
		return head, false, noConversation(err)
	}
	return head, true, nil
}

func noConversation(cause error) error {
	return footnote.Wrapf(footnote.NotFound, cause, "There is no such conversation.")
}

func checkClientID(id string) error {
	printable := !strings.ContainsFunc(id, func(r rune) bool { return !unicode.IsPrint(r) })
	if len(id) > 128 || !utf8.ValidString(id) || !printable {
		return footnote.Invalidf("A conversation id must be 1 to 128 bytes of printable UTF-8.")
	}
	return nil
}

// duplicateTicket waits until the message of a turn, if the conversation already has it, is in the log, and returns its
// ticket. ok is false if the conversation does not have the message.
func (e *Engine) duplicateTicket(ctx context.Context, head footnote.Stream,
	t *Turn) (ticket Ticket, ok bool, err error) {
	if ticket, ok, err = e.duplicateOfRunning(ctx, head, t); ok || err != nil {
		return ticket, ok, err
	}
	if t.log, err = e.read(ctx, head.ID, t.log); err != nil {
		if footnote.CodeOf(err) == footnote.NotFound { // the conversation is not stored yet, or was deleted
			err = nil
		}
		return Ticket{}, false, err
	}
	asked := t.repeats(t.log)
	if asked.Body == nil {
		return Ticket{}, false, nil
	}
	if err := e.maySee(t.Principal, head, t.log); err != nil {
		return Ticket{}, false, err
	}
	ticket, err = t.duplicate(head, asked)
	return ticket, err == nil, err
}

// duplicateOfRunning implements duplicateTicket for the run that this engine drives, whose first events may not be in
// the log yet. Events that the run could not store do not count.
func (e *Engine) duplicateOfRunning(ctx context.Context, head footnote.Stream,
	t *Turn) (ticket Ticket, ok bool, err error) {
	r := e.running(head.ID)
	if r == nil || r.ending() {
		return Ticket{}, false, nil
	}
	log := r.events()
	asked := t.repeats(log)
	if asked.Body == nil {
		return Ticket{}, false, nil
	}
	if err := e.maySee(t.Principal, head, log); err != nil {
		return Ticket{}, false, err
	}
	if err := r.w.reached(ctx, asked.Seq); err != nil {
		if r.w.broken() {
			err = nil // duplicateTicket reads the log
		}
		return Ticket{}, false, err
	}
	ticket, err = t.duplicate(head, asked)
	return ticket, err == nil, err
}

// duplicate returns the ticket of a message that was sent before. It returns Conflict if that message has a different
// text.
func (t *Turn) duplicate(head footnote.Stream, asked footnote.Event) (Ticket, error) {
	if m, ok := asked.Body.(footnote.UserMessage); ok && m.Text != t.Text && !t.Repeated && !t.rewinds() {
		return Ticket{}, footnote.Errorf(footnote.Conflict, "Another message of this conversation has this id.")
	}
	return Ticket{
		Conversation: head.ID, Assistant: head.Assistant, Run: asked.Run, After: asked.Seq - 1, Duplicate: true,
	}, nil
}

// refused calls Options.Refused if a limit refused a question, and not for other errors, such as a store that is
// unavailable.
func (e *Engine) refused(t Turn, conversation string, err error) {
	code := footnote.CodeOf(err)
	if e.opts.Refused == nil || code != footnote.BudgetExceeded && code != footnote.RateLimited {
		return
	}
	t.Conversation = conversation
	e.opts.Refused(t, err)
}

// startRun starts a run in an existing conversation.
func (e *Engine) startRun(ctx context.Context, a *Assistant, head footnote.Stream, t *Turn) (Ticket, error) {
	for tries := raceTries; ; tries-- {
		again := *t
		ticket, raced, err := e.tryStartRun(ctx, a, head.ID, &again)
		if !raced || tries == 0 {
			return ticket, err
		}
	}
}

// tryStartRun makes one attempt of startRun. raced is true if another engine wrote to the conversation meanwhile.
func (e *Engine) tryStartRun(ctx context.Context, a *Assistant, stream string,
	t *Turn) (_ Ticket, raced bool, err error) {
	unlock, err := e.lock(ctx, stream)
	if err != nil {
		return Ticket{}, false, err
	}
	defer unlock()
	head, ticket, err := e.idleOrDuplicate(ctx, a, stream, t)
	if err != nil || ticket.Duplicate {
		return ticket, false, err
	}
	if head.Last >= a.Limits.Events {
		return Ticket{}, false,
			footnote.Errorf(footnote.TooLarge,
				"The conversation is full: it has %d events. Begin a new one.", head.Last)
	}
	s, err := e.loadAfter(ctx, head, t.log)
	if err != nil {
		return Ticket{}, false, err
	}
	if err := e.choose(a, s, t); err != nil {
		return Ticket{}, false, err
	}
	if asked := t.repeats(s.events); asked.Body != nil {
		ticket, err := t.duplicate(head, asked)
		return ticket, false, err
	}
	var to int64
	if t.rewinds() {
		if to, err = s.findReplaced(a, t); err != nil {
			return Ticket{}, false, err
		}
	}
	if s.parked {
		// Its user has sent a new message instead of an answer.
		head, err = e.closeRun(ctx, head, s, history.Unanswered, footnote.RunStopped{By: "user"})
		if err != nil {
			return Ticket{}, e.raced(err), err
		}
	}
	var bodies []footnote.Body
	if t.rewinds() {
		s.rewind(to)
		bodies = append(bodies, footnote.Rewound{ToSeq: to})
	}
	ticket, err = e.begin(ctx, e.newRun(head, a, s, *t), nil, bodies)
	return ticket, e.raced(err), err
}

// idleOrDuplicate calls quiet. If the run under way began with the message of the turn, it returns the ticket of that
// run.
func (e *Engine) idleOrDuplicate(ctx context.Context, a *Assistant, stream string, t *Turn) (
	head footnote.Stream, asked Ticket, err error,
) {
	head, err = e.quiet(ctx, stream)
	if footnote.CodeOf(err) != footnote.Conflict || t.MessageID == "" && !t.rewinds() {
		return head, Ticket{}, err
	}
	asked, ok, again := e.duplicateTicket(ctx, footnote.Stream{ID: stream, Assistant: a.Name}, t)
	if r := e.running(stream); !ok && r != nil && r.ending() { // it could not store its first events
		head, err = e.quiet(ctx, stream)
		return head, Ticket{}, err
	}
	if ok || again != nil {
		return head, asked, again
	}
	return head, Ticket{}, err
}

// findReplaced finds the message that a turn replaces, and copies to the turn what it inherits from that message. The
// turn rewinds the events after to.
func (s *state) findReplaced(a *Assistant, t *Turn) (to int64, err error) {
	old := s.message(t.Edit)
	switch {
	case old == nil && t.Edit == 0:
		return 0, footnote.Invalidf("There is no message to answer again.")
	case old == nil:
		return 0, footnote.Invalidf("Event %d is not a message, or was rewound.", t.Edit)
	case t.Regenerate:
		t.Text = old.Text
	}
	t.MessageID = cmp.Or(t.MessageID, old.ID)
	if t.Context == "" && a.Setting == nil { // begin describes a setting again
		t.Context = withoutDate(old.Context)
	}
	if t.Where == nil {
		t.Where = old.Where
	}
	return old.seq - 1, nil
}
