package footnote

import (
	"encoding/json"
	"time"
)

// Event is one durable, numbered fact of a stream. A stream is a conversation or
// a document. Order is Seq (from 1, without gaps), never Time.
type Event struct {
	Stream string
	Seq    int64
	Time   time.Time
	Run    string // the run it belongs to; empty outside of one
	Body   Body
}

// Body is the content of an event. It is a sealed union: only the types of this
// package implement it, so a switch over it can be read as complete.
type Body interface{ isBody() }

// Digest names a blob by its content: "sha256:" and 64 hex digits.
type Digest = string

// Opened is the first event of a conversation. Assistant, sources, system and
// tools stay as they are for its whole life; a change would void the model's
// thinking and its prompt cache.
type Opened struct {
	Assistant string   `json:"assistant"`
	Model     string   `json:"model"`
	Tier      string   `json:"tier,omitempty"`   // one of the assistant's, when it was chosen
	Effort    string   `json:"effort,omitempty"` // of the tier: EffortOff, or a level the model knows; empty: the process's own
	Sources   []string `json:"sources,omitempty"`
	System    Digest   `json:"system"` // blob: the JSON array of system blocks, frozen
	Tools     Digest   `json:"tools"`  // blob: the JSON array of tool definitions, frozen
}

// EffortOff is the effort of a model that is to answer without thinking first.
const EffortOff = "off"

// UserMessage is what a person said. Context is text of our own that stands
// after it for the model and is not shown (a changed schema, today's date).
type UserMessage struct {
	Text    string `json:"text"`
	Context string `json:"context,omitempty"`
	ID      string `json:"id,omitempty"` // the client's own name for it, where it has one
	// Where is where it was asked, in the words of the assistant's setting: which chart.
	Where json.RawMessage `json:"where,omitempty"`
}

// Imported is what was said before a conversation came to us, as its client tells
// it: text, and nothing else of it is believed. One event holds it all.
type Imported struct {
	Turns []TextTurn `json:"turns"`
}

// TextTurn is something that was said.
type TextTurn struct {
	Role string `json:"role"` // "user" or "assistant"
	Text string `json:"text"`
}

// AssistantMessage is one complete model call: its blocks exactly as they came.
// A tool call is a block of it and is stored nowhere else.
type AssistantMessage struct {
	Step       int               `json:"step"`               // from 1 within the run
	Upstream   string            `json:"upstream,omitempty"` // the vendor's message id
	Request    string            `json:"request,omitempty"`  // the vendor's request id
	Model      string            `json:"model"`              // the one that really served
	Blocks     []json.RawMessage `json:"blocks"`
	StopReason string            `json:"stop_reason"`
	Usage      Usage             `json:"usage"`
	Cost       Cost              `json:"cost"`
	Millis     int64             `json:"millis,omitempty"` // of the call, its last attempt alone
}

// ToolResult answers one tool call. Whoever closes an open call appends it.
type ToolResult struct {
	CallID   string          `json:"call_id"`
	Name     string          `json:"name"`
	Content  string          `json:"content"` // what the model reads
	IsError  bool            `json:"is_error,omitempty"`
	Fault    string          `json:"fault,omitempty"` // of a statement: FaultRefused, FaultFailed or FaultLimited
	Millis   int64           `json:"millis,omitempty"`
	CacheHit bool            `json:"cache_hit,omitempty"`
	RanAt    time.Time       `json:"ran_at,omitzero"`  // of a hit: when the statement ran whose rows these are
	Result   *StoredResult   `json:"result,omitempty"` // the rows, where there are any
	Chart    json.RawMessage `json:"chart,omitempty"`  // a checked chart, from show_chart
	Detail   json.RawMessage `json:"detail,omitempty"` // more for a page to show, such as a diff; the model does not read it
	Cost     Cost            `json:"cost,omitzero"`    // of a tool that has a price
	By       string          `json:"by,omitempty"`     // "server", "client", "user" or "recovery"
	// Told names the bytes of a client's answer as it came, so that the same answer
	// is known again. Only set when By is "client".
	Told Digest `json:"told,omitempty"`
	// Statements are those of the call, in the order in which they ended.
	Statements []Statement `json:"statements,omitempty"`
}

// What kept a tool's statement from giving its rows.
const (
	FaultRefused = "refused" // it was not let through
	FaultFailed  = "failed"  // the database could not run it
	FaultLimited = "limited" // it ran into a limit
)

// ApprovalAsked says that a call waits for a person.
type ApprovalAsked struct {
	ApprovalID string `json:"approval_id"`
	CallID     string `json:"call_id"`
}

