package main

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/demo"
	"github.com/footnotehq/footnote/internal/app"
	"github.com/footnotehq/footnote/source/duckdb"
)

// version is set by the release build.
var version = "dev"

type versionCmd struct{}

// Run executes the command.
func (versionCmd) Run(std streams) error {
	revision := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = " (" + s.Value[:min(12, len(s.Value))] + ")"
			}
		}
	}
	files := "with DuckDB: CSV, Parquet, JSON and XLSX files can be opened"
	if !duckdb.Available {
		files = "without DuckDB: SQLite files can be opened"
	}
	_, err := fmt.Fprintf(std.out, "footnote %s%s, %s, %s\n", version, revision, runtime.Version(), files)
	return err
}

type seedDemoCmd struct {
	Path string `arg:"" optional:"" default:"shop.db" help:"Where to write it."`
}

// Help is shown by footnote seed-demo --help.
func (seedDemoCmd) Help() string {
	return `The same bytes every time, read-only (mode 0444):

  footnote seed-demo shop.db`
}

// Run executes the command.
func (cmd *seedDemoCmd) Run(ctx context.Context, std streams) error {
	if err := demo.Write(ctx, cmd.Path); err != nil {
		return err
	}
	_, err := fmt.Fprintln(std.out, cmd.Path)
	return err
}

type demoCmd struct {
	Listen string `help:"Address and port." placeholder:"ADDRESS"`
}

// Help is shown by footnote demo --help.
func (demoCmd) Help() string {
	return `Creates the shop database in the data folder, where there is none yet, and serves it,
together with a workspace for the coder.

  footnote demo
  footnote ask "Which city has the most customers?"`
}

// Run executes the command.
func (cmd *demoCmd) Run(ctx context.Context, s *settings, e env, std streams) error {
	c, err := s.load(e, flag("listen", cmd.Listen))
	if err != nil {
		return err
	}
	if len(s.Source) == 0 {
		if c.Sources, err = app.DemoShop(ctx, c.Data); err != nil {
			return err
		}
	}
	if c.Workspace == "" {
		if c.Workspace, err = app.DemoWorkspaces(c.Data); err != nil {
			return err
		}
	}
	if c.Market.Store == "" {
		c.Market.Store = config.Secret(filepath.Join(c.Data, config.DemoMarket))
	}
	return serve(ctx, c, std, func(address string) {
		fmt.Fprintf(std.err, `
The demo shop is being served at http://%s
Ask it something:

  curl -s http://%s/v1/chat/completions -H 'content-type: application/json' \
    -d '{"model":"analyst","messages":[{"role":"user","content":%q}]}'

or: bin/footnote ask --data %s %q        (stop the server with Ctrl+C)
`, address, address, demo.Questions()[0], c.Data, demo.Questions()[0])
	})
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
