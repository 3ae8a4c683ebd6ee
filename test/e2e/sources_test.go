package e2e

import (
	"crypto/rand"
	"database/sql"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/footnotehq/footnote/model/modeltest"
	"github.com/footnotehq/footnote/source/duckdb"
)

// TestUnopenableSources checks that the server does not start, and says which source is wrong and
// why.
func TestUnopenableSources(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	noise := make([]byte, 64<<10)
	_, _ = rand.Read(noise) // never fails
	good, err := os.ReadFile(shopDB)
	if err != nil {
		t.Fatal(err)
	}
	corrupt := append([]byte(nil), good...)
	copy(corrupt[100:], noise[:8000])
	pipe := filepath.Join(dir, "pipe.db")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct{ source, want string }{
		"a named pipe":         {pipe, "not a regular file"},
		"missing":              {filepath.Join(dir, "nowhere.db"), "not there"},
		"corrupt":              {write("corrupt.db", corrupt), ""},
		"cut off":              {write("cut.db", good[:5000]), ""},
		"encrypted":            {write("encrypted.db", noise), ""},
		"empty database":       {write("empty.db", nil), "empty"},
		"a device":             {"/dev/null", ""},
		"no address":           {"sqlite::memory:", "does not name a file"},
		"a parameter":          {"sqlite:" + shopDB + "?mode=rwc", "not allowed"},
		"locked":               {lockedDatabase(t, dir), "locked"},
		"a folder as database": {"sqlite:" + dir, "directory"},
	}
	if duckdb.Available {
		empty := filepath.Join(dir, "folder")
		if err := os.Mkdir(empty, 0o755); err != nil {
			t.Fatal(err)
		}
		cases["folder without data"] = struct{ source, want string }{empty, "no "}
		cases["missing csv"] = struct{ source, want string }{filepath.Join(dir, "nowhere.csv"), "not there"}
		cases["empty csv"] = struct{ source, want string }{write("empty.csv", nil), "empty"}
		cases["encrypted duckdb"] = struct{ source, want string }{write("noise.duckdb", noise), ""}
		cases["noise as parquet"] = struct{ source, want string }{write("noise.parquet", noise), ""}
		cases["noise as xlsx"] = struct{ source, want string }{write("noise.xlsx", noise), ""}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun := time.Now()
			settings := []string{
				"FOOTNOTE_LISTEN=127.0.0.1:0", "FOOTNOTE_DATA=" + t.TempDir(), "FOOTNOTE_SOURCES=bad=" + c.source,
			}
			o := command(t, settings, "", "serve")
			if o.code != 1 || o.stdout != "" {
				t.Errorf("exit code %d, output %q; want 1 and none\n%s", o.code, o.stdout, o.stderr)
			}
			if !strings.HasPrefix(o.stderr, "footnote: ") || strings.Count(o.stderr, "\n") != 1 ||
				!strings.Contains(o.stderr, "bad") || !strings.Contains(o.stderr, c.want) {
				t.Errorf("it says %q; want one line that names the source and holds %q", o.stderr, c.want)
			}
			if took := time.Since(begun); took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
			t.Log(o.stderr)
		})
	}
}

// lockedDatabase returns a database that this process keeps locked.
func lockedDatabase(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "locked.db")
	copyShop(t, path)
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("BEGIN EXCLUSIVE"); err != nil {
		t.Fatal(err)
	}
	return path
}

