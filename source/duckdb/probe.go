//go:build cgo

package duckdb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/footnotehq/footnote/source"
)

// writes lists ways to change the database or to reach outside it. Target is a new file in the child's own
// directory, the one place where nothing else would stop it.
func writes(target, table string) []string {
	return []string{
		"CREATE TABLE footnote_probe (a INTEGER)",
		"CREATE OR REPLACE TABLE " + table + " AS SELECT 1",
		"DROP TABLE " + table,
		"DELETE FROM " + table,
		"INSERT INTO " + table + " SELECT * FROM " + table,
		"ALTER TABLE " + table + " RENAME TO footnote_probe",
		"CREATE VIEW footnote_probe AS SELECT 1",
		"CREATE MACRO footnote_probe(x) AS x",
		"CREATE SEQUENCE footnote_probe",
		"CREATE TYPE footnote_probe AS ENUM ('a')",
		"CREATE SCHEMA footnote_probe",
		"COPY (SELECT 1) TO " + literal(target),
		"ATTACH " + literal(target) + " AS footnote_probe",
		"EXPORT DATABASE " + literal(target),
		"INSTALL httpfs",
		"LOAD httpfs",
		"SET enable_external_access = true",
		"SET lock_configuration = false",
		"SET memory_limit = '100GB'",
		"SELECT * FROM read_text('/etc/hostname')",
	}
}

// sessions change only a connection. The engine allows them, so the gate must not.
var sessionStatements = []string{
	"CREATE TEMP TABLE footnote_probe (a INTEGER)",
	"CREATE TEMP MACRO sum(x) AS 0",
	"SET VARIABLE footnote_probe = 1",
	"SET schema = 'information_schema'",
	"PREPARE footnote_probe AS SELECT 1",
	"BEGIN",
	"CHECKPOINT",
	"CALL enable_logging()",
	"PRAGMA enable_profiling",
	"SELECT 1; CREATE TEMP TABLE footnote_probe (a INTEGER)",
}

// Probe implements child.Engine. It tries each write as a query, and then without the gate, where only read-only
// mode and the settings are left.
func (e *engine) Probe(ctx context.Context) error {
	target := filepath.Join(os.TempDir(), "footnote-probe")
	defer os.RemoveAll(target)
	table := "footnote_none"
	for _, name := range e.gate.catalog.names {
		table = quote(name)
		break
	}
	list := writes(target, table)
	limits := source.DefaultLimits()
	for _, text := range append(list, sessionStatements...) {
		_, err := e.Query(ctx, source.Query{SQL: text, Limits: limits}, func([]any) error { return nil })
		if err := checkRefused(ctx, text, err, target, "as a query"); err != nil {
			return err
		}
	}
	if e.guard != nil { // without the gate, the attached database can be named, and it must be read-only, too
		list = append(writes(target, e.guard.table(table)),
			"CREATE TABLE "+e.guard.table("footnote_probe")+" (a INTEGER)")
	}
	for _, text := range list {
		_, err := e.data.ExecContext(ctx, text)
		if err := checkRefused(ctx, text, err, target, "past the gate"); err != nil {
			return err
		}
	}
	return nil
}

// checkRefused checks that an attempt failed and left nothing behind.
func checkRefused(ctx context.Context, text string, err error, target, how string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err == nil {
		return fmt.Errorf("%w %q was accepted %s", source.ErrWritable, text, how)
	}
	if _, err := os.Stat(target); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w %q made a file %s", source.ErrWritable, text, how)
	}
	return nil
}
