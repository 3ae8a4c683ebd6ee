package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/cite"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/hub"
	"github.com/footnotehq/footnote/model/claude"
	"github.com/footnotehq/footnote/model/offline"
	"github.com/footnotehq/footnote/model/price"
	"github.com/footnotehq/footnote/prompt"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/sqlite"
	"github.com/footnotehq/footnote/telemetry"
	"github.com/footnotehq/footnote/tool/chart"
	"github.com/footnotehq/footnote/tool/profile"
	"github.com/footnotehq/footnote/tool/query"
	"github.com/footnotehq/footnote/tool/schema"
)

// app is everything behind the doors of one process.
type app struct {
	cfg       config.Config
	log       *slog.Logger
	sources   sources
	planner   *offline.Planner
	model     agent.Model
	check     func(context.Context) error // asks the model's server whether it is there
	store     store.Store
	hub       *hub.Hub
	metrics   *telemetry.Metrics
	assistant *agent.Assistant
	engine    *agent.Engine
	opened    atomic.Pointer[opened]
	closers   []func() error
}

// newApp opens what the configuration names. Folder is where the log is kept,
// within the data folder. Ended is called after each run; it may be nil.
func newApp(ctx context.Context, c config.Config, folder string, log *slog.Logger, progress func(source, table string, rows int64), ended func()) (_ *app, err error) {
	a := &app{cfg: c, log: log, hub: hub.New()}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close(ctx))
		}
	}()
	if err := os.MkdirAll(filepath.Join(c.Data, folder), 0o700); err != nil {
		return nil, &footnote.Error{Code: footnote.StorageUnavailable, Message: fmt.Sprintf("The data folder %s cannot be made.", c.Data), Err: err}
	}
	if a.metrics, err = telemetry.New(); err != nil {
		return nil, err
	}
	a.later(func() error { return a.metrics.Close(context.WithoutCancel(ctx)) })
	opened, err := sqlite.Open(ctx, filepath.Join(c.Data, folder, "footnote.db"), sqlite.Options{})
	if err != nil {
		return nil, fmt.Errorf("data folder %s: %w", c.Data, err)
	}
	a.store = opened
	a.later(opened.Close)
	if a.sources, err = openSources(ctx, c, log, progress); err != nil {
		return nil, err
	}
	a.later(a.sources.close)
	if err := a.connect(); err != nil {
		return nil, err
	}
	if a.assistant, err = a.analyst(); err != nil {
		return nil, err
	}
	tools := a.assistant.Tools
	specs := make([]agent.Spec, len(tools))
	for i, t := range tools {
		specs[i] = t.Spec()
	}
	validate, err := schema.Validator(specs)
	if err != nil {
		return nil, fmt.Errorf("tool schemas: %w", err)
	}
	a.engine, err = agent.New(agent.Options{
		Log: a.store, Hub: a.hub, Assistants: []*agent.Assistant{a.assistant},
		Resolve: resolve, Validate: validate,
		Metrics: watched{a.metrics, ended}, Logger: log,
	})
	return a, err
}

// watched tells somebody when a run has ended.
type watched struct {
	*telemetry.Metrics
	ended func()
}

// RunEnded implements agent.Metrics.
func (w watched) RunEnded(assistant, outcome string, d time.Duration) {
	w.Metrics.RunEnded(assistant, outcome, d)
	if w.ended != nil {
		w.ended()
	}
}

// later adds something to close, in reverse order.
func (a *app) later(f func() error) { a.closers = append(a.closers, f) }

// close ends the running work at once and closes everything. drain comes first
// where there is time.
func (a *app) close(ctx context.Context) error {
	if a.engine != nil {
		now, cancel := context.WithCancel(context.WithoutCancel(ctx))
		cancel()
		a.engine.Drain(now)
	}
	a.hub.Close()
	var errs []error
	for i := len(a.closers) - 1; i >= 0; i-- {
		errs = append(errs, a.closers[i]())
	}
	a.closers = nil
	return errors.Join(errs...)
}

// connect makes the model the configuration asks for.
func (a *app) connect() error {
	a.planner = offline.New(offline.Options{Catalog: a.sources})
	if a.cfg.Upstream == config.Offline {
		a.model = a.planner
		a.check = func(context.Context) error { return nil }
		return nil
	}
	var override []byte
	if a.cfg.Prices != "" {
		var err error
		if override, err = os.ReadFile(a.cfg.Prices); err != nil {
			return fmt.Errorf("prices: %w", err)
		}
	}
	prices, err := price.Load(override)
	if err != nil {
		return fmt.Errorf("prices is %q: %w", a.cfg.Prices, err)
	}
	m, err := claude.New(claude.Options{
		Profile: a.cfg.Upstream, BaseURL: a.cfg.BaseURL, APIKey: claude.Secret(a.cfg.APIKey), Model: a.cfg.Model,
		Fallbacks: a.cfg.Fallbacks, MaxTokens: a.cfg.MaxTokens, Effort: a.cfg.Effort,
		Idle: a.cfg.ModelIdleTimeout, Prices: prices, Logger: a.log,
	})
	if err != nil {
		return err
	}
	a.model, a.check = m, m.Check
	a.later(func() error { m.Close(); return nil })
	return nil
}

