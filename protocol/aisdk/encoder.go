package aisdk

import (
	"maps"
	"slices"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/protocol"
)

// Encoder writes the chunks of one response, which shows one run: from its first event or, as the response to
// a post that continues it, from where the run was parked. It is a fold over the run's events: see Seen.
type Encoder struct {
	opt   Options
	kinds map[string]kind

	// State of the run.
	meta    Metadata
	title   string
	calls   map[string]*call
	waiting map[string]bool // calls that the parked run waits for
	usage   footnote.Usage
	cost    footnote.Cost
	step    int    // newest step shown
	whole   int    // newest step whose message is complete
	broken  [2]int // newest step and attempt that failed
	charted bool
	answer  int64           // sequence number of the answer
	settled map[string]bool // calls with results, and approvals that were decided
	resumed int64           // where the run last resumed

	// State of the response.
	mine    map[string]bool // calls and approvals that the client's post answered
	expect  int             // how many of them are not in the log yet
	started bool
	open    bool            // a step is open
	tools   bool            // the newest step contains a tool call
	blocks  map[string]bool // blocks that were shown as deltas
	part    string          // id of the open text or reasoning part
	pending string          // id of a part that has no text yet
	kind    string          // of part or pending
	shown   [2]int          // newest step and attempt that were at least partly shown
	done    bool
	err     error
}

// call is a tool call of the run.
type call struct {
	id, name  string
	input     []byte
	client    bool // the browser runs it
	hidden    bool // not shown until a person approves it
	begun     bool // shown, perhaps without its input
	available bool // shown with its input
	ended     bool // shown with its result, or known to the client
	approval  string
	decided   bool
	denied    bool
}

// NewEncoder returns an encoder for a run.
func NewEncoder(o Options) *Encoder {
	e := &Encoder{opt: o, kinds: o.kinds(), calls: map[string]*call{}}
	e.meta.Conversation = o.Conversation
	e.respond()
	return e
}

// respond starts a new response.
func (e *Encoder) respond() {
	e.mine, e.expect, e.started, e.open = nil, 0, false, false
	e.blocks, e.part, e.pending, e.shown = map[string]bool{}, "", "", [2]int{}
	e.done, e.err = false, nil
}

// Seen adds an event that earlier responses have shown. Call it for all of them, in log order, before
// anything else.
func (e *Encoder) Seen(ev footnote.Event) {
	e.Event(nil, ev)
	e.respond()
	e.title = ""
}

// Past adds the events of the log before a response that shows them again. The response then does not give
// answered calls to the browser again, and it continues where the run used to wait for them.
func (e *Encoder) Past(events []footnote.Event) {
	e.settled = map[string]bool{}
	for _, ev := range events {
		if ev.Run != e.opt.Run {
			continue
		}
		switch b := ev.Body.(type) {
		case footnote.ToolResult:
			e.settled[b.CallID] = true
		case footnote.ApprovalGiven:
			e.settled[b.ApprovalID] = true
		case footnote.RunResumed, footnote.RunFinished, footnote.RunFailed, footnote.RunStopped:
			e.resumed = ev.Seq
		}
	}
}

// Answering records which calls and approvals the client's post answered, so that the response does not
// repeat them.
func (e *Encoder) Answering(t agent.Turn) {
	e.mine = map[string]bool{}
	for _, a := range t.Answers {
		e.mine[a.CallID] = true
	}
	for _, a := range t.Approvals {
		e.mine["appr_"+a.CallID] = true
		if c := e.calls[a.CallID]; c != nil && c.approval != "" {
			e.mine[c.approval] = true
		}
	}
	e.expect = len(t.Answers) + len(t.Approvals)
}

// Done reports whether the response is complete.
func (e *Encoder) Done() bool { return e.done }

// Err returns why a complete response has no answer, or nil.
func (e *Encoder) Err() error { return e.err }

// Open starts a response before its first text.
func (e *Encoder) Open(dst []byte) []byte { return e.start(dst) }

// Fail ends the response with an error.
func (e *Encoder) Fail(dst []byte, err error) []byte {
	if e.started {
		dst = e.closing(dst)
	}
	dst = chunk(dst, "error").str("errorText", footnote.MessageOf(err)).end()
	dst = append(dst, doneFrame...)
	e.done, e.err = true, err
	return dst
}

