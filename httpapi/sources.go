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
	// Query runs one statement, with the same gate and limits as the agent's queries. It returns
	// InvalidRequest, with the reason, for a statement that is refused or fails.
	Query(ctx context.Context, p footnote.Principal, source, sql string) (footnote.Result, time.Duration, error)
	// Suggest returns questions that were tested and have an answer.
	Suggest(ctx context.Context, p footnote.Principal, source string, n int) ([]string, error)

	// Uploads reports whether files can be added, and the maximum size.
	Uploads() (maxBytes int64, ok bool)
	// Add stores a data file as a source of the principal.
	Add(ctx context.Context, p footnote.Principal, filename string, content io.Reader) (SourceInfo, error)
	// Remove deletes an upload of the principal.
	Remove(ctx context.Context, p footnote.Principal, source string) error
}

// SourceInfo describes a source.
type SourceInfo struct {
	Name     string `json:"name"`
	Engine   string `json:"engine"`
	Tables   int    `json:"tables"`
	Rows     *int64 `json:"rows,omitempty"` // of all tables, if known
	OK       bool   `json:"ok"`
	Error    string `json:"error,omitempty"` // why it cannot be used now
	Uploaded bool   `json:"uploaded"`
}

// SourceSchema lists the tables of a source that can be read.
type SourceSchema struct {
	Name          string        `json:"name"`
	Engine        string        `json:"engine"`
	EditorDialect string        `json:"editor_dialect,omitempty"` // dialect that an editor highlights; see source.Dialect
	Tables        []SourceTable `json:"tables"`
}

// SourceTable is a table or view.
type SourceTable struct {
	Name    string         `json:"name"`
	View    bool           `json:"view,omitempty"`
	Rows    *int64         `json:"rows,omitempty"`
	Comment string         `json:"comment,omitempty"`
	Columns []SourceColumn `json:"columns"`
}

// SourceColumn is a column of a table.
type SourceColumn struct {
	Name       string     `json:"name"`
	Type       string     `json:"type"`
	Kind       string     `json:"kind,omitempty"` // as in the columns of a result
	Nullable   bool       `json:"nullable"`
	Key        bool       `json:"key,omitempty"`
	Comment    string     `json:"comment,omitempty"`
	References *Reference `json:"references,omitempty"`
}

// Reference is the column that a foreign key points to.
type Reference struct {
	Table  string `json:"table"`
	Column string `json:"column,omitempty"`
}

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
	sources := get(s.listSources)
	sources[http.MethodPost] = s.withSlot(s.upload)
	s.Handle("/api/sources", protocol.Native, sources)
	s.Handle("/api/sources/{name}", protocol.Native, Methods{http.MethodDelete: s.removeSource})
	s.Handle("/api/sources/{name}/schema", protocol.Native, get(s.sourceSchema))
	s.Handle("/api/sources/{name}/samples", protocol.Native, get(s.withSlot(s.sourceSamples)))
	s.Handle("/api/sources/{name}/distribution", protocol.Native, get(s.withSlot(s.sourceDistribution)))
	s.Handle("/api/sources/{name}/query", protocol.Native, Methods{http.MethodPost: s.withSlot(s.querySource)})
	s.Handle("/api/suggestions", protocol.Native, get(s.withSlot(s.suggestions)))
}

// listSources handles GET /api/sources.
func (s *Server) listSources(w http.ResponseWriter, r *http.Request) error {
	list, err := s.opts.Data.List(r.Context(), PrincipalOf(r.Context()))
	if err != nil {
		return err
	}
	if list == nil {
		list = []SourceInfo{}
	}
	return protocol.WriteValue(w, http.StatusOK, map[string]any{"sources": list})
}

// sourceSchema handles GET /api/sources/{name}/schema.
func (s *Server) sourceSchema(w http.ResponseWriter, r *http.Request) error {
	schema, err := s.opts.Data.Schema(r.Context(), PrincipalOf(r.Context()), r.PathValue("name"))
	if err != nil {
		return err
	}
	return protocol.WriteValue(w, http.StatusOK, schema)
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
	if err != nil {
		return err
	}
	return protocol.WriteValue(w, http.StatusOK, rowsOf(res))
}

// table is a set of rows with its columns.
type table struct {
	Columns []footnote.Column `json:"columns"`
	Rows    []json.RawMessage `json:"rows"`
}

func rowsOf(res footnote.Result) table {
	t := table{Columns: res.Columns, Rows: make([]json.RawMessage, len(res.Rows))}
	if t.Columns == nil {
		t.Columns = []footnote.Column{}
	}
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
	if err != nil {
		return err
	}
	if d.Values == nil {
		d.Values = []DistributionValue{}
	}
	return protocol.WriteValue(w, http.StatusOK, d)
}

// maxSuggestions is the number of questions to suggest.
const maxSuggestions = 6

// suggestions handles GET /api/suggestions?source=S.
func (s *Server) suggestions(w http.ResponseWriter, r *http.Request) error {
	texts, err := s.opts.Data.Suggest(r.Context(), PrincipalOf(r.Context()), r.URL.Query().Get("source"),
		maxSuggestions)
	if err != nil {
		return err
	}
	type suggestion struct {
		Text string `json:"text"`
	}
	list := make([]suggestion, len(texts))
	for i, text := range texts {
		list[i] = suggestion{text}
	}
	return protocol.WriteValue(w, http.StatusOK, map[string]any{"suggestions": list})
}

// noData implements Data for a server without sources.
type noData struct{}

func noSource(string) error { return footnote.Errorf(footnote.NotFound, "There is no such source.") }

func (noData) List(context.Context, footnote.Principal) ([]SourceInfo, error) { return nil, nil }
func (noData) Schema(_ context.Context, _ footnote.Principal, name string) (SourceSchema, error) {
	return SourceSchema{}, noSource(name)
}
func (noData) Samples(_ context.Context, _ footnote.Principal, name, _ string, _ int) (footnote.Result, error) {
	return footnote.Result{}, noSource(name)
}
func (noData) Distribution(_ context.Context, _ footnote.Principal, name, _, _ string, _ int) (Distribution, error) {
	return Distribution{}, noSource(name)
}
func (noData) Query(_ context.Context, _ footnote.Principal, name, _ string) (footnote.Result, time.Duration, error) {
	return footnote.Result{}, 0, noSource(name)
}
func (noData) Suggest(_ context.Context, _ footnote.Principal, name string, _ int) ([]string, error) {
	return nil, noSource(name)
}
func (noData) Uploads() (int64, bool) { return 0, false }
func (noData) Add(context.Context, footnote.Principal, string, io.Reader) (SourceInfo, error) {
	return SourceInfo{}, footnote.Errorf(footnote.Forbidden, "Uploads are turned off on this server.")
}
func (noData) Remove(_ context.Context, _ footnote.Principal, name string) error {
	return noSource(name)
}
