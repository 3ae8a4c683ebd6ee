package bench_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/internal/reply"
	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/board"
	drawings "github.com/footnotehq/footnote/market/drawing"
	markets "github.com/footnotehq/footnote/market/sqlite"
	"github.com/footnotehq/footnote/market/tool/drawing"
	tools "github.com/footnotehq/footnote/market/tool/market"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/postgres"
	"github.com/footnotehq/footnote/source/sqlite"
	logs "github.com/footnotehq/footnote/store/sqlite"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/cache"
	"github.com/footnotehq/footnote/tool/search"
)

// statement is a tool that runs one statement on the bare driver.
type statement struct{ db *sql.DB }

const grouped = `SELECT customer_id, status, count(*) AS orders, CAST(min(ordered_at) AS TEXT) AS first,
	CAST(max(ordered_at) AS TEXT) AS last
	FROM orders GROUP BY customer_id, status ORDER BY orders DESC, customer_id, status LIMIT 200`

// Spec implements tool.Tool.
func (statement) Spec() tool.Spec { return tool.Spec{Name: "run_query"} }

// Call implements tool.Tool.
func (s statement) Call(ctx context.Context, call tool.Call) (tool.Output, error) {
	rows, err := s.db.QueryContext(ctx, grouped)
	if err != nil {
		return tool.Output{}, err
	}
	defer rows.Close()
	r := footnote.Result{Columns: []footnote.Column{
		{Name: "customer_id", Kind: footnote.KindInteger}, {Name: "status", Kind: footnote.KindText},
		{Name: "orders", Kind: footnote.KindInteger}, {Name: "first", Kind: footnote.KindText},
		{Name: "last", Kind: footnote.KindText},
	}}
	for rows.Next() {
		var customer, orders int64
		var status, first, last string
		if err := rows.Scan(&customer, &status, &orders, &first, &last); err != nil {
			return tool.Output{}, err
		}
		r.Rows = append(r.Rows, []any{customer, status, orders, first, last})
	}
	return tool.Output{
		Content: reply.Table{ID: call.ResultID, Result: r}.JSON(), Rows: &r, Source: "shop", SQL: grouped,
	}, rows.Err()
}

// hits compares a hit of the in-memory cache with the query it saves. The query runs on the bare driver in this
// process, which is the lowest possible cost.
func hits(ctx context.Context, r *rig) error {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(r.dir, "shop.db")+"?mode=ro")
	if err != nil {
		return err
	}
	defer db.Close()
	backend, err := cache.NewMemory(64<<20, 10_000)
	if err != nil {
		return err
	}
	c := cache.New(cache.Options{Backend: backend, Sources: func(_ context.Context, name string) (cache.Source, error) {
		return cache.Source{Name: name, Version: "1"}, nil
	}})
	defer c.Close()
	bare := statement{db}
	cached := c.Tool(bare, cache.Rule{TTL: time.Hour})
	call := func(t tool.Tool, hit bool) (float64, error) {
		took, out, err := timeCall(ctx, t, map[string]string{"sql": "grouped"}, "shop")
		if err == nil && out.CacheHit != hit {
			err = fmt.Errorf("hit is %v", out.CacheHit)
		}
		return took, err
	}
	if _, err := call(cached, false); err != nil {
		return err
	}
	f, err := alternate(300, func(int) (float64, error) { return call(bare, false) },
		func(int) (float64, error) { return call(cached, true) })
	if err != nil {
		return err
	}
	r.table.compare("a hit of the cache, 200 rows, over its query", "ms", f, 1, 0.25)
	return nil
}