// analyst is the assistant that answers from the sources.
func (a *app) analyst() (*agent.Assistant, error) {
	var tools []agent.Tool
	tools = append(tools, query.New(query.Options{Sources: a.sources})...)
	tools = append(tools, profile.New(profile.Options{Sources: a.sources})...)
	tools = append(tools, chart.New())
	c := a.cfg
	return &agent.Assistant{
		Name: "analyst", Aliases: []string{"claude-da/analyst"},
		Model: a.model, ModelName: c.Model, Tools: tools,
		Opening: a.opening,
		Policy:  agent.Policy{Offer: c.Tools.Offer, Approve: c.Tools.Approve, Deny: c.Tools.Deny},
		Limits: agent.Limits{
			Turns: c.MaxTurns, MicroUSD: int64(c.MaxBudgetUSD * 1e6), Run: c.RunTimeout, Tool: c.ToolTimeout, InputSize: c.InputMaxChars,
		},
		Created: time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC),
	}, nil
}

// opening is what a new conversation is frozen with: the rules, and the schema as
// it is now. Conversations that begin with the same schema share the bytes.
func (a *app) opening(ctx context.Context, _ footnote.Principal) (json.RawMessage, []string, error) {
	names := a.sources.names()
	described := make([]prompt.Source, 0, len(names))
	version, known := "", true
	for _, name := range names {
		src := a.sources[name]
		s, err := src.Schema(ctx)
		if err != nil {
			return nil, nil, err
		}
		described = append(described, prompt.Source{Name: name, Dialect: src.Dialect(), Schema: s})
		version += s.Version + "\x00"
		known = known && s.Version != ""
	}
	if last := a.opened.Load(); known && last != nil && last.version == version {
		return last.system, last.names, nil
	}
	fresh := &opened{version: version, names: names, system: prompt.Blocks(prompt.Build(prompt.Options{Sources: described, Charts: true}))}
	a.opened.Store(fresh)
	return fresh.system, fresh.names, nil
}

// opened is the newest opening and the versions of the schemas it describes.
type opened struct {
	version string
	names   []string
	system  json.RawMessage
}

// resolve finds the footnotes of an answer. What the planner vouches for is
// checked like everything else.
func resolve(text, question string, tables []agent.Table, hints []footnote.Cite) ([]footnote.Cite, []footnote.Unresolved) {
	results := make([]cite.Table, len(tables))
	for i, t := range tables {
		results[i] = cite.Table{
			ID: t.ID, SQL: t.SQL, RowCount: t.RowCount,
			Result: footnote.Result{Columns: t.Columns, Rows: t.Rows, Truncated: t.Truncated},
		}
	}
	found, open := cite.Resolve(text, results, question)
	if len(hints) == 0 {
		return found, open
	}
	return merge(text, results, found, open, hints)
}

// merge prefers the footnotes the model vouches for, where they hold.
func merge(text string, results []cite.Table, found []footnote.Cite, open []footnote.Unresolved, hints []footnote.Cite) ([]footnote.Cite, []footnote.Unresolved) {
	wrong := map[[2]int]bool{}
	for _, p := range cite.Verify(text, hints, results) {
		wrong[[2]int{p.Cite.Start, p.Cite.End}] = true
	}
	overlaps := func(start, end int) bool {
		for _, h := range hints {
			if start < h.End && h.Start < end && !wrong[[2]int{h.Start, h.End}] {
				return true
			}
		}
		return false
	}
	cites := []footnote.Cite{}
	for _, h := range hints {
		if !wrong[[2]int{h.Start, h.End}] {
			cites = append(cites, h)
		}
	}
	for _, f := range found {
		if !overlaps(f.Start, f.End) {
			cites = append(cites, f)
		}
	}
	var left []footnote.Unresolved
	for _, u := range open {
		if !overlaps(u.Start, u.End) {
			left = append(left, u)
		}
	}
	sortCites(cites)
	return cites, left
}

// describe says in one line what answers questions here.
func (a *app) describe() string {
	if a.cfg.Upstream == config.Offline {
		return "the offline planner (no key is set)"
	}
	return strings.TrimSpace(a.cfg.Model + " through " + a.cfg.BaseURL)
}
