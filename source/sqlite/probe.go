package sqlite

import (
	"context"
	_ "embed"
	"os"
	"path/filepath"
	"slices"

	"github.com/footnotehq/footnote/source/child"
)

var (
	//go:embed probe/writes.sql
	writes string
	//go:embed probe/session.sql
	sessionStatements string
)

// idleAttempts write only when there is something to write: without an index, REINDEX does nothing and the engine
// allows it. The gate must refuse them anyway.
var idleAttempts = []string{"ANALYZE", "REINDEX"}

// Probe implements child.Engine. It tries every write three times: as a query; on a query's connection without the
// gate; and on a similar connection without gate and authorizer, where only the engine's read-only mode is left.
func (e *engine) Probe(ctx context.Context) error {
	target := filepath.Join(os.TempDir(), "footnote-probe.db")
	defer os.Remove(target)
	c, err := e.take(ctx)
	if err != nil {
		return takeError(err)
	}
	table := "sqlite_schema"
	err = c.runTrusted(func() error {
		rows, err := c.all("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' LIMIT 1")
		if err == nil && len(rows) == 1 {
			table = quote(text(rows[0][0]))
		}
		return err
	})
	e.give(c)
	if err != nil {
		return openError(err)
	}
	list, session := child.Attempts(writes, table, target), child.Attempts(sessionStatements, table, target)
	if err := child.TryQueries(ctx, e, slices.Concat(list, idleAttempts, session), target); err != nil {
		return err
	}
	if err := e.probeConn(ctx, true, slices.Concat(list, session), target); err != nil {
		return err
	}
	return e.probeConn(ctx, false, list, target)
}

// probeConn tries statements without the gate. A connection on which everything failed is unchanged and takes the
// next attempt: a new one would read the whole schema, which takes a second with thousands of tables.
func (e *engine) probeConn(ctx context.Context, authorize bool, list []string, target string) (err error) {
	level := "past the gate"
	if !authorize {
		level = "past the gate and the authorizer"
	}
	var c *conn
	defer func() {
		if c != nil {
			c.close()
		}
	}()
	for _, sql := range list {
		if c == nil {
			if c, err = dial(e.uri, authorize); err != nil {
				return openError(err)
			}
		}
		stop := c.interruptOn(ctx)
		done, err := c.try(sql)
		stop()
		if done > 0 || !c.autocommit() {
			c.close()
			c = nil
		}
		if err := child.CheckRefused(ctx, sql, err, target, level); err != nil {
			return err
		}
	}
	return nil
}
