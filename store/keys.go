package store

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/footnotehq/footnote"
)

// Key is an API key as a store keeps it: the principal it authenticates, and a digest that recognises the key. The key
// itself is not stored.
type Key struct {
	ID   string            // public; part of the key
	Hash [sha256.Size]byte // of the whole key
	footnote.Principal
	Created time.Time // set by the store
	Expires time.Time // zero: never
	Revoked time.Time // zero: not revoked
}

// Keys stores the API keys of all organisations.
type Keys interface {
	// AddKey stores a key. It returns a Conflict if another key has the ID.
	AddKey(ctx context.Context, k Key) error
	// Key returns the key with the given id, or an error with the code NotFound.
	Key(ctx context.Context, id string) (Key, error)
	// ListKeys returns up to limit keys of an organisation, or of all if org is empty, with ids after a given one, in
	// the order of ids.
	ListKeys(ctx context.Context, org, after string, limit int) ([]Key, error)
	// RevokeKey revokes a key for good. It does nothing if the key is revoked already, and returns NotFound if it does
	// not exist.
	RevokeKey(ctx context.Context, id string) error
	// Withdrawn returns the heads of the streams whose run is parked and whose user has a revoked or expired key. The
	// run may have been started with that key or with another one.
	Withdrawn(ctx context.Context, now time.Time, limit int) ([]Stream, error)
}

// Limits of keys.
const (
	MaxKeys       = 1_000 // returned by one ListKeys
	maxRoles      = 64
	maxAttributes = 64
)

// CheckKey returns an error if a key cannot be stored.
func CheckKey(k Key) error {
	if k.ID == "" || k.Org == "" || k.User == "" {
		return footnote.Invalidf("A key needs an id, an organisation and a user.")
	}
	if len(k.Roles) > maxRoles || len(k.Attributes) > maxAttributes {
		return footnote.Invalidf("A key can have up to %d roles and %d attributes.", maxRoles, maxAttributes)
	}
	texts := []string{"id", k.ID, "org", k.Org, "user", k.User}
	for _, role := range k.Roles {
		texts = append(texts, "role", role)
	}
	for name, value := range k.Attributes {
		texts = append(texts, "attribute's name", name, "attribute", value)
	}
	if err := checkIDs(texts...); err != nil {
		return err
	}
	if err := k.Principal.Check(); err != nil {
		return footnote.Wrapf(footnote.InvalidRequest, err, "The key's principal is invalid: %v.", err)
	}
	return nil
}

// CheckKeys returns an error if the arguments of ListKeys are invalid.
func CheckKeys(org, after string, limit int) error {
	if limit < 1 || limit > MaxKeys {
		return footnote.Invalidf("A listing can have 1 to %d keys, not %d.", MaxKeys, limit)
	}
	return checkIDs("org", org, "id", after)
}

// grants is the stored form of a principal's roles and attributes.
type grants struct {
	Roles      []string          `json:"roles,omitempty"`
	Attributes map[string]string `json:"attributes,omitempty"`
}

// EncodeGrants encodes the roles and attributes of a principal for a store.
func EncodeGrants(p footnote.Principal) (string, error) {
	data, err := json.Marshal(grants{p.Roles, p.Attributes})
	return string(data), err
}

// DecodeGrants decodes the output of EncodeGrants into p.
func DecodeGrants(data string, p *footnote.Principal) error {
	var g grants
	if err := json.Unmarshal([]byte(data), &g); err != nil {
		return fmt.Errorf("decode roles and attributes: %w", err)
	}
	p.Roles, p.Attributes = g.Roles, g.Attributes
	return nil
}

// ErrNoKey returns the error for a key that does not exist.
func ErrNoKey(id string) error {
	return footnote.Errorf(footnote.NotFound, "There is no API key %.80q.", id)
}
