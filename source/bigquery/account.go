package bigquery

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/plainfile"
	"github.com/footnotehq/footnote/source/warehouse"
)

const (
	scope     = "https://www.googleapis.com/auth/bigquery"
	grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
	tokenTime = 10 * time.Minute // of the claim; the token itself says how long it lives
	early     = time.Minute      // a token is renewed this long before its end
	maxKey    = 64 << 10         // bytes of a key's file
)

// account is a service account. Its tokens are renewed when needed.
type account struct {
	Type     string `json:"type"`
	Email    string `json:"client_email"`
	KeyID    string `json:"private_key_id"`
	Key      string `json:"private_key"`
	TokenURI string `json:"token_uri"`

	client *warehouse.Client
	key    *rsa.PrivateKey

	mu    sync.Mutex // guards below
	value string
	until time.Time
}

// readAccount reads the key of a service account. Its errors never contain a part of the key.
func readAccount(name, file string) (*account, error) {
	text, err := plainfile.Head(file, maxKey)
	if err != nil {
		return nil, warehouse.Invalid(name, "the file of its parameter key cannot be read: %v", err)
	}
	a := &account{}
	if json.Unmarshal(text, a) != nil || a.Type != "service_account" || a.Email == "" || a.TokenURI == "" {
		return nil, warehouse.Invalid(name, "the file of its parameter key is not the key of a service account")
	}
	if a.key, err = warehouse.ParseKey([]byte(a.Key)); err != nil {
		return nil, warehouse.Invalid(name, "the file of its parameter key: %v", err)
	}
	if a.client, err = warehouse.NewClient(a.TokenURI, nil); err != nil {
		return nil, warehouse.Invalid(name, "the token_uri in the file of its parameter key: %v", err)
	}
	return a, nil
}

// token returns a token that lives for a while longer.
func (a *account) token(ctx context.Context) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if now.Before(a.until) {
		return a.value, nil
	}
	claim, err := warehouse.Sign(a.key, a.KeyID, map[string]any{
		"iss": a.Email, "scope": scope, "aud": a.TokenURI, "iat": now.Unix(), "exp": now.Add(tokenTime).Unix(),
	})
	if err != nil {
		return "", err
	}
	var answer struct {
		Token   string `json:"access_token"`
		Expires int64  `json:"expires_in"`
		Error   string `json:"error_description"`
	}
	status, err := a.client.JSON(ctx, warehouse.Request{
		Method: http.MethodPost, Path: a.TokenURI,
		Header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}},
		Body:   []byte(url.Values{"grant_type": {grantType}, "assertion": {claim}}.Encode()),
	}, &answer)
	if err != nil {
		return "", err
	}
	if status != http.StatusOK || answer.Token == "" {
		return "", footnote.Errorf(footnote.DatabaseUnavailable, "The service account gets no token: %s",
			a.client.Clean(answer.Error))
	}
	a.value, a.until = answer.Token, now.Add(time.Duration(min(answer.Expires, 3600))*time.Second-early)
	return a.value, nil
}
