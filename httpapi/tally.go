package httpapi

import (
	"net/http"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
)

const (
	// These requests are allowed on top of the streams, so that a user with too many streams can still list
	// conversations and stop runs.
	spareRequests      = 64  // per user
	spareRequestsTotal = 256 // for the whole server
	retryTooMany       = 5 * time.Second
)

// tally counts open requests and streams. Nothing else decides whether a user, or the server, has too many.
type tally struct {
	perUser, total int // limits on streams

	mu    sync.Mutex // guards below
	open  held
	users map[[2]string]*held
}

// held counts the requests that are being served, and how many of them are streams.
type held struct{ requests, streams int }

// request counts a request until the caller calls leave. It fails when there are too many.
func (p *tally) request(caller footnote.Principal) (leave func(), err error) {
	key := [2]string{caller.Org, caller.User}
	p.mu.Lock()
	defer p.mu.Unlock()
	user := p.users[key]
	switch {
	case user != nil && user.requests >= p.perUser+spareRequests:
		return nil, tooMany("You have %d requests open, which is as many as one user may have. "+
			"Close some, then try again.", user.requests)
	case p.open.requests >= p.total+spareRequestsTotal:
		return nil, tooMany("The server has %d requests open, which is as many as it serves. "+
			"Try again in a moment.", p.open.requests)
	case user == nil:
		user = &held{}
		if p.users == nil {
			p.users = map[[2]string]*held{}
		}
		p.users[key] = user
	}
	user.requests++
	p.open.requests++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		user.requests--
		p.open.requests--
		if user.requests == 0 {
			delete(p.users, key)
		}
	}, nil
}

// stream counts a stream until the caller calls leave. Its request is counted already. It fails when there are too
// many.
func (p *tally) stream(caller footnote.Principal) (leave func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	user := p.users[[2]string{caller.Org, caller.User}]
	if user == nil {
		user = &held{} // a test called the handler directly
	}
	switch {
	case user.streams >= p.perUser:
		return nil, tooMany("You have %d streams open, which is as many as one user may have. "+
			"Close some, then try again.", user.streams)
	case p.open.streams >= p.total:
		return nil, tooMany("The server has %d streams open, which is as many as it serves. "+
			"Try again in a moment.", p.open.streams)
	}
	user.streams++
	p.open.streams++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		user.streams--
		p.open.streams--
	}, nil
}

func tooMany(format string, n int) error {
	err := footnote.Errorf(footnote.RateLimited, format, n)
	return &footnote.Error{Code: footnote.RateLimited, Message: footnote.MessageOf(err), RetryAfter: retryTooMany}
}

// counted wraps the handler of a route that needs a key, so that its requests count for their user. A refused request
// also loses its connection, because that takes one of the process's file descriptors.
func (s *Server) counted(h Handler) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		leave, err := s.tally.request(PrincipalOf(r.Context()))
		if err != nil {
			w.Header().Set("Connection", "close")
			return err
		}
		defer leave()
		return h(w, r)
	}
}

// hold counts a request that stays open as a stream until the caller calls leave.
func (s *Server) hold(w http.ResponseWriter, r *http.Request) (leave func(), err error) {
	leave, err = s.tally.stream(PrincipalOf(r.Context()))
	if err != nil {
		w.Header().Set("Connection", "close")
	}
	return leave, err
}

// holding wraps the handler of a route whose requests stay open, either to stream or to wait for an answer. It refuses
// a request before any work is done.
func (s *Server) holding(h Handler) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		leave, err := s.hold(w, r)
		if err != nil {
			return err
		}
		defer leave()
		return h(w, r)
	}
}
