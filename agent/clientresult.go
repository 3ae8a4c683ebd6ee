package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/reply"
	"github.com/footnotehq/footnote/internal/visible"
	"github.com/footnotehq/footnote/tool"
)

// receive takes the results and approvals of a turn, for calls that a run left open. Every result takes this path: it
// is compared with the log, its tool accepts it, and it is stored. The run may be under way here or elsewhere, or
// parked.
func (e *Engine) receive(ctx context.Context, t Turn) (Ticket, error) {
	head, found, err := e.find(ctx, &t)
	if err != nil {
		return Ticket{}, err
	}
	if !found {
		return Ticket{}, footnote.Errorf(footnote.NotFound, "There is no such conversation.")
	}
	for range raceTries {
		ticket, patience, err := e.receiveHere(ctx, head.ID, t)
		if !errors.Is(err, errNotNow) {
			return ticket, err
		}
		if err := e.awaitElsewhere(ctx, head.ID, patience); err != nil {
			return Ticket{}, err
		}
	}
	return Ticket{}, errBusy
}

// errNotNow is returned by a run that takes no results: it is about to park or to end, or another engine drives it.
var errNotNow = errors.New("the run takes no results now")

// receiveHere is receive until another engine drives the run: then it returns errNotNow, and how long to wait for the
// run to park.
func (e *Engine) receiveHere(ctx context.Context, stream string, t Turn) (
	ticket Ticket, patience time.Duration, err error,
) {
	unlock, err := e.lock(ctx, stream)
	if err != nil {
		return Ticket{}, 0, err
	}
	defer unlock()
	for range raceTries {
		r, err := e.recipient(ctx, stream, t)
		if err != nil {
			return Ticket{}, 0, err
		}
		was := r.idle
		ticket, err := r.receive(ctx, t)
		switch {
		case was == notIdle:
		case r.idle == notIdle:
			e.launch(r)
		default:
			r.drop()
		}
		switch {
		case !errors.Is(err, errNotNow):
			return ticket, 0, err
		case was == elsewhere:
			return Ticket{}, elsewhereIn + r.a.Limits.Tool, err // calls of ours may run beside the one with the result
		case was == notIdle:
			if err := r.waitUntilOver(ctx); err != nil {
				return Ticket{}, 0, err
			}
		}
	}
	return Ticket{}, 0, errBusy
}

// idle says why a run does nothing: it was read from the log, to receive results.
type idle int

const (
	notIdle idle = iota
	parked
	elsewhere // another engine drives it
	noRun     // it has ended
)

// recipient returns the run that receives the results of a turn. The stream must be locked.
func (e *Engine) recipient(ctx context.Context, stream string, t Turn) (*run, error) {
	if r := e.running(stream); r != nil {
		return r, nil
	}
	if err := e.settle(ctx, stream); err != nil {
		return nil, err
	}
	if r := e.running(stream); r != nil { // it has just been resumed
		return r, nil
	}
	head, err := e.opts.Log.Get(ctx, stream)
	if err != nil {
		return nil, err
	}
	if head.RunState == "running" && e.opts.Shared == nil {
		return nil, errBusy // it waits for its recovery
	}
	s, err := e.load(ctx, head)
	if err != nil {
		return nil, err
	}
	a, err := e.assistant(t.Principal, t.Assistant, s.opened.Assistant)
	if err == nil {
		err = e.mayGoOn(t.Principal, s)
	}
	if err != nil {
		return nil, err
	}
	if head.RunState == "parked" && !head.Deadline.After(e.opts.Now()) {
		// Nobody has noticed yet, but the time is over.
		if err := e.expire(ctx, head, a, s); err != nil && !e.raced(err) {
			return nil, err
		}
		return e.recipient(ctx, stream, t)
	}
	r := e.newRun(head, a, s, t)
	r.idle = map[string]idle{"parked": parked, "running": elsewhere, "": noRun}[head.RunState]
	return r, nil
}

