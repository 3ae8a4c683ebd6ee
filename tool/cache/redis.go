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

	"github.com/gomodule/redigo/redis"

	"github.com/footnotehq/footnote/internal/redispool"
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
	pool  *redispool.Pool
	opts  RedisOptions
	until atomic.Int64 // end of the pause, Unix nanoseconds
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
	o.Time = cmp.Or(max(o.Time, 0), 250*time.Millisecond)
	o.Pause = cmp.Or(max(o.Pause, 0), 2*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	pool, err := redispool.Open(url, redispool.Options{Time: o.Time})
	if err != nil {
		return nil, err
	}
	return &Redis{pool: pool, opts: o}, nil
}

// Get implements Backend. It reads at most one byte over the limit, however long the entry is.
func (r *Redis) Get(ctx context.Context, key string) (data []byte, err error) {
	err = r.do(ctx, func(ctx context.Context) error {
		data, err = redis.Bytes(r.pool.Do(ctx, "GETRANGE", entryPrefix+key, 0, maxEntry))
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
		set, longest := ownerKey(owner), MaxTTL+time.Minute
		return r.pool.Together(ctx,
			redispool.Command{"SADD", set, key},
			redispool.Command{"PEXPIRE", set, longest.Milliseconds()}, // longer than any entry's
			redispool.Command{"SET", entryPrefix + key, data, "PX", max(ttl.Milliseconds(), 1)})
	})
}

// Drop implements Backend. It also runs during a pause.
func (r *Redis) Drop(ctx context.Context, owner string) error {
	ctx, cancel := context.WithTimeout(ctx, dropTime)
	defer cancel()
	set := ownerKey(owner)
	for cursor := []byte("0"); ; {
		var keys []string
		reply, err := redis.Values(r.pool.Do(ctx, "SSCAN", set, cursor, "COUNT", 1000))
		if err == nil {
			_, err = redis.Scan(reply, &cursor, &keys)
		}
		if err != nil {
			return fmt.Errorf("list the entries of a conversation: %w", err)
		}
		for _, key := range keys {
			if _, err := r.pool.Do(ctx, "UNLINK", entryPrefix+key); err != nil {
				return fmt.Errorf("remove an entry: %w", err)
			}
		}
		if string(cursor) == "0" {
			break
		}
	}
	_, err := r.pool.Do(ctx, "UNLINK", set)
	return err
}

// Close implements Backend.
func (r *Redis) Close() error { return r.pool.Close() }

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
