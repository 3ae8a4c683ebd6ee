package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/reply"
	"github.com/footnotehq/footnote/internal/visible"
	"github.com/footnotehq/footnote/tool"
)

// receive handles the results and approvals of a turn, for calls that a run left open. Every result takes this path:
// receive compares it with the log, lets its tool accept it, and stores it. The run may be under way in this engine or
// another one, or parked.
func (e *Engine) receive(ctx context.Context, t Turn) (Ticket, error) {
	head, found, err := e.find(ctx, &t)
	if err != nil {
		return Ticket{}, err
	}
	if !found {
		return Ticket{}, noConversation(nil)
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

// errNotNow is returned when a run cannot receive results now, because it is about to park or to end, or another engine
// drives it.
var errNotNow = errors.New("the run cannot receive results now")

// receiveHere implements receive. If another engine drives the run, it returns errNotNow and how long to wait for the
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
			return Ticket{}, elsewhereIn + r.a.Limits.Tool, err // server-side calls may still be running
		case was == notIdle:
			if err := r.waitUntilOver(ctx); err != nil {
				return Ticket{}, 0, err
			}
		}
	}
	return Ticket{}, 0, errBusy
}

// idle is the reason why a run, which was read from the log to receive results, is not under way.
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
		return nil, errBusy // it will be recovered
	}
	s, err := e.load(ctx, head)
	if err != nil {
		return nil, err
	}
	a, err := e.assistant(t.Principal, t.Assistant, s.opened.Assistant)
	if err == nil {
		err = e.mayContinue(t.Principal, a, s)
	}
	if err != nil {
		return nil, err
	}
	if head.RunState == "parked" && !head.Deadline.After(e.opts.Now()) {
		// The deadline has passed, and no engine has noticed yet.
		if err := e.expire(ctx, head, a, s); err != nil && !e.raced(err) {
			return nil, err
		}
		return e.recipient(ctx, stream, t)
	}
	r := e.newRun(head, a, s, t)
	r.idle = map[string]idle{"parked": parked, "running": elsewhere, "": noRun}[head.RunState]
	return r, nil
}

// receive passes the results and approvals of a turn to the run.
func (r *run) receive(ctx context.Context, t Turn) (ticket Ticket, err error) {
	if err := r.w.stored(ctx); err != nil { // the ticket must come after all events that the client has seen
		return Ticket{}, err
	}
	accepted, err := r.accept(ctx, t)
	if err != nil {
		return Ticket{}, err
	}
	r.mu.Lock()
	fresh, void, err := r.compare(t)
	if err == nil {
		fresh.setAccepted(accepted)
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

// compare returns the part of a turn that is not in the log yet. If the turn is refused, compare also returns the
// results that came too late and must be withdrawn. r.mu must be held.
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

// accept passes results to their Checked tools before the results are stored. It returns the outputs by call.
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

// store writes results and approvals. If they answer the last open calls of a parked run, the same append resumes the
// run. With two appends, a crash between them would leave the run parked with nothing to wait for. r.mu must be held.
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

// check compares the answers of a turn with the log. It drops repeated answers, and returns an error if an answer does
// not fit. Clients may answer only calls of client tools.
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
	case given.AnswerDigest == digest,
		given.AnswerDigest == "" && given.Content == a.Content && given.IsError == a.IsError:
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
		return footnote.Errorf(footnote.CallUnknown, "No call %.100q waits for an answer in this conversation.", id)
	case s.asked[id] && !decided:
		return footnote.Errorf(footnote.Conflict, "The call %.100q waits for an approval first.", id)
	default:
		return nil
	}
}

