package main

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/httpapi"
	"github.com/footnotehq/footnote/internal/app"
	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/internal/sandbox"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/source/mysql/mariatest"
)

func TestMain(m *testing.M) {
	child.Main(app.Databases().Children())
	sandbox.Main()
	code := pgtest.Run(m)
	mariatest.Close()
	os.Exit(code)
}

// server is a server that runs while commands are executed. It has no model, and no listener.
type server struct {
	t   *testing.T
	app *app.App
	api *httpapi.Server
}

func newServer(t *testing.T, c config.Config) *server {
	t.Helper()
	a, err := app.New(t.Context(), c, app.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	api, err := a.API()
	if err != nil {
		t.Fatal(err)
	}
	return &server{t, a, api}
}

// call sends a request with a key, or without one if it is empty.
func (s *server) call(key, method, target, body string) *httptest.ResponseRecorder {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), method, target, strings.NewReader(body))
	r.Host, r.RemoteAddr = "localhost:8787", "127.0.0.1:50000"
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	s.api.ServeHTTP(w, r)
	return w
}

// ask opens a conversation, waits until its answer has ended, and returns its id.
func (s *server) ask(question string) string {
	s.t.Helper()
	w := s.call("", "POST", "/api/conversations", `{"text":"`+question+`"}`)
	var taken struct{ Conversation string }
	if err := json.Unmarshal(w.Body.Bytes(), &taken); err != nil || w.Code != 202 {
		s.t.Fatal(w.Code, w.Body)
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, "GET", "/api/conversations/"+taken.Conversation+"/events", nil)
	r.Host, r.RemoteAddr = "localhost:8787", "127.0.0.1:50000"
	r.Header.Set("Accept", "text/event-stream") // the stream ends with the run
	s.api.ServeHTTP(httptest.NewRecorder(), r)
	return taken.Conversation
}
