package endpoint_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/httpapi"
	"github.com/footnotehq/footnote/internal/clienttest"
	"github.com/footnotehq/footnote/market/board"
	"github.com/footnotehq/footnote/market/drawing"
	"github.com/footnotehq/footnote/market/endpoint"
	"github.com/footnotehq/footnote/protocol"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/sqlite/sqlitetest"
)

const (
	adasKey = "key-of-ada"
	bobsKey = "key-of-bob"
)

// newServer returns a server with drawings, for two users.
func newServer(t *testing.T, log store.Store) *httpapi.Server {
	t.Helper()
	engine := clienttest.New()
	t.Cleanup(engine.Close)
	api, err := httpapi.New(httpapi.Options{
		Engine: engine, Log: engine, Hub: engine.Hub,
		Protocols: []protocol.Protocol{endpoint.New(board.New(board.Options{Log: log, Hub: engine.Hub}), nil)},
		Keys: map[string]footnote.Principal{
			adasKey: {Org: "acme", User: "ada"}, bobsKey: {Org: "acme", User: "bob"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// request sends a request, requires a status, and decodes the response into out.
func request(t *testing.T, api http.Handler, method, path, body, key string, want int, out any) string {
	t.Helper()
	r := httptest.NewRequest(method, "http://127.0.0.1"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+cmp.Or(key, adasKey))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	api.ServeHTTP(w, r)
	if w.Code != want {
		t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
	if out != nil {
		if err := json.Unmarshal(w.Body.Bytes(), out); err != nil {
			t.Fatal(err)
		}
	}
	return w.Body.String()
}

var requestID = regexp.MustCompile(`"request_id":"[^"]*"`)

const horizontalLine = `{"symbol":"EURUSD","drawing":{"type":"horizontal_line","symbol":"EURUSD","timeframe":"1h",` +
	`"price":1.095,"label":"Support","anchors":[]}}`

type putAnswer struct {
	Version int64
	Drawing drawing.Drawing
}

func TestPersonChangesDrawings(t *testing.T) {
	api := newServer(t, sqlitetest.New(t))
	var made putAnswer
	request(t, api, "POST", "/api/drawings", horizontalLine, "", 200, &made)
	if made.Version != 1 || made.Drawing.ID == "" || made.Drawing.Created.By != drawing.Human {
		t.Fatalf("created drawing: %+v", made)
	}
	change := func(price string, base int64, want int) string {
		return request(t, api, "POST", "/api/drawings", fmt.Sprintf(
			`{"symbol":"EURUSD","base_version":%d,"drawing":{"id":%q,"type":"horizontal_line","symbol":"EURUSD",`+
				`"timeframe":"1h","price":%s}}`, base, made.Drawing.ID, price), "", want, nil)
	}
	change("1.092", 1, 200)
	if got := change("1.090", 1, 409); !strings.Contains(got, `"code":"conflict"`) ||
		!strings.Contains(got, `"price":1.092`) || !strings.Contains(got, `"version":2`) {
		t.Errorf("a stale change: %s", got)
	}
	for _, price := range []string{"NaN", "1e999", `"Infinity"`, "-1", "null"} {
		if got := change(price, 0, 400); !strings.Contains(got, "invalid_request") {
			t.Errorf("price %s: %s", price, got)
		}
	}
	if got := request(t, api, "POST", "/api/drawings", `{"symbol":"EURUSD"}`, "", 400, nil); !strings.Contains(got,
		"drawing is missing") {
		t.Error(got)
	}
	var v board.View
	request(t, api, "GET", "/api/drawings?symbol=EURUSD", "", "", 200, &v)
	if len(v.Drawings) != 1 || v.Version != 2 || !v.CanUndo || v.CanRedo {
		t.Fatalf("document after the update: %+v", v)
	}
	request(t, api, "POST", "/api/drawings/undo", `{"symbol":"EURUSD"}`, "", 200, &v)
	if *v.Drawings[0].Price != 1.095 || !v.CanRedo {
		t.Fatalf("document after undo: %+v", v)
	}
	request(t, api, "POST", "/api/drawings/redo", `{"symbol":"EURUSD"}`, "", 200, &v)
	request(t, api, "DELETE", "/api/drawings/"+made.Drawing.ID+"?symbol=EURUSD&base_version=1", "", "", 409, nil)
	request(t, api, "DELETE", "/api/drawings/"+made.Drawing.ID+"?symbol=EURUSD", "", "", 200, nil)
	request(t, api, "DELETE", "/api/drawings/"+made.Drawing.ID+"?symbol=EURUSD", "", "", 404, nil)
	var h struct{ Changes []drawing.Change }
	request(t, api, "GET", "/api/drawings/history?symbol=EURUSD&limit=3", "", "", 200, &h)
	if len(h.Changes) != 3 || h.Changes[0].Action != drawing.Remove || h.Changes[0].Before == nil ||
		h.Changes[0].By != drawing.Human || h.Changes[0].User != "ada" {
		t.Errorf("history: %+v", h.Changes)
	}
	request(t, api, "GET", "/api/drawings/history?symbol=EURUSD&before=3&drawing="+made.Drawing.ID, "", "", 200, &h)
	if len(h.Changes) != 2 || string(h.Changes[0].Changes["price"].From) != "1.095" {
		t.Errorf("history of one drawing: %+v", h.Changes)
	}
}

func TestForeignDrawingIsNotFound(t *testing.T) {
	api := newServer(t, sqlitetest.New(t))
	var made putAnswer
	request(t, api, "POST", "/api/drawings", horizontalLine, "", 200, &made)
	var answers []string
	for _, id := range []string{made.Drawing.ID, "dr_neverwasxyz"[:len(made.Drawing.ID)-1] + "x"} {
		got := request(t, api, "DELETE", "/api/drawings/"+id+"?symbol=EURUSD", "", bobsKey, 404, nil)
		got += request(t, api, "POST", "/api/drawings",
			strings.Replace(horizontalLine, `"type"`, `"id":"`+id+`","type"`, 1), bobsKey, 404, nil)
		answers = append(answers, requestID.ReplaceAllString(strings.ReplaceAll(got, id, "ID"), "req"))
	}
	if answers[0] != answers[1] {
		t.Errorf("a foreign drawing: %s\nan unknown one: %s", answers[0], answers[1])
	}
}

func TestExportImport(t *testing.T) {
	api := newServer(t, sqlitetest.New(t))
	request(t, api, "POST", "/api/drawings", horizontalLine, "", 200, nil)
	file := request(t, api, "GET", "/api/drawings/export?symbol=EURUSD", "", "", 200, nil)
	var v board.View
	request(t, api, "POST", "/api/drawings/import", file, bobsKey, 200, &v)
	if len(v.Drawings) != 1 || v.Drawings[0].Label != "Support" {
		t.Fatalf("document after the import: %+v", v)
	}
	request(t, api, "POST", "/api/drawings/import",
		`{"format":"footnote-drawings-1","symbol":"EURUSD","drawings":[],"replace":true}`, bobsKey, 200, &v)
	if len(v.Drawings) != 0 {
		t.Errorf("document after an empty import: %+v", v)
	}
	request(t, api, "POST", "/api/drawings/undo", `{"symbol":"EURUSD"}`, bobsKey, 200, &v)
	if len(v.Drawings) != 1 {
		t.Errorf("document after undo: %+v", v)
	}
	for _, bad := range []string{
		`{"format":"x","symbol":"EURUSD","drawings":[]}`,
		`{"format":"footnote-drawings-1","symbol":"EURUSD","drawings":[{"type":"x"}]}`,
	} {
		request(t, api, "POST", "/api/drawings/import", bad, "", 400, nil)
	}
}

// TestStreamDeliversChangesInOrder checks that a stream delivers earlier drawings first and then each change
// once, in order.
func TestStreamDeliversChangesInOrder(t *testing.T) {
	srv := httptest.NewServer(newServer(t, sqlitetest.New(t)))
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	post := func(price string) {
		t.Helper()
		r, err := http.NewRequest("POST", srv.URL+"/api/drawings",
			strings.NewReader(strings.Replace(horizontalLine, "1.095", price, 1)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+adasKey)
		r.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(r)
		if err != nil || res.StatusCode != 200 {
			t.Fatal(res, err)
		}
		res.Body.Close()
	}
	post("1.1")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", srv.URL+"/api/drawings/stream?symbol=EURUSD", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+adasKey)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	next := func() (c drawing.Change) {
		t.Helper()
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				if err := json.Unmarshal([]byte(data), &c); err != nil {
					t.Fatal(err)
				}
				return c
			}
		}
		t.Fatal("the stream ended: ", lines.Err())
		return c
	}
	if c := next(); c.Version != 1 || c.Action != drawing.Create {
		t.Fatalf("first change: %+v", c)
	}
	for i := range 5 {
		post(fmt.Sprintf("1.%d", i+2))
		if c := next(); c.Version != int64(i+2) || *c.After.Price < 1.1 {
			t.Fatalf("next change: %+v", c)
		}
	}
}

// TestDrawingIDsLikeRoutes checks that a drawing whose id is also a path segment of the API can be removed,
// and that those paths still work.
func TestDrawingIDsLikeRoutes(t *testing.T) {
	api := newServer(t, sqlitetest.New(t))
	words := []string{"undo", "redo", "history", "stream", "export", "import", "x"}
	var list []string
	for i, id := range words {
		list = append(list, fmt.Sprintf(
			`{"id":%q,"type":"horizontal_line","symbol":"EURUSD","timeframe":"1h","price":1.%d,"anchors":[]}`, id, i+1))
	}
	var v board.View
	request(t, api, "POST", "/api/drawings/import",
		`{"format":"footnote-drawings-1","symbol":"EURUSD","drawings":[`+strings.Join(list, ",")+`]}`, "", 200, &v)
	for i, id := range words {
		request(t, api, "DELETE", "/api/drawings/"+id+"?symbol=EURUSD&reason=Over.", "", "", 200, nil)
		request(t, api, "GET", "/api/drawings?symbol=EURUSD", "", "", 200, &v)
		if len(v.Drawings) != len(words)-1-i {
			t.Errorf("%s is still there", id)
		}
	}
	request(t, api, "POST", "/api/drawings/undo", `{"symbol":"EURUSD"}`, "", 200, &v)
	if len(v.Drawings) != 1 || v.Drawings[0].ID != "x" {
		t.Errorf("document: %+v", v)
	}
}

// largest records the largest chunk written to it, and cancels its request after a number of messages.
type largest struct {
	*httptest.ResponseRecorder
	piece, left int
	end         func()
}

func (l *largest) Write(b []byte) (int, error) {
	l.piece = max(l.piece, len(b))
	if l.left -= strings.Count(string(b), "data: "); l.left <= 0 {
		l.end()
	}
	return l.ResponseRecorder.Write(b)
}

// TestLongHistoryIsStreamedInChunks checks that a reader that is far behind does not make the server hold
// the whole history in memory.
func TestLongHistoryIsStreamedInChunks(t *testing.T) {
	log := sqlitetest.New(t)
	boards := board.New(board.Options{Log: log})
	ada := footnote.Principal{Org: "acme", User: "ada"}
	notes := strings.Repeat("x", 4000)
	for i := range 100 {
		d := drawing.Drawing{
			Type: drawing.HorizontalLine, Symbol: "EURUSD", Timeframe: "1h", Price: new(1 + float64(i)), Notes: notes,
		}
		if _, err := boards.Put(t.Context(), ada, d, 0, drawing.Cause{By: drawing.Human, User: "ada"}); err != nil {
			t.Fatal(err)
		}
	}
	api := newServer(t, log)
	ctx, cancel := context.WithCancel(t.Context())
	r := httptest.NewRequestWithContext(ctx, "GET", "http://127.0.0.1/api/drawings/stream?symbol=EURUSD", nil)
	r.Header.Set("Authorization", "Bearer "+adasKey)
	w := &largest{ResponseRecorder: httptest.NewRecorder(), left: 100, end: cancel}
	api.ServeHTTP(w, r)
	if got := strings.Count(w.Body.String(), "data: "); got != 100 || w.piece > 100_000 {
		t.Errorf("%d changes, and %d bytes at once", got, w.piece)
	}
}

// TestNoMarket checks that the addresses of market data say so when there is none.
func TestNoMarket(t *testing.T) {
	got := request(t, newServer(t, sqlitetest.New(t)), "GET", "/api/market/symbols", "", "", 404, nil)
	if !strings.Contains(got, "This server has no market data.") {
		t.Error(got)
	}
}
