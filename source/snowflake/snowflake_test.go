package snowflake

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/engines"
	"github.com/footnotehq/footnote/source/warehouse/warehousetest"
)

const partitionRows = 1000

var isUUID = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// imitate answers the SQL API as its documentation describes it.
func imitate(key *rsa.PrivateKey) func(f *warehousetest.Fake) http.Handler {
	return func(f *warehousetest.Fake) http.Handler {
		mux := http.NewServeMux()
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
			var in request
			d := json.NewDecoder(r.Body)
			d.DisallowUnknownFields()
			err := d.Decode(&in)
			if err != nil || in.Warehouse != "W" || in.Database != "SHOP" || in.Schema != "PUBLIC" ||
				in.Role != "READER" || in.Timeout <= 0 || in.Parameters["MULTI_STATEMENT_COUNT"] != "1" ||
				r.URL.Query().Get("async") != "true" || !isUUID.MatchString(r.URL.Query().Get("requestId")) {
				f.Refuse("%s, %+v, %v", r.URL, in, err)
			}
			s := f.Start("", in.Statement)
			if limit, err := strconv.Atoi(in.Parameters["ROWS_PER_RESULTSET"]); err == nil && len(s.Rows) > limit {
				s.Rows = s.Rows[:limit]
			}
			respond(w, http.StatusAccepted, map[string]any{"code": "333334", "statementHandle": s.ID})
		})
		mux.HandleFunc("GET "+path+"/{id}", func(w http.ResponseWriter, r *http.Request) {
			s, running := f.Get(r.PathValue("id"))
			n, err := strconv.Atoi("0" + r.URL.Query().Get("partition"))
			switch {
			case s == nil || err != nil:
				f.Refuse("%s", r.URL)
			case running:
				respond(w, http.StatusAccepted, map[string]any{"code": "333334", "statementHandle": s.ID})
			default:
				ended(w, f, s, n)
			}
		})
		mux.HandleFunc("POST "+path+"/{id}/cancel", func(w http.ResponseWriter, r *http.Request) {
			f.Stop(r.PathValue("id"))
			respond(w, http.StatusOK, map[string]any{"code": "000604"})
		})
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := checkToken(key, r.Header); err != "" {
				f.Refuse("the header %v: %s", r.Header, err)
			}
			mux.ServeHTTP(w, r)
		})
	}
}

// checkToken verifies a token as the service does.
func checkToken(key *rsa.PrivateKey, h http.Header) string {
	signed, err := jose.ParseSigned(strings.TrimPrefix(h.Get("Authorization"), "Bearer "),
		[]jose.SignatureAlgorithm{jose.RS256})
	if err != nil || h.Get("X-Snowflake-Authorization-Token-Type") != "KEYPAIR_JWT" {
		return "no token"
	}
	payload, err := signed.Verify(&key.PublicKey)
	var claims struct {
		Iss, Sub string
		Iat, Exp int64
	}
	if err != nil || json.Unmarshal(payload, &claims) != nil {
		return "a token that is not valid"
	}
	if !strings.HasPrefix(claims.Iss, "XY12345.READER.SHA256:") || claims.Sub != "XY12345.READER" ||
		claims.Exp-claims.Iat > 3600 || claims.Exp < time.Now().Unix() {
		return "claims that are not valid"
	}
	return ""
}

