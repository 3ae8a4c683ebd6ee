package agent

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/hub"
	"github.com/footnotehq/footnote/tool"
)

// Actions of a run when its reader leaves.
const (
	Cancel   = "cancel"
	Continue = "continue"
)

// Actions for a message that arrives while its conversation is still answering.
const (
	Reject    = "reject"    // refuse the message
	Enqueue   = "enqueue"   // answer waiting messages in order of arrival
	Interrupt = "interrupt" // stop the answer
)

// Turn is one input to a conversation: a message, an edit, or answers to open calls.
type Turn struct {
	Conversation string // our id; empty for a new conversation, or when ClientID names it
	ClientID     string // the client's own id: 1 to 128 bytes of printable UTF-8, unique per user
	Assistant    string // empty: the default one, or the conversation's own
	Principal    footnote.Principal
	Key          string // the id of the stored API key of the request; empty: none
	Protocol     string // "openai", "aisdk", "analyze", …
	OnDisconnect string // Cancel or Continue: whether the run stops or continues when its client leaves
	RequestID    string
	Trace        string // traceparent of the request, if it has one

	// A message: text turns to import before it when the conversation is new, the
	// message itself, and more text for the model that is not shown.
	History       []footnote.TextTurn
	Text, Context string
	// MessageID is the client's own name for the message, at most 128 bytes. Submit starts at most one run for each
	// MessageID of a conversation, however often the message is sent, and refuses another text under it.
	MessageID string
	// Where describes the place from which the message is sent, for an assistant with a Setting. If empty, it is that
	// of the message before.
	Where     json.RawMessage
	MaxTokens int // output limit for each model call; 0: the model's own

	// Sources names the sources that a new conversation may use; empty: all of the assistant's. It is ignored when the
	// conversation exists already.
	Sources []string
	// Tier names one of the assistant's tiers, for this message and later ones. Empty: the tier of the conversation, or
	// the default one for a new conversation.
	Tier   string
	Effort string // as in type Tier; empty: the conversation's, or that of Tier

	// Edit rewinds the message with this sequence and everything after it, and puts Text in its place. If Context is
	// empty, the new message keeps the context of the old one.
	Edit int64
	// Regenerate answers the newest message again, or the one that Edit names. Text and Context must be empty.
	Regenerate bool

	// Instead of a message: answers to calls of the parked or running run.
	Answers   []tool.Answer
	Approvals []Approval

	// Unattended means that the client cannot answer calls. The run then never parks, and the model reads an error for
	// each call that would have to wait.
	Unattended bool

	// Prepare completes the turn from the head and the log of its conversation, which are empty for a new one. Submit
	// calls it before it starts anything, and returns its error. With Enqueue or Interrupt, Submit may call it several
	// times, each time with the original turn. It saves a protocol from reading the log a second time. Nil: the turn is
	// complete.
	Prepare func(t *Turn, head footnote.Stream, log []footnote.Event) error
	// Repeated means that the message was sent before: Submit starts no run for it, and returns NotFound if the
	// conversation does not contain it.
	Repeated bool

	// OnBusy decides what happens to a message while the conversation is still answering: Reject, which is the default,
	// Enqueue or Interrupt.
	OnBusy string

	admitted func()           // called when the run is over; may be nil
	choice   *footnote.Choice // for RunStarted
	weight   int64            // for RunStarted
	log      []footnote.Event // the events of the conversation that Submit has read so far
}

// Approval is a person's decision about a call.
type Approval struct {
	CallID   string
	ID       string // of the approval; empty: the one because of the call's tool
	Approved bool
	Reason   string
	// Always also approves later calls of the same tool in this conversation.
	Always bool
}

// rewinds reports whether the turn rewinds a message.
func (t *Turn) rewinds() bool { return t.Edit != 0 || t.Regenerate }

// empty reports whether the turn has neither results nor approvals.
func (t Turn) empty() bool { return len(t.Answers)+len(t.Approvals) == 0 }

