package httpapi

import (
	"net/http"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/strictjson"
)

// querySource handles POST /api/sources/{name}/query: it runs a user's own statement. With a conversation,
// the statement and its result are added to the log, and the result has an id.
func (s *Server) querySource(w http.ResponseWriter, r *http.Request) error {
	body, err := s.Body(w, r)
	if err != nil {
		return err
	}
	var in struct {
		SQL          string `json:"sql"`
		Conversation string `json:"conversation"`
		Replaces     string `json:"replaces"` // result id (r3) whose statement was edited
	}
	if err := strictjson.Closed(body, &in); err != nil {
		return err
	}
	switch {
	case strings.TrimSpace(in.SQL) == "":
		return footnote.Errorf(footnote.InvalidRequest, "The sql is empty.")
	case in.Replaces != "" && in.Conversation == "":
		return footnote.Errorf(footnote.InvalidRequest, "replaces names a result of a conversation; name the conversation, too.")
	}
	if in.Conversation != "" {
		if _, err := s.conversation(r, in.Conversation); err != nil {
			return err
		}
	}
	p, name := PrincipalOf(r.Context()), r.PathValue("name")
	ctx, ran := footnote.WithStatements(r.Context())
	res, took, err := s.opts.Data.Query(ctx, p, name, in.SQL)
	if err != nil {
		return err
	}
	out := queryResult{table: rowsOf(res), SQL: in.SQL, RowCount: len(res.Rows), Truncated: res.Truncated, Millis: took.Milliseconds()}
	if in.Conversation != "" {
		seq, noted, err := s.opts.Engine.Note(r.Context(), p, in.Conversation, footnote.QueryRun{
			Result: footnote.StoredResult{Source: name, SQL: in.SQL}, Replaces: in.Replaces, Millis: out.Millis, Tables: tablesOf(ran),
		}, &res)
		if err != nil {
			return err
		}
		if run, ok := noted.(footnote.QueryRun); ok {
			out.ID, out.Seq = in.Conversation+"."+run.Result.ID, seq
		}
	}
	return writeValue(w, http.StatusOK, map[string]any{"result": out})
}

// tablesOf returns the tables that the newest statement reads.
func tablesOf(ran *footnote.Statements) []string {
	list := ran.All()
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1].Tables
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
