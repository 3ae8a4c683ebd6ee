package app

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestPagesThatDoNotExist opens addresses of the web app in a browser. Those that lead nowhere get the page with status
// 404, if the server can know that: a caller without a key learns nothing about conversations.
func TestPagesThatDoNotExist(t *testing.T) {
	g := newRig(t, t.TempDir(), withMarket(t))
	w := g.do(g.request("POST", "/api/conversations", map[string]any{"text": "How many orders are there?"}))
	var opened struct{ Conversation string }
	if err := json.Unmarshal(w.Body.Bytes(), &opened); err != nil || opened.Conversation == "" {
		t.Fatal(w.Code, w.Body)
	}
	mine := "/c/" + opened.Conversation
	for _, c := range []struct {
		path, key string
		want      int
	}{
		{"/", adasKey, 200}, {"/usage", adasKey, 200}, {"/chart", adasKey, 200}, {mine, adasKey, 200},
		{mine + "/r1", adasKey, 200}, {"/chart/EURUSD", adasKey, 200}, {"/chart/EURUSD/5m", adasKey, 200},
		{"/nonsense", adasKey, 404}, {"/c", adasKey, 404}, {"/a/b/c/", "", 404}, {"/nonsense", "", 404},
		{"/c/unknown-id", adasKey, 404}, {mine, bobsKey, 404}, {mine + "/r1", bobsKey, 404},
		{"/c/unknown-id", "", 200}, {mine, "", 200},
		{"/chart/unknown", adasKey, 404}, {"/chart/EURUSD/7m", adasKey, 404}, {"/chart/unknown", "", 200},
	} {
		r := g.request("GET", c.path, nil)
		r.Header.Set("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
		r.Header.Del("Authorization")
		if c.key != "" {
			r.Header.Set("Authorization", "Bearer "+c.key)
		}
		w := g.do(r)
		if w.Code != c.want || w.Header().Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("GET %s with %q: %d %s, want the page with %d", c.path, c.key, w.Code, w.Header(), c.want)
		}
	}
	for _, c := range []struct{ method, path, accept string }{
		{"GET", "/api/nonsense", "text/html"}, {"GET", "/v1/nonsense", "text/html"}, {"GET", "/nonsense", "*/*"},
		{"POST", "/nonsense", "text/html"},
	} {
		r := g.request(c.method, c.path, nil)
		r.Header.Set("Accept", c.accept)
		if w := g.do(r); w.Code != 404 || !strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") {
			t.Errorf("%s %s for %s: %d %s", c.method, c.path, c.accept, w.Code, w.Header())
		}
	}
}
