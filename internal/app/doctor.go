package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/doctor"
	"github.com/footnotehq/footnote/internal/redispool"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
)

// DoctorOptions says what Doctor may do.
type DoctorOptions struct {
	Options
	Online bool // contact the model's server, the issuer of tokens, and databases on other machines
	Log    bool // read all conversations
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
	if host := redispool.Host(address); host != "" {
		return []string{host}
	}
	return nil
}

// programTime limits how long a check may take that asks another program.
const programTime = 15 * time.Second

// Doctor checks what the configuration names, without starting a server.
func Doctor(ctx context.Context, c config.Config, o DoctorOptions) *doctor.Report {
	r := &doctor.Report{Online: o.Online, Hosts: hostsOf}
	within := func(check func(ctx context.Context, c config.Config, r *doctor.Report)) {
		limited, cancel := context.WithTimeout(ctx, programTime)
		defer cancel()
		check(limited, c, r)
	}
	r.OK("configuration", "listens on "+c.Listen)
	checkData(c.Data, r)
	within(checkStore)
	if o.Log {
		checkLog(ctx, c, r)
	}
	within(checkKeys)
	within(checkTokens)
	checkLimits(c, r)
	within(checkCache)
	checkRetention(c, r)
	within(checkModel)
	checkTraces(c, r)
	checkSources(ctx, c, r, o)
	within(checkVerified)
	within(checkTests)
	for _, m := range o.Modules {
		m.Check(ctx, c, r)
	}
	checkCoder(ctx, c, r)
	checkMCPServers(ctx, c, r)
	return r
}

// checkData writes to the data folder and checks its free space.
func checkData(folder string, r *doctor.Report) {
	_, err := os.Stat(folder)
	is := "is"
	if errors.Is(err, fs.ErrNotExist) {
		is = "did not exist and was created; it is"
	}
	probe := filepath.Join(folder, ".doctor")
	if err = os.MkdirAll(folder, 0o700); err == nil {
		err = os.WriteFile(probe, []byte("x"), 0o600)
	}
	if err == nil {
		err = os.Remove(probe)
	}
	if err != nil {
		r.Fail("data folder", err.Error())
		return
	}
	free, err := freeSpace(folder)
	if err != nil {
		r.Warn("data folder", folder+" is writable, its free space unknown: "+err.Error())
		return
	}
	free >>= 20
	add := r.OK
	if free < 512 {
		add = r.Warn
	}
	add("data folder", fmt.Sprintf("%s %s writable, %d MB free", folder, is, free))
}

// checkKeys reports whether callers need a key, and how many keys there are. A store that does not exist yet has no
// keys; another check reports its errors.
func checkKeys(ctx context.Context, c config.Config, r *doctor.Report) {
	words := fmt.Sprintf("%d in the configuration", len(c.APIKeys))
	if r.Skips(ctx, "api keys", string(c.Store), words+"; those in the store ") {
		return
	}
	valid, ended, _ := countStoredKeys(ctx, c)
	words += fmt.Sprintf(", %d made by footnote keys", valid)
	if ended > 0 {
		words += fmt.Sprintf(" (and %d expired or revoked)", ended)
	}
	switch {
	case !c.NeedsKey() && valid+ended == 0:
		r.OK("api keys", "none: only programs on this machine can call")
	case len(c.APIKeys)+valid == 0 && c.Auth.JWT.Issuer == "":
		r.Warn("api keys", words+": no caller has a valid key. Create one with footnote keys create")
	default:
		r.OK("api keys", words)
	}
}

// checkModel contacts the model's server, but only if that is allowed, even for a server on this machine, which may
// forward requests.
func checkModel(ctx context.Context, c config.Config, r *doctor.Report) {
	if c.Upstream == config.Offline {
		r.Warn("model", "none: the offline planner answers. Set ANTHROPIC_API_KEY, or ANTHROPIC_BASE_URL and "+
			"FOOTNOTE_MODEL")
		return
	}
	a := &App{cfg: c}
	if err := a.connect(); err != nil {
		r.Fail("model", err.Error())
		return
	}
	if c.APIKey == "" {
		r.OK("key", "none")
	} else {
		r.OK("key", "set")
	}
	if !r.Online {
		r.Skip("model", a.describe()+doctor.NotAsked)
	} else if err := a.check(ctx); err != nil {
		r.Fail("model", footnote.MessageOf(err))
	} else {
		r.OK("model", a.describe())
	}
}