// Delta appends the chunks of a delta.
func (e *Encoder) Delta(dst []byte, d footnote.Delta) []byte {
	if e.done || d.Run != e.opt.Run || d.Step <= e.whole || d.Step == e.broken[0] && d.Attempt <= e.broken[1] {
		return dst
	}
	switch d.Op {
	case footnote.BlockStarted:
		dst = e.blockStarted(dst, d)
	case footnote.BlockGrew:
		dst = e.blockGrew(dst, d)
	case footnote.BlockEnded:
		dst = e.endPart(dst)
	case footnote.StepBroke:
		dst = e.stepBroke(dst)
	}
	return dst
}

func (e *Encoder) blockStarted(dst []byte, d footnote.Delta) []byte {
	dst = e.endPart(dst)
	switch d.Kind {
	case model.TextBlock:
		e.kind, e.pending = "text", "t"+blockKey(d.Step, d.Index)
	case model.ThinkingBlock:
		e.kind, e.pending = "reasoning", "r"+blockKey(d.Step, d.Index)
	case model.ToolUseBlock:
		if c := e.call(d.ID, d.Name); !c.hidden {
			dst = e.begin(e.start(dst), d.Step)
			e.shown = [2]int{d.Step, d.Attempt}
			e.blocks[blockKey(d.Step, d.Index)] = true
			dst = e.toolStart(dst, c)
		}
	}
	return dst
}

func (e *Encoder) blockGrew(dst []byte, d footnote.Delta) []byte {
	switch d.Kind {
	case model.TextBlock, model.ThinkingBlock:
		if e.pending != "" {
			dst = e.begin(e.start(dst), d.Step)
			e.shown = [2]int{d.Step, d.Attempt}
			e.blocks[blockKey(d.Step, d.Index)] = true
			dst = e.openPart(dst)
		}
		dst = e.grow(dst, d.Escaped)
	case model.ToolUseBlock:
		if c := e.calls[d.ID]; c != nil && c.begun {
			dst = append(chunk(dst, "tool-input-delta").str("toolCallId", d.ID), `,"inputTextDelta":"`...)
			dst = append(dst, d.Escaped...)
			dst = append(dst, "\"}\n\n"...)
		}
	}
	return dst
}

// stepBroke ends the parts that an interrupted model call had begun. A new step follows.
func (e *Encoder) stepBroke(dst []byte) []byte {
	dst = e.endPart(dst)
	dst = e.abandon(dst)
	clear(e.blocks)
	return e.closeStep(dst)
}

// abandon ends the calls whose input never became complete. From then on they count as server calls, so that
// no client runs them.
func (e *Encoder) abandon(dst []byte) []byte {
	for _, id := range slices.Sorted(maps.Keys(e.calls)) {
		c := e.calls[id]
		if !c.begun || c.available {
			continue
		}
		dst = chunk(dst, "tool-input-error").str("toolCallId", id).str("toolName", c.name).
			raw("input", []byte("{}")).str("errorText", "The call was broken off.").flag("providerExecuted").end()
		delete(e.calls, id)
	}
	return dst
}

// Event appends the chunks of an event.
func (e *Encoder) Event(dst []byte, ev footnote.Event) []byte {
	if t, ok := ev.Body.(footnote.Titled); ok && !e.done {
		return e.titled(dst, t)
	}
	if e.done || ev.Run != e.opt.Run {
		return dst
	}
	switch b := ev.Body.(type) {
	case footnote.Opened:
		e.meta.Assistant, e.meta.Model = b.Assistant, b.Model
	case footnote.RunStarted:
		e.meta.Created = timeOf(ev.Time)
	case footnote.RunResumed:
		clear(e.waiting)
	case footnote.AssistantMessage:
		dst = e.message(dst, b)
	case footnote.StepFailed:
		dst = e.stepFailed(dst, b)
	case footnote.ApprovalAsked:
		dst = e.asked(dst, b)
	case footnote.ApprovalGiven:
		dst = e.given(dst, b)
	case footnote.ToolResult:
		dst = e.result(dst, b)
	case footnote.Answered:
		e.answer = ev.Seq
		dst = e.answered(dst, b)
	case footnote.RunParked:
		dst = e.parked(dst, b, ev.Seq)
	case footnote.RunFinished:
		dst = e.finish(dst, b)
	case footnote.RunStopped:
		dst = e.stopped(dst, b)
	case footnote.RunFailed:
		dst = e.failed(dst, b)
	}
	return e.stillParked(dst)
}

// About sets what the conversation was opened with, for a run that is not its first.
func (e *Encoder) About(o footnote.Opened) {
	e.meta.Assistant, e.meta.Model = o.Assistant, o.Model
}

func (e *Encoder) titled(dst []byte, t footnote.Titled) []byte {
	if e.title = t.Title; e.started {
		dst = e.sendTitle(dst)
	}
	return dst
}