// Ticket identifies the run that a turn started or resumed. Its reader must be closed.
type Ticket struct {
	Conversation string
	Assistant    string // of the conversation
	Run          string
	After        int64 // events with Seq <= After are older than this turn
	// Duplicate is true when the turn contained nothing new and nothing was written: the conversation already had a
	// message with its MessageID, or the same answers. Run is then the run that the message started, which may be over,
	// and its events follow After in the log.
	Duplicate bool
	// OnDisconnect is that of the turn. The protocol that shows the run applies it when the client leaves.
	OnDisconnect string

	reader *hub.Reader
}

// Fixed limits of a turn.
const (
	maxImported      = 5_000   // turns of a client's own history
	maxImportedBytes = 4 << 20 // bytes of it
	maxContext       = 1 << 20 // bytes that a protocol adds to a message
	maxMessageID     = 128     // bytes
	maxWhere         = 64 << 10
)

// checkMessage returns an error if the message of a turn is invalid. It converts t.Where to the form that is stored.
func (a *Assistant) checkMessage(t *Turn) error {
	if err := a.Limits.checkMessage(t); err != nil || t.Where == nil {
		return err
	}
	if a.Setting == nil {
		return footnote.Invalidf("The assistant %s does not use the place of a message. Leave it out.", a.Name)
	}
	where, err := a.Setting.Check(t.Where)
	t.Where = where
	return err
}

// checkMessage returns an error if the message of a turn is invalid.
func (l *Limits) checkMessage(t *Turn) error {
	if len(t.Where) > maxWhere {
		return footnote.Errorf(footnote.TooLarge, "The chart context of a message can have at most %d bytes.", maxWhere)
	}
	if len(t.MessageID) > maxMessageID {
		return footnote.Invalidf("The id of a message can have at most %d bytes.", maxMessageID)
	}
	if t.Regenerate {
		if t.Text != "" || t.Context != "" || len(t.History) > 0 {
			return footnote.Invalidf("A request to regenerate an answer must not contain text.")
		}
		return nil
	}
	if t.Edit != 0 && strings.TrimSpace(t.Text) == "" {
		return footnote.Invalidf("The edited message is empty.")
	}
	if n := utf8.RuneCountInString(t.Text); n > l.InputSize {
		return footnote.Errorf(footnote.InputTooLong, "The message has %d characters; at most %d are allowed.", n,
			l.InputSize)
	}
	if strings.TrimSpace(t.Text) == "" && strings.TrimSpace(t.Context) == "" {
		return footnote.Invalidf("The message is empty.")
	}
	size := 0
	for _, h := range t.History {
		size += len(h.Text)
	}
	if len(t.History) > maxImported || size > maxImportedBytes || len(t.Context) > maxContext {
		return footnote.Errorf(footnote.TooLarge, "The message has too much history or context.")
	}
	return nil
}

// Limits of what a client may send in one turn. Sizes are in bytes.
const (
	maxAnswers        = 100
	maxCallID         = 256
	maxReason         = 2_000   // of the reason for a decision
	maxSQL            = 100_000 // of one statement
	maxStatements     = 50      // of one answer
	maxStatementBytes = 400_000 // of all statements of one answer
	maxColumns        = 2_000   // of a result
	maxRows           = 10_000  // the same as for a query that the server runs
	maxRowBytes       = 5 << 20 // of a result's rows, as stored
	maxResultText     = 50_000  // of a text answer, as the model reads it
	maxColumnName     = 10_000
	maxKind           = 40 // of a column's kind
	maxRowCount       = 1_000_000_000_000
)

// checkSize checks the size of a turn's answers and decisions. It does not read the conversation.
func (t Turn) checkSize() error {
	if len(t.Answers)+len(t.Approvals) > maxAnswers {
		return footnote.Errorf(footnote.TooLarge, "A request can have at most %d answers.", maxAnswers)
	}
	if t.Edit != 0 || t.Regenerate || t.Text != "" {
		return footnote.Invalidf("A request has answers or a message, not both.")
	}
	for _, a := range t.Approvals {
		if len(a.CallID) > maxCallID || len(a.Reason) > maxReason {
			return footnote.Errorf(footnote.TooLarge, "A reason can have at most %d bytes.", maxReason)
		}
	}
	for _, a := range t.Answers {
		if err := answerBounds(a); err != nil {
			return err
		}
	}
	return nil
}

