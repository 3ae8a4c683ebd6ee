// Package model has what models are made of: a call, and the message that it gives.
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
	// Step makes one model call and returns the complete message. While the
	// message grows, its pieces are reported to live, from the calling goroutine.
	// Before anything was reported, the model may retry on its own.
	//
	// An error is a *StepError, or ctx's cause when ctx ended.
	Step(ctx context.Context, req Request, live Live) (Reply, error)
}

// Request is one model call. System, Tools and the content of Messages are sent
// byte for byte as they are.
type Request struct {
	Conversation string
	Principal    footnote.Principal
	Model        string          // as the assistant names it
	Effort       string          // footnote.EffortOff, a level, or empty: the model's own setting
	Sources      []string        // names of the conversation's sources
	System       json.RawMessage // array of system blocks, frozen when the conversation opened
	Tools        json.RawMessage // array of tool definitions, frozen likewise
	Messages     []Message
	// NoTools asks for an answer without further tool calls (tool_choice none);
	// the definitions are still sent.
	NoTools bool
	// MaxTokens lowers the output limit; 0 leaves the model's own.
	MaxTokens int
	// MaxCost is what this call may cost at most, in millionths of a US dollar;
	// 0 means no ceiling. The model lowers its output limit to fit and refuses
	// with code BudgetExceeded when not even a short answer fits.
	MaxCost int64
	// Permits says whether who asks may use a model; nil: all. It is asked about those
	// that stand in for another.
	Permits func(model string) bool
}

// Message is one turn of the history in the shape of the Messages API.
type Message = history.Message

// Reply is a complete model message. Step, within the message, is set by the
// caller.
type Reply struct {
	Message footnote.AssistantMessage
	// Cites are footnotes the model itself vouches for, with offsets into the
	// concatenated text blocks of Message. Only the offline planner, which knows
	// its cells, gives any.
	Cites []footnote.Cite
}

// The stop reasons a loop acts on. Others are treated as EndTurn.
const (
	EndTurn         = "end_turn"
	ToolUse         = "tool_use"
	MaxTokens       = "max_tokens"
	StopSequence    = "stop_sequence"
	PauseTurn       = "pause_turn"
	Refusal         = "refusal"
	ContextExceeded = "model_context_window_exceeded"
)

// StepError says why a model call gave no message.
type StepError struct {
	Code    footnote.Code // ModelUnavailable, RateLimited, AgentTimeout, BudgetExceeded, Internal, …
	Message string        // safe to show
	// Again is true when the same call may succeed if it is made again.
	Again bool
	// RetryAfter is what the upstream asked for; 0 when it did not say.
	RetryAfter time.Duration
	Partial    string // the text that had been reported to live
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

// Unwrap gives the footnote.Error a protocol shows, so that CodeOf and MessageOf work
// on a StepError, and the cause behind it.
func (e *StepError) Unwrap() error {
	return &footnote.Error{Code: e.Code, Message: e.Message, RetryAfter: e.RetryAfter, Err: e.Err}
}

// The kinds of blocks that Live is told about.
const (
	TextBlock     = "text"
	ThinkingBlock = "thinking"
	ToolUseBlock  = "tool_use"
)

// Live receives a message while it grows. All calls come from one goroutine, in
// order; indexes are the blocks' places in the message. Blocks of other kinds are
// not reported.
type Live interface {
	// Start opens a block; id and name are those of a tool call.
	Start(index int, kind, id, name string)
	// Delta adds to a block. The bytes are the inside of a JSON string: escaped,
	// without the quotes, and never ending inside an escape or a surrogate pair.
	// For a tool call they are the pieces of its input's JSON text. They are only
	// valid during the call.
	Delta(index int, escaped []byte)
	// Stop closes a block.
	Stop(index int)
	// Flush says that everything which one read from the upstream brought has
	// been reported: now is the time to wake readers, once.
	Flush()
	// Retrying says that the call failed before anything was reported, and is
	// made again after wait.
	Retrying(attempt int, code footnote.Code, wait time.Duration)
}
