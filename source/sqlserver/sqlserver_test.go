package sqlserver

import (
	"context"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/engines"
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
