//go:build cgo && !noduckdb

package duckdb

import (
	"context"
	_ "embed"
	"os"
	"path/filepath"

	"github.com/footnotehq/footnote/source/child"
)

var (
	//go:embed probe/writes.sql
	writes string
	//go:embed probe/session.sql
	sessionStatements string
)

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
	list := child.Attempts(writes, table, target)
	if err := child.TryQueries(ctx, e, append(list, child.Attempts(sessionStatements, table, target)...),
		target); err != nil {
		return err
	}
	if e.guard != nil { // without the gate, the attached database can be named, and it must be read-only, too
		list = append(child.Attempts(writes, e.guard.table(table), target),
			"CREATE TABLE "+e.guard.table("footnote_probe")+" (a INTEGER)")
	}
	for _, text := range list {
		_, err := e.data.ExecContext(ctx, text)
		if err := child.CheckRefused(ctx, text, err, target, "past the gate"); err != nil {
			return err
		}
	}
	return nil
}
