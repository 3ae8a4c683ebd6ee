package footnote

import "time"

// DeltaOp is the kind of change a Delta reports.
type DeltaOp int

// The operations of a Delta, in the order in which a block goes through them.
const (
	BlockStarted DeltaOp = iota + 1 // a block opened; Kind, ID and Name are set
	BlockGrew                       // Escaped was appended to the block
	BlockEnded                      // the block is complete
	StepRetrying                    // the model call failed before it showed anything; it is retried after Wait
	StepBroke                       // the model call broke off; its open blocks end here and keep their text
)

// Delta is a transient piece of a message that is still growing. Deltas are never stored: after a crash the step runs
// again and produces new deltas.
type Delta struct {
	Run     string
	Step    int // from 1 within the run
	Attempt int // from 1 within the step
	Index   int // index of the block within the message
	Op      DeltaOp
	Kind    string // "text", "thinking" or "tool_use"
	ID      string // id of the tool call
	Name    string // name of the tool
	// Escaped is the inside of a JSON string: escaped, without its quotes. For a tool call it is a piece of the
	// input's JSON text. Receivers must not modify it.
	Escaped []byte
	Code    Code
	Wait    time.Duration
}
