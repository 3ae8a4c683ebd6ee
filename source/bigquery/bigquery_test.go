package bigquery

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/engines"
	"github.com/footnotehq/footnote/source/warehouse/warehousetest"
)

// perPage returns how many rows a page has.
func perPage(s *warehousetest.Statement) int { return max(1000, len(s.Rows)/5) }

// testAccount is a service account of the tests, with its key.
type testAccount struct {
	key  *rsa.PrivateKey
	text string // the private key as PEM
}

func newAccount(t *testing.T) testAccount {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return testAccount{key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))}
}

// imitate answers the REST API, and the exchange of tokens, as their documentation describes them. A statement with the
// table many reads 200 GiB.
func (a testAccount) imitate(f *warehousetest.Fake) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		signed, err := jose.ParseSigned(r.FormValue("assertion"), []jose.SignatureAlgorithm{jose.RS256})
		if err != nil || r.FormValue("grant_type") != grantType {
			f.Refuse("the form %v", r.Form)
			return
		}
		payload, err := signed.Verify(&a.key.PublicKey)
		var claims struct {
			Iss, Aud, Scope string
			Iat, Exp        int64
		}
		if err != nil || json.Unmarshal(payload, &claims) != nil || claims.Iss != "reader@acme.example.org" ||
			claims.Aud != "http://"+r.Host+"/token" || claims.Scope != scope || claims.Exp-claims.Iat > 3600 {
			f.Refuse("the claims %+v, %v", claims, err)
		}
		respond(w, http.StatusOK, map[string]any{"access_token": "hush", "expires_in": 3600, "token_type": "Bearer"})
	})
	api := func(pattern string, h http.HandlerFunc) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer hush" {
				f.Refuse("the header %v", r.Header)
			}
			h(w, r)
		})
	}
	api("POST /bigquery/v2/projects/acme-data/jobs", func(w http.ResponseWriter, r *http.Request) { insert(w, r, f) })
	api("GET /bigquery/v2/projects/acme-data/queries/{id}", func(w http.ResponseWriter, r *http.Request) {
		s, running := f.Get(r.PathValue("id"))
		q := r.URL.Query()
		n, err := strconv.Atoi("0" + q.Get("pageToken"))
		switch {
		case s == nil || err != nil || q.Get("location") != "EU" || q.Get("formatOptions.useInt64Timestamp") != "true":
			f.Refuse("%s", r.URL)
		case running:
			respond(w, http.StatusOK, map[string]any{"jobComplete": false})
		default:
			answerPage(w, s, n)
		}
	})
	api("POST /bigquery/v2/projects/acme-data/jobs/{id}/cancel", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("location") != "EU" {
			f.Refuse("%s", r.URL)
		}
		f.Stop(r.PathValue("id"))
		respond(w, http.StatusOK, map[string]any{})
	})
	return mux
}

func insert(w http.ResponseWriter, r *http.Request, f *warehousetest.Fake) {
	var in job
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	err := d.Decode(&in)
	q := in.Configuration.Query
	if err != nil || q.LegacySQL || q.MaxBytes != strconv.Itoa(100<<30) || q.DefaultDataset.ID != "shop" ||
		in.Reference.Location != "EU" || in.Configuration.DryRun != (in.Reference.ID == "") {
		f.Refuse("%+v, %v", in, err)
	}
	s := &warehousetest.Statement{}
	if in.Configuration.DryRun {
		s = f.Try(q.SQL)
	} else {
		s = f.Start(in.Reference.ID, q.SQL)
	}
	if s.Fault != "" {
		status, why := http.StatusBadRequest, "invalidQuery"
		if s.Fault == "denied" {
			status, why = http.StatusForbidden, "accessDenied"
		}
		respond(w, status, map[string]any{"error": map[string]any{
			"message": "no", "errors": []any{map[string]string{"reason": why, "message": "no"}},
		}})
		return
	}
	kind, bytes := "SELECT", 7<<20
	if strings.HasPrefix(q.SQL, "DELETE") {
		kind = "DELETE"
	}
	if strings.Contains(q.SQL, "things") {
		bytes = 200 << 30
	}
	in.Statistics = &statistics{Bytes: strconv.Itoa(bytes)}
	in.Statistics.Query.Type = kind
	respond(w, http.StatusOK, in)
}

