package app

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/store/inspect"
	"github.com/footnotehq/footnote/store/retention"
)

// TestRetention deletes a conversation by rule, together with its owner's uploads on disk. Its cost stays known.
func TestRetention(t *testing.T) {
	for name, change := range map[string]func(*config.Config){
		"file":     func(*config.Config) {},
		"postgres": func(c *config.Config) { c.Store = config.Secret(pgtest.Database(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			g := newRig(t, folder, change, func(c *config.Config) { c.Retention = []string{"acme=90d"} })
			id := g.ask("How many orders are there?")
			if w := g.do(g.upload("x.db", shopBytes(t))); w.Code != 201 {
				t.Fatal(w.Code, w.Body)
			}
			var noted []retention.Deleted
			note := func(d retention.Deleted) error { noted = append(noted, d); return nil }
			pass(t, g, note, 89, 0)
			g.call("GET", "/api/conversations/"+id, nil, 200, nil)
			pass(t, g, note, 91, 1)
			g.call("GET", "/api/conversations/"+id, nil, 404, nil)
			if len(noted) != 1 || noted[0].SessionID != id || noted[0].Org != "acme" || noted[0].User != "ada" {
				t.Errorf("noted %+v", noted)
			}
			files, err := filepath.Glob(filepath.Join(folder, "uploads", "*", "*", "*"))
			if err != nil || len(files) != 0 {
				t.Errorf("uploads are left: %v, %v", files, err)
			}
			if data, err := os.ReadFile(filepath.Join(folder, "usage.json")); err != nil ||
				!bytes.Contains(data, []byte(`"position":`)) || bytes.Contains(data, []byte(`"position":0`)) {
				t.Errorf("what it cost is forgotten: %s, %v", data, err)
			}
		})
	}
}

func pass(t *testing.T, g *rig, note func(retention.Deleted) error, days, want int) {
	t.Helper()
	later := time.Now().Add(time.Duration(days) * 24 * time.Hour)
	job, err := g.app.retention(note, func() time.Time { return later })
	if err != nil {
		t.Fatal(err)
	}
	if n, err := job.Pass(t.Context()); err != nil || n != want {
		t.Errorf("after %d days %d are deleted, %v; want %d", days, n, err, want)
	}
}

// TestResultsExpire deletes the rows of results that are older than results.keep, but not those that a newer result
// has, too. A request for deleted rows says that they have expired.
func TestResultsExpire(t *testing.T) {
	for name, change := range map[string]func(*config.Config){
		"file":     func(*config.Config) {},
		"postgres": func(c *config.Config) { c.Store = config.Secret(pgtest.Database(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, t.TempDir(), change)
			id := g.ask("Revenue by month")
			query := func(sql string) string {
				var out struct{ Result struct{ ID string } }
				body := map[string]any{"sql": sql, "conversation": id}
				g.call("POST", "/api/sources/shop/query", body, 200, &out)
				return out.Result.ID
			}
			old := query("SELECT count(*) AS n FROM orders")
			again := query("SELECT count(id) AS n FROM orders")
			var times []time.Time
			for ev, err := range g.app.store.Events(t.Context(), id, 0) {
				if err != nil {
					t.Fatal(err)
				}
				if footnote.ResultOf(ev.Body) != nil {
					times = append(times, ev.Time)
				}
			}
			expire := func(now time.Time, want int) {
				t.Helper()
				job := g.app.resultsExpiry(func() time.Time { return now })
				if n, err := job.Pass(t.Context()); err != nil || n != want {
					t.Errorf("%d results expire, %v; want %d", n, err, want)
				}
			}
			address := "/api/results/" + id + "."
			keep := g.app.cfg.Results.Keep
			expire(times[0].Add(keep), 0)
			g.call("GET", address+"r1", nil, 200, nil)
			expire(times[1].Add(keep+time.Microsecond), 2)
			for _, path := range []string{"r1", "r1?sort=month", "r1?format=csv"} {
				if w := g.do(g.request("GET", address+path, nil)); w.Code != 404 ||
					!strings.Contains(w.Body.String(), "The rows of r1 have expired. Run its query again") {
					t.Errorf("%s: %d %s", path, w.Code, w.Body)
				}
			}
			for _, same := range []string{old, again} { // has the rows of a result that is kept
				g.call("GET", "/api/results/"+same, nil, 200, nil)
			}
			g.call("GET", "/api/conversations/"+id, nil, 200, nil)
			report, err := inspect.Read(t.Context(), g.app.store, multipliers(g.app.cfg), 0)
			if err != nil || len(report.Problems) > 0 {
				t.Errorf("the log has problems: %v, %v", report.Problems, err)
			}
		})
	}
}

// TestLogHasNoSecrets checks that the log contains no secrets of the configuration and no matches of its patterns.
func TestLogHasNoSecrets(t *testing.T) {
	c := config.Default()
	c.APIKey, c.Store, c.LogRedact = "sk-ant-verysecret", "postgres://me:hush@db/x", []string{`[\w.]+@[\w.]+`}
	c.APIKeys = []config.Key{{Key: "key-of-nobody"}}
	var out bytes.Buffer
	log := NewLogger(&out, c, "info")
	err := errors.New("the key sk-ant-verysecret of ada@example.org was refused")
	log.Info("failed for key-of-nobody", "err", err, "url", "postgres://me:hush@db/x", "who", "bob@example.org",
		slog.Group("g", "key", "sk-ant-verysecret"), "other", "postgres://you:hush2@db/y")
	for _, secret := range []string{"verysecret", "hush", "ada@", "bob@", "key-of-nobody"} {
		if strings.Contains(out.String(), secret) {
			t.Errorf("%s stands in the log: %s", secret, &out)
		}
	}
	if !strings.Contains(out.String(), "was refused") {
		t.Errorf("too much is hidden: %s", &out)
	}
}
