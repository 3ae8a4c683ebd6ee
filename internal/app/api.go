package app

import (
	"net/http"

	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/httpapi"
	"github.com/footnotehq/footnote/httpapi/session"
	"github.com/footnotehq/footnote/protocol"
	"github.com/footnotehq/footnote/protocol/aisdk"
	"github.com/footnotehq/footnote/protocol/analyze"
	"github.com/footnotehq/footnote/protocol/chatv2"
	"github.com/footnotehq/footnote/protocol/mcp"
	"github.com/footnotehq/footnote/protocol/openai"
	"github.com/footnotehq/footnote/source/duckdb"
	"github.com/footnotehq/footnote/store/postgres"
	"github.com/footnotehq/footnote/web"
)

// API creates the HTTP endpoints, with the web app.
func (a *App) API() (*httpapi.Server, error) {
	sessions, err := a.sessions()
	if err != nil {
		return nil, err
	}
	var workspaces httpapi.Workspaces
	if a.workspaces != nil {
		workspaces = shown{a.workspaces}
	}
	tokens, err := a.tokens()
	if err != nil {
		return nil, err
	}
	statements := &generator{App: a}
	a.onClose(statements.close)
	open := limitsOfFiles(openFiles(), a.cfg.Limits)
	o := httpapi.Options{
		Protocols: a.protocols(), Queried: a.queried, Notices: a.notices,
		Usage: a.usage, Inbox: a.flagged, Proposals: a.newProposals(), Tests: &testRuns{App: a}, Ledger: a.ledger,
		Generator: statements, Workspaces: workspaces, Access: a.allowed(),
		Engine: a.engine, Log: a.deleting(), Hub: a.hub, Data: data{a}, Sessions: sessions, About: a.about(),
		Keys: a.cfg.Principals(), StoredKeys: a.ring,
		Consents: a.consents(), Tokens: tokens, NeedsKey: a.cfg.NeedsKey(),
		AllowOrigins: a.cfg.Origins, StoredOnDisconnect: a.cfg.StoredOnDisconnect,
		InputMaxChars: a.cfg.InputMaxChars, BodyLimit: a.cfg.BodyLimit, AnswerTimeout: a.cfg.HTTPTimeout,
		Ready: a.store.Ping, Scrape: a.metrics.Handler(), Logger: a.log, Metrics: a.metrics, Watch: a.watch(),
		Streams: open.streams, StreamsPerUser: open.perUser, Connections: open.connections,
	}
	for _, m := range a.modules {
		m.Serve(&o)
	}
	api, err := httpapi.New(o)
	if err != nil {
		return nil, err
	}
	return api, a.pages(api)
}

// sessions returns the session store: the database if servers share one, otherwise the data folder.
func (a *App) sessions() (httpapi.Sessions, error) {
	if p, ok := a.store.(*postgres.Store); ok {
		return session.NewShared(p), nil
	}
	return session.Open(a.cfg.Data)
}

// about returns the information that the page shows about this server.
func (a *App) about() httpapi.About {
	about := httpapi.About{Version: a.version, Offline: a.cfg.Upstream == config.Offline,
		QuerySecs: a.cfg.Limits.QueryTime.Seconds()}
	about.Features.DuckDB = duckdb.Available
	_, about.Features.Uploads = a.catalog.Uploads()
	about.Features.Coder = a.workspaces != nil
	if about.Offline {
		about.OfflineHint = "No model is connected: the offline planner answers questions about the data by fixed " +
			"rules. To connect one, set ANTHROPIC_API_KEY and start again."
	}
	return about
}

// pages adds the web app to the HTTP server. Its files need no key: they contain only the program.
func (a *App) pages(api *httpapi.Server) error {
	site, err := web.Open()
	if err != nil {
		return err
	}
	if !web.Built() {
		a.log.Warn("built without Node.js: this program has no web app")
	}
	api.MountPages(web.Patterns(), site, http.HandlerFunc(site.NotFound))
	return nil
}

// protocols lists the protocols that the server speaks, besides those of modules. Adding one takes a line here.
func (a *App) protocols() []protocol.Protocol {
	a.mcp = mcp.New(a.mcpSettings())
	return []protocol.Protocol{
		openai.New(openai.Settings{
			InputMaxChars: a.cfg.InputMaxChars, OnDisconnect: a.cfg.OnDisconnect, SideJob: a.sideJob,
		}),
		aisdk.New(),
		analyze.New(),
		chatv2.New(chatv2.Settings{OnBusy: a.cfg.OnBusy}),
		a.mcp,
	}
}
