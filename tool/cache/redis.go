package cache

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrPaused is returned while the backend pauses after a failure of the server.
var ErrPaused = errors.New("the cache's server failed a moment ago")

// RedisOptions configure the backend in Redis.
type RedisOptions struct {
	// Time limits one read or write; default 250 ms.
	Time time.Duration
	// Pause is how long the backend does not contact the server after a failure; default 2 s.
	Pause time.Duration
	Now   func() time.Time
}

// Redis is a backend in a Redis server that several processes share.
type Redis struct {
	client *redis.Client
	opts   RedisOptions
	until  atomic.Int64 // end of the pause, Unix nanoseconds
}

// Key prefixes in the server.
const (
	entryPrefix = "footnote:cache:entry:" // followed by the hash of a key: an entry
	ownerPrefix = "footnote:cache:owner:" // followed by the hash of an owner: the set of its entries
)

// dropTime limits the removal of a conversation's entries, which is worth a longer wait than a query.
const dropTime = 2 * time.Second

// OpenRedis returns a backend for the server at a URL: redis://, rediss:// or unix://. It does not connect.
func OpenRedis(url string, o RedisOptions) (*Redis, error) {
	opts, err := redis.ParseURL(url)
	if err != nil {
		return nil, errors.New("the address of Redis cannot be read") // it may hold a password
	}
	o.Time = cmp.Or(max(o.Time, 0), 250*time.Millisecond)
	o.Pause = cmp.Or(max(o.Pause, 0), 2*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	// One attempt, within the deadline: a late result is useless.
	opts.ContextTimeoutEnabled, opts.MaxRetries, opts.DialerRetries = true, -1, 1
	opts.DialTimeout, opts.PoolTimeout = o.Time, o.Time
	return &Redis{client: redis.NewClient(opts), opts: o}, nil
}

// Get implements Backend. It reads at most one byte over the limit, however long the entry is.
func (r *Redis) Get(ctx context.Context, key string) (data []byte, err error) {
	err = r.do(ctx, func(ctx context.Context) error {
		data, err = r.client.GetRange(ctx, entryPrefix+key, 0, maxEntry).Bytes()
		return err
	})
	if len(data) == 0 {
		return nil, err
	}
	return data, err
}

// Put implements Backend.
func (r *Redis) Put(ctx context.Context, key, owner string, data []byte, ttl time.Duration) error {
	return r.do(ctx, func(ctx context.Context) error {
		_, err := r.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
			set := ownerKey(owner)
			p.SAdd(ctx, set, key)
			p.PExpire(ctx, set, MaxTTL+time.Minute) // longer than any entry's
			p.Set(ctx, entryPrefix+key, data, ttl)
			return nil
		})
		return err
	})
}

// Drop implements Backend. It also runs during a pause.
func (r *Redis) Drop(ctx context.Context, owner string) error {
	ctx, cancel := context.WithTimeout(ctx, dropTime)
	defer cancel()
	set := ownerKey(owner)
	for scan := r.client.SScan(ctx, set, 0, "", 1000).Iterator(); ; {
		if !scan.Next(ctx) {
			if err := scan.Err(); err != nil {
				return fmt.Errorf("list the entries of a conversation: %w", err)
			}
			break
		}
		if err := r.client.Unlink(ctx, entryPrefix+scan.Val()).Err(); err != nil {
			return fmt.Errorf("remove an entry: %w", err)
		}
	}
	return r.client.Unlink(ctx, set).Err()
}

// Close implements Backend.
func (r *Redis) Close() error { return r.client.Close() }

// do runs a command within its time limit, and fails at once during a pause: otherwise every call would wait for a
// server that hangs.
func (r *Redis) do(ctx context.Context, f func(context.Context) error) error {
	if r.opts.Now().UnixNano() < r.until.Load() {
		return ErrPaused
	}
	limited, cancel := context.WithTimeout(ctx, r.opts.Time)
	defer cancel()
	err := f(limited)
	// A cancelled request does not show that the server is broken, and an error reply shows that it works.
	if _, refused := errors.AsType[redis.Error](err); err != nil && !refused && ctx.Err() == nil {
		r.until.Store(r.opts.Now().Add(r.opts.Pause).UnixNano())
	}
	return err
}

func ownerKey(owner string) string {
	sum := sha256.Sum256([]byte(owner))
	return ownerPrefix + hex.EncodeToString(sum[:])
}