// receive gives the results and approvals of a turn to a run.
func (r *run) receive(ctx context.Context, t Turn) (ticket Ticket, err error) {
	if err := r.w.stored(ctx); err != nil { // what the client has seen of the run is behind its ticket
		return Ticket{}, err
	}
	accepted, err := r.accept(ctx, t)
	if err != nil {
		return Ticket{}, err
	}
	r.mu.Lock()
	fresh, void, err := r.compare(t)
	if err == nil {
		fresh.have(accepted)
		void = r.s.denied(r.a, fresh, r.stream)
		ticket = r.ticket()
		if ticket.Duplicate = fresh.empty(); !ticket.Duplicate {
			err = r.store(ctx, fresh)
		} else if r.s.run == "" {
			ticket.Run = r.s.lastRun
		}
	}
	r.mu.Unlock()
	if err == nil {
		err = r.w.stored(ctx)
	}
	if err != nil && ticket.reader != nil {
		ticket.reader.Close()
		return Ticket{}, err
	}
	r.e.withdraw(void)
	return ticket, err
}

// compare returns what a turn brings that the log does not have. If the turn does not fit, it also returns the results
// that came too late, to be withdrawn. r.mu must be held.
func (r *run) compare(t Turn) (fresh Turn, late []clientResult, err error) {
	if r.closed {
		return Turn{}, nil, errNotNow
	}
	if fresh, err = r.s.check(r.a, t); err != nil {
		return Turn{}, r.s.overruled(r.a, t, r.stream), err
	}
	if r.idle == elsewhere && !fresh.empty() {
		return Turn{}, nil, errNotNow
	}
	return fresh, nil, nil
}

// accept lets Checked tools take their results, before those are stored. It returns the outputs by call.
func (r *run) accept(ctx context.Context, t Turn) (map[string]tool.Output, error) {
	r.mu.Lock()
	fresh, late, err := r.compare(t)
	calls := r.s.answered(r.a, fresh, r.stream)
	r.mu.Unlock()
	if err != nil {
		r.e.withdraw(late)
		return nil, err
	}
	return accepted(ctx, calls)
}

// store writes results and approvals. A parked run resumes with the last of them, in one append: without the resumption
// it would stay parked, and the client, trying again, would be told that all is well. r.mu must be held.
func (r *run) store(ctx context.Context, fresh Turn) error {
	blobs, bodies := r.answers(fresh)
	if r.idle == notIdle {
		r.apply(r.w.put(blobs, bodies...), bodies)
		return nil
	}
	r.budget.unknown = true // see keepForPage
	r.apply(r.w.next, bodies)
	resumes := len(r.s.waiting()) == 0
	if resumes {
		resumed := footnote.RunResumed{Attempt: r.s.resumes + 1, Reason: "answered"}
		r.apply(r.w.next+int64(len(bodies)), []footnote.Body{resumed})
		bodies = append(bodies, resumed)
	}
	err := r.first(ctx, footnote.Append{Blobs: blobs, Bodies: bodies, Release: !resumes})
	switch {
	case r.e.raced(err):
		return errNotNow
	case resumes && err == nil:
		r.idle = notIdle
	}
	return err
}

// check compares the answers of a turn with the log. It drops those that were given before in the same words, and
// refuses any that do not fit. Clients answer calls of client tools only.
func (s *state) check(a *Assistant, t Turn) (fresh Turn, err error) {
	open := map[string]openCall{}
	for _, c := range s.open() {
		open[c.ID] = c
	}
	digests := map[string]footnote.Digest{}
	for _, an := range t.Answers {
		digest := digest(an)
		if before, twice := digests[an.CallID]; twice {
			if before != digest {
				return Turn{}, answeredOtherwise(an.CallID)
			}
			continue
		}
		digests[an.CallID] = digest
		if given, ok := s.results[an.CallID]; ok {
			if err := repeated(given, an, digest); err != nil {
				return Turn{}, err
			}
			continue
		}
		if err := s.answerable(a, an.CallID, open); err != nil {
			return Turn{}, err
		}
		fresh.Answers = append(fresh.Answers, an)
	}
	fresh.Principal = t.Principal
	fresh.Approvals, err = s.decisions(open, t.Approvals)
	return fresh, err
}

