package demo_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/demo"
)

// dumpDigest is the digest of the shop's rows. Change it only together with an intended change to the shop: answers
// in the documentation and in tests depend on the data.
const dumpDigest = "be7f18780e6ce6578674cb798359f5af7c2615b1b33a55fe71bac286bace1712"

func TestWriteTwiceGivesTheSameBytes(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.db"), filepath.Join(dir, "sub dir?#%41.db")
	for _, path := range []string{a, b, b} { // the second b replaces a read-only file
		if err := demo.Write(t.Context(), path); err != nil {
			t.Fatal(err)
		}
	}
	if fileDigest(t, a) != fileDigest(t, b) {
		t.Error("two runs wrote different files")
	}
	if got := dump(t, a); got != dumpDigest {
		t.Errorf("digest of the rows = %s, want %s", got, dumpDigest)
	}
	info, err := os.Stat(b)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != 0o444 {
		t.Errorf("mode = %v, want -r--r--r--", info.Mode())
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".shop-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestWriteThatFailsLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "shop.db")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := demo.Write(ctx, path); !errors.Is(err, context.Canceled) {
		t.Fatalf("Write with an ended context = %v, want context canceled", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Errorf("the old file holds %q now", got)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("%d files in the directory, want 1", len(entries))
	}
	if err := demo.Write(t.Context(), filepath.Join(dir, "missing", "shop.db")); err == nil {
		t.Error("Write into a directory that does not exist succeeded")
	}
}

func TestShopIsBelievable(t *testing.T) {
	db := open(t)
	for _, c := range []struct {
		what, sql string
		min, max  int
	}{
		{"customers", `SELECT count(*) FROM customers`, 50, 500},
		{"products", `SELECT count(*) FROM products`, 20, 100},
		{"orders", `SELECT count(*) FROM orders`, 200, 2000},
		{"order items", `SELECT count(*) FROM order_items`, 500, 10000},
		{"months", `SELECT count(DISTINCT strftime('%Y-%m', ordered_at)) FROM orders`, 6, 36},
		{
			"different month sizes",
			`SELECT count(DISTINCT n) FROM (SELECT count(*) n FROM orders GROUP BY strftime('%Y-%m', ordered_at))`, 6,
			36,
		},
		{"statuses", `SELECT count(DISTINCT status) FROM orders`, 5, 5},
		{"countries", `SELECT count(DISTINCT country) FROM customers`, 5, 20},
		{"segments", `SELECT count(DISTINCT segment) FROM customers`, 3, 3},
		{
			"customers without an order",
			`SELECT count(*) FROM customers WHERE id NOT IN (SELECT customer_id FROM orders)`, 1, 40,
		},
		{
			"orders before the customer came",
			`SELECT count(*) FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.ordered_at < ` +
				`c.signed_up_on`, 0, 0,
		},
		{
			"orders whose total is not that of their items",
			`SELECT count(*) FROM orders o WHERE abs(total - (SELECT sum(quantity * unit_price) FROM order_items ` +
				`WHERE order_id = o.id)) > 0.005`, 0, 0,
		},
		{
			"orders without items", `SELECT count(*) FROM orders WHERE id NOT IN (SELECT order_id FROM order_items)`, 0,
			0,
		},
		{
			"products that never sold",
			`SELECT count(*) FROM products WHERE id NOT IN (SELECT product_id FROM order_items)`, 0, 0,
		},
		{"products sold at a loss", `SELECT count(*) FROM products WHERE cost >= price * 0.85`, 0, 0},
		{
			"orders out of time",
			`SELECT count(*) FROM orders a JOIN orders b ON b.id = a.id + 1 WHERE b.ordered_at < a.ordered_at`, 0, 0,
		},
		{
			"odd addresses", `SELECT count(*) FROM customers WHERE email GLOB '*[^a-z.@-]*' OR email NOT LIKE ` +
				`'%@example.___'`, 0, 0,
		},
		{
			"December over August",
			`SELECT 100 * sum(strftime('%Y-%m', ordered_at) = '2025-12') / sum(strftime('%Y-%m', ordered_at) = ` +
				`'2025-08') FROM orders`, 200, 500,
		},
		{"broken foreign keys", `SELECT count(*) FROM pragma_foreign_key_check`, 0, 0},
		{"foreign keys", `SELECT count(*) FROM pragma_foreign_key_list('order_items')`, 2, 2},
	} {
		var n int
		if err := db.QueryRow(c.sql).Scan(&n); err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		if n < c.min || n > c.max {
			t.Errorf("%s: %d, want %d to %d", c.what, n, c.min, c.max)
		}
		t.Logf("%s: %d", c.what, n)
	}
	var ok string
	if err := db.QueryRow(`PRAGMA integrity_check`).Scan(&ok); err != nil || ok != "ok" {
		t.Errorf("integrity_check = %q, %v", ok, err)
	}
}

func TestQuestions(t *testing.T) {
	seen := map[string]bool{}
	for _, q := range demo.Questions() {
		if seen[q] || !strings.HasSuffix(q, "?") || len(q) > 80 {
			t.Errorf("question %q is not a good one", q)
		}
		seen[q] = true
	}
	if len(seen) < 6 || len(seen) > 8 {
		t.Errorf("%d questions, want 6 to 8", len(seen))
	}
}

func BenchmarkWrite(b *testing.B) {
	path := filepath.Join(b.TempDir(), "shop.db")
	for b.Loop() {
		if err := demo.Write(b.Context(), path); err != nil {
			b.Fatal(err)
		}
	}
}

func open(t *testing.T) *sql.DB {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shop.db")
	if err := demo.Write(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func fileDigest(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// dump returns the digest of schema and rows. Unlike the bytes of the file, it does not depend on the SQLite version.
func dump(t *testing.T, path string) string {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	h := sha256.New()
	for _, q := range []string{
		`SELECT name || sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name`,
		`SELECT concat_ws('|', id, name, email, city, country, segment, signed_up_on) FROM customers ORDER BY id`,
		`SELECT concat_ws('|', id, sku, name, category, price, cost) FROM products ORDER BY id`,
		`SELECT concat_ws('|', id, customer_id, ordered_at, status, channel, total) FROM orders ORDER BY id`,
		`SELECT concat_ws('|', id, order_id, product_id, quantity, unit_price) FROM order_items ORDER BY id`,
	} {
		rows, err := db.Query(q)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var line string
			if err := rows.Scan(&line); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(h, line)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
