package app

import (
	"bufio"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote/config"
)

// stored runs a statement in a conversation, and returns the id of its result.
func (g *rig) stored(conversation, source, sql string) string {
	g.t.Helper()
	var out struct{ Result struct{ ID string } }
	g.call("POST", "/api/sources/"+source+"/query", map[string]any{"sql": sql, "conversation": conversation}, 200, &out)
	return out.Result.ID
}

// TestExportAll checks that all rows of a truncated result come from each engine, in each format.
func TestExportAll(t *testing.T) {
	needsDuckDB(t)
	const orders = 30_000
	sources, _ := fourDatabases(t, ordersOf(orders))
	g := newRig(t, t.TempDir(), func(c *config.Config) {
		for name, address := range sources {
			c.Sources[name] = address
		}
		c.Limits.QueryRows = 1000
	})
	conversation := g.ask("How many customers are in shop?")
	for source := range sources {
		t.Run(source, func(t *testing.T) {
			id := g.stored(conversation, source, "SELECT id, customer, total FROM orders ORDER BY id")
			w := g.do(g.request("GET", "/api/results/"+id+"/export", nil))
			records, err := csv.NewReader(w.Body).ReadAll()
			if err != nil || w.Code != 200 || len(records) != orders+1 {
				t.Fatalf("%d, %d records, %v", w.Code, len(records), err)
			}
			if last := strings.Join(records[orders], " "); last != fmt.Sprintf("%d 1 %d", orders, orders*3/2) {
				t.Errorf("the last record is %s", last)
			}
			for _, format := range []string{"jsonl", "json", "xlsx", "arrow", "parquet"} {
				w := g.do(g.request("GET", "/api/results/"+id+"/export?format="+format, nil))
				if w.Code != 200 || w.Body.Len() < orders {
					t.Errorf("%s: %d, %d bytes: %.200s", format, w.Code, w.Body.Len(), w.Body)
				}
				if format == "jsonl" && strings.Count(w.Body.String(), "\n") != orders {
					t.Errorf("%d lines", strings.Count(w.Body.String(), "\n"))
				}
			}
		})
	}
	for sql, why := range map[string]string{
		"SELECT id FROM orders ORDER BY random()": "their order have changed",
	} {
		id := g.stored(conversation, "lite", sql)
		w := g.do(g.request("GET", "/api/results/"+id+"/export", nil))
		if !strings.Contains(w.Body.String(), why) || !strings.Contains(w.Result().Trailer.Get("X-Export-Note"), why) {
			t.Errorf("%s: no note that %s: %v", sql, why, w.Result().Trailer)
		}
	}
	id := g.stored(conversation, "lite", "SELECT '=1+1' AS f FROM orders")
	formulas := g.do(g.request("GET", "/api/results/"+id+"/export", nil)).Body.String()
	if !strings.Contains(formulas, "\r\n'=1+1\r\n") {
		t.Errorf("a formula is not neutralised: %.100s", formulas)
	}
	g.refused(g.request("GET", "/api/results/"+id+"/export?format=doc", nil), 400, "invalid_request")
	other := g.request("GET", "/api/results/"+id+"/export", nil)
	other.Header.Set("Authorization", "Bearer "+bobsKey)
	g.refused(other, 404, "not_found")
	t.Run("Leave", func(t *testing.T) { leaveExport(t, g, conversation, sources) })
}

// leaveExport checks that a client that leaves in the middle of an export ends its statement within a second, and that
// a user has one export at a time.
func leaveExport(t *testing.T, g *rig, conversation string, sources map[string]string) {
	server := httptest.NewServer(g.api)
	defer server.Close()
	for source := range sources {
		// The join has 9 million rows.
		id := g.stored(conversation, source, "SELECT a.id, b.total FROM orders a, orders b WHERE a.id <= 300")
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		r := g.request("GET", "/api/results/"+id+"/export", nil).WithContext(ctx)
		r.RequestURI, r.URL.Scheme, r.URL.Host = "", "http", strings.TrimPrefix(server.URL, "http://")
		response, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := bufio.NewReader(response.Body).Discard(1 << 20); err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		g.refused(g.request("GET", "/api/results/"+id+"/export", nil), 429, "rate_limited")
		leave()
		_, _ = io.Copy(io.Discard, response.Body)
		response.Body.Close()
		left := time.Now()
		for ended := false; !ended; {
			w := g.do(g.request("HEAD", "/api/results/"+id+"/export", nil))
			if ended = w.Code == http.StatusOK; !ended && time.Since(left) > time.Second {
				t.Fatalf("%s: the export still runs after %s: %d", source, time.Since(left), w.Code)
			}
		}
	}
}