// candles measures get_candles on a SQLite file of minutes: 500 hourly bars, the newest and at random positions in
// the middle, including the text for the model.
func candles(ctx context.Context, r *rig) (err error) {
	s, err := markets.Open(ctx, filepath.Join(r.dir, "market.db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	begin := time.Date(2000, 1, 3, 0, 0, 0, 0, time.UTC)
	if err := fillMinutes(ctx, s, begin, r.plan.candles); err != nil {
		return err
	}
	m := market.New(s, &market.Replay{Data: s})
	tool := tools.New(tools.Options{Market: m, Deadline: time.Minute})[0]
	random := rand.New(rand.NewPCG(1, 1))
	of := fmt.Sprintf("get_candles of %d million minutes, 500 bars of", r.plan.candles/1_000_000)
	for _, frame := range []market.Timeframe{market.H1, market.M5} {
		for _, middle := range []bool{false, true} {
			var took []float64
			for range 101 {
				in := map[string]any{"symbol": "EURUSD", "timeframe": frame, "limit": 500}
				if middle {
					minutes := r.plan.candles/4 + random.IntN(r.plan.candles/2)
					in["to"] = begin.Add(time.Duration(minutes) * time.Minute).Format(time.RFC3339)
				}
				ms, out, err := timeCall(ctx, tool, in)
				if err == nil && len(out.Rows.Rows) != 500 {
					err = fmt.Errorf("%d bars instead of 500", len(out.Rows.Rows))
				}
				if err != nil {
					return err
				}
				took = append(took, ms)
			}
			where := map[bool]string{false: "newest", true: "in the middle"}[middle]
			r.table.absolute(fmt.Sprintf("%s %s, %s, p50", of, frame, where), "ms", median(took), 20, 5)
			r.table.absolute(fmt.Sprintf("%s %s, %s, p95", of, frame, where), "ms", quantile(took, 0.95), 20, 10)
		}
	}
	return surroundings(ctx, r, m)
}

// surroundings measures the delay that a message at the chart has before the model is called: prices, 500 drawings,
// and a part that never responds.
func surroundings(ctx context.Context, r *rig, m market.Market) error {
	log, err := logs.Open(ctx, filepath.Join(r.dir, "boards", "footnote.db"), logs.Options{})
	if err != nil {
		return err
	}
	defer log.Close()
	boards := board.New(board.Options{Log: log})
	who := footnote.Principal{Org: "bench", User: "bench"}
	lines := make([]drawings.Drawing, 500)
	for i := range lines {
		lines[i] = drawings.Drawing{
			ID: fmt.Sprintf("d%d", i), Type: drawings.HorizontalLine, Symbol: "EURUSD", Timeframe: "1h",
			Price: new(1 + float64(i)/1000),
		}
	}
	if _, err := boards.Import(ctx, who, "EURUSD", lines, false, drawings.Cause{By: drawings.Human}); err != nil {
		return err
	}
	chart := drawing.Surroundings{Parts: append(drawing.NewPrices(silent{m}).Market(), drawing.Drawings(boards)...)}
	var took []float64
	for range 61 {
		begun := time.Now()
		words := chart.Describe(ctx, who, json.RawMessage(`{"symbol":"EURUSD","timeframe":"1h"}`))
		took = append(took, since(begun))
		if !strings.Contains(words, "bid ") || !strings.Contains(words, "d499") {
			return fmt.Errorf("the context lacks what there is: %.600s", words)
		}
	}
	r.table.absolute("context of a chart message, one part dead, p95", "ms", quantile(took, 0.95), 300, 260)
	return nil
}

// silent is a market whose headlines never arrive.
type silent struct{ market.Market }

func (silent) Headlines(ctx context.Context, _ market.HeadlineQuery) ([]market.Headline, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// fillMinutes loads minutes of one symbol, one million per load.
func fillMinutes(ctx context.Context, s market.Store, begin time.Time, n int) error {
	const most = 1_000_000
	list := make([]market.Candle, 0, most)
	price := 1.1
	random := rand.New(rand.NewPCG(2, 2))
	for i := 0; i < n; {
		list = list[:0]
		for ; i < n && len(list) < most; i++ {
			open := price
			price = math.Round((1.1+0.999*(price-1.1)+0.0001*random.NormFloat64())*1e5) / 1e5
			list = append(list, market.Candle{
				Time: begin.Add(time.Duration(i) * time.Minute), Open: open, High: max(open, price),
				Low: min(open, price), Close: price, Volume: float64(i % 100),
			})
		}
		l, err := s.Begin(ctx)
		if err != nil {
			return err
		}
		if err := errors.Join(
			l.Symbol(ctx, market.Symbol{Symbol: "EURUSD", Base: "EUR", Quote: "USD", Digits: 5, Synthetic: true}),
			l.Candles(ctx, "EURUSD", market.M1, list),
			l.Commit(ctx),
		); err != nil {
			return errors.Join(err, l.Rollback())
		}
	}
	return nil
}

// searches compares search_database with a plain query of the same engine for the ten best documents. A search also
// highlights the words, counts all matches and passes the gate, and with SQLite it makes a round trip to a child
// process.
func searches(ctx context.Context, r *rig) error {
	path := filepath.Join(r.dir, "documents.db")
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := fillDocuments(ctx, db, r.plan.documents,
		`CREATE TABLE documents (id INTEGER PRIMARY KEY, title TEXT, body TEXT)`,
		`CREATE VIRTUAL TABLE found USING fts5(title, body, content='documents', content_rowid='id', `+
			`tokenize='unicode61 remove_diacritics 2')`,
		`INSERT INTO found(found) VALUES ('rebuild')`); err != nil {
		return err
	}
	src, err := sqlite.Open(ctx, "docs", path, sqlite.Options{})
	if err != nil {
		return err
	}
	defer src.Close()
	const plain = `SELECT t.id, t.title, t.body FROM found f JOIN documents t ON t.id = f.rowid WHERE found MATCH $1 ` +
		`ORDER BY bm25(found) LIMIT 10`
	if err := compareSearches(ctx, r, "SQLite", db, plain, src, search.Table{FTS: "found"}); err != nil {
		return err
	}
	if pg := r.postgresServer(); pg != nil {
		return postgresSearches(ctx, r, pg)
	}
	return nil
}

func postgresSearches(ctx context.Context, r *rig, pg *pgtest.Server) error {
	owner, err := pg.Create(ctx)
	if err != nil {
		return err
	}
	db, err := sql.Open("pgx", owner)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := fillDocuments(ctx, db, r.plan.documents,
		`CREATE TABLE documents (id bigint PRIMARY KEY, title text, body text)`,
		`ALTER TABLE documents ADD COLUMN found tsvector GENERATED ALWAYS AS (to_tsvector('portuguese', title || ' ' `+
			`|| body)) STORED`,
		`CREATE INDEX ON documents USING gin (found)`, `ANALYZE documents`,
		`CREATE ROLE reader LOGIN NOSUPERUSER NOINHERIT`, `GRANT SELECT ON documents TO reader`); err != nil {
		return err
	}
	reader, err := url.Parse(owner)
	if err != nil {
		return err
	}
	reader.User = url.User("reader")
	src, err := postgres.Open(ctx, "docs", reader.String(), postgres.Options{})
	if err != nil {
		return err
	}
	defer src.Close()
	const plain = `SELECT id, title, body FROM documents, websearch_to_tsquery('portuguese', $1) q WHERE found @@ q ` +
		`ORDER BY ts_rank(found, q) DESC, id LIMIT 10`
	return compareSearches(ctx, r, "Postgres", db, plain, src, search.Table{Vector: "found", Language: "portuguese"})
}

// word returns the nth word of the documents' vocabulary.
func word(n int) string {
	stems := []string{"caldeira", "bomba", "relatório", "válvula", "turbina", "manutenção", "motor", "pressão"}
	return fmt.Sprintf("%s%d", stems[n%len(stems)], n)
}

// fillDocuments creates n documents of forty words. A few words are in most documents, and most words are in few.
// create runs before the inserts, and after runs afterwards.
func fillDocuments(ctx context.Context, db *sql.DB, n int, create string, after ...string) error {
	if _, err := db.ExecContext(ctx, create); err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(3, 3))
	zipf := rand.NewZipf(random, 1.1, 2, 4999)
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	insert, err := tx.PrepareContext(ctx, `INSERT INTO documents VALUES ($1, $2, $3)`)
	for i := 0; err == nil && i < n; i++ {
		words := make([]string, 40)
		for j := range words {
			words[j] = word(int(zipf.Uint64()))
		}
		_, err = insert.ExecContext(ctx, i+1, strings.Join(words[:4], " "), strings.Join(words[4:], " "))
	}
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	for _, s := range after {
		if _, err := db.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// oneSource is a catalogue with a single source.
type oneSource struct{ src source.Source }

func (s oneSource) Source(string) (source.Source, error) { return s.src, nil }

// compareSearches alternates between both ways: for words in one of a hundred documents, where fixed costs dominate,
// and for words in most documents.
func compareSearches(ctx context.Context, r *rig, engine string, db *sql.DB, plain string, src source.Source,
	table search.Table) error {
	table.Source, table.Table, table.Key = "docs", "documents", "id"
	table.Title, table.Text = []string{"title"}, []string{"title", "body"}
	tool, _, err := search.New(ctx, search.Options{Tables: []search.Table{table}, Sources: oneSource{src}})
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(4, 4))
	for _, kind := range []struct {
		name          string
		word          func() string
		most, stretch float64
	}{
		{"a rare word", func() string { return word(150 + random.IntN(100)) }, 5, 3},
		{"a common word", func() string { return word(random.IntN(2)) }, 3, 1.5},
	} {
		var asked string
		f, err := alternate(30, func(int) (float64, error) {
			asked = kind.word()
			return plainSearch(ctx, db, plain, asked)
		}, func(int) (float64, error) {
			ms, _, err := timeCall(ctx, tool, map[string]any{
				"query": asked, "table": "documents", "thought": "A measurement.",
			}, "docs")
			return ms, err
		})
		if err != nil {
			return err
		}
		r.table.compare(fmt.Sprintf("%s: search_database, %s, %d documents", engine, kind.name, r.plan.documents), "ms",
			f, kind.most, kind.stretch)
	}
	return nil
}

// plainSearch returns the bare driver's time for the ten best documents, in milliseconds.
func plainSearch(ctx context.Context, db *sql.DB, plain, asked string) (float64, error) {
	begun := time.Now()
	rows, err := db.QueryContext(ctx, plain, asked)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	n := 0
	for ; rows.Next(); n++ {
		var id int64
		var title, body string
		if err := rows.Scan(&id, &title, &body); err != nil {
			return 0, err
		}
	}
	if n == 0 && rows.Err() == nil {
		return 0, fmt.Errorf("nothing was found for %s", asked)
	}
	return since(begun), rows.Err()
}
