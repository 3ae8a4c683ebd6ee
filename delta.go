package footnote

import "time"

// DeltaOp says what a Delta tells.
type DeltaOp int

// The operations of a Delta, in the order in which a block goes through them.
const (
	BlockStarted DeltaOp = iota + 1 // a block opened; Kind, ID and Name are set
	BlockGrew                       // Escaped was added to it
	BlockEnded                      // it is complete
	StepRetrying                    // the model call failed before anything was shown, and is made again after Wait
	StepBroke                       // the model call broke off; its open blocks end here, its text stays
)

// Delta is a transient piece of a message that is still growing. Deltas are never
// stored: after a crash the step is done again and its deltas are new ones.
type Delta struct {
	Run     string
	Step    int // from 1 within the run
	Attempt int // from 1 within the step
	Index   int // of the block within the message
	Op      DeltaOp
	Kind    string // "text", "thinking" or "tool_use"
	ID      string // of the tool call
	Name    string // of the tool
	// Escaped is the inside of a JSON string, escaped and without its quotes; for
	// a tool call, a piece of its input's JSON text. It must not be changed.
	Escaped []byte
	Code    Code
	Wait    time.Duration
}