func (e *Encoder) sendTitle(dst []byte) []byte {
	if e.title == "" {
		return dst
	}
	data := mustJSON(map[string]string{"title": e.title})
	e.title = ""
	return chunk(dst, "data-title").raw("data", data).flag("transient").end()
}

// message writes the part of a complete message that was not shown as deltas.
func (e *Encoder) message(dst []byte, m footnote.AssistantMessage) []byte {
	dst = e.endPart(e.start(dst))
	e.whole = m.Step
	e.usage, e.cost = e.usage.Add(m.Usage), e.cost.Add(m.Cost)
	for i, b := range blocksOf(m) {
		seen := e.blocks[blockKey(m.Step, i)]
		switch {
		case b.Type == model.TextBlock && !seen && b.Text != "":
			dst = e.wholePart(dst, "text", m.Step, i, b.Text)
		case b.Type == model.ThinkingBlock && !seen && b.Thinking != "":
			dst = e.wholePart(dst, "reasoning", m.Step, i, b.Thinking)
		case b.Type == model.ToolUseBlock:
			c := e.call(b.ID, b.Name)
			c.input = compact(b.Input)
			if dst = e.begin(dst, m.Step); !c.hidden {
				dst = e.toolInput(dst, c)
			}
		}
	}
	clear(e.blocks)
	return e.abandon(dst)
}

// stepFailed shows what other readers saw of a step that failed, if this response did not show it.
func (e *Encoder) stepFailed(dst []byte, b footnote.StepFailed) []byte {
	e.usage, e.cost = e.usage.Add(b.Usage), e.cost.Add(b.Cost)
	e.broken = [2]int{b.Step, b.Attempt}
	if e.open && e.step == b.Step {
		dst = e.stepBroke(dst)
	}
	if b.Partial == "" || e.shown == e.broken {
		return dst
	}
	dst = e.wholePart(e.start(dst), "text", b.Step, 0, b.Partial)
	return e.closeStep(dst)
}

func (e *Encoder) call(id, name string) *call {
	c := e.calls[id]
	if c == nil {
		k := e.kinds[name]
		client := k.client && !e.settled[id]
		c = &call{id: id, name: name, client: client, hidden: client && k.asks}
		e.calls[id] = c
	}
	return c
}

func (e *Encoder) toolStart(dst []byte, c *call) []byte {
	dst = e.closePart(dst)
	e.tools, c.begun = true, true
	return chunk(dst, "tool-input-start").str("toolCallId", c.id).str("toolName", c.name).executed(c).end()
}

func (e *Encoder) toolInput(dst []byte, c *call) []byte {
	if !c.begun {
		dst = e.toolStart(dst, c)
	}
	e.tools, c.available = true, true
	return chunk(dst, "tool-input-available").str("toolCallId", c.id).str("toolName", c.name).raw("input",
		c.input).executed(c).end()
}

// asked asks the user for approval. For calls that the browser runs, and for clients that do not know
// approvals, it uses a separate AskTool call.
func (e *Encoder) asked(dst []byte, b footnote.ApprovalAsked) []byte {
	c := e.calls[b.CallID]
	if c == nil {
		return dst
	}
	c.approval = b.ApprovalID
	dst = e.start(dst)
	if e.opt.Dialect >= V6 && !c.client {
		return chunk(dst, "tool-approval-request").str("approvalId", b.ApprovalID).str("toolCallId", c.id).end()
	}
	dst = e.begin(dst, e.whole)
	e.tools = true
	ask := chunk(dst, "tool-input-available").str("toolCallId", b.ApprovalID).str("toolName", AskTool).raw("input",
		askInput(c))
	if e.settled[b.ApprovalID] {
		ask = ask.flag("providerExecuted")
	}
	return ask.end()
}

// askInput returns what a person needs to know about a call that waits for approval.
func askInput(c *call) []byte {
	return mustJSON(struct {
		ApprovalID string `json:"approvalId"`
		ToolCallID string `json:"toolCallId"`
		ToolName   string `json:"toolName"`
		Input      any    `json:"input"`
	}{c.approval, c.id, c.name, jsonRaw(c.input)})
}

func (e *Encoder) given(dst []byte, b footnote.ApprovalGiven) []byte {
	delete(e.waiting, b.CallID)
	c := e.calls[b.CallID]
	if c == nil {
		return dst
	}
	c.decided, c.denied = true, !b.Approved
	if e.ours(b.ApprovalID) {
		return dst
	}
	switch {
	case e.opt.Dialect < V6 || c.client:
		return chunk(e.start(dst), "tool-output-available").str("toolCallId", b.ApprovalID).raw("output",
			decisionOf(b)).end()
	case e.opt.Dialect >= V7:
		w := chunk(e.start(dst), "tool-approval-response").str("approvalId", b.ApprovalID).bool("approved", b.Approved)
		if b.Reason != "" {
			w = w.str("reason", b.Reason)
		}
		return w.end()
	}
	return dst
}

