package httpapi

import (
	"net/http"
	"strings"

	"github.com/footnotehq/footnote"
)

// ranHere handles POST /api/conversations/{id}/queries: a user's statement that ran in the browser, on files that only
// the browser has. The rows stay in the browser. The log records the statement, the columns and the number of rows.
func (s *Server) ranHere(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		SQL      string            `json:"sql"`
		Replaces string            `json:"replaces"`
		Columns  []footnote.Column `json:"columns"`
		RowCount int               `json:"row_count"`
		Millis   int64             `json:"ms"`
	}
	if err := s.Read(w, r, 1, &in); err != nil {
		return err
	}
	switch {
	case strings.TrimSpace(in.SQL) == "" || in.Replaces == "":
		return footnote.Invalidf(
			"A query that ran in the browser needs sql, and replaces: the id of the result whose statement was edited.")
	case in.RowCount < 0 || in.Millis < 0:
		return footnote.Invalidf("row_count and ms must not be negative.")
	case len(in.Columns) > maxColumns:
		return footnote.Errorf(footnote.TooLarge, "A query can have at most %d columns.", maxColumns)
	}
	q := OwnQuery{Statement: footnote.Statement{
		SQL: in.SQL, Source: "client", Outcome: footnote.StatementExecuted, RowCount: in.RowCount, InBrowser: true,
	}}
	for _, c := range in.Columns {
		q.Statement.Columns = append(q.Statement.Columns, c.Name)
	}
	return s.reported(r.Context(), &q, func() error {
		id := r.PathValue("id")
		if _, err := s.conversation(r, id); err != nil {
			return err
		}
		q.Conversation = id
		result, seq, err := s.storeQuery(r, &q, footnote.QueryRun{
			Result:   footnote.StoredResult{Source: "client", SQL: in.SQL, RowCount: in.RowCount},
			Replaces: in.Replaces, Millis: in.Millis,
		}, footnote.Result{Columns: in.Columns, Truncated: in.RowCount > 0})
		return reply(w, map[string]any{"id": result, "seq": seq}, err)
	})
}
