package bench_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/source/mysql/mariatest"
)

// exported is a database whose table orders is exported, and the program of its engine that does the same.
type exported struct {
	name, address string
	own           func(ctx context.Context) (*exec.Cmd, error) // writes the rows as text; nil: there is none
	copied        func(ctx context.Context) error              // instead of own: lets the engine write a file
}

const everyOrder = "SELECT id, customer, total FROM orders"

// filled returns the statements that create the table. Series is the engine's list of numbers, as i.
func filled(series string, rows int) []string {
	return []string{
		"CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER, total DOUBLE PRECISION)",
		"INSERT INTO orders SELECT i, 1 + i % 1000, i * 1.5 FROM " + fmt.Sprintf(series, rows),
	}
}

// exportables creates the databases.
func (r *rig) exportables() ([]exported, error) {
	file := func(driver, name, series string) (string, error) {
		path := filepath.Join(r.dir, name)
		db, err := sql.Open(driver, path)
		if err != nil {
			return "", err
		}
		for _, statement := range filled(series, r.plan.exported) {
			if _, err := db.Exec(statement); err != nil {
				return "", errors.Join(err, db.Close())
			}
		}
		return path, db.Close()
	}
	lite, err := file("sqlite", "lite.db",
		"(WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t WHERE i < %d) SELECT i FROM t)")
	if err != nil {
		return nil, err
	}
	duck, err := file("duckdb", "duck.duckdb", "range(1, %d + 1) AS s(i)")
	if err != nil {
		return nil, err
	}
	post := pgtest.Reader(r.plan.tb, filled("generate_series(1, %d) AS s(i)", r.plan.exported)...)
	maria := mariatest.New(r.plan.tb)
	maria.Do(r.plan.tb, filled("(SELECT seq AS i FROM seq_1_to_%d) s", r.plan.exported)...)
	address, err := url.Parse(maria.Address(maria.Reader))
	if err != nil {
		return nil, err
	}
	return []exported{
		{name: "lite", address: lite, own: func(ctx context.Context) (*exec.Cmd, error) {
			return exec.CommandContext(ctx, "sqlite3", "-readonly", "-csv", lite, everyOrder), nil
		}},
		{name: "duck", address: duck, copied: func(ctx context.Context) error {
			db, err := sql.Open("duckdb", duck+"?access_mode=READ_ONLY")
			if err != nil {
				return err
			}
			_, err = db.ExecContext(ctx, "COPY ("+everyOrder+") TO '"+filepath.Join(r.dir, "duck.csv")+"'")
			return errors.Join(err, db.Close())
		}},
		{name: "post", address: post, own: func(ctx context.Context) (*exec.Cmd, error) {
			return exec.CommandContext(ctx, "psql", "-X", "-q", "-c", "COPY ("+everyOrder+") TO STDOUT CSV", post), nil
		}},
		{name: "maria", address: address.String(), own: func(ctx context.Context) (*exec.Cmd, error) {
			return exec.CommandContext(ctx, "mariadb", "--no-defaults", "--quick", "--batch",
				"--socket="+address.Query().Get("socket"), "--user="+maria.Reader, maria.Name, "-e", everyOrder), nil
		}},
	}, nil
}

