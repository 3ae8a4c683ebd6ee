package warehousetest

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/wordlist"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/sourcetest"
	"github.com/footnotehq/footnote/source/warehouse"
	"github.com/footnotehq/footnote/source/warehouse/grammar"
)

// Suite tests a database over its imitation.
type Suite struct {
	Database warehouse.Database
	// Protocol answers requests with a fake.
	Protocol func(f *Fake) http.Handler
	// Listen starts a server that answers with a fake, in the place of Protocol, for a database that does not speak
	// HTTP. It returns the server's host and port.
	Listen func(t *testing.T, f *Fake) string
	// Open opens a source over the server at a URL. Secret is in its address or key, and must be in no message.
	Open   func(ctx context.Context, url string, h source.Hiding) (source.Source, error)
	Secret string
	// Excess is a row of the statement that asks for rights beyond reading; nil if there is no such statement.
	Excess []string
	Zone   string // what follows the times in kinds: "Z" or nothing
}

// Run runs the suite.
func (s Suite) Run(t *testing.T) {
	t.Run("Schema", s.schema)
	t.Run("Rows", s.rows)
	t.Run("Kinds", s.kinds)
	t.Run("Stop", s.stop)
	t.Run("Probe", s.probe)
	t.Run("Hidden", s.hidden)
	t.Run("Statements", s.statements)
	t.Run("Honest", s.honest)
	t.Run("Faults", s.faults)
	t.Run("Discovery", s.discovery)
}

// serve starts an imitation, and returns its fake and URL.
func (s Suite) serve(t *testing.T) (*Fake, string) {
	f := &Fake{t: t, db: s.Database}
	if s.Listen != nil {
		return f, s.Listen(t, f)
	}
	protocol := s.Protocol(f)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case f.redirect() != "":
			http.Redirect(w, r, f.redirect(), http.StatusTemporaryRedirect)
		case r.Method == http.MethodGet && f.busyNow():
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			protocol.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return f, server.URL
}

// Serve starts an imitation for a test of its own, and returns its URL.
func Serve(t *testing.T, d warehouse.Database, protocol func(f *Fake) http.Handler) string {
	_, url := Suite{Database: d, Protocol: protocol}.serve(t)
	return url
}

