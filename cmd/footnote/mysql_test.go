package main

import (
	"strings"
	"testing"

	"github.com/footnotehq/footnote/source/mysql/mariatest"
)

// TestMariaDBSource checks what an operator sees of a source in MariaDB, and that the planner answers from it.
func TestMariaDBSource(t *testing.T) {
	d := mariatest.New(t)
	d.Do(t, "CREATE TABLE orders (id INT PRIMARY KEY, placed DATETIME NOT NULL, total DECIMAL(10,2) NOT NULL)",
		"INSERT INTO orders VALUES (1, '2024-01-05 10:00:00', 10.50), (2, '2024-02-05 10:00:00', 20.25), "+
			"(3, '2024-02-07 10:00:00', 30.00)", "CREATE VIEW big AS SELECT id FROM orders WHERE total > 20")
	t.Chdir(t.TempDir())
	source := "shop=" + d.Address(d.Reader)
	text := command(t, 0, "doctor", "--source", source)
	for _, want := range []string{
		"opened as mysql", "2 tables", "read-only: every way to write was refused",
		"proof: gated, tested on the real engine", "asked as the role " + d.Reader + "@localhost",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("doctor does not say %q:\n%s", want, text)
		}
	}
	text = command(t, 0, "ask", "--set", "upstream=offline", "--source", source, "orders per month")
	for _, want := range []string{"2024-01", "2024-02", "DATE_FORMAT(`placed`, '%Y-%m')"} {
		if !strings.Contains(text, want) {
			t.Errorf("the answer does not have %q:\n%s", want, text)
		}
	}
	text = command(t, 3, "query", "--source", source, "SELECT 1 INTO OUTFILE '/tmp/footnote-out'")
	if !strings.Contains(text, "INTO is not allowed") {
		t.Error(text)
	}
	text = command(t, 1, "query", "--source", "shop="+d.Address("root"), "SELECT 1")
	if !strings.Contains(text, "Database is not read-only. Refusing to start. The user root@localhost has ALL PRIVILEGES") {
		t.Error(text)
	}
	hidden := "mysql://reader:hush@127.0.0.1:1/shop"
	if text := command(t, 1, "query", "--source", hidden, "SELECT 1") + command(t, 1, "doctor", "--source",
		hidden); strings.Contains(text, "hush") || !strings.Contains(text, "cannot be reached") {
		t.Error(text)
	}
}
