// Package own provides the tools that an operator defines: one statement with typed parameters, a name and a
// description. The statement passes through its source's gate and limits like any other. Parameters are bound and
// never become part of the text.
package own

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/placeholder"
	"github.com/footnotehq/footnote/internal/reply"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/internal/lookup"
	"github.com/footnotehq/footnote/tool/internal/typed"
)

// The types of parameters.
const (
	Text    = typed.Text
	Integer = typed.Integer
	Number  = typed.Number
	Boolean = typed.Boolean
	Date    = typed.Date // 2006-01-02
)

// Thought is an input field that people read and that no statement uses.
const Thought = "thought"

// Options configure a tool.
type Options struct {
	Name, Description string
	Source            string // name of the source it queries
	SQL               string // with $1, $2, … for the parameters, in order
	Parameters        []Parameter
	Sources           lookup.Sources // required
	// Limits bound the query. Zero fields take the source's own limits.
	Limits source.Limits
}

// Parameter describes a parameter of a tool.
type Parameter struct {
	Name        string   `yaml:"name"`
	Type        string   `yaml:"type"` // text, integer, number, boolean or date
	Description string   `yaml:"description"`
	Values      []string `yaml:"values"`   // of a text: the accepted ones; none: all
	Optional    bool     `yaml:"optional"` // NULL when omitted
}

// Limits of a tool.
const (
	maxParameters = 32
	maxValues     = 200
	maxSQL        = 64 << 10
	maxWords      = 4000
)

var goodName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

type statement struct{ Options }

// New returns a tool, or an error that says which option is invalid.
func New(o Options) (tool.Tool, error) {
	if err := check(o); err != nil {
		return nil, err
	}
	return lookup.Tool(tool.Spec{
		Name: o.Name,
		Description: o.Description + " The rows come from a statement that the operator wrote, on the source " +
			o.Source +
			". They are stored under an id such as \"r3\", to which footnotes and charts refer.",
		InputSchema: inputSchema(o.Parameters), Side: tool.Server, ReadOnly: true, Cacheable: true,
	}, statement{o}.run), nil
}

func check(o Options) error {
	switch {
	case !goodName.MatchString(o.Name):
		return fmt.Errorf("the name %q must be of small letters, digits and _, and begin with a letter", o.Name)
	case strings.TrimSpace(o.Description) == "" || len(o.Description) > maxWords:
		return fmt.Errorf("%s needs a description of at most %d bytes; the model uses it to decide when to call the "+
			"tool", o.Name, maxWords)
	case strings.TrimSpace(o.SQL) == "" || len(o.SQL) > maxSQL:
		return fmt.Errorf("%s needs sql of at most %d bytes", o.Name, maxSQL)
	case len(o.Parameters) > maxParameters:
		return fmt.Errorf("%s has more than %d parameters", o.Name, maxParameters)
	}
	seen := map[string]bool{Thought: true}
	for _, p := range o.Parameters {
		switch {
		case !goodName.MatchString(p.Name):
			return fmt.Errorf("%s: the name of the parameter %q must be of small letters, digits and _, and begin "+
				"with a letter", o.Name, p.Name)
		case seen[p.Name]:
			return fmt.Errorf("%s: the name of the parameter %s is taken", o.Name, p.Name)
		case !slices.Contains(typed.All, p.Type):
			return fmt.Errorf("%s: the type of the parameter %s is %q; it must be text, integer, number, boolean or "+
				"date", o.Name, p.Name, p.Type)
		case len(p.Values) > 0 && p.Type != Text || len(p.Values) > maxValues:
			return fmt.Errorf("%s: the parameter %s has values; only text parameters may have them, at most %d", o.Name,
				p.Name, maxValues)
		case len(p.Description) > maxWords:
			return fmt.Errorf("%s: the description of the parameter %s has more than %d bytes", o.Name, p.Name,
				maxWords)
		}
		seen[p.Name] = true
	}
	return checkPlaces(o)
}

// checkPlaces checks that the statement has one of $1, $2, … for each parameter, in order.
func checkPlaces(o Options) error {
	n, err := placeholder.Count(o.SQL)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", o.Name, err)
	case n != len(o.Parameters):
		return fmt.Errorf("%s: its sql has %d of $1, $2, …, but it has %d parameters", o.Name, n, len(o.Parameters))
	}
	return nil
}

// inputSchema returns the schema of a call's input.
func inputSchema(parameters []Parameter) json.RawMessage {
	type property struct {
		Type        any      `json:"type"`
		Description string   `json:"description,omitempty"`
		Enum        []string `json:"enum,omitempty"`
		Pattern     string   `json:"pattern,omitempty"`
		MaxLength   int      `json:"maxLength,omitempty"`
	}
	properties := map[string]property{
		Thought: {Type: "string", Description: "Why this is needed, in one short sentence. The user sees it."},
	}
	required := []string{}
	for _, p := range parameters {
		s := property{Type: p.Type, Description: p.Description}
		switch p.Type {
		case Text:
			s.Type, s.Enum, s.MaxLength = "string", p.Values, typed.MaxText
		case Date:
			s.Type, s.Pattern = "string", `^[0-9]{4}-[0-9]{2}-[0-9]{2}$`
		}
		if p.Optional {
			s.Description = strings.TrimSpace(s.Description + " May be left out.")
		} else {
			required = append(required, p.Name)
		}
		properties[p.Name] = s
	}
	return reply.JSON(map[string]any{
		"type": "object", "properties": properties, "required": required, "additionalProperties": false,
	})
}

func (t statement) run(ctx context.Context, call tool.Call, in map[string]json.RawMessage) (tool.Output, error) {
	name, src, err := lookup.Source(t.Sources, call, t.Source)
	if err != nil {
		return tool.Output{}, err
	}
	ctx = footnote.WithSource(ctx, name)
	args, boundComment, err := t.bind(in)
	if err != nil {
		return tool.Output{}, err
	}
	result, sum, err := source.Collect(ctx, src, source.Query{SQL: t.SQL, Args: args, Limits: t.Limits, Own: true})
	if err != nil {
		return tool.Output{}, lookup.Failure(ctx, src, t.SQL, err)
	}
	cut := ""
	if result.Truncated {
		cut = fmt.Sprintf("Reading stopped at the limit of %s after %d rows. Totals over these rows would be wrong.",
			sum.Limit, len(result.Rows))
	}
	return tool.Output{
		Content: reply.Table{ID: call.ResultID, Result: result, Cut: cut}.JSON(),
		Rows:    &result, Source: name, SQL: t.SQL + boundComment,
	}, nil
}

// bind parses the arguments of a call. BoundComment lists them as a comment after the statement, which a footnote
// uses to name its query.
func (t statement) bind(in map[string]json.RawMessage) (args []any, boundComment string, err error) {
	for i, p := range t.Parameters {
		raw, given := in[p.Name]
		if !given || bytes.Equal(raw, []byte("null")) {
			if !p.Optional {
				return nil, "", tool.Refusef("The parameter %s is missing.", p.Name)
			}
			raw = json.RawMessage("null")
		}
		arg, err := typed.Value(p.Type, p.Values, raw)
		if err != nil {
			return nil, "", tool.Refusef("The parameter %s %v.", p.Name, err)
		}
		args = append(args, arg)
		boundComment += typed.BoundComment(i+1, p.Name, arg)
	}
	return args, boundComment, nil
}
