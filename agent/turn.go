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
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/tool"
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
	Withdrawn(ctx context.Context, now time.Time, limit int) ([]footnote.Stream, error)
	Reserved(ctx context.Context, stream string) ([]footnote.Reservation, error)
	Overdue(ctx context.Context, limit int) ([]footnote.Reservation, error)
	Expire(ctx context.Context, id string) error
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
	Key          string // the id of the stored API key that it came with; empty: of none
	Door         string // "openai", "aisdk", "analyze", …
	OnDisconnect string // Cancel or Continue
	RequestID    string
	Trace        string // traceparent of the request, if it has one

	// A message: text turns to import before it when the conversation is new, the
	// message itself, and more text for the model that is not shown.
	History   []footnote.TextTurn
	Text      string
	Context   string
	MessageID string // the client's own name for the message; at most 128 bytes
	// Where is where the message is asked from, for an assistant with a Setting. Left out,
	// it is what the message before it said.
	Where     json.RawMessage
	MaxTokens int // output limit for each model call; 0: the model's own

	// What a new conversation is opened with; ignored when it exists already.
	Sources []string // names of the sources it may use; empty: all that the assistant has
	Tier    string   // one of the assistant's; empty: its own model
	Effort  string   // as in Tier; empty: the tier's

	// Edit takes back the message with this sequence and all that followed, and puts
	// Text in its place. Without a Context, the new message keeps that of the old.
	Edit int64
	// Regenerate asks the newest message again, or the one that Edit names. Text
	// and Context must be empty.
	Regenerate bool

	// Or answers to calls of the parked or running run.
	Answers   []tool.Answer
	Approvals []Approval

	// Unattended says that the door cannot bring answers: the run never parks, and
	// calls that would wait get an error which the model reads.
	Unattended bool

	admitted func() // is called when the run is over; may be nil
}

// rewinds reports whether the turn takes back what was said.
func (t *Turn) rewinds() bool { return t.Edit != 0 || t.Regenerate }

// Approval is a person's decision about a call.
type Approval struct {
	CallID   string
	Approved bool
	Reason   string
	// Always approves the later calls of the same tool in this conversation, too.
	Always bool
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
	Name        string
	Title       string // for people; empty: the name
	Description string
	Aliases     []string
	Model       string
	Tiers       []Tier
	Tools       []ToolInfo
	Unavailable string // why it cannot work here; empty when it can
	Created     time.Time
}

// ToolInfo describes a tool of an assistant.
type ToolInfo struct {
	Name     string
	Side     string
	Kind     string
	ReadOnly bool
	Verdict  string
	// Checked says that a call may be refused before a client is to see it.
	Checked bool
}

// Tier is a choice of model that an assistant offers.
type Tier struct {
	Name   string
	Model  string // what the assistant's Model is asked for
	Effort string // footnote.EffortOff, a level the model knows, or empty: the process's own
	// Multiplier is what a token of this tier counts against a limit; 0 counts as 1.
	Multiplier int
}

// Assistant is a prompt, a model, tools and limits under a name.
type Assistant struct {
	Name        string
	Title       string // for people
	Description string
	Aliases     []string
	// Model makes the calls; ModelName is what it is asked for, unless the
	// conversation was opened with one of the Tiers.
	Model     model.Model
	ModelName string
	Tiers     []Tier
	// Opening gives what a new conversation is frozen with: the array of system
	// blocks, and the names of its sources. Sources are those that were asked for;
	// none means all. One that the principal may not use, or that does not exist,
	// is an error with code InvalidRequest.
	Opening func(ctx context.Context, p footnote.Principal,
		sources []string) (system json.RawMessage, names []string, err error)
	Tools  []tool.Tool
	Policy Policy
	Limits Limits
	// Unavailable says why the assistant cannot work here; turns for it are refused
	// with these words. Empty when it can.
	Unavailable string
	// Setting knows where messages are asked from; nil: that does not matter.
	Setting Setting
	// Validate checks a tool's input, where Options.Validate does not know the
	// assistant's tools; nil leaves it to that.
	Validate func(name string, input []byte) error
	// Summaries lets the model summarise histories that have grown too long; without
	// it they are shortened by rule.
	Summaries bool
	// Titles lets the model give a conversation its title, after the first answer.
	Titles  bool
	Created time.Time
}

// Setting is where an assistant's messages are asked from, such as a chart.
type Setting interface {
	// Check gives what a client says of it in the form that is stored. The error's code
	// is InvalidRequest.
	Check(where json.RawMessage) (json.RawMessage, error)
	// Describe tells the model, after each message, what the place is like just now. It
	// must be quick. Where is empty when no message said it.
	Describe(ctx context.Context, p footnote.Principal, where json.RawMessage) string
}

// Limits bound a run. Zero fields take the defaults.
type Limits struct {
	Turns     int           // model calls with tools; default 10
	MicroUSD  int64         // money; default 500,000 (0.50 USD)
	Run       time.Duration // active time; default 240 s
	Tool      time.Duration // one tool call; default 30 s
	Park      time.Duration // how long a call may wait for a client; default 5 min
	InputSize int           // characters of a message; default 10,000
	Events    int64         // of a conversation, before its next message; default 20,000
	History   int           // messages the model reads before they are summarised; 0: all
	Parallel  int           // read-only tools side by side; default 4
}

// Bounds of a turn that no setting changes.
const (
	mostImported  = 5_000   // turns of a client's own history
	mostImportedB = 4 << 20 // bytes of it
	mostContext   = 1 << 20 // bytes of what a door adds to a message
	mostMessageID = 128     // bytes
	mostWhere     = 64 << 10
)

// message says what is wrong with a message for the assistant, and puts where it is
// asked into the form that is stored.
func (a *Assistant) message(t *Turn) error {
	if err := a.Limits.message(t); err != nil || t.Where == nil {
		return err
	}
	if a.Setting == nil {
		return footnote.Errorf(footnote.InvalidRequest,
			"Where a message is asked does not matter to the assistant %s. Leave it out.", a.Name)
	}
	where, err := a.Setting.Check(t.Where)
	t.Where = where
	return err
}

// message says what is wrong with a message.
func (l *Limits) message(t *Turn) error {
	if len(t.Where) > mostWhere {
		return footnote.Errorf(footnote.TooLarge, "What a message says of where it is asked has at most %d bytes.",
			mostWhere)
	}
	if len(t.MessageID) > mostMessageID {
		return footnote.Errorf(footnote.InvalidRequest, "The id of a message has at most %d bytes.", mostMessageID)
	}
	if t.Regenerate {
		if t.Text != "" || t.Context != "" || len(t.History) > 0 {
			return footnote.Errorf(footnote.InvalidRequest, "A message that is asked again brings no words of its own.")
		}
		return nil
	}
	if t.Edit != 0 && strings.TrimSpace(t.Text) == "" {
		return footnote.Errorf(footnote.InvalidRequest, "The edited message is empty.")
	}
	if n := utf8.RuneCountInString(t.Text); n > l.InputSize {
		return footnote.Errorf(footnote.InputTooLong, "The message has %d characters; at most %d are allowed.", n,
			l.InputSize)
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
	if l.Events <= 0 {
		l.Events = 20_000
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
