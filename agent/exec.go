package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sort"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/visible"
	"github.com/footnotehq/footnote/tool"
)

// BeforeTool may change a call's input, or refuse the call with words for the
// model. An error ends the run.
type BeforeTool func(ctx context.Context, c *tool.Call) (refusal string, err error)

// AfterTool may change what a tool gave. An error ends the run.
type AfterTool func(ctx context.Context, c tool.Call, out *tool.Output) error

// errToolTime is the cause of a tool call that took too long.
var errToolTime = errors.New("the tool's time is over")

// How long a tool may take to notice that its time is over, or that its run was
// stopped, before the run goes on without it.
const (
	toolGrace = 2 * time.Second
	stopGrace = 500 * time.Millisecond
)

// mostContent is how much of a result a model ever reads, and mostDetail how much
// is kept beside it for a page, in bytes.
const (
	mostContent = 1 << 20
	mostDetail  = 256 << 10
)

// plan is what is to be done with one open call.
type plan struct {
	call    openCall
	tool    tool.Tool
	spec    tool.Spec
	refusal string // words for the model, instead of running it
	ask     bool   // a person must approve it first
	wait    bool   // somebody outside answers it
	// declined is set when a person was asked, and said no.
	declined bool
	// mayHaveRun is set when a process that died may have made the call before it was refused.
	mayHaveRun bool
}

// settle answers the open calls of the newest message: it runs those that are
// ours, side by side where they only read, and parks the run when others wait.
func (r *run) settle() (parked bool, err error) {
	for {
		if err := r.vet(); err != nil {
			return false, err
		}
		kept, err := r.keepForPage()
		if err != nil {
			return false, err
		}
		mine, parked, err := r.next(kept)
		if err != nil || len(mine) == 0 {
			return parked, err
		}
		if err := r.exec(mine); err != nil {
			return false, err
		}
	}
}

// next lists the open calls that the run itself must deal with, in order. When
// there are none but others wait for somebody outside, it parks the run. The look
// and the end of taking answers are one: an answer is delivered either before, to
// this run, or after, to the parked one. With kept, the parked run keeps what it has
// reserved.
func (r *run) next(kept bool) (mine []plan, parked bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if cause := context.Cause(r.ctx); cause != nil && !errors.Is(cause, ErrShutdown) {
		return nil, false, cause // a run that was stopped must not park
	}
	var waiting []string
	for _, c := range r.s.open() {
		if p := r.plan(c); p.wait {
			waiting = append(waiting, c.ID)
		} else {
			mine = append(mine, p)
		}
	}
	if len(mine) > 0 || len(waiting) == 0 {
		return mine, false, nil
	}
	body := footnote.RunParked{Calls: waiting, Deadline: r.e.opts.Now().Add(r.a.Limits.Park)}
	r.closed = true
	var bodies []footnote.Body
	var settle []footnote.Settle
	if !kept {
		bodies, settle = r.release()
	}
	bodies = append(bodies, body)
	r.note(r.w.end(settle, bodies...), bodies)
	return nil, true, nil
}

// plan decides what to do with a call. r.mu must be held.
func (r *run) plan(c openCall) plan {
	p := plan{call: c}
	p.tool, p.spec = r.tool(&p.call)
	if p.spec.Side == tool.Server {
		p.call.source = r.s.sourceOf(p.call)
	}
	p.mayHaveRun = r.recovered && !r.s.unapproved(c.ID)
	if p.tool == nil {
		p.refusal = fmt.Sprintf("There is no tool named %.100s. The tools are: %s.", c.Name,
			strings.Join(r.offered(), ", "))
		return p
	}
	decision, decided := r.s.approvals[c.ID]
	switch verdict := r.a.Policy.Verdict(p.spec); {
	case verdict == Deny || verdict == Unlisted:
		p.refusal = "The tool " + p.spec.Name + " may not be used here."
	case decided && !decision.Approved:
		p.refusal, p.declined = declined(decision.Reason), true
	case verdict == Ask && !decided && !r.s.isAlways(p.spec.Name):
		p.ask = !r.s.asked[c.ID]
		p.wait = !p.ask
	case p.spec.Side == tool.Client:
		p.wait = true
	case r.recovered && !p.spec.ReadOnly:
		p.refusal = mayHaveRun
	}
	if r.s.started.Unattended && (p.ask || p.wait) {
		p.refusal, p.ask, p.wait, p.mayHaveRun = nobody(p), false, false, false
	}
	r.check(&p)
	return p
}

