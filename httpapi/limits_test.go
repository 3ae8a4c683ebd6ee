package httpapi_test

import (
	"context"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"gopkg.in/yaml.v3"

	"github.com/footnotehq/footnote/httpapi"
	"github.com/footnotehq/footnote/internal/clienttest"
	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/board"
	"github.com/footnotehq/footnote/market/endpoint"
)

// TestTooManyStreams checks that a user who has as many streams as allowed gets no more from any route that streams.
// The refusal comes before any work is done. Everything else still works, and a stream is free again when one ends.
func TestTooManyStreams(t *testing.T) {
	few := func(o *httpapi.Options) {
		o.StreamsPerUser = 2
		// Refused requests reach neither of these.
		boards := board.New(board.Options{Log: struct{ board.Log }{}, Hub: o.Hub})
		o.Protocols = append(o.Protocols, endpoint.New(boards, struct{ market.Market }{}))
	}
	inBubble(t, few, func(t *testing.T, api *httpapi.Server, engine *clienttest.Engine) {
		id := do(api, chat("two", false)).Header().Get("X-Conversation-Id")
		follow := "/api/conversations/" + id + "/events?follow=true"
		open := func() (leave func()) {
			r := request("GET", follow, "")
			r.Header.Set("Accept", "text/event-stream")
			ctx, cancel := context.WithCancel(t.Context())
			done := start(ctx, api, newTape(), r)
			synctest.Wait()
			return func() { cancel(); <-done }
		}
		leave, last := open(), open()
		streams := streamRoutes(t, api)
		turns := len(engine.Turns())
		for _, route := range streams {
			method, pattern, _ := strings.Cut(route, " ")
			w := askForStream(api, method, pattern, id)
			if w.Code != 429 || !strings.Contains(w.Body.String(), "You have 2 streams open") {
				t.Errorf("%s: %d %s", route, w.Code, w.Body)
			}
			if h := w.Header(); h.Get("Retry-After") != "5" || h.Get("Connection") != "close" {
				t.Errorf("%s: %v", route, h)
			}
		}
		if n := len(engine.Turns()); n != turns {
			t.Errorf("%d refused requests began runs", n-turns)
		}
		for _, target := range []string{"/api/conversations", "/api/conversations/" + id + "/events"} {
			if w := do(api, request("GET", target, "")); w.Code != 200 {
				t.Errorf("GET %s: %d %s", target, w.Code, w.Body)
			}
		}
		leave()
		if w := do(api, chat("two", true)); w.Code != 200 {
			t.Errorf("a place is free: %d %s", w.Code, w.Body)
		}
		last()
	})
}

// streamRoutes returns the routes whose description says that they stream. It fails the test when such a route is not
// registered, or when another registered route answers with a stream.
func streamRoutes(t *testing.T, api *httpapi.Server) (streams []string) {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]struct {
			Responses map[string]struct {
				Content map[string]any
			}
		}
	}
	if err := yaml.Unmarshal(do(api, request("GET", "/api/openapi.yaml", "")).Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	for path, methods := range doc.Paths {
		for method, operation := range methods {
			if _, ok := operation.Responses["200"].Content["text/event-stream"]; ok {
				streams = append(streams, strings.ToUpper(method)+" "+path)
			}
		}
	}
	slices.Sort(streams)
	var registered []string
	for pattern, methods := range api.Routes() {
		for _, method := range methods {
			route := method + " " + strings.ReplaceAll(pattern, "...}", "}")
			registered = append(registered, route)
			if slices.Contains(streams, strings.Replace(route, "HEAD ", "GET ", 1)) {
				continue
			}
			w := askForStream(api, method, pattern, "none")
			if strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") {
				t.Errorf("%s streams, and its openapi.yaml does not say so", route)
			}
		}
	}
	for _, route := range streams {
		if !slices.Contains(registered, route) {
			t.Errorf("%s is described and not registered here", route)
		}
	}
	return streams
}

// askForStream sends a request that every route with a stream understands.
func askForStream(api *httpapi.Server, method, pattern, id string) *httptest.ResponseRecorder {
	path := strings.NewReplacer("{id}", id, "{id...}", id, "{name}", "none").Replace(pattern)
	r := request(method, path+"?symbol=EURUSD&question=x&follow=true", "{}")
	r.Header.Set("Accept", "text/event-stream")
	return do(api, r)
}
