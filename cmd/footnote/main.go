// Command footnote is an AI data analyst that runs on your own machine: it answers
// questions about a database and shows the query and the cell behind every number.
package main

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/app"
	"github.com/footnotehq/footnote/internal/module"
	"github.com/footnotehq/footnote/internal/sandbox"
	marketcmd "github.com/footnotehq/footnote/market/command"
	"github.com/footnotehq/footnote/market/install"
	"github.com/footnotehq/footnote/model/modeltest"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
)

// The exit codes, stable for scripts.
const (
	exitDone    = 0
	exitFailed  = 1
	exitUsage   = 2
	exitRefused = 3
	exitLimit   = 4
)

// exit is an error that carries the exit code of the command. An empty message prints nothing.
type exit struct {
	code int
	err  error
}

func (e *exit) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exit) Unwrap() error { return e.err }

// ended returns the error that ends a command with the exit code of an outcome, or nil if all went well.
func ended(outcome string, err error) error {
	switch outcome {
	case answered, executed:
		return nil
	case source.Refused:
		return &exit{exitRefused, err}
	case source.Limited:
		return &exit{exitLimit, err}
	}
	return &exit{exitFailed, err}
}

func main() {
	child.Main(app.Databases().Children()) // never returns in a child that runs a database
	sandbox.Main()                         // never returns in a child that runs a command
	// The reader of our output may exit first, as head does; open resources must still be closed. Do not ignore the
	// signal: the commands that we start would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}, os.Environ())
	stop()
	os.Exit(code)
}

// streams are the input and outputs of a command.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// cli is the command line.
type cli struct {
	settings `embed:""`

	Serve     serveCmd         `cmd:"" help:"Serve the HTTP API and the page."`
	Demo      demoCmd          `cmd:"" help:"Create the demo shop and serve it."`
	Ask       askCmd           `cmd:"" help:"Ask a question and see the answer, its queries and its footnotes."`
	Query     queryCmd         `cmd:"" help:"Run one SQL statement as the analyst would."`
	Test      testCmd          `cmd:"" help:"Ask the questions of a suite and check the answers."`
	MCP       mcpCmd           `cmd:"" name:"mcp" help:"Serve the Model Context Protocol on standard input and output."`
	Verify    verifyCmd        `cmd:"" help:"Check the footnotes of a conversation against its stored results."`
	Context   contextCmd       `cmd:"" help:"Import or draft what your company says about its data."`
	Keys      keysCmd          `cmd:"" help:"Create, list and revoke API keys."`
	Consents  consentsCmd      `cmd:"" help:"List and revoke what programs may act for people."`
	Export    exportCmd        `cmd:"" help:"Write all conversations to a file."`
	Import    importCmd        `cmd:"" help:"Import conversations from an export, or from messages of the Messages API."`
	Forget    forgetCmd        `cmd:"" help:"Delete everything of a user: conversations, results, drawings, files."`
	Market    marketcmd.Market `cmd:"" help:"Load market data for charts."`
	Migrate   migrateCmd       `cmd:"" help:"Upgrade the stored conversations to this version."`
	Doctor    doctorCmd        `cmd:"" help:"Check key, model, sources, read-only and disk."`
	FakeModel fakeCmd          `cmd:"" name:"fake-model" help:"Serve a scripted Messages API, for tests and benchmarks."`
	SeedDemo  seedDemoCmd      `cmd:"" name:"seed-demo" help:"Write the demo shop database to a file."`
	Version   versionCmd       `cmd:"" help:"Print the version."`
}

// settings are the flags of every command.
type settings struct {
	Config  string            `help:"Configuration file (default: footnote.yaml, if it exists)." placeholder:"FILE"`
	Data    string            `help:"Folder for conversations and loaded files." placeholder:"DIR"`
	Store   string            `help:"Postgres database for the conversations; default: a file." placeholder:"URL"`
	Source  []string          `help:"Name, name=url-or-path, or path; may repeat." placeholder:"SOURCE" sep:"none"`
	Model   string            `help:"Model to ask; offline needs no key." placeholder:"MODEL"`
	Setting map[string]string `name:"set" help:"Any setting by its name, such as max_turns=5." placeholder:"NAME=VALUE"`
}

const description = `Ask questions about your data in plain words, and see where every number came from.

  footnote demo                                     a shop database, a server, a first question
  footnote ask --source sales.csv "sales by month"  one answer in the terminal
  footnote serve --source shop=shop.db              the OpenAI-compatible API on 127.0.0.1:8787`

// help has what the commands show for --help besides their flags, in files named after them.
//
//go:embed help
var help embed.FS

