package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"

	"github.com/footnotehq/footnote/store"
)

const (
	consentColumns  = `id, org, user, token, data, created, used, ends, revoked`
	sqlConsent      = `SELECT ` + consentColumns + ` FROM consents WHERE id = ?`
	sqlListConsents = `SELECT ` + consentColumns +
		` FROM consents WHERE id > ?1 AND (?2 = '' OR org = ?2) ORDER BY id LIMIT ?3`
	sqlOldConsents = `DELETE FROM consents WHERE org = ? AND user = ? AND (revoked > 0 OR ends <= ?)`
	sqlAddConsent  = `INSERT INTO consents (` + consentColumns + `) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7, 0
		WHERE (SELECT count(*) FROM consents WHERE org = ?2 AND user = ?3) < ?8`
	sqlExchangeToken = `UPDATE consents SET token = ?, data = ?, used = ? WHERE id = ? AND token = ? AND revoked = 0`
	sqlRevokeConsent = `UPDATE consents SET revoked = CASE revoked WHEN 0 THEN ? ELSE revoked END WHERE id = ?`
)

func scanConsent(scan func(...any) error) (c store.Consent, err error) {
	var token []byte
	var created, used, ends, revoked int64
	err = scan(&c.ID, &c.Org, &c.User, &token, &c.Data, &created, &used, &ends, &revoked)
	copy(c.Token[:], token)
	c.Created, c.Used, c.Ends, c.Revoked = timeOf(created), timeOf(used), timeOf(ends), timeOf(revoked)
	return c, err
}

// AddConsent implements store.Consents.
func (s *Store) AddConsent(ctx context.Context, c store.Consent) error {
	if err := store.CheckConsent(c); err != nil {
		return err
	}
	now := micro(s.now())
	if _, err := s.changeKeys(ctx, sqlOldConsents, c.Org, c.User, now); err != nil {
		return translate(ctx, "remove old consents", err)
	}
	n, err := s.changeKeys(ctx, sqlAddConsent, c.ID, c.Org, c.User, c.Token[:], c.Data, now, micro(c.Ends),
		store.MaxConsents)
	if err == nil && n == 0 {
		return store.ErrConsents()
	}
	return translate(ctx, "add a consent", err)
}

// Consent implements store.Consents.
func (s *Store) Consent(ctx context.Context, id string) (store.Consent, error) {
	c, err := scanConsent(s.read.QueryRowContext(ctx, sqlConsent, id).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return store.Consent{}, store.ErrNoConsent(id)
	}
	return c, s.failed(ctx, "get the consent "+id, err)
}

// ExchangeToken implements store.Consents.
func (s *Store) ExchangeToken(ctx context.Context, id string, from, to [sha256.Size]byte, data []byte) (bool, error) {
	n, err := s.changeKeys(ctx, sqlExchangeToken, to[:], data, micro(s.now()), id, from[:])
	return n > 0, translate(ctx, "exchange a token", err)
}

// ListConsents implements store.Consents.
func (s *Store) ListConsents(ctx context.Context, org, after string, limit int) ([]store.Consent, error) {
	if err := store.CheckKeys(org, after, limit); err != nil {
		return nil, err
	}
	rows, err := s.read.QueryContext(ctx, sqlListConsents, after, org, limit)
	return collect(ctx, s, "list consents", rows, err, scanConsent)
}

// RevokeConsent implements store.Consents. It also works on a store that was opened by OpenReader.
func (s *Store) RevokeConsent(ctx context.Context, id string) error {
	n, err := s.changeKeys(ctx, sqlRevokeConsent, micro(s.now()), id)
	if err == nil && n == 0 {
		return store.ErrNoConsent(id)
	}
	return translate(ctx, "revoke the consent "+id, err)
}
