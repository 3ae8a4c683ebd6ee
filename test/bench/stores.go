package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/internal/redistest"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/postgres"
	"github.com/footnotehq/footnote/store/sqlite"
)

// postgresServer returns a Postgres server for this measurement. It prints a note and returns nil if Postgres is not
// installed.
func (r *rig) postgresServer() *pgtest.Server {
	if r.pg == nil && !r.noPG {
		var err error
		if r.pg, err = pgtest.Open(); err != nil {
			r.noPG = true
			fmt.Fprintln(os.Stderr, "without Postgres:", err)
		}
	}
	return r.pg
}

// postgresStore opens a store in a new database; it returns nil without Postgres.
func (r *rig) postgresStore(ctx context.Context) (log *postgres.Store, url string, err error) {
	pg := r.postgresServer()
	if pg == nil {
		return nil, "", nil
	}
	if url, err = pg.Create(ctx); err != nil {
		return nil, "", err
	}
	log, err = postgres.Open(ctx, url, postgres.Options{})
	return log, url, err
}

// postgresAppends does the same as appends for a Postgres store. It compares with bare inserts of the same
// rows, each in its own transaction: over one connection, and over 64 that share their syncs.
func postgresAppends(ctx context.Context, r *rig) error {
	log, url, err := r.postgresStore(ctx)
	if log == nil {
		return err
	}
	defer log.Close()
	var alone, together figures
	for round := range appendRounds {
		one, many, err := rawPostgres(ctx, url, fmt.Sprint("raw", round), max(200, r.plan.appends/20)/appendRounds,
			conversations)
		if err != nil {
			return err
		}
		ours, err := appendRate(ctx, log, fmt.Sprint("round", round), r.plan.appends/appendRounds)
		if err != nil {
			return err
		}
		alone.base, together.base = append(alone.base, one), append(together.base, many)
		alone.ours, together.ours = append(alone.ours, ours), append(together.ours, ours)
	}
	r.table.atLeast("events appended to Postgres, 64 conversations, over inserts", "1/s", alone, 0.5, 0.8)
	r.table.atLeast("the same, over inserts on 64 connections", "1/s", together, 0.5, 0.8)
	return nil
}

// appendRounds is how often bare inserts and appends alternate.
const appendRounds = 5

func rawPostgres(ctx context.Context, url, table string, n, conns int) (one, many float64, err error) {
	c, err := pgxpool.ParseConfig(url)
	if err != nil {
		return 0, 0, err
	}
	c.MaxConns = int32(conns)
	pool, err := pgxpool.NewWithConfig(ctx, c)
	if err != nil {
		return 0, 0, err
	}
	defer pool.Close()
	if _, err := pool.Exec(ctx,
		"CREATE TABLE "+table+" (stream text, seq bigint, body text, PRIMARY KEY (stream, seq))"); err != nil {
		return 0, 0, err
	}
	body := strings.Repeat("x", 330)
	insert := func(conns, n int, name string) (float64, error) {
		begun := time.Now()
		err := parallel(conns, func(c int) error {
			return pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
				for i := range n / conns {
					if _, err := conn.Exec(ctx, "INSERT INTO "+table+" VALUES ($1, $2, $3)", fmt.Sprint(name, c), i,
						body); err != nil {
						return err
					}
				}
				return nil
			})
		})
		return float64(n/conns*conns) / time.Since(begun).Seconds(), err
	}
	if one, err = insert(1, n, "one"); err == nil {
		many, err = insert(conns, n*4, "many")
	}
	return one, many, err
}

