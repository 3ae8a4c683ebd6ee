package httpapi

import (
	"net/http"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
)

const (
	// spareRequests are the places of a user, and of the server, that no stream takes:
	// whoever has too many streams can still list conversations and stop runs.
	spareRequests      = 64
	spareRequestsTotal = 256
	placesRetry        = 5 * time.Second // when to try again
)

// tally counts the requests and streams that are open. It is the one place that
// decides whether a user, or the server, has too many of them.
type tally struct {
	perUser, total int // streams

	mu    sync.Mutex // guards below
	open  held
	users map[[2]string]*held
}

// held is how many requests are being served, and how many of them are streams.
type held struct{ requests, streams int }

// request takes the place of a request. The caller gives it back with leave.
func (p *tally) request(who footnote.Principal) (leave func(), err error) {
	key := [2]string{who.Org, who.User}
	p.mu.Lock()
	defer p.mu.Unlock()
	user := p.users[key]
	switch {
	case user != nil && user.requests >= p.perUser+spareRequests:
		return nil, tooMany("You have %d requests open, which is as many as one user may have. Close some, then try again.", user.requests)
	case p.open.requests >= p.total+spareRequestsTotal:
		return nil, tooMany("The server has %d requests open, which is as many as it serves. Try again in a moment.", p.open.requests)
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

// stream takes the place of a stream, for a request that has its own place. The caller
// gives it back with leave.
func (p *tally) stream(who footnote.Principal) (leave func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	user := p.users[[2]string{who.Org, who.User}]
	if user == nil {
		user = &held{} // a handler that is called without the server
	}
	switch {
	case user.streams >= p.perUser:
		return nil, tooMany("You have %d streams open, which is as many as one user may have. Close some, then try again.", user.streams)
	case p.open.streams >= p.total:
		return nil, tooMany("The server has %d streams open, which is as many as it serves. Try again in a moment.", p.open.streams)
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
	return &footnote.Error{Code: footnote.RateLimited, Message: footnote.MessageOf(err), RetryAfter: placesRetry}
}

// counted wraps the handler of an address that needs a key: its request counts among
// those of its user. A refused one does not keep its connection, which is a file of
// the process.
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

// hold takes the place of a stream for a request that stays open. The caller gives it
// back with leave.
func (s *Server) hold(w http.ResponseWriter, r *http.Request) (leave func(), err error) {
	leave, err = s.tally.stream(PrincipalOf(r.Context()))
	if err != nil {
		w.Header().Set("Connection", "close")
	}
	return leave, err
}

// holding wraps the handler of an address whose requests stay open: streams, and
// answers that are waited for. It refuses one before any work is done.
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
