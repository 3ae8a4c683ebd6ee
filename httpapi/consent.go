package httpapi

import (
	"context"
	"net/http"
	"net/url"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/httpapi/consent"
	"github.com/footnotehq/footnote/httpapi/session"
	"github.com/footnotehq/footnote/protocol"
)

// consentPage is where the web app asks people whether a program may act for them.
const consentPage = "/oauth/authorize"

// Limits of requests that need no key: bytes of their bodies, and how many a second.
const (
	maxForm      = 16 << 10
	anonymous    = 20
	anonymousTop = 100 // at once
)

func (s *Server) consentRoutes() {
	if s.opts.Consents == nil {
		return
	}
	asOAuth := func(err error, _ protocol.Failure) (string, []byte) { return consent.Envelope(err) }
	s.open("/.well-known/oauth-authorization-server", protocol.Native,
		get(func(w http.ResponseWriter, _ *http.Request) error {
			return protocol.WriteValue(w, http.StatusOK, s.opts.Consents.Metadata())
		}))
	s.open("/oauth/register", asOAuth, Methods{http.MethodPost: s.registerClient})
	s.open("/oauth/token", asOAuth, Methods{http.MethodPost: s.exchangeToken})
	s.open("/oauth/revoke", asOAuth, Methods{http.MethodPost: s.revokeToken})
	s.Handle("/api/consent", protocol.Native, Methods{
		http.MethodGet: s.describeConsent, http.MethodPost: s.decideConsent,
	})
}

// unidentified returns the body of a request that needs no key.
func (s *Server) unidentified(w http.ResponseWriter, r *http.Request, media string) ([]byte, error) {
	if !s.strangers.Allow() {
		w.Header().Set("Retry-After", "1")
		return nil, footnote.Errorf(footnote.RateLimited, "Too many sign-ins at once. Try again in a second.")
	}
	return s.body(w, r, maxForm, media)
}

// form returns the fields of such a request.
func (s *Server) form(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	body, err := s.unidentified(w, r, "application/x-www-form-urlencoded")
	if err != nil {
		return nil, err
	}
	fields, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, footnote.Wrapf(footnote.InvalidRequest, err, "The body is not a form.")
	}
	for name, values := range fields {
		if len(values) > 1 {
			return nil, footnote.Invalidf("The field %.40q is given twice.", name)
		}
	}
	return fields, nil
}

// registerClient handles POST /oauth/register.
func (s *Server) registerClient(w http.ResponseWriter, r *http.Request) error {
	body, err := s.unidentified(w, r, "application/json")
	if err != nil {
		return err
	}
	client, err := s.opts.Consents.Register(body)
	if err != nil {
		return err
	}
	return protocol.WriteValue(w, http.StatusCreated, client)
}

// exchangeToken handles POST /oauth/token.
func (s *Server) exchangeToken(w http.ResponseWriter, r *http.Request) error {
	fields, err := s.form(w, r)
	if err != nil {
		return err
	}
	tokens, err := s.opts.Consents.Exchange(r.Context(), fields)
	if err != nil {
		return err
	}
	return protocol.WriteValue(w, http.StatusOK, tokens)
}

// revokeToken handles POST /oauth/revoke.
func (s *Server) revokeToken(w http.ResponseWriter, r *http.Request) error {
	fields, err := s.form(w, r)
	if err != nil {
		return err
	}
	if err := s.opts.Consents.Revoke(r.Context(), fields.Get("token")); err != nil {
		return err
	}
	return protocol.WriteJSON(w, http.StatusOK, []byte("{}"))
}

// consentRequest describes a program's request to the page. If the request is invalid, it has the address to which the
// page returns with the error.
type consentRequest struct {
	Client struct {
		Name string `json:"name,omitempty"` // as it calls itself
		Host string `json:"host,omitempty"` // that vouches for the name
	} `json:"client"`
	To       string `json:"to,omitempty"`       // where the answer goes, for people
	Redirect string `json:"redirect,omitempty"` // where the page goes
}

// describeConsent handles GET /api/consent, with the parameters of the page's address.
func (s *Server) describeConsent(w http.ResponseWriter, r *http.Request) error {
	if err := signedInWithKey(r); err != nil {
		return err
	}
	asked, err := s.opts.Consents.Read(r.Context(), r.URL.Query())
	if err != nil && asked.Redirect == "" {
		return err
	}
	var out consentRequest
	out.Client.Name, out.Client.Host, out.To = asked.Client.Name, asked.Client.Host, asked.Redirect
	if u, perr := url.Parse(asked.Redirect); perr == nil && u.Host != "" {
		out.To = u.Scheme + "://" + u.Host
	}
	if err != nil {
		out.Redirect = s.opts.Consents.Refuse(asked, err)
	}
	return protocol.WriteValue(w, http.StatusOK, out)
}

// decideConsent handles POST /api/consent: the person allows or refuses what the page has shown.
func (s *Server) decideConsent(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Query string `json:"query"` // of the page's address
		Allow bool   `json:"allow"`
	}
	if err := s.Read(w, r, 1, &in); err != nil {
		return err
	}
	if err := signedInWithKey(r); err != nil {
		return err
	}
	q, err := url.ParseQuery(in.Query)
	if err != nil {
		return footnote.Wrapf(footnote.InvalidRequest, err, "The query is not one of an address.")
	}
	asked, err := s.opts.Consents.Read(r.Context(), q)
	if err != nil {
		return err
	}
	if !in.Allow {
		return protocol.WriteValue(w, http.StatusOK, consentRequest{
			Redirect: s.opts.Consents.Deny(r.Context(), PrincipalOf(r.Context()), asked),
		})
	}
	key := scopeOf(r.Context()).signIn
	to, err := s.opts.Consents.Allow(r.Context(), PrincipalOf(r.Context()), key[:], asked)
	return reply(w, consentRequest{Redirect: to}, err)
}

// signedInWithKey returns an error for callers without a key. A program acts with the rights of the person's key, and
// only as long as that key is valid.
func signedInWithKey(r *http.Request) error {
	if scopeOf(r.Context()).signIn == (session.Digest{}) {
		return footnote.Errorf(footnote.Forbidden, "Sign in with an API key to let a program act for you.")
	}
	return nil
}

// consented returns the grant for an access token.
func (s *Server) consented(ctx context.Context, text string) (grant, error) {
	a, err := s.opts.Consents.Check(ctx, text)
	if err != nil {
		return grant{}, err
	}
	var key session.Digest
	if copy(key[:], a.Key) != len(a.Key) {
		return grant{}, footnote.Errorf(footnote.Unauthorized, "The access token is not valid.")
	}
	g, err := s.signedInBy(ctx, key)
	if err == nil && !g.principal.Owner(a.Org, a.User) {
		err = footnote.Errorf(footnote.Unauthorized, "The key of this access token belongs to somebody else now.")
	}
	g.once, g.consent = true, a.ID
	return g, err
}