// decisionOf encodes a decision as the output of an AskTool call.
func decisionOf(b footnote.ApprovalGiven) []byte {
	return mustJSON(struct {
		Approved bool   `json:"approved"`
		Always   bool   `json:"always,omitempty"`
		Reason   string `json:"reason,omitempty"`
	}{b.Approved, b.Always, b.Reason})
}

// ours reports whether the client's post contained an answer with this id.
func (e *Encoder) ours(id string) bool {
	if !e.mine[id] {
		return false
	}
	delete(e.mine, id)
	e.expect--
	return true
}

func (e *Encoder) result(dst []byte, r footnote.ToolResult) []byte {
	delete(e.waiting, r.CallID)
	c := e.calls[r.CallID]
	if c == nil || c.ended {
		return dst
	}
	c.ended = true
	known := e.ours(r.CallID)
	dst = e.start(dst)
	if !c.available {
		// The call was held back for an approval, and the browser will not run it.
		c.client, c.hidden = false, false
		dst = e.toolInput(e.begin(dst, e.whole), c)
	}
	switch {
	case known:
	case r.IsError && c.denied && e.opt.Dialect >= V6 && !c.client:
		dst = chunk(dst, "tool-output-denied").str("toolCallId", r.CallID).end()
	case r.IsError:
		dst = chunk(dst, "tool-output-error").str("toolCallId", r.CallID).str("errorText", r.Content).executed(c).end()
	default:
		dst = chunk(dst, "tool-output-available").str("toolCallId", r.CallID).raw("output",
			outputOf(r.Content)).executed(c).end()
	}
	return e.data(dst, r)
}

// data writes the parts of a result besides its text.
func (e *Encoder) data(dst []byte, r footnote.ToolResult) []byte {
	if r.Result != nil {
		dst = chunk(dst, "data-result").str("id", r.Result.ID).raw("data",
			mustJSON(resultOf(r.CallID, *r.Result))).end()
	}
	if r.Detail != nil {
		dst = chunk(dst, "data-detail").str("id", r.CallID).raw("data", compact(r.Detail)).end()
	}
	if r.Chart != nil {
		e.charted = true
		dst = chunk(dst, "data-chart").str("id", r.CallID).raw("data", compact(r.Chart)).end()
	}
	return dst
}

func (e *Encoder) answered(dst []byte, a footnote.Answered) []byte {
	dst = e.closePart(e.start(dst))
	if a.Chart != nil && !e.charted {
		dst = chunk(dst, "data-chart").str("id", "answer").raw("data", compact(a.Chart)).end()
	}
	return chunk(dst, "data-footnotes").str("id", "footnotes").raw("data", mustJSON(footnotesOf(a))).end()
}

// parked ends a response that needs the client to act. Calls that were held back until they were approved are
// shown now.
func (e *Encoder) parked(dst []byte, b footnote.RunParked, seq int64) []byte {
	dst = e.start(dst)
	e.waiting = map[string]bool{}
	for _, id := range b.Calls {
		e.waiting[id] = true
		if c := e.calls[id]; c != nil && c.client && !c.available && (c.approval == "" || c.decided) {
			c.hidden = false
			if !e.open {
				dst = e.begin(dst, e.step+1)
			}
			dst = e.toolInput(dst, c)
		}
	}
	if seq < e.resumed {
		return dst
	}
	return e.end(dst, "tool-calls", 0, 0)
}

// stillParked ends the response to a post that answered only some of the open calls: the run keeps waiting.
func (e *Encoder) stillParked(dst []byte) []byte {
	if e.done || e.mine == nil || e.expect > 0 || len(e.waiting) == 0 {
		return dst
	}
	return e.end(e.start(dst), "tool-calls", 0, 0)
}

func (e *Encoder) finish(dst []byte, b footnote.RunFinished) []byte {
	dst = e.tail(e.start(dst))
	e.usage, e.cost = b.Usage, b.Cost
	return e.end(dst, reason(b.Reason), b.Steps, b.Millis)
}

