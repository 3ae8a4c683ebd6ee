package httpapi

import (
	"context"
	"net/http"
	"slices"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/protocol"
)

// Calculations runs statements over stored results of a conversation.
type Calculations interface {
	// Calculate runs one statement. It returns the ids of the results that the statement reads, or InvalidRequest,
	// with the reason, if it is refused or fails.
	Calculate(ctx context.Context, r Results, sql string) (_ footnote.Result, parents []string, _ error)
	// Origins returns where a row (from 0) of a calculated result comes from.
	Origins(ctx context.Context, r Results, of footnote.StoredResult, row int) (Origins, error)
}

// Results are the stored results that a statement may read.
type Results struct {
	Stored []footnote.StoredResult
	Rows   func(ctx context.Context, r footnote.StoredResult) ([][]any, error) // all that are stored
}

// Origins says where a row of a calculated result comes from.
type Origins struct {
	Columns []ColumnOrigin `json:"columns"` // one for each column of the result
	Rows    []RowsOf       `json:"rows"`    // that the row was computed from; empty if that is not known
}

// ColumnOrigin says how a column is computed.
type ColumnOrigin struct {
	Name    string         `json:"name"`
	Formula string         `json:"formula,omitempty"` // as SQL
	Reads   []ResultColumn `json:"reads"`
}

// ResultColumn names a column of a result.
type ResultColumn struct {
	Result string `json:"result"`
	Column string `json:"column"`
}

// RowsOf lists rows of a result, from 0.
type RowsOf struct {
	Result string `json:"result"`
	Rows   []int  `json:"rows"`  // the first 100
	Count  int    `json:"count"` // of all
}

// calculate handles POST /api/conversations/{id}/calculations: it runs a user's own statement over the stored results
// of the conversation, and adds it to the log.
func (s *Server) calculate(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		SQL      string `json:"sql"`
		Replaces string `json:"replaces"` // id of the result (r3) whose statement was edited
	}
	if err := s.Read(w, r, 1, &in); err != nil {
		return err
	}
	q := OwnQuery{Statement: footnote.Statement{SQL: in.SQL}}
	return s.reported(r.Context(), &q, func() error {
		head, err := s.conversation(r, r.PathValue("id"))
		if err != nil {
			return err
		}
		q.Conversation = head.ID
		all, err := s.results(r.Context(), head.ID)
		if err != nil {
			return err
		}
		var ctx context.Context
		ctx, q.ran = footnote.WithStatements(r.Context())
		begun := s.opts.Now()
		res, parents, err := s.opts.Data.Calculate(ctx, s.readable(r, head.ID, all), in.SQL)
		if err != nil {
			return err
		}
		out := newQueryResult(in.SQL, res, s.opts.Now().Sub(begun))
		out.ID, out.Seq, err = s.storeQuery(r, &q, footnote.QueryRun{
			Result:   footnote.StoredResult{SQL: in.SQL, Parents: parents},
			Replaces: in.Replaces, Millis: out.Millis, Tables: parents,
		}, res)
		return reply(w, map[string]any{"result": out}, err)
	})
}

// getOrigins handles GET /api/results/{id}/origins?row=0.
func (s *Server) getOrigins(w http.ResponseWriter, r *http.Request) error {
	stream, of, err := s.result(r, r.PathValue("id"))
	if err != nil {
		return err
	}
	if len(of.Parents) == 0 {
		return footnote.Invalidf("This result was not calculated from other results.")
	}
	row, err := protocol.Number(r.URL.Query(), "row", 0, 0, 1<<31)
	if err != nil {
		return err
	}
	all, err := s.results(r.Context(), stream)
	if err != nil {
		return err
	}
	o, err := s.opts.Data.Origins(r.Context(), s.readable(r, stream, all), of, int(row))
	return reply(w, o, err)
}

// readable returns the results of a conversation that the caller may see.
func (s *Server) readable(r *http.Request, stream string, all []footnote.StoredResult) Results {
	p := PrincipalOf(r.Context())
	return Results{
		Stored: slices.DeleteFunc(slices.Clone(all), func(res footnote.StoredResult) bool {
			return !s.maySee(p, all, res)
		}),
		Rows: s.allRows(stream),
	}
}

// maySee reports whether a principal may use the source of a result, and those of the results that it was calculated
// from.
func (s *Server) maySee(p footnote.Principal, all []footnote.StoredResult, res footnote.StoredResult) bool {
	if s.opts.Access == nil {
		return true
	}
	needed := map[string]bool{res.ID: true}
	for _, res := range slices.Backward(all) { // a result comes after its parents
		if !needed[res.ID] {
			continue
		}
		if len(res.Parents) == 0 && !s.opts.Access.Source(p, res.Source) {
			return false
		}
		for _, parent := range res.Parents {
			needed[parent] = true
		}
	}
	return true
}
