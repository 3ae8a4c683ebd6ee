package app

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/doctor"
	"github.com/footnotehq/footnote/knowledge"
	"github.com/footnotehq/footnote/source"
)

// openKnowledge reads the folder of the company's context and watches it until Close.
func (a *App) openKnowledge(ctx context.Context) error {
	c := a.cfg // the watcher must not read a.cfg, which changes while the program starts
	if c.Context == "" {
		return nil
	}
	names := namesOf(c)
	w, err := knowledge.Watch(ctx, c.Context, knowledge.WatchOptions{
		Check: func(ctx context.Context, k *knowledge.Context) error { return a.checkTables(ctx, k, names) },
		Changed: func(k *knowledge.Context, fault error) {
			a.metrics.ContextFaulty(fault != nil)
			logChange(a.log, c.Context, k, fault)
		},
	})
	if err != nil {
		return contextError(c.Context, err)
	}
	a.knowledge = w
	for _, line := range unused(w.Current().Verified, a.cfg.Sources, time.Now()) {
		a.log.WarnContext(ctx, "a verified query cannot be used", "why", line)
	}
	a.onClose(w.Close)
	return nil
}

// contextError says which folder is faulty.
func contextError(folder string, err error) error {
	return fmt.Errorf("context is %q, and the folder cannot be used: %w", folder, err)
}

// logChange logs a change of the context folder.
func logChange(log *slog.Logger, folder string, k *knowledge.Context, fault error) {
	if fault != nil {
		log.Error("the context folder is faulty; the last good version stays in use", "folder", folder,
			"digest", k.Digest, "err", fault)
		return
	}
	log.Info("the context folder has changed; new conversations use it", "folder", folder, "digest", k.Digest)
}

// notices returns what administrators should know: what is wrong with the context folder.
func (a *App) notices() []string {
	if a.knowledge == nil {
		return nil
	}
	if err := a.knowledge.Fault(); err != nil {
		return []string{"The context folder is faulty, so its last good version stays in use. " + err.Error()}
	}
	return nil
}

// checkContext reads the context folder and checks it against the sources that could be opened.
func checkContext(ctx context.Context, c config.Config, all sources, r *doctor.Report) {
	if c.Context == "" {
		return
	}
	words, err := knowledge.Load(c.Context)
	if faults, ok := knowledge.IsFault(err); ok {
		for _, f := range faults[:min(len(faults), maxLoggedRemarks)] {
			r.Fail("context", f.String())
		}
		return
	} else if err != nil {
		r.Fail("context", err.Error())
		return
	}
	remarks, err := fits(ctx, words, namesOf(c), all)
	if faults, ok := knowledge.IsFault(err); ok {
		for _, f := range faults[:min(len(faults), maxLoggedRemarks)] {
			r.Fail("context", f.String())
		}
		return
	} else if err != nil {
		r.Fail("context", err.Error())
		return
	}
	r.OK("context", fmt.Sprintf("%s: a glossary of %d bytes, %s, %s; version %.15s", c.Context, len(words.Glossary),
		doctor.Counted(len(words.Model.Datasets), "dataset"), doctor.Counted(len(words.Model.Metrics), "metric"),
		words.Digest))
	for _, f := range remarks[:min(len(remarks), maxLoggedRemarks)] {
		r.Warn("context", f.String())
	}
}

// words returns what the company says about its data; an empty Context if it says nothing.
func (a *App) words() *knowledge.Context {
	if a.knowledge == nil {
		return &knowledge.Context{}
	}
	return a.knowledge.Current()
}

// hiding returns what is hidden of each configured source, or nil without a context. Call it after openKnowledge.
func (a *App) hiding(c config.Config) func(name string) source.Hiding {
	if a.knowledge == nil {
		return nil
	}
	names := namesOf(c)
	return func(name string) source.Hiding {
		return knowledge.Hiding{Source: name, Sources: names, Current: a.knowledge.Current}
	}
}

func namesOf(c config.Config) []string { return slices.Sorted(maps.Keys(c.Sources)) }

// contextOf reads the context folder as it is now, for a command that runs briefly. It is empty without one.
func contextOf(c config.Config) (*knowledge.Context, error) {
	if c.Context == "" {
		return &knowledge.Context{}, nil
	}
	words, err := knowledge.Load(c.Context)
	if err != nil {
		return nil, contextError(c.Context, err)
	}
	return words, nil
}

// hidingOf returns what a context hides of each source, or nil without a context.
func hidingOf(c config.Config, words *knowledge.Context) func(name string) source.Hiding {
	if c.Context == "" {
		return nil
	}
	return func(name string) source.Hiding {
		return knowledge.Hiding{
			Source: name, Sources: namesOf(c), Current: func() *knowledge.Context { return words },
		}
	}
}

// checkKnowledge checks the context in use against the sources, once they are open, and logs what does not fit.
func (a *App) checkKnowledge(ctx context.Context) error {
	if a.knowledge == nil {
		return nil
	}
	a.checkable.Store(&a.sources)
	remarks, err := fits(ctx, a.words(), namesOf(a.cfg), a.sources)
	if err != nil {
		return contextError(a.cfg.Context, err)
	}
	for _, r := range remarks[:min(len(remarks), maxLoggedRemarks)] {
		a.log.WarnContext(ctx, "the context does not fit the sources", "what", r.String())
	}
	return nil
}

const maxLoggedRemarks = 10

// checkTables checks a new version of the context against the sources. Before they are open, there is nothing to check.
func (a *App) checkTables(ctx context.Context, c *knowledge.Context, names []string) error {
	all := a.checkable.Load()
	if all == nil {
		return nil
	}
	_, err := fits(ctx, c, names, *all)
	return err
}

// fits checks a context against the schemas of the sources that can be read.
func fits(ctx context.Context, c *knowledge.Context, names []string, all sources) ([]knowledge.Fault, error) {
	if len(c.Model.Datasets) == 0 {
		return nil, nil
	}
	ctx = source.Unhidden(ctx)
	schemas := map[string]source.Schema{}
	var mu sync.Mutex // guards schemas
	var group errgroup.Group
	group.SetLimit(4)
	for name, src := range all {
		group.Go(func() error {
			if s, err := src.Schema(ctx); err == nil { // a source that cannot be read is reported elsewhere
				mu.Lock()
				schemas[name] = s
				mu.Unlock()
			}
			return nil
		})
	}
	_ = group.Wait() // it never fails
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	remarks, err := c.CheckTables(names, schemas)
	if err != nil {
		return remarks, err
	}
	return remarks, nil
}
