// Package token checks signed tokens (JWT) and returns their principals. Tokens come from an OpenID Connect
// issuer, or from any signer whose public keys are known.
package token

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/footnotehq/footnote"
)

// leeway is the largest clock difference allowed between the issuer and this server.
const leeway = 60 * time.Second

// Limits on a token.
const (
	maxToken = 16 << 10 // bytes
	maxRoles = 64
)

// Algorithms lists the algorithms that may be configured: signatures with a public key. It includes neither
// shared secrets nor "none".
var Algorithms = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}

// Options configure which tokens are accepted, and what is read from them. Issuer and Audience are required;
// other zero fields take the defaults.
type Options struct {
	Issuer     string   // required value of iss
	Audience   string   // required in aud
	Keys       string   // URL or file of the public keys; empty: as the issuer publishes
	Algorithms []string // default RS256 and ES256

	// Names of claims. A dot descends into an object, unless there is a claim with the whole name.
	OrgClaim   string   // default org
	UserClaim  string   // default sub
	RolesClaim string   // default roles; a list, or words in one string
	Attributes []string // claims that become attributes of the user
	Org        string   // if set, the org of all users, whatever their tokens say

	Logger *slog.Logger
	Now    func() time.Time
}

// Verifier checks tokens. It is safe for concurrent use.
type Verifier struct {
	opts Options
	algs []jose.SignatureAlgorithm
	keys *keys
}

// New checks the options and returns a verifier. It does not fetch keys yet, so that an unavailable issuer
// does not prevent the start. The caller must close the verifier.
func New(o Options) (*Verifier, error) {
	if o.Issuer == "" || o.Audience == "" {
		return nil, errors.New("token: an issuer and an audience are required")
	}
	if len(o.Algorithms) == 0 {
		o.Algorithms = []string{"RS256", "ES256"}
	}
	for name, def := range map[*string]string{&o.OrgClaim: "org", &o.UserClaim: "sub", &o.RolesClaim: "roles"} {
		if *name == "" {
			*name = def
		}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	v := &Verifier{opts: o}
	for _, a := range o.Algorithms {
		if !slices.Contains(Algorithms, a) {
			return nil, fmt.Errorf("token: the algorithm %q is not one of %s", a, strings.Join(Algorithms, ", "))
		}
		v.algs = append(v.algs, jose.SignatureAlgorithm(a))
	}
	v.keys = newKeys(o)
	return v, nil
}

// Close stops the verifier's background work.
func (v *Verifier) Close() { v.keys.close() }

// Ready fetches the public keys, and returns an error if there are none.
func (v *Verifier) Ready(ctx context.Context) error { return v.keys.ready(ctx) }

// HasFormat reports whether a text has the format of a token; its signature may be invalid.
func (v *Verifier) HasFormat(text string) bool {
	return strings.HasPrefix(text, "eyJ") && strings.Count(text, ".") == 2
}

// rejected returns the error for a rejected token, which includes the reason.
func rejected(why string, err error) error {
	return footnote.Wrapf(footnote.Unauthorized, err, "The token is not accepted: %s", why)
}

// Check returns the principal of a token. It returns Unauthorized for a token that is not accepted.
func (v *Verifier) Check(ctx context.Context, text string) (p footnote.Principal, err error) {
	if len(text) > maxToken {
		return p, rejected(fmt.Sprintf("it has more than %d bytes.", maxToken), nil)
	}
	signed, err := jwt.ParseSigned(text, v.algs)
	if err != nil {
		return p, rejected("it cannot be read, or is signed with an algorithm that is not allowed.", err)
	}
	head := signed.Headers[0]
	key, err := v.keys.find(ctx, head.KeyID, head.Algorithm)
	if err != nil {
		return p, err
	}
	var std jwt.Claims
	var all map[string]any
	if err := signed.Claims(key, &std, &all); err != nil {
		return p, rejected("its signature is wrong.", err)
	}
	if err := v.valid(std); err != nil {
		return p, err
	}
	return v.principal(all)
}

// valid checks the issuer, the audience and the times.
func (v *Verifier) valid(c jwt.Claims) error {
	if c.Expiry == nil {
		return rejected("it does not say when it expires.", nil)
	}
	err := c.ValidateWithLeeway(jwt.Expected{
		Issuer:      v.opts.Issuer,
		AnyAudience: jwt.Audience{v.opts.Audience},
		Time:        v.opts.Now(),
	}, leeway)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jwt.ErrInvalidIssuer):
		return rejected("it comes from another issuer.", err)
	case errors.Is(err, jwt.ErrInvalidAudience):
		return rejected("it is for another audience.", err)
	case errors.Is(err, jwt.ErrExpired):
		return rejected("it has expired.", err)
	case errors.Is(err, jwt.ErrNotValidYet), errors.Is(err, jwt.ErrIssuedInTheFuture):
		return rejected("it is not valid yet.", err)
	default:
		return rejected("it is not valid.", err)
	}
}

// principal reads the principal from the claims.
func (v *Verifier) principal(claims map[string]any) (p footnote.Principal, err error) {
	if p.Org = v.opts.Org; p.Org == "" {
		p.Org, _ = claim(claims, v.opts.OrgClaim).(string)
	}
	p.User, _ = claim(claims, v.opts.UserClaim).(string)
	p.Roles = words(claim(claims, v.opts.RolesClaim))
	for _, name := range v.opts.Attributes {
		if text, ok := plain(claim(claims, name)); ok {
			if p.Attributes == nil {
				p.Attributes = map[string]string{}
			}
			p.Attributes[name] = text
		}
	}
	if len(p.Roles) > maxRoles {
		return footnote.Principal{}, rejected(fmt.Sprintf("it has more than %d roles.", maxRoles), nil)
	}
	if err := p.Check(); err != nil {
		return footnote.Principal{}, rejected("its claims do not identify a user: "+err.Error()+".", err)
	}
	return p, nil
}

// claim returns a claim by its name, or by its path through nested objects.
func claim(claims map[string]any, name string) any {
	if v, ok := claims[name]; ok {
		return v
	}
	outer, inner, ok := strings.Cut(name, ".")
	object, isObject := claims[outer].(map[string]any)
	if !ok || !isObject {
		return nil
	}
	return claim(object, inner)
}

// words returns the strings in a list, or the words of one string. Roles that are not strings are dropped.
func words(v any) []string {
	switch v := v.(type) {
	case string:
		return strings.Fields(v)
	case []any:
		var list []string
		for _, item := range v {
			if s, ok := item.(string); ok {
				list = append(list, s)
			}
		}
		return list
	default:
		return nil
	}
}

// plain returns a scalar value as text.
func plain(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool, float64, json.Number:
		text, err := json.Marshal(v)
		return string(text), err == nil
	default:
		return "", false
	}
}
