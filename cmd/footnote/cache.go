package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/cache"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/rowfilter"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/tool/own"
)

// openCache makes the cache of tools' results. The terminal's, which has a folder,
// is its own: its sources are on this machine.
func (a *app) openCache(folder string) error {
	if !caches(a.cfg) {
		return nil
	}
	var backend cache.Backend
	var err error
	if a.cfg.Redis != "" && folder == "" {
		backend, err = cache.OpenRedis(string(a.cfg.Redis), cache.RedisOptions{})
	} else {
		backend, err = cache.NewMemory(a.cfg.Cache.Bytes, a.cfg.Cache.Entries)
	}
	if err != nil {
		return fmt.Errorf("open the cache: %w", err)
	}
	a.cache = cache.New(cache.Options{Backend: backend, Sources: a.cacheSource, Scope: a.cacheScope(), Logger: a.log, Metrics: a.metrics})
	a.later(a.cache.Close)
	return nil
}

// caches reports whether results of any tool are kept.
func caches(c config.Config) bool {
	return c.Cache.TTL > 0 || len(c.Cache.Tools) > 0 || slices.ContainsFunc(c.Tools.Own, func(t config.OwnTool) bool { return t.TTL != nil })
}

// checkCache looks whether results can be kept where they are to be.
func checkCache(ctx context.Context, c config.Config) check {
	switch {
	case !caches(c):
		return check{"cache", stateOK, "off: each call of a tool runs its statement"}
	case c.Redis == "":
		return check{"cache", stateOK, fmt.Sprintf("in memory, %d MB and %d results at most, for %v", c.Cache.Bytes>>20, c.Cache.Entries, c.Cache.TTL)}
	}
	backend, err := cache.OpenRedis(string(c.Redis), cache.RedisOptions{})
	if err != nil {
		return check{"cache", stateFail, err.Error()}
	}
	defer backend.Close()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if _, err := backend.Get(ctx, "doctor"); err != nil {
		return check{"cache", stateWarn, "Redis does not answer, so each call of a tool runs its statement: " + config.Redact(err.Error())}
	}
	return check{"cache", stateOK, fmt.Sprintf("in Redis, for %v", c.Cache.TTL)}
}

// cacheSource is a source as a key of the cache names it. Files have versions that
// change with them, and are others on another machine.
func (a *app) cacheSource(ctx context.Context, name string) (cache.Source, error) {
	src, err := a.catalog.Source(name)
	if err != nil {
		return cache.Source{}, err
	}
	version, err := src.Version(ctx)
	if err != nil {
		return cache.Source{}, err
	}
	address := config.Redact(a.cfg.Sources[name]) // entries hold their keys, and no password
	if abs, err := filepath.Abs(address); err == nil && !strings.Contains(address, "://") {
		address = abs
	}
	return cache.Source{Name: name, Address: src.Dialect() + " " + address, Version: version}, nil
}

// cacheScope is what of a principal decides on the rows it sees. The policies of a
// database with policies of its own may look at the user, and so may filters, so that
// there everybody has results of their own.
func (a *app) cacheScope() func(footnote.Principal) []string {
	for _, address := range a.cfg.Sources {
		if scheme, _, ok := strings.Cut(address, ":"); ok && (scheme == "postgres" || scheme == "postgresql") {
			return nil
		}
	}
	for _, filters := range a.cfg.Filters {
		if rules, err := rowfilter.Parse(filters); err != nil || rules.Asks("user") {
			return nil
		}
	}
	return cache.RolesAndAttributes
}

// remembered are the tools of ours whose results are cached: they run statements.
// What the others tell of a source, its schema, is kept by the source itself.
var remembered = []string{"run_query", "get_column_stats", "get_value_distribution"}

// cached puts the cache before those tools.
func (a *app) cached(tools []agent.Tool) []agent.Tool {
	if a.cache == nil {
		return tools
	}
	for i, t := range tools {
		if name := t.Spec().Name; slices.Contains(remembered, name) {
			tools[i] = a.cache.Tool(t, cache.Rule{TTL: a.cfg.Cache.Of(name), Config: a.cacheConfig(), Remarks: []string{"thought"}})
		}
	}
	return tools
}

// cacheConfig is what results follow from beside their call.
func (a *app) cacheConfig() string { return fmt.Sprintf("%s %+v", version, a.cfg.Limits) }

// ownTools adds the tools of the configuration.
func (a *app) ownTools(tools []agent.Tool) ([]agent.Tool, error) {
	for _, c := range a.cfg.Tools.Own {
		if slices.ContainsFunc(tools, func(t agent.Tool) bool { return t.Spec().Name == c.Name }) {
			return nil, fmt.Errorf("tools.own: there is a tool %s already", c.Name)
		}
		if _, ok := a.cfg.Sources[c.Source]; !ok {
			return nil, fmt.Errorf("tools.own: %s is for the source %q, which is not configured", c.Name, c.Source)
		}
		o := own.Options{Name: c.Name, Description: c.Description, Source: c.Source, SQL: c.SQL, Sources: a.catalog}
		for _, p := range c.Parameters {
			o.Parameters = append(o.Parameters, own.Parameter(p))
		}
		t, err := own.New(o)
		if err != nil {
			return nil, fmt.Errorf("tools.own: %w", err)
		}
		tools = append(tools, a.ownCached(t, c))
	}
	return tools, nil
}

// ownCached puts the cache before a tool of the configuration.
func (a *app) ownCached(t agent.Tool, c config.OwnTool) agent.Tool {
	if a.cache == nil {
		return t
	}
	ttl := a.cfg.Cache.Of(c.Name)
	if c.TTL != nil {
		ttl = *c.TTL
	}
	return a.cache.Tool(t, cache.Rule{TTL: ttl, Source: c.Source, Config: a.cacheConfig() + "\n" + c.SQL, Remarks: []string{own.Thought}})
}

// forgetful is the log, in which a conversation that is deleted takes what it left
// in the cache with it.
type forgetful struct {
	store.Store
	app *app
}

// Delete implements store.Store.
func (s forgetful) Delete(ctx context.Context, id string) error {
	if err := s.Store.Delete(ctx, id); err != nil {
		return err
	}
	s.app.forget(ctx, id)
	return nil
}

// forget removes what a deleted conversation left in the cache. A cache that cannot
// be reached must not keep a conversation from being deleted: there, entries go when
// their time is over.
func (a *app) forget(ctx context.Context, conversation string) {
	if a.cache == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := a.cache.Forget(ctx, conversation); err != nil {
		a.log.WarnContext(ctx, "cached rows of a deleted conversation stay until their time is over", "conversation", conversation, "err", err)
	}
}
