package postgres

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/footnotehq/footnote/internal/pgtest"
)

// TestPlans checks that frequent statements can use an index and sort nothing, however large the tables are. It sets
// the costs of whole-table reads and sorts so high that Postgres uses them only where there is no other way.
func TestPlans(t *testing.T) {
	s := openAt(t, pgtest.Database(t), Options{})
	now := time.Now()
	for _, q := range []struct {
		sql  string
		args []any
	}{
		{sqlGet, []any{"c"}},
		{sqlFind, []any{"o", "u", "k", "c"}},
		{sqlList, []any{"o", "u", "", now, "c", 10}},
		{sqlMessages, []any{"c"}},
		{sqlUnfinished, []any{now, 10}},
		{sqlPage, []any{"c", 5}},
		{sqlBlob, []any{"c", "d"}},
		{sqlTail, []any{5, 10}},
		{sqlCursor, []any{"x"}},
		{sqlWritten, []any{"c", 1, 1}},
		{sqlCreatedBy, []any{"c", 1}},
		{sqlReserved, []any{"c"}},
		{sqlOverdue, []any{5}},
		{sqlRunning, []any{"o", "u"}},
		{sqlUnreserve, []any{"r", true}},
	} {
		plan := explain(t, s, q.sql, q.args)
		for _, bad := range []string{"Seq Scan", "Sort"} {
			if strings.Contains(plan, bad) {
				t.Errorf("%s in the plan of %s\n%s", bad, q.sql, plan)
			}
		}
	}
}

func explain(t *testing.T, s *Store, sql string, args []any) (plan string) {
	t.Helper()
	must(t, s.do(t.Context(), "explain", func(ctx context.Context, c *pgxpool.Conn) error {
		if _, err := c.Exec(ctx,
			"SELECT set_config(name, 'off', false) FROM unnest(ARRAY['enable_seqscan', 'enable_sort', "+
				"'enable_bitmapscan']) name"); err != nil {
			return err
		}
		rows, err := c.Query(ctx, "EXPLAIN "+sql, args...)
		if err != nil {
			return err
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		plan = strings.Join(lines, "\n")
		return err
	}))
	return plan
}