// repeated returns nil when a call got the same answer before.
func repeated(given footnote.ToolResult, a tool.Answer, digest footnote.Digest) error {
	switch {
	case given.By != "client":
		return callClosed(a.CallID)
	case given.Told == digest, given.Told == "" && given.Content == a.Content && given.IsError == a.IsError:
		return nil
	default:
		return answeredOtherwise(a.CallID)
	}
}

// answerable returns an error when the client may not answer a call that has no result.
func (s *state) answerable(a *Assistant, id string, open map[string]openCall) error {
	c, isOpen := open[id]
	decision, decided := s.approvals[id]
	switch {
	case !isOpen && s.ids[id], isOpen && s.run == "", decided && !decision.Approved:
		return callClosed(id)
	case !isOpen, a.side(c.Name) != tool.Client:
		return footnote.Errorf(footnote.CallUnknown, "No call %.100q waits for an answer in this conversation.",
			id)
	case s.asked[id] && !decided:
		return footnote.Errorf(footnote.Conflict, "The call %.100q waits for an approval first.", id)
	default:
		return nil
	}
}

// decisions does for approvals what check does for answers.
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
			return nil, footnote.Errorf(footnote.CallAnswered, "The call %.100q has been decided already, differently.",
				a.CallID)
		case isOpen && s.asked[a.CallID] && s.run != "":
			decided[a.CallID] = a.Approved
			fresh = append(fresh, a)
		case s.asked[a.CallID]:
			return nil, callClosed(a.CallID)
		default:
			return nil, footnote.Errorf(footnote.CallUnknown, "No approval is open for the call %.100q.", a.CallID)
		}
	}
	return fresh, nil
}

func answeredOtherwise(id string) error {
	return footnote.Errorf(footnote.CallAnswered, "The call %.100q has been answered already, differently.", id)
}

func callClosed(id string) error {
	return footnote.Errorf(footnote.CallClosed,
		"The call %.100q is closed: its time was over, or the conversation went on without it.", id)
}

// digest names what a client said, so that a repeated answer is recognised.
func digest(a tool.Answer) footnote.Digest {
	said := struct {
		Content    string               `json:"content"`
		IsError    bool                 `json:"is_error"`
		RowCount   int                  `json:"row_count"`
		SQL        string               `json:"sql"`
		Cut        bool                 `json:"cut"`
		Columns    []footnote.Column    `json:"columns"`
		Rows       json.RawMessage      `json:"rows"`
		Statements []footnote.Statement `json:"statements,omitempty"` // left out, so that stored digests stay valid
	}{Content: strings.ToValidUTF8(a.Content, "\uFFFD"), IsError: a.IsError, SQL: a.SQL, Statements: a.Statements}
	if a.Rows != nil {
		said.RowCount, said.Cut, said.Columns = count(a), a.Rows.Truncated, a.Rows.Columns
		said.Rows = encodeRows(a.Rows.Rows)
	}
	return DigestOf(marshal(said))
}

// count returns how many rows the query gave.
func count(a tool.Answer) int { return max(a.RowCount, len(a.Rows.Rows)) }

// acceptTime is how long the effect of a client's result may take. It does not depend
// on whether the client still waits.
const acceptTime = 10 * time.Second

// clientResult is a client's result that is a Checked tool's to take.
type clientResult struct {
	tool tool.Checked
	call tool.Call
	tool.Answer
}

// answered returns the results of a turn that Checked tools must accept.
func (s *state) answered(a *Assistant, fresh Turn, stream string) []clientResult {
	return s.checked(a, fresh, stream, func(an tool.Answer) bool { return !an.IsError })
}

