package httpapi

import (
	"context"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/localschema"
	"github.com/footnotehq/footnote/protocol"
)

// Generator writes a SQL statement for a question. The statement has passed the gate of its engine.
type Generator interface {
	GenerateSQL(ctx context.Context, p footnote.Principal, g Generate) (sql, dialect string, err error)
}

// Generate is the body of POST /api/generate-sql. Schema and Source are mutually exclusive; without either,
// the question is about the first source.
type Generate struct {
	Question string              `json:"question"`
	Schema   *localschema.Schema `json:"schema"`
	Source   string              `json:"source"`
	Dialect  string              `json:"dialect"` // empty: the dialect of the source; duckdb for a schema
}

func (s *Server) generateRoutes() {
	if s.opts.Generator != nil {
		s.Handle("/api/generate-sql", protocol.Native, Methods{http.MethodPost: s.withSlot(s.generateSQL)})
	}
}

// generateSQL handles POST /api/generate-sql.
func (s *Server) generateSQL(w http.ResponseWriter, r *http.Request) error {
	var g Generate
	if err := s.Read(w, r, 1, &g); err != nil {
		return err
	}
	if err := g.check(s.opts.InputMaxChars); err != nil {
		return err
	}
	sql, dialect, err := s.opts.Generator.GenerateSQL(r.Context(), PrincipalOf(r.Context()), g)
	return reply(w, struct {
		SQL     string `json:"sql"`
		Dialect string `json:"dialect"`
	}{sql, dialect}, err)
}

func (g Generate) check(longest int) error {
	switch n := utf8.RuneCountInString(g.Question); {
	case strings.TrimSpace(g.Question) == "":
		return footnote.Invalidf("The question is empty.")
	case n > longest:
		return footnote.Errorf(footnote.InputTooLong, "The question has %d characters; at most %d are allowed.", n,
			longest)
	case g.Schema != nil && g.Source != "":
		return footnote.Invalidf("Set schema or source, not both.")
	case g.Schema == nil:
		return nil
	case g.Dialect != "" && g.Dialect != localschema.Dialect:
		return footnote.Invalidf("The dialect of a schema must be duckdb.")
	}
	return g.Schema.Check()
}
