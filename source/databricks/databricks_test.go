package databricks

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/engines"
	"github.com/footnotehq/footnote/source/warehouse/warehousetest"
)

const chunkRows = 1000

// imitate answers the Statement Execution API as its documentation describes it.
func imitate(f *warehousetest.Fake) http.Handler {
	mux := http.NewServeMux()
	limits := map[string]int{} // of rows, by statement
	mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
		var in request
		d := json.NewDecoder(r.Body)
		d.DisallowUnknownFields()
		if err := d.Decode(&in); err != nil || in.WarehouseID != "w1" || in.Catalog != "main" || in.Schema != "shop" ||
			in.Disposition != "INLINE" || in.Format != "JSON_ARRAY" || in.WaitTimeout != "0s" || in.ByteLimit <= 0 {
			f.Refuse("%+v, %v", in, err)
		}
		s := f.Start("", in.Statement)
		limits[s.ID] = in.RowLimit
		respond(w, map[string]any{"statement_id": s.ID, "status": map[string]string{"state": "PENDING"}})
	})
	mux.HandleFunc("GET "+path+"/{id}", func(w http.ResponseWriter, r *http.Request) {
		s, running := f.Get(r.PathValue("id"))
		switch {
		case s == nil:
			f.Refuse("%s", r.URL)
		case running:
			respond(w, map[string]any{"statement_id": s.ID, "status": map[string]string{"state": "RUNNING"}})
		default:
			ended(w, f, s, limits[s.ID])
		}
	})
	mux.HandleFunc("GET "+path+"/{id}/result/chunks/{n}", func(w http.ResponseWriter, r *http.Request) {
		s, _ := f.Get(r.PathValue("id"))
		n, err := strconv.Atoi(r.PathValue("n"))
		if s == nil || err != nil {
			f.Refuse("%s", r.URL)
			return
		}
		respond(w, part(s, n))
	})
	mux.HandleFunc("POST "+path+"/{id}/cancel", func(w http.ResponseWriter, r *http.Request) {
		f.Stop(r.PathValue("id"))
		respond(w, map[string]any{})
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer hush" {
			f.Refuse("the header %v", r.Header)
		}
		mux.ServeHTTP(w, r)
	})
}

func ended(w http.ResponseWriter, f *warehousetest.Fake, s *warehousetest.Statement, limit int) {
	if strings.Contains(s.SQL, "table_privileges") {
		s.Fault, s.Names, s.Types, s.Rows = "", []string{"privilege_type"}, []string{"text"}, nil
		for _, r := range f.Excess() {
			s.Rows = append(s.Rows, []any{r[0]})
		}
	}
	if s.Fault != "" {
		message := map[string]string{
			"denied": "[INSUFFICIENT_PERMISSIONS] User does not have MODIFY",
			"wrong":  "[UNRESOLVED_COLUMN] no such column",
		}[s.Fault]
		respond(w, map[string]any{"statement_id": s.ID, "status": map[string]any{
			"state": "FAILED", "error": map[string]string{"error_code": "BAD_REQUEST", "message": message},
		}})
		return
	}
	types := map[string]string{
		"integer": "BIGINT", "decimal": "DECIMAL(38,2)", "text": "STRING", "date": "DATE", "timestamp": "TIMESTAMP",
	}
	columns := []map[string]string{}
	for i, n := range s.Names {
		columns = append(columns, map[string]string{"name": n, "type_text": types[s.Types[i]]})
	}
	truncated := limit > 0 && len(s.Rows) > limit
	if truncated {
		s.Rows = s.Rows[:limit]
	}
	respond(w, map[string]any{
		"statement_id": s.ID, "status": map[string]string{"state": "SUCCEEDED"},
		"manifest": map[string]any{"schema": map[string]any{"columns": columns}, "truncated": truncated},
		"result":   part(s, 0),
	})
}

func part(s *warehousetest.Statement, n int) map[string]any {
	rows := s.Rows[min(len(s.Rows), n*chunkRows):min(len(s.Rows), (n+1)*chunkRows)]
	data := make([][]any, len(rows))
	for i, row := range rows {
		for c, v := range row {
			if text, ok := v.(string); ok && s.Types[c] == "timestamp" {
				v = text + "00Z"
			}
			data[i] = append(data[i], v)
		}
	}
	out := map[string]any{"chunk_index": n, "data_array": data}
	if (n+1)*chunkRows < len(s.Rows) {
		out["next_chunk_index"] = n + 1
	}
	return out
}

func respond(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func open(ctx context.Context, url string, h source.Hiding) (source.Source, error) {
	address := "databricks://token:hush@" + strings.TrimPrefix(url, "http://") + "/main/shop?warehouse=w1&tls=false"
	return Engine().Open(ctx, "shop", address, engines.Options{Hiding: h})
}

func TestSource(t *testing.T) {
	warehousetest.Suite{
		Database: describe("main", "shop"), Protocol: imitate, Open: open, Secret: "hush", Excess: []string{"MODIFY"},
		Zone: "Z",
	}.Run(t)
}

// TestLinksAreRefused checks that rows never come from another host.
func TestLinksAreRefused(t *testing.T) {
	url := warehousetest.Serve(t, describe("main", "shop"), func(f *warehousetest.Fake) http.Handler {
		next := imitate(f)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s, _ := f.Get(strings.TrimPrefix(r.URL.Path, path+"/"))
			if s == nil || !strings.Contains(s.SQL, "many") {
				next.ServeHTTP(w, r)
				return
			}
			respond(w, map[string]any{
				"statement_id": s.ID, "status": map[string]string{"state": "SUCCEEDED"},
				"result": map[string]any{"external_links": []any{map[string]string{"external_link": "https://x"}}},
			})
		})
	})
	src, err := open(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if _, _, err := source.Collect(t.Context(), src, source.Query{SQL: "SELECT * FROM many"}); err == nil ||
		!strings.Contains(err.Error(), "links to another host") {
		t.Errorf("external links: %v", err)
	}
}
