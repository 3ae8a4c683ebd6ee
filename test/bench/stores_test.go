package bench_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the bare drivers, as the baseline
	_ "modernc.org/sqlite"

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

// pair is a store, and a bare table on the same disk that is as durable as its log.
type pair struct {
	engine string
	log    store.Store
	raw    *sql.DB
}

// pairs opens a new SQLite store and, if it is available, a new Postgres store.
func (r *rig) pairs(ctx context.Context, folder string) (list []pair, err error) {
	folder = filepath.Join(r.dir, folder)
	lite, err := sqlite.Open(ctx, filepath.Join(folder, "footnote.db"), sqlite.Options{})
	if err != nil {
		return nil, err
	}
	raw, err := sql.Open("sqlite", durable(filepath.Join(folder, "raw.db")))
	list = append(list, pair{"SQLite", lite, raw})
	if err == nil {
		err = createRaw(ctx, raw, 1)
	}
	pg := r.postgresServer()
	if pg == nil || err != nil {
		return list, err
	}
	url, err := pg.Create(ctx)
	if err != nil {
		return list, err
	}
	log, err := postgres.Open(ctx, url, postgres.Options{})
	if err != nil {
		return list, err
	}
	raw, err = sql.Open("pgx", url)
	if err == nil {
		err = createRaw(ctx, raw, conversations)
	}
	return append(list, pair{"Postgres", log, raw}), err
}

// durable returns the address of a SQLite file that is as durable as the log's.
func durable(file string) string {
	return "file:" + file + "?_pragma=journal_mode(wal)&_pragma=synchronous(full)&_txlock=immediate"
}

// insertRaw inserts a row of an event's size, rowBody, into the table of createRaw.
const insertRaw = "INSERT INTO raw VALUES ($1, $2, $3)"

var rowBody = strings.Repeat("x", 330)

// createRaw creates a bare table, and limits the connections to its database.
func createRaw(ctx context.Context, db *sql.DB, conns int) error {
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	_, err := db.ExecContext(ctx, "CREATE TABLE raw (writer BIGINT, n BIGINT, body TEXT, PRIMARY KEY (writer, n))")
	return err
}

// insert inserts a row of an event's size.
func (p pair) insert(ctx context.Context, writer, n int) error {
	_, err := p.raw.ExecContext(ctx, insertRaw, writer, n, rowBody)
	return err
}

func closePairs(list []pair) {
	for _, p := range list {
		_ = p.log.Close() // the figures have been taken
		if p.raw != nil {
			_ = p.raw.Close()
		}
	}
}

// conversations is the number of concurrent writers.
const conversations = 64

// rate returns how many writes per second some writers make durable, n in total.
func rate(writers, n int, write func(writer, i int) error) (float64, error) {
	begun := time.Now()
	err := parallel(writers, func(w int) error {
		for i := range n / writers {
			if err := write(w, i); err != nil {
				return err
			}
		}
		return nil
	})
	return float64(n/writers*writers) / time.Since(begun).Seconds(), err
}

// appends compares group-committed appends with inserts of the same durability on the same disk: one row and one
// fsync at a time. In Postgres, it also compares them with inserts on 64 connections, which share their syncs.
func appends(ctx context.Context, r *rig) error {
	list, err := r.pairs(ctx, "append")
	defer closePairs(list)
	if err != nil {
		return err
	}
	const rounds = 5
	few := max(200, r.plan.appends/20) / rounds
	for _, p := range list {
		inserts := func(writers, n int) func(int) (float64, error) {
			return func(round int) (float64, error) {
				return rate(writers, n, func(w, i int) error { return p.insert(ctx, (writers+w)*rounds+round, i) })
			}
		}
		many := func(round int) (float64, error) {
			return rate(conversations, r.plan.appends/rounds, func(w, i int) error {
				return appendOne(ctx, p.log, fmt.Sprintf("round%d_%d", round, w), i)
			})
		}
		f, err := alternate(rounds, inserts(1, few), many)
		if err != nil {
			return err
		}
		if p.engine == "SQLite" {
			r.table.atLeast("events appended, fsync first, 64 conversations", "1/s", f, 0.5, 0.8)
			continue
		}
		r.table.atLeast("events appended to Postgres, 64 conversations, over inserts", "1/s", f, 0.5, 0.8)
		f[base] = nil
		for round := range rounds {
			v, err := inserts(conversations, few*4)(round)
			if err != nil {
				return err
			}
			f.add(base, v)
		}
		r.table.atLeast("the same, over inserts on 64 connections", "1/s", f, 0.5, 0.8)
	}
	return nil
}

