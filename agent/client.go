package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/reply"
	"github.com/footnotehq/footnote/internal/visible"
	"github.com/footnotehq/footnote/tool"
)

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
	maxRowBytes       = 5 << 20 // of a result's rows, as they are stored
	maxTold           = 50_000  // of a text answer, as the model reads it
	maxColumnName     = 10_000
	maxKind           = 40 // of a column's kind
	maxRowCount       = 1_000_000_000_000
)

// bounds checks the size of a turn's answers and decisions. It does not look at the conversation.
func (t Turn) bounds() error {
	if len(t.Answers)+len(t.Approvals) > maxAnswers {
		return footnote.Errorf(footnote.TooLarge, "A turn brings at most %d answers.", maxAnswers)
	}
	if t.Edit != 0 || t.Regenerate || t.Text != "" {
		return footnote.Errorf(footnote.InvalidRequest, "A turn brings answers or a message, not both.")
	}
	for _, a := range t.Approvals {
		if len(a.CallID) > maxCallID || len(a.Reason) > maxReason {
			return footnote.Errorf(footnote.TooLarge, "A reason has at most %d bytes.", maxReason)
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
		return footnote.Errorf(footnote.TooLarge, "A call's id has at most %d bytes.", maxCallID)
	case len(a.Content) > mostContent:
		return footnote.Errorf(footnote.TooLarge, "The answer to the call %.100q has %d bytes; at most %d are allowed.",
			a.CallID, len(a.Content), mostContent)
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
	return footnote.Errorf(footnote.InvalidRequest, "The row count of the call %.100q cannot be right.", a.CallID)
}

func sqlTooLong(a tool.Answer, n int) error {
	return footnote.Errorf(footnote.TooLarge,
		"The statement with the call %.100q has %d bytes; at most %d are allowed.",
		a.CallID, n, maxSQL)
}

// clientOutcomes lists the outcomes that a client may report for a statement.
var clientOutcomes = []string{
	footnote.StatementExecuted, footnote.StatementRefused, footnote.StatementFailed, footnote.StatementTimedOut,
}

// statementBounds checks what the client reports about its statements.
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
			return footnote.Errorf(footnote.InvalidRequest, "A statement of the call %.100q is empty.", a.CallID)
		case len(st.SQL) > maxSQL:
			return sqlTooLong(a, len(st.SQL))
		case size > maxStatementBytes:
			return footnote.Errorf(footnote.TooLarge,
				"The statements of the call %.100q have more than %d bytes.", a.CallID, maxStatementBytes)
		case !slices.Contains(clientOutcomes, st.Outcome):
			return footnote.Errorf(footnote.InvalidRequest,
				"The outcome of a statement of the call %.100q is not one of %s.",
				a.CallID, strings.Join(clientOutcomes, ", "))
		case badRowCount(st.RowCount):
			return rowCountWrong(a)
		}
	}
	return nil
}

