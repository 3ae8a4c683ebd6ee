package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
)

type doctorCmd struct {
	Online bool `help:"Also ask the model's server, the issuer of tokens, and databases on other machines."`
	Log    bool `help:"Also read all conversations and check that nothing in them is missing, duplicated or damaged."`
}

// Help is shown by footnote doctor --help.
func (doctorCmd) Help() string {
	return `Exit code 1 if a check fails, 2 if a setting is wrong.
It opens databases on this machine: files, and servers at a Unix socket, a loopback address or
localhost. Only with --online does it contact databases on other machines, the model's server
and the issuer of tokens. Without it, no other host name is looked up.

  footnote doctor --source shop.db
  footnote doctor --online
  footnote doctor --log`
}

// check is one line of the table.
type check struct {
	what, state, words string
}

// The states of a check.
const (
	stateOK   = "ok"
	stateWarn = "warn"
	stateFail = "FAIL"
	stateSkip = "skip" // it needs --online
)

// notAsked is the note for a server that was not contacted.
const notAsked = ": not asked; doctor --online asks"

// notChecked is the note for a database on another machine that was not contacted.
const notChecked = ": not checked; doctor --online checks it"

// Run executes the command.
func (cmd doctorCmd) Run(ctx context.Context, s *settings, e env, std streams) error {
	c, err := s.load(e, nil)
	if err != nil {
		printChecks(std.out, []check{{"configuration", stateFail, err.Error()}})
		return &exit{exitUsage, errors.New("the configuration is wrong")}
	}
	checks := []check{{"configuration", stateOK, "listens on " + c.Listen}}
	checks = append(checks, checkData(c.Data))
	checks = append(checks, checkStore(ctx, c, cmd.Online)...)
	if cmd.Log {
		checks = append(checks, checkLog(ctx, c, cmd.Online)...)
	}
	checks = append(checks, checkKeys(ctx, c, cmd.Online))
	checks = append(checks, checkTokens(ctx, c, cmd.Online)...)
	checks = append(checks, checkLimits(c), checkCache(ctx, c, cmd.Online), checkRetention(c))
	checks = append(checks, checkModel(ctx, c, std, cmd.Online)...)
	checks = append(checks, checkTraces(c)...)
	checks = append(checks, checkSources(ctx, c, std, cmd.Online)...)
	checks = append(checks, checkMarket(ctx, c, cmd.Online)...)
	checks = append(checks, checkCoder(ctx, c)...)
	printChecks(std.out, checks)
	for _, k := range checks {
		if k.state == stateFail {
			return &exit{exitFailed, errors.New("some checks failed; see the table")}
		}
	}
	return nil
}

func printChecks(w io.Writer, checks []check) {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "CHECK\tSTATE\tDETAIL")
	for _, k := range checks {
		fmt.Fprintf(t, "%s\t%s\t%s\n", k.what, k.state, visible(k.words))
	}
	_ = t.Flush() // standard output is broken, so the error has nowhere to go
}

// checkData writes to the data folder and checks its free space.
func checkData(folder string) check {
	_, err := os.Stat(folder)
	is := "is"
	if errors.Is(err, fs.ErrNotExist) {
		is = "did not exist and was created; it is"
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return check{"data folder", stateFail, err.Error()}
	}
	probe := filepath.Join(folder, ".doctor")
	if err := os.WriteFile(probe, []byte("x"), 0o600); err != nil {
		return check{"data folder", stateFail, err.Error()}
	}
	if err := os.Remove(probe); err != nil {
		return check{"data folder", stateFail, err.Error()}
	}
	free, err := freeSpace(folder)
	if err != nil {
		return check{"data folder", stateWarn, folder + " is writable, its free space unknown: " + err.Error()}
	}
	free >>= 20
	state := stateOK
	if free < 512 {
		state = stateWarn
	}
	return check{"data folder", state, fmt.Sprintf("%s %s writable, %d MB free", folder, is, free)}
}

// checkKeys reports whether callers need a key, and how many keys there are. A store that does not exist yet has no
// keys; another check reports its errors.
func checkKeys(ctx context.Context, c config.Config, online bool) check {
	if skip, ok := unchecked(ctx, "api keys", string(c.Store), online); ok {
		skip.words = fmt.Sprintf("%d in the configuration; those in the store ", len(c.APIKeys)) + skip.words
		return skip
	}
	standing, ended, _ := checkStoredKeys(ctx, c)
	words := fmt.Sprintf("%d in the configuration, %d made by footnote keys", len(c.APIKeys), standing)
	if ended > 0 {
		words += fmt.Sprintf(" (and %d that are over)", ended)
	}
	switch {
	case !c.NeedsKey() && standing+ended == 0:
		return check{"api keys", stateOK, "none: only programs on this machine can call"}
	case len(c.APIKeys)+standing == 0 && c.Auth.JWT.Issuer == "":
		return check{"api keys", stateWarn, words + ": nobody can call. Make one with footnote keys create"}
	}
	return check{"api keys", stateOK, words}
}