// check refuses a call whose input is not what the tool takes, or which the check of all calls of the step refused.
func (r *run) check(p *plan) {
	c := p.call
	if p.refusal == "" && (!p.wait || p.spec.Side == tool.Client) {
		if err := r.validate(p.spec.Name, p.call.Input); err != nil {
			p.refusal, p.ask, p.wait = err.Error(), false, false
		}
	}
	if words := r.vetted[c.ID]; words != "" && p.refusal == "" {
		p.refusal, p.ask, p.wait = words, false, false
	}
}

func (r *run) validate(name string, input []byte) error {
	if r.a.Validate != nil {
		return r.a.Validate(name, input)
	}
	return r.e.opts.Validate(name, input)
}

func declined(reason string) string {
	if reason = strings.TrimSpace(reason); reason != "" {
		return "The user declined: " + reason
	}
	return "The user declined this call."
}

// nobody is what the model reads of a call that somebody outside must act on, when
// there is nobody.
func nobody(p plan) string {
	switch {
	case p.spec.Kind == tool.Question:
		return "Nobody can answer a question here. Make the most likely assumption, go on, " +
			"and say in your answer what you assumed."
	case p.spec.Side == tool.Client:
		return "The tool " + p.spec.Name + " runs in the user's page, and no page is open here. Go on without it."
	default:
		return "A person must approve calls of " + p.spec.Name + ", and nobody can do so here. Go on without it."
	}
}

// tool finds the tool of a call, by name or alias; an alias's arguments get their
// proper names.
func (r *run) tool(c *openCall) (tool.Tool, tool.Spec) {
	for _, t := range r.a.Tools {
		s := t.Spec()
		if !r.e.opts.Access.Tool(r.turn.Principal, s.Name) {
			continue
		}
		if s.Name == c.Name {
			return t, s
		}
		if args, ok := s.Aliases[c.Name]; ok {
			c.Input = renameArguments(c.Input, args)
			return t, s
		}
	}
	return nil, tool.Spec{}
}

// named returns a call with the proper names of its arguments, and with its source. A may be nil.
func (s *state) named(a *Assistant, c openCall) openCall {
	if a == nil {
		return c
	}
	for _, t := range a.Tools {
		if args, ok := t.Spec().Aliases[c.Name]; ok {
			c.Input = renameArguments(c.Input, args)
			break
		}
	}
	if a.side(c.Name) == tool.Server {
		c.source = s.sourceOf(c)
	}
	return c
}

// sourceOf returns the source of the conversation that a call names, or the only one.
func (s *state) sourceOf(c openCall) string {
	var in struct {
		Source string `json:"source"`
	}
	_ = json.Unmarshal(c.Input, &in) // input of another shape names none
	for _, name := range s.opened.Sources {
		if strings.EqualFold(name, in.Source) || in.Source == "" && len(s.opened.Sources) == 1 {
			return name
		}
	}
	return ""
}

func renameArguments(input json.RawMessage, names map[string]string) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(input, &object) != nil {
		return input
	}
	for alias, name := range names {
		if v, ok := object[alias]; ok && object[name] == nil {
			object[name] = v
			delete(object, alias)
		}
	}
	return marshal(object)
}

func (r *run) offered() []string {
	var names []string
	for _, t := range r.a.Tools {
		s := t.Spec()
		if v := r.a.Policy.Verdict(s); (v == Allow || v == Ask) && r.e.opts.Access.Tool(r.turn.Principal, s.Name) {
			names = append(names, s.Name)
		}
	}
	sort.Strings(names)
	return names
}

// exec deals with calls in order; neighbours that only read run side by side.
func (r *run) exec(plans []plan) error {
	for len(plans) > 0 {
		n := 1
		for plans[0].free() && n < len(plans) && plans[n].free() {
			n++
		}
		if err := r.group(plans[:n]); err != nil {
			return err
		}
		plans = plans[n:]
	}
	return nil
}

// free reports whether a call may be dealt with beside others.
func (p plan) free() bool { return !p.ask && (p.refusal != "" || p.spec.ReadOnly) }

