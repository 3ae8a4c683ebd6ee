package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/footnotehq/footnote"
)

const instructions = "Footnote answers questions about this organisation's data, and shows the query and the cell " +
	"behind every number. Use ask for a question in plain words. Use schema and query to write SQL yourself. Pass " +
	"the conversation that a call returns to later calls that belong together. Numbers under unsourced have no " +
	"evidence in the data: do not present them as facts."

// newServer returns the SDK's server with the tools and resources.
func (p *Protocol) newServer() *sdk.Server {
	offers := &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}, Resources: &sdk.ResourceCapabilities{}}
	if p.Verified != nil {
		offers.Prompts = &sdk.PromptCapabilities{}
	}
	o := &sdk.ServerOptions{
		Instructions: instructions, Capabilities: offers,
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.CacheScope = "private" },
	}
	extend := func(*sdk.Server) {}
	if p.Extend != nil {
		extend = p.Extend(o)
	}
	s := sdk.NewServer(&sdk.Implementation{Name: "footnote", Title: "Footnote", Version: p.Version}, o)
	addTool(p, s, tool{
		name: "ask", title: "Ask about the data", runs: true,
		meta: sdk.Meta{"ui": map[string]any{"resourceUri": appAddress}},
		text: "Ask the analyst a question about the data, in plain words. It explores the tables, runs read-only " +
			"queries and answers; each number of the answer has a footnote with its query and cell. To ask a " +
			"follow-up, pass conversation. If status is waiting or running, call again with continue.",
	}, p.ask)
	addTool(p, s, tool{
		name: "schema", title: "Look at the tables", idempotent: true,
		text: "List the sources; with source, list its tables; with table, describe the columns of that table. " +
			"search finds tables and columns whose names or comments contain the words.",
	}, p.schema)
	addTool(p, s, tool{
		name: "query", title: "Run a read-only query", idempotent: true, runs: true,
		text: "Run one read-only SQL statement on a source and get its first rows. Statements that could change data " +
			"are refused, with the reason.",
	}, p.query)
	if p.Verified != nil {
		addTool(p, s, tool{
			name: p.Verified.Tool(), title: "Run a verified query", idempotent: true, runs: true,
			text: "Answer a question with a query that the organisation has verified. Try it first, with the " +
				"person's question word for word. If none answers it, the nearest ones are listed: run one by " +
				"name only if it answers exactly what the person asks; otherwise use ask or query.",
		}, p.verifiedQuery)
		s.AddReceivingMiddleware(p.listPrompts)
	}
	addTool(p, s, tool{
		name: "result", title: "Read a stored result", idempotent: true,
		text: "Get rows of a stored result, page by page. export is the path at the server to download all rows.",
	}, p.result)
	if p.Draw != nil {
		addTool(p, s, tool{
			name: "chart", title: "Draw a stored result", idempotent: true,
			text: "Draw a stored result: as text, and as a small specification of the chart.",
		}, p.chart)
	}
	if p.TableTools.Query != "" {
		p.addTableTools(s)
	}
	p.addResources(s)
	extend(s)
	s.AddReceivingMiddleware(p.annotate)
	return s
}

// annotate sets what clients read about the effects of tools: that all are read-only, unless only the rights of a
// database's user keep the caller's statements from writing.
func (p *Protocol) annotate(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		res, err := next(ctx, method, req)
		list, ok := res.(*sdk.ListToolsResult)
		if err != nil || !ok || p.ReadOnly == nil {
			return res, err
		}
		_, r, leave, err := enter(ctx)
		if err != nil {
			return nil, err
		}
		defer leave()
		if p.ReadOnly(p.server.Caller(r)) {
			return list, nil
		}
		for i, t := range list.Tools {
			if p.runs[t.Name] {
				own, annotations := *t, *t.Annotations
				annotations.ReadOnlyHint = false
				own.Annotations = &annotations
				list.Tools[i] = &own
			}
		}
		return list, nil
	}
}

// tool describes a tool. All are meant to read only: a source that accepts writes is refused when the server starts,
// and every statement passes the gate of its engine; see annotate.
type tool struct {
	name, title, text string
	idempotent        bool
	runs              bool // statements of the caller's or of the analyst's
	meta              sdk.Meta
}

// addTool adds a tool whose handler gets the HTTP request of the call.
func addTool[In any](p *Protocol, s *sdk.Server, t tool,
	do func(in invocation, args In) (*sdk.CallToolResult, error)) {
	p.runs[t.name] = t.runs
	sdk.AddTool(s, &sdk.Tool{
		Name: t.name, Title: t.title, Description: t.text, Meta: t.meta,
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: t.idempotent, OpenWorldHint: new(false)},
	}, func(ctx context.Context, req *sdk.CallToolRequest, args In) (*sdk.CallToolResult, any, error) {
		c, r, leave, err := enter(ctx)
		if err != nil {
			return nil, nil, err
		}
		defer leave()
		res, err := recovered(func() (*sdk.CallToolResult, error) {
			return do(invocation{sdk: ctx, call: c, r: r, req: req}, args)
		})
		if err != nil {
			p.logFailure(ctx, t.name, err)
			res = failed(err)
		}
		return res, nil, nil
	})
}

// recovered calls do. A panic becomes an error: it would end the process, because the SDK calls handlers in goroutines
// of its own.
func recovered[R any](do func() (R, error)) (res R, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the handler panicked: %v\n%s", v, debug.Stack())
		}
	}()
	return do()
}

// logFailure logs an error whose cause the client does not see.
func (p *Protocol) logFailure(ctx context.Context, name string, err error) {
	if footnote.CodeOf(err) == footnote.Internal && ctx.Err() == nil && !errors.Is(err, context.Canceled) {
		p.Logger.ErrorContext(ctx, "an MCP call failed", "tool", name, "err", err)
	}
}

// invocation is one call of a tool.
type invocation struct {
	sdk  context.Context // the SDK's, for notifications
	call *call
	r    *http.Request // ends when the call is cancelled
	req  *sdk.CallToolRequest
}

// failed returns an error as a result, for the model to read.
func failed(err error) *sdk.CallToolResult {
	code, text := string(footnote.CodeOf(err)), footnote.MessageOf(err)
	return &sdk.CallToolResult{
		IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: text}},
		StructuredContent: map[string]any{"error": map[string]string{"code": code, "message": text}},
	}
}

// succeeded returns a result as text and as structured content.
func succeeded(text string, structured any) (*sdk.CallToolResult, error) {
	raw, err := json.Marshal(structured)
	if err != nil {
		return nil, fmt.Errorf("encode the result: %w", err)
	}
	return &sdk.CallToolResult{
		Content: []sdk.Content{&sdk.TextContent{Text: text}}, StructuredContent: json.RawMessage(raw),
	}, nil
}

// missing returns the error for an argument that a call needs.
func missing(name, use string) error { return footnote.Invalidf("Set %s: %s.", name, use) }
