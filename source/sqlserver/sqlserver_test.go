package sqlserver

import (
	"context"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/microsoft/go-mssqldb/msdsn"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/wordlist"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/engines"
	"github.com/footnotehq/footnote/source/sourcetest"
	"github.com/footnotehq/footnote/source/warehouse"
	"github.com/footnotehq/footnote/source/warehouse/grammar"
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
	if err := db.Run(t.Context(), warehouse.Statement{SQL: "SELECT 42"}, take); err != nil || got[0] != int64(42) {
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

// openCatalog opens a source over an imitation that has these tables and answers every other statement alike.
func openCatalog(t *testing.T, other result) (source.Source, *server) {
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
		return other
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
	src, s := openCatalog(t, result{
		columns: []column{{"n", integerInfo}}, rows: [][][]byte{{cellOf(t, "integer", "1")}},
	})
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
	for _, sql := range s.batches[before:] {
		checkWritten(t, sql)
	}
	if len(hostile) < 150 || len(honest) < 100 {
		t.Errorf("only %d hostile and %d honest statements", len(hostile), len(honest))
	}
}

// anyTable lets every table be read.
var anyTable = grammar.Options{Table: func(path []string) (grammar.Table, error) {
	name := rules.Quote(path[len(path)-1])
	return grammar.Table{SQL: name, Name: path[len(path)-1], Listed: name}, nil
}}

// begins are words that begin a statement of T-SQL.
var begins = wordlist.Set(`ADD ALTER BACKUP BEGIN BULK CHECKPOINT CLOSE COMMIT CREATE DBCC DEALLOCATE DECLARE DELETE
	DENY DISABLE DROP ENABLE EXEC EXECUTE GOTO GRANT IF INSERT INTO KILL MERGE MOVE OPEN PRINT RAISERROR READTEXT RECEIVE
	RECONFIGURE RESTORE RETURN REVERT REVOKE ROLLBACK SAVE SEND SET SETUSER SHUTDOWN THROW TRUNCATE UPDATE UPDATETEXT USE
	WAITFOR WHILE WRITETEXT`)

// checkWritten checks that the server takes what the gate wrote for one statement: outside names and strings, no word
// begins another one, and each SELECT follows what must be followed by one. It also checks that the gate reads it again
// as the same.
func checkWritten(t *testing.T, sql string) {
	t.Helper()
	// What was read may have been written with the schema; what is read again must not change any more.
	one, err := rules.Read(sql, anyTable)
	if err != nil {
		t.Errorf("%q cannot be read again: %v", sql, err)
		return
	}
	if two, err := rules.Read(one.SQL, anyTable); err != nil || two.SQL != one.SQL {
		t.Errorf("%q was read again as %q, %v", one.SQL, two.SQL, err)
	}
	plain := regexp.MustCompile(`\[(?:[^\]]|\]\])*\]|N?'(?:[^']|'')*'`).ReplaceAllString(sql, "_")
	if strings.ContainsAny(plain, "[];'\"@#$") || strings.Contains(plain, "--") || strings.Contains(plain, "/*") {
		t.Errorf("%q has signs that the gate does not write: %q", sql, plain)
	}
	words := strings.Fields(plain)
	with := []bool{false} // whether WITH began the query in each bracket
	for i, w := range words {
		last := ""
		if i > 0 {
			last = words[i-1]
		}
		switch {
		case begins[w]:
			t.Errorf("%q has the word %s", sql, w)
		case w == "(":
			with = append(with, false)
		case w == ")":
			with = with[:len(with)-1]
		case w == "WITH" && (last == "" || last == "("):
			with[len(with)-1] = true
		case w == "SELECT" && !slices.Contains([]string{"", "(", "UNION", "ALL", "EXCEPT", "INTERSECT"}, last) &&
			!(last == ")" && with[len(with)-1]):
			t.Errorf("%q has SELECT behind %s", sql, last)
		}
	}
}

// TestWritten checks how the gate writes what T-SQL has of its own.
func TestWritten(t *testing.T) {
	for _, tc := range [][2]string{
		{"select shutdownx from t x", "SELECT [shutdownx] FROM [t] AS [x]"},
		{"select top 5 a from t with (nolock) order by a asc", "SELECT TOP 5 [a] FROM [t] ORDER BY [a] ASC"},
		{"select a from t limit 5", "SELECT TOP ( 5 ) [a] FROM [t]"},
		{"select distinct a from t order by a limit 5", "SELECT DISTINCT TOP ( 5 ) [a] FROM [t] ORDER BY [a]"},
		{"select a from t limit 5 offset 10",
			"SELECT [a] FROM [t] ORDER BY 1 OFFSET 10 ROWS FETCH NEXT 5 ROWS ONLY"},
		{"select 1 union select 2 order by 1 limit 5",
			"SELECT 1 UNION SELECT 2 ORDER BY 1 OFFSET 0 ROWS FETCH NEXT 5 ROWS ONLY"},
		{"select x.a from (select a from t limit 3) x limit 5",
			"SELECT TOP ( 5 ) [x].[a] FROM ( SELECT TOP ( 3 ) [a] FROM [t] ) AS [x]"},
		{"select 'é', n'a', N'字'", "SELECT N'é' , 'a' , N'字'"},
		{"select 'a\\\nb'", "SELECT ('a\\' + '\nb')"},
		{"select a from t where b = true and c is null", "SELECT [a] FROM [t] WHERE [b] = 1 AND [c] IS NULL"},
		{"select * from (select a from t order by a) x", "SELECT * FROM ( SELECT [a] FROM [t] ORDER BY [a] " +
			"OFFSET 0 ROWS ) AS [x]"},
		{"select * from (select top 1 a from t order by a) x",
			"SELECT * FROM ( SELECT TOP 1 [a] FROM [t] ORDER BY [a] ) AS [x]"},
		{"select a || ' ' || b", "SELECT [a] + ' ' + [b]"},
		{"select a as 'x y' from t as final", "SELECT [a] AS [x y] FROM [t] AS [final]"},
		{"select length(a), dateadd(day, -1, b), convert(varchar(10), b, 120)",
			"SELECT LEN ( [a] ) , DATEADD ( DAY , - 1 , [b] ) , CONVERT ( varchar ( 10 ) , [b] , 120 )"},
		{"with recursive r as (select 1 as i union all select i + 1 from r) select i from r option (maxrecursion 5)",
			"WITH [r] AS ( SELECT 1 AS [i] UNION ALL SELECT [i] + 1 FROM [r] ) SELECT [i] FROM [r] " +
				"OPTION ( MAXRECURSION 5 )"},
		{"select [a]]b], `c`, \"d\"", "SELECT [a]]b] , [c] , [d]"},
		{"select (select a from t for xml path(''), type).value('.', 'int')",
			"SELECT ( SELECT [a] FROM [t] FOR XML PATH ( '' ) , TYPE ) .value ( '.' , 'int' )"},
	} {
		st, err := rules.Read(tc[0], anyTable)
		if err != nil || st.SQL != tc[1] {
			t.Errorf("%s: %s, %v, want %s", tc[0], st.SQL, err, tc[1])
		}
	}
}

// FuzzGate checks that whatever the gate writes is one statement.
func FuzzGate(f *testing.F) {
	for _, file := range []string{"hostile", "honest"} {
		text, err := os.ReadFile("testdata/" + file + ".sql")
		if err != nil {
			f.Fatal(err)
		}
		for _, sql := range wordlist.Lines(string(text)) {
			f.Add(sql)
		}
	}
	f.Fuzz(func(t *testing.T, sql string) {
		if st, err := rules.Read(sql, anyTable); err == nil {
			checkWritten(t, st.SQL)
		}
	})
}

// TestCells checks that values are exact.
func TestCells(t *testing.T) {
	at := time.Date(2024, 5, 17, 18, 45, 0, 123_456_700, time.UTC)
	moment := append(units(at), days(at)...)
	collation := []byte{9, 4, 0xd0, 0, 0x34}
	var r result
	row, nulls, want := [][]byte{}, [][]byte{}, []any{}
	for _, c := range []struct {
		info, cell, null []byte
		kind             string
		want             any
	}{
		{[]byte{0x6e, 8}, []byte{8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, []byte{0}, "decimal", "-0.0001"},
		{[]byte{0x6e, 8}, []byte{8, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff}, []byte{0}, "decimal",
			"922337203685477.5807"},
		{[]byte{0x6e, 4}, []byte{4, 0x10, 0x27, 0, 0}, []byte{0}, "decimal", "1.0000"},
		{[]byte{0x6a, 9, 18, 4}, []byte{9, 0, 1, 0, 0, 0, 0, 0, 0, 0x80}, []byte{0}, "decimal",
			"-922337203685477.5809"},
		{[]byte{0x68, 1}, []byte{1, 1}, []byte{0}, "boolean", true},
		{[]byte{0x26, 1}, []byte{1, 255}, []byte{0}, "integer", int64(255)},
		{[]byte{0x26, 8}, []byte{8, 0, 0, 0, 0, 0, 0, 0, 0x80}, []byte{0}, "integer", int64(math.MinInt64)},
		{[]byte{0x6d, 8}, append([]byte{8}, binary.LittleEndian.AppendUint64(nil, math.Float64bits(0.1))...), []byte{0},
			"number", 0.1},
		{[]byte{0x24, 16}, []byte{16, 3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15}, []byte{0}, "text",
			"00010203-0405-0607-0809-0A0B0C0D0E0F"},
		{dateInfo, append([]byte{3}, days(at)...), []byte{0}, "date", "2024-05-17"},
		{dateInfo, []byte{3, 0, 0, 0}, []byte{0}, "date", "0001-01-01"},
		{momentInfo, append([]byte{8}, moment...), []byte{0}, "timestamp", "2024-05-17T18:45:00.1234567"},
		{[]byte{0x2b, 7}, append(append([]byte{10}, moment...), 120, 0), []byte{0}, "timestamp",
			"2024-05-17T18:45:00.1234567Z"},
		{[]byte{0x29, 7}, append([]byte{5}, units(at)...), []byte{0}, "time", "18:45:00.1234567"},
		{[]byte{0x6f, 8}, []byte{8, 0, 0, 0, 0, 44, 1, 0, 0}, []byte{0}, "timestamp", "1900-01-01T00:00:01"},
		{[]byte{0xa5, 64, 31}, []byte{3, 0, 1, 2, 3}, []byte{0xff, 0xff}, "blob", "blob, 3 bytes"},
		{append([]byte{0xe7, 40, 0}, collation...), append([]byte{4, 0}, wide("字ñ")...), []byte{0xff, 0xff}, "text",
			"字ñ"},
		{append([]byte{0xa7, 40, 0}, collation...), []byte{1, 0, 0xe9}, []byte{0xff, 0xff}, "text", "é"},
		{[]byte{0xf1, 0}, longCell(wide("<a/>")), nullText, "text", "<a/>"},
		{[]byte{0x62, 73, 31, 0, 0}, []byte{9, 0, 0, 0, 0x6c, 2, 9, 1, 1, 15, 0, 0, 0}, []byte{0, 0, 0, 0}, "text",
			"1.5"},
		{[]byte{0x62, 73, 31, 0, 0}, []byte{6, 0, 0, 0, 0x38, 0, 7, 0, 0, 0}, []byte{0, 0, 0, 0}, "text", "7"},
	} {
		r.columns = append(r.columns, column{c.kind, c.info})
		row, nulls, want = append(row, c.cell), append(nulls, c.null), append(want, c.want)
	}
	r.rows = [][][]byte{row, nulls}
	src, _ := openCatalog(t, r)
	got, _, err := source.Collect(t.Context(), src, source.Query{SQL: "SELECT * FROM events"})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range got.Columns {
		if c.Kind != c.Name || got.Rows[0][i] != want[i] || got.Rows[1][i] != nil {
			t.Errorf("column %d, a %s, has the kind %s: %#v and %#v, want %#v", i, c.Name, c.Kind, got.Rows[0][i],
				got.Rows[1][i], want[i])
		}
	}
}

// TestLongCell checks that a value that the server has cut is an error.
func TestLongCell(t *testing.T) {
	for _, r := range []result{
		{columns: []column{{"n", textInfo}}, rows: [][][]byte{{textCell(strings.Repeat("x", 2<<20+2))}}},
		{columns: []column{{"n", []byte{0xa5, 0xff, 0xff}}}, rows: [][][]byte{{longCell(make([]byte, 2<<20+2))}}},
	} {
		src, _ := openCatalog(t, r)
		_, _, err := source.Collect(t.Context(), src, source.Query{SQL: "SELECT payload FROM events"})
		if bad, ok := errors.AsType[*source.Error](err); !ok || bad.Kind != source.Limited {
			t.Errorf("a value that may be cut: %v", err)
		}
	}
}

func TestAddress(t *testing.T) {
	const good = "sqlserver://reader:p%40ss@db.example.org/shop?schema=sales&route=b.example.org"
	a, err := parse("shop", good)
	if c := a.config; err != nil || c.Host != "db.example.org" || c.Port != 1433 || c.Password != "p@ss" ||
		c.Encryption != msdsn.EncryptionRequired || !c.ReadOnlyIntent || c.TLSConfig.InsecureSkipVerify ||
		c.TLSConfig.ServerName != "db.example.org" || a.schema != "sales" ||
		!slices.Equal(Engine().Hosts(good), []string{"db.example.org", "b.example.org"}) {
		t.Errorf("%+v, %v", a, err)
	}
	a, err = parse("shop", "sqlserver://reader:hush@[0:0::1]/shop?encrypt=false")
	if err != nil || a.hosts[0] != "::1" {
		t.Errorf("%+v, %v", a, err)
	}
	for address, reason := range map[string]string{
		"sqlserver://reader:hush@h/shop?encrypt=false":               "only allowed for a server on this machine",
		"sqlserver://reader:hush@h/shop?encrypt=no":                  "true, strict or false",
		"sqlserver://reader:hush@h/shop?Encrypt=true":                "unknown",
		"sqlserver://reader:hush@h/shop?trustservercertificate=true": "unknown",
		"sqlserver://reader:hush@h/shop?schema=a&schema=b":           "given twice",
		"sqlserver://reader:hush@h/shop?fedauth=ActiveDirectoryMSI":  "Entra is not supported",
		"sqlserver://reader:hush@h/shop?authenticator=krb5":          "Kerberos",
		"sqlserver://reader:hush@h/shop?integrated+security=SSPI":    "Windows",
		"sqlserver://reader:hush@h/shop?Trusted_Connection=yes":      "Windows",
		"sqlserver://h/shop":                                            "needs a login",
		"sqlserver://reader@h/shop":                                     "needs a login",
		`sqlserver://DOMAIN%5Creader:hush@h/shop`:                       "Windows",
		"sqlserver://reader:hush@h":                                     "one database",
		"sqlserver://reader:hush@h/instance/shop":                       "one database",
		"sqlserver://reader:hush@h?database=shop":                       "unknown",
		"sqlserver://reader:hush@h:0/shop":                              "port",
		"sqlserver://reader:hush@h:99999/shop":                          "port",
		"sqlserver:reader:hush@h/shop":                                  "cannot be read",
		"sqlserver://reader:hush@/shop":                                 "cannot be read",
		"sqlserver://reader:hush@h/shop#x":                              "cannot be read",
		"sqlserver://reader:hush@h/shop?encrypt=true&failoverpartner=x": "unknown",
	} {
		_, err := parse("shop", address)
		if footnote.CodeOf(err) != footnote.InvalidRequest || !strings.Contains(err.Error(), reason) ||
			strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v, want %q", address, err, reason)
		}
	}
}

// TestConnections checks servers that must not get a password, or get none that works.
func TestConnections(t *testing.T) {
	certificate := httptest.NewUnstartedServer(nil)
	certificate.StartTLS()
	defer certificate.Close()
	for _, tc := range []struct {
		name, parameters, password string
		server                     *server
		logins                     int
		reason                     string
	}{
		{"no encryption", "", "hush", &server{}, 0, "cannot be reached"},
		{"an unknown certificate", "", "hush", &server{encrypt: certificate.TLS}, 0, "cannot be reached"},
		{"a wrong password", "?encrypt=false", "secret", &server{}, 1, "refused the login"},
		{"another host", "?encrypt=false", "hush", &server{route: "evil.example.org"}, 1, "route=evil.example.org"},
	} {
		s := tc.server
		s.refuse = func(format string, args ...any) { t.Errorf("the server got "+format, args...) }
		_, err := Engine().Open(t.Context(), "shop", "sqlserver://reader:"+tc.password+"@"+s.listen(t)+"/shop"+
			tc.parameters, engines.Options{})
		if footnote.CodeOf(err) != footnote.DatabaseUnavailable || !strings.Contains(err.Error(), tc.reason) ||
			strings.Contains(err.Error(), tc.password) || s.get(&s.logins) != tc.logins {
			t.Errorf("%s: %d logins, %v", tc.name, s.get(&s.logins), err)
		}
	}
}

// TestEncrypted checks that a session works over TLS.
func TestEncrypted(t *testing.T) {
	certificate := httptest.NewUnstartedServer(nil)
	certificate.StartTLS()
	defer certificate.Close()
	s := &server{encrypt: certificate.TLS, answer: func(string) result {
		return result{columns: []column{{"n", textInfo}}, rows: [][][]byte{{textCell(strings.Repeat("x", 20_000))}}}
	}}
	s.refuse = func(format string, args ...any) { t.Errorf("the server got "+format, args...) }
	a, err := parse("shop", "sqlserver://reader:hush@"+s.listen(t)+"/shop")
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(certificate.Certificate())
	a.config.TLSConfig.RootCAs = pool
	db := connect(a, 100_000)
	defer db.Close()
	rows := 0
	if err := db.Run(t.Context(), warehouse.Statement{SQL: "SELECT 1"}, warehouse.Sink{
		Columns: func([]warehouse.Column) {}, Row: func([]any) error { rows++; return nil },
	}); err != nil || rows != 1 {
		t.Errorf("%d rows, %v", rows, err)
	}
}

// TestSilent checks that a server that does not answer a login holds nobody up.
func TestSilent(t *testing.T) {
	db := start(t, &server{silent: true})
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("too late"))
	defer cancel()
	err := db.Run(ctx, warehouse.Statement{SQL: "SELECT 1"}, warehouse.Sink{})
	if err == nil || err.Error() != "too late" {
		t.Error(err)
	}
}

// TestFaults checks what errors of the server mean.
func TestFaults(t *testing.T) {
	for _, tc := range []struct {
		failure failure
		kind    string
	}{
		{failure{229, 14, "The SELECT permission was denied."}, source.Refused},
		{failure{1222, 16, "Lock request time out period exceeded."}, source.Limited},
		{failure{1205, 13, "deadlocked"}, source.Limited},
		{failure{701, 17, "insufficient system memory"}, source.Limited},
		{failure{208, 16, "Invalid object name 'x'."}, source.Failed},
		{failure{102, 15, "Incorrect syntax near 'x'."}, source.Failed},
		{failure{9001, 21, "The log is not available."}, ""},
	} {
		s := &server{answer: func(string) result { return result{failure: &tc.failure} }}
		err := start(t, s).Run(t.Context(), warehouse.Statement{SQL: "SELECT 1"}, warehouse.Sink{})
		bad, ok := errors.AsType[*source.Error](err)
		if ok && (bad.Kind != tc.kind || !strings.Contains(bad.Reason, tc.failure.message)) ||
			!ok && (tc.kind != "" || footnote.CodeOf(err) != footnote.DatabaseUnavailable) {
			t.Errorf("error %d: %v", tc.failure.number, err)
		}
		if s.get(&s.open) != 0 {
			t.Errorf("error %d: a transaction stays open", tc.failure.number)
		}
	}
}

// TestDialect checks that the gate reads what the program writes in this dialect.
func TestDialect(t *testing.T) {
	d := Dialect
	list := []string{
		d.Text.Of("x"), d.Roundable.Of("x"), d.Day.Of("'2024-01-31'"), d.DayArgument.Of("x"), d.Date.Of("x"),
		d.Timestamp.Of("x"), d.FromSeconds.Of("x"), d.FromMilliseconds.Of("x"), d.Elapsed.Of("x", "y"),
		d.CalendarDays.Of("x", "y"), d.Mean.Of("x"), "CASE WHEN NOT " + d.Truth.Of("x") + " THEN 1 END",
		d.StdDev.Of("x"), d.Fold.Of("x"), d.Position.Of("x", "y"), d.Greatest.Of("x", "y"), d.Divide.Of("x", "y"),
	}
	for _, e := range d.Periods {
		list = append(list, e.Of("x"))
	}
	for _, p := range d.Parts {
		list = append(list, p.Name.Of("x"), p.Order.Of("x"))
	}
	for _, unit := range []string{"year", "month", "week", "day"} {
		list = append(list, d.Before("2024-01-31", 2, unit))
	}
	for _, e := range list {
		st, err := rules.Read("SELECT "+e+" AS e FROM "+d.Quote("a b")+d.First(5), anyTable)
		if err != nil || !strings.Contains(st.SQL, "FROM [a b]") {
			t.Errorf("%s: %s, %v", e, st.SQL, err)
		}
	}
}
