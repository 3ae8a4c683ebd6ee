package app

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/doctor"
	"github.com/footnotehq/footnote/internal/rowfilter"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/cache"
	"github.com/footnotehq/footnote/tool/own"
	"github.com/footnotehq/footnote/tool/search"
)

// openCache opens the cache of tools' results. The terminal, which passes a folder, has its own cache: its sources
// are on this machine.
func (a *App) openCache(folder string) error {
	if !caches(a.cfg) {
		return nil
	}
	var backend cache.Backend
	var err error
	if a.cfg.Redis != "" && folder == "" {
		backend, err = openRedis(a.cfg)
	} else {
		backend, err = cache.NewMemory(a.cfg.Cache.Bytes, a.cfg.Cache.Entries)
	}
	if err != nil {
		return fmt.Errorf("open the cache: %w", err)
	}
	a.cache = cache.New(cache.Options{
		Backend: backend, Sources: a.cacheSource, Scope: a.cacheScope(), Logger: a.log, Metrics: a.metrics,
	})
	a.onClose(a.cache.Close)
	return nil
}

// openRedis opens the cache in Redis.
func openRedis(c config.Config) (cache.Backend, error) {
	backend, err := cache.OpenRedis(string(c.Redis), cache.RedisOptions{})
	if err != nil || c.Cache.Secret == "" {
		return backend, err
	}
	return cache.Sealed(backend, string(c.Cache.Secret))
}

// caches reports whether the results of any tool are cached.
func caches(c config.Config) bool {
	return c.Cache.TTL > 0 || len(c.Cache.Tools) > 0 ||
		slices.ContainsFunc(c.Tools.Own, func(t config.OwnTool) bool { return t.TTL != nil })
}

// checkCache checks that the configured cache can be used.
func checkCache(ctx context.Context, c config.Config, r *doctor.Report) {
	switch {
	case !caches(c):
		r.OK("cache", "off: each tool call runs its statement")
		return
	case c.Redis == "":
		r.OK("cache", fmt.Sprintf("in memory, up to %d MB and %d results, for %v", c.Cache.Bytes>>20, c.Cache.Entries,
			c.Cache.TTL))
		return
	case r.Skips(ctx, "cache", string(c.Redis), ""):
		return
	}
	backend, err := cache.OpenRedis(string(c.Redis), cache.RedisOptions{})
	if err != nil {
		r.Fail("cache", err.Error())
		return
	}
	defer backend.Close()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if _, err := backend.Get(ctx, "doctor"); err != nil {
		r.Warn("cache", "Redis does not answer, so each tool call runs its statement: "+config.Redact(err.Error()))
		return
	}
	where := "in Redis"
	if c.Cache.Secret != "" {
		where = "encrypted in Redis"
	}
	r.OK("cache", fmt.Sprintf("%s, for %v", where, c.Cache.TTL))
}

// cacheSource returns the cache key of a source. A file has a version that changes with its content; the same path on
// another machine is another source.
func (a *App) cacheSource(ctx context.Context, name string) (cache.Source, error) {
	src, err := a.catalog.Source(name)
	if err != nil {
		return cache.Source{}, err
	}
	version, err := src.Version(ctx)
	if err != nil {
		return cache.Source{}, err
	}
	address := config.Redact(a.cfg.Sources[name]) // entries contain their keys, which must not contain passwords
	if abs, err := filepath.Abs(address); err == nil && !strings.Contains(address, "://") {
		address = abs
	}
	return cache.Source{Name: name, Address: src.Dialect().Name + " " + address, Version: version}, nil
}

// cacheScope returns the function that lists what decides which rows a principal sees: its roles and attributes. It
// returns nil, so that each user has separate entries, if the rows may also depend on the user: because of the database
// or of a filter.
func (a *App) cacheScope() func(footnote.Principal) []string {
	if a.rowsPerUser {
		return nil
	}
	for _, filters := range a.cfg.Filters {
		if rules, err := rowfilter.Parse(filters); err != nil || rules.Asks("user") {
			return nil
		}
	}
	return cache.RolesAndAttributes
}

// cached wraps the cacheable tools with the cache.
func (a *App) cached(tools []tool.Tool) []tool.Tool {
	if a.cache == nil {
		return tools
	}
	for i, t := range tools {
		if s := t.Spec(); s.Cacheable {
			tools[i] = a.cache.Tool(t, a.cacheRule(s.Name))
		}
	}
	return tools
}

// cacheRule returns how results of a tool are cached.
func (a *App) cacheRule(name string) cache.Rule {
	rule := cache.Rule{TTL: a.cfg.Cache.Of(name), Config: a.cacheConfig(), Remarks: []string{own.Thought}}
	for _, c := range a.cfg.Tools.Own {
		if c.Name != name {
			continue
		}
		rule.Source, rule.Config = c.Source, rule.Config+"\n"+c.SQL
		if c.TTL != nil {
			rule.TTL = *c.TTL
		}
	}
	if tables := a.cfg.Tools.Search; name == search.Name {
		rule.Config = fmt.Sprintf("%s %+v", rule.Config, tables)
		if first := tables[0].Source; !slices.ContainsFunc(tables, func(t search.Table) bool {
			return t.Source != first
		}) {
			rule.Source = first // otherwise any source of the conversation could be meant
		}
	}
	return rule
}

// cacheConfig returns the settings that a result depends on besides its call.
func (a *App) cacheConfig() string { return fmt.Sprintf("%s %+v", a.version, a.cfg.Limits) }

// ownTools adds the configured tools.
func (a *App) ownTools(tools []tool.Tool) ([]tool.Tool, error) {
	for _, c := range a.cfg.Tools.Own {
		if slices.ContainsFunc(tools, func(t tool.Tool) bool { return t.Spec().Name == c.Name }) {
			return nil, fmt.Errorf("tools.own: a tool named %s exists already", c.Name)
		}
		if _, ok := a.cfg.Sources[c.Source]; !ok {
			return nil, fmt.Errorf("tools.own: %s is for the source %q, which is not configured", c.Name, c.Source)
		}
		t, err := own.New(own.Options{
			Name: c.Name, Description: c.Description, Source: c.Source, SQL: c.SQL, Parameters: c.Parameters,
			Sources: a.catalog,
		})
		if err != nil {
			return nil, fmt.Errorf("tools.own: %w", err)
		}
		tools = append(tools, t)
	}
	return tools, nil
}

// cacheForgetter is a log that also deletes a conversation's cache entries when it deletes the conversation.
type cacheForgetter struct {
	store.Store
	app *App
}

// Delete implements store.Store.
func (s cacheForgetter) Delete(ctx context.Context, id string) error {
	if err := s.Store.Delete(ctx, id); err != nil {
		return err
	}
	s.app.forget(ctx, id)
	return nil
}

// forget removes the cache entries of a deleted conversation. An unreachable cache does not block the deletion: its
// entries then expire by themselves.
func (a *App) forget(ctx context.Context, conversation string) {
	if a.cache == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := a.cache.Forget(ctx, conversation); err != nil {
		a.log.WarnContext(ctx, "cached rows of a deleted conversation stay until they expire", "conversation",
			conversation, "err", err)
	}
}
