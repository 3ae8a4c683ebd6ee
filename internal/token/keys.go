package token

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/plainfile"
)

const (
	fetchTime  = 5 * time.Second  // to fetch the public keys
	fetchAgain = 10 * time.Minute // refresh interval
	fetchPause = 10 * time.Second // shortest interval between two attempts
	fetchOld   = 24 * time.Hour   // age at which cached keys are no longer trusted
	maxKeySet  = 1 << 20          // bytes
	maxKeys    = 100
)

// keys caches the public keys of an issuer. While the issuer is unavailable they stay valid, for a day.
type keys struct {
	where, issuer string
	client        *http.Client
	log           *slog.Logger
	now           func() time.Time
	ctx           context.Context // for the fetches
	cancel        context.CancelFunc
	wg            sync.WaitGroup

	mu      sync.Mutex // guards below
	set     []jose.JSONWebKey
	read    time.Time     // when set was fetched
	tried   time.Time     // when the last fetch began
	err     error         // of the last fetch
	reading chan struct{} // closed when the current fetch ends; nil: none is running
	closed  bool
}

func newKeys(o Options) *keys {
	k := &keys{where: o.Keys, issuer: o.Issuer, log: o.Logger, now: o.Now}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	k.client = &http.Client{
		Timeout: fetchTime,
		// The operator chose the address; do not follow redirects elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return k
}

func (k *keys) close() {
	k.mu.Lock()
	k.closed = true
	k.mu.Unlock()
	k.cancel()
	k.wg.Wait()
	k.client.CloseIdleConnections()
}

// find returns the key with the given id for an algorithm. It fetches the keys again for an unknown id, for example
// after the issuer has rotated its keys, but at most every fetchPause, however many ids are made up.
func (k *keys) find(ctx context.Context, id, alg string) (*jose.JSONWebKey, error) {
	key := k.known(id, alg)
	k.mu.Lock()
	age := k.now().Sub(k.read)
	if key != nil && age < fetchAgain {
		k.mu.Unlock()
		return key, nil
	}
	done := k.begin()
	k.mu.Unlock()
	if key != nil && age < fetchOld {
		return key, nil // the refreshed keys serve later calls
	}
	if done != nil {
		select {
		case <-done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	if key := k.known(id, alg); key != nil {
		return key, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.now().Sub(k.read) >= fetchOld {
		return nil, &footnote.Error{
			Code:       footnote.StorageUnavailable,
			Message:    "The keys that tokens are checked with cannot be read now. Try again in a moment.",
			RetryAfter: fetchPause, Err: k.err,
		}
	}
	return nil, rejected("it is signed with a key that the issuer does not publish.", nil)
}

// known returns the cached key with the given id, unless the cache is too old. Without an id it succeeds only if
// there is exactly one key.
func (k *keys) known(id, alg string) *jose.JSONWebKey {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.now().Sub(k.read) >= fetchOld || id == "" && len(k.set) != 1 {
		return nil
	}
	for i := range k.set {
		if key := k.set[i]; (id == "" || key.KeyID == id) && (key.Algorithm == "" || key.Algorithm == alg) {
			return &key
		}
	}
	return nil
}

// begin starts fetching the keys, unless that was tried a moment ago. It returns a channel that is closed at
// the end of the fetch, or nil if there is nothing to wait for. k.mu must be held.
func (k *keys) begin() <-chan struct{} {
	if k.reading != nil {
		return k.reading
	}
	now := k.now()
	if k.closed || !k.tried.IsZero() && now.Sub(k.tried) < fetchPause {
		return nil
	}
	done := make(chan struct{})
	k.tried, k.reading = now, done
	k.wg.Go(func() {
		defer close(done)
		ctx, cancel := context.WithTimeout(k.ctx, fetchTime)
		defer cancel()
		set, err := k.fetch(ctx)
		k.mu.Lock()
		defer k.mu.Unlock()
		k.reading, k.err = nil, err
		if err != nil {
			k.log.Warn("cannot read the public keys of the token issuer", "issuer", k.issuer, "err", err)
			return
		}
		k.set, k.read = set, now
	})
	return done
}

// ready fetches the keys now.
func (k *keys) ready(ctx context.Context) error {
	k.mu.Lock()
	done := k.begin()
	k.mu.Unlock()
	if done != nil {
		select {
		case <-done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.err
}

// fetch fetches the keys from the configured place.
func (k *keys) fetch(ctx context.Context) ([]jose.JSONWebKey, error) {
	where := k.where
	if where == "" {
		var about struct {
			Issuer string `json:"issuer"`
			Keys   string `json:"jwks_uri"`
		}
		data, err := k.get(ctx, strings.TrimSuffix(k.issuer, "/")+"/.well-known/openid-configuration")
		if err == nil {
			err = json.Unmarshal(data, &about)
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("read the configuration of the issuer: %w", err)
		case about.Issuer != k.issuer:
			return nil, fmt.Errorf("the issuer calls itself %.200q", about.Issuer)
		case !Safe(about.Keys):
			return nil, fmt.Errorf("the issuer has its keys at %.200q, which is not https", about.Keys)
		}
		where = about.Keys
	}
	var data []byte
	var err error
	if strings.HasPrefix(where, "https://") || strings.HasPrefix(where, "http://") {
		data, err = k.get(ctx, where)
	} else {
		data, err = plainfile.Read(where, maxKeySet)
	}
	if err != nil {
		return nil, err
	}
	return parse(data)
}

// parse returns the keys that can verify a signature. It leaves out others, such as symmetric keys, whose
// secret everybody could read.
func parse(data []byte) ([]jose.JSONWebKey, error) {
	var raw struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, fmt.Errorf("the set of keys: %w", err)
	}
	var set []jose.JSONWebKey
	for _, item := range raw.Keys {
		var key jose.JSONWebKey
		if err := json.Unmarshal(item, &key); err != nil {
			continue // unknown kind of key
		}
		if key.Valid() && key.IsPublic() && (key.Use == "" || key.Use == "sig") {
			set = append(set, key)
		}
	}
	if len(set) == 0 || len(set) > maxKeys {
		return nil, fmt.Errorf("the set has %d public keys for signatures; it must have 1 to %d", len(set), maxKeys)
	}
	return set, nil
}

// get fetches a document over HTTP.
func (k *keys) get(ctx context.Context, address string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	resp, err := k.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("get %s: %s", address, resp.Status)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxKeySet+1))
	if err == nil && len(data) > maxKeySet {
		err = errors.New("the answer is too long")
	}
	return data, err
}
