package httpapi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/protocol"
	"github.com/footnotehq/footnote/tool"
)

// Limits of a turn.
const (
	maxSources = 32
	maxAnswers = 64
	maxRows    = 10_000
	maxColumns = 1_000
)

// accepted is the response to an accepted turn: where its events begin.
type accepted struct {
	Conversation string `json:"conversation"`
	Run          string `json:"run"`
	After        int64  `json:"after"`
	Duplicate    bool   `json:"duplicate,omitempty"`
}

// submit submits a turn of the app and responds once its first event is stored.
func (s *Server) submit(w http.ResponseWriter, r *http.Request, t agent.Turn) error {
	t.Protocol, t.OnDisconnect = "app", s.opts.StoredOnDisconnect
	ticket, err := s.Submit(w, r, t)
	if err != nil {
		return err
	}
	rd := s.opts.Engine.Subscribe(ticket)
	defer rd.Close()
	if !ticket.Duplicate {
		if _, err := rd.Next(r.Context()); err != nil {
			return shutdownError(err)
		}
	}
	return protocol.WriteValue(w, http.StatusAccepted, accepted{
		ticket.Conversation, ticket.Run, ticket.After, ticket.Duplicate,
	})
}

// openConversation handles POST /api/conversations: the first question creates the conversation.
func (s *Server) openConversation(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Text      string       `json:"text"`
		Assistant string       `json:"assistant"`
		Sources   []string     `json:"sources"`
		Tier      string       `json:"tier"`
		Context   givenContext `json:"context"`
		ClientID  string       `json:"client_id"`
	}
	if err := s.Read(w, r, 1, &in); err != nil {
		return err
	}
	if len(in.Sources) > maxSources {
		return footnote.Invalidf("A conversation can have at most %d sources.", maxSources)
	}
	return s.submit(w, r, agent.Turn{
		Text: in.Text, Assistant: in.Assistant, Sources: in.Sources, Tier: in.Tier, Context: in.Context.text,
		Where: in.Context.where, ClientID: in.ClientID,
	})
}

// givenContext accompanies a message: more text for the model, or what the user is looking at, such as
// {"symbol":"EURUSD","timeframe":"1h"} for a chart.
type givenContext struct {
	text  string
	where json.RawMessage
}

// UnmarshalJSON accepts a string or an object.
func (c *givenContext) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '{' {
		c.where = bytes.Clone(data)
		return nil
	}
	return json.Unmarshal(data, &c.text)
}

func (c givenContext) absent() bool { return c.text == "" && c.where == nil }

// givenAnswer is the result of a tool that the browser ran. Rows holds the rows that the model may see, which
// can be fewer than row_count.
type givenAnswer struct {
	CallID    string            `json:"call_id"`
	Content   string            `json:"content"` // optional; if it is empty, the model reads the rows
	IsError   bool              `json:"is_error"`
	Columns   []footnote.Column `json:"columns"`
	Rows      json.RawMessage   `json:"rows"`
	RowCount  int               `json:"row_count"`
	Truncated bool              `json:"truncated"`
	SQL       string            `json:"sql"`
	// Statements lists what the browser tried to run for the call. It is nil for pages that do not report it.
	Statements []givenStatement `json:"statements"`
}

// givenStatement reports the outcome of a statement in the browser.
type givenStatement struct {
	SQL      string `json:"sql"`
	Outcome  string `json:"outcome"`
	RowCount int    `json:"row_count"`
}

type givenApproval struct {
	CallID     string `json:"call_id"`
	ApprovalID string `json:"approval_id"`
	Approved   bool   `json:"approved"`
	Reason     string `json:"reason"`
	Always     bool   `json:"always"`
}

type givenEdit struct {
	Seq  int64  `json:"seq"` // of the message to replace
	Text string `json:"text"`
}

// givenTurn is the body of POST /api/conversations/{id}/turns: exactly one kind of turn. A tier, from then on, may come
// with those that ask.
type givenTurn struct {
	Text      string          `json:"text"`
	Tier      string          `json:"tier"`
	Context   givenContext    `json:"context"`
	Answers   []givenAnswer   `json:"answers"`
	Approvals []givenApproval `json:"approvals"`

	Edit       *givenEdit `json:"edit"`
	Regenerate bool       `json:"regenerate"`
}

// takeTurn handles POST /api/conversations/{id}/turns.
func (s *Server) takeTurn(w http.ResponseWriter, r *http.Request, head footnote.Stream) error {
	var in givenTurn
	if err := s.Read(w, r, protocol.LargerBody, &in); err != nil {
		return err
	}
	t, err := in.turn()
	if err != nil {
		return err
	}
	t.Conversation = head.ID
	return s.submit(w, r, t)
}

