package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/doctor"
	"github.com/footnotehq/footnote/internal/module"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
)

// DoctorOptions says what Doctor may do.
type DoctorOptions struct {
	Online   bool // contact the model's server, the issuer of tokens, and databases on other machines
	Log      bool // read all conversations
	Modules  []module.Module
	Logger   *slog.Logger
	Progress func(source, table string, rows int64) // of loading files; may be nil
}

// hostsOf returns the hosts that opening a database may contact, with Redis. An address that cannot be parsed is never
// dialed. Only the scheme decides: no file is opened.
func hostsOf(address string) []string {
	all := Databases()
	if all.Path(address) != "" {
		return nil
	}
	if engine, err := all.Find(address); err == nil && engine.Hosts != nil {
		return engine.Hosts(address)
	}
	opts, err := redis.ParseURL(address)
	if err != nil || opts.Network == "unix" {
		return nil
	}
	if host, _, err := net.SplitHostPort(opts.Addr); err == nil {
		return []string{host}
	}
	return []string{opts.Addr}
}

// Doctor checks what the configuration names, without starting a server.
func Doctor(ctx context.Context, c config.Config, o DoctorOptions) []doctor.Check {
	scope := doctor.Scope{Online: o.Online, Hosts: hostsOf}
	checks := []doctor.Check{doctor.OK("configuration", "listens on "+c.Listen)}
	checks = append(checks, checkData(c.Data))
	checks = append(checks, checkStore(ctx, c, scope)...)
	if o.Log {
		checks = append(checks, checkLog(ctx, c, scope)...)
	}
	checks = append(checks, checkKeys(ctx, c, scope))
	checks = append(checks, checkTokens(ctx, c, scope)...)
	checks = append(checks, checkLimits(c), checkCache(ctx, c, scope), checkRetention(c))
	checks = append(checks, checkModel(ctx, c, o)...)
	checks = append(checks, checkTraces(c)...)
	checks = append(checks, checkSources(ctx, c, scope, o)...)
	for _, m := range o.Modules {
		checks = append(checks, m.Check(ctx, c, scope)...)
	}
	return append(checks, checkCoder(ctx, c)...)
}

// checkData writes to the data folder and checks its free space.
func checkData(folder string) doctor.Check {
	_, err := os.Stat(folder)
	is := "is"
	if errors.Is(err, fs.ErrNotExist) {
		is = "did not exist and was created; it is"
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return doctor.Fail("data folder", err.Error())
	}
	probe := filepath.Join(folder, ".doctor")
	if err := os.WriteFile(probe, []byte("x"), 0o600); err != nil {
		return doctor.Fail("data folder", err.Error())
	}
	if err := os.Remove(probe); err != nil {
		return doctor.Fail("data folder", err.Error())
	}
	free, err := freeSpace(folder)
	if err != nil {
		return doctor.Warn("data folder", folder+" is writable, its free space unknown: "+err.Error())
	}
	free >>= 20
	state := doctor.OK
	if free < 512 {
		state = doctor.Warn
	}
	return state("data folder", fmt.Sprintf("%s %s writable, %d MB free", folder, is, free))
}

// checkKeys reports whether callers need a key, and how many keys there are. A store that does not exist yet has no
// keys; another check reports its errors.
func checkKeys(ctx context.Context, c config.Config, scope doctor.Scope) doctor.Check {
	if skip, ok := scope.Unchecked(ctx, "api keys", string(c.Store)); ok {
		skip.Detail = fmt.Sprintf("%d in the configuration; those in the store ", len(c.APIKeys)) + skip.Detail
		return skip
	}
	valid, ended, _ := checkStoredKeys(ctx, c)
	words := fmt.Sprintf("%d in the configuration, %d made by footnote keys", len(c.APIKeys), valid)
	if ended > 0 {
		words += fmt.Sprintf(" (and %d expired or revoked)", ended)
	}
	switch {
	case !c.NeedsKey() && valid+ended == 0:
		return doctor.OK("api keys", "none: only programs on this machine can call")
	case len(c.APIKeys)+valid == 0 && c.Auth.JWT.Issuer == "":
		return doctor.Warn("api keys", words+": no caller has a valid key. Create one with footnote keys create")
	}
	return doctor.OK("api keys", words)
}