// remoteReaders measures how late the pieces of an answer arrive at a reader on another server, compared with a reader
// on the server that drives the run.
func remoteReaders(ctx context.Context, r *rig) error {
	pg := r.postgresServer()
	if pg == nil {
		return nil
	}
	redis, err := redistest.Open()
	if err != nil {
		fmt.Fprintln(os.Stderr, "without Redis:", err)
		return nil
	}
	defer redis.Remove()
	url, err := pg.Create(ctx)
	if err != nil {
		return err
	}
	var servers [2]*process
	for i := range servers {
		if servers[i], err = r.serve(ctx, filepath.Join(r.dir, "far"+strconv.Itoa(i)), "FOOTNOTE_STORE="+url,
			"FOOTNOTE_REDIS="+redis.URL()); err != nil {
			return err
		}
		defer servers[i].stop()
	}
	var late50, late99 figures
	for range r.rounds {
		near, away := &sample{}, &sample{}
		if err := parallel(20, func(int) error { return both(ctx, servers, near, away) }); err != nil {
			return err
		}
		late50.base, late50.ours = append(late50.base, median(near.late)), append(late50.ours, median(away.late))
		late99.base, late99.ours = append(late99.base, quantile(near.late, 0.99)),
			append(late99.ours, quantile(away.late, 0.99))
	}
	r.table.compare("lateness at another server than the owner's, 20 streams, p50", "ms", late50, 5, 2)
	r.table.compare("lateness at another server than the owner's, 20 streams, p99", "ms", late99, 5, 2)
	return nil
}

// both asks the first server and reads the answer on both.
func both(ctx context.Context, servers [2]*process, near, away *sample) error {
	id, err := ask(ctx, servers[0].url, order{Kind: "text", Deltas: 200, GapMS: 20})
	if err != nil {
		return err
	}
	samples := []*sample{near, away}
	return parallel(2, func(i int) error {
		return samples[i].read(ctx, servers[i].url+"/api/conversations/"+id+"/events")
	})
}

// ask asks in a new conversation without reading the answer.
func ask(ctx context.Context, url string, o order) (conversation string, err error) {
	body, err := json.Marshal(map[string]string{"text": o.prompt()})
	if err != nil {
		return "", err
	}
	res, err := send(ctx, http.MethodPost, url+"/api/conversations", body)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	var in struct{ Conversation string }
	if err := json.NewDecoder(res.Body).Decode(&in); err != nil || in.Conversation == "" {
		return "", fmt.Errorf("a question: %s %w", res.Status, err)
	}
	return in.Conversation, nil
}

// read reads the live pieces of an answer. Earlier pieces are in the log.
func (s *sample) read(ctx context.Context, url string) error {
	res, err := send(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var late []float64
	last := -1
	err = pieces(res.Body, func(number int, ms float64) error {
		if number > last { // the complete message at the end repeats all pieces
			last, late = number, append(late, ms)
		}
		return nil
	})
	if len(late) > 20 { // pieces from before the reader arrived came at once
		late = late[20:]
	}
	s.keep(late)
	if last != 199 {
		return errors.Join(fmt.Errorf("%s ended after piece %d", url, last), err)
	}
	return nil
}

// growth measures the cost of each step with little data and with much data.
func growth(ctx context.Context, r *rig) error {
	lite, err := sqlite.Open(ctx, filepath.Join(r.dir, "growth", "footnote.db"), sqlite.Options{})
	if err != nil {
		return err
	}
	bare, err := openRaw(ctx, filepath.Join(r.dir, "growth", "raw.db"))
	if err != nil {
		return errors.Join(err, lite.Close())
	}
	err = grow(ctx, r, "SQLite", lite, func(n int) error {
		_, err := bare.ExecContext(ctx, "INSERT INTO events VALUES (?, ?, ?)", "s", n, strings.Repeat("x", 330))
		return err
	})
	if err = errors.Join(err, bare.Close(), lite.Close()); err != nil {
		return err
	}
	log, url, err := r.postgresStore(ctx)
	if log == nil {
		return err
	}
	defer log.Close()
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return err
	}
	defer pool.Close()
	if _, err := pool.Exec(ctx, "CREATE TABLE raw (n bigint PRIMARY KEY, body text)"); err != nil {
		return err
	}
	return grow(ctx, r, "Postgres", log, func(n int) error {
		_, err := pool.Exec(ctx, "INSERT INTO raw VALUES ($1, $2)", n, strings.Repeat("x", 330))
		return err
	})
}