// denied returns the results of a turn, accepted or not, that report a failed call of a Checked tool. An earlier
// result may have had its effect and been lost with its server: that effect must be undone.
func (s *state) denied(a *Assistant, fresh Turn, stream string) []clientResult {
	return s.checked(a, fresh, stream, func(an tool.Answer) bool {
		return an.IsError || an.Accepted != nil && an.Accepted.IsError
	})
}

// checked returns the wanted results for open calls of Checked tools.
func (s *state) checked(a *Assistant, fresh Turn, stream string, wanted func(tool.Answer) bool) (list []clientResult) {
	open := map[string]openCall{}
	for _, c := range s.open() {
		open[c.ID] = c
	}
	for _, an := range fresh.Answers {
		c, ok := open[an.CallID]
		if !ok || !wanted(an) {
			continue
		}
		if tool := a.checked(c.Name); tool != nil {
			list = append(list, clientResult{tool, s.toolCall(c, c.Name, fresh.Principal, stream, s.run), an})
		}
	}
	return list
}

// accepted calls Accept for results, and returns what that gave by call.
func accepted(ctx context.Context, list []clientResult) (given map[string]tool.Output, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), acceptTime)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("tool panicked over an answer: %v\n%s", p, debug.Stack())
		}
	}()
	for _, an := range list {
		out, err := an.tool.Accept(ctx, an.call, an.Answer)
		if err != nil {
			return nil, err
		}
		put(&given, an.call.ID, out)
	}
	return given, nil
}

// have stores what tools made of the results.
func (t *Turn) have(given map[string]tool.Output) {
	for i, a := range t.Answers {
		if out, ok := given[a.CallID]; ok {
			t.Answers[i].Accepted = &out
		}
	}
}

// overruled returns the results of a turn for calls to which the log gives an error: they came too late, and
// what they did must be undone.
func (s *state) overruled(a *Assistant, t Turn, stream string) (list []clientResult) {
	late := map[string]tool.Answer{}
	for _, an := range t.Answers {
		if res, ok := s.results[an.CallID]; ok && res.IsError && !an.IsError {
			late[an.CallID] = an
		}
	}
	if len(late) == 0 {
		return nil
	}
	var where json.RawMessage
	for _, ev := range s.events {
		switch b := ev.Body.(type) {
		case footnote.UserMessage:
			if b.Where != nil {
				where = b.Where
			}
		case footnote.AssistantMessage:
			for _, c := range toolCalls(b.Blocks) {
				an, ok := late[c.ID]
				if checked := a.checked(c.Name); ok && checked != nil {
					list = append(list, clientResult{checked, tool.Call{
						ID: c.ID, Name: c.Name, Input: c.Input, Principal: t.Principal, Conversation: stream,
						Run: ev.Run, Where: where,
					}, an})
				}
			}
		}
	}
	return list
}

// abandoned returns the waiting calls of Checked tools, as if they had been answered: the server that took a
// result may have died before it was stored.
func (s *state) abandoned(a *Assistant, p footnote.Principal, stream string) []clientResult {
	t := Turn{Principal: p}
	for _, c := range s.waiting() {
		t.Answers = append(t.Answers, tool.Answer{CallID: c.ID})
	}
	return s.answered(a, t, stream)
}

// withdraw undoes what results did that the log did not take.
func (e *Engine) withdraw(list []clientResult) {
	ctx, cancel := context.WithTimeout(context.Background(), acceptTime)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			e.opts.Logger.Error("tool panicked over an answer that does not count", "panic", p, "stack",
				string(debug.Stack()))
		}
	}()
	for _, an := range list {
		if err := an.tool.Withdraw(ctx, an.call); err != nil {
			e.opts.Logger.Error("what an answer has done that does not count is still there", "tool", an.call.Name,
				"call", an.call.ID, "conversation", an.call.Conversation, "err", err)
		}
	}
}