func ended(w http.ResponseWriter, f *warehousetest.Fake, s *warehousetest.Statement, partition int) {
	if strings.HasPrefix(s.SQL, "SHOW GRANTS TO ROLE ") {
		s.Fault, s.Names, s.Types = "", []string{"created_on", "privilege", "granted_on", "name"},
			[]string{"text", "text", "text", "text"}
		s.Rows = [][]any{{"x", "SELECT", "TABLE", "T"}, {"x", "USAGE", "ROLE", "ROOT"}}
		if s.SQL == `SHOW GRANTS TO ROLE "ROOT"` { // which READER inherits
			s.Rows = [][]any{{"x", "USAGE", "ROLE", "READER"}}
			for _, r := range f.Excess() {
				s.Rows = append(s.Rows, []any{"x", r[0], "TABLE", "T"})
			}
		}
	}
	switch s.Fault {
	case "denied":
		respond(w, http.StatusUnprocessableEntity, map[string]any{
			"code": "003001", "sqlState": "42501", "message": "SQL access control error: Insufficient privileges",
		})
		return
	case "wrong":
		respond(w, http.StatusUnprocessableEntity, map[string]any{
			"code": "000904", "sqlState": "42000", "message": "SQL compilation error: invalid identifier",
		})
		return
	}
	types := map[string]map[string]any{
		"integer": {"type": "fixed", "scale": 0}, "decimal": {"type": "fixed", "scale": 2}, "text": {"type": "text"},
		"date": {"type": "date"}, "timestamp": {"type": "timestamp_ntz"},
	}
	rowType := []map[string]any{}
	for i, n := range s.Names {
		col := map[string]any{"name": n}
		for k, v := range types[s.Types[i]] {
			col[k] = v
		}
		rowType = append(rowType, col)
	}
	partitions := []any{}
	for n := 0; n == 0 || n < len(s.Rows); n += partitionRows {
		partitions = append(partitions, map[string]int{"rowCount": min(partitionRows, len(s.Rows)-n)})
	}
	rows := s.Rows[min(len(s.Rows), partition*partitionRows):min(len(s.Rows), (partition+1)*partitionRows)]
	data := make([][]any, len(rows))
	for i, row := range rows {
		for c, v := range row {
			data[i] = append(data[i], encoded(s.Types[c], v))
		}
	}
	out := map[string]any{"code": "090001", "statementHandle": s.ID, "data": data}
	if partition == 0 {
		out["resultSetMetaData"] = map[string]any{"format": "jsonv2", "rowType": rowType, "partitionInfo": partitions}
	}
	respond(w, http.StatusOK, out)
}

// encoded returns a value as the API does: dates and times since 1970.
func encoded(typ string, v any) any {
	text, ok := v.(string)
	switch {
	case ok && typ == "date":
		day, _ := time.Parse(time.DateOnly, text)
		return strconv.FormatInt(day.Unix()/86400, 10)
	case ok && typ == "timestamp":
		at, _ := time.Parse("2006-01-02T15:04:05", text)
		return strconv.FormatInt(at.Unix(), 10) + "." + strconv.Itoa(at.Nanosecond())
	}
	return v
}

func respond(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// newKey makes a key, and its file.
func newKey(t *testing.T) (*rsa.PrivateKey, string) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "key.p8")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return key, file
}

func TestSource(t *testing.T) {
	key, file := newKey(t)
	warehousetest.Suite{
		Database: describe("SHOP", "PUBLIC"), Protocol: imitate(key), Excess: []string{"OWNERSHIP"},
		Open: func(ctx context.Context, url string, h source.Hiding) (source.Source, error) {
			address := "snowflake://reader@xy12345.eu-central-1/SHOP/PUBLIC?role=READER&warehouse=W&key=" + file +
				"&endpoint=" + url
			return Engine().Open(ctx, "shop", address, engines.Options{Hiding: h})
		},
	}.Run(t)
}

func TestTimes(t *testing.T) {
	for _, tc := range []struct{ typ, value, want string }{
		{"date", "18262", "2020-01-01"}, {"date", "-1", "1969-12-31"}, {"time", "82919.000000000", "23:01:59"},
		{"timestamp_ntz", "1616173619.123000000", "2021-03-19T17:06:59.123"},
		{"timestamp_ltz", "1616173619.000000000", "2021-03-19T17:06:59Z"},
		{"timestamp_ntz", "-0.500000000", "1969-12-31T23:59:59.5"},
		{"timestamp_tz", "1616173619.000000000 960", "2021-03-19T09:06:59-08:00"},
		{"timestamp_tz", "1616173619.5 1500", "2021-03-19T18:06:59.5+01:00"}, {"timestamp_tz", "x 1", "x 1"},
		{"text", "18262", "18262"},
	} {
		if got := (rowType{Type: tc.typ}).text(tc.value); got != tc.want {
			t.Errorf("%s %s: %s, want %s", tc.typ, tc.value, got, tc.want)
		}
	}
}
