package httpapi_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/httpapi"
)

// TestSpends checks that a link or an image on another site cannot trigger a GET that costs money, neither
// with the cookie nor on a server without keys.
func TestSpends(t *testing.T) {
	for name, keys := range map[string]map[string]footnote.Principal{
		"keys": {adasKey: {Org: "acme", User: "ada"}},
		"none": nil,
	} {
		api, _ := newAPI(t, func(o *httpapi.Options) { o.Keys = keys })
		signIn := request("POST", "/api/session", `{"key":"`+adasKey+`"}`)
		cookies := do(api, signIn).Result().Cookies()
		for _, tc := range []struct {
			what, site string
			key        bool
			want       int
		}{
			{"a page of ours", "same-origin", false, http.StatusNotFound},
			{"another port", "same-site", false, http.StatusForbidden},
			{"another site", "cross-site", false, http.StatusForbidden},
			{"an address that was typed", "none", false, http.StatusForbidden},
			{"a program", "", false, http.StatusForbidden},
			{"a program with a key", "", true, http.StatusNotFound},
		} {
			r := request("GET", "/api/analyze?question=Hello&sessionId=none", "") // no such conversation
			if !tc.key {
				r.Header.Del("Authorization")
				for _, c := range cookies {
					r.AddCookie(c)
				}
			}
			if tc.site != "" {
				r.Header.Set("Sec-Fetch-Site", tc.site)
			}
			want := tc.want
			if keys == nil && tc.key {
				want = http.StatusForbidden // an unchecked key proves nothing
			}
			if got := do(api, r).Code; got != want {
				t.Errorf("%s, %s: %d, want %d", name, tc.what, got, want)
			}
		}
	}
}

// TestSessionOffersCharts checks that the page learns of market data that was loaded after the server started.
func TestSessionOffersCharts(t *testing.T) {
	loaded := false
	api, _ := newAPI(t, func(o *httpapi.Options) { o.Charts = func(context.Context) bool { return loaded } })
	for _, want := range []string{`"charts":false`, `"charts":true`} {
		if w := do(api, request("GET", "/api/session", "")); !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s, want %s", w.Body, want)
		}
		loaded = true
	}
}
