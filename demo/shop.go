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

// Write creates the shop database at path and replaces an existing file. It writes beside path and then renames,
// so readers never see an incomplete file. The file's mode is 0444. Every run writes the same bytes.
func Write(ctx context.Context, path string) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".shop-*.tmp")
	if err != nil {
		return fmt.Errorf("write the demo shop: %w", err)
	}
	name := tmp.Name()
	defer os.Remove(name) // fails after the rename, as intended
	if err := tmp.Close(); err != nil {
		return fmt.Errorf("write the demo shop: %w", err)
	}
	if err := fill(ctx, name); err != nil {
		return fmt.Errorf("write the demo shop: %w", err)
	}
	if err := settle(name); err != nil {
		return fmt.Errorf("write the demo shop: %w", err)
	}
	if err := os.Rename(name, path); err != nil {
		return fmt.Errorf("write the demo shop: %w", err)
	}
	return nil
}

// settle syncs the file to disk and makes it read-only.
func settle(name string) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(0o444), f.Sync(), f.Close())
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
	db.SetMaxOpenConns(1)
	return errors.Join(fillDB(ctx, db), db.Close())
}

func fillDB(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // no effect after a commit
	if _, err := tx.ExecContext(ctx, schema); err != nil {
		return err
	}
	s := newShop()
	for _, load := range []struct {
		sql  string
		rows [][]any
	}{
		{`INSERT INTO customers VALUES (?,?,?,?,?,?,?)`, s.customerRows()},
		{`INSERT INTO products VALUES (?,?,?,?,?,?)`, s.productRows()},
		{`INSERT INTO orders VALUES (?,?,?,?,?,?)`, s.orderRows()},
		{`INSERT INTO order_items VALUES (?,?,?,?,?)`, s.itemRows()},
	} {
		if err := insert(ctx, tx, load.sql, load.rows); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func insert(ctx context.Context, tx *sql.Tx, query string, rows [][]any) error {
	stmt, err := tx.PrepareContext(ctx, query)
	if err != nil {
		return err
	}
	defer stmt.Close()
	for _, row := range rows {
		if _, err := stmt.ExecContext(ctx, row...); err != nil {
			return fmt.Errorf("%s: %w", query, err)
		}
	}
	return nil
}

// Questions returns good first questions about the shop, one per kind of analysis: trend, ranking, share, comparison,
// funnel, absence, margin, basket.
func Questions() []string {
	return []string{
		"How did revenue develop by month?",
		"Which five products brought in the most revenue?",
		"What share of revenue does each category have?",
		"How does this autumn compare with last autumn?",
		"Which countries do our customers come from, and what do they spend?",
		"How many customers have never ordered anything?",
		"What share of orders was returned or cancelled, by category?",
		"Which category has the best gross margin?",
	}
}