// rowBounds checks the rows that an answer brings.
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
			return footnote.Errorf(footnote.InvalidRequest, "A row of the call %.100q has %d cells for %d columns.",
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

// digest names what a client said, so that a repeated answer is recognised.
func digest(a tool.Answer) footnote.Digest {
	said := struct {
		Content    string               `json:"content"`
		IsError    bool                 `json:"is_error"`
		RowCount   int                  `json:"row_count"`
		SQL        string               `json:"sql"`
		Cut        bool                 `json:"cut"`
		Columns    []footnote.Column    `json:"columns"`
		Rows       json.RawMessage      `json:"rows"`
		Statements []footnote.Statement `json:"statements,omitempty"` // left out, so that stored digests stay valid
	}{Content: strings.ToValidUTF8(a.Content, "\uFFFD"), IsError: a.IsError, SQL: a.SQL, Statements: a.Statements}
	if a.Rows != nil {
		said.RowCount, said.Cut, said.Columns = count(a), a.Rows.Truncated, a.Rows.Columns
		said.Rows = encodeRows(a.Rows.Rows)
	}
	return DigestOf(marshal(said))
}

func encodeRows(rows [][]any) json.RawMessage {
	out := []byte{'['}
	for i, row := range rows {
		if i > 0 {
			out = append(out, ',')
		}
		out = footnote.AppendRow(out, row)
	}
	return append(out, ']')
}

// count returns how many rows the query gave.
func count(a tool.Answer) int { return max(a.RowCount, len(a.Rows.Rows)) }

// result converts the answer to a call into its event and the chunks of its rows. The model reads these rows, and no
// others, in the form of the server's own results.
func result(a tool.Answer, c openCall) (footnote.ToolResult, map[footnote.Digest][]byte) {
	res := footnote.ToolResult{
		CallID: a.CallID, Name: c.Name, IsError: a.IsError, By: "client", Told: digest(a), Statements: statements(a, c),
	}
	if o := a.Accepted; o != nil {
		res.Content, res.IsError, res.Fault = bounded(o.Content), o.IsError, o.Fault
		if len(o.Detail) <= mostDetail && json.Valid(o.Detail) {
			res.Detail = o.Detail
		}
		return res, nil
	}
	if a.Rows == nil || a.IsError {
		res.Content = shortened(a.Content)
		return res, nil
	}
	rows := *a.Rows
	var blobs map[footnote.Digest][]byte
	res.Result, blobs = storeRows(resultID(c), "client", cmp.Or(a.SQL, sqlOf(c.Input)), rows)
	res.Result.RowCount = count(a)
	res.Result.Truncated = rows.Truncated || count(a) > len(rows.Rows)
	cut := ""
	if rows.Truncated && count(a) == len(rows.Rows) { // otherwise the count already says that there are more
		cut = "The query gave more rows than were read. Totals over these rows would be wrong; aggregate in the query."
	}
	res.Content = visible.Text(reply.Table{ID: res.Result.ID, Result: rows, Count: count(a), Cut: cut}.JSON())
	return res, blobs
}

// statements returns what the client reports about the statements of a call. The call's own statement is among them,
// even when the client does not list it. Tables stay empty, because only the client's engine knows them.
func statements(a tool.Answer, c openCall) []footnote.Statement {
	own := cmp.Or(a.SQL, sqlOf(c.Input))
	listed := own == ""
	var list []footnote.Statement
	for _, given := range a.Statements {
		st := footnote.Statement{SQL: given.SQL, Outcome: given.Outcome, RowCount: given.RowCount}
		if st.SQL == own {
			listed = true
			st = withRows(a, st)
		}
		list = append(list, st)
	}
	if !listed {
		list = append(list, unlisted(a, own))
	}
	for i := range list {
		list[i].Source, list[i].InBrowser = "client", true
	}
	return list
}

// withRows adds the answer's rows to the statement that gave them.
func withRows(a tool.Answer, st footnote.Statement) footnote.Statement {
	if a.Rows == nil || a.IsError || st.Outcome != footnote.StatementExecuted {
		return st
	}
	st.RowCount, st.Columns = count(a), columnNames(a.Rows.Columns)
	return st
}

// unlisted returns the call's own statement when the client does not list it: either the client lists no statements at
// all, or it never tried this one.
func unlisted(a tool.Answer, sql string) footnote.Statement {
	outcome := footnote.StatementExecuted
	switch {
	case a.IsError && a.Statements == nil:
		outcome = footnote.StatementFailed
	case a.IsError || a.Rows == nil && a.Statements != nil:
		outcome = footnote.StatementNotRun
	}
	st := withRows(a, footnote.Statement{SQL: sql, Outcome: outcome})
	if outcome == footnote.StatementExecuted && a.Rows != nil && a.Rows.Truncated {
		st.Outcome = footnote.StatementTruncated
	}
	return st
}

// possiblyRun returns the statements of a call, which may have run in a page or in a process that ended.
func possiblyRun(c openCall, outcome string) []footnote.Statement {
	list := notRun(c)
	for i := range list {
		list[i].Outcome = outcome
	}
	return list
}

// abandon returns the statements of an open call that nobody will answer any more. They get the outcome, except when
// the log shows that the call was never made. A may be nil.
func (s *state) abandon(a *Assistant, c openCall, outcome string) []footnote.Statement {
	// A run parks only after its own calls have results, so one that is still open was approved while the run waited
	// for others.
	queued := s.parked && a != nil && a.side(c.Name) == tool.Server
	c = s.named(a, c)
	if s.unapproved(c.ID) || queued {
		return notRun(c)
	}
	return possiblyRun(c, outcome)
}

// unapproved reports whether a person was asked to approve a call and has not done so.
func (s *state) unapproved(call string) bool { return s.asked[call] && !s.approvals[call].Approved }

// shortened returns the text of a client's answer as the model reads it.
func shortened(s string) string {
	s = visible.Text(strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) <= maxTold {
		return s
	}
	return strings.ToValidUTF8(s[:maxTold], "") +
		fmt.Sprintf("\n… (truncated: these are the first %d of %d bytes)", maxTold, len(s))
}

// sqlOf returns the statement in a call's input, or "" when there is none or it is longer than maxSQL.
func sqlOf(input json.RawMessage) string {
	var in struct {
		SQL string `json:"sql"`
	}
	_ = json.Unmarshal(input, &in) // input of another shape has no statement
	if len(in.SQL) > maxSQL {
		return ""
	}
	return in.SQL
}

// answers converts the answers of a turn, which have been checked, into events. r.mu must be held.
func (r *run) answers(t Turn) (map[footnote.Digest][]byte, []footnote.Body) {
	calls := map[string]openCall{}
	for _, c := range r.s.open() {
		calls[c.ID] = r.s.named(r.a, c)
	}
	var bodies []footnote.Body
	blobs := map[footnote.Digest][]byte{}
	for _, a := range t.Answers {
		res, chunks := result(a, calls[a.CallID])
		for d, b := range chunks {
			blobs[d] = b
		}
		if res.Result != nil {
			r.rows[res.Result.ID] = *a.Rows
		}
		bodies = append(bodies, res)
	}
	return blobs, append(bodies, r.decided(t)...)
}

// decided converts the decisions of a turn into events. A decision that always holds also decides every other waiting
// call of the same tool.
func (r *run) decided(t Turn) []footnote.Body {
	var bodies []footnote.Body
	done := map[string]bool{}
	give := func(a Approval, tool string) {
		done[a.CallID] = true
		given := footnote.ApprovalGiven{
			ApprovalID: approvalID(a.CallID), CallID: a.CallID, Approved: a.Approved, Reason: a.Reason,
			User: t.Principal.User,
		}
		if a.Always && a.Approved {
			given.Always, given.Tool = true, tool
		}
		bodies = append(bodies, given)
	}
	for _, a := range t.Approvals {
		done[a.CallID] = true // the turn decides this call itself, here or further down
	}
	for _, a := range t.Approvals {
		tool := r.toolName(a.CallID)
		give(a, tool)
		if !a.Always || !a.Approved {
			continue
		}
		for _, c := range r.s.waiting() {
			if r.s.asked[c.ID] && !done[c.ID] && r.toolName(c.ID) == tool {
				give(Approval{CallID: c.ID, Approved: true}, "")
			}
		}
	}
	return bodies
}

func approvalID(call string) string { return "appr_" + call }

// toolName returns the proper name of an open call's tool.
func (r *run) toolName(id string) string {
	for _, c := range r.s.calls {
		if c.ID == id {
			_, spec := r.tool(&c)
			return spec.Name
		}
	}
	return ""
}

// check compares the answers of a turn with the log. It drops those that were given before in the same words, and
// refuses any that do not fit. Clients answer calls of client tools only.
func (s *state) check(a *Assistant, t Turn) (fresh Turn, err error) {
	open := map[string]openCall{}
	for _, c := range s.open() {
		open[c.ID] = c
	}
	digests := map[string]footnote.Digest{}
	for _, an := range t.Answers {
		digest := digest(an)
		if before, twice := digests[an.CallID]; twice {
			if before != digest {
				return Turn{}, answeredOtherwise(an.CallID)
			}
			continue
		}
		digests[an.CallID] = digest
		if given, ok := s.results[an.CallID]; ok {
			if err := repeated(given, an, digest); err != nil {
				return Turn{}, err
			}
			continue
		}
		if err := s.answerable(a, an.CallID, open); err != nil {
			return Turn{}, err
		}
		fresh.Answers = append(fresh.Answers, an)
	}
	fresh.Principal = t.Principal
	fresh.Approvals, err = s.decisions(open, t.Approvals)
	return fresh, err
}

// repeated returns nil when a call got the same answer before.
func repeated(given footnote.ToolResult, a tool.Answer, digest footnote.Digest) error {
	switch {
	case given.By != "client":
		return callClosed(a.CallID)
	case given.Told == digest, given.Told == "" && given.Content == a.Content && given.IsError == a.IsError:
		return nil
	default:
		return answeredOtherwise(a.CallID)
	}
}

// answerable returns an error when the client may not answer a call that has no result.
func (s *state) answerable(a *Assistant, id string, open map[string]openCall) error {
	c, isOpen := open[id]
	decision, decided := s.approvals[id]
	switch {
	case !isOpen && s.ids[id], isOpen && s.run == "", decided && !decision.Approved:
		return callClosed(id)
	case !isOpen, a.side(c.Name) != tool.Client:
		return footnote.Errorf(footnote.CallUnknown, "No call %.100q waits for an answer in this conversation.",
			id)
	case s.asked[id] && !decided:
		return footnote.Errorf(footnote.Conflict, "The call %.100q waits for an approval first.", id)
	default:
		return nil
	}
}

// decisions does for approvals what check does for answers.
func (s *state) decisions(open map[string]openCall, approvals []Approval) (fresh []Approval, err error) {
	decided := map[string]bool{}
	for id, given := range s.approvals {
		decided[id] = given.Approved
	}
	for _, a := range approvals {
		given, ok := decided[a.CallID]
		_, isOpen := open[a.CallID]
		switch {
		case ok && given == a.Approved:
		case ok:
			return nil, footnote.Errorf(footnote.CallAnswered, "The call %.100q has been decided already, differently.",
				a.CallID)
		case isOpen && s.asked[a.CallID] && s.run != "":
			decided[a.CallID] = a.Approved
			fresh = append(fresh, a)
		case s.asked[a.CallID]:
			return nil, callClosed(a.CallID)
		default:
			return nil, footnote.Errorf(footnote.CallUnknown, "No approval is open for the call %.100q.", a.CallID)
		}
	}
	return fresh, nil
}

func answeredOtherwise(id string) error {
	return footnote.Errorf(footnote.CallAnswered, "The call %.100q has been answered already, differently.", id)
}

func callClosed(id string) error {
	return footnote.Errorf(footnote.CallClosed,
		"The call %.100q is closed: its time was over, or the conversation went on without it.", id)
}