// decisions compares approvals with the log, as check does for answers.
func (s *state) decisions(open map[string]openCall, approvals []Approval) (fresh []Approval, err error) {
	decided := map[string]bool{}
	for id, given := range s.approvals {
		decided[id] = given.Approved
	}
	for _, a := range approvals {
		given, ok := decided[a.CallID]
		_, isOpen := open[a.CallID]
		switch {
		case a.ID != "" && s.asked[a.CallID] && a.ID != s.approvalID(a.CallID): // it answers an earlier question again
		case isOpen && s.costly[a.CallID] && a.ID == "": // it may repeat the approval of the tool
			return nil, footnote.Errorf(footnote.Conflict, "The call %.100q waits for the approval %.100q: repeat the "+
				"decision with this approval_id.", a.CallID, s.approvalID(a.CallID))
		case ok && given == a.Approved:
		case ok:
			return nil, footnote.Errorf(footnote.CallAnswered, "The call %.100q already has a different decision.",
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
	return footnote.Errorf(footnote.CallAnswered, "The call %.100q already has a different answer.", id)
}

func callClosed(id string) error {
	return footnote.Errorf(footnote.CallClosed,
		"The call %.100q is closed: it timed out, or the conversation continued without it.", id)
}

// digest returns the digest of an answer, by which a repeated answer is recognised.
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
	return footnote.DigestOf(marshal(said))
}

// count returns the number of rows that the query returned.
func count(a tool.Answer) int { return max(a.RowCount, len(a.Rows.Rows)) }

// acceptTime is how long a tool may take to accept or withdraw a result, even if the client no longer waits.
const acceptTime = 10 * time.Second

// clientResult is a result from a client for a call of a Checked tool.
type clientResult struct {
	tool tool.Checked
	call tool.Call
	tool.Answer
}

// answered returns the results of a turn that Checked tools must accept.
func (s *state) answered(a *Assistant, fresh Turn, stream string) []clientResult {
	return s.checked(a, fresh, stream, func(an tool.Answer) bool { return !an.IsError })
}

// denied returns the results of a turn that report a failed call of a Checked tool, or that the tool did not accept.
// The server may have died after an earlier result had its effect and before it was stored: that effect must be undone.
func (s *state) denied(a *Assistant, fresh Turn, stream string) []clientResult {
	return s.checked(a, fresh, stream, func(an tool.Answer) bool {
		return an.IsError || an.Accepted != nil && an.Accepted.IsError
	})
}

// checked returns the results for open calls of Checked tools for which wanted returns true.
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

// accepted calls Accept for each result, and returns the outputs by call.
func accepted(ctx context.Context, list []clientResult) (given map[string]tool.Output, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), acceptTime)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("tool panicked while it accepted a result: %v\n%s", p, debug.Stack())
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

// setAccepted stores the outputs of Accept in the answers of the turn.
func (t *Turn) setAccepted(given map[string]tool.Output) {
	for i, a := range t.Answers {
		if out, ok := given[a.CallID]; ok {
			t.Answers[i].Accepted = &out
		}
	}
}

// overruled returns the results of a turn for calls that have an error as their result in the log. They came too late,
// and their effects must be undone.
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

// abandoned returns an empty result for each waiting call of a Checked tool. A server may have accepted a result and
// died before it was stored.
func (s *state) abandoned(a *Assistant, p footnote.Principal, stream string) []clientResult {
	t := Turn{Principal: p}
	for _, c := range s.waiting() {
		t.Answers = append(t.Answers, tool.Answer{CallID: c.ID})
	}
	return s.answered(a, t, stream)
}

// withdraw undoes the effects of results that were not stored.
func (e *Engine) withdraw(list []clientResult) {
	ctx, cancel := context.WithTimeout(context.Background(), acceptTime)
	defer cancel()
	defer onPanic(e.opts.Logger, "tool panicked while it withdrew a result", func(any) {})
	for _, an := range list {
		if err := an.tool.Withdraw(ctx, an.call); err != nil {
			log := e.logOf(footnote.Origin{Conversation: an.call.Conversation, Run: an.call.Run})
			log.Error("cannot undo the effect of a result that was not stored", "tool", an.call.Name,
				"call", an.call.ID, "err", err)
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
		maps.Copy(blobs, chunks)
		if res.Result != nil {
			r.rows[res.Result.ID], res.Marks = *a.Rows, r.wantsMarks()
		}
		bodies = append(bodies, res)
	}
	return blobs, append(bodies, r.decided(t)...)
}

// decided converts the decisions of a turn into events. With Always, it also approves every other waiting call of the
// same tool, unless each of its calls needs an approval of its own.
func (r *run) decided(t Turn) []footnote.Body {
	var bodies []footnote.Body
	done := map[string]bool{}
	give := func(a Approval, tool string) {
		done[a.CallID] = true
		given := footnote.ApprovalGiven{
			ApprovalID: r.s.approvalID(a.CallID), CallID: a.CallID, Approved: a.Approved, Reason: a.Reason,
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
		spec := r.specOf(a.CallID)
		tool := spec.Name
		a.Always = a.Always && r.outsideText(spec) == "" && !r.s.costly[a.CallID]
		give(a, tool)
		if !a.Always || !a.Approved {
			continue
		}
		for _, c := range r.s.waiting() {
			if r.s.asked[c.ID] && !r.s.costly[c.ID] && !done[c.ID] && r.specOf(c.ID).Name == tool {
				give(Approval{CallID: c.ID, Approved: true}, "")
			}
		}
	}
	return bodies
}

// specOf returns the specification of an open call's tool.
func (r *run) specOf(id string) tool.Spec {
	for _, c := range r.s.calls {
		if c.ID == id {
			_, spec := r.tool(&c)
			return spec
		}
	}
	return tool.Spec{}
}

// result converts the answer to a call into its event and the chunks of its rows. The model reads only these rows, in
// the form of the server's own results.
func result(a tool.Answer, c openCall) (footnote.ToolResult, map[footnote.Digest][]byte) {
	res := footnote.ToolResult{
		CallID: a.CallID, Name: c.Name, IsError: a.IsError, By: "client", AnswerDigest: digest(a),
		Statements: statements(a, c),
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
		cut = "The query returned more rows than were read. Totals over these rows would be wrong; " +
			"aggregate in the query."
	}
	res.Content = visible.Text(reply.Table{ID: res.Result.ID, Result: rows, Count: count(a), Cut: cut}.JSON())
	return res, blobs
}

// shortened returns the text of an answer as the model reads it.
func shortened(s string) string {
	s = visible.Text(strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) <= maxResultText {
		return s
	}
	return strings.ToValidUTF8(s[:maxResultText], "") +
		fmt.Sprintf("\n… (truncated: these are the first %d of %d bytes)", maxResultText, len(s))
}