// turn converts the request to a turn for the engine. Exactly one kind must be set.
func (g givenTurn) turn() (agent.Turn, error) {
	kinds := 0
	for _, there := range []bool{g.Text != "", g.Answers != nil, g.Approvals != nil, g.Edit != nil, g.Regenerate} {
		if there {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		return agent.Turn{},
			footnote.Invalidf("A turn has exactly one of text, answers, approvals, edit and regenerate.")
	case !g.Context.absent() && g.Text == "":
		return agent.Turn{}, footnote.Invalidf("Only a turn with text may have a context.")
	case g.Tier != "" && (g.Answers != nil || g.Approvals != nil):
		return agent.Turn{}, footnote.Invalidf("Answers and approvals cannot change the tier.")
	case g.Edit != nil && (g.Edit.Seq < 1 || g.Edit.Text == ""):
		return agent.Turn{},
			footnote.Invalidf("An edit needs the seq of a message and its new text.")
	case g.Edit != nil:
		return agent.Turn{Edit: g.Edit.Seq, Text: g.Edit.Text, Tier: g.Tier}, nil
	case g.Regenerate:
		return agent.Turn{Regenerate: true, Tier: g.Tier}, nil
	case g.Text != "":
		return agent.Turn{Text: g.Text, Tier: g.Tier, Context: g.Context.text, Where: g.Context.where}, nil
	default:
		return g.answered()
	}
}

// answered converts answers or approvals to a turn.
func (g givenTurn) answered() (t agent.Turn, err error) {
	if n := len(g.Answers) + len(g.Approvals); n == 0 || n > maxAnswers {
		return t, footnote.Invalidf("A turn must have 1 to %d answers or approvals.", maxAnswers)
	}
	for _, a := range g.Answers {
		answer, err := a.answer()
		if err != nil {
			return t, err
		}
		t.Answers = append(t.Answers, answer)
	}
	for _, a := range g.Approvals {
		if a.CallID == "" || len(a.Reason) > 2000 {
			return t, footnote.Invalidf("An approval needs a call_id, and its reason has at most 2000 bytes.")
		}
		t.Approvals = append(t.Approvals, agent.Approval{
			CallID: a.CallID, ID: a.ApprovalID, Approved: a.Approved, Reason: a.Reason, Always: a.Always,
		})
	}
	return t, nil
}

// answer converts the result to the engine's type.
func (g givenAnswer) answer() (tool.Answer, error) {
	if g.CallID == "" {
		return tool.Answer{}, footnote.Invalidf("An answer needs a call_id.")
	}
	a := tool.Answer{CallID: g.CallID, Content: g.Content, IsError: g.IsError, RowCount: g.RowCount, SQL: g.SQL}
	a.Statements = g.statements()
	if g.Columns == nil {
		if g.hasRows() || g.RowCount != 0 || g.Content == "" {
			return a, footnote.Invalidf("An answer needs content, or columns and rows.")
		}
		return a, nil
	}
	if g.RowCount < 0 || g.IsError {
		return a, footnote.Invalidf("An answer with rows must not be an error, and its row_count must not be negative.")
	}
	rows, err := g.rows()
	if err != nil {
		return a, err
	}
	a.Rows = &footnote.Result{Columns: g.Columns, Rows: rows, Truncated: g.Truncated || g.RowCount > len(rows)}
	return a, nil
}

// statements returns nil only when the browser sent no list.
func (g givenAnswer) statements() []footnote.Statement {
	if g.Statements == nil {
		return nil
	}
	list := make([]footnote.Statement, len(g.Statements))
	for i, st := range g.Statements {
		list[i] = footnote.Statement{SQL: st.SQL, Outcome: st.Outcome, RowCount: st.RowCount}
	}
	return list
}

// hasRows reports whether the browser sent a list of rows, even an empty one, rather than null or nothing.
func (g givenAnswer) hasRows() bool { return len(g.Rows) > 0 && string(g.Rows) != "null" }

// rows decodes the cells, which must be scalar values.
func (g givenAnswer) rows() ([][]any, error) {
	if !g.hasRows() {
		return nil, nil
	}
	rows, err := footnote.DecodeRows(g.Rows, g.Columns)
	if err != nil {
		return nil, footnote.Wrapf(footnote.InvalidRequest, err, "The rows must be an array of arrays.")
	}
	if len(rows) > maxRows || len(g.Columns) > maxColumns {
		return nil, footnote.Errorf(footnote.TooLarge, "An answer can have at most %d rows and %d columns.", maxRows,
			maxColumns)
	}
	for i, row := range rows { // the engine checks the number of cells
		if slices.ContainsFunc(row, protocol.Nested) {
			return nil, footnote.Invalidf("Row %d has a cell that is an array or object; send JSON as text.", i)
		}
	}
	return rows, nil
}
