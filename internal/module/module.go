// Package module defines optional parts of the program, without which the program also builds and runs. Only the list
// of modules in cmd/footnote names them.
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
	Check func(ctx context.Context, c config.Config, r *doctor.Report)
}

// Env holds the parts of the program that a module may use.
type Env struct {
	Config config.Config
	Log    store.Store
	Hub    *hub.Hub
	Tiers  []agent.Tier // for its assistants
	// Opening returns the Opening of an assistant without sources: its rules follow the company's glossary. A question
	// about a source gets the message refusal.
	Opening func(rules, refusal string) func(context.Context, footnote.Principal, []string) (agent.Opening, error)
	Logger  *slog.Logger
}

// Opened is a module in use.
type Opened struct {
	Assistants []*agent.Assistant
	// Serve adds what the module serves to the options of the HTTP server.
	Serve func(o *httpapi.Options)
	// Document reports whether a log belongs to the module: it is kept as long as its user has
	// conversations.
	Document func(head footnote.Stream) bool
	// Forget deletes what a user has left in the module. It is called again until it deletes nothing.
	Forget func(ctx context.Context, p footnote.Principal) ([]Deleted, error)
	Close  func() error
}

// Deleted is how many things of one kind were deleted.
type Deleted struct {
	Count        int
	Before, Noun string // "drawings on " and "chart" for "drawings on 2 charts"
}

func (d Deleted) String() string { return d.Before + doctor.Counted(d.Count, d.Noun) }
