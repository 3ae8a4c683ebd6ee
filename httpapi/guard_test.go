package httpapi_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/httpapi"
)

const storedKey = "stored-key-of-cem"

// oneKey is a stored key that can be revoked.
type oneKey struct {
	gone, away atomic.Bool
	asked      atomic.Int64
}

const storedID = "abcdefghijklmnop"

func (k *oneKey) HasFormat(text string) bool { return strings.HasPrefix(text, "stored-") }

func (k *oneKey) Check(ctx context.Context, key string) (string, footnote.Principal, error) {
	if key != storedKey {
		return "", footnote.Principal{}, footnote.Errorf(footnote.Unauthorized, "Unknown API key.")
	}
	p, err := k.PrincipalOf(ctx, storedID)
	return storedID, p, err
}

func (k *oneKey) PrincipalOf(_ context.Context, id string) (footnote.Principal, error) {
	k.asked.Add(1)
	p := footnote.Principal{Org: "acme", User: "cem", Roles: []string{"admin"}}
	switch {
	case k.away.Load():
		return footnote.Principal{}, footnote.Errorf(footnote.StorageUnavailable, "The store is unavailable.")
	case id != storedID || k.gone.Load():
		return p, footnote.Errorf(footnote.Unauthorized, "The API key was revoked.")
	}
	return p, nil
}

func withStored(k *oneKey) func(*httpapi.Options) {
	return func(o *httpapi.Options) { o.StoredKeys, o.Recheck = k, time.Millisecond }
}

func asCem(r *http.Request) *http.Request {
	r.Header.Set("Authorization", "Bearer "+storedKey)
	return r
}

// TestStoredKey checks that a stored key, and a cookie made from it, admit their user alongside the
// configured keys, until the key is revoked.
func TestStoredKey(t *testing.T) {
	k := &oneKey{}
	api, engine := newAPI(t, withStored(k))
	who := do(api, asCem(request("GET", "/api/session", "")))
	if who.Code != 200 || !strings.Contains(who.Body.String(), `"user":"cem","roles":["admin"],"signed_in":true`) {
		t.Fatal(who.Code, who.Body)
	}
	if w := do(api, asCem(request("POST", "/v1/chat/completions",
		`{"model":"analyst","messages":[{"role":"user","content":"hi"}]}`))); w.Code != 200 {
		t.Fatal(w.Code, w.Body)
	}
	if p := engine.Turns()[0].Principal; p.User != "cem" || !p.Has(footnote.Admin) {
		t.Errorf("principal = %+v", p)
	}
	cookies := do(api, request("POST", "/api/session", `{"key":"`+storedKey+`"}`)).Result().Cookies()
	if len(cookies) != 1 {
		t.Fatal("no cookie")
	}
	byCookie := func() int {
		r := request("GET", "/api/conversations/none", "")
		r.Header.Del("Authorization")
		r.AddCookie(cookies[0])
		return do(api, r).Code
	}
	want := func(what string, cookie, key, other int) {
		t.Helper()
		if got := byCookie(); got != cookie {
			t.Errorf("%s: with the cookie %d, want %d", what, got, cookie)
		}
		if got := do(api, asCem(request("GET", "/api/conversations/none", ""))).Code; got != key {
			t.Errorf("%s: with the key %d, want %d", what, got, key)
		}
		if got := do(api, request("GET", "/api/conversations/none", "")).Code; got != other {
			t.Errorf("%s: with a key of the configuration %d, want %d", what, got, other)
		}
	}
	want("standing", 404, 404, 404)
	k.away.Store(true)
	want("no store", 503, 503, 404)
	k.away.Store(false)
	k.gone.Store(true)
	want("revoked", 401, 401, 404)
	if w := do(api, request("POST", "/api/session", `{"key":"`+storedKey+`"}`)); w.Code != 401 {
		t.Errorf("a revoked key signs in: %d", w.Code)
	}
}

// TestRevocationEndsStreams checks that revoking a key ends its open streams with a reason, and no others. A
// store that does not answer ends none.
func TestRevocationEndsStreams(t *testing.T) {
	for name, open := range map[string]func(id string) *http.Request{
		"OpenAI": func(string) *http.Request {
			return request("POST", "/v1/chat/completions",
				`{"model":"analyst","stream":true,"messages":[{"role":"user","content":"scenario: slow"}]}`)
		},
		"native": func(id string) *http.Request {
			r := request("GET", "/api/conversations/"+id+"/events?follow=true", "")
			r.Header.Set("Accept", "text/event-stream")
			return r
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := &oneKey{}
			api, _ := newAPI(t, withStored(k))
			srv := serve(t, api)
			id := do(api, asCem(request("POST", "/v1/chat/completions",
				`{"model":"analyst","messages":[{"role":"user","content":"hi"}]}`))).Header().Get("X-Conversation-Id")
			r := asCem(open(id))
			r.RequestURI, r.URL.Scheme, r.URL.Host = "", "http", strings.TrimPrefix(srv.URL, "http://")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			resp, err := srv.Client().Do(r.WithContext(ctx))
			if err != nil || resp.StatusCode != 200 {
				t.Fatal(resp, err)
			}
			defer resp.Body.Close()
			lines := bufio.NewScanner(resp.Body)
			if !lines.Scan() {
				t.Fatal("the stream is empty")
			}
			k.away.Store(true)
			// it was asked without answering
			for before := k.asked.Load(); k.asked.Load() < before+3 && ctx.Err() == nil; {
				time.Sleep(time.Millisecond)
			}
			k.away.Store(false)
			k.gone.Store(true)
			var rest strings.Builder
			for lines.Scan() {
				rest.WriteString(lines.Text() + "\n")
			}
			if err := lines.Err(); err != nil || !strings.Contains(rest.String(), "The API key was revoked.") {
				t.Errorf("it ended with %v after %q", err, rest.String())
			}
		})
	}
}