// ApprovalGiven is the person's decision.
type ApprovalGiven struct {
	ApprovalID string `json:"approval_id"`
	CallID     string `json:"call_id"`
	Approved   bool   `json:"approved"`
	Reason     string `json:"reason,omitempty"`
	User       string `json:"user,omitempty"`
	// Always approves the later calls of Tool in this conversation, too.
	Always bool   `json:"always,omitempty"`
	Tool   string `json:"tool,omitempty"`
}

// RunStarted opens a run. The log holds what recovery needs to go on with it.
type RunStarted struct {
	Door         string `json:"door"`                    // which protocol asked
	OnDisconnect string `json:"on_disconnect,omitempty"` // "cancel" or "continue"
	RequestID    string `json:"request_id,omitempty"`
	// Unattended says that nobody can answer calls or approve them: instead of
	// parking, the run tells the model so.
	Unattended bool `json:"unattended,omitempty"`
	// Key is the id of the stored API key that asked, if one did: the run ends when
	// that is revoked, whoever drives it then.
	Key string `json:"key,omitempty"`
	// Roles and Attributes of who asked, as they were then: who goes on with a run
	// whose owner died acts for the same principal.
	Roles      []string          `json:"roles,omitempty"`
	Attributes map[string]string `json:"attributes,omitempty"`
	MaxTokens  int               `json:"max_tokens,omitempty"` // output limit for each model call; 0: the model's own
	// Trace is the traceparent under which later parts of the run are followed, at
	// whichever server; empty when nobody follows it.
	Trace string `json:"trace,omitempty"`
}

// RunParked says that a run waits for answers to Calls, at most until Deadline.
type RunParked struct {
	Calls    []string  `json:"calls"`
	Deadline time.Time `json:"deadline"`
}

// RunResumed says that the run goes on, after a park or after its owner died.
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
	// RetryAfterMillis is how long the upstream asked to be left alone; 0 when it
	// did not say.
	RetryAfterMillis int64 `json:"retry_after_ms,omitempty"`

	Steps  int   `json:"steps,omitempty"`
	Usage  Usage `json:"usage"`
	Cost   Cost  `json:"cost"`
	Millis int64 `json:"millis"`
}

// RunStopped ends a run that somebody ended: a person, a client that left, or a
// server that was going down.
type RunStopped struct {
	By     string `json:"by"` // "user", "disconnect", "shutdown", "interrupted", "stop_string", "revoked"
	Steps  int    `json:"steps,omitempty"`
	Usage  Usage  `json:"usage"`
	Cost   Cost   `json:"cost"`
	Millis int64  `json:"millis"`
}

// StepFailed records a model call that broke off. What had been shown of it is
// kept here for the reader; it never becomes history.
type StepFailed struct {
	Step    int    `json:"step"`
	Attempt int    `json:"attempt"`
	Partial string `json:"partial,omitempty"`
	Code    Code   `json:"code"`
	Usage   Usage  `json:"usage"` // estimated when the upstream did not say
	Cost    Cost   `json:"cost"`
	// Lost says that the process died during the call. What it has used is not known,
	// and taken to be all that was reserved for it.
	Lost bool `json:"lost,omitempty"`
}

// Segmented cuts the history: what came before FromSeq is replaced by Summary. The
// usage is that of the model call which made it.
type Segmented struct {
	FromSeq int64  `json:"from_seq"`
	Summary string `json:"summary"`
	Model   string `json:"model,omitempty"`
	Usage   Usage  `json:"usage,omitzero"`
	Cost    Cost   `json:"cost,omitzero"`
}

// Rewound takes back everything after ToSeq for the history (an edit, a
// regenerate). The log itself is never rewritten.
type Rewound struct {
	ToSeq int64 `json:"to_seq"`
}

// Answered is the finished answer of a run with its footnotes.
type Answered struct {
	Text       string          `json:"text"`
	Cites      []Cite          `json:"footnotes"`
	Unresolved []Unresolved    `json:"unresolved,omitempty"`
	Chart      json.RawMessage `json:"chart,omitempty"`
}

// Titled names the conversation. Auto is set on the titles that nobody chose; the
// usage is that of the model call which made one.
type Titled struct {
	Title string `json:"title"`
	Auto  bool   `json:"auto,omitempty"`
	Usage Usage  `json:"usage,omitzero"`
	Cost  Cost   `json:"cost,omitzero"`
}

// Feedback is a person's verdict on an answer.
type Feedback struct {
	Seq   int64  `json:"seq"` // the Answered event it is about
	Good  bool   `json:"good"`
	Words string `json:"words,omitempty"`
}