func answerPage(w http.ResponseWriter, s *warehousetest.Statement, page int) {
	types := map[string]string{
		"integer": "INTEGER", "decimal": "NUMERIC", "text": "STRING", "date": "DATE", "timestamp": "TIMESTAMP",
	}
	fields := []field{}
	for i, n := range s.Names {
		fields = append(fields, field{Name: n, Type: types[s.Types[i]]})
	}
	rows := []any{}
	for _, row := range s.Rows[min(len(s.Rows), page*perPage(s)):min(len(s.Rows), (page+1)*perPage(s))] {
		list := []any{}
		for c, v := range row {
			if text, ok := v.(string); ok && s.Types[c] == "timestamp" {
				at, _ := time.Parse("2006-01-02T15:04:05", text)
				v = strconv.FormatInt(at.UnixMicro(), 10)
			}
			list = append(list, map[string]any{"v": v})
		}
		rows = append(rows, map[string]any{"f": list})
	}
	out := map[string]any{"jobComplete": true, "schema": map[string]any{"fields": fields}, "rows": rows}
	if (page+1)*perPage(s) < len(s.Rows) {
		out["pageToken"] = strconv.Itoa(page + 1)
	}
	respond(w, http.StatusOK, out)
}

func respond(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// open returns a function that opens a source over the server at a URL.
func (a testAccount) open(t *testing.T) func(context.Context, string, source.Hiding) (source.Source, error) {
	return func(ctx context.Context, url string, h source.Hiding) (source.Source, error) {
		text, err := json.Marshal(map[string]string{
			"type": "service_account", "client_email": "reader@acme.example.org", "private_key": a.text,
			"private_key_id": "k1", "token_uri": url + "/token",
		})
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "key.json")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return Engine().Open(ctx, "shop", "bigquery://acme-data/shop,other?location=EU&key="+file+"&endpoint="+url,
			engines.Options{Hiding: h})
	}
}

func TestSource(t *testing.T) {
	a := newAccount(t)
	warehousetest.Suite{
		Database: describe("acme-data", []string{"shop", "other"}), Protocol: a.imitate, Open: a.open(t),
		Secret: "hush", Zone: "Z",
	}.Run(t)
}

// TestBytes checks that a statement that would read too much never runs, and what others cost.
func TestBytes(t *testing.T) {
	a := newAccount(t)
	url := warehousetest.Serve(t, describe("acme-data", []string{"shop", "other"}), a.imitate)
	src, err := a.open(t)(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	_, _, err = source.Collect(t.Context(), src, source.Query{SQL: "SELECT id FROM other.things"})
	if bad, ok := errors.AsType[*source.Error](err); !ok || bad.Kind != source.Limited ||
		!strings.Contains(bad.Reason, "200 GiB") {
		t.Errorf("a statement that reads 200 GiB: %v", err)
	}
	for sql, want := range map[string]source.Estimate{
		"SELECT id FROM other.things": {Rows: -1, Bytes: 200 << 30, MicroUSD: 1220703, Why: "reads 204800 MB"},
		"SELECT id FROM orders":       {Rows: -1, Bytes: 7 << 20, MicroUSD: 59, Why: "reads 7 MB"},
	} {
		if e, err := src.(source.Estimator).Estimate(t.Context(), source.Query{SQL: sql}); err != nil || e != want {
			t.Errorf("%s: %+v, %v, want %+v", sql, e, err, want)
		}
	}
}

func TestNestedCells(t *testing.T) {
	fields := []field{
		{Name: "list", Type: "INTEGER", Mode: "REPEATED"},
		{Name: "record", Type: "RECORD", Fields: []field{
			{Name: "a", Type: "STRING"}, {Name: "b", Type: "DATE", Mode: "REPEATED"},
		}},
		{Name: "none", Type: "STRING"},
	}
	var row value
	if err := json.Unmarshal([]byte(`{"f": [{"v": [{"v": "1"}, {"v": null}]},
		{"v": {"f": [{"v": "x\"y"}, {"v": [{"v": "2024-01-31"}]}]}}, {"v": null}]}`), &row); err != nil {
		t.Fatal(err)
	}
	got, err := cells(fields, row)
	if err != nil || string(got[0].(json.RawMessage)) != `["1",null]` ||
		string(got[1].(json.RawMessage)) != `{"a":"x\"y","b":["2024-01-31"]}` || got[2] != nil {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := cells(fields[:2], row); err == nil {
		t.Error("a row with too many values was read")
	}
}