// outcome is what came of one call.
type outcome struct {
	result footnote.ToolResult
	rows   *footnote.Result
	blobs  map[footnote.Digest][]byte
	price  int64 // promised for the call until its result is put
	err    error
}

// group runs calls side by side and puts their results in the order of the calls.
func (r *run) group(plans []plan) error {
	if plans[0].ask {
		c := plans[0].call
		r.put(nil, footnote.ApprovalAsked{ApprovalID: approvalID(c.ID), CallID: c.ID})
		return nil
	}
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx) // nothing is begun after the end
	}
	if !plans[0].free() {
		// The record of the call comes before what it changes outside.
		if err := r.w.flush(); err != nil {
			return err
		}
		// After a pause another engine may have the run: check that first, too.
		if err := r.retryWhileAway(r.ctx, func() error { return r.w.secure(r.ctx) }); err != nil {
			return err
		}
	}
	slots := make(chan struct{}, r.a.Limits.Parallel)
	outcomes := make([]chan outcome, len(plans))
	for i, p := range plans {
		outcomes[i] = make(chan outcome, 1)
		if len(plans) == 1 {
			outcomes[i] <- r.call(p)
			break
		}
		slots <- struct{}{}
		r.e.work.Go(func() {
			defer func() { <-slots }()
			outcomes[i] <- r.call(p)
		})
	}
	var failed error
	for i := range plans {
		o := <-outcomes[i]
		switch {
		case o.err == nil:
			r.keep(o) // also beside one that failed: it happened
		case failed == nil:
			failed = o.err
		}
	}
	return failed
}

// keep puts a result and remembers its rows for the footnotes.
func (r *run) keep(o outcome) {
	if o.price > 0 {
		r.keepPriced(o)
	} else {
		r.put(o.blobs, o.result)
	}
	if o.rows != nil && o.result.Result != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.rows[o.result.Result.ID] = *o.rows
	}
}

// keepPriced puts the result of a call with a price, and settles that. The prices of the
// calls that are still under way stay promised: they count if the process dies.
func (r *run) keepPriced(o outcome) {
	p := &r.purse
	p.mu.Lock()
	defer p.mu.Unlock()
	p.promised -= o.price
	settle := p.hold.Settle(footnote.Usage{}, o.result.Cost, true)
	for i := range settle {
		settle[i].Lost.MicroUSD = p.promised + p.unsure
	}
	r.settled(settle, o.blobs, o.result)
}

// call runs one call, or refuses it. A hook that panics is an error of this run alone.
func (r *run) call(p plan) (o outcome) {
	if p.refusal != "" {
		return r.refusedCall(p)
	}
	if r.ctx.Err() != nil {
		return outcome{err: context.Cause(r.ctx)} // it waited for its turn beside others
	}
	c, begun := &making{plan: p}, r.e.opts.Now()
	defer func() {
		if panicked := recover(); panicked != nil {
			r.e.opts.Logger.Error("hook panicked", "tool", p.spec.Name, "conversation", r.stream,
				"panic", panicked, "stack", string(debug.Stack()))
			o = outcome{err: fmt.Errorf("hook of %s panicked: %v", p.spec.Name, panicked)}
		}
		if o.err != nil && c.ran != nil {
			r.lost(p.call.ID, c.statements())
		}
	}()
	res := footnote.ToolResult{CallID: p.call.ID, Name: p.call.Name, By: "server"}
	cost, err := r.price(p)
	if err != nil {
		return r.unpaid(res, p.call, err)
	}
	settled := false
	defer func() {
		if !settled && cost > 0 {
			r.purse.broke(cost)
		}
	}()
	var ctx context.Context
	ctx, c.ran = footnote.WithStatements(r.ctx)
	out, err := r.callWhileAway(ctx, c)
	took := r.e.opts.Now().Sub(begun)
	if err != nil {
		r.e.opts.Metrics.ToolEnded(p.spec.Name, "broken", took)
		return outcome{err: err}
	}
	res.Millis, res.Statements = took.Milliseconds(), c.statements()
	r.fill(&res, p, out, took)
	o = outcome{result: res, rows: out.Rows}
	if cost > 0 {
		settled = true
		if !out.CacheHit {
			o.result.Cost = footnote.Cost{MicroUSD: cost}
		}
		o.price = cost
	}
	if out.Rows != nil {
		o.result.Result, o.blobs = storeRows(resultID(p.call), out.Source, out.SQL, *out.Rows)
	}
	return o
}