// checkModel asks the model's server for a sign of life if online is set. A server on this machine is no exception:
// it may forward requests.
func checkModel(ctx context.Context, c config.Config, std streams, online bool) []check {
	if c.Upstream == config.Offline {
		return []check{
			{
				"model", stateWarn, "none: the offline planner answers. Set ANTHROPIC_API_KEY, or ANTHROPIC_BASE_URL " +
					"and FOOTNOTE_MODEL",
			},
		}
	}
	a := &app{cfg: c, log: logger(std.err, c, "error")}
	if err := a.connect(); err != nil {
		return []check{{"model", stateFail, err.Error()}}
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	key := check{"key", stateOK, "set"}
	if c.APIKey == "" {
		key.words = "none"
	}
	if !online {
		return []check{key, {"model", stateSkip, a.describe() + notAsked}}
	}
	if err := a.check(ctx); err != nil {
		return []check{key, {"model", stateFail, footnote.MessageOf(err)}}
	}
	return []check{key, {"model", stateOK, a.describe()}}
}

// checkTraces reports where traces go. It does not contact the collector, which has nothing to ask for.
func checkTraces(c config.Config) []check {
	if c.Traces.Endpoint == "" {
		return nil
	}
	words := "sent to " + config.Redact(c.Traces.Endpoint)
	if c.Traces.Content {
		words += ", with questions, answers, statements and rows"
	}
	return []check{{"traces", stateOK, words}}
}

// checkSources opens each source that it may contact, and proves it read-only.
func checkSources(ctx context.Context, c config.Config, std streams, online bool) []check {
	if len(c.Sources) == 0 {
		return []check{{"sources", stateWarn, "none; name one with --source or FOOTNOTE_SOURCES"}}
	}
	var checks []check
	for _, t := range c.Tools.Search {
		if _, ok := c.Sources[t.Source]; !ok {
			checks = append(checks, check{
				"search", stateFail,
				fmt.Sprintf("tools.search: the table %q: source is %q, which is not configured", t.Table, t.Source),
			})
		}
	}
	children := newChildren(c)
	defer children.close()
	p := children.configured()
	for _, name := range slices.Sorted(maps.Keys(c.Sources)) {
		if skip, ok := unchecked(ctx, "source "+name, c.Sources[name], online); ok {
			checks = append(checks, skip)
			continue
		}
		checks = append(checks, checkSource(ctx, c, name, p, std)...)
	}
	return checks
}

func checkSource(ctx context.Context, c config.Config, name string, p processes, std streams) []check {
	what := "source " + name
	src, err := openSource(ctx, c, name, c.Sources[name], c.Filters[name], filepath.Join(c.Data, "loaded"), p,
		logger(std.err, c, "error"), loading(std.err))
	if err != nil {
		return []check{{what, stateFail, err.Error()}}
	}
	defer src.Close()
	checks := []check{{what, stateOK, "opened as " + src.Dialect().Name}}
	checks = append(checks, checkSchema(ctx, what, src)...)
	switch err := src.Probe(ctx); {
	case errors.Is(err, source.ErrWritable):
		checks = append(checks, check{what, stateFail, err.Error()})
	case err != nil:
		checks = append(checks, check{what, stateFail, "read-only not proven: " + err.Error()})
	default:
		checks = append(checks, check{what, stateOK, "read-only: every way to write was refused"})
	}
	checks = append(checks, checkSearch(ctx, c, name, src)...)
	if as, ok := src.(interface{ Role() (string, []string) }); ok {
		role, remarks := as.Role()
		checks = append(checks, check{what, stateOK, "asked as the role " + role})
		for _, words := range remarks {
			checks = append(checks, check{what, stateWarn, words})
		}
	}
	if confined, ok := src.(interface {
		Status(context.Context) (child.Status, error)
	}); ok {
		if st, err := confined.Status(ctx); err == nil {
			checks = append(checks, check{what, stateOK, "confined: " + st.Confinement.String()})
		}
	}
	return checks
}

// maxNotedTables limits how many tables of a source get notes.
const maxNotedTables = 20

// checkSchema reads the tables and reports how each was read from its file: the data does not show what was left out
// or renamed.
func checkSchema(ctx context.Context, what string, src source.Source) []check {
	s, err := src.Schema(ctx)
	switch {
	case err != nil:
		return []check{{what, stateFail, err.Error()}}
	case len(s.Tables) == 0:
		return []check{{what, stateWarn, "has no tables"}}
	}
	checks := []check{{what, stateOK, counted(len(s.Tables), "table")}}
	noted := 0
	for _, t := range s.Tables {
		if t.Comment == "" {
			continue
		}
		if noted++; noted > maxNotedTables {
			continue
		}
		checks = append(checks, check{what, stateOK, "table " + t.FullName() + ": " + t.Comment})
	}
	if more := noted - maxNotedTables; more > 0 {
		checks = append(checks, check{what, stateOK, "notes on " + counted(more, "more table") + " in list_tables"})
	}
	return checks
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
