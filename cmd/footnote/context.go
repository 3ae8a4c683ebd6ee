package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/app"
	"github.com/footnotehq/footnote/internal/doctor"
	"github.com/footnotehq/footnote/internal/plainfile"
	"github.com/footnotehq/footnote/knowledge"
	"github.com/footnotehq/footnote/knowledge/dbt"
)

type contextCmd struct {
	Import importContextCmd `cmd:"" help:"Write a model.yaml from what a dbt project says about its tables."`
	Draft  draftContextCmd  `cmd:"" help:"Write a first model.yaml from a source's schema, comments and values."`
}

type importContextCmd struct {
	Manifest string `arg:"" help:"The project's target/manifest.json." placeholder:"FILE"`
	Semantic string `arg:"" optional:"" help:"Its target/semantic_manifest.json." placeholder:"FILE"`
}

// Run executes the command.
func (cmd *importContextCmd) Run(std streams) error {
	var data [2][]byte
	for i, name := range []string{cmd.Manifest, cmd.Semantic} {
		if name == "" {
			continue
		}
		var err error
		if data[i], err = plainfile.Read(name, dbt.MaxBytes); err != nil {
			return &exit{exitUsage, err}
		}
	}
	m, left, err := dbt.Import(data[0], data[1])
	if err != nil {
		return fmt.Errorf("%s: %w", cmd.Manifest, err)
	}
	if err := writeModel(std, m); err != nil {
		return err
	}
	for _, words := range left {
		fmt.Fprintln(std.err, "not taken:", words)
	}
	_, err = fmt.Fprintf(std.err, "%s, %s and %s taken; %s not\n", doctor.Counted(len(m.Datasets), "table"),
		doctor.Counted(len(m.Joins), "join"), doctor.Counted(len(m.Metrics), "metric"),
		doctor.Counted(len(left), "other thing"))
	return err
}

type draftContextCmd struct{}

// Run executes the command.
func (draftContextCmd) Run(ctx context.Context, c config.Config, std streams) error {
	if len(c.Sources) != 1 {
		return &exit{
			exitUsage, fmt.Errorf("draft needs exactly one source, not %d. Name it with --source", len(c.Sources)),
		}
	}
	o := options(c, std, "warn")
	o.Progress = loading(std.err)
	src, end, err := app.OpenSource(ctx, c, o)
	if err != nil {
		return asStopped(ctx, err)
	}
	name := slices.Collect(maps.Keys(c.Sources))[0]
	m, err := app.DraftModel(footnote.WithPrincipal(ctx, self()), name, src)
	if err = errors.Join(err, end()); err != nil {
		return asStopped(ctx, err)
	}
	return writeModel(std, m)
}

// writeModel prints a model as a model.yaml.
func writeModel(std streams, m knowledge.Model) error {
	text, err := knowledge.Write(m)
	if err != nil {
		return err
	}
	_, err = std.out.Write(text)
	return err
}
