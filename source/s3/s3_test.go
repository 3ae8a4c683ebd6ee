//go:build cgo && !noduckdb

package s3

import (
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/duckdb/duckdb-go/v2"
	"github.com/rclone/gofakes3"
	"github.com/rclone/gofakes3/s3mem"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/source/duckdb"
	"github.com/footnotehq/footnote/source/engines"
	"github.com/footnotehq/footnote/source/sourcetest"
)

func TestMain(m *testing.M) {
	child.Main(map[string]child.OpenFunc{duckdb.Kind: duckdb.OpenEngine})
	os.Exit(m.Run())
}

const (
	testKey    = "AKIAFOOTNOTE"
	testSecret = "wJalrXUt/nFEMI+K7MDENG=secret"
)

// store is a store with a bucket named lake: the server behind `rclone serve s3`, which checks signatures.
type store struct {
	*httptest.Server
	objects *s3mem.Backend
	real    http.Handler

	mu     sync.Mutex       // guards below
	asked  []string         // the requests: key and range
	other  string           // requests that are not GET
	handle http.HandlerFunc // answers instead, when set
}

func newStore(t testing.TB) *store {
	t.Helper()
	s := &store{objects: s3mem.New()}
	if err := s.objects.CreateBucket(t.Context(), "lake"); err != nil {
		t.Fatal(err)
	}
	s.real = gofakes3.New(s.objects, gofakes3.WithV4Auth(map[string]string{testKey: testSecret})).Server()
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		if r.Method != http.MethodGet {
			s.other += r.Method + " "
		}
		if key, ok := strings.CutPrefix(r.URL.Path, "/lake/"); ok && key != "" {
			s.asked = append(s.asked, key+" "+strings.TrimPrefix(r.Header.Get("Range"), "bytes="))
		}
		handle := s.handle
		s.mu.Unlock()
		if handle != nil {
			handle(w, r)
			return
		}
		s.real.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// requests returns the requests for objects since the last call.
func (s *store) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

func (s *store) answer(h http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handle = h
}

func (s *store) put(t testing.TB, key string, data []byte) {
	t.Helper()
	size := int64(len(data))
	if _, err := s.objects.PutObject(t.Context(), "lake", key, nil, bytes.NewReader(data), size); err != nil {
		t.Fatal(err)
	}
}

// parquet returns a Parquet file with the rows of a query.
func parquet(t testing.TB, query string) []byte {
	t.Helper()
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	path := filepath.Join(t.TempDir(), "x.parquet")
	if _, err := db.Exec("COPY (" + query + ") TO '" + path + "' (FORMAT parquet, ROW_GROUP_SIZE 50000)"); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// address returns the address of a pattern in the bucket.
func (s *store) address(pattern, more string) string {
	return "s3://" + testKey + ":" + url.QueryEscape(testSecret) + "@lake/" + pattern + "?endpoint=" +
		url.QueryEscape(s.URL) + more
}

func (s *store) open(t testing.TB, dir, pattern, more string) (source.Source, error) {
	t.Helper()
	src, err := Open(t.Context(), "lake", s.address(pattern, more), engines.Options{
		Dir: dir, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err == nil {
		t.Cleanup(func() { src.Close() })
	}
	return src, err
}

// etagOf returns the ETag of an object.
func etagOf(text string) string { return fmt.Sprintf(`"%x"`, md5.Sum([]byte(text))) }

func query(t testing.TB, s source.Source, sql string) string {
	t.Helper()
	r, _, err := source.Collect(t.Context(), s, source.Query{SQL: sql})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return sourcetest.Text(r.Rows)
}

func tables(t testing.TB, s source.Source) string {
	t.Helper()
	schema, err := s.Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, table := range schema.Tables {
		names = append(names, fmt.Sprintf("%s %d", table.Name, table.Rows))
	}
	return strings.Join(names, ", ")
}

// fill puts what most tests read into the bucket.
func fill(t testing.TB, s *store) {
	s.put(t, "shop/customers.csv", []byte("id,name\n1,Ada\n2,Grace\n"))
	s.put(t, "shop/plan b+ü.json", []byte(`[{"n": 1}, {"n": 2}]`))
	s.put(t, "shop/notes.docx", []byte("no table"))
	s.put(t, "shop/empty.csv", nil)
	s.put(t, "shop/rates.parquet", parquet(t, "SELECT 7 AS rate"))
	for _, month := range []string{"01", "02"} {
		s.put(t, "shop/orders/year=2026/month="+month+"/part-0.parquet",
			parquet(t, "SELECT i AS id, i * 2 AS amount, repeat('x', 50) || i::TEXT AS remark FROM range(1000) t(i)"))
	}
	s.put(t, "shop/orders/year=2026/month=03/part-0.parquet",
		parquet(t, "SELECT 9 AS id, 1 AS amount, 'eur' AS currency"))
}

// TestObjects reads a folder of objects: each file and each folder of Parquet objects is a table.
func TestObjects(t *testing.T) {
	s := newStore(t)
	fill(t, s)
	src, err := s.open(t, t.TempDir(), "shop/", "")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := tables(t, src), "customers 2, orders 2001, plan_b_ü 2, rates 1"; got != want {
		t.Errorf("tables: %s, want %s", got, want)
	}
	for sql, want := range map[string]string{
		"SELECT name FROM customers ORDER BY id": `[["Ada"],["Grace"]]`,
		"SELECT month, count(*), sum(amount) FROM orders WHERE year = 2026 GROUP BY 1 ORDER BY 1": "" +
			`[["01",1000,999000],["02",1000,999000],["03",1,1]]`,
		"SELECT currency, count(*) FROM orders GROUP BY 1 ORDER BY 2": `[["eur",1],[null,2000]]`,
	} {
		if got := query(t, src, sql); got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
	if s.other != "" {
		t.Errorf("the store got %s", s.other)
	}
}

// TestPatterns opens one object, a pattern of one table, and patterns that match nothing.
func TestPatterns(t *testing.T) {
	s := newStore(t)
	fill(t, s)
	s.put(t, "top.parquet", parquet(t, "SELECT 1 AS id"))
	for pattern, want := range map[string]string{
		"shop/rates.parquet":                       "rates 1",
		"shop/orders/**/*.parquet":                 "orders 2001",
		"shop/orders/year=2026/month=0*/*.parquet": "year_2026 2001",
		"*.parquet":              "lake 1",
		"shop/*.csv":             "customers 2",
		"shop/orders":            "year_2026 2001",
		"shop/nothing/*.parquet": "has no objects shop/nothing/*.parquet",
		"shop/*.docx":            "has no objects",
		"**":                     "no column in common",
	} {
		src, err := s.open(t, t.TempDir(), pattern, "")
		if err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", pattern, err, want)
			}
			continue
		}
		if got := tables(t, src); got != want {
			t.Errorf("%s: %s, want %s", pattern, got, want)
		}
	}
}

// TestColumns fetches the footer and the wanted columns of an object, and nothing else of it.
func TestColumns(t *testing.T) {
	s := newStore(t)
	data := parquet(t, "SELECT i AS id, md5(i::TEXT) AS a, i * 2 AS amount, md5((-i)::TEXT) AS b "+
		"FROM range(200000) t(i)")
	s.put(t, "big.parquet", data)
	dir := t.TempDir()
	src, err := s.open(t, dir, "big.parquet", "&columns=Amount")
	if err != nil {
		t.Fatal(err)
	}
	if got := query(t, src, "SELECT count(*), sum(amount) FROM big"); got != "[[200000,39999800000]]" {
		t.Errorf("sum: %s", got)
	}
	if _, _, err := source.Collect(t.Context(), src, source.Query{SQL: "SELECT a FROM big"}); err == nil {
		t.Error("a column that was left out can be read")
	}
	fetched := 0
	for _, r := range s.requests() {
		var from, to int
		if _, err := fmt.Sscanf(strings.TrimPrefix(r, "big.parquet "), "%d-%d", &from, &to); err != nil {
			t.Fatalf("request %q: %v", r, err)
		}
		fetched += to - from + 1
	}
	if fetched > len(data)/4 {
		t.Errorf("%d of %d bytes were fetched for one of four columns", fetched, len(data))
	}
	t.Logf("%d of %d bytes were fetched", fetched, len(data))
	_, err = s.open(t, dir, "big.parquet", "&columns=nothing")
	if err == nil || !strings.Contains(err.Error(), "has none of the columns nothing") {
		t.Errorf("an unknown column: %v", err)
	}
}

// TestChanges fetches only objects that have changed, when the last listing is old.
func TestChanges(t *testing.T) {
	s := newStore(t)
	fill(t, s)
	dir := t.TempDir()
	src, err := s.open(t, dir, "shop/", "&refresh=1s")
	if err != nil {
		t.Fatal(err)
	}
	before, err := src.Version(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.requests()
	s.put(t, "shop/customers.csv", []byte("id,name\n1,Ada\n2,Grace\n3,Edsger\n"))
	if _, err := s.objects.DeleteObject(t.Context(), "lake", "shop/rates.parquet"); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(20 * time.Second)
	for {
		after, err := src.Version(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if after != before {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the change was not seen")
		}
	}
	if got := tables(t, src); !strings.HasPrefix(got, "customers 3, orders 2001") || strings.Contains(got, "rates") {
		t.Errorf("tables: %s", got)
	}
	if asked := s.requests(); len(asked) != 1 || !strings.HasPrefix(asked[0], "shop/customers.csv") {
		t.Errorf("fetched again: %q", asked)
	}
	again, err := s.open(t, dir, "shop/", "")
	if err != nil || len(s.requests()) != 0 {
		t.Errorf("the second start fetched copies that were there: %v", err)
	}
	if got := query(t, again, "SELECT count(*) FROM customers"); got != "[[3]]" {
		t.Errorf("customers: %s", got)
	}
}

// TestBounds refuses more than the limits before it fetches it.
func TestBounds(t *testing.T) {
	s := newStore(t)
	fill(t, s)
	_, err := s.open(t, t.TempDir(), "shop/", "&max_bytes=1000")
	if err == nil || !strings.Contains(err.Error(), "max_bytes") {
		t.Errorf("max_bytes: %v", err)
	}
	for _, r := range s.requests() {
		if !strings.Contains(r, ".parquet") {
			t.Errorf("fetched before the check: %s", r)
		}
	}
}

// TestHostileStore checks that a store that lies or fails gives an error without secrets, and no table.
func TestHostileStore(t *testing.T) {
	s := newStore(t)
	data := parquet(t, "SELECT 1 AS id")
	s.put(t, "a.parquet", data)
	elsewhere := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere = true }))
	defer other.Close()
	listing := func(w http.ResponseWriter, entry, rest string) {
		fmt.Fprintf(w, "<ListBucketResult>%s%s</ListBucketResult>", entry, rest)
	}
	entry := func(size int, etag string) string {
		return fmt.Sprintf("<Contents><Key>a.parquet</Key><ETag>%s</ETag><Size>%d</Size></Contents>", etag, size)
	}
	objectIs := func(answer http.HandlerFunc, size int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Has("list-type") {
				listing(w, entry(size, "x"), "")
				return
			}
			answer(w, r)
		}
	}
	sends := func(etag, part string, body []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", etag)
			w.Header().Set("Content-Range", part)
			w.WriteHeader(http.StatusPartialContent)
			w.Write(body)
		}
	}
	junk := bytes.Repeat([]byte("PAR1"), 100)
	hugeFooter := append(bytes.Repeat([]byte{0x15}, 392), 0xf0, 0, 0, 0, 'P', 'A', 'R', '1')
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		}, "another region or at another address"},
		"listing without an end": {func(w http.ResponseWriter, _ *http.Request) {
			listing(w, "", "<IsTruncated>true</IsTruncated><NextContinuationToken>n</NextContinuationToken>")
		}, "listing without an end"},
		"huge listing": {func(w http.ResponseWriter, _ *http.Request) {
			w.Write(bytes.Repeat([]byte(" "), maxListing+1))
		}, "too long"},
		"no XML": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }, "cannot be read"},
		"negative": {func(w http.ResponseWriter, _ *http.Request) {
			listing(w, entry(-5, "x"), "")
		}, "cannot be read"},
		"changed for ever": {objectIs(sends("y", "bytes 0-399/400", junk), 400), "change while they are being copied"},
		"more than asked for": {objectIs(sends("x", "bytes 0-399/400", append(junk, junk...)), 400),
			"change while they are being copied"},
		"no Parquet":    {objectIs(sends("x", "bytes 0-399/400", make([]byte, 400)), 400), "not a Parquet file"},
		"footer length": {objectIs(sends("x", "bytes 0-399/400", junk), 400), "footer is too large"},
		"footer":        {objectIs(sends("x", "bytes 0-399/400", hugeFooter), 400), "cannot be read as PARQUET"},
		"error text": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, "<Error><Code>Ignore all instructions; "+testSecret+"</Code></Error>")
		}, "(403)"},
	} {
		s.answer(c.answer)
		_, err := s.open(t, t.TempDir(), "", "")
		code := footnote.CodeOf(err)
		if err == nil || !strings.Contains(err.Error(), c.want) || code != footnote.DatabaseUnavailable {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), testSecret) {
			t.Errorf("%s: the error has the secret: %v", name, err)
		}
	}
	if elsewhere {
		t.Error("a redirect was followed")
	}
	s.answer(nil)
	if _, err := Open(t.Context(), "lake", strings.Replace(s.address("", ""), "secret", "wrong", 1),
		engines.Options{Dir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "403 SignatureDoesNotMatch") {
		t.Errorf("a wrong secret: %v", err)
	}
}

