// Package consent lets people allow programs, such as AI clients, to act for them at one address of this server. It is
// a small issuer of OAuth 2.1: authorization code with PKCE, refresh tokens with rotation, revocation.
//
// A consent is one row of the store. It holds digests only: of the one token that can be exchanged next (first the
// authorization code, then a refresh token), of the one access token that is valid, and of a secret that all its tokens
// share. A token with that secret that is neither was used before, so somebody has a copy: the consent is revoked.
// Tokens are looked up with each request, so a revocation has effect at once, at every server that shares the store.
//
// token.go has the format of tokens, client.go says who may ask.
package consent

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
)

// OpenAPI is the part of the OpenAPI document that describes the endpoints, in YAML.
//
//go:embed openapi.yaml
var OpenAPI []byte

// How long each lasts: a code, an access token, a consent, and the time in which a refresh token that has been
// exchanged gives the same tokens once more.
const (
	codeTime   = time.Minute
	accessTime = 15 * time.Minute
	lifetime   = 90 * 24 * time.Hour
	leeway     = 30 * time.Second
)

// Store keeps consents; see store.Consents.
type Store interface {
	AddConsent(ctx context.Context, c footnote.Consent) error
	Consent(ctx context.Context, id string) (footnote.Consent, error)
	ExchangeToken(ctx context.Context, id string, from, to [sha256.Size]byte, data []byte) (bool, error)
	RevokeConsent(ctx context.Context, id string) error
}

// Options configure an Issuer. Resource and Store are required.
type Options struct {
	Resource string // the address for which tokens are valid, as clients know it
	Store    Store
	Now      func() time.Time // default: time.Now
	// Local also accepts clients that describe themselves on this machine, for tests.
	Local bool
	// Notify is called for what the audit should have; nil: nothing.
	Notify func(ctx context.Context, e Event)
}

// Event is a change of a consent, for the audit.
type Event struct {
	What             string // Allowed, Denied, Revoked or Copied
	Org, User        string
	Client, Name, To string // id and name of the client, and where its answers go
}

// What can happen.
const (
	Allowed = "allowed"
	Denied  = "denied"
	Revoked = "revoked by its client"
	Copied  = "revoked: a token was used twice"
)

// Issuer issues and checks tokens. It is safe for concurrent use.
type Issuer struct {
	Options
	documents *documents
}

// New returns an issuer.
func New(o Options) *Issuer {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Notify == nil {
		o.Notify = func(context.Context, Event) {}
	}
	return &Issuer{o, newDocuments(o.Local, o.Now)}
}

// state is the data of a consent in the store.
type state struct {
	Client     string    `json:"client"`
	Name       string    `json:"name,omitempty"`
	Host       string    `json:"host,omitempty"`
	Redirect   string    `json:"redirect"`
	Challenge  string    `json:"challenge,omitempty"` // until the code is exchanged
	Family     []byte    `json:"family"`              // digest of the secret of all tokens
	Key        []byte    `json:"key"`                 // which key the person signed in with; see cover
	Previous   []byte    `json:"previous,omitempty"`  // digest of the token exchanged last
	Salt       []byte    `json:"salt,omitempty"`      // with which its successors were derived
	Access     []byte    `json:"access,omitempty"`    // digest of the access token
	AccessEnds time.Time `json:"access_ends,omitzero"`
}

// ClientOf returns what a stored consent says about its client: a name for people.
func ClientOf(c footnote.Consent) string {
	var s state
	if json.Unmarshal(c.Data, &s) != nil {
		return ""
	}
	return s.label()
}

func (s state) label() string {
	u, err := url.Parse(s.Redirect)
	if err != nil {
		return s.Name
	}
	return strings.TrimSpace(fmt.Sprintf("%s (%s://%s)", s.Name, u.Scheme, u.Host))
}

// Request is a client's request for a person's consent.
type Request struct {
	Client    Client
	Redirect  string // where the answer goes; empty: nowhere, because the client is not known
	state     string
	challenge string
}

// maxState bounds the state that a client gets back, in bytes.
const maxState = 2000

