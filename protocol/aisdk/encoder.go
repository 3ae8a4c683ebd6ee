package aisdk

import (
	"maps"
	"slices"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/internal/strictjson"
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
	weight  int64
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
	id, name        string
	input           []byte
	client          bool // the browser runs it
	hidden          bool // not shown until a person approves it
	begun           bool // shown, perhaps without its input
	available       bool // shown with its input
	ended           bool // shown with its result, or known to the client
	approval        string
	decided, denied bool
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
	dst = end(chunk(dst, "error").Text("errorText", footnote.MessageOf(err)))
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

// partKind maps the kinds of blocks with text to the kinds of their parts.
var partKind = map[string]string{model.TextBlock: "text", model.ThinkingBlock: "reasoning"}

func (e *Encoder) blockStarted(dst []byte, d footnote.Delta) []byte {
	dst = e.endPart(dst)
	switch d.Kind {
	case model.TextBlock, model.ThinkingBlock:
		e.kind = partKind[d.Kind]
		e.pending = e.kind[:1] + blockKey(d.Step, d.Index)
	case model.ToolUseBlock:
		if c := e.call(d.ID, d.Name); !c.hidden {
			dst = e.toolStart(e.showBlock(dst, d), c)
		}
	}
	return dst
}

func (e *Encoder) blockGrew(dst []byte, d footnote.Delta) []byte {
	switch d.Kind {
	case model.TextBlock, model.ThinkingBlock:
		if e.pending != "" {
			dst = e.openPart(e.showBlock(dst, d))
		}
		dst = e.grow(dst, d.Escaped)
	case model.ToolUseBlock:
		if c := e.calls[d.ID]; c != nil && c.begun {
			dst = end(chunk(dst, "tool-input-delta").Text("toolCallId", d.ID).Escaped("inputTextDelta", d.Escaped))
		}
	}
	return dst
}

// showBlock opens the step of a block that is shown as deltas.
func (e *Encoder) showBlock(dst []byte, d footnote.Delta) []byte {
	e.shown = [2]int{d.Step, d.Attempt}
	e.blocks[blockKey(d.Step, d.Index)] = true
	return e.begin(e.start(dst), d.Step)
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
		broken := chunk(dst, "tool-input-error").Text("toolCallId", id).Text("toolName", c.name)
		broken = broken.Raw("input", []byte("{}")).Text("errorText", "The call was broken off.")
		dst = end(broken.Bool("providerExecuted", true))
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
		e.meta.Created, e.weight = timeOf(ev.Time), b.Weight
		if c := b.Choice; c != nil {
			e.meta.Model = c.Model
		}
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
func (e *Encoder) About(o footnote.Opened) { e.meta.Assistant, e.meta.Model = o.Assistant, o.Model }

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
	return end(chunk(dst, "data-title").Raw("data", data).Bool("transient", true))
}

// message writes the part of a complete message that was not shown as deltas.
func (e *Encoder) message(dst []byte, m footnote.AssistantMessage) []byte {
	dst = e.endPart(e.start(dst))
	e.whole = m.Step
	e.usage, e.cost = e.usage.Add(m.Usage), e.cost.Add(m.Cost)
	for _, b := range agent.Shown(m.Blocks) {
		switch {
		case b.Kind != model.ToolUseBlock && b.Text != "" && !e.blocks[blockKey(m.Step, b.Index)]:
			dst = e.wholePart(dst, partKind[b.Kind], m.Step, b.Index, b.Text)
		case b.Kind == model.ToolUseBlock:
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
	return end(executed(chunk(dst, "tool-input-start").Text("toolCallId", c.id).Text("toolName", c.name), c))
}

func (e *Encoder) toolInput(dst []byte, c *call) []byte {
	if !c.begun {
		dst = e.toolStart(dst, c)
	}
	e.tools, c.available = true, true
	input := chunk(dst, "tool-input-available").Text("toolCallId", c.id).Text("toolName", c.name).Raw("input", c.input)
	return end(executed(input, c))
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
		dst = end(chunk(dst, "tool-approval-request").Text("approvalId", b.ApprovalID).Text("toolCallId", c.id))
		if b.Reason == "" {
			return dst
		}
		return end(chunk(dst, "data-approval").Text("id", b.ApprovalID).Raw("data", approvalReason(b)))
	}
	dst = e.begin(dst, e.whole)
	if e.opt.Dialect == Unstated {
		dst = e.textPart(dst, "text", b.ApprovalID, approvalText(c.name))
	}
	e.tools = true
	ask := chunk(dst, "tool-input-available").Text("toolCallId", b.ApprovalID).Text("toolName", AskTool)
	ask = ask.Raw("input", askInput(c, b.Reason))
	if e.settled[b.ApprovalID] {
		ask = ask.Bool("providerExecuted", true)
	}
	return end(ask)
}

// askInput returns what a person needs to know about a call that waits for approval.
func askInput(c *call, reason string) []byte {
	return mustJSON(struct {
		ApprovalID string `json:"approvalId"`
		ToolCallID string `json:"toolCallId"`
		ToolName   string `json:"toolName"`
		Input      any    `json:"input"`
		Reason     string `json:"reason,omitempty"`
	}{c.approval, c.id, c.name, compact(c.input), reason})
}

// approvalReason returns the data of a part that says why a call waits for approval: the SDK's own part has no room.
func approvalReason(b footnote.ApprovalAsked) []byte {
	return mustJSON(map[string]string{"toolCallId": b.CallID, "reason": b.Reason})
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
		w := chunk(e.start(dst), "tool-output-available").Text("toolCallId", b.ApprovalID)
		return end(w.Raw("output", decisionOf(b)))
	case e.opt.Dialect >= V7:
		w := chunk(e.start(dst), "tool-approval-response").Text("approvalId", b.ApprovalID).Bool("approved", b.Approved)
		if b.Reason != "" {
			w = w.Text("reason", b.Reason)
		}
		return end(w)
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
		dst = end(chunk(dst, "tool-output-denied").Text("toolCallId", r.CallID))
	case r.IsError:
		w := chunk(dst, "tool-output-error").Text("toolCallId", r.CallID).Text("errorText", r.Content)
		dst = end(executed(w, c))
	default:
		w := chunk(dst, "tool-output-available").Text("toolCallId", r.CallID).Raw("output", outputOf(r.Content))
		dst = end(executed(w, c))
	}
	return e.data(dst, r)
}

// data writes the parts of a result besides its text.
func (e *Encoder) data(dst []byte, r footnote.ToolResult) []byte {
	if r.Result != nil {
		w := chunk(dst, "data-result").Text("id", r.Result.ID)
		dst = end(w.Raw("data", mustJSON(resultOf(r.CallID, *r.Result))))
	}
	if r.Detail != nil {
		dst = end(chunk(dst, "data-detail").Text("id", r.CallID).Raw("data", compact(r.Detail)))
	}
	if r.Chart != nil {
		e.charted = true
		dst = end(chunk(dst, "data-chart").Text("id", r.CallID).Raw("data", compact(r.Chart)))
	}
	return dst
}

func (e *Encoder) answered(dst []byte, a footnote.Answered) []byte {
	dst = e.closePart(e.start(dst))
	if a.Chart != nil && !e.charted {
		dst = end(chunk(dst, "data-chart").Text("id", "answer").Raw("data", compact(a.Chart)))
	}
	return end(chunk(dst, "data-footnotes").Text("id", "footnotes").Raw("data", mustJSON(footnotesOf(a))))
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
	dst = end(chunk(dst, "message-metadata").Raw("messageMetadata", mustJSON(m)))
	dst = end(chunk(dst, "abort"))
	e.done = true
	return append(dst, doneFrame...)
}

func (e *Encoder) failed(dst []byte, b footnote.RunFailed) []byte {
	if e.started {
		dst = e.closing(dst)
		e.usage, e.cost = b.Usage, b.Cost
		dst = end(chunk(dst, "message-metadata").Raw("messageMetadata", mustJSON(e.sums(b.Steps, b.Millis))))
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
	dst = end(chunk(dst, "start").Text("messageId", messageID(e.opt.Run)).Raw("messageMetadata", mustJSON(m)))
	return e.sendTitle(dst)
}

// begin opens the step that a block belongs to.
func (e *Encoder) begin(dst []byte, step int) []byte {
	if e.open && e.step == step {
		return dst
	}
	dst = e.closeStep(dst)
	e.open, e.step, e.tools = true, step, false
	return end(chunk(dst, "start-step"))
}

func (e *Encoder) closeStep(dst []byte) []byte {
	dst = e.closePart(dst)
	if !e.open {
		return dst
	}
	e.open = false
	return end(chunk(dst, "finish-step"))
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
	return end(e.partChunk(dst, "-start"))
}

func (e *Encoder) grow(dst []byte, escaped []byte) []byte {
	if e.part == "" {
		return dst
	}
	return end(e.partChunk(dst, "-delta").Escaped("delta", escaped))
}

func (e *Encoder) closePart(dst []byte) []byte {
	if e.part == "" {
		return dst
	}
	dst = end(e.partChunk(dst, "-end"))
	e.part = ""
	return dst
}

// endPart closes the open part, or drops one that has no text.
func (e *Encoder) endPart(dst []byte) []byte {
	e.pending = ""
	return e.closePart(dst)
}

func (e *Encoder) partChunk(dst []byte, op string) strictjson.Builder {
	o := append(append(append(dst, `data: {"type":"`...), e.kind...), op...)
	return strictjson.Builder(append(o, '"')).Text("id", e.part)
}

func (e *Encoder) wholePart(dst []byte, kind string, step, index int, words string) []byte {
	return e.textPart(e.begin(dst, step), kind, kind[:1]+blockKey(step, index), words)
}

// textPart adds a part with a text that is complete.
func (e *Encoder) textPart(dst []byte, kind, id, words string) []byte {
	dst = e.closePart(dst)
	e.kind, e.pending = kind, id
	dst = e.openPart(dst)
	quoted := mustJSON(words)
	dst = e.grow(dst, quoted[1:len(quoted)-1])
	return e.closePart(dst)
}

// sums returns the totals of the run for the end of the message.
func (e *Encoder) sums(steps int, ms int64) Metadata {
	return Metadata{Answered: e.answer, Usage: tokens(e.usage, e.weight), Cost: money(e.cost), Steps: steps, Millis: ms}
}

func (e *Encoder) end(dst []byte, reason string, steps int, ms int64) []byte {
	dst = e.closeStep(dst)
	dst = end(chunk(dst, "finish").Text("finishReason", reason).Raw("messageMetadata", mustJSON(e.sums(steps, ms))))
	e.done = true
	return append(dst, doneFrame...)
}
