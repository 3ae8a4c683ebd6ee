package offline

import (
	"context"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/localschema"
)

// SQL returns the statement that answers a question about a source, without running it. If the question is not
// understood, it returns an error with code InvalidRequest whose message says why.
func (pn *Planner) SQL(ctx context.Context, source, question string) (string, error) {
	r, err := pn.understand(ctx, []string{source}, singleTurn(cut(question, maxQuestion)))
	if err != nil {
		return "", err
	}
	return r.statement()
}

// SQL works like Planner.SQL for files in the browser, of which only the schema is known. The dialect is DuckDB's.
func (l Local) SQL(schema localschema.Schema, question string) (string, error) {
	seen := &browserData{
		open: true, schema: schema, requested: map[columnLookup]bool{}, values: map[columnLookup]Result{},
		lookups: maxLookups,
	}
	r, _ := seen.profile(l.now()).local(History{Questions: []string{cut(question, maxQuestion)}}, seen)
	return r.statement()
}

func (r *reading) statement() (string, error) {
	if r.say == nil {
		return r.sql, nil
	}
	w := &Writer{}
	r.say(w)
	words, _, _ := strings.Cut(w.b.String(), "\n\n")
	return "", footnote.Invalidf("%s", words)
}
