package mcp

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/protocol"
)

// Verified finds the verified queries of a company that exist for a caller.
type Verified interface {
	// Tool returns the name of the tool that runs them.
	Tool() string
	// Find returns the verified query that a question or a name means. If no query answers the question, the result is
	// nil, and near is a reply that lists the nearest ones.
	Find(p footnote.Principal, args VerifiedArgs) (q *protocol.Query, near string, err error)
	// Prompts lists the queries.
	Prompts(p footnote.Principal) []*sdk.Prompt
	// Fill returns the question of a query with values in its slots.
	Fill(p footnote.Principal, name string, values map[string]string) (question string, err error)
}

// VerifiedArgs are the arguments of the tool verified_query.
type VerifiedArgs struct {
	Question     string            `json:"question,omitempty" jsonschema:"The person's question, word for word."`
	Name         string            `json:"name,omitempty" jsonschema:"Instead of a question: the name of a verified query."`
	Parameters   map[string]string `json:"parameters,omitempty" jsonschema:"With a name: a value for each parameter."`
	Conversation string            `json:"conversation,omitempty" jsonschema:"Conversation in which to store the result."`
	Limit        int               `json:"limit,omitempty" jsonschema:"Rows to return: 1 to 1000; default 100."`
}

// verifiedQuery runs a query that the company has verified.
func (p *Protocol) verifiedQuery(in invocation, args VerifiedArgs) (*sdk.CallToolResult, error) {
	if args.Question == "" && args.Name == "" {
		return nil, missing("question", "or name, with the name of a verified query")
	}
	q, near, err := p.Verified.Find(p.server.Caller(in.r), args)
	if err != nil {
		return nil, err
	}
	if q == nil {
		return succeeded(near, map[string]any{"found": false, "note": near})
	}
	return p.rows(in, *q, args.Conversation, args.Limit)
}

// listPrompts answers for prompts: each verified query of the caller is one, and its slots are the arguments.
func (p *Protocol) listPrompts(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		get, asked := req.GetParams().(*sdk.GetPromptParams)
		res, err := (sdk.Result)(nil), error(nil)
		if !asked {
			res, err = next(ctx, method, req)
		}
		list, ok := res.(*sdk.ListPromptsResult)
		if err != nil || !asked && !ok {
			return res, err
		}
		_, r, leave, err := enter(ctx)
		if err != nil {
			return nil, err
		}
		defer leave()
		if !asked {
			list.Prompts = p.Verified.Prompts(p.server.Caller(r))
			return list, nil
		}
		question, err := p.Verified.Fill(p.server.Caller(r), get.Name, get.Arguments)
		if err != nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: footnote.MessageOf(err)}
		}
		return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{
			Role: "user", Content: &sdk.TextContent{Text: question + "\n\nCall the tool " + p.Verified.Tool() +
				" with this question, word for word."},
		}}}, nil
	}
}
