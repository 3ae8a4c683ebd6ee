package httpapi

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
)

const (
	fewAtOnce = 4                // requests of one user that may work on data at once
	fewWait   = 30 * time.Second // for a place among them
)

// turnstile lets a few requests of each user work at once; the others wait.
type turnstile struct {
	mu    sync.Mutex // guards below
	users map[[2]string]*places
}

type places struct {
	taken chan struct{}
	refs  int
}

// enter waits for a place. The caller gives it back with leave.
func (t *turnstile) enter(ctx context.Context, p footnote.Principal) (leave func(), err error) {
	key := [2]string{p.Org, p.User}
	t.mu.Lock()
	if t.users == nil {
		t.users = map[[2]string]*places{}
	}
	at := t.users[key]
	if at == nil {
		at = &places{taken: make(chan struct{}, fewAtOnce)}
		t.users[key] = at
	}
	at.refs++
	t.mu.Unlock()
	forget := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if at.refs--; at.refs == 0 {
			delete(t.users, key)
		}
	}
	wait, cancel := context.WithTimeout(ctx, fewWait)
	defer cancel()
	select {
	case at.taken <- struct{}{}:
		return func() { <-at.taken; forget() }, nil
	case <-wait.Done():
		forget()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, &footnote.Error{Code: footnote.RateLimited, Message: "Too many of your queries are running. Wait for them, or stop them.", RetryAfter: time.Second}
	}
}

// oneOfFew wraps the handler of an address that makes a database work.
func (s *Server) oneOfFew(h Handler) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		leave, err := s.work.enter(r.Context(), PrincipalOf(r.Context()))
		if err != nil {
			return err
		}
		defer leave()
		return h(w, r)
	}
}
