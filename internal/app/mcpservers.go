package app

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/doctor"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/mcp"
)

// mcpStart is how long the start of the process waits for MCP servers. Those that take longer join later conversations.
const mcpStart = 10 * time.Second

// connectMCPServers connects to the configured MCP servers.
func (a *App) connectMCPServers(ctx context.Context) {
	if len(a.cfg.MCPServers) == 0 {
		return
	}
	var list []mcp.Server
	for _, name := range slices.Sorted(maps.Keys(a.cfg.MCPServers)) {
		list = append(list, mcpServer(name, a.cfg.MCPServers[name]))
	}
	a.mcpServers = mcp.Open(list, mcp.Options{Version: a.version, Logger: a.log})
	a.onClose(a.mcpServers.Close)
	ctx, cancel := context.WithTimeout(ctx, mcpStart)
	defer cancel()
	a.mcpServers.Ready(ctx)
}

// mcpServer converts the settings of a server.
func mcpServer(name string, s config.MCPServer) mcp.Server {
	out := mcp.Server{
		Name: name, Command: s.Command, Folder: s.Folder, URL: s.URL, Headers: map[string]string{},
		Allow: s.Allow, Deny: s.Deny, Ask: s.Ask, Timeout: s.Timeout, Timeouts: s.Timeouts, MaxOutput: s.MaxOutput,
	}
	for _, variable := range slices.Sorted(maps.Keys(s.Environment)) {
		out.Environment = append(out.Environment, variable+"="+string(s.Environment[variable]))
	}
	for header, value := range s.Headers {
		out.Headers[header] = string(value)
	}
	if o := s.OAuth; o.ClientID != "" {
		out.OAuth = &mcp.OAuth{ClientID: o.ClientID, ClientSecret: string(o.ClientSecret), Issuer: o.Issuer}
	}
	return out
}

// mcpTools returns what lists the tools of MCP servers for an assistant, or nil if none is configured for it.
func (a *App) mcpTools(assistant string) func() []tool.Tool {
	var names []string
	for name, s := range a.cfg.MCPServers {
		if slices.Contains(s.Assistants, assistant) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return func() []tool.Tool { return a.mcpServers.Tools(names) }
}

// checkMCPServers connects to each MCP server once. It contacts servers on other machines only if that is allowed.
func checkMCPServers(ctx context.Context, c config.Config, r *doctor.Report) {
	for _, name := range slices.Sorted(maps.Keys(c.MCPServers)) {
		s, what := c.MCPServers[name], "mcp server "+name
		if s.URL != "" && !r.Online {
			host := ""
			if u, err := url.Parse(s.URL); err == nil {
				host = u.Host
			}
			r.Skip(what, "at "+host+doctor.NotAsked)
			continue
		}
		limited, cancel := context.WithTimeout(ctx, programTime)
		names, remarks, err := mcp.Check(limited, mcpServer(name, s), mcp.Options{})
		cancel()
		switch {
		case err != nil:
			r.Fail(what, OneLine(err))
		case len(names) == 0:
			r.Warn(what, "it has no tools that can be used")
		default:
			r.OK(what, fmt.Sprintf("%s for %s: %s", doctor.Counted(len(names), "tool"),
				strings.Join(s.Assistants, " and "), strings.Join(names, ", ")))
		}
		for _, words := range remarks {
			r.Warn(what, "left out "+words)
		}
	}
}