func answerBounds(a tool.Answer) error {
	switch {
	case len(a.CallID) > maxCallID:
		return footnote.Errorf(footnote.TooLarge, "A call's id can have at most %d bytes.", maxCallID)
	case len(a.Content) > maxContent:
		return footnote.Errorf(footnote.TooLarge, "The answer to the call %.100q has %d bytes; at most %d are allowed.",
			a.CallID, len(a.Content), maxContent)
	case len(a.SQL) > maxSQL:
		return sqlTooLong(a, len(a.SQL))
	case badRowCount(a.RowCount):
		return rowCountWrong(a)
	}
	if err := statementBounds(a); err != nil {
		return err
	}
	return rowBounds(a)
}

func badRowCount(n int) bool { return n < 0 || n > maxRowCount }

func rowCountWrong(a tool.Answer) error {
	return footnote.Invalidf("The row count of the call %.100q is negative or too large.", a.CallID)
}

func sqlTooLong(a tool.Answer, n int) error {
	return footnote.Errorf(footnote.TooLarge,
		"The statement with the call %.100q has %d bytes; at most %d are allowed.", a.CallID, n, maxSQL)
}

// clientOutcomes lists the outcomes that a client may report for a statement.
var clientOutcomes = []string{
	footnote.StatementExecuted, footnote.StatementRefused, footnote.StatementFailed, footnote.StatementTimedOut,
}

// statementBounds checks the statements that the client reports.
func statementBounds(a tool.Answer) error {
	if len(a.Statements) > maxStatements {
		return footnote.Errorf(footnote.TooLarge,
			"The answer to the call %.100q has %d statements; at most %d are allowed.",
			a.CallID, len(a.Statements), maxStatements)
	}
	size := 0
	for _, st := range a.Statements {
		size += len(st.SQL)
		switch {
		case st.SQL == "":
			return footnote.Invalidf("A statement of the call %.100q is empty.", a.CallID)
		case len(st.SQL) > maxSQL:
			return sqlTooLong(a, len(st.SQL))
		case size > maxStatementBytes:
			return footnote.Errorf(footnote.TooLarge,
				"The statements of the call %.100q have more than %d bytes.", a.CallID, maxStatementBytes)
		case !slices.Contains(clientOutcomes, st.Outcome):
			return footnote.Invalidf("The outcome of a statement of the call %.100q is not one of %s.",
				a.CallID, strings.Join(clientOutcomes, ", "))
		case badRowCount(st.RowCount):
			return rowCountWrong(a)
		}
	}
	return nil
}

// rowBounds checks the rows of an answer.
func rowBounds(a tool.Answer) error {
	if a.Rows == nil {
		return nil
	}
	columns, rows := len(a.Rows.Columns), len(a.Rows.Rows)
	if columns > maxColumns || rows > maxRows {
		return footnote.Errorf(footnote.TooLarge, "The result of the call %.100q has %d rows of %d columns; "+
			"at most %d of %d are allowed. Send the first rows, and row_count.", a.CallID, rows, columns, maxRows,
			maxColumns)
	}
	for _, c := range a.Rows.Columns {
		if len(c.Name) > maxColumnName || len(c.Kind) > maxKind {
			return footnote.Errorf(footnote.TooLarge, "The name of a column of the call %.100q is too long.", a.CallID)
		}
	}
	size := 0
	var row []byte
	for _, cells := range a.Rows.Rows {
		if len(cells) != columns {
			return footnote.Invalidf("A row of the call %.100q has %d cells for %d columns.",
				a.CallID, len(cells), columns)
		}
		row = footnote.AppendRow(row[:0], cells)
		if size += len(row) + 1; size > maxRowBytes {
			return footnote.Errorf(footnote.TooLarge,
				"The rows of the call %.100q have more than %d bytes. Send the first rows, and row_count.", a.CallID,
				maxRowBytes)
		}
	}
	return nil
}
