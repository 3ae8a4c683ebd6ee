// Package app assembles the program from its configuration: New opens the sources, the store and the model, makes the
// tools and the assistants, and starts the engine; Serve runs the server; Close ends all of it. The commands are in
// cmd/footnote.
package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/agent/prompt"
	"github.com/footnotehq/footnote/audit"
	"github.com/footnotehq/footnote/cite"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/hub"
	"github.com/footnotehq/footnote/hub/relay"
	"github.com/footnotehq/footnote/internal/access"
	"github.com/footnotehq/footnote/internal/apikey"
	"github.com/footnotehq/footnote/internal/module"
	"github.com/footnotehq/footnote/internal/plainfile"
	"github.com/footnotehq/footnote/internal/telemetry"
	"github.com/footnotehq/footnote/knowledge"
	"github.com/footnotehq/footnote/knowledge/inbox"
	"github.com/footnotehq/footnote/ledger"
	"github.com/footnotehq/footnote/ledger/usage"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/model/claude"
	"github.com/footnotehq/footnote/model/offline"
	"github.com/footnotehq/footnote/model/price"
	"github.com/footnotehq/footnote/protocol/mcp"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/catalog"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/sqlite"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/cache"
	"github.com/footnotehq/footnote/tool/calculate"
	"github.com/footnotehq/footnote/tool/workspace"
)

// App is the assembled program: everything that the endpoints and commands of one process use. Close ends its
// goroutines and closes its resources.
type App struct {
	cfg         config.Config
	version     string
	out         io.Writer // of the audit's lines; nil when they go to a file alone
	log         *slog.Logger
	children    children
	calculator  calculate.Engine // nil without DuckDB
	sources     sources          // the configured ones
	rowsPerUser bool             // one of their engines has RowsPerUser
	catalog     *catalog.Catalog
	knowledge   *knowledge.Watcher      // nil when no context folder is configured
	checkable   atomic.Pointer[sources] // what a new version of the context is checked against; nil: not open yet
	verified    tool.Tool               // runs verified queries
	access      *access.Rules           // nil: everyone may use everything
	usage       *usage.Totals
	flagged     *inbox.Inbox // answers for administrators to look at
	ledger      *ledger.Ledger
	cache       *cache.Cache // results of tools; nil when caching is off
	planner     *offline.Planner
	model       model.Model
	check       func(context.Context) error // checks that the model's server responds
	store       store.Store
	hub         *hub.Hub
	metrics     *telemetry.Metrics
	traces      *telemetry.Traces // nil when runs are not traced
	assistants  []*agent.Assistant
	assistant   *agent.Assistant      // the default one
	workspaces  *workspace.Workspaces // nil when no folder is configured for them
	modules     []*module.Opened
	unconfined  error         // why the coder cannot run commands; nil when it can
	relay       *relay.Relay  // nil when no other server shares the store
	engine      *agent.Engine // nil when this process drives no runs
	ring        *apikey.Ring  // the API keys in the store
	opened      atomic.Pointer[opened]
	now         func() time.Time // nil: the store's
	wrap        func(model.Model) model.Model
	inbox       audit.Inbox  // for the audit: what the log does not hold
	audit       *audit.Audit // nil when this process drives no runs
	mcp         *mcp.Protocol
	closers     []func() error
}

// Options hold the settings that are not part of the configuration.
type Options struct {
	Version string
	// Folder is the folder of the conversations within the data folder, and File says how to open their file.
	Folder  string
	File    sqlite.Options
	Logger  *slog.Logger    // default: discards
	Modules []module.Module // the optional parts of the program
	// Progress is called while files load; it may be nil.
	Progress func(source, table string, rows int64)
	// Wrap replaces the model, for tests of answers: by one that records its calls, or that replays them. The wrapped
	// model writes no titles and summaries. It may be nil.
	Wrap func(model.Model) model.Model
	// Now is the clock of runs; default: that of the store.
	Now func() time.Time
	// Out receives the lines of the audit when log_output is stdout. If it is nil, they go to the audit file alone.
	Out io.Writer
}

// New opens everything the configuration names, and drives runs.
func New(ctx context.Context, c config.Config, o Options) (*App, error) {
	a, err := Open(ctx, c, o)
	if err != nil {
		return nil, err
	}
	if a.audit, err = a.newAudit(); err == nil {
		err = a.drive(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, a.Close(ctx))
	}
	return a, nil
}