// refusedCall is the outcome of a call that is refused.
func (r *run) refusedCall(p plan) outcome {
	r.e.opts.Metrics.ToolEnded(p.spec.Name, "refused", 0)
	res := footnote.ToolResult{CallID: p.call.ID, Name: p.call.Name, By: "server", Content: p.refusal, IsError: true}
	if p.declined {
		res.By = "user"
	}
	res.Statements = notRun(p.call)
	if p.mayHaveRun {
		res.Statements = possiblyRun(p.call, footnote.StatementCancelled)
	}
	return outcome{result: res}
}

// fill copies a tool's output to the result of its call.
func (r *run) fill(res *footnote.ToolResult, p plan, out tool.Output, took time.Duration) {
	word := "ok"
	if out.IsError {
		word = "failed"
	}
	r.e.opts.Metrics.ToolEnded(p.spec.Name, word, took)
	res.Content, res.IsError, res.Chart, res.CacheHit = bounded(out.Content), out.IsError, out.Chart, out.CacheHit
	res.Fault = out.Fault
	if out.CacheHit {
		res.RanAt = out.RanAt.UTC()
	}
	if out.Chart != nil && !json.Valid(out.Chart) {
		r.e.opts.Logger.Error("tool gave a chart that is not JSON", "tool", p.spec.Name, "conversation", r.stream)
		res.Chart = nil
	}
	if len(out.Detail) <= mostDetail && json.Valid(out.Detail) {
		res.Detail = out.Detail
	} else if out.Detail != nil {
		r.e.opts.Logger.Warn("a tool's detail is dropped",
			"tool", p.spec.Name, "conversation", r.stream, "bytes", len(out.Detail))
	}
}

// making is a call that is being made.
type making struct {
	plan
	ran *footnote.Statements // what sources have noted of its statements
	out tool.Output          // what the tool gave, before hooks changed it
	// broke is what became of the statements that have no outcome when the tool does not answer: it broke, or was not
	// waited for. It is empty before the tool is called and after it has answered.
	broke string
}

// notRun are the statements of a call that was not made: what it says is one.
func notRun(c openCall) []footnote.Statement {
	sql := sqlOf(c.Input)
	if sql == "" {
		return nil
	}
	return []footnote.Statement{{SQL: sql, Source: c.source, Outcome: footnote.StatementNotRun}}
}

// statements returns those of the call, which was made.
func (c *making) statements() []footnote.Statement {
	ran := c.ran.All()
	for i := range ran {
		if ran[i].Outcome == "" {
			ran[i].Outcome = cmp.Or(c.broke, footnote.StatementFailed)
		}
		if ran[i].Source == "" {
			ran[i].Source = cmp.Or(c.out.Source, c.call.source)
		}
		if c.out.Rows != nil && strings.HasPrefix(c.out.SQL, ran[i].SQL) {
			ran[i].SQL = c.out.SQL // with its arguments
		}
	}
	switch {
	case len(ran) > 0:
		return ran
	case c.out.Rows == nil || c.out.SQL == "": // the tool notes none, or had none
		return possiblyRun(c.call, cmp.Or(c.broke, c.out.Fault, footnote.StatementNotRun)) // a fault is an outcome
	}
	st := footnote.Statement{
		SQL: c.out.SQL, Source: c.out.Source, Outcome: footnote.StatementExecuted,
		RowCount: len(c.out.Rows.Rows), Columns: columnNames(c.out.Rows.Columns),
	}
	switch {
	case c.out.CacheHit:
		st.Outcome = footnote.StatementCached
	case c.out.Rows.Truncated:
		st.Outcome = footnote.StatementTruncated
	}
	return []footnote.Statement{st}
}

func columnNames(columns []footnote.Column) []string {
	var list []string
	for _, c := range columns {
		list = append(list, c.Name)
	}
	return list
}

