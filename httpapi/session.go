package httpapi

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/httpapi/session"
	"github.com/footnotehq/footnote/internal/strictjson"
	"github.com/footnotehq/footnote/protocol"
)

// About describes the server to the page before anybody signs in.
type About struct {
	Version     string   `json:"version"`
	Offline     bool     `json:"offline"`
	OfflineHint string   `json:"offline_hint,omitempty"` // how to connect a model
	QuerySecs   float64  `json:"query_seconds"`          // the longest time for a query
	Features    Features `json:"features"`
}

// Features lists what this server can do.
type Features struct {
	DuckDB  bool `json:"duckdb"`
	Coder   bool `json:"coder"`
	Uploads bool `json:"uploads"`
	Charts  bool `json:"charts"` // whether there is market data; see Options.Charts
}

// Sessions keeps users signed in: a token represents the key for which it was made, until it expires or is ended.
// DigestOf returns the digest that represents a key.
type Sessions interface {
	DigestOf(key string) session.Digest
	New(ctx context.Context, key session.Digest) (token string, err error)
	Check(ctx context.Context, token string) (key session.Digest, ok bool, err error)
	End(ctx context.Context, token string) error
}

func (s *Server) sessionRoutes() {
	s.open("/api/session", protocol.Native, Methods{
		http.MethodGet: s.getSession, http.MethodPost: s.signIn, http.MethodDelete: s.signOut,
	})
}

// cookieName is the name of the session cookie. Users sign in with a key, and the cookie contains no user
// secret.
const cookieName = "footnote_session"

// signedIn identifies the caller by the session cookie. Requests that change something must then come from
// our own pages; SameSite alone would also accept pages on other ports of the same host.
func (s *Server) signedIn(r *http.Request) (ok bool, err error) {
	c, err := r.Cookie(cookieName)
	if err != nil {
		return false, nil //nolint:nilerr // there is none
	}
	digest, ok, err := s.opts.Sessions.Check(r.Context(), c.Value)
	if !ok || err != nil {
		return false, err
	}
	g, err := s.signedInBy(r.Context(), digest)
	if footnote.CodeOf(err) == footnote.Unauthorized {
		return false, nil // the key was revoked
	}
	if err != nil {
		return false, err
	}
	if err := s.ownSite(r); err != nil {
		return false, err
	}
	sc := scopeOf(r.Context())
	sc.principal, sc.keyID, sc.signIn = g.principal, g.keyID, digest
	return true, nil
}

// getSession handles GET /api/session: it returns who is signed in and what the server offers.
func (s *Server) getSession(w http.ResponseWriter, r *http.Request) error {
	err := s.identify(r)
	if err != nil && footnote.CodeOf(err) != footnote.Unauthorized {
		return err
	}
	p := PrincipalOf(r.Context())
	about := s.opts.About
	about.Features.Charts = s.opts.Charts != nil && s.opts.Charts(r.Context())
	return protocol.WriteValue(w, http.StatusOK, struct {
		Org      string   `json:"org"`
		User     string   `json:"user"`
		Roles    []string `json:"roles"`
		SignedIn bool     `json:"signed_in"`
		NeedsKey bool     `json:"needs_key"`
		About
		Notices []string `json:"notices,omitempty"`
	}{p.Org, p.User, append([]string{}, p.Roles...), err == nil, s.opts.NeedsKey, about, s.notices(p)})
}

// notices returns what an administrator should know of the server.
func (s *Server) notices(p footnote.Principal) []string {
	if s.opts.Notices == nil || !p.Has(footnote.Admin) {
		return nil
	}
	return s.opts.Notices()
}

// maxSignIn is the limit of a body that starts a session, in bytes. It is small because callers without a key can send
// as many such bodies as there are connections.
const maxSignIn = 16 << 10

// signIn handles POST /api/session: it exchanges an API key for a cookie.
func (s *Server) signIn(w http.ResponseWriter, r *http.Request) error {
	if err := s.ownSite(r); err != nil { // another site must not sign anybody in
		return err
	}
	body, err := s.body(w, r, min(maxSignIn, s.opts.BodyLimit))
	if err != nil {
		return err
	}
	var in struct {
		Key string `json:"key"`
	}
	if err := strictjson.Closed(body, &in); err != nil {
		return err
	}
	g, err := s.credential(r.Context(), strings.TrimSpace(in.Key))
	if err != nil {
		return err
	}
	if g.once {
		return footnote.Invalidf(
			"A token cannot start a session, which would outlive the token. Send the token with each request.")
	}
	scopeOf(r.Context()).principal = g.principal
	token, err := s.opts.Sessions.New(r.Context(), g.signIn)
	if err != nil {
		return err
	}
	http.SetCookie(w, cookie(r, token, int(session.Lifetime.Seconds())))
	return done(w, nil)
}

// signOut handles DELETE /api/session.
func (s *Server) signOut(w http.ResponseWriter, r *http.Request) error {
	if err := s.ownSite(r); err != nil {
		return err
	}
	if c, err := r.Cookie(cookieName); err == nil {
		if err := s.opts.Sessions.End(r.Context(), c.Value); err != nil {
			return footnote.Wrapf(footnote.StorageUnavailable, err, "The sign-out could not be stored. Try again.")
		}
	}
	http.SetCookie(w, cookie(r, "", -1))
	return done(w, nil)
}

func cookie(r *http.Request, value string, maxAge int) *http.Cookie {
	return &http.Cookie{
		Name: cookieName, Value: value, Path: "/", MaxAge: maxAge, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		// If there are several proxies, https at one of them is enough.
		Secure: r.TLS != nil ||
			slices.ContainsFunc(r.Header["X-Forwarded-Proto"], func(v string) bool {
				return strings.EqualFold(v, "https")
			}),
	}
}

// done sends an empty response, unless there is an error.
func done(w http.ResponseWriter, err error) error {
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNoContent)
	return nil
}
