package httpapi

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/protocol"
)

// Data holds the sources that a principal can browse and query, its own uploads included. Methods return
// NotFound for any other name.
type Data interface {
	List(ctx context.Context, p footnote.Principal) ([]SourceInfo, error)
	Schema(ctx context.Context, p footnote.Principal, source string) (SourceSchema, error)
	Samples(ctx context.Context, p footnote.Principal, source, table string, limit int) (footnote.Result, error)
	Distribution(ctx context.Context, p footnote.Principal, source, table, column string,
		limit int) (Distribution, error)
	// Query runs one statement, with the same gate and limits as the agent's queries: sql, or the verified query that
	// it describes. It returns InvalidRequest, with the reason, for a statement that is refused or fails.
	Query(ctx context.Context, p footnote.Principal, source, sql string, checked *protocol.Checked) (footnote.Result,
		time.Duration, error)
	// Export runs one statement like Query, without its limits of rows and bytes, and calls each for every row. It
	// returns the columns, and a note about rows that were left out, or "".
	Export(ctx context.Context, p footnote.Principal, source, sql string, each func(row []any) error) (
		columns []footnote.Column, note string, err error)
	Calculations
	// Suggest returns questions that were tested and have an answer.
	Suggest(ctx context.Context, p footnote.Principal, source string, n int) ([]string, error)

	// Uploads reports whether files can be added, and the maximum size.
	Uploads() (maxBytes int64, ok bool)
	// Add stores a data file as a source of the principal.
	Add(ctx context.Context, p footnote.Principal, filename string, content io.Reader) (SourceInfo, error)
	// Replace puts another file in the place of an upload of the principal, and Append adds the rows of one.
	Replace(ctx context.Context, p footnote.Principal, source, filename string, content io.Reader) (SourceInfo, error)
	Append(ctx context.Context, p footnote.Principal, source, filename string, content io.Reader) (SourceInfo, error)
	// Changed returns when an upload was last replaced or appended to; the zero time for others.
	Changed(p footnote.Principal, source string) time.Time
	// Remove deletes an upload of the principal.
	Remove(ctx context.Context, p footnote.Principal, source string) error
}

// The descriptions of sources are those that protocols use, too.
type (
	SourceInfo   = protocol.SourceInfo
	SourceProof  = protocol.SourceProof
	SourceSchema = protocol.SourceSchema
	SourceTable  = protocol.SourceTable
	SourceColumn = protocol.SourceColumn
	Reference    = protocol.Reference
)

// Distribution summarises the values of one column. Cells have the same format as in results.
type Distribution struct {
	Column   string              `json:"column"`
	Type     string              `json:"type"`
	Rows     int64               `json:"rows"`
	Nulls    int64               `json:"nulls"`
	Distinct *int64              `json:"distinct,omitempty"`
	Min      json.RawMessage     `json:"min,omitempty"`
	Max      json.RawMessage     `json:"max,omitempty"`
	Avg      json.RawMessage     `json:"avg,omitempty"`
	Values   []DistributionValue `json:"values"`
}

// DistributionValue is a value, or a range from From up to To, and how often it occurs.
type DistributionValue struct {
	Value json.RawMessage `json:"value,omitempty"`
	From  json.RawMessage `json:"from,omitempty"`
	To    json.RawMessage `json:"to,omitempty"`
	Count int64           `json:"count"`
}

func (s *Server) sourceRoutes() {
	if s.opts.Data == nil {
		return
	}
	sources := get(s.listSources)
	sources[http.MethodPost] = s.withSlot(s.upload)
	s.Handle("/api/sources", protocol.Native, sources)
	s.Handle("/api/sources/{name}", protocol.Native, Methods{
		http.MethodPut: s.withSlot(s.replaceSource), http.MethodDelete: s.removeSource,
	})
	s.Handle("/api/sources/{name}/append", protocol.Native, Methods{http.MethodPost: s.withSlot(s.appendSource)})
	s.Handle("/api/sources/{name}/schema", protocol.Native, get(s.sourceSchema))
	s.Handle("/api/sources/{name}/samples", protocol.Native, get(s.withSlot(s.sourceSamples)))
	s.Handle("/api/sources/{name}/distribution", protocol.Native, get(s.withSlot(s.sourceDistribution)))
	s.Handle("/api/sources/{name}/query", protocol.Native, Methods{http.MethodPost: s.withSlot(s.querySource)})
	s.Handle("/api/suggestions", protocol.Native, get(s.withSlot(s.suggestions)))
}

// listSources handles GET /api/sources.
func (s *Server) listSources(w http.ResponseWriter, r *http.Request) error {
	list, err := s.opts.Data.List(r.Context(), PrincipalOf(r.Context()))
	return reply(w, map[string]any{"sources": append([]SourceInfo{}, list...)}, err)
}

// sourceSchema handles GET /api/sources/{name}/schema.
func (s *Server) sourceSchema(w http.ResponseWriter, r *http.Request) error {
	schema, err := s.opts.Data.Schema(r.Context(), PrincipalOf(r.Context()), r.PathValue("name"))
	return reply(w, schema, err)
}

// sourceSamples handles GET /api/sources/{name}/samples?table=T&limit=20.
func (s *Server) sourceSamples(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	limit, err := protocol.Number(q, "limit", 20, 1, 1000)
	if err != nil {
		return err
	}
	res, err := s.opts.Data.Samples(r.Context(), PrincipalOf(r.Context()), r.PathValue("name"), q.Get("table"),
		int(limit))
	return reply(w, rowsOf(res), err)
}

// table is a set of rows with its columns.
type table struct {
	Columns []footnote.Column `json:"columns"`
	Rows    []json.RawMessage `json:"rows"`
}

func rowsOf(res footnote.Result) table {
	t := table{append([]footnote.Column{}, res.Columns...), make([]json.RawMessage, len(res.Rows))}
	for i, row := range res.Rows {
		t.Rows[i] = footnote.AppendRow(nil, row)
	}
	return t
}

// sourceDistribution handles GET /api/sources/{name}/distribution?table=T&column=C&limit=10.
func (s *Server) sourceDistribution(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	limit, err := protocol.Number(q, "limit", 10, 1, 100)
	if err != nil {
		return err
	}
	d, err := s.opts.Data.Distribution(r.Context(), PrincipalOf(r.Context()), r.PathValue("name"), q.Get("table"),
		q.Get("column"), int(limit))
	d.Values = append([]DistributionValue{}, d.Values...)
	return reply(w, d, err)
}

// maxSuggestions is the number of questions to suggest.
const maxSuggestions = 6

// suggestions handles GET /api/suggestions?source=S.
func (s *Server) suggestions(w http.ResponseWriter, r *http.Request) error {
	texts, err := s.opts.Data.Suggest(r.Context(), PrincipalOf(r.Context()), r.URL.Query().Get("source"),
		maxSuggestions)
	list := make([]map[string]string, len(texts))
	for i, text := range texts {
		list[i] = map[string]string{"text": text}
	}
	return reply(w, map[string]any{"suggestions": list}, err)
}
