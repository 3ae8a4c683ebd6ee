package trino

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/engines"
	"github.com/footnotehq/footnote/source/warehouse"
	"github.com/footnotehq/footnote/source/warehouse/warehousetest"
)

const pageRows = 1000

// imitate answers Trino's REST interface as its documentation describes it.
func imitate(f *warehousetest.Fake) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/statement", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		user, password, _ := r.BasicAuth()
		session := r.Header.Get("X-Trino-Session")
		if user != "reader" || password != "hush" || r.Header.Get("X-Trino-User") != "reader" ||
			r.Header.Get("X-Trino-Catalog") != "lake" || r.Header.Get("X-Trino-Schema") != "shop" ||
			r.Header.Get("X-Trino-Time-Zone") != "UTC" || !strings.HasPrefix(session, "query_max_run_time=") {
			f.Refuse("the header %v", r.Header)
		}
		s := f.Start("", string(body))
		respond(w, map[string]any{"id": s.ID, "nextUri": "http://" + r.Host + "/v1/statement/queued/" + s.ID + "/0"})
	})
	mux.HandleFunc("/v1/statement/queued/{id}/{page}", func(w http.ResponseWriter, r *http.Request) {
		id := r.PathValue("id")
		s, running := f.Get(id)
		page, err := strconv.Atoi(r.PathValue("page"))
		if s == nil || err != nil || r.Method != http.MethodGet && r.Method != http.MethodDelete {
			f.Refuse("%s %s", r.Method, r.URL)
			return
		}
		next := "http://" + r.Host + "/v1/statement/queued/" + id + "/"
		switch {
		case r.Method == http.MethodDelete:
			f.Stop(id)
			w.WriteHeader(http.StatusNoContent)
		case running:
			respond(w, map[string]any{"id": id, "nextUri": next + strconv.Itoa(page+1)})
		default:
			answerPage(w, f, s, page, next)
		}
	})
	return mux
}

func answerPage(w http.ResponseWriter, f *warehousetest.Fake, s *warehousetest.Statement, page int, next string) {
	if strings.Contains(s.SQL, "table_privileges") {
		s.Fault, s.Names, s.Types, s.Rows = "", []string{"privilege_type"}, []string{"text"}, nil
		for _, r := range f.Excess() {
			s.Rows = append(s.Rows, []any{r[0]})
		}
	}
	switch s.Fault {
	case "denied":
		respond(w, map[string]any{"id": s.ID, "error": map[string]string{
			"message": "Access Denied: Cannot delete", "errorName": "PERMISSION_DENIED", "errorType": "USER_ERROR",
		}})
		return
	case "wrong":
		respond(w, map[string]any{"id": s.ID, "error": map[string]string{
			"message": "line 1:8: no such thing", "errorName": "COLUMN_NOT_FOUND", "errorType": "USER_ERROR",
		}})
		return
	}
	types := map[string]string{
		"integer": "bigint", "decimal": "decimal(38,2)", "text": "varchar(100)", "date": "date",
		"timestamp": "timestamp(3)",
	}
	var columns []map[string]string
	for i, n := range s.Names {
		columns = append(columns, map[string]string{"name": n, "type": types[s.Types[i]]})
	}
	rows := s.Rows[min(len(s.Rows), page*pageRows):min(len(s.Rows), (page+1)*pageRows)]
	data := make([][]any, len(rows))
	for i, row := range rows {
		for c, v := range row {
			text, _ := v.(string)
			switch s.Types[c] {
			case "integer":
				v = json.Number(text)
			case "timestamp":
				v = strings.Replace(text, "T", " ", 1) + "00"
			}
			data[i] = append(data[i], v)
		}
	}
	out := map[string]any{"id": s.ID, "columns": columns, "data": data}
	if (page+1)*pageRows < len(s.Rows) {
		out["nextUri"] = next + strconv.Itoa(page+1)
	}
	respond(w, out)
}

func respond(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func open(ctx context.Context, url string, h source.Hiding) (source.Source, error) {
	address := "trino://reader:hush@" + strings.TrimPrefix(url, "http://") + "/lake/shop?tls=false"
	return Engine().Open(ctx, "shop", address, engines.Options{Hiding: h})
}

func TestSource(t *testing.T) {
	warehousetest.Suite{
		Database: describe("lake", "shop"), Protocol: imitate, Open: open, Secret: "hush", Excess: []string{"INSERT"},
	}.Run(t)
}

// TestPrivilegesAreUntold checks the strength of a source whose connector knows no privileges.
func TestPrivilegesAreUntold(t *testing.T) {
	const unknown = `{"id":"1","error":{"message":"not supported","errorName":"NOT_SUPPORTED","errorType":"USER_ERROR"}}`
	const none = `{"id":"1","columns":[{"name":"p","type":"varchar"}],"data":[]}`
	for body, want := range map[string]string{
		none:    source.Gated,
		unknown: source.Unproven,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if sql, _ := io.ReadAll(r.Body); strings.Contains(string(sql), "table_privileges") {
				_, _ = io.WriteString(w, body)
				return
			}
			_, _ = io.WriteString(w, none)
		}))
		src, err := open(t.Context(), server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = src.Probe(t.Context()) // the tables that it looks for are not there
		proof, ok := source.Inner(src).(source.Proved)
		if !ok || proof.Proof().Strength != want {
			t.Errorf("after %s the strength is %v, want %s", body, proof, want)
		}
		server.Close()
	}
}

// TestNextIsOnTheHost checks that the address of the next page cannot lead to another host.
func TestNextIsOnTheHost(t *testing.T) {
	client, err := warehouse.NewClient("http://127.0.0.1:1", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, next := range []string{
		"http://127.0.0.1:2/x", "https://127.0.0.1:1/x", "http://evil.example.org/", "//evil.example.org/",
		"http://user@127.0.0.1:1/x", "file:///etc/passwd",
	} {
		resp, err := client.Do(t.Context(), warehouse.Request{Method: http.MethodPost, Path: next})
		if err == nil {
			resp.Body.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "not allowed") {
			t.Errorf("%s: %v", next, err)
		}
	}
}