// exports compares the export of all rows of a result with the engine's own program, in MB of the file per second, and
// measures by how much the server's process grows.
func exports(ctx context.Context, r *rig) error {
	all, err := r.exportables()
	if err != nil {
		return err
	}
	var sources []string
	for _, e := range all {
		sources = append(sources, e.name+"="+e.address)
	}
	server, err := r.serve(ctx, filepath.Join(r.dir, "exports"), "FOOTNOTE_SOURCES="+strings.Join(sources, ","))
	if err != nil {
		return err
	}
	defer server.stop()
	client := exportClient{server.url}
	conversation, err := client.open(ctx)
	if err != nil {
		return err
	}
	most := 0.0
	for _, e := range all {
		id, err := client.query(ctx, conversation, e.name)
		if err != nil {
			return err
		}
		var f figures
		for range r.plan.rounds {
			before := resident(server.cmd.Process.Pid)
			watch := watchMemory(server.cmd.Process.Pid)
			size, rate, err := client.export(ctx, id)
			most = max(most, watch()-before)
			if err != nil {
				return fmt.Errorf("%s: %w", e.name, err)
			}
			f.add(ours, rate)
			plain, err := e.plain(ctx, size)
			if err != nil {
				return fmt.Errorf("%s: %w", e.name, err)
			}
			f.add(base, plain)
		}
		name := fmt.Sprintf("export of %d rows from %s, and its own program", r.plan.exported, e.name)
		r.table.atLeast(name, "MB/s", f, 0.1, 0.5)
	}
	r.table.absolute("growth of the server during these exports", "MB", most/1024, 100, 30)
	return nil
}

// plain returns the speed of the engine's own program, for a file of a size.
func (e exported) plain(ctx context.Context, size int64) (rate float64, err error) {
	begun := time.Now()
	if e.copied != nil {
		err = e.copied(ctx)
	} else {
		cmd, cerr := e.own(ctx)
		if cerr != nil {
			return 0, cerr
		}
		cmd.Env, cmd.Stdout = cleanEnv(), io.Discard
		err = cmd.Run()
	}
	return float64(size) / 1e6 / time.Since(begun).Seconds(), err
}

// watchMemory watches the memory of a process until the most that it had is asked for.
func watchMemory(pid int) (most func() float64) {
	done, result := make(chan struct{}), make(chan float64)
	go func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		var seen []float64
		for {
			seen = append(seen, resident(pid))
			select {
			case <-tick.C:
			case <-done:
				result <- slices.Max(seen)
				return
			}
		}
	}()
	return func() float64 { close(done); return <-result }
}

// exportClient sends requests to a server.
type exportClient struct{ url string }

func (c exportClient) do(ctx context.Context, method, path string, body any) (*http.Response, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer bench-key")
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err == nil && res.StatusCode >= 300 {
		words, _ := io.ReadAll(io.LimitReader(res.Body, 1000))
		return nil, errors.Join(fmt.Errorf("%s: %s: %s", path, res.Status, words), res.Body.Close())
	}
	return res, err
}

// decode sends a request and decodes its answer.
func (c exportClient) decode(ctx context.Context, path string, body, into any) error {
	res, err := c.do(ctx, http.MethodPost, path, body)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	return json.NewDecoder(res.Body).Decode(into)
}

func (c exportClient) open(ctx context.Context) (conversation string, err error) {
	var out struct{ Conversation string }
	err = c.decode(ctx, "/api/conversations", map[string]any{"text": "Hello."}, &out)
	return out.Conversation, err
}

func (c exportClient) query(ctx context.Context, conversation, source string) (id string, err error) {
	var out struct{ Result struct{ ID string } }
	for { // the answer to the first question may still be written
		err = c.decode(ctx, "/api/sources/"+source+"/query", map[string]any{
			"sql": everyOrder, "conversation": conversation,
		}, &out)
		if err == nil || !strings.Contains(err.Error(), "409") || ctx.Err() != nil {
			return out.Result.ID, err
		}
	}
}

// export reads all rows of a result, and returns the bytes and the speed in MB/s.
func (c exportClient) export(ctx context.Context, id string) (size int64, rate float64, err error) {
	begun := time.Now()
	res, err := c.do(ctx, http.MethodGet, "/api/results/"+id+"/export", nil)
	if err != nil {
		return 0, 0, err
	}
	defer res.Body.Close()
	size, err = io.Copy(io.Discard, res.Body)
	if note := res.Trailer.Get("X-Export-Note"); note != "" && err == nil {
		err = errors.New(note)
	}
	return size, float64(size) / 1e6 / time.Since(begun).Seconds(), err
}
