package httpapi

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/footnotehq/footnote"
)

// maxTold limits the bytes of the description of an added source that the model reads.
const maxTold = 8 << 10

// addSource handles POST /api/conversations/{id}/sources: it adds an upload of the caller to a conversation. Configured
// sources cannot be added, because access to them may be lost later, and only the opening of a conversation is checked
// for that.
func (s *Server) addSource(w http.ResponseWriter, r *http.Request, head footnote.Stream) error {
	var in struct {
		Source string `json:"source"`
	}
	if err := s.Read(w, r, 1, &in); err != nil {
		return err
	}
	if s.opts.Data == nil {
		return errNoData
	}
	p := PrincipalOf(r.Context())
	list, err := s.opts.Data.List(r.Context(), p)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(list, func(i SourceInfo) bool { return i.Uploaded && i.Name == in.Source }) {
		return footnote.Invalidf("You have no upload named %.80q. Only uploads can be added to a conversation.",
			in.Source)
	}
	schema, err := s.opts.Data.Schema(r.Context(), p, in.Source)
	if err != nil {
		return err
	}
	_, _, err = s.opts.Engine.Append(r.Context(), p, head.ID,
		footnote.SourceAdded{Source: in.Source, Tables: describe(schema)}, nil)
	return done(w, err)
}

// describe lists the tables of a source with their columns, one a line.
func describe(schema SourceSchema) string {
	var b strings.Builder
	for _, t := range schema.Tables {
		var columns []string
		for _, c := range t.Columns {
			columns = append(columns, c.Name+" "+c.Type)
		}
		line := fmt.Sprintf("%s (%s)\n", t.Name, strings.Join(columns, ", "))
		if b.Len()+len(line) > maxTold {
			b.WriteString("… and more; ask for them with the tool that lists tables.\n")
			break
		}
		b.WriteString(line)
	}
	return strings.TrimSpace(b.String())
}