// steps lists frequent operations and their units. Operations that wait for the disk are measured in bare inserts of
// the same moment, which wait for it as well.
var steps = []struct{ name, unit string }{{"append", "inserts"}, {"open", "inserts"}, {"list", "ms"}, {"history", "ms"}}

func grow(ctx context.Context, r *rig, name string, log store.Store, insert func(n int) error) error {
	if err := fill(ctx, log, 0, 1); err != nil { // the conversation to look at
		return err
	}
	done := 1
	var base map[string][]float64
	for _, events := range r.grown {
		begun := time.Now()
		if err := fill(ctx, log, done, events/eventsEach); err != nil {
			return err
		}
		done = events / eventsEach
		fmt.Fprintf(os.Stderr, "%s: %d events of %d conversations after %v\n", name, events, done,
			time.Since(begun).Round(time.Second))
		cost, err := costs(ctx, log, events, insert)
		if err != nil {
			return err
		}
		if base == nil {
			base = cost
			continue
		}
		for _, step := range steps {
			r.table.compare(fmt.Sprintf("%s: %s, %d events of %d conversations over %d", name, step.name, events, done,
				r.grown[0]), step.unit,
				figures{base: base[step.name], ours: cost[step.name]}, 3, 1.5)
		}
	}
	return nil
}

// eventsEach is the number of events per conversation.
const eventsEach = 10

// fill creates one person's conversations with the numbers from and up to to.
func fill(ctx context.Context, log store.Store, from, to int) error {
	return parallel(conversations, func(w int) error {
		for i := from + w; i < to; i += conversations {
			if err := begin(ctx, log, "conv_"+strconv.Itoa(i)); err != nil {
				return err
			}
		}
		return nil
	})
}

func begin(ctx context.Context, log store.Store, id string) error {
	bodies := make([]footnote.Body, eventsEach)
	for i := range bodies {
		bodies[i] = footnote.UserMessage{Text: strings.Repeat("x", 300)}
	}
	_, err := log.CreateAppend(ctx, store.Stream{ID: id, Kind: store.Conversation, Org: "bench", User: "bench"},
		store.Append{Bodies: bodies})
	return err
}

// costs returns the durations of each step, measured in turns.
func costs(ctx context.Context, log store.Store, events int, insert func(n int) error) (map[string][]float64, error) {
	cost := map[string][]float64{}
	head, err := log.Get(ctx, "conv_0")
	if err != nil {
		return nil, err
	}
	last := head.Last
	for n := range 101 {
		for _, step := range append([]string{"insert"}, names(steps)...) {
			begun := time.Now()
			switch step {
			case "insert":
				err = insert(events + n)
			case "append":
				body := footnote.UserMessage{Text: strings.Repeat("x", 300)}
				_, err = log.Append(ctx, store.Append{Stream: "conv_0", After: last, Bodies: []footnote.Body{body}})
				last++
			case "open":
				err = begin(ctx, log, fmt.Sprintf("new_%d_%d", events, n))
			case "list":
				_, _, err = log.List(ctx, store.Page{Org: "bench", User: "bench", Kind: store.Conversation, Limit: 50})
			case "history":
				for _, e := range log.Events(ctx, "conv_7", 0) {
					err = errors.Join(err, e)
				}
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", step, err)
			}
			cost[step] = append(cost[step], since(begun))
		}
	}
	sync := median(cost["insert"])
	for _, step := range steps {
		for i := range cost[step.name] {
			if step.unit == "inserts" {
				cost[step.name][i] /= sync
			}
		}
	}
	return cost, nil
}

func names(steps []struct{ name, unit string }) (out []string) {
	for _, s := range steps {
		out = append(out, s.name)
	}
	return out
}
