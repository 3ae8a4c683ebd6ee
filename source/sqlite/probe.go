package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/footnotehq/footnote/source"
)

// attempts lists ways to write. Target is a new file in the child's own directory, the one place where nothing else
// would stop a write.
func attempts(target, table string) []string {
	return []string{
		"CREATE TABLE footnote_probe (a)",
		"CREATE TABLE IF NOT EXISTS main.footnote_probe AS SELECT 1 AS a",
		"DROP TABLE " + table,
		"DELETE FROM " + table,
		"UPDATE sqlite_schema SET sql = sql",
		"INSERT INTO " + table + " DEFAULT VALUES",
		"WITH x AS (SELECT 1) DELETE FROM " + table,
		"ALTER TABLE " + table + " RENAME TO footnote_probe",
		"CREATE INDEX footnote_probe ON " + table + " (rowid)",
		"CREATE VIEW footnote_probe AS SELECT 1",
		"PRAGMA user_version = 7",
		"PRAGMA application_id = 7",
		"PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = sql",
		"VACUUM",
		"VACUUM INTO '" + target + "'",
		"ATTACH '" + target + "' AS footnote_probe; CREATE TABLE footnote_probe.t (a)",
		"BEGIN IMMEDIATE; CREATE TABLE footnote_probe (a); COMMIT",
	}
}

// idleAttempts write only when there is something to write: without an index, REINDEX does nothing and the engine
// allows it. The gate must refuse them anyway.
var idleAttempts = []string{"ANALYZE", "REINDEX"}

// sessionAttempts change the connection rather than the file. The engine's read-only mode does not stop them, so
// the gate and the authorizer must.
var sessionAttempts = []string{
	"CREATE TEMP TABLE footnote_probe (a)",
	"CREATE TEMP VIEW footnote_probe AS SELECT 1",
	"PRAGMA query_only = OFF",
	"PRAGMA journal_mode = DELETE",
	"PRAGMA temp_store_directory = '/tmp'",
	"PRAGMA wal_checkpoint",
	"BEGIN",
	"SAVEPOINT footnote_probe",
	"SELECT load_extension('footnote_probe')",
}

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
	list := attempts(target, table)
	limits := source.DefaultLimits()
	for _, sql := range slices.Concat(list, idleAttempts, sessionAttempts) {
		_, err := e.Query(ctx, source.Query{SQL: sql, Limits: limits}, func([]any) error { return nil })
		if err := e.checkRefused(ctx, sql, err, target, "as a query"); err != nil {
			return err
		}
	}
	if err := e.probeConn(ctx, true, slices.Concat(list, sessionAttempts), target); err != nil {
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
		if err := e.checkRefused(ctx, sql, err, target, level); err != nil {
			return err
		}
	}
	return nil
}

// checkRefused checks that an attempt failed and left nothing behind.
func (e *engine) checkRefused(ctx context.Context, sql string, err error, target, level string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err == nil {
		return fmt.Errorf("%w %q was accepted %s", source.ErrWritable, sql, level)
	}
	if info, err := os.Stat(target); err == nil && info.Size() > 0 {
		return fmt.Errorf("%w %q made a file %s", source.ErrWritable, sql, level)
	} else if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("look for what the probe left: %w", err)
	}
	return nil
}
