// Package verified provides the tool verified_query, which runs the statements that a company has checked for certain
// questions. The rows are marked as verified only if the user's own question is a wording of the query and the very
// text of the query ran, with its values bound.
package verified

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/reply"
	"github.com/footnotehq/footnote/knowledge/verified"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/internal/lookup"
	"github.com/footnotehq/footnote/tool/internal/typed"
	"github.com/footnotehq/footnote/tool/schema"
)

// Options configure the tool.
type Options struct {
	Queries func() *verified.Set // the current ones; required
	Sources lookup.Sources       // required
	// Limits bound a query. Zero fields take the source's own limits.
	Limits source.Limits
	Now    func() time.Time // default: time.Now
}

// Input is the input of the tool.
type Input struct {
	Question   string            `json:"question,omitempty" jsonschema:"The user's question, word for word."`
	Name       string            `json:"name,omitempty" jsonschema:"Instead of a question: the name of a verified query from an earlier reply."`
	Parameters map[string]string `json:"parameters,omitempty" jsonschema:"With a name: a value for each parameter of the query."`
}

// Name is the name of the tool.
const Name = "verified_query"

var spec = tool.Spec{
	Name: Name, Label: "Looking for a verified query",
	Description: "Answer a question with a query that this company has verified. Call it first, with the user's " +
		"question word for word: a question that a verified query answers gets that query's rows, under an id such " +
		"as \"r3\", to which footnotes and charts refer. For any other question it lists the nearest verified " +
		"queries: run one by its name if it answers exactly what the user asks, or write your own statement. " +
		"Readers see which rows are verified; do not say so yourself.",
	InputSchema: schema.For[Input](schema.Length("question", 0, maxInput), schema.Length("name", 0, 64)),
	Side:        tool.Server, ReadOnly: true,
}

// maxInput limits the characters of a question.
const maxInput = 4000

// New returns the tool.
func New(o Options) tool.Tool {
	if o.Now == nil {
		o.Now = time.Now
	}
	return lookup.Tool(spec, lookUp{o}.run)
}

type lookUp struct{ Options }

func (t lookUp) run(ctx context.Context, call tool.Call, in Input) (tool.Output, error) {
	caller := verified.Caller{Roles: call.Principal.Roles, Sources: call.Sources, Now: t.Now()}
	queries := t.Queries()
	found, near, err := Find(queries, caller, in)
	if err != nil {
		return tool.Output{}, err
	}
	if found.Query == nil {
		return tool.Output{Content: near}, nil
	}
	out, err := t.query(ctx, call, found)
	if err != nil {
		return out, err
	}
	if asked, ok := queries.Match(caller, question(call)); ok && asked.Same(found) {
		out.Verified = found.Query.Verified(asked.Question)
	}
	return out, nil
}

// Find returns the query that an input means, with its arguments. If no query answers the question, the match is empty,
// and near is a reply that lists the nearest ones. The error is for the model that made the call.
func Find(queries *verified.Set, caller verified.Caller, in Input) (m verified.Match, near string, err error) {
	switch {
	case in.Name != "" && in.Question != "":
		return m, "", tool.Refusef("Give either the question or the name of a verified query.")
	case in.Name != "":
		m, err = named(queries, caller, in)
		return m, "", err
	}
	m, ok := queries.Match(caller, in.Question)
	if !ok {
		return verified.Match{}, nearest(queries, caller, in.Question), nil
	}
	return m, "", nil
}

// Statement returns the text of a query with its arguments in comments at its end, as results record it.
func Statement(m verified.Match) string {
	sql := m.Query.SQL
	for i, p := range m.Query.Parameters {
		sql += typed.BoundComment(i+1, p.Name, m.Args[i])
	}
	return sql
}

// question returns the user's newest message that was not rewound.
func question(call tool.Call) string {
	last := int64(math.MaxInt64) // later events were rewound
	for _, ev := range slices.Backward(call.Read) {
		if ev.Seq > last {
			continue
		}
		switch b := ev.Body.(type) {
		case footnote.Rewound:
			last = b.ToSeq
		case footnote.UserMessage:
			if b.Text != "" {
				return b.Text
			}
		}
	}
	return ""
}

// named returns the query that a call names, with its arguments.
func named(queries *verified.Set, caller verified.Caller, in Input) (verified.Match, error) {
	q, ok := queries.Find(caller, in.Name)
	if !ok {
		return verified.Match{}, tool.Refusef("There is no verified query named %.64q.", in.Name)
	}
	m := verified.Match{Query: q}
	for _, p := range q.Parameters {
		raw, ok := in.Parameters[p.Name]
		if !ok {
			return m, tool.Refusef("The parameter %s is missing.", p.Name)
		}
		v, err := p.Value(raw)
		if err != nil {
			return m, tool.Refusef("The parameter %s %v.", p.Name, err)
		}
		m.Args = append(m.Args, v)
	}
	if len(in.Parameters) > len(q.Parameters) {
		return m, tool.Refusef("%s has only these parameters: %s.", q.Name, strings.Join(names(q), ", "))
	}
	return m, nil
}

func names(q *verified.Query) []string {
	list := make([]string, len(q.Parameters))
	for i, p := range q.Parameters {
		list[i] = p.Name
	}
	return list
}

// offer describes a query that a question may mean.
type offer struct {
	Name       string            `json:"name"`
	Question   string            `json:"question"`
	Parameters map[string]string `json:"parameters,omitempty"`
	Source     string            `json:"source"`
}

// nearest lists the queries that are similar to a question.
func nearest(queries *verified.Set, caller verified.Caller, question string) string {
	near := queries.Nearest(caller, question)
	if len(near) == 0 {
		return "No verified query answers this question, and none is similar. Write your own statement."
	}
	list := make([]offer, len(near))
	for i, q := range near {
		list[i] = offer{Name: q.Name, Question: q.Question, Source: q.Source}
		for _, p := range q.Parameters {
			if list[i].Parameters == nil {
				list[i].Parameters = map[string]string{}
			}
			list[i].Parameters[p.Name] = p.Describe()
		}
	}
	return string(reply.JSON(struct {
		Note    string  `json:"note"`
		Nearest []offer `json:"nearest"`
	}{
		"No verified query answers exactly this question. These are similar. Run one by its name only if it answers " +
			"what the user asks; otherwise write your own statement.", list,
	}))
}

// query runs the very text of a verified query, with its arguments bound.
func (t lookUp) query(ctx context.Context, call tool.Call, m verified.Match) (tool.Output, error) {
	q := m.Query
	name, src, err := lookup.Source(t.Sources, call, q.Source)
	if err != nil {
		return tool.Output{}, err
	}
	ctx = footnote.WithSource(ctx, name)
	result, sum, err := source.Collect(ctx, src, source.Query{SQL: q.SQL, Args: m.Args, Limits: t.Limits, Own: true})
	if err != nil {
		return tool.Output{}, lookup.Failure(ctx, src, q.SQL, err)
	}
	result.Columns = footnote.DistinctColumns(result.Columns)
	cut := ""
	if result.Truncated {
		cut = fmt.Sprintf("Reading stopped at the limit of %s after %d rows. Totals over these rows would be wrong.",
			sum.Limit, len(result.Rows))
	}
	return tool.Output{
		Content: reply.Table{ID: call.ResultID, Result: result, Cut: cut}.JSON(),
		Rows:    &result, Source: name, SQL: Statement(m),
	}, nil
}
