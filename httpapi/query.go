package httpapi

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/protocol"
)

// querySource handles POST /api/sources/{name}/query: it runs a user's own statement. With a conversation,
// the statement and its result are added to the log, and the result has an id.
func (s *Server) querySource(w http.ResponseWriter, r *http.Request) error {
	var in ownQuery
	if err := s.Read(w, r, 1, &in); err != nil {
		return err
	}
	switch {
	case strings.TrimSpace(in.SQL) == "":
		return footnote.Invalidf("The sql is empty.")
	case in.Replaces != "" && in.Conversation == "":
		return footnote.Invalidf("replaces names a result of a conversation; also set conversation.")
	}
	out, err := s.runOwn(r, protocol.Query{
		Protocol: "app", Source: r.PathValue("name"), SQL: in.SQL, Conversation: in.Conversation, Replaces: in.Replaces,
	})
	return reply(w, map[string]any{"result": out}, err)
}

// ownQuery is the body of querySource.
type ownQuery struct {
	SQL          string `json:"sql"`
	Conversation string `json:"conversation"`
	Replaces     string `json:"replaces"` // result id (r3) whose statement was edited
}

// runOwn runs a statement that has been checked, and reports it.
func (s *Server) runOwn(r *http.Request, in protocol.Query) (out protocol.QueryResult, err error) {
	q := OwnQuery{Protocol: in.Protocol, Statement: footnote.Statement{SQL: in.SQL, Source: in.Source}}
	err = s.reported(r.Context(), &q, func() (err error) {
		out, err = s.resultOfOwn(r, in, &q)
		return err
	})
	return out, err
}

// resultOfOwn runs a statement, and stores its result if it names a conversation.
func (s *Server) resultOfOwn(r *http.Request, in protocol.Query, q *OwnQuery) (out protocol.QueryResult, err error) {
	if in.Conversation != "" {
		if _, err := s.conversation(r, in.Conversation); err != nil {
			return out, err
		}
		q.Conversation = in.Conversation
	}
	var ctx context.Context
	ctx, q.ran = footnote.WithStatements(r.Context())
	res, took, err := s.opts.Data.Query(ctx, PrincipalOf(r.Context()), in.Source, in.SQL, in.Checked)
	if err != nil {
		return out, err
	}
	out = newQueryResult(in.SQL, res, took)
	run := footnote.QueryRun{
		Result: footnote.StoredResult{Source: in.Source, SQL: in.SQL}, Replaces: in.Replaces,
		Millis: out.Millis, Tables: q.statement().Tables,
	}
	if in.Checked != nil {
		run.Result.Verified = in.Checked.Verified
	}
	switch {
	case in.Conversation != "":
		out.ID, out.Seq, err = s.storeQuery(r, q, run, res)
	case in.Keep && len(s.Assistants(r)) > 0: // without an assistant there is no conversation
		run.Protocol, run.RequestID = q.Protocol, RequestIDOf(r.Context())
		q.Conversation, run, err = s.opts.Engine.Record(r.Context(), PrincipalOf(r.Context()), in.Client, run, &res)
		q.stored = err == nil
		out.ID = q.Conversation + "." + run.Result.ID
	}
	out.Stored = q.Conversation
	return out, err
}

// storeQuery adds a user's statement and its result to the log of its conversation. It returns the id of the result for
// GET /api/results, and the sequence of the event.
func (s *Server) storeQuery(r *http.Request, q *OwnQuery, run footnote.QueryRun,
	res footnote.Result) (id string, seq int64, err error) {
	run.Protocol, run.RequestID = cmp.Or(q.Protocol, "app"), RequestIDOf(r.Context())
	seq, body, err := s.opts.Engine.Append(r.Context(), PrincipalOf(r.Context()), q.Conversation, run, &res)
	if err != nil {
		return "", 0, err
	}
	q.stored = true
	return q.Conversation + "." + body.(footnote.QueryRun).Result.ID, seq, nil
}

// OwnQuery describes a user's own statement that is not in the log.
type OwnQuery struct {
	Protocol     string // empty: that of the app
	Conversation string // empty: none, or not the user's
	Statement    footnote.Statement
	Took         time.Duration
	Err          error // why the user got no result; nil: the user got one

	ran    *footnote.Statements // recorded by the source; nil if the statement has not reached it
	stored bool                 // the statement is in the log
}

// statement returns the statement with its outcome.
func (q *OwnQuery) statement() footnote.Statement {
	st := q.Statement
	if q.ran != nil {
		if list := q.ran.All(); len(list) > 0 {
			st = list[len(list)-1]
			st.Source, st.Outcome = q.Statement.Source, cmp.Or(st.Outcome, footnote.StatementFailed)
		}
	}
	st.Outcome = cmp.Or(st.Outcome, footnote.StatementNotRun)
	return st
}

var errBroke = errors.New("the handler panicked")

// reported calls do, and then reports the user's statement unless it is in the log, even if do panics.
func (s *Server) reported(ctx context.Context, q *OwnQuery, do func() error) error {
	if s.opts.Queried == nil {
		return do()
	}
	begun := s.opts.Now()
	q.Err = errBroke
	defer func() {
		if !q.stored {
			q.Took, q.Statement = s.opts.Now().Sub(begun), q.statement()
			s.opts.Queried(ctx, *q)
		}
	}()
	q.Err = do()
	return q.Err
}

// newQueryResult returns the result of a statement that is not in the log.
func newQueryResult(sql string, res footnote.Result, took time.Duration) protocol.QueryResult {
	t := rowsOf(res)
	return protocol.QueryResult{
		SQL: sql, Columns: t.Columns, Rows: t.Rows, RowCount: len(res.Rows), Truncated: res.Truncated,
		Millis: took.Milliseconds(),
	}
}
