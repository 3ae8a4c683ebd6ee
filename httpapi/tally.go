package httpapi

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
)

const (
	// spareRequests are allowed to a user on top of the streams, so that a user with too many streams can still list
	// conversations and stop runs.
	spareRequests = 64
	retryTooMany  = 5 * time.Second
	slotsPerUser  = 4                // concurrent data requests per user
	slotWait      = 30 * time.Second // longest wait for a free slot
)

// tally counts the open requests and streams of each user, and all streams. It alone decides whether a user has too
// many requests, or the server too many streams. The requests of all users together are limited only by the
// connections: with a further limit, a few users whose bodies never arrive would lock out all others.
type tally struct {
	perUser, total int // limits on streams

	mu      sync.Mutex // guards below
	streams int
	users   map[owner]*userCounts
}

// userCounts holds the number of a user's open requests, and of the streams among them.
type userCounts struct {
	requests, streams int
	slots             chan struct{} // taken by data requests
}

// user returns the counts of a user. p.mu must be held.
func (p *tally) user(key owner) *userCounts {
	if p.users == nil {
		p.users = map[owner]*userCounts{}
	}
	if p.users[key] == nil {
		p.users[key] = &userCounts{slots: make(chan struct{}, slotsPerUser)}
	}
	return p.users[key]
}

// request counts a request until the caller calls leave. It fails when the user has too many.
func (p *tally) request(key owner) (leave func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	user := p.user(key)
	if user.requests >= p.perUser+spareRequests {
		return nil, tooMany("You have %d requests open, the most one user may have. "+
			"Close some, then try again.", user.requests)
	}
	user.requests++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		user.requests--
		if user.requests == 0 {
			delete(p.users, key)
		}
	}, nil
}

// stream counts a stream until the caller calls leave. Its request is counted already. It fails when there are too
// many.
func (p *tally) stream(key owner) (leave func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	user := p.user(key)
	if err := p.full(user); err != nil {
		return nil, err
	}
	user.streams++
	p.streams++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		user.streams--
		p.streams--
	}, nil
}

// slot waits for one of the user's slots for data requests, until the caller calls leave. Its request is counted
// already.
func (p *tally) slot(ctx context.Context, key owner) (leave func(), err error) {
	p.mu.Lock()
	slots := p.user(key).slots
	p.mu.Unlock()
	select {
	case slots <- struct{}{}:
		return func() { <-slots }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-time.After(slotWait):
		return nil, &footnote.Error{
			Code:       footnote.RateLimited,
			Message:    "Too many of your queries are running. Wait for them, or stop some.",
			RetryAfter: time.Second,
		}
	}
}

// room fails when a user can have no further stream now.
func (p *tally) room(key owner) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.full(p.user(key))
}

// full fails when there are too many streams for a user to have another. p.mu must be held.
func (p *tally) full(user *userCounts) error {
	switch {
	case user.streams >= p.perUser:
		return tooMany("You have %d streams open, the most one user may have. "+
			"Close some, then try again.", user.streams)
	case p.streams >= p.total:
		return tooMany("The server has %d streams open, the most it serves. "+
			"Try again in a moment.", p.streams)
	}
	return nil
}

func tooMany(format string, n int) error {
	err := footnote.Errorf(footnote.RateLimited, format, n)
	err.RetryAfter = retryTooMany
	return err
}

// counted wraps the handler of a route that needs a key, so that its requests count for their user. A refused request
// also loses its connection, because that takes one of the process's file descriptors.
func (s *Server) counted(h Handler) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		leave, err := s.tally.request(ownerOf(PrincipalOf(r.Context())))
		if err != nil {
			w.Header().Set("Connection", "close")
			return err
		}
		defer leave()
		return h(w, r)
	}
}

// countStream counts a request that stays open as a stream until the caller calls leave.
func (s *Server) countStream(w http.ResponseWriter, r *http.Request) (leave func(), err error) {
	leave, err = s.tally.stream(ownerOf(PrincipalOf(r.Context())))
	if err != nil {
		w.Header().Set("Connection", "close")
	}
	return leave, err
}

// withStreamLimit wraps the handler of a route whose requests stay open, either to stream or to wait for an answer. It
// refuses a request before any work is done. A request counts from when its body has been read: bodies that never
// arrive must not use up the streams of all users.
func (s *Server) withStreamLimit(h Handler) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		leave := func() {}
		take := func() error {
			release, err := s.countStream(w, r)
			if err == nil {
				leave = release
			}
			return err
		}
		defer func() { leave() }()
		if body, ok := r.Body.(*incoming); ok && body.unread() && r.Method == http.MethodPost {
			if err := s.tally.room(ownerOf(PrincipalOf(r.Context()))); err != nil {
				w.Header().Set("Connection", "close")
				return err
			}
			scopeOf(r.Context()).received = take
		} else if err := take(); err != nil {
			return err
		}
		return h(w, r)
	}
}

// withSlot wraps the handler of a route that queries a database.
func (s *Server) withSlot(h Handler) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		leave, err := s.tally.slot(r.Context(), ownerOf(PrincipalOf(r.Context())))
		if err != nil {
			return err
		}
		defer leave()
		return h(w, r)
	}
}
