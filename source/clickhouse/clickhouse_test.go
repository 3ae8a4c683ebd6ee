package clickhouse

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/engines"
	"github.com/footnotehq/footnote/source/warehouse/warehousetest"
)

// known are the parameters that a request may have, besides those of every request.
var known = []string{
	"readonly", "max_execution_time", "max_result_rows", "result_overflow_mode", "max_memory_usage", "session_timezone",
	"cancel_http_readonly_queries_on_client_close",
}

var killed = regexp.MustCompile(`^KILL QUERY WHERE query_id = '(footnote-[A-Z2-7]+)' ASYNC$`)

// imitate answers ClickHouse's HTTP interface as its documentation describes it. Profile is the setting readonly of the
// user.
func imitate(profile int) func(f *warehousetest.Fake) http.Handler {
	return func(f *warehousetest.Fake) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			sql, q := string(body), r.URL.Query()
			if r.Header.Get("X-ClickHouse-User") != "reader" || r.Header.Get("X-ClickHouse-Key") != "hush" ||
				r.Method != http.MethodPost || r.URL.Path != "/" {
				f.Refuse("%s %s with %v", r.Method, r.URL, r.Header)
			}
			if m := killed.FindStringSubmatch(sql); m != nil {
				if f.Stop(m[1]) {
					fmt.Fprintf(w, "waiting\t%s\treader\tSELECT\n", m[1])
				}
				return
			}
			for k := range q {
				if slices.Contains([]string{"database", "query_id", "default_format"}, k) {
					continue
				}
				if profile == 1 || !slices.Contains(known, k) || profile == 2 && k == "readonly" {
					exception(w, 164, "Cannot modify '"+k+"' setting in readonly mode. (READONLY)")
					return
				}
			}
			first := strings.Contains(sql, "getSetting('readonly')") // is sent before the profile is known
			if !first && profile == 0 && q.Get("readonly") != "1" || q.Get("database") != "shop" ||
				q.Get("default_format") != "JSONCompactEachRowWithNamesAndTypes" {
				f.Refuse("the parameters %v", q)
			}
			answer(w, r, f, profile, sql, q)
		})
	}
}

func answer(w http.ResponseWriter, r *http.Request, f *warehousetest.Fake, profile int, sql string, q url.Values) {
	switch {
	case strings.Contains(sql, "getSetting('readonly')"):
		fmt.Fprintf(w, "[\"x\"]\n[\"UInt64\"]\n[%d]\n", profile)
		return
	case sql == "SHOW GRANTS FINAL":
		fmt.Fprintf(w, "[\"GRANTS\"]\n[\"String\"]\n[\"GRANT SHOW TABLES, SELECT(a, b) ON shop.* TO reader\"]\n")
		for _, row := range f.Excess() {
			fmt.Fprintf(w, "[%q]\n", row[0])
		}
		return
	case strings.HasPrefix(sql, "EXPLAIN ESTIMATE "):
		fmt.Fprint(w, "[\"database\",\"table\",\"parts\",\"rows\",\"marks\"]\n[\"String\",\"String\",\"UInt64\",\"UInt64\","+
			"\"UInt64\"]\n[\"shop\",\"orders\",1,7,1]\n[\"shop\",\"many\",2,5000,1]\n")
		return
	}
	s := f.Start(q.Get("query_id"), sql)
	switch s.Fault {
	case "denied":
		exception(w, 497, "reader: Not enough privileges. (ACCESS_DENIED)")
		return
	case "wrong":
		exception(w, 47, "Unknown expression identifier `x`. (UNKNOWN_IDENTIFIER)")
		return
	}
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	for _, running := f.Get(s.ID); running; _, running = f.Get(s.ID) {
		select {
		case <-r.Context().Done(): // an imitation that does not stop when its client leaves: KILL must do it
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
	if s.Stopped {
		fmt.Fprint(w, "Code: 394. DB::Exception: Query was cancelled. (QUERY_WAS_CANCELLED)\n")
		return
	}
	rowsOf(w, s, q)
}

func rowsOf(w io.Writer, s *warehousetest.Statement, q url.Values) {
	types := map[string]string{
		"integer": "Int64", "decimal": "Decimal(38, 2)", "text": "LowCardinality(Nullable(String))", "date": "Date32",
		"timestamp": "Nullable(DateTime64(3))",
	}
	names, kinds := []string{}, []string{}
	for i, n := range s.Names {
		names, kinds = append(names, n), append(kinds, types[s.Types[i]])
	}
	e := json.NewEncoder(w)
	_ = e.Encode(names)
	_ = e.Encode(kinds)
	limit, err := strconv.Atoi(q.Get("max_result_rows"))
	for n, row := range s.Rows {
		if err == nil && n >= limit {
			return
		}
		out := make([]any, len(row))
		for c, v := range row {
			out[c] = v
			switch text, _ := v.(string); s.Types[c] {
			case "integer", "decimal":
				out[c] = json.Number(text)
			case "timestamp":
				out[c] = strings.Replace(text, "T", " ", 1) + "00"
			}
		}
		_ = e.Encode(out)
	}
}

func exception(w http.ResponseWriter, code int, message string) {
	w.Header().Set("X-ClickHouse-Exception-Code", strconv.Itoa(code))
	w.WriteHeader(http.StatusInternalServerError)
	fmt.Fprintf(w, "Code: %d. DB::Exception: %s (version 24.8.1.1 (official build))\n", code, message)
}

func open(ctx context.Context, url string, h source.Hiding) (source.Source, error) {
	address := "clickhouse://reader:hush@" + strings.TrimPrefix(url, "http://") + "/shop?tls=false"
	return Engine().Open(ctx, "shop", address, engines.Options{Hiding: h})
}

// TestSource runs the suite for users whose profile has each value of readonly.
func TestSource(t *testing.T) {
	for profile := range 3 {
		t.Run(strconv.Itoa(profile), warehousetest.Suite{
			Database: describe("shop"), Protocol: imitate(profile), Open: open, Secret: "hush",
			Excess: []string{"GRANT URL, S3 ON *.* TO reader"},
		}.Run)
	}
}

func TestGrants(t *testing.T) {
	for line, want := range map[string]string{
		"GRANT SELECT ON shop.* TO reader":                      "[]",
		"GRANT SHOW, SELECT(a, b) ON shop.orders TO reader":     "[]",
		"GRANT ALL ON *.* TO default WITH GRANT OPTION":         "[ALL on *.* GRANT OPTION on *.*]",
		"GRANT SELECT, INSERT(a) ON shop.* TO reader":           "[INSERT on shop.*]",
		"GRANT READ ON URL TO reader":                           "[READ on URL]",
		"GRANT CREATE TEMPORARY TABLE, REMOTE ON *.* TO reader": "[CREATE TEMPORARY TABLE on *.* REMOTE on *.*]",
		"GRANT writer TO reader":                                "[a right or role that cannot be judged (GRANT writer TO reader)]",
		"REVOKE SELECT ON shop.x FROM reader":                   "[]",
	} {
		if got := fmt.Sprint(excessOf(line)); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

func TestEstimate(t *testing.T) {
	f := warehousetest.Serve(t, describe("shop"), imitate(0))
	src, err := open(t.Context(), f, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	e, err := src.(source.Estimator).Estimate(t.Context(), source.Query{SQL: "SELECT * FROM orders, many"})
	if err != nil || e.Rows != 5007 || e.Bytes != -1 || e.Why != "reads 5000 rows of many" {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := src.(source.Estimator).Estimate(t.Context(), source.Query{SQL: "DROP TABLE many"}); err == nil {
		t.Error("a write was estimated")
	}
}