// checkModel contacts the model's server, but only if online is set. That includes a server on this machine, which may
// forward requests.
func checkModel(ctx context.Context, c config.Config, o DoctorOptions) []doctor.Check {
	if c.Upstream == config.Offline {
		return []doctor.Check{
			doctor.Warn("model", "none: the offline planner answers. Set ANTHROPIC_API_KEY, or ANTHROPIC_BASE_URL "+
				"and FOOTNOTE_MODEL"),
		}
	}
	a := &App{cfg: c, log: o.Logger}
	if err := a.connect(); err != nil {
		return []doctor.Check{doctor.Fail("model", err.Error())}
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	key := doctor.OK("key", "set")
	if c.APIKey == "" {
		key.Detail = "none"
	}
	if !o.Online {
		return []doctor.Check{key, doctor.Skip("model", a.describe()+doctor.NotAsked)}
	}
	if err := a.check(ctx); err != nil {
		return []doctor.Check{key, doctor.Fail("model", footnote.MessageOf(err))}
	}
	return []doctor.Check{key, doctor.OK("model", a.describe())}
}

// checkTraces reports where traces go. It does not contact the collector, which has nothing to ask for.
func checkTraces(c config.Config) []doctor.Check {
	if c.Traces.Endpoint == "" {
		return nil
	}
	words := "sent to " + config.Redact(c.Traces.Endpoint)
	if c.Traces.Content {
		words += ", with questions, answers, statements and rows"
	}
	return []doctor.Check{doctor.OK("traces", words)}
}

// checkSources opens each source that it may contact, and proves it read-only.
func checkSources(ctx context.Context, c config.Config, scope doctor.Scope, o DoctorOptions) []doctor.Check {
	if len(c.Sources) == 0 {
		return []doctor.Check{doctor.Warn("sources", "none; name one with --source or FOOTNOTE_SOURCES")}
	}
	var checks []doctor.Check
	for _, t := range c.Tools.Search {
		if _, ok := c.Sources[t.Source]; !ok {
			checks = append(checks, doctor.Fail("search", fmt.Sprintf(
				"tools.search: the table %q: source is %q, which is not configured", t.Table, t.Source)))
		}
	}
	children := newChildren(c)
	defer children.close()
	p := children.configured()
	for _, name := range slices.Sorted(maps.Keys(c.Sources)) {
		if skip, ok := scope.Unchecked(ctx, "source "+name, c.Sources[name]); ok {
			checks = append(checks, skip)
			continue
		}
		checks = append(checks, checkSource(ctx, c, name, p, o)...)
	}
	return checks
}

func checkSource(ctx context.Context, c config.Config, name string, p processes, o DoctorOptions) []doctor.Check {
	what := "source " + name
	if err := checkNotStore(name, c.Sources[name], DataFile(c, "")); err != nil {
		return []doctor.Check{doctor.Fail(what, err.Error())}
	}
	src, _, err := openSource(ctx, c, name, c.Sources[name], c.Filters[name], filepath.Join(c.Data, "loaded"), p,
		o.Logger, o.Progress)
	if err != nil {
		return []doctor.Check{doctor.Fail(what, err.Error())}
	}
	defer src.Close()
	checks := []doctor.Check{doctor.OK(what, "opened as "+src.Dialect().Name)}
	checks = append(checks, checkSchema(ctx, what, src)...)
	switch err := src.Probe(ctx); {
	case errors.Is(err, source.ErrWritable):
		checks = append(checks, doctor.Fail(what, err.Error()))
	case err != nil:
		checks = append(checks, doctor.Fail(what, "read-only not proven: "+err.Error()))
	default:
		checks = append(checks, doctor.OK(what, "read-only: every way to write was refused"))
	}
	checks = append(checks, checkSearch(ctx, c, name, src)...)
	if as, ok := src.(interface{ Role() (string, []string) }); ok {
		role, remarks := as.Role()
		checks = append(checks, doctor.OK(what, "asked as the role "+role))
		for _, words := range remarks {
			checks = append(checks, doctor.Warn(what, words))
		}
	}
	if confined, ok := src.(interface {
		Status(context.Context) (child.Status, error)
	}); ok {
		if st, err := confined.Status(ctx); err == nil {
			checks = append(checks, doctor.OK(what, "confined: "+st.Confinement.String()))
		}
	}
	return checks
}

// maxNotedTables limits how many tables of a source get notes.
const maxNotedTables = 20

// checkSchema reads the tables and reports how each was read from its file: the data does not show what was left out
// or renamed.
func checkSchema(ctx context.Context, what string, src source.Source) []doctor.Check {
	s, err := src.Schema(ctx)
	switch {
	case err != nil:
		return []doctor.Check{doctor.Fail(what, err.Error())}
	case len(s.Tables) == 0:
		return []doctor.Check{doctor.Warn(what, "has no tables")}
	}
	checks := []doctor.Check{doctor.OK(what, doctor.Counted(len(s.Tables), "table"))}
	noted := 0
	for _, t := range s.Tables {
		if t.Comment == "" {
			continue
		}
		if noted++; noted > maxNotedTables {
			continue
		}
		checks = append(checks, doctor.OK(what, "table "+t.FullName()+": "+t.Comment))
	}
	if more := noted - maxNotedTables; more > 0 {
		checks = append(checks, doctor.OK(what, "notes on "+doctor.Counted(more, "more table")+" in list_tables"))
	}
	return checks
}
