package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/footnotehq/footnote/internal/reply"
	"github.com/footnotehq/footnote/tool"
)

// Call implements tool.Tool. Whatever the server does wrong is a failed output: the run goes on without it.
func (t *remote) Call(ctx context.Context, call tool.Call) (tool.Output, error) {
	server := t.c.server.Name
	session, problem := t.c.live()
	if session == nil {
		t.c.log.DebugContext(ctx, "call of an unreachable MCP server", "err", problem)
		return tool.Fail("The MCP server " + server + " cannot be reached now. Continue without it, or say so."), nil
	}
	limit := t.c.server.timeout(t.name)
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out, err := t.call(limited, session, call)
	switch {
	case err == nil:
		return out, nil
	case ctx.Err() != nil:
		return tool.Output{}, context.Cause(ctx)
	case limited.Err() != nil:
		return tool.Fail(fmt.Sprintf("The MCP server %s did not answer within %s.", server, limit)), nil
	}
	if answer, ok := errors.AsType[*jsonrpc.Error](err); ok {
		words, _ := reply.Clip(strings.ToValidUTF8(answer.Message, "\uFFFD"), 500)
		return tool.Fail("The MCP server " + server + " refused the call: " + words), nil
	}
	t.c.drop(session, err)
	t.c.log.WarnContext(ctx, "lost an MCP server during a call", "tool", t.name, "err", err)
	return tool.Fail("The connection to the MCP server " + server + " ended during the call, which may have run. " +
		"Check before you make it again."), nil
}

func (t *remote) callTool(ctx context.Context, session *sdk.ClientSession, call tool.Call) (tool.Output, error) {
	res, err := session.CallTool(ctx, &sdk.CallToolParams{Name: t.name, Arguments: call.Input})
	if err != nil {
		return tool.Output{}, err
	}
	if res.NeedsInput() {
		return tool.Fail("The server asks for something that only a person could answer. That is not possible here."),
			nil
	}
	return t.output(call, contents(res.Content), res.StructuredContent, res.IsError), nil
}

// output returns what the model reads of a result, and stores its rows if it has some.
func (t *remote) output(call tool.Call, text string, structured any, failed bool) tool.Output {
	out := tool.Output{IsError: failed}
	if !failed {
		if rows := rowsOf(structured, text); rows != nil {
			out.Rows, out.Source = rows, "mcp:"+t.c.server.Name
			out.Content = reply.Table{ID: call.ResultID, Result: *rows, Bytes: t.c.server.MaxOutput}.JSON()
			return out
		}
	}
	if text == "" && structured != nil {
		data, _ := json.Marshal(structured) // it was decoded from JSON
		text = string(data)
	}
	out.Content, _ = reply.Clip(strings.ToValidUTF8(text, "\uFFFD"), t.c.server.MaxOutput)
	if strings.TrimSpace(out.Content) == "" {
		out.Content = "(The result is empty.)"
	}
	return out
}

// contents returns the parts of a result as text. Nothing that a part links to is fetched.
func contents(parts []sdk.Content) string {
	var b strings.Builder
	for _, part := range parts {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		switch p := part.(type) {
		case *sdk.TextContent:
			b.WriteString(p.Text)
		case *sdk.ImageContent:
			fmt.Fprintf(&b, "(an image, %.60s, of %d bytes, which is not shown)", p.MIMEType, len(p.Data))
		case *sdk.AudioContent:
			fmt.Fprintf(&b, "(a sound, %.60s, of %d bytes, which is not played)", p.MIMEType, len(p.Data))
		case *sdk.ResourceLink:
			fmt.Fprintf(&b, "(a link to the resource %.500s: %.200s)", p.URI, p.Name)
		case *sdk.EmbeddedResource:
			if p.Resource != nil {
				b.WriteString(resourceText(p.Resource))
			}
		default:
			b.WriteString("(a part of a kind that is unknown here)")
		}
	}
	return b.String()
}

func resourceText(r *sdk.ResourceContents) string {
	if r.Blob != nil {
		return fmt.Sprintf("(%.500s: %d bytes, %.60s, which are not shown)", r.URI, len(r.Blob), r.MIMEType)
	}
	return r.Text
}

// maxResources is how many resources, and as many templates, are listed.
const maxResources = 200

// resourceTool returns the tool that lists and reads the resources of the server.
func (c *connection) resourceTool() (*remote, error) {
	t := &remote{c: c, name: readResource}
	t.call = t.readResource
	const input = `{"type":"object","properties":{"uri":{"type":"string","maxLength":2000,` +
		`"description":"The address of a resource. Leave it out to list them."}},"additionalProperties":false}`
	return t, t.describe("", "List the resources of the server, or read one of them.", json.RawMessage(input),
		!matches(c.server.Ask, readResource))
}

func (t *remote) readResource(ctx context.Context, session *sdk.ClientSession, call tool.Call) (tool.Output, error) {
	var in struct {
		URI string `json:"uri"`
	}
	if err := json.Unmarshal(call.Input, &in); err != nil {
		return tool.Output{}, fmt.Errorf("read the input: %w", err)
	}
	if in.URI == "" {
		list, err := listResources(ctx, session)
		return t.output(call, list, nil, false), err
	}
	res, err := session.ReadResource(ctx, &sdk.ReadResourceParams{URI: in.URI})
	if err != nil {
		return tool.Output{}, err
	}
	var parts []string
	for _, r := range res.Contents {
		if r != nil {
			parts = append(parts, resourceText(r))
		}
	}
	return t.output(call, strings.Join(parts, "\n"), nil, false), nil
}

// listResources returns the resources and templates of a server, one a line.
func listResources(ctx context.Context, session *sdk.ClientSession) (string, error) {
	var b strings.Builder
	n := 0
	for r, err := range session.Resources(ctx, nil) {
		if err != nil {
			return "", err
		}
		if n++; n > maxResources {
			b.WriteString("… and more\n")
			break
		}
		fmt.Fprintf(&b, "%.500s  %.100s  %.300s\n", r.URI, r.Name, r.Description)
	}
	n = 0
	for r, err := range session.ResourceTemplates(ctx, nil) {
		if err != nil || n >= maxResources {
			break // not every server has templates
		}
		n++
		fmt.Fprintf(&b, "%.500s (a template)  %.100s  %.300s\n", r.URITemplate, r.Name, r.Description)
	}
	return b.String(), nil
}
