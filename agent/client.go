package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/reply"
	"github.com/footnotehq/footnote/internal/visible"
)

// Bounds of what a client may bring in one turn.
const (
	mostAnswers   = 100
	mostCallID    = 256
	mostReason    = 2_000   // bytes of the words with a decision
	mostSQL       = 100_000 // bytes of the statement with a result
	mostColumns   = 2_000   // of a result
	mostRows      = 10_000  // as many as a query of ours may give
	mostRowBytes  = 5 << 20 // of a result's rows, as they are stored
	mostTold      = 50_000  // bytes that the model reads of an answer in words
	mostNamed     = 10_000  // bytes of a column's name
	mostRowNumber = 1_000_000_000_000
)

// bounds says what is wrong with the answers and decisions of a turn, whatever the
// conversation is.
func (t Turn) bounds() error {
	if len(t.Answers)+len(t.Approvals) > mostAnswers {
		return footnote.Errorf(footnote.TooLarge, "A turn brings at most %d answers.", mostAnswers)
	}
	if t.Edit != 0 || t.Regenerate || t.Text != "" {
		return footnote.Errorf(footnote.InvalidRequest, "A turn brings answers or a message, not both.")
	}
	for _, a := range t.Approvals {
		if len(a.CallID) > mostCallID || len(a.Reason) > mostReason {
			return footnote.Errorf(footnote.TooLarge, "A reason has at most %d bytes.", mostReason)
		}
	}
	for _, a := range t.Answers {
		if err := a.bounds(); err != nil {
			return err
		}
	}
	return nil
}

func (a Answer) bounds() error {
	switch {
	case len(a.CallID) > mostCallID:
		return footnote.Errorf(footnote.TooLarge, "A call's id has at most %d bytes.", mostCallID)
	case len(a.Content) > mostContent:
		return footnote.Errorf(footnote.TooLarge, "The answer to the call %.100q has %d bytes; at most %d are taken.", a.CallID, len(a.Content), mostContent)
	case len(a.SQL) > mostSQL:
		return footnote.Errorf(footnote.TooLarge, "The statement with the call %.100q has %d bytes; at most %d are taken.", a.CallID, len(a.SQL), mostSQL)
	case a.RowCount < 0 || a.RowCount > mostRowNumber:
		return footnote.Errorf(footnote.InvalidRequest, "The row count of the call %.100q cannot be right.", a.CallID)
	case a.Rows == nil:
		return nil
	case len(a.Rows.Columns) > mostColumns || len(a.Rows.Rows) > mostRows:
		return footnote.Errorf(footnote.TooLarge, "The result of the call %.100q has %d rows of %d columns; at most %d of %d are taken. Send the first rows, and row_count.",
			a.CallID, len(a.Rows.Rows), len(a.Rows.Columns), mostRows, mostColumns)
	}
	for _, c := range a.Rows.Columns {
		if len(c.Name) > mostNamed || len(c.Kind) > 40 {
			return footnote.Errorf(footnote.TooLarge, "A column of the call %.100q has too long a name.", a.CallID)
		}
	}
	size := 0
	var row []byte
	for _, cells := range a.Rows.Rows {
		if len(cells) != len(a.Rows.Columns) {
			return footnote.Errorf(footnote.InvalidRequest, "A row of the call %.100q has %d cells for %d columns.", a.CallID, len(cells), len(a.Rows.Columns))
		}
		row = footnote.AppendRow(row[:0], cells)
		if size += len(row) + 1; size > mostRowBytes {
			return footnote.Errorf(footnote.TooLarge, "The rows of the call %.100q have more than %d bytes. Send the first rows, and row_count.", a.CallID, mostRowBytes)
		}
	}
	return nil
}

