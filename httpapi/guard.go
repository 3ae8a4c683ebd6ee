package httpapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/footnotehq/footnote"
)

// StoredKeys checks API keys that can be revoked while the server runs. Errors about a key have the code
// Unauthorized, and the caller sees their message.
type StoredKeys interface {
	// HasFormat reports whether text has the format of these keys, whether or not such a key exists.
	HasFormat(text string) bool
	// Check returns the 16-byte id of a key and its principal.
	Check(ctx context.Context, key string) (id string, p footnote.Principal, err error)
	// PrincipalOf returns the current principal of the key with this id.
	PrincipalOf(ctx context.Context, id string) (footnote.Principal, error)
}

// Tokens checks credentials that state their own principal and expiry. Errors about a token have the code
// Unauthorized, and the caller sees their message.
type Tokens interface {
	// HasFormat reports whether text has the format of a token; its signature may be invalid.
	HasFormat(text string) bool
	Check(ctx context.Context, text string) (footnote.Principal, error)
}

// guarded cancels a request when the stored key or the consent it was made with is revoked. The caller must call
// release when it is done.
func (s *Server) guarded(r *http.Request) (_ *http.Request, release func()) {
	sc := scopeOf(r.Context())
	if sc.keyID == "" && sc.consent == "" {
		return r, func() {}
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.recheck(ctx, cancel, sc)
	}()
	return r.WithContext(ctx), func() { cancel(nil); <-done }
}

// recheck checks periodically whether the key and the consent of a request are still valid, until ctx ends. A store
// that does not answer proves nothing about them.
func (s *Server) recheck(ctx context.Context, cancel context.CancelCauseFunc, sc *scope) {
	tick := time.NewTicker(s.opts.Recheck)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		limited, done := context.WithTimeout(ctx, recheckTime)
		err := s.valid(limited, sc)
		done()
		if footnote.CodeOf(err) == footnote.Unauthorized {
			cancel(err)
			return
		}
	}
}

// valid returns an error with the code Unauthorized if the key or the consent of a request is no longer valid.
func (s *Server) valid(ctx context.Context, sc *scope) error {
	if sc.consent != "" {
		if err := s.opts.Consents.Lasts(ctx, sc.consent); err != nil {
			return err
		}
	}
	if sc.keyID == "" {
		return nil
	}
	_, err := s.opts.StoredKeys.PrincipalOf(ctx, sc.keyID)
	return err
}

// recheckTime is how long the store may take to check a key.
const recheckTime = 5 * time.Second

// revocation returns the error if the request was ended because its key was revoked, and nil otherwise.
func revocation(ctx context.Context) error {
	e, ok := errors.AsType[*footnote.Error](context.Cause(ctx))
	if ok && e.Code == footnote.Unauthorized {
		return e
	}
	return nil
}