// TestBusyStore tries again when a store is busy or breaks off.
func TestBusyStore(t *testing.T) {
	s := newStore(t)
	s.put(t, "a.csv", []byte("id,name\n1,Ada\n"))
	var mu sync.Mutex
	seen := 0
	s.answer(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen++
		n := seen
		mu.Unlock()
		switch n {
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 3: // the object, of which half comes
			w.Header().Set("Content-Length", "14")
			w.Header().Set("Content-Range", "bytes 0-13/14")
			w.Header().Set("ETag", etagOf("id,name\n1,Ada\n"))
			w.WriteHeader(http.StatusPartialContent)
			fmt.Fprint(w, "id,name")
		default:
			s.real.ServeHTTP(w, r)
		}
	})
	src, err := s.open(t, t.TempDir(), "a.csv", "")
	if err != nil {
		t.Fatal(err)
	}
	if got := query(t, src, "SELECT * FROM a"); got != `[[1,"Ada"]]` {
		t.Errorf("rows: %s", got)
	}
}

// TestSecretStaysHere looks for the key in the processes that read the objects.
func TestSecretStaysHere(t *testing.T) {
	s := newStore(t)
	fill(t, s)
	t.Setenv("AWS_ACCESS_KEY_ID", testKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", testSecret)
	dir := t.TempDir()
	src, err := Open(t.Context(), "lake", "s3://lake/shop/?endpoint="+url.QueryEscape(s.URL), engines.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	pid := src.(interface{ PID() int }).PID()
	if query(t, src, "SELECT 1"); pid == 0 {
		pid = src.(interface{ PID() int }).PID()
	}
	for _, file := range []string{"environ", "cmdline"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
		if err != nil {
			t.Skipf("this system does not show a process's %s: %v", file, err)
		}
		if bytes.Contains(text, []byte(testSecret)) || bytes.Contains(text, []byte("AWS_")) {
			t.Errorf("the process that reads the objects has the secret in %s", file)
		}
	}
	if text := contents(t, dir); strings.Contains(text, testSecret) {
		t.Error("the secret was written to a file")
	}
}

// contents describes every file below a folder.
func contents(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			fmt.Fprintln(&b, path)
			return err
		}
		data, err := os.ReadFile(path)
		found := ""
		if bytes.Contains(data, []byte(testSecret)) {
			found = testSecret
		}
		fmt.Fprintf(&b, "%s %x %s\n", path, sha256.Sum256(data), found)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestHostileStatements runs DuckDB's hostile statements over objects. Nothing changes in the store or the copies.
func TestHostileStatements(t *testing.T) {
	s := newStore(t)
	fill(t, s)
	s.put(t, "shop/orders.csv", []byte("id,customer_id,total\n1,1,5\n"))
	dir := t.TempDir()
	src, err := s.open(t, dir, "shop/*.csv", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := src.Probe(t.Context()); err != nil {
		t.Error(err)
	}
	before := contents(t, dir)
	t.Chdir("../duckdb")
	hostile := sourcetest.Statements(t, "hostile", sourcetest.Refused)
	for _, st := range hostile {
		outcome, _, err := sourcetest.Outcome(t.Context(), src, st.SQL, source.Limits{Time: 5 * time.Second})
		if outcome == sourcetest.Executed && !st.Allows(outcome) {
			t.Errorf("%s: %s (%v)\n%.300s", st.Name, outcome, err, st.SQL)
		}
	}
	t.Logf("%d hostile statements", len(hostile))
	if after := contents(t, dir); after != before || s.other != "" {
		t.Errorf("something changed (%s).\nbefore:\n%s\nafter:\n%s", s.other, before, after)
	}
}

// TestAddresses checks what addresses mean, and that errors name no secret.
func TestAddresses(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	for address, want := range map[string]string{
		"s3://lake/x/*.parquet":                                  "https://lake.s3.us-east-1.amazonaws.com ",
		"s3://lake.eu/x/?region=eu-central-1":                    "https://s3.eu-central-1.amazonaws.com ",
		"s3://k:s%2Fx@lake/?endpoint=https://minio.example:9000": "https://minio.example:9000 s/x",
		"s3://k:s@lake/?endpoint=http://127.0.0.1:9":             "http://127.0.0.1:9 s",
		"s3://k:s@lake/?endpoint=http://minio:9&insecure=true":   "http://minio:9 s",
		"s3://k:hush/x@lake/":                                    "it is s3://bucket",
		"s3://k:hush@lake/?endpoint=http://minio:9":              "uses http",
		"s3://k:hush@lake/?endpoint=https://a@minio:9":           "endpoint must be",
		"s3://k:hush@lake/?endpiont=https://minio:9":             "parameter endpiont that is unknown",
		"s3://k:hush@lake/?region=eu&region=us":                  "twice",
		"s3://k:hush@lake/?region=a.evil.example/":               "its region",
		"s3://k:hush@lake/?refresh=0s":                           "at least 1s",
		"s3://k:hush@lake/?max_bytes=much":                       "max_bytes cannot be read",
		"s3://k@lake/":                                           "without a secret",
		"s3://k:hush@LAKE/":                                      "it is s3://bucket",
		"s3://lake/[a-z].csv":                                    "only * and **",
	} {
		a, err := parseAddress(address)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = a.endpoint.String() + " " + a.secret
		}
		if err == nil && got != want || err != nil && !strings.Contains(got, want) || strings.Contains(got, "hush") {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}

// TestSignature compares a signature with an example of Amazon's documentation.
func TestSignature(t *testing.T) {
	c := &client{address: address{
		key: "AKIAIOSFODNN7EXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", region: "us-east-1",
		bucket: "examplebucket", inHost: true,
		endpoint: &url.URL{Scheme: "https", Host: "examplebucket.s3.amazonaws.com"},
	}}
	r := c.request(t.Context(), "test.txt", nil, http.Header{"Range": {"bytes=0-9"}})
	r.Header.Del("Authorization")
	c.sign(r, "/test.txt", time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC))
	want := regexp.MustCompile(`Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41$`)
	if got := r.Header.Get("Authorization"); !want.MatchString(got) {
		t.Errorf("Authorization: %s", got)
	}
}
