//go:build cgo && !noduckdb

package app

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote/httpapi"
)

// TestCalculateAcrossSources joins results of two databases, asks where a row comes from, and calculates with the
// calculated result.
func TestCalculateAcrossSources(t *testing.T) {
	g := newRig(t, t.TempDir())
	var up httpapi.SourceInfo
	if w := g.do(g.upload("sales.db", salesBytes(t))); w.Code != 201 || json.Unmarshal(w.Body.Bytes(), &up) != nil {
		t.Fatalf("upload: %d %s", w.Code, w.Body)
	}
	var run taken
	g.call("POST", "/api/conversations", map[string]any{"text": "hello", "assistant": "analyst",
		"sources": []string{"shop", up.Name}}, 202, &run)
	g.settle(run.Conversation)
	query := func(source, sql string) (r ownResult) {
		body := map[string]any{"sql": sql, "conversation": run.Conversation}
		g.call("POST", "/api/sources/"+source+"/query", body, 200, &r)
		return r
	}
	calculate := func(sql string) (r ownResult) {
		g.call("POST", "/api/conversations/"+run.Conversation+"/calculations", map[string]any{"sql": sql}, 200, &r)
		return r
	}
	name := func(r ownResult) string { return r.Result.ID[strings.LastIndexByte(r.Result.ID, '.')+1:] }
	a := query("shop", "SELECT 'South' AS region, count(*) AS orders FROM orders UNION SELECT 'North', 10")
	b := query(up.Name, "SELECT region, sum(revenue) AS revenue FROM sales GROUP BY region ORDER BY region")
	c := calculate(fmt.Sprintf("SELECT region, revenue / orders AS per_order FROM %s JOIN %s USING (region) ORDER BY 1",
		name(a), name(b)))
	if got := fmt.Sprint(c.Result.Rows); got != "[[North 8] [South 0.37825059101654845]]" {
		t.Errorf("rows: %s", got)
	}
	d := calculate("SELECT sum(per_order) AS total FROM " + name(c))
	if got := fmt.Sprint(d.Result.Rows); got != "[[8.378250591016549]]" {
		t.Errorf("rows of the second calculation: %s", got)
	}
	var o httpapi.Origins
	g.call("GET", "/api/results/"+c.Result.ID+"/origins?row=1", nil, 200, &o)
	want := httpapi.Origins{
		Columns: []httpapi.ColumnOrigin{
			{Name: "region", Formula: "region", Reads: []httpapi.ResultColumn{
				{Result: name(a), Column: "region"}, {Result: name(b), Column: "region"},
			}},
			{Name: "per_order", Formula: "revenue / orders", Reads: []httpapi.ResultColumn{
				{Result: name(a), Column: "orders"}, {Result: name(b), Column: "revenue"},
			}},
		},
		Rows: []httpapi.RowsOf{
			{Result: name(a), Rows: []int{1}, Count: 1}, {Result: name(b), Rows: []int{1}, Count: 1},
		},
	}
	if fmt.Sprint(o) != fmt.Sprint(want) {
		t.Errorf("origins: %v, want %v", o, want)
	}
	g.call("GET", "/api/results/"+a.Result.ID+"/origins", nil, 400, nil)
}

// TestCalculateOverExpiredRows checks that a calculation names the result whose rows have expired.
func TestCalculateOverExpiredRows(t *testing.T) {
	g := newRig(t, t.TempDir())
	id := g.ask("Revenue by month")
	later := time.Now().Add(g.app.cfg.Results.Keep + time.Hour)
	if n, err := g.app.resultsExpiry(func() time.Time { return later }).Pass(t.Context()); err != nil || n != 1 {
		t.Fatalf("%d results expire, %v", n, err)
	}
	body := map[string]any{"sql": "SELECT count(*) AS n FROM r1"}
	if w := g.do(g.request("POST", "/api/conversations/"+id+"/calculations", body)); w.Code != 400 ||
		!strings.Contains(w.Body.String(), "The rows of r1 have expired. Run its query again") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
