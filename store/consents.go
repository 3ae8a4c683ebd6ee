package store

import (
	"context"
	"crypto/sha256"

	"github.com/footnotehq/footnote"
)

// Consents stores the consents of all organisations.
type Consents interface {
	// AddConsent stores a consent, and deletes the consents of its user that have ended or were revoked. It returns
	// RateLimited if the user then has MaxConsents.
	AddConsent(ctx context.Context, c Consent) error
	// Consent returns a consent, or NotFound.
	Consent(ctx context.Context, id string) (Consent, error)
	// ExchangeToken replaces Token and Data of a consent that is not revoked, if its Token is from. It reports whether
	// it did.
	ExchangeToken(ctx context.Context, id string, from, to [sha256.Size]byte, data []byte) (bool, error)
	// ListConsents returns up to limit consents of an organisation, or of all if org is empty, with ids after a given
	// one, in the order of ids.
	ListConsents(ctx context.Context, org, after string, limit int) ([]Consent, error)
	// RevokeConsent revokes a consent for good. It does nothing if it is revoked already, and returns NotFound if it
	// does not exist.
	RevokeConsent(ctx context.Context, id string) error
}

// MaxConsents is the number of consents of a user at a time.
const MaxConsents = 100

// maxConsent bounds the data of a consent, in bytes.
const maxConsent = 16 << 10

// CheckConsent returns an error if a consent cannot be stored.
func CheckConsent(c Consent) error {
	if c.ID == "" || c.Org == "" || c.User == "" || c.Ends.IsZero() {
		return footnote.Invalidf("A consent needs an id, an organisation, a user and an end.")
	}
	if len(c.Data) > maxConsent {
		return footnote.Errorf(footnote.TooLarge, "A consent can have at most %d bytes.", maxConsent)
	}
	return checkIDs("id", c.ID, "org", c.Org, "user", c.User)
}

// ErrNoConsent returns the error for a consent that does not exist.
func ErrNoConsent(id string) error {
	return footnote.Errorf(footnote.NotFound, "There is no consent %.80q.", id)
}

// ErrConsents returns the error for a user with too many consents.
func ErrConsents() error {
	return footnote.Errorf(footnote.RateLimited,
		"You have allowed %d programs to act for you. Ask your administrator to revoke some.", MaxConsents)
}
