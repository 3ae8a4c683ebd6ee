package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/audit"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/httpapi"
	"github.com/footnotehq/footnote/httpapi/consent"
	"github.com/footnotehq/footnote/protocol"
	"github.com/footnotehq/footnote/protocol/mcp"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/chart"
	"github.com/footnotehq/footnote/tool/query"
)

// StdioFolder is the folder in the data folder for the conversations of footnote mcp.
const StdioFolder = "mcp"

// ServeMCP answers one client of the Model Context Protocol on a pair of streams, on behalf of p, until the client
// closes in or ctx ends. It listens on no address.
func (a *App) ServeMCP(ctx context.Context, p footnote.Principal, in io.ReadCloser, out io.WriteCloser) error {
	api, err := a.API()
	if err != nil {
		return &config.Invalid{Err: err}
	}
	if err := a.engine.Recover(ctx); err != nil {
		return err
	}
	following, stop := context.WithCancel(context.WithoutCancel(ctx))
	followed := make(chan struct{})
	go func() { defer close(followed); a.audit.Run(following, auditGrace) }()
	defer func() { stop(); <-followed }()
	return a.mcp.Serve(ctx, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		api.ServeHTTP(w, r.WithContext(httpapi.WithCaller(r.Context(), p)))
	}), in, out)
}

// mcpSettings returns the settings of the protocol.
func (a *App) mcpSettings() mcp.Settings {
	s := mcp.Settings{
		Version: a.version, OnDisconnect: a.cfg.StoredOnDisconnect, Draw: draw, Logger: a.log,
		Issuer: a.cfg.Auth.JWT.Issuer, Resource: a.cfg.MCP.URL,
	}
	if issuer := a.consents(); issuer != nil {
		s.Issuer = issuer.Origin()
	}
	s.ReadOnly = a.readOnly
	if a.cfg.Context != "" { // verified queries may be added later
		s.Verified = verifiedForMCP{a}
	}
	if a.cfg.MCP.TableTools {
		s.TableTools.Query, s.TableTools.List, s.TableTools.Describe = query.CommonNames()
	}
	return s
}

// consents returns the issuer of tokens for programs that people let act for them, or nil if there is none.
func (a *App) consents() *consent.Issuer {
	if !a.cfg.MCP.SignIn {
		return nil
	}
	return consent.New(consent.Options{Resource: a.cfg.MCP.URL, Store: a.store, Notify: a.consented})
}

// consented tells the audit what happened to a person's consent.
func (a *App) consented(ctx context.Context, ev consent.Event) {
	e := audit.NewEntry("consent", time.Now())
	e.Org, e.User, e.Protocol, e.RequestID = ev.Org, ev.User, mcp.Name, footnote.OriginOf(ctx).Request
	e.Question = fmt.Sprintf("%s %s, %s", ev.Name, ev.Client, ev.To)
	e.Response = ev.What
	a.inbox.Add(e)
}

// chartWidth is the width of a chart that is drawn in characters.
const chartWidth = 80

// draw checks and draws a chart of a stored result.
func draw(ctx context.Context, page protocol.ResultPage, spec json.RawMessage) (mcp.Drawing, error) {
	stored := footnote.StoredResult{
		ID: page.ID, Columns: page.Columns, RowCount: page.RowCount, Truncated: page.Truncated,
	}
	out, err := chart.New().Call(ctx, tool.Call{Input: spec, Results: []footnote.StoredResult{stored}})
	if err != nil {
		return mcp.Drawing{}, err
	}
	if out.IsError {
		return mcp.Drawing{}, footnote.Invalidf("%s", out.Content)
	}
	checked, err := chart.Parse(out.Chart)
	if err != nil {
		return mcp.Drawing{}, err
	}
	result := footnote.Result{Columns: page.Columns, Truncated: page.Truncated}
	for _, row := range page.Rows {
		cells, err := footnote.DecodeRows(json.RawMessage("["+string(row)+"]"), page.Columns)
		if err != nil || len(cells) != 1 {
			return mcp.Drawing{}, fmt.Errorf("read a row of %s: %w", page.ID, errors.Join(err, errRow))
		}
		result.Rows = append(result.Rows, cells[0])
	}
	return mcp.Drawing{Spec: out.Chart, Text: chart.Terminal(checked, result, chartWidth)}, nil
}

var errRow = errors.New("the row is damaged")
