package app

import (
	"cmp"
	"context"
	"iter"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/httpapi"
	"github.com/footnotehq/footnote/internal/doctor"
	"github.com/footnotehq/footnote/internal/token"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/sqlite"
)

// OpenKeys opens the store for its keys. It shares a data file with the process that has it open, if any. It first
// creates a missing data file and migrates an older one.
func OpenKeys(ctx context.Context, c config.Config) (store.Store, error) {
	if c.Store != "" {
		return OpenStore(ctx, c, "", sqlite.Options{}, slog.New(slog.DiscardHandler))
	}
	if keys, err := sqlite.OpenReader(ctx, DataFile(c, "")); err == nil {
		return keys, nil
	}
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return nil, folderError(c.Data, err)
	}
	return OpenStore(ctx, c, "", sqlite.Options{}, nil)
}

// needsKey reports whether callers of a server with this store need a key. Once keys exist in the store, they are
// required even if the configuration does not ask for them.
func needsKey(ctx context.Context, c config.Config, folder string, keys store.Keys) (bool, error) {
	if c.Auth.Required || folder != "" {
		return c.Auth.Required, nil
	}
	any, err := keys.ListKeys(ctx, "", "", 1)
	return len(any) > 0, err
}

// verifier returns the verifier for the configured tokens, or nil when none are configured.
func verifier(c config.Config, log *slog.Logger) (*token.Verifier, error) {
	j := c.Auth.JWT
	if j.Issuer == "" {
		return nil, nil
	}
	return token.New(token.Options{
		Issuer: j.Issuer, Audience: j.Audience, Keys: j.Keys, Algorithms: j.Algorithms, Org: j.Org,
		OrgClaim: j.OrgClaim, UserClaim: j.UserClaim, RolesClaim: j.RolesClaim, Attributes: j.AttributeClaims,
		Logger: log,
	})
}

// tokens returns the token verifier of the endpoints, or nil when there is none.
func (a *App) tokens() (httpapi.Tokens, error) {
	v, err := verifier(a.cfg, a.log)
	if v == nil {
		return nil, err
	}
	a.onClose(func() error { v.Close(); return nil })
	return v, nil
}

// checkTokens reads the issuer's keys: from a file or, if that is allowed, from the issuer.
func checkTokens(ctx context.Context, c config.Config, r *doctor.Report) {
	v, err := verifier(c, nil)
	if v == nil && err == nil {
		return
	}
	keys := cmp.Or(c.Auth.JWT.Keys, c.Auth.JWT.Issuer)
	if err == nil {
		defer v.Close()
		if !r.Online && strings.Contains(keys, "://") {
			r.Skip("tokens", "keys at "+config.Redact(keys)+doctor.NotAsked)
			return
		}
		err = v.Ready(ctx)
	}
	if err != nil {
		r.Fail("tokens", "no keys of "+c.Auth.JWT.Issuer+": "+err.Error())
		return
	}
	r.OK("tokens", "of "+c.Auth.JWT.Issuer+" for "+c.Auth.JWT.Audience)
}

// countStoredKeys counts the keys in the store without changing it.
func countStoredKeys(ctx context.Context, c config.Config) (valid, ended int, err error) {
	keys, err := OpenToRead(ctx, c, "")
	if err != nil {
		return 0, 0, err
	}
	defer keys.Close()
	for k, err := range AllKeys(ctx, keys, "") {
		if err != nil {
			return 0, 0, err
		}
		if k.Revoked.IsZero() && (k.Expires.IsZero() || k.Expires.After(time.Now())) {
			valid++
		} else {
			ended++
		}
	}
	return valid, ended, nil
}

// AllKeys yields the keys of an organisation, or of all if org is empty.
func AllKeys(ctx context.Context, keys store.Keys, org string) iter.Seq2[store.Key, error] {
	return func(yield func(store.Key, error) bool) {
		for after, full := "", true; full; {
			page, err := keys.ListKeys(ctx, org, after, store.MaxKeys)
			if err != nil {
				yield(store.Key{}, err)
				return
			}
			for _, k := range page {
				if after = k.ID; !yield(k, nil) {
					return
				}
			}
			full = len(page) == store.MaxKeys
		}
	}
}
