package footnote

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"
)

// Event is one durable, numbered fact in a stream. A stream is a conversation or a document. Seq (from 1, without
// gaps) defines the order of events, never Time.
type Event struct {
	Stream string
	Seq    int64
	Time   time.Time
	Run    string // the run it belongs to; empty outside a run
	Body   Body
}

// ID returns the id of the event, which no event of another stream has: conv_….12.
func (ev Event) ID() string { return EventID(ev.Stream, ev.Seq) }

// EventID returns the id of an event, by its place.
func EventID(stream string, seq int64) string { return stream + "." + strconv.FormatInt(seq, 10) }

// Body is the content of an event. It is a sealed union: only the types of this package implement it, so a switch
// over it can be checked for completeness.
type Body interface {
	kind() string // see KindOf
}

// Digest names a blob by its content: "sha256:" and 64 hex digits.
type Digest = string

// DigestOf returns the digest of a blob.
func DigestOf(data []byte) Digest {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Opened is the first event of a conversation. Assistant, sources, system and tools never change
// during the conversation: a change would invalidate the model's thinking and its prompt cache.
type Opened struct {
	Assistant string   `json:"assistant"`
	Model     string   `json:"model"`
	Tier      string   `json:"tier,omitempty"`   // one of the assistant's tiers, if one was chosen
	Effort    string   `json:"effort,omitempty"` // EffortOff, or a level the model knows; empty: the process default
	Sources   []string `json:"sources,omitempty"`
	System    Digest   `json:"system"` // blob: the JSON array of system blocks, frozen
	Tools     Digest   `json:"tools"`  // blob: the JSON array of tool definitions, frozen
	// Context names the version of the company's context that System has. It is no blob.
	Context Digest `json:"context,omitempty"`
}

// EffortOff is the effort of a model that answers without thinking first.
const EffortOff = "off"

// UserMessage is a message from a person. Context is text of our own that follows it in the
// model's history and is not shown to the person (a changed schema, today's date).
type UserMessage struct {
	Text    string `json:"text"`
	Context string `json:"context,omitempty"`
	ID      string `json:"id,omitempty"` // the client's own id for it, if any
	// Where is the place of the question, in the format of the assistant's setting: which chart, for example.
	Where json.RawMessage `json:"where,omitempty"`
}

// Imported is the earlier part of a conversation that began elsewhere, as its client reports it. Only its text is
// trusted. One event holds all of it.
type Imported struct {
	Turns []TextTurn `json:"turns"`
}

// TextTurn is one message of an imported conversation.
type TextTurn struct {
	Role string `json:"role"` // "user" or "assistant"
	Text string `json:"text"`
}

// AssistantMessage is one complete model call, with its blocks as they arrived, except that marks are kept apart. A
// tool call is one of the blocks and is stored nowhere else.
type AssistantMessage struct {
	Step       int               `json:"step"`               // from 1 within the run
	Upstream   string            `json:"upstream,omitempty"` // the provider's message id
	Request    string            `json:"request,omitempty"`  // the provider's request id
	Model      string            `json:"model"`              // the model that served the call
	Blocks     []json.RawMessage `json:"blocks"`
	Marks      []Mark            `json:"marks,omitempty"` // cut out of texts, in order
	StopReason string            `json:"stop_reason"`
	Usage      Usage             `json:"usage"`
	Cost       Cost              `json:"cost"`
	Millis     int64             `json:"millis,omitempty"` // duration of the call's last attempt
	// Tools describes the tools that the blocks call, by name, as they were then. A tool with neither label nor family
	// has an empty entry. Older events lack it.
	Tools map[string]CalledTool `json:"tools,omitempty"`
}

// Mark is a mark that the model wrote behind a figure of an answer, and that is cut out of the blocks.
type Mark struct {
	Block int    `json:"block,omitempty"` // its index in the message
	At    int    `json:"at"`              // the byte offset in the text of the block, without marks
	Text  string `json:"text"`            // such as [^r1.4.revenue]
}

// CalledTool says how to show the calls of a tool.
type CalledTool struct {
	Label  string `json:"label,omitempty"`  // what a call does, for people: "Running a query"
	Family string `json:"family,omitempty"` // see package tool
}

// ToolResult answers one tool call. The component that closes the open call appends it.
type ToolResult struct {
	CallID   string          `json:"call_id"`
	Name     string          `json:"name"`
	Content  string          `json:"content"` // what the model reads
	IsError  bool            `json:"is_error,omitempty"`
	Fault    string          `json:"fault,omitempty"` // of a statement: FaultRefused, FaultFailed or FaultLimited
	Millis   int64           `json:"millis,omitempty"`
	CacheHit bool            `json:"cache_hit,omitempty"`
	RanAt    time.Time       `json:"ran_at,omitzero"`  // of a cache hit: when these rows were read
	Result   *StoredResult   `json:"result,omitempty"` // the rows, if any
	Marks    bool            `json:"marks,omitempty"`  // the model reads the mark of each row in Content
	Chart    json.RawMessage `json:"chart,omitempty"`  // a checked chart, from show_chart
	Detail   json.RawMessage `json:"detail,omitempty"` // for the page only, such as a diff; not shown to the model
	Cost     Cost            `json:"cost,omitzero"`    // for a tool that has a price
	By       string          `json:"by,omitempty"`     // "server", "client", "user" or "recovery"
	// AnswerDigest is the digest of a client's answer as received. It detects the same answer sent again. It is set
	// only when By is "client".
	AnswerDigest Digest `json:"told,omitempty"`
	// Statements lists the statements of the call in the order in which they ended.
	Statements []Statement `json:"statements,omitempty"`
}

// The reasons why a tool's statement returned no rows.
const (
	FaultRefused = "refused" // access control rejected it
	FaultFailed  = "failed"  // the database could not run it
	FaultLimited = "limited" // it exceeded a limit
)

// ApprovalAsked records that a call waits for a person's approval.
type ApprovalAsked struct {
	ApprovalID string `json:"approval_id"`
	CallID     string `json:"call_id"`
	// Reason is why a person must approve the call, although its tool needs no approval: it would read too much.
	// Approving such a call never approves later ones.
	Reason string `json:"reason,omitempty"`
	// Outside says which text from outside the conversation has read, if that is why the call needs an approval of its
	// own: its effect leaves the conversation. Approving such a call never approves later ones.
	Outside string `json:"outside,omitempty"`
}

// ApprovalGiven records the person's decision.
type ApprovalGiven struct {
	ApprovalID string `json:"approval_id"`
	CallID     string `json:"call_id"`
	Approved   bool   `json:"approved"`
	Reason     string `json:"reason,omitempty"`
	User       string `json:"user,omitempty"`
	// Always approves later calls of Tool in this conversation, too.
	Always bool   `json:"always,omitempty"`
	Tool   string `json:"tool,omitempty"`
}

// RunStarted opens a run. It holds what recovery needs to continue the run.
type RunStarted struct {
	Protocol     string `json:"door"`                    // the protocol of the request
	OnDisconnect string `json:"on_disconnect,omitempty"` // "cancel" or "continue"
	RequestID    string `json:"request_id,omitempty"`
	// Unattended is set when nobody can answer or approve calls. The run then tells the model so instead of parking.
	Unattended bool `json:"unattended,omitempty"`
	// Key is the id of the stored API key that made the request, if any. Revoking it ends the run, on whichever server
	// the run is by then.
	Key string `json:"key,omitempty"`
	// Roles and Attributes of the caller when the run started. A server that takes over the run after its owner died
	// acts for the same principal.
	Roles      []string          `json:"roles,omitempty"`
	Attributes map[string]string `json:"attributes,omitempty"`
	MaxTokens  int               `json:"max_tokens,omitempty"` // output limit for each model call; 0: the model's own
	// Trace is the traceparent for later parts of the run, on any server; empty when the run is not traced.
	Trace string `json:"trace,omitempty"`
	// Choice is set when the message chose another tier or effort: it applies to this run and those that follow.
	Choice *Choice `json:"choice,omitempty"`
	// Weight is how often each token of the run counts against limits; 0: once.
	Weight int64 `json:"weight,omitempty"`
}

// Choice is the model of a run, and the tier and effort it was chosen with. The fields are those of Opened.
type Choice struct {
	Model  string `json:"model"`
	Tier   string `json:"tier,omitempty"`
	Effort string `json:"effort,omitempty"`
}

// TierOf returns the tier of a conversation from b on. ok is false if b does not change it.
func TierOf(b Body) (tier string, ok bool) {
	switch b := b.(type) {
	case Opened:
		return b.Tier, true
	case RunStarted:
		if b.Choice != nil {
			return b.Choice.Tier, true
		}
	}
	return "", false
}

// RunParked records that a run waits for answers to Calls, at most until Deadline.
type RunParked struct {
	Calls    []string  `json:"calls"`
	Deadline time.Time `json:"deadline"`
}

// RunResumed records that the run continues, after a park or after its owner died.
type RunResumed struct {
	Attempt int    `json:"attempt"`
	Reason  string `json:"reason"` // "answered", "deadline", "recovered"
}

// RunFinished ends a run that has an answer.
type RunFinished struct {
	Reason string `json:"reason"` // the last stop reason, or "max_turns", "budget"
	Steps  int    `json:"steps"`
	Usage  Usage  `json:"usage"`
	Cost   Cost   `json:"cost"`
	Millis int64  `json:"millis"`
}

// RunFailed ends a run that could not give an answer.
type RunFailed struct {
	Code    Code   `json:"code"`
	Message string `json:"message"` // safe to show
	// RetryAfterMillis is the delay the upstream asked for; 0 if it gave none.
	RetryAfterMillis int64 `json:"retry_after_ms,omitempty"`

	Steps  int   `json:"steps,omitempty"`
	Usage  Usage `json:"usage"`
	Cost   Cost  `json:"cost"`
	Millis int64 `json:"millis"`
}

// RunStopped ends a run that was stopped: by a person, a client that disconnected, or a server shutting down.
type RunStopped struct {
	By     string `json:"by"` // "user", "disconnect", "shutdown", "interrupted", "stop_string", "revoked"
	Steps  int    `json:"steps,omitempty"`
	Usage  Usage  `json:"usage"`
	Cost   Cost   `json:"cost"`
	Millis int64  `json:"millis"`
}

// StepFailed records a model call that broke off. It keeps the text that was already shown, for the reader; that text
// never becomes history.
type StepFailed struct {
	Step    int    `json:"step"`
	Attempt int    `json:"attempt"`
	Partial string `json:"partial,omitempty"`
	Code    Code   `json:"code"`
	Usage   Usage  `json:"usage"` // estimated if the upstream did not report it
	Cost    Cost   `json:"cost"`
	// Lost is set when the process died during the call. The actual usage is then unknown, and an estimate counts: its
	// prompt and a short answer.
	Lost bool `json:"lost,omitempty"`
}

// Segmented cuts the history: Summary replaces everything before FromSeq. The usage is that of the model call that
// wrote the summary.
type Segmented struct {
	FromSeq int64  `json:"from_seq"`
	Summary string `json:"summary"`
	Model   string `json:"model,omitempty"`
	Usage   Usage  `json:"usage,omitzero"`
	Cost    Cost   `json:"cost,omitzero"`
}

// Rewound removes everything after ToSeq from the history (an edit, a regenerate). The log itself is never rewritten.
type Rewound struct {
	ToSeq int64 `json:"to_seq"`
}

// Answered is the finished answer of a run with its footnotes.
type Answered struct {
	Text       string          `json:"text"`
	Cites      []Cite          `json:"footnotes"`
	Unresolved []Unresolved    `json:"unresolved,omitempty"`
	Chart      json.RawMessage `json:"chart,omitempty"`
	// Verified lists the results behind the answer that verified queries returned.
	Verified []VerifiedResult `json:"verified,omitempty"`
}

// Titled names the conversation. Auto is set when no person chose the title; the usage is that of the model call that
// wrote it.
type Titled struct {
	Title string `json:"title"`
	Auto  bool   `json:"auto,omitempty"`
	Usage Usage  `json:"usage,omitzero"`
	Cost  Cost   `json:"cost,omitzero"`
	// Model and Millis describe that call, too. Older events lack them.
	Model  string `json:"model,omitempty"`
	Millis int64  `json:"millis,omitempty"`
}

// Feedback is a person's verdict on an answer.
type Feedback struct {
	Seq   int64  `json:"seq"` // the Answered event it is about
	Good  bool   `json:"good"`
	Words string `json:"words,omitempty"`
}

// Spent records the usage of a model call that belongs to no conversation, such as one that writes a statement or
// does a client's side job.
type Spent struct {
	Model string `json:"model"`
	Usage Usage  `json:"usage"`
	Cost  Cost   `json:"cost"`
	Lost  bool   `json:"lost,omitempty"` // as in StepFailed
	// Conversation names the conversation whose balance is charged as well, for example when its generated title was
	// discarded.
	Conversation string `json:"conversation,omitempty"`
	// For is ForTitle or ForSummary if the call should have produced one but failed, and empty for other calls.
	For string `json:"for,omitempty"`
}

// Purposes of model calls outside runs.
const (
	ForTitle   = "title"
	ForSummary = "summary"
)

// QueryRun is a query that a person ran in a conversation: an edited query of the model, or a new one. Its rows are a
// result like any other.
type QueryRun struct {
	Result   StoredResult `json:"result"`
	Replaces string       `json:"replaces,omitempty"` // id of the result whose query was edited
	By       string       `json:"by,omitempty"`       // the user
	Millis   int64        `json:"millis,omitempty"`
	Tables   []string     `json:"tables,omitempty"` // the tables it reads, as in Statement
	// Protocol and RequestID say which request ran it.
	Protocol  string `json:"protocol,omitempty"`
	RequestID string `json:"request_id,omitempty"`
}

// SourceAdded adds a source to a conversation that is open already. The model reads about it with the next message.
type SourceAdded struct {
	Source string `json:"source"`
	Tables string `json:"tables,omitempty"` // its tables and columns, in words
	By     string `json:"by,omitempty"`     // the user
}

// DrawingChanged changes a document of drawings: from then on, Drawing is the drawing with that ID. Undoing a change
// is another change.
type DrawingChanged struct {
	ID      string          `json:"id"`
	Action  string          `json:"action"`            // "create", "update", "remove", "undo", "redo" or "import"
	Drawing json.RawMessage `json:"drawing,omitempty"` // after the change; nil: removed
	By      string          `json:"by"`                // "agent" or "human"
	User    string          `json:"user,omitempty"`    // the person who made the change or asked the agent for it
	Reason  string          `json:"reason,omitempty"`
	// Conversation, Run and CallID identify the call that made an agent's change. For a human's change
	// only CallID is set, to the client's own id: a change with the same id is made only once.
	Conversation string `json:"conversation,omitempty"`
	Run          string `json:"run,omitempty"`
	CallID       string `json:"call_id,omitempty"`
	// Step groups events that are one change and are undone together: it is the sequence of the first of them; 0: the
	// event stands alone.
	Step int64 `json:"step,omitempty"`
	// Reverts is the step that an undo reverts or a redo applies again.
	Reverts int64 `json:"reverts,omitempty"`
}

// WorkspaceChanged changes a file of a workspace document. The contents before and after are blobs of its stream, so
// that a change can be shown and reverted. Files over the size limit for keeping have a digest and no blob.
type WorkspaceChanged struct {
	Path   string `json:"path"` // relative to the workspace, with slashes
	Op     string `json:"op"`   // "create", "write" or "delete"
	Before Digest `json:"before,omitempty"`
	After  Digest `json:"after,omitempty"`
	Size   int64  `json:"size"`           // bytes of the file after the change
	Kept   bool   `json:"kept,omitempty"` // the content after the change is a blob
	Diff   string `json:"diff,omitempty"` // unified; empty for binary and large files
	// Tool is the origin of the change: "Write", "Edit", "Bash", "template" for the initial files of a workspace,
	// "revert" for a person who restored an earlier content, or "outside" for a change made by something else.
	Tool         string `json:"tool"`
	Conversation string `json:"conversation"`
	CallID       string `json:"call_id,omitempty"`
}

// Proposed suggests a verified query and a test, which another administrator approves or declines. The events of an
// organisation's proposals are a document, and the sequence of this event identifies the proposal.
type Proposed struct {
	Name   string `json:"name"`  // of the verified query
	Query  string `json:"query"` // the content of its file
	Test   string `json:"test"`  // the content of the file of the test
	Source string `json:"source"`
	By     string `json:"by"`
	// Conversation and Seq name the answer that led to the proposal, and Fails says why the test fails with it.
	Conversation string   `json:"conversation"`
	Seq          int64    `json:"seq"`
	Fails        string   `json:"fails"`
	Warnings     []string `json:"warnings,omitempty"` // what the second person should look at
}

// Reviewed decides about a proposal.
type Reviewed struct {
	Proposal int64  `json:"proposal"`
	Approved bool   `json:"approved"`
	By       string `json:"by"`
	Words    string `json:"words,omitempty"`
}

// Unreadable stands for an event whose stored body cannot be decoded: it is damaged, missing, or of a kind this
// version does not know. Only reads produce one, and appends reject it. Log readers skip it and report that it
// exists.
type Unreadable struct {
	Kind   string `json:"kind,omitempty"` // the stored kind; empty if unknown
	Reason string `json:"-"`              // for operators: it may quote the store
	Raw    string `json:"-"`              // the stored body, for code that moves the log
}

func (Opened) kind() string           { return "opened" }
func (UserMessage) kind() string      { return "user_message" }
func (Imported) kind() string         { return "imported" }
func (AssistantMessage) kind() string { return "assistant_message" }
func (ToolResult) kind() string       { return "tool_result" }
func (ApprovalAsked) kind() string    { return "approval_asked" }
func (ApprovalGiven) kind() string    { return "approval_given" }
func (RunStarted) kind() string       { return "run_started" }
func (RunParked) kind() string        { return "run_parked" }
func (RunResumed) kind() string       { return "run_resumed" }
func (RunFinished) kind() string      { return "run_finished" }
func (RunFailed) kind() string        { return "run_failed" }
func (RunStopped) kind() string       { return "run_stopped" }
func (StepFailed) kind() string       { return "step_failed" }
func (Segmented) kind() string        { return "segmented" }
func (Rewound) kind() string          { return "rewound" }
func (Answered) kind() string         { return "answered" }
func (Titled) kind() string           { return "titled" }
func (Feedback) kind() string         { return "feedback" }
func (QueryRun) kind() string         { return "query_run" }
func (SourceAdded) kind() string      { return "source_added" }
func (DrawingChanged) kind() string   { return "drawing_changed" }
func (WorkspaceChanged) kind() string { return "workspace_changed" }
func (Spent) kind() string            { return "spent" }
func (Proposed) kind() string         { return "proposed" }
func (Reviewed) kind() string         { return "reviewed" }
func (Unreadable) kind() string       { return "unreadable" }

// Terminal reports whether b ends a run. A run has exactly one such event. An Unreadable counts if its kind is
// terminal.
func Terminal(b Body) bool {
	switch b := b.(type) {
	case RunFinished, RunFailed, RunStopped:
		return true
	case Unreadable:
		return b.Kind == "run_finished" || b.Kind == "run_failed" || b.Kind == "run_stopped"
	}
	return false
}