// Open does the work of New for commands that drive no runs.
func Open(ctx context.Context, c config.Config, o Options) (_ *App, err error) {
	log, folder, how := cmp.Or(o.Logger, slog.New(slog.DiscardHandler)), o.Folder, o.File
	a := &App{cfg: c, version: o.Version, out: o.Out, log: log, hub: hub.New(), now: o.Now, wrap: o.Wrap}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close(ctx))
		}
	}()
	if err := os.MkdirAll(filepath.Join(c.Data, folder), 0o700); err != nil {
		return nil, folderError(c.Data, err)
	}
	a.metrics = telemetry.New(c.SlowResponse)
	how.Damaged = func(stream string, seq int64, reason string) {
		a.metrics.Unreadable()
		log.Error("cannot read a part of a conversation; skipping it", "conversation", stream, "event", seq, "err",
			reason)
	}
	how.Empty = func() {
		log.Warn("the data file is empty, so there are no conversations; if it held some, stop the server and "+
			"restore a backup", "file", DataFile(c, folder))
	}
	a.children = newChildren(c)
	a.onClose(a.children.close)
	if err := a.openKnowledge(ctx); err != nil {
		return nil, err
	}
	wait, err := a.openStore(ctx, folder, how, o.Progress)
	if err != nil {
		return nil, err
	}
	if c.Auth.Required, err = needsKey(ctx, c, folder, a.store); err != nil {
		return nil, err
	}
	a.cfg = c
	if a.usage, err = usage.Open(a.store, filepath.Join(c.Data, folder, "usage.json")); err != nil {
		return nil, err
	}
	if a.flagged, err = inbox.Open(a.store, filepath.Join(c.Data, folder, "inbox.json")); err != nil {
		return nil, err
	}
	counter, err := a.openCounter()
	if err != nil {
		return nil, err
	}
	a.ledger = a.newLedger(counter)
	a.calculator = a.children.calculator(c, log)
	if err := wait(); err != nil {
		return nil, err
	}
	if err := a.checkKnowledge(ctx); err != nil {
		return nil, err
	}
	if a.access, err = access.New(c.Access, a.sources.names()); err != nil {
		return nil, err
	}
	if a.catalog, err = openCatalog(c, a.access, a.sources, a.children.uploads(),
		filepath.Join(c.Data, folder, "uploads"), log); err != nil {
		return nil, err
	}
	a.onClose(a.catalog.Close)
	if err := a.openCache(folder); err != nil {
		return nil, err
	}
	if err := a.connect(); err != nil {
		return nil, err
	}
	if err := a.openModules(ctx, o.Modules); err != nil {
		return nil, err
	}
	if a.assistants, err = a.allAssistants(ctx); err != nil {
		return nil, err
	}
	a.assistant = a.assistants[0]
	return a, nil
}

// drive creates the engine.
func (a *App) drive(ctx context.Context) (err error) {
	tracer, now := a.tracer(ctx), a.now
	if now == nil {
		now = clock(a.store)
	}
	if err := a.openRelay(); err != nil {
		return err
	}
	a.ring = apikey.NewRing(a.store)
	a.engine, err = agent.New(agent.Options{
		Standing: func(ctx context.Context, key string) error { _, err := a.ring.PrincipalOf(ctx, key); return err },
		Log:      a.store, Hub: a.hub, Assistants: a.assistants, Resolve: resolve, Budget: a.ledger,
		Marks:   newMarks(a.cfg, a.metrics, a.log),
		Metrics: watched{a.metrics, a.audit}, Tracer: tracer, Logger: a.log, Shared: shared(a.store),
		Access: a.allowed(), Relay: a.publish(), Recall: a.cfg.Recall, Now: now, Refused: a.refused,
	})
	return err
}

// tracer returns the tracer for runs, or nil when traces are off.
func (a *App) tracer(ctx context.Context) agent.Tracer {
	c := a.cfg
	if c.Traces.Endpoint == "" {
		return nil
	}
	provider := map[string]string{config.Anthropic: "anthropic", config.Offline: "footnote"}[c.Upstream]
	a.traces = telemetry.NewTraces(telemetry.TraceOptions{
		Endpoint: c.Traces.Endpoint, Headers: c.Traces.Header(), Ratio: c.Traces.Ratio, Content: c.Traces.Content,
		Redact:   redactor(c),
		Provider: cmp.Or(provider, "anthropic_compatible"), Server: serverOf(c), Version: a.version, Logger: a.log,
	})
	a.onClose(func() error { return a.traces.Close(ctx) })
	return a.traces
}

// serverOf returns the address of the model's server.
func serverOf(c config.Config) string {
	if c.Upstream == config.Anthropic {
		return cmp.Or(c.BaseURL, claude.DefaultBaseURL)
	}
	return c.BaseURL
}