func (e *Encoder) stopped(dst []byte, b footnote.RunStopped) []byte {
	dst = e.closing(e.start(dst))
	e.usage, e.cost = b.Usage, b.Cost
	m := e.sums(b.Steps, b.Millis)
	m.Stopped = b.By
	dst = chunk(dst, "message-metadata").raw("messageMetadata", mustJSON(m)).end()
	dst = chunk(dst, "abort").end()
	e.done = true
	return append(dst, doneFrame...)
}

func (e *Encoder) failed(dst []byte, b footnote.RunFailed) []byte {
	if e.started {
		dst = e.closing(dst)
		e.usage, e.cost = b.Usage, b.Cost
		dst = chunk(dst, "message-metadata").raw("messageMetadata", mustJSON(e.sums(b.Steps, b.Millis))).end()
	}
	return e.Fail(dst, protocol.RunError(b))
}

func reason(r string) string {
	switch r {
	case model.MaxTokens, model.ContextExceeded, "max_turns", "budget":
		return "length"
	case model.Refusal:
		return "content-filter"
	default:
		return "stop"
	}
}

// start writes the first chunk, once. Callers wait until there is something to show, so that a run that fails
// earlier gets the HTTP status of its error.
func (e *Encoder) start(dst []byte) []byte {
	if e.started {
		return dst
	}
	e.started = true
	m := e.meta
	dst = chunk(dst, "start").str("messageId", messageID(e.opt.Run)).raw("messageMetadata", mustJSON(m)).end()
	return e.sendTitle(dst)
}

// begin opens the step that a block belongs to.
func (e *Encoder) begin(dst []byte, step int) []byte {
	if e.open && e.step == step {
		return dst
	}
	dst = e.closeStep(dst)
	e.open, e.step, e.tools = true, step, false
	return chunk(dst, "start-step").end()
}

func (e *Encoder) closeStep(dst []byte) []byte {
	dst = e.closePart(dst)
	if !e.open {
		return dst
	}
	e.open = false
	return chunk(dst, "finish-step").end()
}

// closing ends everything that is open.
func (e *Encoder) closing(dst []byte) []byte {
	dst = e.closePart(dst)
	dst = e.abandon(dst)
	return e.closeStep(e.tail(dst))
}

// tail makes the last step one without tool calls: a client that resubmits finished tool calls would
// otherwise keep posting forever.
func (e *Encoder) tail(dst []byte) []byte {
	if !e.tools {
		return dst
	}
	return e.begin(dst, e.step+1)
}

func (e *Encoder) openPart(dst []byte) []byte {
	e.part, e.pending = e.pending, ""
	return e.partChunk(dst, "-start")
}

func (e *Encoder) grow(dst []byte, escaped []byte) []byte {
	if e.part == "" {
		return dst
	}
	dst = append(dst, `data: {"type":"`...)
	dst = append(dst, e.kind...)
	dst = append(dst, `-delta","id":"`...)
	dst = append(dst, e.part...)
	dst = append(dst, `","delta":"`...)
	dst = append(dst, escaped...)
	return append(dst, "\"}\n\n"...)
}

func (e *Encoder) closePart(dst []byte) []byte {
	if e.part == "" {
		return dst
	}
	dst = e.partChunk(dst, "-end")
	e.part = ""
	return dst
}

// endPart closes the open part, or drops one that has no text.
func (e *Encoder) endPart(dst []byte) []byte {
	e.pending = ""
	return e.closePart(dst)
}

func (e *Encoder) partChunk(dst []byte, op string) []byte {
	dst = append(dst, `data: {"type":"`...)
	dst = append(dst, e.kind...)
	dst = append(dst, op...)
	dst = append(dst, `","id":"`...)
	dst = append(dst, e.part...)
	return append(dst, "\"}\n\n"...)
}

func (e *Encoder) wholePart(dst []byte, kind string, step, index int, words string) []byte {
	dst = e.closePart(e.begin(dst, step))
	e.kind, e.pending = kind, kind[:1]+blockKey(step, index)
	dst = e.openPart(dst)
	quoted := mustJSON(words)
	dst = e.grow(dst, quoted[1:len(quoted)-1])
	return e.closePart(dst)
}

// sums returns the totals of the run for the end of the message.
func (e *Encoder) sums(steps int, ms int64) Metadata {
	return Metadata{Answered: e.answer, Usage: tokens(e.usage), Cost: money(e.cost), Steps: steps, Millis: ms}
}

func (e *Encoder) end(dst []byte, reason string, steps int, ms int64) []byte {
	dst = e.closeStep(dst)
	dst = chunk(dst, "finish").str("finishReason", reason).raw("messageMetadata", mustJSON(e.sums(steps, ms))).end()
	e.done = true
	return append(dst, doneFrame...)
}
