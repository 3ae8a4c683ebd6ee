package sqlserver

import (
	"context"
	"errors"
	"math/big"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote/internal/wordlist"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/engines"
	"github.com/footnotehq/footnote/source/sourcetest"
	"github.com/footnotehq/footnote/source/warehouse"
	"github.com/footnotehq/footnote/source/warehouse/warehousetest"
)

func bigOf(s string) (*big.Int, bool) { return new(big.Int).SetString(s, 10) }

// start starts an imitation that answers every statement alike, and returns a service over it.
func start(t *testing.T, s *server) *service {
	t.Helper()
	s.refuse = func(format string, args ...any) { t.Errorf("the server got "+format, args...) }
	a, err := parse("shop", "sqlserver://reader:hush@"+s.listen(t)+"/shop?encrypt=false")
	if err != nil {
		t.Fatal(err)
	}
	out := connect(a, 1000)
	t.Cleanup(out.Close)
	return out
}

// TestProtocol checks a login, a row, and that an attention stops a statement.
func TestProtocol(t *testing.T) {
	begun := make(chan struct{}, 1)
	s := &server{}
	s.answer = func(sql string) (r result) {
		r.columns = []column{{"n", integerInfo}}
		if sql == "SELECT endless" {
			begun <- struct{}{}
			r.stop = func() {}
		}
		r.rows = [][][]byte{{cellOf(t, "integer", "42")}}
		return r
	}
	db := start(t, s)
	var got []any
	take := warehouse.Sink{Columns: func([]warehouse.Column) {}, Row: func(cells []any) error {
		got = append(got, cells...)
		return nil
	}}
	if err := db.Run(t.Context(), warehouse.Statement{SQL: "SELECT 42"}, take); err != nil || got[0] != "42" {
		t.Fatal(got, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the user left")
	go func() {
		<-begun
		cancel(why)
	}()
	at := time.Now()
	if err := db.Run(ctx, warehouse.Statement{SQL: "SELECT endless"}, take); !errors.Is(err, why) {
		t.Error(err)
	}
	if n := s.get(&s.stopped); n != 1 {
		t.Errorf("%d attentions", n)
	}
	t.Logf("stopped after %v", time.Since(at))
	if err := db.Run(t.Context(), warehouse.Statement{SQL: "SELECT 42"}, take); err != nil {
		t.Error(err)
	}
	if n := s.get(&s.open); n != 0 {
		t.Errorf("%d transactions are open", n)
	}
	t.Log(s.get(&s.logins), "logins")
}

func openAt(ctx context.Context, at string, h source.Hiding) (source.Source, error) {
	address := "sqlserver://reader:hush@" + strings.TrimPrefix(at, "http://") + "/shop?encrypt=false"
	return Engine().Open(ctx, "shop", address, engines.Options{Hiding: h})
}

func TestSource(t *testing.T) {
	warehousetest.Suite{
		Database: describe("shop", "dbo"), Listen: serveFake, Open: openAt, Secret: "hush",
		Excess: []string{"the role db_datawriter"},
	}.Run(t)
}

// catalogTables are the tables of TestGate, by their schemas.
var catalogTables = map[string]string{
	"dbo": "customers,orders,order_items,products,employees,events,revenue,order details,customer,lineitem,part," +
		"supplier,partsupp,nation,region",
	"sales": "regions",
}

// openCatalog opens a source over an imitation that has these tables and answers every statement alike.
func openCatalog(t *testing.T) (source.Source, *server) {
	t.Helper()
	texts := func(rows ...[]string) (r result) {
		for range rows[0] {
			r.columns = append(r.columns, column{"c", textInfo})
		}
		for _, row := range rows {
			var cells [][]byte
			for _, c := range row {
				cells = append(cells, textCell(c))
			}
			r.rows = append(r.rows, cells)
		}
		return r
	}
	s := &server{refuse: func(format string, args ...any) { t.Errorf("the server got "+format, args...) }}
	s.answer = func(sql string) result {
		var list [][]string
		for schema, names := range catalogTables {
			for name := range strings.SplitSeq(names, ",") {
				list = append(list, []string{schema, name, "TABLE", "", "5"})
			}
		}
		switch sql {
		case tables:
			return texts(list...)
		case columnsOf:
			return texts([]string{"dbo", "customers", "id", "int", "NO", ""})
		case keys:
			return texts([]string{"dbo", "customers", "pk", "PRIMARY", "id", "", "", ""})
		case routines:
			return texts([]string{"own_function"})
		}
		return result{columns: []column{{"n", integerInfo}}, rows: [][][]byte{{cellOf(t, "integer", "1")}}}
	}
	src, err := openAt(t.Context(), s.listen(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	return src, s
}

func statements(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file + ".sql")
	if err != nil {
		t.Fatal(err)
	}
	return wordlist.Lines(string(text))
}

// TestGate checks that hostile statements do not reach the server, and that honest ones do.
func TestGate(t *testing.T) {
	src, s := openCatalog(t)
	before := len(s.batches)
	hostile := statements(t, "hostile")
	for _, sql := range hostile {
		outcome, _, err := sourcetest.Outcome(t.Context(), src, sql, source.Limits{})
		if outcome != sourcetest.Refused {
			t.Errorf("%s: %s, %v", sql, outcome, err)
		}
	}
	if sent := s.batches[before:]; len(sent) > 0 {
		t.Errorf("the server got %q", sent)
	}
	honest := statements(t, "honest")
	for _, sql := range honest {
		outcome, _, err := sourcetest.Outcome(t.Context(), src, sql, source.Limits{})
		if outcome != sourcetest.Executed {
			t.Errorf("%s: %s, %v", sql, outcome, err)
		}
	}
	if len(hostile) < 150 || len(honest) < 100 {
		t.Errorf("only %d hostile and %d honest statements", len(hostile), len(honest))
	}
}
