package mcp

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/footnotehq/footnote"
)

// The addresses of resources.
const (
	sourcePrefix = "footnote://sources/"
	resultPrefix = "footnote://results/"
	appAddress   = "ui://footnote/answer"
)

const jsonType = "application/json"

// page is the MCP App that shows an answer and the cell behind each of its numbers. It loads nothing.
//
//go:embed app.html
var page string

// addResources adds the schemas of sources, stored results and the app.
func (p *Protocol) addResources(s *sdk.Server) {
	s.AddResourceTemplate(&sdk.ResourceTemplate{
		Name: "schema", Title: "Tables of a source", URITemplate: sourcePrefix + "{name}", MIMEType: jsonType,
	}, p.reader(sourcePrefix, func(r *http.Request, name string) (any, error) { return p.server.Schema(r, name) }))
	s.AddResourceTemplate(&sdk.ResourceTemplate{
		Name: "result", Title: "First rows of a stored result", URITemplate: resultPrefix + "{id}", MIMEType: jsonType,
	}, p.reader(resultPrefix, func(r *http.Request, id string) (any, error) {
		page, err := p.server.Result(r, id, 0, maxRows)
		return tableOf(page, maxRows), err
	}))
	s.AddResource(&sdk.Resource{
		Name: "answer", Title: "Answer with footnotes", URI: appAddress, MIMEType: appType,
		Description: "Shows the answer of ask, and the cell behind each number.",
	}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return contents(appAddress, appType, page), nil
	})
	s.AddReceivingMiddleware(p.listSources)
}

const appType = "text/html;profile=mcp-app"

func contents(address, mediaType, text string) *sdk.ReadResourceResult {
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: address, MIMEType: mediaType, Text: text}}}
}

// reader returns the handler of the resources below a prefix.
func (p *Protocol) reader(prefix string, read func(r *http.Request, id string) (any, error)) sdk.ResourceHandler {
	return func(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		_, r, leave, err := enter(ctx)
		if err != nil {
			return nil, err
		}
		defer leave()
		id, err := url.PathUnescape(strings.TrimPrefix(req.Params.URI, prefix))
		if err != nil {
			return nil, sdk.ResourceNotFoundError(req.Params.URI)
		}
		v, err := recovered(func() (any, error) { return read(r, id) })
		if footnote.CodeOf(err) == footnote.NotFound {
			return nil, sdk.ResourceNotFoundError(req.Params.URI)
		}
		if err != nil {
			p.logFailure(ctx, "resource", err)
			return nil, fmt.Errorf("%s", footnote.MessageOf(err))
		}
		text, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("encode the resource: %w", err)
		}
		return contents(req.Params.URI, jsonType, string(text)), nil
	}
}

// listSources adds the caller's sources to the list of resources, which is otherwise the same for everybody.
func (p *Protocol) listSources(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		res, err := next(ctx, method, req)
		list, ok := res.(*sdk.ListResourcesResult)
		if err != nil || !ok {
			return res, err
		}
		_, r, leave, err := enter(ctx)
		if err != nil {
			return nil, err
		}
		defer leave()
		sources, err := p.server.Sources(r)
		if err != nil {
			return nil, fmt.Errorf("%s", footnote.MessageOf(err))
		}
		for _, s := range sources {
			list.Resources = append(list.Resources, &sdk.Resource{
				Name: s.Name, Title: "Tables of " + s.Name, MIMEType: jsonType,
				URI: sourcePrefix + url.PathEscape(s.Name),
			})
		}
		return list, nil
	}
}