// lost keeps the statements of a call that broke for the result with which the end of
// the run closes it.
func (r *run) lost(call string, ran []footnote.Statement) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.undone == nil {
		r.undone = map[string][]footnote.Statement{}
	}
	r.undone[call] = ran
}

// price reserves the price of a call beside what the closing call needs. The price of a call
// that breaks counts at the end of the run: the call may have been made.
func (r *run) price(p plan) (int64, error) {
	cost := r.e.opts.Budget.ToolPrice(p.spec.Name)
	if cost <= 0 {
		return 0, nil
	}
	r.purse.mu.Lock() // before r.mu, as in keepPriced
	defer r.purse.mu.Unlock()
	r.mu.Lock()
	left, c := r.left(), r.spending()
	r.mu.Unlock()
	promised := r.purse.promised + r.purse.unsure + cost
	if promised+r.purse.back > left {
		return 0, footnote.Errorf(footnote.BudgetExceeded,
			"What is left of the money for this question does not pay for it.")
	}
	if err := r.w.flush(); err != nil { // the store has to know what the run has spent
		return 0, err
	}
	c.Most.MicroUSD, c.Lost.MicroUSD, c.Wait = promised+r.purse.back, promised, false
	c.Enough = c.Most
	h, err := r.reserve(c)
	if err != nil {
		r.purse.unknown = r.purse.unknown || footnote.CodeOf(err) != footnote.BudgetExceeded // it may have been made
		return 0, err
	}
	r.purse.hold = h
	r.purse.promised += cost
	return cost, nil
}

// broke records the price of a call that broke and may have been made.
func (p *purse) broke(price int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.promised -= price
	p.unsure += price
}

// unpaid is the outcome of a call that costs more than is left.
func (r *run) unpaid(res footnote.ToolResult, c openCall, err error) outcome {
	if footnote.CodeOf(err) != footnote.BudgetExceeded {
		return outcome{err: err}
	}
	r.e.opts.Metrics.ToolEnded(res.Name, "refused", 0)
	res.Content, res.IsError, res.Statements = "The call was not made. "+footnote.MessageOf(err), true, notRun(c)
	return outcome{result: res}
}

// bounded is the text of a result as it is stored: valid UTF-8, without anything that
// its reader would not see, and not endless.
func bounded(s string) string {
	s = visible.Text(strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) <= mostContent {
		return s
	}
	const end = "\n… (cut here: the result is too long)"
	return strings.ToValidUTF8(s[:mostContent-len(end)], "") + end
}

func resultID(c openCall) string { return fmt.Sprintf("r%d", c.ordinal) }

// hooked runs a tool between its hooks.
func (r *run) hooked(ctx context.Context, m *making) (tool.Output, error) {
	r.mu.Lock()
	c := r.s.tell(m.call, m.spec.Name, r.turn.Principal, r.stream, r.id)
	r.mu.Unlock()
	for _, before := range r.e.opts.Before {
		refusal, err := before(ctx, &c)
		if err != nil {
			return tool.Output{}, err
		}
		if refusal != "" {
			return tool.Fail(refusal), nil
		}
	}
	tctx, end := r.e.opts.Tracer.Tool(ctx, c)
	out, err := r.limited(tctx, m, c)
	end(out, err)
	m.out = out
	if err != nil {
		return tool.Output{}, err
	}
	for _, after := range r.e.opts.After {
		if err := after(ctx, c, &out); err != nil {
			return tool.Output{}, err
		}
	}
	return out, nil
}

// callWhileAway is hooked for a store that may go away. A call that only reads is retried; for
// any other the model is told that it may have run.
func (r *run) callWhileAway(ctx context.Context, m *making) (out tool.Output, err error) {
	if !m.spec.ReadOnly {
		if out, err = r.hooked(ctx, m); away(err) {
			r.e.opts.Logger.Warn("the store went away during a call",
				"tool", m.spec.Name, "conversation", r.stream, "err", err)
			return tool.Fail(mayHaveRun), nil
		}
		return out, err
	}
	err = r.retryWhileAway(r.ctx, func() error {
		out, err = r.hooked(ctx, m)
		return err
	})
	return out, err
}

// mayHaveRun is the result of a call that may or may not have changed something.
const mayHaveRun = "This call was interrupted and may have run. Check before you make it again."