// checkTraces reports where traces go. It does not contact the collector, which has nothing to ask for.
func checkTraces(c config.Config, r *doctor.Report) {
	if c.Traces.Endpoint == "" {
		return
	}
	words := "sent to " + config.Redact(c.Traces.Endpoint)
	if c.Traces.Content {
		words += ", with questions, answers, statements and rows"
	}
	r.OK("traces", words)
}

// checkSources opens each source that it may contact, and proves it read-only.
func checkSources(ctx context.Context, c config.Config, r *doctor.Report, o DoctorOptions) {
	if len(c.Sources) == 0 {
		r.Warn("sources", "none; name one with --source or FOOTNOTE_SOURCES")
		checkContext(ctx, c, nil, r)
		return
	}
	if err := checkSearchSources(c); err != nil {
		r.Fail("search", OneLine(err))
	}
	children := newChildren(c)
	defer children.close()
	p := children.configured()
	all := sources{}
	for _, name := range slices.Sorted(maps.Keys(c.Sources)) {
		if r.Skips(ctx, "source "+name, c.Sources[name], "") {
			continue
		}
		if src := checkSource(ctx, c, name, p, r, o); src != nil {
			all[name] = src
		}
	}
	checkContext(ctx, c, all, r)
	_ = all.close() // they were only read
}

// checkSource opens and checks a source, and returns it. It returns nil if the source cannot be opened.
func checkSource(ctx context.Context, c config.Config, name string, p processes, r *doctor.Report,
	o DoctorOptions) source.Source {
	what := "source " + name
	err := checkNotStore(name, c.Sources[name], DataFile(c, ""))
	var src source.Source
	if err == nil {
		src, _, err = openSource(ctx, c, name, c.Sources[name], c.Filters[name], filepath.Join(c.Data, "loaded"), p,
			o.Logger, o.Progress)
	}
	if err != nil {
		r.Fail(what, err.Error())
		return nil
	}
	r.OK(what, "opened as "+src.Dialect().Name)
	checkSchema(ctx, what, src, r)
	if err := checkTables(ctx, name, src, c.Tables[name]); err != nil {
		r.Fail(what, err.Error())
	}
	switch err := src.Probe(ctx); {
	case errors.Is(err, source.ErrWritable):
		r.Fail(what, err.Error())
	case err != nil:
		r.Fail(what, "read-only not proven: "+err.Error())
	default:
		r.OK(what, "read-only: every way to write was refused")
		r.OK(what, "proof: "+p.databases.Proof(src).String())
		if err := checkProof(c, name, p.databases.Proof(src)); err != nil {
			r.Fail(what, err.Error())
		}
	}
	checkSearch(ctx, c, name, src, r)
	if as, ok := source.Inner(src).(interface{ Role() (string, []string) }); ok {
		role, remarks := as.Role()
		r.OK(what, "asked as the role "+role)
		for _, words := range remarks {
			r.Warn(what, words)
		}
	}
	if confined, ok := source.Inner(src).(interface {
		Status(context.Context) (child.Status, error)
	}); ok {
		if st, err := confined.Status(ctx); err == nil {
			r.OK(what, "confined: "+st.Confinement.String())
		}
	}
	return src
}

// maxNotedTables limits how many tables of a source get notes.
const maxNotedTables = 20

// checkSchema reads the tables and reports how each was read from its file: the data does not show what was left out
// or renamed.
func checkSchema(ctx context.Context, what string, src source.Source, r *doctor.Report) {
	s, err := src.Schema(ctx)
	switch {
	case err != nil:
		r.Fail(what, err.Error())
		return
	case len(s.Tables) == 0:
		r.Warn(what, "has no tables")
		return
	}
	r.OK(what, doctor.Counted(len(s.Tables), "table"))
	noted := slices.DeleteFunc(slices.Clone(s.Tables), func(t source.Table) bool { return t.Comment == "" })
	for _, t := range noted[:min(len(noted), maxNotedTables)] {
		r.OK(what, "table "+t.FullName()+": "+t.Comment)
	}
	if more := len(noted) - maxNotedTables; more > 0 {
		r.OK(what, "notes on "+doctor.Counted(more, "more table")+" in list_tables")
	}
}
