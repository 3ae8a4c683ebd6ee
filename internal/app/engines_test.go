package app

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // opens a connection beside those of the source

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/model/modeltest"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/mysql/mariatest"
)

// engineNames names the sources of fourDatabases: SQLite, DuckDB, MariaDB and Postgres.
var engineNames = []string{"lite", "duck", "maria", "post"}

// fourDatabases returns the addresses of databases of four engines by name, and functions that return the statements
// that the servers among them run. Tables returns the statements that fill one; in them, numbers(n) is a list of the
// numbers up to n, as i.
func fourDatabases(t *testing.T, tables func(name string) []string) (addresses map[string]string,
	running map[string]func() string) {
	t.Helper()
	statements := func(name, series string) (list []string) {
		for _, s := range tables(name) {
			if before, rest, ok := strings.Cut(s, "numbers("); ok {
				n, after, _ := strings.Cut(rest, ")")
				s = before + strings.ReplaceAll(series, "%d", n) + after
			}
			list = append(list, s)
		}
		return list
	}
	dir := t.TempDir()
	file := func(driver, name, series string) string {
		path := filepath.Join(dir, name+"."+driver)
		db, err := sql.Open(driver, path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		for _, statement := range statements(name, series) {
			if _, err := db.Exec(statement); err != nil {
				t.Fatalf("%s: %s: %v", driver, statement, err)
			}
		}
		return path
	}
	maria := mariatest.New(t)
	maria.Do(t, statements("maria", "(SELECT seq AS i FROM seq_1_to_%d) s")...)
	maria.Do(t, "ANALYZE TABLE "+strings.Join(namesOfTables(tables("maria")), ", "))
	post := pgtest.Reader(t, append(statements("post", "generate_series(1, %d) AS s(i)"), "ANALYZE")...)
	admin := maria.Admin(t)
	watcher, err := sql.Open("pgx", post)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { watcher.Close() })
	list := func(db *sql.DB, query string) func() string {
		return func() (found string) {
			if err := db.QueryRow(query).Scan(&found); err != nil {
				t.Fatal(err)
			}
			return found
		}
	}
	return map[string]string{
			"lite": file("sqlite", "lite",
				"(WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t WHERE i < %d) SELECT i FROM t)"),
			"duck":  file("duckdb", "duck", "range(1, %d + 1) AS s(i)"),
			"maria": maria.Address(maria.Reader),
			"post":  post,
		}, map[string]func() string{
			"maria": list(admin, "SELECT coalesce(group_concat(info), '') FROM information_schema.processlist "+
				"WHERE command = 'Query' AND user = '"+maria.Reader+"'"),
			"post": list(watcher, "SELECT coalesce(string_agg(query, ','), '') FROM pg_stat_activity "+
				"WHERE state = 'active' AND pid <> pg_backend_pid() AND usename = current_user"),
		}
}

// namesOfTables returns the names in CREATE TABLE statements.
func namesOfTables(statements []string) (names []string) {
	for _, s := range statements {
		if rest, ok := strings.CutPrefix(s, "CREATE TABLE "); ok {
			name, _, _ := strings.Cut(rest, " ")
			names = append(names, name)
		}
	}
	return names
}

// ordersOf returns statements that create a number of orders of 1000 customers.
func ordersOf(orders int) func(string) []string {
	return func(string) []string {
		return []string{
			"CREATE TABLE customers (id INTEGER PRIMARY KEY, name VARCHAR(40))",
			"CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER, total DOUBLE PRECISION)",
			"INSERT INTO customers SELECT i, 'Customer' FROM numbers(1000)",
			fmt.Sprintf("INSERT INTO orders SELECT i, 1 + i %% 1000, i * 1.5 FROM numbers(%d)", orders),
		}
	}
}

// worked returns the processor time that a process has used so far, in ticks of 10 ms.
func worked(t *testing.T, pid int) (ticks int) {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0 // it has ended
	}
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	var user, system int
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		t.Fatal(err)
	}
	return user + system
}

