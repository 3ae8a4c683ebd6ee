package footnote

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Admin is the role that may see what other people in the organisation asked and used.
const Admin = "admin"

// Principal is the caller. It comes from a credential and server state, never from a request body, a header of an
// unknown peer, or text.
type Principal struct {
	Org        string            `json:"org"`
	User       string            `json:"user"`
	Roles      []string          `json:"roles,omitempty"`
	Attributes map[string]string `json:"attributes,omitempty"`
}

// Owner reports whether p is the owner of what belongs to org and user.
func (p Principal) Owner(org, user string) bool { return p.Org == org && p.User == user }

// Has reports whether p has a role.
func (p Principal) Has(role string) bool { return slices.Contains(p.Roles, role) }

// maxName is the maximum length of a principal's name, in bytes.
const maxName = 512

// Check returns an error if a name, role or attribute of the principal could be misread as another, or
// as several, where it is written: in logs, headers, database settings and the audit log.
func (p Principal) Check() error {
	err := cmp.Or(checkName("the organisation", p.Org), checkName("the user", p.User))
	for _, role := range p.Roles {
		err = cmp.Or(err, checkName("a role", role))
	}
	for name, value := range p.Attributes {
		err = cmp.Or(err, checkName("the name of an attribute", name))
		if value != "" {
			err = cmp.Or(err, checkName("an attribute", value))
		}
	}
	return err
}

func checkName(what, name string) error {
	if why := badName(name); why != "" {
		return fmt.Errorf("%s %.80q %s", what, name, why)
	}
	return nil
}

// badName returns why s cannot be a name, or "" if it can.
func badName(s string) string {
	switch {
	case s == "":
		return "is empty"
	case len(s) > maxName:
		return fmt.Sprintf("has more than %d bytes", maxName)
	case !utf8.ValidString(s):
		return "is not valid UTF-8"
	case strings.ContainsFunc(s, unseen):
		return "has a control character or an invisible one"
	}
	return ""
}

// unseen reports whether a character breaks a line, changes the direction of text, or is
// invisible. It allows the joiners U+200C and U+200D: names in some scripts need them.
func unseen(r rune) bool {
	switch {
	case r == '\u200c' || r == '\u200d':
		return false
	case r >= 0xe0000 && r <= 0xe0fff: // tags, and variation selectors beyond the common ones
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

type principalKey struct{}

// WithPrincipal returns a context in which sources show the rows that p may see. Every caller that passes a source
// the context of a request or a run must set the principal: a source with rows of several owners returns no rows
// without one.
func WithPrincipal(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// ActingPrincipal returns the principal of a context, if it has one.
func ActingPrincipal(ctx context.Context) (Principal, bool) {
	p, ok := ctx.Value(principalKey{}).(Principal)
	return p, ok
}
