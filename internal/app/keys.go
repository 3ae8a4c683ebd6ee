package app

import (
	"cmp"
	"context"
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

// checkTokens reads the issuer's keys: from a file or, if online is set, from the issuer.
func checkTokens(ctx context.Context, c config.Config, scope doctor.Scope) []doctor.Check {
	v, err := verifier(c, nil)
	if v == nil && err == nil {
		return nil
	}
	if v != nil {
		defer v.Close()
	}
	keys := cmp.Or(c.Auth.JWT.Keys, c.Auth.JWT.Issuer)
	if err == nil && !scope.Online && strings.Contains(keys, "://") {
		return []doctor.Check{doctor.Skip("tokens", "keys at "+config.Redact(keys)+doctor.NotAsked)}
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
		defer cancel()
		err = v.Ready(ctx)
	}
	if err != nil {
		return []doctor.Check{doctor.Fail("tokens", "no keys of "+c.Auth.JWT.Issuer+": "+err.Error())}
	}
	return []doctor.Check{doctor.OK("tokens", "of "+c.Auth.JWT.Issuer+" for "+c.Auth.JWT.Audience)}
}

// checkStoredKeys counts the keys in the store without changing it.
func checkStoredKeys(ctx context.Context, c config.Config) (valid, ended int, err error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	keys, err := OpenToRead(ctx, c, "")
	if err != nil {
		return 0, 0, err
	}
	defer keys.Close()
	for after := ""; ; {
		page, err := keys.ListKeys(ctx, "", after, store.MaxKeys)
		if err != nil {
			return 0, 0, err
		}
		for _, k := range page {
			after = k.ID
			if k.Revoked.IsZero() && (k.Expires.IsZero() || k.Expires.After(time.Now())) {
				valid++
			} else {
				ended++
			}
		}
		if len(page) < store.MaxKeys {
			return valid, ended, nil
		}
	}
}