// Spent is what a model call has used that belongs to no conversation: a statement
// that was written, a side job of a client's.
type Spent struct {
	Model string `json:"model"`
	Usage Usage  `json:"usage"`
	Cost  Cost   `json:"cost"`
	Lost  bool   `json:"lost,omitempty"` // as in StepFailed
	// Conversation is in whose balance it counts, too: its title was not taken, say.
	Conversation string `json:"conversation,omitempty"`
}

// QueryRun is a query that a person ran beside the conversation: one of a model's,
// edited, or one of their own. Its rows are a result like any other.
type QueryRun struct {
	Result   StoredResult `json:"result"`
	Replaces string       `json:"replaces,omitempty"` // id of the result whose query was edited
	By       string       `json:"by,omitempty"`       // the user
	Millis   int64        `json:"millis,omitempty"`
	Tables   []string     `json:"tables,omitempty"` // that it reads, as in Statement
}

// DrawingChanged changes a document of drawings: the drawing with ID is as Drawing
// says from then on. What undoes a change is a change of its own.
type DrawingChanged struct {
	ID      string          `json:"id"`
	Action  string          `json:"action"`            // "create", "update", "remove", "undo", "redo" or "import"
	Drawing json.RawMessage `json:"drawing,omitempty"` // after the change; nil: it is gone
	By      string          `json:"by"`                // "agent" or "human"
	User    string          `json:"user,omitempty"`    // whose doing it was, or who asked the agent
	Reason  string          `json:"reason,omitempty"`
	// Conversation, Run and CallID name the call of an agent's change. CallID alone is
	// a client's own name for a human's: a change is made once under a name.
	Conversation string `json:"conversation,omitempty"`
	Run          string `json:"run,omitempty"`
	CallID       string `json:"call_id,omitempty"`
	// Step is the sequence of the first of several events that are one change, and are
	// undone together; 0: the event is one alone.
	Step int64 `json:"step,omitempty"`
	// Reverts is the step that an undo takes back, or a redo makes again.
	Reverts int64 `json:"reverts,omitempty"`
}

// WorkspaceChanged changes a file of a workspace document. The contents before and
// after are blobs of its stream, so that a change can be shown and taken back; those
// of files over the size that is kept have a digest and no blob.
type WorkspaceChanged struct {
	Path   string `json:"path"` // relative to the workspace, with slashes
	Op     string `json:"op"`   // "create", "write" or "delete"
	Before Digest `json:"before,omitempty"`
	After  Digest `json:"after,omitempty"`
	Size   int64  `json:"size"`           // bytes of the file after the change
	Kept   bool   `json:"kept,omitempty"` // the content after the change is a blob
	Diff   string `json:"diff,omitempty"` // unified; empty for binary and large files
	// Tool is what changed it: "Write", "Edit", "Bash", "template" for the files a
	// workspace begins with, "revert" for a person who went back to an earlier
	// content, or "outside" for what was found changed.
	Tool         string `json:"tool"`
	Conversation string `json:"conversation"`
	CallID       string `json:"call_id,omitempty"`
}

// Unreadable stands for an event whose stored body cannot be decoded: it is damaged, of a
// kind this version does not know, or not there at all. Only reading makes one, and no
// append takes one. What reads a log passes over it, and says that it is there.
type Unreadable struct {
	Kind   string `json:"kind,omitempty"` // as it is stored; empty when that is not known either
	Reason string `json:"-"`              // for operators: it may quote the store
	Raw    string `json:"-"`              // the body as it is stored, for whoever moves the log
}

func (Opened) isBody()           {}
func (UserMessage) isBody()      {}
func (Imported) isBody()         {}
func (AssistantMessage) isBody() {}
func (ToolResult) isBody()       {}
func (ApprovalAsked) isBody()    {}
func (ApprovalGiven) isBody()    {}
func (RunStarted) isBody()       {}
func (RunParked) isBody()        {}
func (RunResumed) isBody()       {}
func (RunFinished) isBody()      {}
func (RunFailed) isBody()        {}
func (RunStopped) isBody()       {}
func (StepFailed) isBody()       {}
func (Segmented) isBody()        {}
func (Rewound) isBody()          {}
func (Answered) isBody()         {}
func (Titled) isBody()           {}
func (Feedback) isBody()         {}
func (QueryRun) isBody()         {}
func (DrawingChanged) isBody()   {}
func (WorkspaceChanged) isBody() {}
func (Spent) isBody()            {}
func (Unreadable) isBody()       {}

// Terminal reports whether b ends a run. A run has exactly one such event. One that cannot
// be read ends it all the same: its kind says so.
func Terminal(b Body) bool {
	switch b := b.(type) {
	case RunFinished, RunFailed, RunStopped:
		return true
	case Unreadable:
		return b.Kind == "run_finished" || b.Kind == "run_failed" || b.Kind == "run_stopped"
	}
	return false
}
