package httpapi

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
)

const (
	slotsPerUser = 4                // concurrent data requests per user
	slotWait     = 30 * time.Second // longest wait for a free slot
)

// turnstile limits the concurrent data requests of each user; further ones wait.
type turnstile struct {
	mu    sync.Mutex // guards below
	users map[[2]string]*places
}

type places struct {
	taken chan struct{}
	refs  int
}

// enter waits for a slot. The caller must call leave to release it.
func (t *turnstile) enter(ctx context.Context, p footnote.Principal) (leave func(), err error) {
	key := [2]string{p.Org, p.User}
	t.mu.Lock()
	if t.users == nil {
		t.users = map[[2]string]*places{}
	}
	at := t.users[key]
	if at == nil {
		at = &places{taken: make(chan struct{}, slotsPerUser)}
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
	wait, cancel := context.WithTimeout(ctx, slotWait)
	defer cancel()
	select {
	case at.taken <- struct{}{}:
		return func() { <-at.taken; forget() }, nil
	case <-wait.Done():
		forget()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, &footnote.Error{
			Code:       footnote.RateLimited,
			Message:    "Too many of your queries are running. Wait for them, or stop some.",
			RetryAfter: time.Second,
		}
	}
}

// withSlot wraps the handler of a route that queries a database.
func (s *Server) withSlot(h Handler) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		leave, err := s.work.enter(r.Context(), PrincipalOf(r.Context()))
		if err != nil {
			return err
		}
		defer leave()
		return h(w, r)
	}
}
