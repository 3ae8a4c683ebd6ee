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
		return footnote.Errorf(footnote.InvalidRequest, "The sql is empty.")
	case in.Replaces != "" && in.Conversation == "":
		return footnote.Errorf(footnote.InvalidRequest,
			"replaces names a result of a conversation; also set conversation.")
	}
	q := OwnQuery{Statement: footnote.Statement{SQL: in.SQL, Source: r.PathValue("name")}}
	return s.reported(r.Context(), &q, func() error { return s.runOwn(w, r, in, &q) })
}

// ownQuery is the body of querySource.
type ownQuery struct {
	SQL          string `json:"sql"`
	Conversation string `json:"conversation"`
	Replaces     string `json:"replaces"` // result id (r3) whose statement was edited
}

// runOwn runs the statement of a request that has been checked.
func (s *Server) runOwn(w http.ResponseWriter, r *http.Request, in ownQuery, q *OwnQuery) error {
	if in.Conversation != "" {
		if _, err := s.conversation(r, in.Conversation); err != nil {
			return err
		}
		q.Conversation = in.Conversation
	}
	p, name := PrincipalOf(r.Context()), r.PathValue("name")
	var ctx context.Context
	ctx, q.ran = footnote.WithStatements(r.Context())
	res, took, err := s.opts.Data.Query(ctx, p, name, in.SQL)
	if err != nil {
		return err
	}
	out := queryResult{
		table: rowsOf(res), SQL: in.SQL, RowCount: len(res.Rows), Truncated: res.Truncated, Millis: took.Milliseconds(),
	}
	if in.Conversation != "" {
		seq, noted, err := s.opts.Engine.Append(r.Context(), p, in.Conversation, footnote.QueryRun{
			Result:   footnote.StoredResult{Source: name, SQL: in.SQL},
			Replaces: in.Replaces, Millis: out.Millis, Tables: q.statement().Tables,
		}, &res)
		if err != nil {
			return err
		}
		q.stored = true
		if run, ok := noted.(footnote.QueryRun); ok {
			out.ID, out.Seq = in.Conversation+"."+run.Result.ID, seq
		}
	}
	return protocol.WriteValue(w, http.StatusOK, map[string]any{"result": out})
}

// OwnQuery describes a user's own statement that is not in the log.
type OwnQuery struct {
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

// queryResult is the result of a user's statement.
type queryResult struct {
	ID  string `json:"id,omitempty"` // in a conversation: the id for GET /api/results
	Seq int64  `json:"seq,omitempty"`
	SQL string `json:"sql"`
	table
	RowCount  int   `json:"row_count"`
	Truncated bool  `json:"truncated"`
	Millis    int64 `json:"ms"`
}
