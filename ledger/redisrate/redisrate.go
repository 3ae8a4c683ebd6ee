// Package redisrate counts requests in a Redis that several servers share. Redis may lose its data. While Redis is
// unreachable, each server allows its share of a limit with its own counter.
package redisrate

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/footnotehq/footnote/internal/redispool"
	"github.com/footnotehq/footnote/ledger"
)

const (
	prefix    = "footnote:rate:"
	dialTime  = 5 * time.Second
	replyTime = 250 * time.Millisecond // the longest that a request waits for its counter
	restTime  = 2 * time.Second        // pause after a failure of Redis
)

// script is the generic cell rate algorithm with the clock of Redis: a key holds the time, in microseconds, at which a
// full minute's requests are allowed again.
var script = redis.NewScript(1, `
local t = redis.call('TIME')
local now, minute = t[1] * 1000000 + t[2], 60000000
local each = math.floor(minute / tonumber(ARGV[1]))
local at = math.max(tonumber(redis.call('GET', KEYS[1]) or '0'), now)
local wait = at + each - (now + minute)
if wait > 0 then return {0, wait} end
redis.call('SET', KEYS[1], string.format('%.0f', at + each), 'PX', 120000)
return {math.floor((minute - (at + each - now)) / each), 0}`)

// Counter implements ledger.Counter. The caller must close it.
type Counter struct {
	pool  *redispool.Pool
	own   ledger.Counter
	log   *slog.Logger
	reply time.Duration // the longest wait for Redis
	rest  atomic.Int64  // end of the pause, in ns
}

var _ ledger.Counter = (*Counter)(nil)

// Open returns a counter for the Redis at a URL. It does not connect. own counts while Redis is unreachable.
func Open(url string, own ledger.Counter, log *slog.Logger) (*Counter, error) {
	pool, err := redispool.Open(url, redispool.Options{Time: dialTime})
	if err != nil {
		return nil, err
	}
	return &Counter{pool: pool, own: own, log: log, reply: replyTime}, nil
}

// Close closes the connections.
func (c *Counter) Close() error { return c.pool.Close() }

// Take implements ledger.Counter.
func (c *Counter) Take(ctx context.Context, key string, perMinute int64) (left int64, wait time.Duration, err error) {
	now := time.Now().UnixNano()
	if now < c.rest.Load() {
		return c.own.Take(ctx, key, perMinute)
	}
	asked, cancel := context.WithTimeout(ctx, c.reply)
	defer cancel()
	got, err := redis.Int64s(c.pool.Run(asked, script, prefix+key, perMinute))
	if err == nil && len(got) == 2 {
		return got[0], time.Duration(got[1]) * time.Microsecond, nil
	}
	if ctx.Err() != nil {
		return 0, 0, context.Cause(ctx)
	}
	if c.rest.Swap(now+int64(restTime)) < now-int64(time.Minute) {
		c.log.WarnContext(ctx, "Redis is unreachable; each server counts requests by itself", "err", err)
	}
	return c.own.Take(ctx, key, perMinute)
}