// tell is a call as its tool is told of it.
func (s *state) tell(c openCall, name string, p footnote.Principal, stream, run string) tool.Call {
	return tool.Call{
		ID: c.ID, Name: name, Input: c.Input, Principal: p, Conversation: stream, Run: run, Where: s.where(),
		Sources: s.opened.Sources, ResultID: resultID(c), Results: s.stored[:len(s.stored):len(s.stored)],
		Read: s.events[:c.read:c.read],
	}
}

// limited runs a tool under its time limit. A tool that panics or does not stop in
// time has failed; the run goes on.
func (r *run) limited(ctx context.Context, m *making, c tool.Call) (tool.Output, error) {
	limit := m.spec.Timeout
	if limit <= 0 {
		limit = r.a.Limits.Tool
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errToolTime)
	defer cancel()
	type answer struct {
		out      tool.Output
		err      error
		panicked bool
	}
	done := make(chan answer, 1)
	m.broke = footnote.StatementFailed
	r.e.tools.Go(func() {
		defer func() {
			if panicked := recover(); panicked != nil {
				r.e.opts.Logger.Error("tool panicked", "tool", m.spec.Name, "conversation", r.stream,
					"panic", panicked, "stack", string(debug.Stack()))
				const words = "The tool broke while it ran. This is a fault of the server, not of the call."
				done <- answer{out: tool.Fail(words), panicked: true}
			}
		}()
		out, err := m.tool.Call(ctx, c)
		done <- answer{out: out, err: err}
	})
	over := tool.Fail(fmt.Sprintf("The call took longer than %s and was ended. Ask for less.", limit))
	over.Fault = footnote.FaultLimited
	finished := func(a answer) (tool.Output, error) {
		switch {
		case a.err != nil && errors.Is(context.Cause(ctx), errToolTime):
			m.broke = footnote.StatementTimedOut
			return over, nil
		case a.err != nil && r.ctx.Err() != nil:
			m.broke = r.brokeOff()
		case a.err == nil && !a.panicked:
			m.broke = ""
		}
		return a.out, a.err
	}
	select {
	case a := <-done:
		return finished(a)
	case <-ctx.Done():
	}
	patience := toolGrace
	if r.ctx.Err() != nil {
		patience = stopGrace
	}
	grace := time.NewTimer(patience)
	defer grace.Stop()
	select {
	case a := <-done:
		return finished(a)
	case <-grace.C:
		r.e.opts.Logger.Error("tool ignores its context", "tool", m.spec.Name, "conversation", r.stream)
		if r.ctx.Err() != nil {
			m.broke = r.brokeOff()
			return tool.Output{}, context.Cause(r.ctx)
		}
		m.broke = footnote.StatementTimedOut
		return over, nil
	}
}

// brokeOff is what became of a statement that had not ended when the run ended.
func (r *run) brokeOff() string {
	if errors.Is(r.ctx.Err(), context.DeadlineExceeded) {
		return footnote.StatementTimedOut
	}
	return footnote.StatementCancelled
}

// deliver gives a running run answers to its open calls. It is not done when the
// run takes no more answers.
func (r *run) deliver(ctx context.Context, t Turn) (ticket Ticket, done bool, err error) {
	// What the client has seen of the run is behind its ticket.
	if err := r.w.stored(ctx); err != nil {
		return Ticket{}, true, err
	}
	given, err := r.given(t)
	if err != nil {
		return Ticket{}, true, err
	}
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return Ticket{}, false, nil
	}
	fresh, err := r.s.check(r.a, t)
	lost := r.s.overruled(r.a, t, r.stream)
	if err == nil {
		fresh.have(given)
		lost = r.s.denied(r.a, fresh, r.stream)
		ticket = r.ticket()
		ticket.Duplicate = len(fresh.Answers)+len(fresh.Approvals) == 0
		if !ticket.Duplicate {
			blobs, bodies := r.answers(fresh)
			r.note(r.w.put(blobs, bodies...), bodies)
		}
	}
	r.mu.Unlock()
	if err != nil {
		r.e.withdraw(lost)
		return Ticket{}, true, err
	}
	if err := r.w.stored(ctx); err != nil {
		ticket.reader.Close()
		return Ticket{}, true, err
	}
	r.e.withdraw(lost)
	return ticket, true, nil
}
