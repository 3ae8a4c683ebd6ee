package postgres

import (
	"context"
	"crypto/sha256"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/footnotehq/footnote/store"
)

const (
	consentColumns  = `id, org_id, user_id, token, data, created_at, used_at, ends_at, revoked_at`
	sqlConsent      = `SELECT ` + consentColumns + ` FROM footnote.consents WHERE id = $1`
	sqlListConsents = `SELECT ` + consentColumns +
		` FROM footnote.consents WHERE id > $1 AND ($2 = '' OR org_id = $2) ORDER BY id LIMIT $3`
	sqlOldConsents = `DELETE FROM footnote.consents WHERE org_id = $1 AND user_id = $2
		AND (revoked_at IS NOT NULL OR ends_at <= clock_timestamp())`
	sqlAddConsent = `INSERT INTO footnote.consents (id, org_id, user_id, token, data, ends_at)
		SELECT $1, $2::text, $3::text, $4, $5, $6
		WHERE (SELECT count(*) FROM footnote.consents WHERE org_id = $2 AND user_id = $3) < $7`
	sqlExchangeToken = `UPDATE footnote.consents SET token = $3, data = $4, used_at = clock_timestamp()
		WHERE id = $1 AND token = $2 AND revoked_at IS NULL`
	sqlRevokeConsent = `UPDATE footnote.consents SET revoked_at = coalesce(revoked_at, clock_timestamp()) WHERE id = $1`
)

func scanConsent(row pgx.CollectableRow) (c store.Consent, err error) {
	var token []byte
	var revoked *time.Time
	err = row.Scan(&c.ID, &c.Org, &c.User, &token, &c.Data, &c.Created, &c.Used, &c.Ends, &revoked)
	copy(c.Token[:], token)
	c.Created, c.Used, c.Ends = c.Created.UTC(), c.Used.UTC(), c.Ends.UTC()
	if revoked != nil {
		c.Revoked = revoked.UTC()
	}
	return c, err
}

// AddConsent implements store.Consents.
func (s *Store) AddConsent(ctx context.Context, c store.Consent) error {
	if err := store.CheckConsent(c); err != nil {
		return err
	}
	if _, err := s.exec(ctx, "remove old consents", sqlOldConsents, c.Org, c.User); err != nil {
		return err
	}
	n, err := s.exec(ctx, "add a consent", sqlAddConsent, c.ID, c.Org, c.User, c.Token[:], c.Data, c.Ends,
		store.MaxConsents)
	if err == nil && n == 0 {
		return store.ErrConsents()
	}
	return err
}

// Consent implements store.Consents.
func (s *Store) Consent(ctx context.Context, id string) (store.Consent, error) {
	list, err := collect(ctx, s, "get the consent "+id, scanConsent, sqlConsent, id)
	if err == nil && len(list) == 0 {
		err = store.ErrNoConsent(id)
	}
	if err != nil {
		return store.Consent{}, err
	}
	return list[0], nil
}

// ExchangeToken implements store.Consents.
func (s *Store) ExchangeToken(ctx context.Context, id string, from, to [sha256.Size]byte, data []byte) (bool, error) {
	n, err := s.exec(ctx, "exchange a token", sqlExchangeToken, id, from[:], to[:], data)
	return n > 0, err
}

// ListConsents implements store.Consents.
func (s *Store) ListConsents(ctx context.Context, org, after string, limit int) ([]store.Consent, error) {
	if err := store.CheckKeys(org, after, limit); err != nil {
		return nil, err
	}
	return collect(ctx, s, "list consents", scanConsent, sqlListConsents, after, org, limit)
}

// RevokeConsent implements store.Consents.
func (s *Store) RevokeConsent(ctx context.Context, id string) error {
	n, err := s.exec(ctx, "revoke the consent "+id, sqlRevokeConsent, id)
	if err == nil && n == 0 {
		return store.ErrNoConsent(id)
	}
	return err
}