// Read reads the parameters of a request. If it returns an error and the request has a Redirect, the client should get
// the error at that address.
func (i *Issuer) Read(ctx context.Context, q url.Values) (Request, error) {
	var r Request
	for name, values := range q {
		if len(values) > 1 {
			return r, refusef(invalidRequest, "The parameter %.40q is given twice.", name)
		}
	}
	client, err := i.client(ctx, q.Get("client_id"))
	if err != nil {
		return r, err
	}
	redirect := q.Get("redirect_uri")
	if redirect == "" && len(client.Redirects) == 1 {
		redirect = client.Redirects[0]
	}
	if !client.allows(redirect) {
		return r, refusef(invalidRedirect, "The program wants its answer at an address that it has not named.")
	}
	r = Request{Client: client, Redirect: redirect, state: q.Get("state"), challenge: q.Get("code_challenge")}
	switch {
	case len(r.state) > maxState:
		r.state = ""
		return r, refusef(invalidRequest, "state can have at most %d bytes.", maxState)
	case q.Get("response_type") != "code":
		return r, refusef(badResponseType, "response_type must be code.")
	case q.Get("code_challenge_method") != "S256" || len(r.challenge) != base64.RawURLEncoding.EncodedLen(sha256.Size):
		return r, refusef(invalidRequest, "PKCE is needed: code_challenge, with code_challenge_method S256.")
	}
	return r, i.forUs(q)
}

// forUs returns an error if a client asks for tokens for another server (RFC 8707).
func (i *Issuer) forUs(q url.Values) error {
	if asked := q.Get("resource"); asked != "" && strings.TrimSuffix(asked, "/") != i.Resource {
		return refusef(invalidTarget, "Tokens of this server are for %s only.", i.Resource)
	}
	return nil
}

func (i *Issuer) client(ctx context.Context, id string) (Client, error) {
	if strings.HasPrefix(id, selfPrefix) {
		return registered(id)
	}
	if strings.Contains(id, "://") {
		return i.documents.get(ctx, id)
	}
	return Client{}, refusef(invalidClient, "The program is not known. Let it register again.")
}

// Register returns what a client that registers gets (RFC 7591).
func (i *Issuer) Register(body []byte) (any, error) {
	var r registration
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, refusef(invalidMetadata, "The body is not the JSON of a client.")
	}
	id, err := register(r)
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"client_id": id, "client_id_issued_at": i.Now().Unix(), "client_name": r.Name, "redirect_uris": r.Redirects,
		"token_endpoint_auth_method": "none", "response_types": []string{"code"},
		"grant_types": []string{"authorization_code", "refresh_token"},
	}, nil
}