func (s Suite) open(t *testing.T, url string, h source.Hiding) source.Source {
	t.Helper()
	src, err := s.Open(t.Context(), url, h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	return src
}

// table returns how a statement writes a table.
func (s Suite) table(name string) string { return s.Database.Path(s.Database.Home, name) }

func (s Suite) schema(t *testing.T) {
	_, url := s.serve(t)
	schema, err := s.open(t, url, nil).Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	customers, _ := schema.Table("customers")
	view, _ := schema.Table("revenue")
	orders, _ := schema.Table("orders")
	things, ok := schema.Table("other.things")
	if customers.Comment != "who buys" || customers.Rows != 4 || len(customers.Columns) != 2 || !view.View || !ok ||
		things.Schema != "other" || orders.Rows != -1 {
		t.Errorf("schema: %+v", schema)
	}
	if id := customers.Columns[0]; id.Kind != footnote.KindInteger || id.Nullable ||
		customers.Columns[1].Comment != "of a person" {
		t.Errorf("columns: %+v", customers.Columns)
	}
	if s.Database.Keys != nil && (strings.Join(customers.PrimaryKey, ",") != "id" || len(orders.ForeignKeys) != 1 ||
		orders.ForeignKeys[0].RefTable != "customers") {
		t.Errorf("keys: %+v, %+v", customers.PrimaryKey, orders.ForeignKeys)
	}
}

func (s Suite) rows(t *testing.T) {
	f, url := s.serve(t)
	src := s.open(t, url, nil)
	sql := "SELECT n FROM " + s.table("many")
	for _, tc := range []struct {
		limits source.Limits
		rows   int
		limit  string
	}{
		{source.Limits{}, 5000, ""}, {source.Limits{Rows: 5000}, 5000, ""}, {source.Limits{Rows: 4999}, 4999, "rows"},
		{source.Limits{Rows: 1}, 1, "rows"}, {source.Limits{Bytes: 8000}, 1000, "bytes"},
	} {
		r, sum, err := source.Collect(t.Context(), src, source.Query{SQL: sql, Limits: tc.limits})
		if err != nil || len(r.Rows) != tc.rows || sum.Limit != tc.limit || r.Rows[tc.rows-1][0] != int64(tc.rows) ||
			r.Columns[0].Kind != footnote.KindInteger || strings.Join(sum.Tables, ",") != "many" {
			t.Errorf("limits %+v: %d rows, %+v, %v", tc.limits, len(r.Rows), sum, err)
		}
	}
	own := errors.New("seen enough")
	_, err := src.Query(t.Context(), source.Query{SQL: sql}, func([]any) error { return own })
	if !errors.Is(err, own) {
		t.Errorf("a reader that ended the query got %v", err)
	}
	f.set(func() { f.busy = 2 })
	if _, _, err := source.Collect(t.Context(), src, source.Query{SQL: sql}); err != nil {
		t.Errorf("a busy server: %v", err)
	}
}

func (s Suite) kinds(t *testing.T) {
	_, url := s.serve(t)
	all := source.Query{SQL: "SELECT * FROM " + s.table("kinds")}
	r, _, err := source.Collect(t.Context(), s.open(t, url, nil), all)
	if err != nil || len(r.Rows) != 1 {
		t.Fatal(r, err)
	}
	want := []any{
		int64(9007199254740993), "12345678901234567890.12", "it's \"字\" \\ \n", "2024-02-29",
		"2024-05-17T18:45:00.5" + s.Zone, nil,
	}
	for i, c := range want {
		if r.Rows[0][i] != c {
			t.Errorf("column %s: %#v, want %#v", r.Columns[i].Name, r.Rows[0][i], c)
		}
	}
	for i, kind := range []string{"integer", "decimal", "text", "date", "timestamp"} {
		if r.Columns[i].Kind != kind {
			t.Errorf("column %s has the kind %s, want %s", r.Columns[i].Name, r.Columns[i].Kind, kind)
		}
	}
}

// stop ends statements in every way, after which none may run.
func (s Suite) stop(t *testing.T) {
	f, url := s.serve(t)
	src := s.open(t, url, nil)
	endless := source.Query{SQL: "SELECT * FROM " + s.table("endless")}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	why := errors.New("the user left")
	time.AfterFunc(100*time.Millisecond, func() { cancel(why) })
	begun := time.Now()
	if _, err := src.Query(ctx, endless, func([]any) error { return nil }); !errors.Is(err, why) {
		t.Errorf("a cancelled query: %v", err)
	}
	if running := f.running(); len(running) > 0 || time.Since(begun) > 1100*time.Millisecond {
		t.Errorf("%v after the start: %q", time.Since(begun), running)
	}
	endless.Limits.Time = 200 * time.Millisecond
	_, err := src.Query(t.Context(), endless, func([]any) error { return nil })
	if bad, ok := errors.AsType[*source.Error](err); !ok || bad.Kind != source.Limited || !bad.TimedOut {
		t.Errorf("a query beyond its time: %v", err)
	}
	if running := f.running(); len(running) > 0 {
		t.Errorf("after its time: %q", running)
	}
}

func (s Suite) probe(t *testing.T) {
	f, url := s.serve(t)
	src := s.open(t, url, nil)
	if err := src.Probe(t.Context()); err != nil {
		t.Errorf("a user who only reads: %v", err)
	}
	f.set(func() { f.writable = true })
	if err := src.Probe(t.Context()); !errors.Is(err, source.ErrWritable) {
		t.Errorf("a user who writes: %v", err)
	}
	if s.Excess == nil {
		return
	}
	f.set(func() { f.writable, f.excess = false, [][]string{s.Excess} })
	if err := src.Probe(t.Context()); !errors.Is(err, source.ErrWritable) {
		t.Errorf("a user with more rights: %v", err)
	}
}

// hiding hides a column of orders.
type hiding struct{}

func (hiding) Any() bool { return true }
func (hiding) For(context.Context) source.Hidden {
	return source.Hidden{{Table: "orders", Columns: []string{"secret_total"}}, {Table: "many"}}
}

func (s Suite) hidden(t *testing.T) {
	f, url := s.serve(t)
	src := s.open(t, url, hiding{})
	schema, err := src.Schema(t.Context())
	orders, _ := schema.Table("orders")
	if _, ok := schema.Table("revenue"); err != nil || ok || len(orders.Columns) != 2 {
		t.Errorf("schema: %+v, %v", schema, err)
	}
	for _, sql := range []string{
		"SELECT * FROM orders", "SELECT o.* FROM orders AS o",
		"WITH orders_ AS (SELECT * FROM orders) SELECT * FROM orders_",
		"SELECT c.id FROM customers AS c JOIN orders AS o ON o.id = c.id", "SELECT orders FROM orders",
	} {
		outcome, _, err := sourcetest.Outcome(t.Context(), src, sql, source.Limits{})
		sent := f.last()
		if outcome != sourcetest.Executed || strings.Contains(sent, "secret_total") ||
			!strings.Contains(sent, "( SELECT ") || strings.Count(sent, s.table("orders")) != 1 {
			t.Errorf("%s: %s, %v; the server got %s", sql, outcome, err, sent)
		}
	}
	seen := f.seen()
	for _, sql := range []string{
		"SELECT * FROM revenue", "SELECT * FROM many", "EXPLAIN SELECT * FROM orders", "SELECT * FROM nothing",
	} {
		outcome, _, err := sourcetest.Outcome(t.Context(), src, sql, source.Limits{})
		if outcome != sourcetest.Refused || strings.Contains(err.Error(), "secret_total") {
			t.Errorf("%s: %s, %v", sql, outcome, err)
		}
	}
	if f.seen() != seen {
		t.Error("the server got a statement that was refused")
	}
}

// statements sends the hostile statements, none of which may reach the server.
func (s Suite) statements(t *testing.T) {
	f, url := s.serve(t)
	src := s.open(t, url, nil)
	seen := f.seen()
	list := sourcetest.Statements(t, "hostile", sourcetest.Refused)
	list = append(list, hostile(t)...)
	if s.Database.Routines != nil {
		list = append(list, sourcetest.Statement{
			Name: "a function of the database's own", SQL: "SELECT INITCAP('x')", Want: []string{sourcetest.Refused},
		})
	}
	for _, st := range list {
		outcome, _, err := sourcetest.Outcome(t.Context(), src, st.SQL, source.Limits{})
		if !st.Allows(outcome) {
			t.Errorf("%s: %s, %v\n%.300s", st.Name, outcome, err, st.SQL)
		}
	}
	if n := f.seen() - seen; n > 0 {
		t.Errorf("the server got %d statements, such as %s", n, f.last())
	}
	t.Logf("%d hostile statements", len(list))
}

// honest reads statements that no database may refuse: those of honest.sql, of TPC-H and of TPC-DS.
func (s Suite) honest(t *testing.T) {
	rules := s.Database.Grammar
	read := func(sql string) error {
		_, err := rules.Read(sql, grammar.Options{Table: func(path []string) (grammar.Table, error) {
			name := path[len(path)-1]
			return grammar.Table{SQL: rules.Quote(name), Name: name, Listed: strings.Join(path, ".")}, nil
		}})
		return err
	}
	for _, line := range wordlist.Lines(honestFile) {
		databases, sql, _ := strings.Cut(line, ": ")
		if databases != "all" && !slices.Contains(strings.Fields(databases), s.Database.Dialect.Name) {
			continue
		}
		if err := read(sql); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
	var spelling []string
	if rules.NameQuote == '`' {
		spelling = []string{`"([^"]*)"`, "`$1`"}
	}
	sourcetest.TPC(t, spelling, "", 0, read)
}

// faults tries servers that cannot be used. No message may have the secret.
func (s Suite) faults(t *testing.T) {
	check := func(what string, err error, code footnote.Code) {
		t.Helper()
		if footnote.CodeOf(err) != code {
			t.Errorf("%s: %v, want the code %v", what, err, code)
		}
		for ; err != nil; err = errors.Unwrap(err) {
			if s.Secret != "" && strings.Contains(err.Error(), s.Secret) {
				t.Errorf("%s: the message has the secret: %v", what, err)
			}
		}
	}
	_, err := s.Open(t.Context(), "http://127.0.0.1:1", nil)
	check("no server", err, footnote.DatabaseUnavailable)
	_, err = s.Open(t.Context(), "http://db.example.org:1", nil)
	check("no encryption", err, footnote.InvalidRequest)
	f, url := s.serve(t)
	src := s.open(t, url, nil)
	_, _, err = source.Collect(t.Context(), src, source.Query{SQL: "SELECT 'wrong' FROM " + s.table("revenue")})
	if bad, ok := errors.AsType[*source.Error](err); !ok || bad.Kind != source.Failed {
		t.Errorf("a wrong statement: %v", err)
	}
	if s.Listen != nil {
		return
	}
	var visited atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { visited.Store(true) }))
	defer other.Close()
	f.set(func() { f.elsewhere = other.URL })
	_, err = s.Open(t.Context(), url, nil)
	check("a redirect", err, footnote.DatabaseUnavailable)
	if visited.Load() {
		t.Error("a redirect to another host was followed")
	}
	_, _, err = source.Collect(t.Context(), src, source.Query{SQL: "SELECT * FROM " + s.table("orders")})
	check("a redirect later", err, footnote.DatabaseUnavailable)
}

func (s Suite) discovery(t *testing.T) {
	f, url := s.serve(t)
	f.set(func() { f.tables = 5000 })
	begun := time.Now()
	src := s.open(t, url, nil)
	schema, err := src.Schema(t.Context())
	if took := time.Since(begun); err != nil || len(schema.Tables) != 5007 || took > 30*time.Second {
		t.Errorf("%d tables in %v, %v", len(schema.Tables), took, err)
	} else {
		t.Logf("5,000 tables with 50,000 columns in %v", took.Round(time.Millisecond))
	}
	seen := f.seen()
	if _, err := src.Schema(t.Context()); err != nil || f.seen() != seen {
		t.Errorf("the schema was read again: %v", err)
	}
}