// told names what a client said, so that the same answer is known again.
func (a Answer) told() footnote.Digest {
	said := struct {
		Content  string            `json:"content"`
		IsError  bool              `json:"is_error"`
		RowCount int               `json:"row_count"`
		SQL      string            `json:"sql"`
		Cut      bool              `json:"cut"`
		Columns  []footnote.Column `json:"columns"`
		Rows     json.RawMessage   `json:"rows"`
	}{Content: strings.ToValidUTF8(a.Content, "\uFFFD"), IsError: a.IsError, SQL: a.SQL}
	if a.Rows != nil {
		said.RowCount, said.Cut, said.Columns = a.count(), a.Rows.Truncated, a.Rows.Columns
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

// count is how many rows the query gave.
func (a Answer) count() int { return max(a.RowCount, len(a.Rows.Rows)) }

// result is the answer to a call as the log keeps it, with the rows' chunks. The
// model reads rows as it reads those of our own queries, and no others than these.
func (a Answer) result(c openCall) (footnote.ToolResult, map[footnote.Digest][]byte) {
	res := footnote.ToolResult{CallID: a.CallID, Name: c.Name, IsError: a.IsError, By: "client", Told: a.told(), Statements: a.statements(c)}
	if o := a.output; o != nil {
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
	sql := a.SQL
	if sql == "" {
		sql = sqlOf(c.Input)
	}
	rows := *a.Rows
	var blobs map[footnote.Digest][]byte
	res.Result, blobs = storeRows(resultID(c), "client", sql, rows)
	res.Result.RowCount = a.count()
	res.Result.Truncated = rows.Truncated || a.count() > len(rows.Rows)
	cut := ""
	if rows.Truncated && a.count() == len(rows.Rows) { // otherwise it is said that there are more
		cut = "The query gave more rows than were read. Totals over these rows would be wrong; aggregate in the query."
	}
	res.Content = visible.Text(reply.Table{ID: res.Result.ID, Result: rows, Count: a.count(), Cut: cut}.JSON())
	return res, blobs
}

// statements are what the page says of the statement that it ran for a call. Which
// tables it reads, only the page's engine knows.
func (a Answer) statements(c openCall) []footnote.Statement {
	st := footnote.Statement{SQL: cmp.Or(a.SQL, sqlOf(c.Input)), Source: "client", Outcome: footnote.StatementExecuted, InBrowser: true}
	if st.SQL == "" || len(st.SQL) > mostSQL {
		return nil
	}
	switch {
	case a.IsError:
		st.Outcome = footnote.StatementFailed
	case a.Rows != nil:
		st.RowCount, st.Columns = a.count(), columnNames(a.Rows.Columns)
		if a.Rows.Truncated {
			st.Outcome = footnote.StatementTruncated
		}
	}
	return []footnote.Statement{st}
}

// given are the statements of a call that nobody will answer any more, and which may
// have run: in a page, or in a process that ended.
func given(c openCall) []footnote.Statement {
	list := notRun(c)
	for i := range list {
		list[i].Outcome = footnote.StatementCancelled
	}
	return list
}

// shortened is the text of a client's answer as the model reads it.
func shortened(s string) string {
	s = visible.Text(strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) <= mostTold {
		return s
	}
	return strings.ToValidUTF8(s[:mostTold], "") + fmt.Sprintf("\n… (truncated: these are the first %d of %d bytes)", mostTold, len(s))
}

// sqlOf is the statement of a query call, or empty.
func sqlOf(input json.RawMessage) string {
	var in struct {
		SQL string `json:"sql"`
	}
	_ = json.Unmarshal(input, &in) // not a query
	if len(in.SQL) > mostSQL {
		return ""
	}
	return in.SQL
}

// answers turns the answers of a turn, checked before, into events. r.mu must be
// held.
func (r *run) answers(t Turn) (map[footnote.Digest][]byte, []footnote.Body) {
	calls := map[string]openCall{}
	for _, c := range r.s.open() {
		calls[c.ID] = c
	}
	var bodies []footnote.Body
	blobs := map[footnote.Digest][]byte{}
	for _, a := range t.Answers {
		res, chunks := a.result(calls[a.CallID])
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

// decided turns the decisions of a turn into events. One that holds for good is
// one about every call of the tool that still waits, too.
func (r *run) decided(t Turn) []footnote.Body {
	var bodies []footnote.Body
	done := map[string]bool{}
	give := func(a Approval, tool string) {
		done[a.CallID] = true
		given := footnote.ApprovalGiven{
			ApprovalID: approvalID(a.CallID), CallID: a.CallID, Approved: a.Approved, Reason: a.Reason, User: t.Principal.User,
		}
		if a.Always && a.Approved {
			given.Always, given.Tool = true, tool
		}
		bodies = append(bodies, given)
	}
	for _, a := range t.Approvals {
		done[a.CallID] = true // decided in their own words, wherever they stand
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

// toolName is the proper name of the tool of an open call.
func (r *run) toolName(id string) string {
	for _, c := range r.s.calls {
		if c.ID == id {
			_, spec := r.tool(&c)
			return spec.Name
		}
	}
	return ""
}

// check sorts the answers of a turn against the log: those already given in the
// same words are dropped, anything that does not fit is refused. Only calls of
// client tools can be answered: what a tool of ours gave is for nobody to say.
func (s *state) check(a *Assistant, t Turn) (fresh Turn, err error) {
	open := map[string]openCall{}
	for _, c := range s.open() {
		open[c.ID] = c
	}
	told := map[string]footnote.Digest{}
	for _, an := range t.Answers {
		digest := an.told()
		if before, twice := told[an.CallID]; twice {
			if before != digest {
				return Turn{}, answeredOtherwise(an.CallID)
			}
			continue
		}
		told[an.CallID] = digest
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

// repeated is nil for an answer that a call has got in the same words before.
func repeated(given footnote.ToolResult, a Answer, digest footnote.Digest) error {
	switch {
	case given.By != "client":
		return callClosed(a.CallID)
	case given.Told == digest, given.Told == "" && given.Content == a.Content && given.IsError == a.IsError:
		return nil
	default:
		return answeredOtherwise(a.CallID)
	}
}

// answerable says why a call without a result is not for the client to answer.
func (s *state) answerable(a *Assistant, id string, open map[string]openCall) error {
	c, isOpen := open[id]
	decision, decided := s.approvals[id]
	switch {
	case !isOpen && s.ids[id], isOpen && s.run == "", decided && !decision.Approved:
		return callClosed(id)
	case !isOpen, a.side(c.Name) != Client:
		return footnote.Errorf(footnote.CallUnknown, "No call %.100q waits for an answer in this conversation.", id)
	case s.asked[id] && !decided:
		return footnote.Errorf(footnote.Conflict, "The call %.100q waits for an approval first.", id)
	default:
		return nil
	}
}

// decisions is check for approvals.
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
			return nil, footnote.Errorf(footnote.CallAnswered, "The call %.100q has been decided already, differently.", a.CallID)
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
	return footnote.Errorf(footnote.CallClosed, "The call %.100q is closed: its time was over, or the conversation went on without it.", id)
}
