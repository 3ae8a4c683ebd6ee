package httpapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/footnotehq/footnote"
)

// StoredKeys are API keys that can be revoked while the server runs. What is wrong
// with a key is Unauthorized; its message is told to the caller.
type StoredKeys interface {
	// Mine reports whether a text is made like one of these keys, whoever it is of.
	Mine(text string) bool
	// Check returns the id of a key, of 16 bytes, and whom it stands for.
	Check(ctx context.Context, key string) (id string, p footnote.Principal, err error)
	// Named returns whom the key with an id stands for now.
	Named(ctx context.Context, id string) (footnote.Principal, error)
}

// Tokens are credentials that say themselves whom they stand for, and until when.
// What is wrong with one is Unauthorized; its message is told to the caller.
type Tokens interface {
	// Mine reports whether a text is made like a token, whoever signed it.
	Mine(text string) bool
	Check(ctx context.Context, text string) (footnote.Principal, error)
}

// guarded ends a request when the stored key that it came in by no longer stands.
// The caller calls release when it is done.
func (s *Server) guarded(r *http.Request) (_ *http.Request, release func()) {
	id := scopeOf(r.Context()).keyID
	if id == "" {
		return r, func() {}
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.watch(ctx, cancel, id)
	}()
	return r.WithContext(ctx), func() { cancel(nil); <-done }
}

// watch asks now and then whether a key still stands, until ctx ends. A store that
// does not answer says nothing about a key.
func (s *Server) watch(ctx context.Context, cancel context.CancelCauseFunc, id string) {
	tick := time.NewTicker(s.opts.Recheck)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		limited, done := context.WithTimeout(ctx, recheckTime)
		_, err := s.opts.StoredKeys.Named(limited, id)
		done()
		if footnote.CodeOf(err) == footnote.Unauthorized {
			cancel(err)
			return
		}
	}
}

// recheckTime is how long the store may take to say whether a key still stands.
const recheckTime = 5 * time.Second

// withdrawn is why a request was ended whose key no longer stands; otherwise nil.
func withdrawn(ctx context.Context) error {
	e, ok := errors.AsType[*footnote.Error](context.Cause(ctx))
	if ok && e.Code == footnote.Unauthorized {
		return e
	}
	return nil
}