// allowed returns the access rules, or nil when there are none.
func (a *App) allowed() agent.Access {
	if a.access == nil {
		return nil
	}
	return a.access
}

// folderError explains why the data folder cannot be used, and how to fix it.
func folderError(folder string, err error) error {
	what := "cannot be created: this user may not write there. Create it first, or choose another with " +
		"--data."
	switch info, serr := os.Stat(folder); {
	case serr == nil && info.IsDir():
		what = "is not writable for this user. Change its permissions, or choose another with --data."
	case serr == nil || errors.Is(err, syscall.ENOTDIR):
		what = "cannot be created: there is a file of that name. Choose another with --data."
	}
	return &footnote.Error{
		Code:    footnote.StorageUnavailable,
		Message: fmt.Sprintf("The data folder %s %s", folder, what),
		Err:     err,
	}
}

// multipliers returns the weight of a token in each tier.
func multipliers(c config.Config) map[string]int64 {
	all := map[string]int64{}
	for _, t := range c.Tiers.List() {
		all[t.Name] = int64(t.Multiplier)
	}
	return all
}

// newLedger creates the ledger that enforces the configured limits.
func (a *App) newLedger(counter ledger.Counter) *ledger.Ledger {
	return ledger.New(ledger.Options{
		Store: a.store, Allow: allowances(a.cfg), Multipliers: multipliers(a.cfg), ToolPrices: toolPrices(a.cfg),
		Counter: counter, Wait: a.cfg.Limits.BudgetWait, Logger: a.log,
	})
}

// onClose registers a function for Close, which calls them in reverse order.
func (a *App) onClose(f func() error) { a.closers = append(a.closers, f) }

