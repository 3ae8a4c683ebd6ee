// Package redis implements relay.Pipe with a Redis server: each owner of a run has a stream, which is limited
// in length and expires minutes after its last entry.
package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Limits of one stream.
const (
	maxEntries    = 4_000 // approximately; the oldest are dropped first
	kept          = 5 * time.Minute
	maxPerReceive = 200 // entries returned by one Receive
)

// Timeouts of one command. A slower server counts as unavailable.
const (
	dialTime  = 500 * time.Millisecond
	replyTime = time.Second
)

// maxFollowed is the maximum number of runs of other servers that can be followed at a time. Readers of
// further runs see complete blocks only.
const maxFollowed = 256

// prefix is the key prefix of this package.
const prefix = "footnote:live:"

// Pipe implements relay.Pipe.
type Pipe struct{ client *redis.Client }

// Open returns a pipe through the server at a URL. It does not check that the server is available, because it
// may come and go. Errors never contain the URL's password.
func Open(url string) (*Pipe, error) {
	opts, err := redis.ParseURL(url)
	if err != nil {
		return nil, errors.New("the address of Redis is not a URL such as redis://user:password@host:6379/0")
	}
	opts.DialTimeout, opts.ReadTimeout, opts.WriteTimeout = dialTime, replyTime, replyTime
	opts.PoolSize, opts.PoolTimeout = maxFollowed, dialTime
	opts.MaxRetries, opts.DialerRetries = -1, 1 // late entries are useless
	opts.ContextTimeoutEnabled = true
	return &Pipe{client: redis.NewClient(opts)}, nil
}

// Close closes the connections.
func (p *Pipe) Close() error { return p.client.Close() }

// Send implements relay.Pipe.
func (p *Pipe) Send(ctx context.Context, key string, entry []byte) error {
	_, err := p.client.Pipelined(ctx, func(c redis.Pipeliner) error {
		c.XAdd(ctx, &redis.XAddArgs{Stream: prefix + key, MaxLen: maxEntries, Approx: true, Values: []any{"e", entry}})
		c.PExpire(ctx, prefix+key, kept)
		return nil
	})
	return err
}

// Receive implements relay.Pipe.
func (p *Pipe) Receive(ctx context.Context, key, after string,
	wait time.Duration) (entries [][]byte, next string, err error) {
	after = cmp.Or(after, "0")
	ctx, cancel := context.WithTimeout(ctx, wait+replyTime)
	defer cancel()
	streams, err := p.client.XRead(ctx,
		&redis.XReadArgs{Streams: []string{prefix + key, after}, Count: maxPerReceive, Block: wait}).Result()
	if errors.Is(err, redis.Nil) {
		return nil, after, nil
	}
	if err != nil {
		return nil, after, fmt.Errorf("read the pipe from other servers: %w", err)
	}
	for _, s := range streams {
		for _, m := range s.Messages {
			after = m.ID
			entry, _ := m.Values["e"].(string)
			entries = append(entries, []byte(entry)) // entries of other programs fail to decode
		}
	}
	return entries, after, nil
}
