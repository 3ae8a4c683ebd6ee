package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	_ "modernc.org/sqlite" // stands in for sqlite3 where that is not installed

	"github.com/footnotehq/footnote/internal/pgtest"
)

// asking is a group of users who ask questions until stop is called. stop waits for them.
type asking struct {
	stop func()

	mu    sync.Mutex     // guards below
	known map[string]int // acknowledged answers by conversation
}

// startAsking makes a number of users ask a server.
func startAsking(t *testing.T, p *process, people int) *asking {
	a := &asking{known: map[string]int{}}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for n := range people {
		all.Go(func() {
			for q := 0; ctx.Err() == nil; q++ {
				r := p.try(ctx, question{
					text:         "How many orders are there?",
					conversation: fmt.Sprintf("asker-%d-%d", n, q/3),
				})
				if r.err == nil && r.status == http.StatusOK {
					a.mu.Lock()
					a.known[r.conversation]++
					a.mu.Unlock()
				}
			}
		})
	}
	a.stop = func() { cancel(); all.Wait() }
	return a
}

// answers returns the number of answers so far by conversation.
func (a *asking) answers() map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := map[string]int{}
	for id, n := range a.known {
		out[id] = n
	}
	return out
}

// wait waits for a number of further answers.
func (a *asking) wait(t *testing.T, more int) {
	t.Helper()
	sum := func() (n int) {
		for _, m := range a.answers() {
			n += m
		}
		return n
	}
	before := sum()
	eventually(t, "there are more answers", func() bool { return sum() >= before+more })
}

// checkRestored checks that a server over a restored copy has everything that was acknowledged before the copy began,
// and can continue.
func checkRestored(t *testing.T, known map[string]int, settings []string) {
	t.Helper()
	checkSound(t, settings...)
	p := serve(t, settings...)
	for id, want := range known {
		eventually(t, "unfinished runs end", func() bool { return !running(p.log(t, id, "")) })
		events := p.log(t, id, "")
		checkLog(t, events)
		got := 0
		for _, e := range events {
			if e.Kind == "answered" {
				got++
			}
		}
		if got < want {
			t.Errorf("%s has %d answers of %d that were acknowledged before the backup", id, got, want)
		}
	}
	p.answered(t, question{text: "fake: say Hello.", conversation: "asker-0-0"})
	p.kill()
	checkSound(t, settings...)
}

// TestBackup checks that a copy made while users ask, in each of the documented ways, is complete, contains
// everything acknowledged before, and can be served.
func TestBackup(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		_, settings := imitate(t, auto(t))
		data := t.TempDir()
		p := serve(t, append(settings, "FOOTNOTE_DATA="+data)...)
		a := startAsking(t, p, 4)
		for range number(t, "FOOTNOTE_BACKUPS", 2) {
			a.wait(t, 8)
			known, folder := a.answers(), t.TempDir()
			copied := filepath.Join(folder, "footnote.db")
			vacuum(t, filepath.Join(data, "footnote.db"), copied)
			checkRestored(t, known, append(settings[:len(settings):len(settings)], "FOOTNOTE_DATA="+folder))
		}
		a.stop()
	})
	t.Run("Postgres", func(t *testing.T) {
		t.Parallel()
		_, settings := imitate(t, auto(t))
		pg := pgtest.New(t)
		from := pg.Database(t)
		p := serve(t, append(settings, "FOOTNOTE_STORE="+from, "FOOTNOTE_DATA="+t.TempDir())...)
		a := startAsking(t, p, 4)
		for range number(t, "FOOTNOTE_BACKUPS", 2) {
			a.wait(t, 8)
			known, to := a.answers(), pg.Database(t)
			dump := filepath.Join(t.TempDir(), "dump")
			pg.Program(t, "pg_dump", "-Fc", "-n", "footnote", "-d", from, "-f", dump)
			pg.Program(t, "pg_restore", "-d", to, dump)
			checkRestored(t, known,
				append(settings[:len(settings):len(settings)], "FOOTNOTE_STORE="+to, "FOOTNOTE_DATA="+t.TempDir()))
		}
		a.stop()
	})
}

// vacuum copies a data file that is in use, and checks the copy.
func vacuum(t *testing.T, from, to string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+from+"?_pragma=busy_timeout(30000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	begun := time.Now()
	if _, err := db.ExecContext(t.Context(), "VACUUM INTO ?", to); err != nil {
		t.Fatal(err)
	}
	t.Logf("copied in %v", time.Since(begun))
	copied, err := sql.Open("sqlite", "file:"+to+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer copied.Close()
	var words string
	if err := copied.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&words); err != nil ||
		!strings.EqualFold(words, "ok") {
		t.Fatalf("the copy is damaged: %s %v", words, err)
	}
}
