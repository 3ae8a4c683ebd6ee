package e2e

import (
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	_ "modernc.org/sqlite" // opens the data file without the server's knowledge

	"github.com/footnotehq/footnote/internal/pgtest"
)

// TestUnreadableEvents damages each event of a conversation in turn: the rest can still be read, the
// conversation can be continued and deleted, and other users are not affected.
func TestUnreadableEvents(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			_, settings := imitate(t, auto(t))
			data := t.TempDir()
			settings = append(settings, "FOOTNOTE_DATA="+data, "FOOTNOTE_LOG_OUTPUT=file")
			driver, where, table := "sqlite", filepath.Join(data, "footnote.db"), ""
			if kind == "postgres" {
				driver, where, table = "pgx", pgtest.Database(t), "footnote."
				settings = append(settings, "FOOTNOTE_STORE="+where)
			}
			damage := func(id string, seq int64, kind, body string) {
				t.Helper()
				execute(t, driver, where, strings.ReplaceAll(
					fmt.Sprintf("UPDATE {events SET kind = CASE WHEN '%s' = '' THEN kind ELSE '%s' END, body = '%s' "+
						"WHERE seq = %d AND stream = (SELECT n FROM {streams WHERE id = '%s')",
						kind, kind, body, seq, id), "{", table))
			}
			p := serve(t, settings...)
			const events = 9 // of a question with a query, from its first event to its last
			var ids []string
			for range events + 1 {
				a := p.answered(t, question{text: "How many orders are there?"})
				ids = append(ids, a.conversation)
			}
			p.kill()
			whole := ids[events]
			bodies := []string{
				`{"text":`, `garbage`,
				`{"text":1,"model":2,"run":3,"calls":4,"content":5,"door":6,"reason":7,"title":8}`, ``, `null`, `[]`,
			}
			for i := range events {
				kind := ""
				if i == 6 {
					kind = "from_the_future"
				}
				damage(ids[i], int64(i+1), kind, bodies[i%len(bodies)])
			}
			p = serve(t, settings...)
			var used string
			eventually(t, "the whole usage", func() bool {
				_, used = p.get(t, "/api/usage", "")
				return !strings.Contains(used, `"incomplete":true`)
			})
			if !strings.Contains(used, fmt.Sprintf(`"unreadable_events":%d`, events)) {
				t.Errorf("the usage is not marked: %s", used)
			}
			for i := range events {
				checkReadable(t, p, ids[i], i+1)
			}
			if status, body := p.get(t, "/api/conversations/"+whole, ""); status != http.StatusOK ||
				strings.Contains(body, "unreadable") {
				t.Errorf("another conversation: %d %s", status, body)
			}
			if _, body := p.get(t, "/metrics", ""); !strings.Contains(body,
				fmt.Sprintf("footnote_unreadable_total %d\n", events)) {
				t.Error("the metric does not count the events")
			}
			checkMoves(t, settings, events)
			for i := range events {
				p.remove(t, ids[i])
			}
		})
	}
}

// checkReadable checks every view of a conversation whose event seq cannot be read, and that the conversation can
// be continued.
func checkReadable(t *testing.T, p *process, id string, seq int) {
	t.Helper()
	words := fmt.Sprintf("Event %d of this conversation cannot be read.", seq)
	for path, want := range map[string]string{
		"/api/conversations/" + id:                                        fmt.Sprintf(`"unreadable_events":[%d]`, seq),
		"/api/conversations/" + id + "/messages":                          words,
		"/api/conversations/" + id + "/events":                            fmt.Sprintf(`{"seq":%d,"id":"%s.%[1]d",`, seq, id),
		"/api/conversations/" + id + "/events?view=seed":                  words,
		"/api/conversations/" + id + "/export?format=html":                words,
		"/api/conversations/" + id + "/events?after=" + fmt.Sprint(seq-1): `"kind":"unreadable"`,
	} {
		if status, body := p.get(t, path, ""); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("event %d: %s says %d %.600s", seq, path, status, body)
		}
	}
	if a := p.ask(t, question{text: "fake: say Still here.", conversation: id}); a.status != http.StatusOK ||
		a.text == "" {
		t.Errorf("event %d: a new question gets %d %s %q", seq, a.status, a.code, a.text)
	}
}

// remove deletes a conversation.
func (p *process) remove(t *testing.T, id string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, p.url+"/api/conversations/"+id, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		body, _ := io.ReadAll(res.Body)
		t.Errorf("delete of %s: %d %s", id, res.StatusCode, body)
	}
}

// checkMoves checks that the log can be exported, imported and inspected together with what cannot be read.
func checkMoves(t *testing.T, settings []string, events int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "all.jsonl")
	if o := command(t, settings, "", "export", file); o.code != 0 ||
		!strings.Contains(o.stderr, fmt.Sprintf("%d events or results cannot be read", events)) {
		t.Fatalf("export: %d %s%s", o.code, o.stdout, o.stderr)
	}
	var there []string
	for _, s := range settings {
		if !strings.HasPrefix(s, "FOOTNOTE_STORE=") && !strings.HasPrefix(s, "FOOTNOTE_DATA=") {
			there = append(there, s)
		}
	}
	there = append(there, "FOOTNOTE_DATA="+t.TempDir())
	for range 2 { // the second time, everything is already there
		if o := command(t, there, "", "import", file); o.code != 0 {
			t.Fatalf("import: %d %s%s", o.code, o.stdout, o.stderr)
		}
	}
	for _, env := range [][]string{settings, there} {
		o := command(t, append(env[:len(env):len(env)], "FOOTNOTE_LISTEN=127.0.0.1:0"), "", "doctor", "--log")
		if strings.Count(o.stdout, "it cannot be read: ") != events ||
			strings.Contains(o.stdout, "but the log adds up to") ||
			!strings.Contains(o.stdout, "compared with the usage in the log") {
			t.Errorf("doctor: %d\n%s%s", o.code, o.stdout, o.stderr)
		}
	}
}

func execute(t *testing.T, driver, where, query string) {
	t.Helper()
	if driver == "pgx" {
		c, err := pgx.Connect(t.Context(), where)
		if err == nil {
			_, err = c.Exec(t.Context(), query)
			_ = c.Close(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	db, err := sql.Open(driver, "file:"+where+"?_pragma=busy_timeout("+fmt.Sprint(time.Second.Milliseconds())+")")
	if err == nil {
		_, err = db.Exec(query)
		_ = db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}