// run executes one command and returns its exit code. Tests call it in-process.
func run(ctx context.Context, args []string, std streams, environ []string) int {
	var c cli
	exited := -1
	load := func() (config.Config, error) { return c.load(environ, cmp.Or(c.Serve.Listen, c.Demo.Listen)) }
	parser, err := kong.New(&c,
		kong.Name("footnote"), kong.Description(description), kong.UsageOnError(),
		kong.Writers(std.out, std.err), kong.Exit(func(code int) { exited = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.Vars{"scenarios": strings.Join(modeltest.Builtins(), ", ")},
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(std, &c.settings, load),
		kong.BindToProvider(load), // for the commands that cannot do without a configuration
		kong.Bind(marketcmd.Env{Config: load, In: std.in, Out: std.out, Err: std.err}),
	)
	if err != nil {
		panic(err) // a bug in the command line declared in this file
	}
	for _, command := range parser.Model.Leaves(true) {
		if text, err := help.ReadFile("help/" + strings.ReplaceAll(command.Path(), " ", "-") + ".txt"); err == nil {
			command.Detail = strings.TrimSuffix(string(text), "\n")
		}
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parsed, err := parser.Parse(args)
	if exited >= 0 {
		return exited // --help
	}
	if err != nil {
		fmt.Fprintf(std.err, "footnote: %v\nTry: footnote --help\n", err)
		return exitUsage
	}
	err = parsed.Run()
	if err == nil || errors.Is(err, syscall.EPIPE) { // the reader closed the pipe early
		return exitDone
	}
	code := exitFailed
	if e, ok := errors.AsType[*exit](err); ok {
		code = e.code
	} else if _, ok := errors.AsType[*config.Invalid](err); ok {
		code = exitUsage
	}
	if words := app.OneLine(err); words != "" {
		fmt.Fprintf(std.err, "footnote: %s\n", words)
	}
	return code
}

// modules lists the optional parts of the program; see also cli.
func modules() []module.Module { return []module.Module{install.Module()} }

// options returns the options of an app for a command whose own log begins at a level.
func options(c config.Config, std streams, level string) app.Options {
	return app.Options{Version: version, Modules: modules(), Logger: app.NewLogger(std.err, c, level)}
}

// defaultSource is the database to ask if no source is configured and it exists in the working folder.
const defaultSource = "demo.db"

// load reads the configuration for a command. listen is the address from the command's own flag, if it has one.
func (s *settings) load(environ []string, listen string) (config.Config, error) {
	all := map[string]string{}
	maps.Copy(all, s.Setting)
	for name, value := range map[string]string{
		"data": s.Data, "store": s.Store, "model": s.Model, "listen": listen,
	} {
		if value != "" {
			all[name] = value
		}
	}
	c, err := config.Load(s.Config, environ, all)
	configured := c.Sources
	if err == nil {
		err = app.CheckSources(c, configured)
	}
	if err == nil && len(s.Source) > 0 {
		// Sources named on the command line replace the configured ones, which are for the server.
		if c.Sources, err = namedSources(s.Source, c); err == nil {
			err = app.CheckSources(c, configured)
		}
	}
	if info, missing := os.Stat(defaultSource); err == nil && len(c.Sources) == 0 && missing == nil &&
		info.Mode().IsRegular() {
		c.Sources = map[string]string{app.SourceName(defaultSource): defaultSource}
	}
	if err == nil {
		err = c.CheckFiltered(c.Sources, configured)
	}
	if err != nil {
		return c, &exit{exitUsage, err}
	}
	return c, nil
}

// namedSources parses the --source flags: the name of a configured source, name=url-or-path, or an address alone,
// which is named after its file.
func namedSources(flags []string, c config.Config) (map[string]string, error) {
	named := map[string]string{}
	for _, f := range flags {
		name, where, ok := strings.Cut(f, "=")
		switch known, isName := c.Sources[f]; {
		case isName:
			name, where = f, known
		case !ok || !app.IsSourceName(name):
			name, where = app.SourceName(f), f
		}
		if where == "" || len(name) > 64 {
			// The value is not repeated: it may hold a password.
			return nil, errors.New("a --source is neither a configured source's name nor name=url-or-path nor a " +
				"path; a name has at most 64 characters")
		}
		if err := config.CheckSource(name, where); err != nil {
			return nil, err
		}
		if _, twice := named[name]; twice {
			return nil, fmt.Errorf("two sources are named %s; rename one with --source name=path", name)
		}
		if err := sameFiltered(name, where, c); err != nil {
			return nil, err
		}
		named[name] = where
	}
	return named, nil
}

// sameFiltered rejects a source that is configured with filters or tables but given under a name without them.
func sameFiltered(name, where string, c config.Config) error {
	for configured, address := range c.Sources {
		lost := ""
		if len(c.Filters[configured]) > 0 && len(c.Filters[name]) == 0 {
			lost = "filters"
		} else if t := c.Tables[configured]; len(t.Include)+len(t.Exclude) > 0 && name != configured {
			lost = "tables"
		}
		if lost != "" && app.SameSource(address, where) {
			return fmt.Errorf("--source %s: the configuration has %s for this address, under the name %s. "+
				"Use --source %s", where, lost, configured, configured)
		}
	}
	return nil
}
