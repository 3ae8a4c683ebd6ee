// Package demo creates databases for the first questions of a new user: a small shop with eighteen months of orders.
// The data is invented but realistic: it grows, it peaks before Christmas, prices change, some customers never buy,
// and some orders are returned.
package demo

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite"
)

// schema is the shop's DDL. Its comments are stored in the file, for people and tools that read the schema. Money is
// in euros.
//
//go:embed schema.sql
var schema string

// rows inserts the shop's rows. The shop opens in May 2025 and its data ends with October 2026: a slow start, a summer
// dip, a Christmas peak, a sale, a price increase of coffee, growth.
//
//go:embed rows.sql
var rows string

// Write creates the shop database at path and replaces an existing file. It writes beside path and then renames,
// so readers never see an incomplete file. The file's mode is 0444. Every run writes the same bytes.
func Write(ctx context.Context, path string) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".shop-*.tmp")
	if err != nil {
		return fmt.Errorf("write the demo shop: %w", err)
	}
	defer os.Remove(tmp.Name()) // fails after the rename, as intended
	err = fill(ctx, tmp.Name())
	if err == nil {
		err = errors.Join(tmp.Chmod(0o444), tmp.Sync())
	}
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write the demo shop: %w", err)
	}
	return nil
}

// fill writes tables and rows to an empty file in one transaction.
func fill(ctx context.Context, name string) error {
	abs, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	// No journal: the file is discarded if anything fails, and traces of a journal would change its bytes.
	dsn := url.URL{
		Scheme:   "file",
		Path:     filepath.ToSlash(abs),
		RawQuery: "_pragma=journal_mode(OFF)&_pragma=synchronous(OFF)&_pragma=foreign_keys(ON)",
	}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "BEGIN;"+schema+rows+"COMMIT")
	return errors.Join(err, db.Close())
}

// Questions returns good first questions about the shop, one per kind of analysis: trend, ranking, share, comparison,
// funnel, absence, average.
func Questions() []string {
	return []string{
		"How did revenue develop by month?",
		"Which five products brought in the most revenue?",
		"What share of revenue does each category have?",
		"Compare revenue in October 2025 and October 2026",
		"Which countries do our customers come from, and what do they spend?",
		"How many customers have never ordered anything?",
		"What share of orders was returned or cancelled, by category?",
		"What is the average order total by country?",
	}
}