// answers converts the answers of a turn, which have been checked, into events. r.mu must be held.
func (r *run) answers(t Turn) (map[footnote.Digest][]byte, []footnote.Body) {
	calls := map[string]openCall{}
	for _, c := range r.s.open() {
		calls[c.ID] = r.s.named(r.a, c)
	}
	var bodies []footnote.Body
	blobs := map[footnote.Digest][]byte{}
	for _, a := range t.Answers {
		res, chunks := result(a, calls[a.CallID])
		for d, b := range chunks {
			blobs[d] = b
		}
		if res.Result != nil {
			r.rows[res.Result.ID] = *a.Rows
		}
		bodies = append(bodies, res)
	}
	return blobs, append(bodies, r.decided(t)...)
}

// decided converts the decisions of a turn into events. A decision that always holds also decides every other waiting
// call of the same tool.
func (r *run) decided(t Turn) []footnote.Body {
	var bodies []footnote.Body
	done := map[string]bool{}
	give := func(a Approval, tool string) {
		done[a.CallID] = true
		given := footnote.ApprovalGiven{
			ApprovalID: approvalID(a.CallID), CallID: a.CallID, Approved: a.Approved, Reason: a.Reason,
			User: t.Principal.User,
		}
		if a.Always && a.Approved {
			given.Always, given.Tool = true, tool
		}
		bodies = append(bodies, given)
	}
	for _, a := range t.Approvals {
		done[a.CallID] = true // the turn decides this call itself, here or further down
	}
	for _, a := range t.Approvals {
		tool := r.toolName(a.CallID)
		give(a, tool)
		if !a.Always || !a.Approved {
			continue
		}
		for _, c := range r.s.waiting() {
			if r.s.asked[c.ID] && !done[c.ID] && r.toolName(c.ID) == tool {
				give(Approval{CallID: c.ID, Approved: true}, "")
			}
		}
	}
	return bodies
}

// toolName returns the proper name of an open call's tool.
func (r *run) toolName(id string) string {
	for _, c := range r.s.calls {
		if c.ID == id {
			_, spec := r.tool(&c)
			return spec.Name
		}
	}
	return ""
}

// result converts the answer to a call into its event and the chunks of its rows. The model reads these rows, and no
// others, in the form of the server's own results.
func result(a tool.Answer, c openCall) (footnote.ToolResult, map[footnote.Digest][]byte) {
	res := footnote.ToolResult{
		CallID: a.CallID, Name: c.Name, IsError: a.IsError, By: "client", Told: digest(a), Statements: statements(a, c),
	}
	if o := a.Accepted; o != nil {
		res.Content, res.IsError, res.Fault = bounded(o.Content), o.IsError, o.Fault
		if len(o.Detail) <= maxDetail && json.Valid(o.Detail) {
			res.Detail = o.Detail
		}
		return res, nil
	}
	if a.Rows == nil || a.IsError {
		res.Content = shortened(a.Content)
		return res, nil
	}
	rows := *a.Rows
	var blobs map[footnote.Digest][]byte
	res.Result, blobs = storeRows(resultID(c), "client", cmp.Or(a.SQL, sqlOf(c.Input)), rows)
	res.Result.RowCount = count(a)
	res.Result.Truncated = rows.Truncated || count(a) > len(rows.Rows)
	cut := ""
	if rows.Truncated && count(a) == len(rows.Rows) { // otherwise the count already says that there are more
		cut = "The query gave more rows than were read. Totals over these rows would be wrong; aggregate in the query."
	}
	res.Content = visible.Text(reply.Table{ID: res.Result.ID, Result: rows, Count: count(a), Cut: cut}.JSON())
	return res, blobs
}

// shortened returns the text of a client's answer as the model reads it.
func shortened(s string) string {
	s = visible.Text(strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) <= maxResultText {
		return s
	}
	return strings.ToValidUTF8(s[:maxResultText], "") +
		fmt.Sprintf("\n… (truncated: these are the first %d of %d bytes)", maxResultText, len(s))
}