// TestNothingRunsAfter checks that no engine works on a statement a second after it was stopped, has timed out, or has
// lost its client.
func TestNothingRunsAfter(t *testing.T) {
	needsDuckDB(t)
	const endless = "SELECT count(*) FROM orders a, orders b, orders c WHERE a.total + b.total + c.total < 0"
	addresses, running := fourDatabases(t, ordersOf(20_000))
	fake := modeltest.New(modeltest.Options{Key: "test", Rule: func(r modeltest.Request) modeltest.Reply {
		for _, name := range engineNames {
			if strings.Contains(r.LastUserText(), "Ask "+name) && r.HasTool("run_query") {
				input, _ := json.Marshal(map[string]string{"sql": endless, "source": name})
				return modeltest.Use("run_query", string(input))
			}
		}
		return modeltest.Say("A title")
	}})
	g := newRig(t, t.TempDir(), func(c *config.Config) {
		c.Sources, c.Limits.QueryTime = addresses, 3*time.Second
		c.Upstream, c.BaseURL, c.APIKey, c.Model = config.Anthropic, fake.Start(t), "test", "claude-sonnet-5-5"
	})
	// begun reports whether the engine works; rests fails the test if it still does after a second.
	state := func(name string) (begun func() bool, rests func(after string)) {
		src := source.Inner(g.app.sources[name])
		if list, ok := running[name]; ok {
			begun = func() bool { return strings.Contains(list(), "total") }
			return begun, func(after string) {
				t.Helper()
				for end := time.Now().Add(time.Second); begun(); {
					if time.Now().After(end) {
						t.Errorf("%s: after %s, it still runs %s", name, after, list())
						return
					}
				}
			}
		}
		pid := src.(interface{ PID() int }).PID
		process, base := pid(), worked(t, pid())
		begun = func() bool {
			if now := pid(); now != process { // the engine was restarted
				process, base = now, worked(t, now)
			}
			return worked(t, process) > base+10
		}
		return begun, func(after string) {
			t.Helper()
			time.Sleep(time.Second) // what the engine may take
			before := worked(t, pid())
			time.Sleep(300 * time.Millisecond) // there is no event for a process that does nothing
			if now := worked(t, pid()); now > before+5 {
				t.Errorf("%s: after %s, its process still works: %d ticks, then %d", name, after, before, now)
			}
		}
	}
	await := func(name string, begun func() bool) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); !begun(); {
			if time.Now().After(end) {
				t.Fatalf("%s: the statement does not run", name)
			}
		}
	}
	for _, name := range engineNames {
		query := func(ctx context.Context) <-chan *httptest.ResponseRecorder {
			done := make(chan *httptest.ResponseRecorder, 1)
			r := g.request("POST", "/api/sources/"+name+"/query", map[string]any{"sql": endless}).WithContext(ctx)
			go func() { done <- g.do(r) }()
			return done
		}
		begun, rests := state(name)
		done := query(t.Context())
		await(name, begun)
		if w := <-done; w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "limit") {
			t.Errorf("%s: timeout: %d %s", name, w.Code, w.Body)
		}
		rests("its time")

		ctx, leave := context.WithCancel(t.Context())
		begun, rests = state(name)
		done = query(ctx)
		await(name, begun)
		leave()
		<-done
		rests("a lost client")

		begun, rests = state(name)
		var opened taken
		g.call("POST", "/api/conversations", map[string]any{"text": "Ask " + name + "."}, 202, &opened)
		await(name, begun)
		g.call("POST", "/api/conversations/"+opened.Conversation+"/stop", nil, 204, nil)
		rests("stop")
		g.settle(opened.Conversation)
	}
}

// TestFourSources checks that a question is asked of the right one of four sources, and that a question across two is
// answered by a calculation, with footnotes to both statements.
func TestFourSources(t *testing.T) {
	needsDuckDB(t)
	things := map[string]string{"lite": "films", "duck": "trips", "maria": "tickets", "post": "invoices"}
	counts := map[string]int{"lite": 41, "duck": 52, "maria": 84, "post": 63}
	addresses, _ := fourDatabases(t, func(name string) []string {
		return []string{
			"CREATE TABLE " + things[name] + " (id INTEGER PRIMARY KEY, amount INTEGER)",
			fmt.Sprintf("INSERT INTO %s SELECT i, i FROM numbers(%d)", things[name], counts[name]),
		}
	})
	planner := newRig(t, t.TempDir(), func(c *config.Config) { c.Sources = addresses })
	for _, name := range engineNames {
		results := planner.results(planner.ask("How many " + things[name] + " are there?"))
		i := slices.IndexFunc(results, func(r footnote.ToolResult) bool { return r.Result != nil })
		if i < 0 || results[i].Result.Source != name {
			t.Errorf("%s were counted by %+v", things[name], results)
		}
	}
	fake := modeltest.New(modeltest.Options{Key: "test", Replies: []modeltest.Reply{
		modeltest.Use("run_query", `{"sql":"SELECT count(*) AS invoices FROM invoices","source":"post"}`),
		modeltest.Use("run_query", `{"sql":"SELECT count(*) AS tickets FROM tickets","source":"maria"}`),
		modeltest.Use("calculate", `{"sql":"SELECT tickets - invoices AS more FROM r1, r2"}`),
		modeltest.Say("There are 63 invoices and 84 tickets, 21 more."), modeltest.Say("Invoices and tickets"),
	}})
	g := newRig(t, t.TempDir(), func(c *config.Config) {
		c.Sources = addresses
		c.Upstream, c.BaseURL, c.APIKey, c.Model = config.Anthropic, fake.Start(t), "test", "claude-sonnet-5-5"
	})
	id := g.ask("How many more tickets than invoices are there?")
	var answer footnote.Answered
	var last footnote.ToolResult
	for _, ev := range g.events(id) {
		var into any
		switch ev.Kind {
		case "answered":
			into = &answer
		case "tool_result":
			last, into = footnote.ToolResult{}, &last
		default:
			continue
		}
		if err := json.Unmarshal(ev.Body, into); err != nil {
			t.Fatal(err)
		}
	}
	cited := map[string]string{}
	for _, c := range answer.Cites {
		cited[c.Text] = c.Result
	}
	if cited["63"] != "r1" || cited["84"] != "r2" || cited["21"] != "r3" {
		t.Errorf("the footnotes are %v, of %s", cited, answer.Text)
	}
	if last.Result == nil || !slices.Equal(last.Result.Parents, []string{"r1", "r2"}) {
		t.Errorf("the calculation is %+v", last)
	}
}
