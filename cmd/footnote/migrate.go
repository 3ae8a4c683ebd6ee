package main

import (
	"context"
	"fmt"

	"github.com/footnotehq/footnote/internal/app"
	"github.com/footnotehq/footnote/store/postgres"
	"github.com/footnotehq/footnote/store/sqlite"
)

type migrateCmd struct {
	Compact bool `help:"Also rewrite the file in the data folder, so that it returns freed space."`
}

// Help is shown by footnote migrate --help.
func (migrateCmd) Help() string {
	return `footnote serve does the same when it starts. In Postgres many processes may try at once;
one that is killed leaves the conversations as they were before its last step.
With --compact the disk needs as much free space as the file has.

  footnote migrate --compact
  footnote migrate --store postgres://footnote@db.example/footnote`
}

// Run executes the command.
func (cmd migrateCmd) Run(ctx context.Context, s *settings, e env, std streams) error {
	c, err := s.load(e, nil)
	if err != nil {
		return err
	}
	if c.Store == "" {
		log, err := app.OpenStore(ctx, c, "", sqlite.Options{Compact: cmd.Compact}, nil)
		if err != nil {
			return err
		}
		fmt.Fprintf(std.out, "%s is up to date\n", app.DataFile(c, ""))
		return log.Close()
	}
	from, to, err := postgres.Migrate(ctx, string(c.Store))
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if from == to {
		fmt.Fprintf(std.out, "the database is up to date (schema %d)\n", to)
		return nil
	}
	fmt.Fprintf(std.out, "upgraded the database from schema %d to %d\n", from, to)
	return nil
}
