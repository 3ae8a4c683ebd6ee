package agent

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/hub"
)

// Log is what the loop needs of a store, and no more. The errors are as
// store.Store says.
type Log interface {
	CreateAppend(ctx context.Context, s footnote.Stream, a footnote.Append) ([]footnote.Event, error)
	Get(ctx context.Context, id string) (footnote.Stream, error)
	Find(ctx context.Context, org, user, kind, clientID string) (footnote.Stream, error)
	Append(ctx context.Context, a footnote.Append) ([]footnote.Event, error)
	Events(ctx context.Context, stream string, after int64) iter.Seq2[footnote.Event, error]
	Blob(ctx context.Context, stream string, d footnote.Digest) ([]byte, error)
	Renew(ctx context.Context, stream string, token int64, ttl time.Duration) error
	Release(ctx context.Context, stream string, token int64) error
	Unfinished(ctx context.Context, now time.Time, limit int) ([]footnote.Stream, error)
}

// What a run does when its reader leaves.
const (
	Cancel   = "cancel"
	Continue = "continue"
)

// Turn is what came in: a message, or answers to open calls.
type Turn struct {
	Conversation string // our id; empty for a new conversation, or when ClientID names it
	ClientID     string // the id a client chose: 1 to 128 bytes of printable UTF-8; unique per (org, user)
	Assistant    string // empty: the default one, or the conversation's own
	Principal    footnote.Principal
	Door         string // "openai", "aisdk", "analyze", …
	OnDisconnect string // Cancel or Continue
	RequestID    string

	// A message: text turns to import before it when the conversation is new, the
	// message itself, and more text for the model that is not shown.
	History   []footnote.TextTurn
	Text      string
	Context   string
	MaxTokens int // output limit for each model call; 0: the model's own

	// Or answers to calls of the parked or running run.
	Answers   []Answer
	Approvals []Approval
}

// Answer is the result of a client tool.
type Answer struct {
	CallID  string
	Content string
	IsError bool
	// Rows of a query that the client ran, so that footnotes can point at them.
	Rows *footnote.Result
}

// Approval is a person's decision about a call.
type Approval struct {
	CallID   string
	Approved bool
	Reason   string
}

// Ticket says where a turn went. Its reader must be closed.
type Ticket struct {
	Conversation string
	Run          string
	After        int64 // events with Seq <= After are older than this turn
	// Duplicate is true when every answer of the turn had been given before, in
	// the same words. Nothing was written.
	Duplicate bool

	reader *hub.Reader
	replay int64
}

// AssistantInfo describes an assistant to clients.
type AssistantInfo struct {
	Name    string
	Aliases []string
	Model   string
	Created time.Time
}

// Assistant is a prompt, a model, tools and limits under a name.
type Assistant struct {
	Name    string
	Aliases []string
	// Model makes the calls; ModelName is what it is asked for.
	Model     Model
	ModelName string
	// Opening gives what a new conversation is frozen with: the array of system
	// blocks, and the names of its sources.
	Opening func(ctx context.Context, p footnote.Principal) (system json.RawMessage, sources []string, err error)
	Tools   []Tool
	Policy  Policy
	Limits  Limits
	Created time.Time
}

// Limits bound a run. Zero fields take the defaults.
type Limits struct {
	Turns     int           // model calls with tools; default 10
	MicroUSD  int64         // money; default 500,000 (0.50 USD)
	Run       time.Duration // active time; default 240 s
	Tool      time.Duration // one tool call; default 30 s
	Park      time.Duration // how long a call may wait for a client; default 5 min
	InputSize int           // characters of a message; default 10,000
	Parallel  int           // read-only tools side by side; default 4
}

// Bounds of a turn that no setting changes.
const (
	mostImported  = 5_000   // turns of a client's own history
	mostImportedB = 4 << 20 // bytes of it
	mostContext   = 1 << 20 // bytes of what a door adds to a message
)

// message says what is wrong with a message.
func (l Limits) message(t Turn) error {
	if n := utf8.RuneCountInString(t.Text); n > l.InputSize {
		return footnote.Errorf(footnote.InputTooLong, "The message has %d characters; at most %d are allowed.", n, l.InputSize)
	}
	if strings.TrimSpace(t.Text) == "" && strings.TrimSpace(t.Context) == "" {
		return footnote.Errorf(footnote.InvalidRequest, "The message is empty.")
	}
	size := 0
	for _, h := range t.History {
		size += len(h.Text)
	}
	if len(t.History) > mostImported || size > mostImportedB || len(t.Context) > mostContext {
		return footnote.Errorf(footnote.TooLarge, "The message brings too much history or context with it.")
	}
	return nil
}

func (l Limits) withDefaults() Limits {
	set := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	if l.Turns <= 0 {
		l.Turns = 10
	}
	if l.MicroUSD <= 0 {
		l.MicroUSD = 500_000
	}
	if l.InputSize <= 0 {
		l.InputSize = 10_000
	}
	if l.Parallel <= 0 {
		l.Parallel = 4
	}
	set(&l.Run, 240*time.Second)
	set(&l.Tool, 30*time.Second)
	set(&l.Park, 5*time.Minute)
	return l
}
