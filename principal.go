package footnote

import (
	"context"
	"slices"
)

// Admin is the role of who may see what others of the organisation have asked and used.
const Admin = "admin"

// Principal is who acts. It comes from a credential and server state, never from
// a request body, a header of an unknown peer, or text.
type Principal struct {
	Org        string            `json:"org"`
	User       string            `json:"user"`
	Roles      []string          `json:"roles,omitempty"`
	Attributes map[string]string `json:"attributes,omitempty"`
}

// Owner reports whether p may see what belongs to org and user.
func (p Principal) Owner(org, user string) bool { return p.Org == org && p.User == user }

// Has reports whether p has a role.
func (p Principal) Has(role string) bool { return slices.Contains(p.Roles, role) }

type principalKey struct{}

// WithPrincipal returns a context in which sources show what p may see. Who gives a
// source the context of a request or a run must have said so: a source with rows of
// several owners shows none to nobody.
func WithPrincipal(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// ActingPrincipal is who acts in a context, where that is known.
func ActingPrincipal(ctx context.Context) (Principal, bool) {
	p, ok := ctx.Value(principalKey{}).(Principal)
	return p, ok
}
