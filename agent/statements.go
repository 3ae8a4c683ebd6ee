package agent

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/tool"
)

// sqlOf returns the statement in a call's input, or "" when there is none or it is longer than maxSQL.
func sqlOf(input json.RawMessage) string {
	var in struct {
		SQL string `json:"sql"`
	}
	_ = json.Unmarshal(input, &in) // other inputs have no statement
	if len(in.SQL) > maxSQL {
		return ""
	}
	return in.SQL
}

// named returns a call with aliases of arguments replaced, and with its source. a may be nil.
func (s *state) named(a *Assistant, c openCall) openCall {
	if a == nil {
		return c
	}
	for _, t := range a.tools() {
		if args, ok := t.Spec().Aliases[c.Name]; ok {
			c.Input = renameArguments(c.Input, args)
			break
		}
	}
	if a.side(c.Name) == tool.Server {
		c.source = s.sourceOf(c)
	}
	return c
}

// sourceOf returns the source that a call names. A call that names none means the only source of the conversation.
func (s *state) sourceOf(c openCall) string {
	var in struct {
		Source string `json:"source"`
	}
	_ = json.Unmarshal(c.Input, &in) // other inputs name no source
	for _, name := range s.opened.Sources {
		if strings.EqualFold(name, in.Source) || in.Source == "" && len(s.opened.Sources) == 1 {
			return name
		}
	}
	return ""
}

// statementsNotRun returns the statement in the input of a call that was not made, if it has one.
func statementsNotRun(c openCall) []footnote.Statement {
	sql := sqlOf(c.Input)
	if sql == "" {
		return nil
	}
	return []footnote.Statement{{SQL: sql, Source: c.source, Outcome: footnote.StatementNotRun}}
}

// statementsMaybeRun returns the statement of a call that may have run in a browser or in a process that died.
func statementsMaybeRun(c openCall, outcome string) []footnote.Statement {
	list := statementsNotRun(c)
	for i := range list {
		list[i].Outcome = outcome
	}
	return list
}

// abandon returns the statements of an open call that will get no result. Their outcome is the given one, unless the
// log shows that the call was never made. a may be nil.
func (s *state) abandon(a *Assistant, c openCall, outcome string) []footnote.Statement {
	// A run parks only after its server-side calls have results. One that is still open was approved while the run
	// waited for other calls.
	queued := s.parked && a != nil && a.side(c.Name) == tool.Server
	c = s.named(a, c)
	if s.unapproved(c.ID) || queued {
		return statementsNotRun(c)
	}
	return statementsMaybeRun(c, outcome)
}

// unapproved reports whether a person was asked to approve a call and has not done so.
func (s *state) unapproved(call string) bool { return s.asked[call] && !s.approvals[call].Approved }

// statements returns the statements of a call that was made.
func (c *execution) statements() []footnote.Statement {
	ran := c.ran.All()
	for i := range ran {
		if ran[i].Outcome == "" {
			ran[i].Outcome = cmp.Or(c.broke, footnote.StatementFailed)
		}
		if ran[i].Source == "" {
			ran[i].Source = cmp.Or(c.out.Source, c.call.source)
		}
		if c.out.Rows != nil && strings.HasPrefix(c.out.SQL, ran[i].SQL) {
			ran[i].SQL = c.out.SQL // with its arguments
		}
	}
	switch {
	case len(ran) > 0:
		return ran
	case c.out.Rows == nil || c.out.SQL == "": // the tool records no statements, or ran none
		// A fault is an outcome.
		return statementsMaybeRun(c.call, cmp.Or(c.broke, c.out.Fault, footnote.StatementNotRun))
	}
	st := footnote.Statement{
		SQL: c.out.SQL, Source: c.out.Source, Outcome: footnote.StatementExecuted,
		RowCount: len(c.out.Rows.Rows), Columns: columnNames(c.out.Rows.Columns),
	}
	switch {
	case c.out.CacheHit:
		st.Outcome = footnote.StatementCached
	case c.out.Rows.Truncated:
		st.Outcome = footnote.StatementTruncated
	}
	return []footnote.Statement{st}
}

func columnNames(columns []footnote.Column) []string {
	var list []string
	for _, c := range columns {
		list = append(list, c.Name)
	}
	return list
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

// withRows adds the number of rows and the columns to the statement that returned them.
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
