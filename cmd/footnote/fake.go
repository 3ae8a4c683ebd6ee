package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"github.com/footnotehq/footnote/internal/plainfile"
	"github.com/footnotehq/footnote/model/modeltest"
)

type fakeCmd struct {
	Listen     string        `default:"127.0.0.1:8790" help:"Address and port."`
	Scenario   string        `default:"auto" help:"A built-in scenario (${scenarios}) or a YAML file."`
	SQL        string        `name:"sql" help:"Statement that the analyst scenario runs."`
	Deltas     int           `help:"Number of text pieces, for the text and timed scenarios."`
	Gap        time.Duration `help:"Time between pieces."`
	Compatible bool          `help:"Imitate another provider's server, with its quirks."`
	Lax        bool          `help:"Accept everything without reading it, for measuring."`
	Key        string        `help:"The only key that is accepted."`
}

// Run executes the command.
func (cmd *fakeCmd) Run(ctx context.Context, std streams) error {
	opts, err := cmd.options()
	if err != nil {
		return &exit{exitUsage, err}
	}
	fake := modeltest.New(opts)
	defer fake.Close()
	listener, err := listen(ctx, cmd.Listen)
	if err != nil {
		return err
	}
	if err := printJSON(std.out, map[string]any{"ready": true, "listen": listener.Addr().String()}); err != nil {
		return err
	}
	server := &http.Server{Handler: fake, ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	fake.Close()
	return errors.Join(server.Close(), printJSON(std.err, fake.Metrics()))
}

// maxScenario is the maximum size of a scenario file, in bytes.
const maxScenario = 16 << 20

func (cmd *fakeCmd) options() (modeltest.Options, error) {
	var opts modeltest.Options
	var err error
	switch filepath.Ext(cmd.Scenario) {
	case ".yaml", ".yml", ".json":
		data, err := plainfile.Read(cmd.Scenario, maxScenario)
		if err != nil {
			return opts, fmt.Errorf("scenario: %w", err)
		}
		s, err := modeltest.Load(data)
		if err != nil {
			return opts, fmt.Errorf("%s: %w", cmd.Scenario, err)
		}
		opts = s.Options()
	default:
		opts.Rule, err = modeltest.Builtin(cmd.Scenario, modeltest.Params{
			Deltas: cmd.Deltas, Gap: cmd.Gap, SQL: cmd.SQL,
		})
	}
	opts.Compatible, opts.Lax, opts.Key = cmd.Compatible, cmd.Lax, cmd.Key
	return opts, err
}
