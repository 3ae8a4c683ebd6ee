package httpapi_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/footnotehq/footnote/drawing/board"
	"github.com/footnotehq/footnote/httpapi"
	"github.com/footnotehq/footnote/internal/clienttest"
	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/store"
)

// TestTooManyStreams holds that a user with as many streams as one may have gets no
// more at any address that holds a connection, is told so before any work is done, can
// still do everything else, and gets a stream again as soon as one ends.
func TestTooManyStreams(t *testing.T) {
	few := func(o *httpapi.Options) {
		o.StreamsPerUser = 2
		o.Drawings = board.New(board.Options{Log: store.NewMem(), Hub: o.Hub})
		o.Market = struct{ market.Market }{} // no refused request gets to it
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
		turns := len(engine.Turns())
		for _, target := range []string{
			"GET " + follow, "GET /api/market/price?symbol=EURUSD", "GET /api/drawings/stream?symbol=EURUSD", "GET /api/analyze?question=x",
			"GET /api/ai/c1/stream", "POST /api/ai", "POST /api/analyze", "POST /api/chat", "POST /api/chat-v2", "POST /v1/chat/completions",
		} {
			method, path, _ := strings.Cut(target, " ")
			r := request(method, path, "{}")
			r.Header.Set("Accept", "text/event-stream")
			w := do(api, r)
			if w.Code != 429 || !strings.Contains(w.Body.String(), "You have 2 streams open") {
				t.Errorf("%s: %d %s", target, w.Code, w.Body)
			}
			if h := w.Header(); h.Get("Retry-After") != "5" || h.Get("Connection") != "close" {
				t.Errorf("%s: %v", target, h)
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