// Origin returns the name of the issuer: scheme and host of the resource.
func (i *Issuer) Origin() string {
	u, err := url.Parse(i.Resource)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// Path returns the address of this server for which tokens are valid.
func (i *Issuer) Path() string {
	u, err := url.Parse(i.Resource)
	if err != nil {
		return ""
	}
	return u.Path
}

// answer returns the address that takes parameters to the client. It names the issuer, so that the client does not
// take this answer for that of another one (RFC 9207).
func (i *Issuer) answer(r Request, name, value string) string {
	u, err := url.Parse(r.Redirect)
	if err != nil {
		return ""
	}
	q := u.Query()
	q.Set(name, value)
	q.Set("iss", i.Origin())
	if r.state != "" {
		q.Set("state", r.state)
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// Refuse returns the address that takes an error to the client.
func (i *Issuer) Refuse(r Request, err error) string {
	code := invalidRequest
	if refusal, ok := err.(*Refusal); ok { //nolint:errorlint // Read returns it as it is
		code = refusal.Code
	}
	return i.answer(r, "error", code)
}

// Deny returns the address that tells the client that the person has refused.
func (i *Issuer) Deny(ctx context.Context, p footnote.Principal, r Request) string {
	i.notify(ctx, Denied, p.Org, p.User, state{Client: r.Client.ID, Name: r.Client.Name, Redirect: r.Redirect})
	return i.answer(r, "error", accessDenied)
}

// Allow stores a person's consent and returns the address that takes a code to the client. The key is a digest of that
// with which the person has signed in.
func (i *Issuer) Allow(ctx context.Context, p footnote.Principal, key []byte, r Request) (string, error) {
	code := newCode()
	family := sha256.Sum256([]byte(code.family))
	s := state{
		Client: r.Client.ID, Name: r.Client.Name, Host: r.Client.Host, Redirect: r.Redirect, Challenge: r.challenge,
		Family: family[:], Key: cover(code.family, key),
	}
	data, err := json.Marshal(s)
	if err != nil {
		return "", err
	}
	err = i.Store.AddConsent(ctx, footnote.Consent{
		ID: code.id, Org: p.Org, User: p.User, Token: code.digest(), Data: data, Ends: i.Now().Add(lifetime),
	})
	if err != nil {
		return "", err
	}
	i.notify(ctx, Allowed, p.Org, p.User, s)
	return i.answer(r, "code", code.String()), nil
}

func (i *Issuer) notify(ctx context.Context, what, org, user string, s state) {
	i.Notify(ctx, Event{What: what, Org: org, User: user, Client: s.Client, Name: s.Name, To: s.Redirect})
}

// Tokens are what a client gets for a code or a refresh token.
type Tokens struct {
	Access  string `json:"access_token"`
	Type    string `json:"token_type"`
	Expires int    `json:"expires_in"` // seconds
	Refresh string `json:"refresh_token"`
	Scope   string `json:"scope"`
}

// Scope is the only scope of tokens.
const Scope = "mcp"

func badGrant() *Refusal {
	return refusef(invalidGrant, "The code or refresh token is not valid. Sign in again.")
}

// Exchange gives a client tokens for a code or a refresh token.
func (i *Issuer) Exchange(ctx context.Context, form url.Values) (Tokens, error) {
	var text string
	switch form.Get("grant_type") {
	case "authorization_code":
		text = form.Get("code")
	case "refresh_token":
		text = form.Get("refresh_token")
	default:
		return Tokens{}, refusef(badGrantType, "grant_type must be authorization_code or refresh_token.")
	}
	if err := i.forUs(form); err != nil {
		return Tokens{}, err
	}
	t, ok := parse(text)
	if !ok || t.kind == accessKind || (t.kind == codeKind) != (form.Get("grant_type") == "authorization_code") {
		return Tokens{}, badGrant()
	}
	for range 2 { // again if another request has exchanged the token meanwhile
		tokens, done, err := i.exchange(ctx, t, form)
		if done || err != nil {
			return tokens, err
		}
	}
	return Tokens{}, badGrant()
}

// exchange makes one attempt. done is false if another request has exchanged the token meanwhile.
func (i *Issuer) exchange(ctx context.Context, t token, form url.Values) (tokens Tokens, done bool, err error) {
	c, s, ok, err := i.find(ctx, t)
	if err != nil || !ok || s.Client != form.Get("client_id") {
		return tokens, true, orBad(err)
	}
	now := i.Now()
	if !same(t.digest(), c.Token) {
		if t.kind == refreshKind && string(s.Previous) == string(digestOf(t)) && now.Sub(c.Used) < leeway {
			return s.tokens(t, now), true, nil
		}
		i.notify(ctx, Copied, c.Org, c.User, s)
		return tokens, true, orBad(i.Store.RevokeConsent(ctx, c.ID))
	}
	if t.kind == codeKind {
		proof := sha256.Sum256([]byte(form.Get("code_verifier")))
		if now.Sub(c.Created) > codeTime || form.Get("redirect_uri") != s.Redirect ||
			base64.RawURLEncoding.EncodeToString(proof[:]) != s.Challenge {
			return tokens, true, badGrant()
		}
	}
	s.Challenge, s.Previous, s.Salt = "", digestOf(t), make([]byte, sha256.Size)
	_, _ = rand.Read(s.Salt) // never fails
	s.Access, s.AccessEnds = digestOf(t.next(accessKind, s.Salt)), now.Add(accessTime)
	data, err := json.Marshal(s)
	if err != nil {
		return tokens, true, err
	}
	done, err = i.Store.ExchangeToken(ctx, c.ID, c.Token, t.next(refreshKind, s.Salt).digest(), data)
	return s.tokens(t, now), done, err
}

// tokens returns the successors of t, which has been exchanged last.
func (s state) tokens(t token, now time.Time) Tokens {
	return Tokens{
		Access: t.next(accessKind, s.Salt).String(), Type: "Bearer", Expires: int(s.AccessEnds.Sub(now).Seconds()),
		Refresh: t.next(refreshKind, s.Salt).String(), Scope: Scope,
	}
}

func digestOf(t token) []byte {
	d := t.digest()
	return d[:]
}

func orBad(err error) error {
	if err != nil {
		return err
	}
	return badGrant()
}

// find returns the consent of a token, if there is one that has not ended. The token may have been replaced.
func (i *Issuer) find(ctx context.Context, t token) (c footnote.Consent, s state, ok bool, err error) {
	c, err = i.Store.Consent(ctx, t.id)
	if footnote.CodeOf(err) == footnote.NotFound {
		return c, s, false, nil
	}
	if err != nil {
		return c, s, false, err
	}
	if err := json.Unmarshal(c.Data, &s); err != nil {
		return c, s, false, fmt.Errorf("decode the consent %s: %w", c.ID, err)
	}
	family := sha256.Sum256([]byte(t.family))
	return c, s, string(family[:]) == string(s.Family) && i.lasts(c), nil
}

func (i *Issuer) lasts(c footnote.Consent) bool { return c.Revoked.IsZero() && c.Ends.After(i.Now()) }

// HasFormat reports whether a text looks like an access token.
func (i *Issuer) HasFormat(text string) bool {
	t, ok := parse(text)
	return ok && t.kind == accessKind
}

// Access describes a valid access token: whose it is, and which consent it belongs to.
type Access struct {
	ID, Org, User string // of the consent
	Key           []byte // digest of the key with which the person has signed in
}

// Check returns what an access token stands for. An error with the code Unauthorized says that it is not valid.
func (i *Issuer) Check(ctx context.Context, text string) (Access, error) {
	t, _ := parse(text)
	c, s, ok, err := i.find(ctx, t)
	if err != nil {
		return Access{}, err
	}
	if !ok || t.kind != accessKind || string(s.Access) != string(digestOf(t)) || !i.Now().Before(s.AccessEnds) {
		return Access{}, ended()
	}
	return Access{c.ID, c.Org, c.User, cover(t.family, s.Key)}, nil
}

func ended() error {
	return footnote.Errorf(footnote.Unauthorized, "The access token is not valid, or has expired.")
}

// Lasts returns an error with the code Unauthorized if a consent was revoked or has ended.
func (i *Issuer) Lasts(ctx context.Context, id string) error {
	c, err := i.Store.Consent(ctx, id)
	if footnote.CodeOf(err) == footnote.NotFound || err == nil && !i.lasts(c) {
		return ended()
	}
	return err
}

// Revoke revokes the consent of a token. It does nothing for a text that is no token of ours (RFC 7009).
func (i *Issuer) Revoke(ctx context.Context, text string) error {
	t, ok := parse(text)
	if !ok {
		return nil
	}
	c, s, ok, err := i.find(ctx, t)
	if err != nil || !ok {
		return err
	}
	i.notify(ctx, Revoked, c.Org, c.User, s)
	return i.Store.RevokeConsent(ctx, c.ID)
}

// Metadata returns what clients read about the issuer (RFC 8414).
func (i *Issuer) Metadata() any {
	at := i.Origin()
	return map[string]any{
		"issuer": at, "authorization_endpoint": at + "/oauth/authorize", "token_endpoint": at + "/oauth/token",
		"registration_endpoint": at + "/oauth/register", "revocation_endpoint": at + "/oauth/revoke",
		"response_types_supported": []string{"code"}, "response_modes_supported": []string{"query"},
		"grant_types_supported":                          []string{"authorization_code", "refresh_token"},
		"code_challenge_methods_supported":               []string{"S256"},
		"token_endpoint_auth_methods_supported":          []string{"none"},
		"revocation_endpoint_auth_methods_supported":     []string{"none"},
		"scopes_supported":                               []string{Scope},
		"client_id_metadata_document_supported":          true,
		"authorization_response_iss_parameter_supported": true,
	}
}