// appendOne appends the event with the number n to a conversation, which it first creates if n is 0.
func appendOne(ctx context.Context, log store.Store, id string, n int) error {
	if n == 0 {
		if err := log.Create(ctx, store.Stream{ID: id, Kind: "conversation", Org: "bench", User: "bench"}); err != nil {
			return err
		}
	}
	body := footnote.UserMessage{Text: strings.Repeat("x", 300)}
	_, err := log.Append(ctx, store.Append{Stream: id, After: int64(n), Bodies: []footnote.Body{body}})
	return err
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
		var readers [2]*sample // on the server that drives the run, and on the other one
		for i := range readers {
			readers[i] = &sample{}
		}
		if err := parallel(20, func(int) error { return both(ctx, servers, readers) }); err != nil {
			return err
		}
		for i, s := range readers {
			late50.add(i, median(s.late))
			late99.add(i, quantile(s.late, 0.99))
		}
	}
	r.table.compare("lateness at another server than the owner's, 20 streams, p50", "ms", late50, 5, 2)
	r.table.compare("lateness at another server than the owner's, 20 streams, p99", "ms", late99, 5, 2)
	return nil
}

// both asks the first server and reads the answer on both.
func both(ctx context.Context, servers [2]*process, readers [2]*sample) error {
	id, err := ask(ctx, servers[0].url, order{Kind: "text", Deltas: 200, GapMS: 20})
	if err != nil {
		return err
	}
	return parallel(2, func(i int) error {
		return readers[i].read(ctx, servers[i].url+"/api/conversations/"+id+"/events")
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
	list, err := r.pairs(ctx, "growth")
	defer closePairs(list)
	if err != nil {
		return err
	}
	for _, p := range list {
		if err := r.grow(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// step is a frequent operation, and its unit. Operations that wait for the disk are measured in bare inserts of the
// same moment, which wait for it as well.
type step struct {
	name, unit string
	do         func(n int) error
}

// steps returns the operations on a store with so many events. The first one is the bare insert.
func (p pair) steps(ctx context.Context, events int) ([]step, error) {
	head, err := p.log.Get(ctx, "conv_0")
	return []step{
		{"insert", "", func(n int) error { return p.insert(ctx, events, n) }},
		{"append", "inserts", func(n int) error { return appendOne(ctx, p.log, "conv_0", int(head.Last)+n) }},
		{"open", "inserts", func(n int) error { return begin(ctx, p.log, fmt.Sprintf("new_%d_%d", events, n)) }},
		{"list", "ms", func(int) error {
			_, _, err := p.log.List(ctx, store.Page{Org: "bench", User: "bench", Kind: store.Conversation, Limit: 50})
			return err
		}},
		{"history", "ms", func(int) (err error) {
			for _, e := range p.log.Events(ctx, "conv_7", 0) {
				err = errors.Join(err, e)
			}
			return err
		}},
	}, err
}

func (r *rig) grow(ctx context.Context, p pair) error {
	if err := fill(ctx, p.log, 0, 1); err != nil { // the conversation to look at
		return err
	}
	done := 1
	var first [][]float64
	for _, events := range r.grown {
		begun := time.Now()
		if err := fill(ctx, p.log, done, events/eventsEach); err != nil {
			return err
		}
		done = events / eventsEach
		fmt.Fprintf(os.Stderr, "%s: %d events of %d conversations after %v\n", p.engine, events, done,
			time.Since(begun).Round(time.Second))
		steps, err := p.steps(ctx, events)
		if err != nil {
			return err
		}
		cost, err := costs(steps)
		if err != nil {
			return err
		}
		if first == nil {
			first = cost
			continue
		}
		for i, step := range steps[1:] {
			r.table.compare(fmt.Sprintf("%s: %s, %d events of %d conversations over %d", p.engine, step.name, events,
				done, r.grown[0]), step.unit, figures{base: first[i+1], ours: cost[i+1]}, 3, 1.5)
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
func costs(steps []step) ([][]float64, error) {
	cost := make([][]float64, len(steps))
	for n := range 101 {
		for i, step := range steps {
			begun := time.Now()
			if err := step.do(n); err != nil {
				return nil, fmt.Errorf("%s: %w", step.name, err)
			}
			cost[i] = append(cost[i], since(begun))
		}
	}
	insert := median(cost[0])
	for i, step := range steps {
		for n := range cost[i] {
			if step.unit == "inserts" {
				cost[i][n] /= insert
			}
		}
	}
	return cost, nil
}
