// Package module says what an optional part of the program is: one that the program also builds and runs without. Only
// the list of modules in cmd/footnote names them.
package module

import (
	"context"
	"log/slog"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/httpapi"
	"github.com/footnotehq/footnote/hub"
	"github.com/footnotehq/footnote/internal/doctor"
	"github.com/footnotehq/footnote/store"
)

// Module is an optional part of the program.
type Module struct {
	// Open opens what the configuration names for the module.
	Open func(ctx context.Context, e Env) (*Opened, error)
	// Check checks it for footnote doctor.
	Check func(ctx context.Context, c config.Config, s doctor.Scope) []doctor.Check
}

// Env is what a module may use of the program.
type Env struct {
	Config config.Config
	Log    store.Store
	Hub    *hub.Hub
	Tiers  []agent.Tier // for its assistants
	Logger *slog.Logger
}

// Opened is a module in use.
type Opened struct {
	Assistants []*agent.Assistant
	// Serve adds what the module serves to the options of the HTTP server.
	Serve func(o *httpapi.Options)
	// Document reports whether a log belongs to the module: it is kept as long as its user has
	// conversations.
	Document func(head footnote.Stream) bool
	// Forget deletes what a user has left in the module, and returns in words how much that was.
	Forget func(ctx context.Context, p footnote.Principal) (deleted []string, err error)
	Close  func() error
}
