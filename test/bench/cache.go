package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/reply"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/cache"
)

// statement is a tool that runs one statement on the bare driver.
type statement struct{ db *sql.DB }

const grouped = `SELECT customer_id, status, count(*) AS orders, CAST(min(ordered_at) AS TEXT) AS first,
	CAST(max(ordered_at) AS TEXT) AS last
	FROM orders GROUP BY customer_id, status ORDER BY orders DESC, customer_id, status LIMIT 200`

// Spec implements tool.Tool.
func (statement) Spec() tool.Spec { return tool.Spec{Name: "run_query"} }

// Call implements tool.Tool.
func (s statement) Call(ctx context.Context, call tool.Call) (tool.Output, error) {
	rows, err := s.db.QueryContext(ctx, grouped)
	if err != nil {
		return tool.Output{}, err
	}
	defer rows.Close()
	r := footnote.Result{Columns: []footnote.Column{
		{Name: "customer_id", Kind: footnote.KindInteger}, {Name: "status", Kind: footnote.KindText},
		{Name: "orders", Kind: footnote.KindInteger}, {Name: "first", Kind: footnote.KindText},
		{Name: "last", Kind: footnote.KindText},
	}}
	for rows.Next() {
		var customer, orders int64
		var status, first, last string
		if err := rows.Scan(&customer, &status, &orders, &first, &last); err != nil {
			return tool.Output{}, err
		}
		r.Rows = append(r.Rows, []any{customer, status, orders, first, last})
	}
	return tool.Output{
		Content: reply.Table{ID: call.ResultID, Result: r}.JSON(), Rows: &r, Source: "shop", SQL: grouped,
	}, rows.Err()
}

// hits compares a hit of the in-memory cache with the query it saves. The query runs on the bare driver in this
// process, which is the lowest possible cost.
func hits(ctx context.Context, r *rig) error {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(r.dir, "shop.db")+"?mode=ro")
	if err != nil {
		return err
	}
	defer db.Close()
	backend, err := cache.NewMemory(64<<20, 10_000)
	if err != nil {
		return err
	}
	c := cache.New(cache.Options{Backend: backend, Sources: func(_ context.Context, name string) (cache.Source, error) {
		return cache.Source{Name: name, Version: "1"}, nil
	}})
	defer c.Close()
	bare := statement{db}
	cached := c.Tool(bare, cache.Rule{TTL: time.Hour})
	call := func(t tool.Tool, hit bool) (float64, error) {
		took, out, err := timeCall(ctx, t, map[string]string{"sql": "grouped"}, "shop")
		if err == nil && out.CacheHit != hit {
			err = fmt.Errorf("hit is %v", out.CacheHit)
		}
		return took, err
	}
	if _, err := call(cached, false); err != nil {
		return err
	}
	var f figures
	for range 300 {
		plain, err1 := call(bare, false)
		hit, err2 := call(cached, true)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		f.base, f.ours = append(f.base, plain), append(f.ours, hit)
	}
	r.table.compare("a hit of the cache, 200 rows, over its query", "ms", f, 1, 0.25)
	return nil
}