func copyShop(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(shopDB)
	if err == nil {
		err = os.WriteFile(path, data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestSourceVanishes removes the file while the server serves, and puts it back.
func TestSourceVanishes(t *testing.T) {
	t.Parallel()
	files := map[string]string{"shop.db": "SELECT count(*) AS orders FROM orders"}
	if duckdb.Available {
		files["orders.csv"] = "SELECT count(*) AS orders FROM orders"
	}
	for name, query := range files {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), name)
			if name == "shop.db" {
				copyShop(t, path)
			} else if err := os.WriteFile(path, []byte("id,city\n1,Rome\n2,Oslo\n3,Rome\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			_, settings := imitate(t, func(r modeltest.Request) modeltest.Reply {
				// A question after a failed run is in one message with the run's results.
				if last := r.Messages[len(r.Messages)-1].Content; last[len(last)-1].Type == "tool_result" {
					return modeltest.Say("Done.")
				}
				return modeltest.Use("run_query", `{"sql":"`+query+`"}`)
			})
			p := serve(t, append(settings, "FOOTNOTE_SOURCES=data="+path)...)
			ask := question{text: "How many?", conversation: "old"}
			p.answered(t, ask)
			if err := os.Rename(path, path+".away"); err != nil {
				t.Fatal(err)
			}
			for _, q := range []question{
				ask, {
					text: ask.text,
				}, {text: ask.text, stream: true}, {text: ask.text, conversation: "old", stream: true},
			} {
				r := p.ask(t, q)
				if r.status != http.StatusServiceUnavailable || r.code != "database_unavailable" {
					t.Errorf("%+v: status %d, code %q, %q %q", q, r.status, r.code, r.text, r.message)
				}
				if strings.Contains(r.message, filepath.Dir(path)) {
					t.Errorf("the message reveals a path: %s", r.message)
				}
			}
			if err := os.Rename(path+".away", path); err != nil {
				t.Fatal(err)
			}
			r := p.answered(t, ask)
			checkLog(t, p.log(t, r.conversation, ""))
		})
	}
}

// TestOneOfTwoSourcesVanishes checks that the other source still answers, and that questions about the
// missing one say that it is unavailable.
func TestOneOfTwoSourcesVanishes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good := filepath.Join(dir, "good.db")
	copyShop(t, good)
	fake, settings := imitate(t, func(r modeltest.Request) modeltest.Reply {
		last := r.Messages[len(r.Messages)-1].Content
		if last[len(last)-1].Type == "tool_result" {
			return modeltest.Say("Read: " + string(last[len(last)-1].Content))
		}
		source := "shop"
		if strings.Contains(last[0].Text, "staff") {
			source = "hr"
		}
		return modeltest.Use("run_query", `{"sql":"SELECT count(*) AS n FROM orders","source":"`+source+`"}`)
	})
	corrupt := filepath.Join(dir, "corrupt.db")
	if err := os.WriteFile(corrupt, []byte(strings.Repeat("no database ", 1000)), 0o644); err != nil {
		t.Fatal(err)
	}
	for spoiled, words := range map[string]string{
		filepath.Join(dir, "gone.db"): "The source hr cannot be reached now: The database file is not there. The " +
			"other sources are: shop.",
		lockedDatabase(t, dir): "The source hr cannot be reached now: The database is locked",
		corrupt:                "The source hr cannot be reached now: The file is not a SQLite database",
	} {
		t.Run(filepath.Base(spoiled), func(t *testing.T) {
			hr := filepath.Join(t.TempDir(), "hr.db")
			copyShop(t, hr)
			p := serve(t, append(settings, "FOOTNOTE_SOURCES=shop="+shopDB+",hr="+hr)...)
			replace := func(by string) {
				os.Remove(hr)
				if err := os.Link(by, hr); err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Fatal(err)
				}
			}
			replace(spoiled)
			system := func() string {
				all := fake.Requests()
				return string(all[len(all)-1].System)
			}
			if r := p.answered(t, question{text: "How many orders?"}); !strings.Contains(r.text, "846") ||
				!strings.Contains(system(), "Source hr (sqlite SQL, cannot be reached now") {
				t.Errorf("the other source: %q; the prompt:\n%s", r.text, system())
			}
			if r := p.answered(t, question{text: "How many staff?"}); !strings.Contains(r.text, words) {
				t.Errorf("the unavailable source: %q", r.text)
			}
			replace(good)
			if r := p.answered(t, question{text: "How many staff?"}); !strings.Contains(r.text, "846") ||
				strings.Contains(system(), "Source hr (sqlite SQL, cannot be reached") {
				t.Errorf("the source that is available again: %q", r.text)
			}
		})
	}
}
