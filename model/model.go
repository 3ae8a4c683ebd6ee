// Package model defines the interface of models: a call, and the message that it returns.
package model

import (
	"context"
	"encoding/json"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/model/history"
)

// Model makes model calls. It may be used by many runs at once.
type Model interface {
	// Step makes one model call and returns the complete message. While the message grows, Step reports its pieces to
	// live, from the calling goroutine. It may retry as long as nothing was reported.
	//
	// An error is a *StepError, or ctx's cause if ctx ended.
	Step(ctx context.Context, req Request, live Live) (Reply, error)
}

// Request is one model call. System, Tools and the content of Messages are sent unchanged, byte for byte.
type Request struct {
	Conversation string
	Principal    footnote.Principal
	Model        string          // as the assistant names it
	Effort       string          // footnote.EffortOff, a level, or empty for the model's own setting
	Sources      []string        // names of the conversation's sources
	System       json.RawMessage // array of system blocks, frozen when the conversation opened
	Tools        json.RawMessage // array of tool definitions, frozen at the same time
	Messages     []Message
	// NoTools asks for an answer without further tool calls (tool_choice none). The definitions are still sent.
	NoTools bool
	// MaxTokens lowers the output limit; 0 means the model's own limit.
	MaxTokens int
	// MaxCost is the highest cost of this call, in millionths of a US dollar; 0 means no limit. The model lowers its
	// output limit to fit. If not even a short answer fits, it returns an error with code BudgetExceeded.
	MaxCost int64
	// Permits reports whether the caller may use a model; nil permits all. It is called for fallback models.
	Permits func(model string) bool
}

// Message is one turn of the history in the shape of the Messages API.
type Message = history.Message

// Reply is a complete model message. The caller sets Message.Step.
type Reply struct {
	Message footnote.AssistantMessage
	// Cites are the model's own footnotes, with offsets into the concatenated text blocks of Message. Only the offline
	// planner returns any, because it knows the cells that it uses.
	Cites []footnote.Cite
}

// The stop reasons that a loop distinguishes. It treats others as EndTurn.
const (
	EndTurn         = "end_turn"
	ToolUse         = "tool_use"
	MaxTokens       = "max_tokens"
	StopSequence    = "stop_sequence"
	PauseTurn       = "pause_turn"
	Refusal         = "refusal"
	ContextExceeded = "model_context_window_exceeded"
)

// StepError is the error of a model call that returned no message.
type StepError struct {
	Code    footnote.Code // ModelUnavailable, RateLimited, AgentTimeout, BudgetExceeded, Internal, …
	Message string        // safe to show
	// Again is true if a retry of the same call may succeed.
	Again bool
	// RetryAfter is the wait that the upstream requested; 0 if it requested none.
	RetryAfter time.Duration
	Partial    string // the text reported to live so far
	Usage      footnote.Usage
	Cost       footnote.Cost
	Err        error // for the log
}

func (e *StepError) Error() string {
	if e.Err == nil {
		return e.Message
	}
	return e.Message + ": " + e.Err.Error()
}

// Unwrap returns a footnote.Error with the code, the message and the cause, so that CodeOf and MessageOf work on a
// StepError.
func (e *StepError) Unwrap() error {
	return &footnote.Error{Code: e.Code, Message: e.Message, RetryAfter: e.RetryAfter, Err: e.Err}
}

// The kinds of blocks that Live receives.
const (
	TextBlock     = "text"
	ThinkingBlock = "thinking"
	ToolUseBlock  = "tool_use"
)

// Live receives a message while it grows. All calls come from one goroutine, in order. Indexes are the positions of the
// blocks in the message. Blocks of other kinds are not reported.
type Live interface {
	// Start opens a block; id and name are those of a tool call.
	Start(index int, kind, id, name string)
	// Delta appends to a block. The bytes are the inside of a JSON string: escaped, without the quotes, and never
	// ending within an escape or a surrogate pair. For a tool call they are pieces of the JSON text of its input. They
	// are valid only during the call.
	Delta(index int, escaped []byte)
	// Stop closes a block.
	Stop(index int)
	// Flush is called once everything from one read of the upstream has been reported. Readers should be woken only
	// then.
	Flush()
	// Retrying reports that the call failed before anything was reported, and is retried after wait.
	Retrying(attempt int, code footnote.Code, wait time.Duration)
}
