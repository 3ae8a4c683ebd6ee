package app

import (
	"errors"
	"slices"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/footnotehq/footnote"
	knowledge "github.com/footnotehq/footnote/knowledge/verified"
	"github.com/footnotehq/footnote/protocol"
	"github.com/footnotehq/footnote/protocol/mcp"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/catalog"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/verified"
)

// verifiedForMCP implements mcp.Verified.
type verifiedForMCP struct{ *App }

// caller describes a principal to the verified queries.
func (v verifiedForMCP) caller(p footnote.Principal) knowledge.Caller {
	c := knowledge.Caller{Roles: p.Roles, Now: time.Now()}
	for _, e := range v.catalog.List(p) {
		c.Sources = append(c.Sources, e.Name)
	}
	return c
}

func (verifiedForMCP) Tool() string { return verified.Name }

func (v verifiedForMCP) Find(p footnote.Principal, args mcp.VerifiedArgs) (*protocol.Query, string, error) {
	caller, set := v.caller(p), v.verifiedQueries()
	m, near, err := verified.Find(set, caller, verified.Input{
		Question: args.Question, Name: args.Name, Parameters: args.Parameters,
	})
	if refusal, ok := errors.AsType[*tool.Refusal](err); ok {
		err = footnote.Invalidf("%s", refusal.Text)
	}
	if err != nil || m.Query == nil {
		return nil, near, err
	}
	q := &protocol.Query{
		Protocol: mcp.Name, Source: m.Query.Source, SQL: verified.Statement(m),
		Checked: &protocol.Checked{SQL: m.Query.SQL, Args: m.Args},
	}
	if asked, ok := set.Match(caller, args.Question); ok && asked.Same(m) {
		q.Checked.Verified = m.Query.Verified(asked.Question)
	}
	return q, "", nil
}

func (v verifiedForMCP) Prompts(p footnote.Principal) []*sdk.Prompt {
	list := []*sdk.Prompt{}
	caller, set := v.caller(p), v.verifiedQueries()
	for _, q := range set.All() {
		if _, ok := set.Find(caller, q.Name); !ok {
			continue
		}
		prompt := &sdk.Prompt{Name: q.Name, Title: q.Question, Description: q.Verified(q.Question).String()}
		for _, parameter := range q.Parameters {
			prompt.Arguments = append(prompt.Arguments, &sdk.PromptArgument{
				Name: parameter.Name, Description: parameter.Describe(), Required: true,
			})
		}
		list = append(list, prompt)
	}
	return list
}

func (v verifiedForMCP) Fill(p footnote.Principal, name string, values map[string]string) (string, error) {
	m, _, err := verified.Find(v.verifiedQueries(), v.caller(p), verified.Input{Name: name, Parameters: values})
	if refusal, ok := errors.AsType[*tool.Refusal](err); ok {
		return "", footnote.Invalidf("%s", refusal.Text)
	}
	if err != nil || m.Query == nil {
		return "", footnote.Errorf(footnote.NotFound, "There is no such verified query.")
	}
	return m.Query.Filled(m.Args), nil
}

// readOnly reports whether every source of a principal is known to be read-only by more than the rights of its user.
func (a *App) readOnly(p footnote.Principal) bool {
	return !slices.ContainsFunc(a.catalog.List(p), func(e catalog.Entry) bool {
		if e.Uploaded {
			return false // a file, whose engine cannot write it
		}
		src, err := a.catalog.Find(p, e.Name)
		return err == nil && a.children.databases.Proof(src).Strength == source.Unproven
	})
}
