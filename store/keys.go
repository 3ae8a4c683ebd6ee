package store

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/footnotehq/footnote"
)

// Key is an API key as a store keeps it: who it stands for, and a digest by which
// the key itself is recognised. The key is nowhere.
type Key struct {
	ID   string            // public: the key names it
	Hash [sha256.Size]byte // of the whole key
	footnote.Principal
	Created time.Time // set by the store
	Expires time.Time // zero: never
	Revoked time.Time // zero: it stands
}

// Keys are the API keys of all organisations.
type Keys interface {
	// AddKey keeps a key. An ID that another key has is a Conflict.
	AddKey(ctx context.Context, k Key) error
	// Key returns the key with an id, or NotFound.
	Key(ctx context.Context, id string) (Key, error)
	// ListKeys returns keys with larger ids than after, by id: those of an
	// organisation, or of all when org is empty.
	ListKeys(ctx context.Context, org, after string, limit int) ([]Key, error)
	// RevokeKey ends a key for good. One that was revoked stays as it is; one that
	// does not exist is NotFound.
	RevokeKey(ctx context.Context, id string) error
	// Withdrawn returns the heads of the streams whose run is parked and whose user has
	// a key that was revoked, or has expired by now. Such a run may have come with that
	// key, or with another.
	Withdrawn(ctx context.Context, now time.Time, limit int) ([]Stream, error)
}

// Bounds of a key.
const (
	MaxKeys       = 1_000 // of one ListKeys
	maxRoles      = 64
	maxAttributes = 64
)

// CheckKey says what is wrong with a key that is to be kept.
func CheckKey(k Key) error {
	if k.ID == "" || k.Org == "" || k.User == "" {
		return footnote.Errorf(footnote.InvalidRequest, "A key needs an id, an organisation and a user.")
	}
	if len(k.Roles) > maxRoles || len(k.Attributes) > maxAttributes {
		return footnote.Errorf(footnote.InvalidRequest, "A key has at most %d roles and %d attributes.", maxRoles,
			maxAttributes)
	}
	texts := []struct{ name, value string }{{"id", k.ID}, {"org", k.Org}, {"user", k.User}}
	for _, role := range k.Roles {
		texts = append(texts, struct{ name, value string }{"role", role})
	}
	for name, value := range k.Attributes {
		texts = append(texts, struct{ name, value string }{
			"attribute's name", name,
		}, struct{ name, value string }{"attribute", value})
	}
	for _, f := range texts {
		if err := checkID(f.name, f.value); err != nil {
			return err
		}
	}
	if err := k.Principal.Check(); err != nil {
		return &footnote.Error{
			Code:    footnote.InvalidRequest,
			Message: "A key cannot stand for this: " + err.Error() + ".",
			Err:     err,
		}
	}
	return nil
}

// CheckKeys says what is wrong with a listing of keys.
func CheckKeys(org, after string, limit int) error {
	if limit < 1 || limit > MaxKeys {
		return footnote.Errorf(footnote.InvalidRequest, "A listing has 1 to %d keys, not %d.", MaxKeys, limit)
	}
	if err := checkID("org", org); err != nil {
		return err
	}
	return checkID("id", after)
}

// grants is what a key says of its user beyond the name, as the stores on disk keep
// it.
type grants struct {
	Roles      []string          `json:"roles,omitempty"`
	Attributes map[string]string `json:"attributes,omitempty"`
}

// EncodeGrants gives the roles and attributes of a principal as a store keeps them.
func EncodeGrants(p footnote.Principal) (string, error) {
	data, err := json.Marshal(grants{p.Roles, p.Attributes})
	return string(data), err
}

// DecodeGrants reads what EncodeGrants wrote into p.
func DecodeGrants(data string, p *footnote.Principal) error {
	var g grants
	if err := json.Unmarshal([]byte(data), &g); err != nil {
		return fmt.Errorf("decode roles and attributes: %w", err)
	}
	p.Roles, p.Attributes = g.Roles, g.Attributes
	return nil
}

// ErrNoKey is the error for a key that does not exist.
func ErrNoKey(id string) error {
	return footnote.Errorf(footnote.NotFound, "There is no API key %.80q.", id)
}