// Close ends the running work at once and closes everything. Serve lets the running answers end first.
func (a *App) Close(ctx context.Context) error {
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

// maxPrices is the maximum size of a price file, in bytes.
const maxPrices = 16 << 20

// connect creates the configured model, and wraps it.
func (a *App) connect() error {
	err := a.connectModel()
	if err != nil {
		return err
	}
	if a.wrap != nil {
		a.model = a.wrap(a.model)
	}
	a.model = offline.VerifiedFirst{Model: a.model, Planner: a.planner}
	return nil
}

func (a *App) connectModel() error {
	a.planner = offline.New(offline.Options{Catalog: a.catalog, Verified: a.verifiedQueries, Metrics: a.metricsFor})
	if a.cfg.Upstream == config.Offline {
		a.model = a.planner
		a.check = func(context.Context) error { return nil }
		return nil
	}
	var override []byte
	if a.cfg.Prices != "" {
		var err error
		if override, err = plainfile.Read(a.cfg.Prices, maxPrices); err != nil {
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
	a.onClose(func() error { m.Close(); return nil })
	return nil
}

// opening returns the frozen content of a new conversation: the rules, and the current schema. Conversations with the
// same schema share the bytes. The opening names unavailable sources; opening returns an error only if none is
// available.
func (a *App) opening(ctx context.Context, p footnote.Principal, asked []string) (agent.Opening, error) {
	ctx = footnote.WithPrincipal(ctx, p)
	chosen, err := a.catalog.Choose(p, asked)
	if err != nil {
		return agent.Opening{}, err
	}
	var described, unreadable []prompt.Source
	var failures []error
	words := a.words()
	verifies := len(words.Verified.All()) > 0
	model := words.Prompt(p)
	version, known := words.Digest+"\x00"+model+"\x00", true
	schemas := a.readSchemas(ctx, chosen)
	if ctx.Err() != nil {
		return agent.Opening{}, context.Cause(ctx)
	}
	for i, name := range chosen {
		dialect, s, err := schemas[i].dialect, schemas[i].schema, schemas[i].err
		if err != nil {
			a.log.WarnContext(ctx, "cannot read the schema of a source", "source", name, "err", err)
			failures = append(failures, unavailable(err))
			unreadable = append(unreadable, prompt.Source{Name: name, Dialect: dialect, Away: true})
			version += name + "\x00away\x00"
			continue
		}
		described = append(described, prompt.Source{Name: name, Dialect: dialect, Schema: s})
		version += name + "\x00" + s.Version + "\x00"
		known = known && s.Version != ""
	}
	if len(failures) > 0 && len(described) == 0 {
		return agent.Opening{}, failures[0]
	}
	if last := a.opened.Load(); known && last != nil && last.version == version {
		return last.Opening, nil
	}
	described = append(described, unreadable...)
	names := make([]string, len(described))
	for i, d := range described {
		names[i] = d.Name
	}
	fresh := &opened{version: version, Opening: agent.Opening{
		System: prompt.Blocks(prompt.Build(prompt.Options{
			Glossary: words.Glossary, Model: model, Sources: described, Charts: true, Results: a.calculator != nil,
			Verified: verifies,
		})),
		Sources: names, Context: words.Digest,
	}}
	if !verifies {
		fresh.Without = []string{a.verified.Spec().Name}
	}
	a.opened.Store(fresh)
	return fresh.Opening, nil
}

// schemaResult is the schema of one source when a conversation begins, or the error of reading it.
type schemaResult struct {
	dialect *source.Dialect
	schema  source.Schema
	err     error
}

// readSchemas reads the schemas of several sources. It limits the concurrency, because each upload has to be opened
// first.
func (a *App) readSchemas(ctx context.Context, names []string) []schemaResult {
	all := make([]schemaResult, len(names))
	var group errgroup.Group
	group.SetLimit(4)
	for i, name := range names {
		group.Go(func() error {
			src, err := a.catalog.Source(name)
			if err != nil {
				all[i].err = err
				return nil
			}
			all[i].dialect = src.Dialect()
			all[i].schema, all[i].err = src.Schema(ctx)
			return nil
		})
	}
	_ = group.Wait() // each result carries its own error
	return all
}

// unavailable converts the error of a source whose schema cannot be read. An error from the engine, such as a damaged
// file, makes the source unavailable like any other error.
func unavailable(err error) error {
	if bad, ok := errors.AsType[*source.Error](err); ok {
		return &footnote.Error{Code: footnote.DatabaseUnavailable, Message: bad.Reason, Err: bad}
	}
	return err
}

// opened caches the system prompt built for the current schema versions.
type opened struct {
	version string
	agent.Opening
}

// resolve finds the footnotes of an answer. It checks those that the model proposed, by marks or otherwise, like all
// others.
func resolve(d agent.Draft) (r agent.Resolved) {
	var marks cite.Marks
	r.Cites, r.Unresolved, marks = cite.ResolveMarked(d.Text, d.Tables, d.Question, d.Marks)
	r.MarksHeld, r.MarksBroken = marks.Held, marks.Broken
	if len(d.Hints) > 0 {
		r.Cites, r.Unresolved = merge(d.Text, d.Tables, r.Cites, r.Unresolved, d.Hints)
	}
	return r
}

// merge adds hints, the footnotes proposed by the model, and prefers them where they are correct.
func merge(text string, tables []footnote.Table, found []footnote.Cite, open []footnote.Unresolved,
	hints []footnote.Cite) ([]footnote.Cite, []footnote.Unresolved) {
	wrong := map[[2]int]bool{}
	for _, p := range cite.Verify(text, hints, tables) {
		wrong[[2]int{p.Cite.Start, p.Cite.End}] = true
	}
	own := slices.Clone(hints) // not nil: merge is called with hints
	own = slices.DeleteFunc(own, func(h footnote.Cite) bool { return wrong[[2]int{h.Start, h.End}] })
	overlaps := func(start, end int) bool {
		return slices.ContainsFunc(own, func(h footnote.Cite) bool { return start < h.End && h.Start < end })
	}
	found = slices.DeleteFunc(found, func(f footnote.Cite) bool { return overlaps(f.Start, f.End) })
	open = slices.DeleteFunc(open, func(u footnote.Unresolved) bool { return overlaps(u.Start, u.End) })
	cites := append(own, found...)
	slices.SortFunc(cites, func(a, b footnote.Cite) int { return a.Start - b.Start })
	return cites, open
}

// describe returns one line that names the model answering questions here.
func (a *App) describe() string {
	if a.cfg.Upstream == config.Offline {
		return "the offline planner (no key is set)"
	}
	return a.cfg.Model + " through " + config.Redact(serverOf(a.cfg))
}

// openModules opens the optional parts of the program.
func (a *App) openModules(ctx context.Context, list []module.Module) error {
	for _, m := range list {
		opened, err := m.Open(ctx, module.Env{
			Config: a.cfg, Log: a.store, Hub: a.hub, Tiers: a.tiers(), Opening: a.fixed, Logger: a.log,
		})
		if err != nil {
			return err
		}
		a.modules = append(a.modules, opened)
		a.onClose(opened.Close)
	}
	return nil
}

// Engine returns the engine that drives runs, or nil if the app was created with Open instead of New.
func (a *App) Engine() *agent.Engine { return a.engine }

// Store returns the store.
func (a *App) Store() store.Store { return a.store }
