package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/httpapi/session"
	"github.com/footnotehq/footnote/internal/strictjson"
)

// About is what the page is told of the server before anybody signs in.
type About struct {
	Version     string   `json:"version"`
	Offline     bool     `json:"offline"`
	OfflineHint string   `json:"offline_hint,omitempty"` // how to connect a model
	Features    Features `json:"features"`
}

// Features are what this server can do.
type Features struct {
	DuckDB  bool `json:"duckdb"`
	Coder   bool `json:"coder"`
	Uploads bool `json:"uploads"`
	Charts  bool `json:"charts"` // whether there is a market; the server itself says
}

// Sessions keeps people signed in: a token stands for the key it was made for, until
// its time is over or it is ended. DigestOf is what stands for a key.
type Sessions interface {
	DigestOf(key string) session.Digest
	New(ctx context.Context, key session.Digest) (token string, err error)
	Check(ctx context.Context, token string) (key session.Digest, ok bool, err error)
	End(ctx context.Context, token string) error
}

func (s *Server) sessionRoutes() {
	s.open("/api/session", Native, Methods{http.MethodGet: s.getSession, http.MethodPost: s.signIn, http.MethodDelete: s.signOut})
}

// cookieName is the cookie of a session. Sign-in is by key, so it holds no secret
// of the user's.
const cookieName = "footnote_session"

// signedIn finds the caller by the cookie of a session. Requests that change
// something must then come from our own pages; SameSite alone would let pages of
// other ports of the same host through.
func (s *Server) signedIn(r *http.Request) (ok bool, err error) {
	c, err := r.Cookie(cookieName)
	if err != nil {
		return false, nil //nolint:nilerr // there is none
	}
	digest, ok, err := s.opts.Sessions.Check(r.Context(), c.Value)
	if !ok || err != nil {
		return false, err
	}
	who, err := s.signedInBy(r.Context(), digest)
	if footnote.CodeOf(err) == footnote.Unauthorized {
		return false, nil // the key was taken away
	}
	if err != nil {
		return false, err
	}
	if err := s.foreign.Check(r); err != nil {
		return false, &footnote.Error{Code: footnote.Forbidden, Message: "Requests from other web sites are not accepted.", Err: err}
	}
	sc := scopeOf(r.Context())
	sc.principal, sc.keyID = who.principal, who.keyID
	return true, nil
}

// getSession is GET /api/session: who is signed in, and what there is.
func (s *Server) getSession(w http.ResponseWriter, r *http.Request) error {
	err := s.identify(r)
	if err != nil && footnote.CodeOf(err) != footnote.Unauthorized {
		return err
	}
	p := PrincipalOf(r.Context())
	about := s.opts.About
	about.Features.Charts = s.opts.Market != nil
	roles := p.Roles
	if roles == nil {
		roles = []string{}
	}
	return writeValue(w, http.StatusOK, struct {
		Org      string   `json:"org"`
		User     string   `json:"user"`
		Roles    []string `json:"roles"`
		SignedIn bool     `json:"signed_in"`
		NeedsKey bool     `json:"needs_key"`
		About
	}{p.Org, p.User, roles, err == nil, s.opts.NeedsKey, about})
}

// signIn is POST /api/session: an API key becomes a cookie.
func (s *Server) signIn(w http.ResponseWriter, r *http.Request) error {
	if err := s.foreign.Check(r); err != nil { // nobody is signed in by another site
		return &footnote.Error{Code: footnote.Forbidden, Message: "Requests from other web sites are not accepted.", Err: err}
	}
	body, err := s.Body(w, r)
	if err != nil {
		return err
	}
	var in struct {
		Key string `json:"key"`
	}
	if err := strictjson.Closed(body, &in); err != nil {
		return err
	}
	who, err := s.credential(r.Context(), strings.TrimSpace(in.Key))
	if err != nil {
		return err
	}
	if who.once {
		return footnote.Errorf(footnote.InvalidRequest, "A token begins no session: it would outlive the token. Send the token with each request.")
	}
	scopeOf(r.Context()).principal = who.principal
	token, err := s.opts.Sessions.New(r.Context(), who.signIn)
	if err != nil {
		return err
	}
	http.SetCookie(w, cookie(r, token, int(session.Lifetime.Seconds())))
	return done(w)
}

// signOut is DELETE /api/session.
func (s *Server) signOut(w http.ResponseWriter, r *http.Request) error {
	if err := s.foreign.Check(r); err != nil {
		return &footnote.Error{Code: footnote.Forbidden, Message: "Requests from other web sites are not accepted.", Err: err}
	}
	if c, err := r.Cookie(cookieName); err == nil {
		if err := s.opts.Sessions.End(r.Context(), c.Value); err != nil {
			return &footnote.Error{Code: footnote.StorageUnavailable, Message: "The sign-out could not be stored. Try again.", Err: err}
		}
	}
	http.SetCookie(w, cookie(r, "", -1))
	return done(w)
}

func cookie(r *http.Request, value string, maxAge int) *http.Cookie {
	return &http.Cookie{
		Name: cookieName, Value: value, Path: "/", MaxAge: maxAge, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		// Of several proxies, one that was reached over https is enough.
		Secure: r.TLS != nil || slices.ContainsFunc(r.Header["X-Forwarded-Proto"], func(v string) bool { return strings.EqualFold(v, "https") }),
	}
}

// writeValue sends a value as JSON.
func writeValue(w http.ResponseWriter, status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return writeJSON(w, status, body)
}

// done is the answer to what has none.
func done(w http.ResponseWriter) error {
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNoContent)
	return nil
}
