// Package redis is a relay.Pipe through a Redis server: a stream for each owner of a
// run, bounded in length, and forgotten minutes after its last entry.
package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Bounds of one stream.
const (
	mostEntries = 4_000 // about; the oldest go first
	kept        = 5 * time.Minute
	mostAtOnce  = 200 // entries of one Receive
)

// Times of one command. A server that is slower counts as away.
const (
	dialTime  = 500 * time.Millisecond
	replyTime = time.Second
)

// mostFollowed is how many runs of other servers can be followed at a time. Of more
// than these readers see whole blocks.
const mostFollowed = 256

// prefix is what the keys of this package begin with.
const prefix = "footnote:live:"

// Pipe is a relay.Pipe.
type Pipe struct{ client *redis.Client }

// Open makes a pipe through the server at a URL. It does not ask whether the server
// is there: a pipe may come and go. No error holds the URL's password.
func Open(url string) (*Pipe, error) {
	opts, err := redis.ParseURL(url)
	if err != nil {
		return nil, errors.New("the address of Redis is not a URL such as redis://user:password@host:6379/0")
	}
	opts.DialTimeout, opts.ReadTimeout, opts.WriteTimeout = dialTime, replyTime, replyTime
	opts.PoolSize, opts.PoolTimeout = mostFollowed, dialTime
	opts.MaxRetries, opts.DialerRetries = -1, 1 // what is late is of no use
	opts.ContextTimeoutEnabled = true
	return &Pipe{client: redis.NewClient(opts)}, nil
}

// Close closes the connections.
func (p *Pipe) Close() error { return p.client.Close() }

// Send implements relay.Pipe.
func (p *Pipe) Send(ctx context.Context, key string, entry []byte) error {
	_, err := p.client.Pipelined(ctx, func(c redis.Pipeliner) error {
		c.XAdd(ctx, &redis.XAddArgs{Stream: prefix + key, MaxLen: mostEntries, Approx: true, Values: []any{"e", entry}})
		c.PExpire(ctx, prefix+key, kept)
		return nil
	})
	return err
}

// Receive implements relay.Pipe.
func (p *Pipe) Receive(ctx context.Context, key, after string, wait time.Duration) (entries [][]byte, next string, err error) {
	if after == "" {
		after = "0"
	}
	ctx, cancel := context.WithTimeout(ctx, wait+replyTime)
	defer cancel()
	streams, err := p.client.XRead(ctx, &redis.XReadArgs{Streams: []string{prefix + key, after}, Count: mostAtOnce, Block: wait}).Result()
	if errors.Is(err, redis.Nil) {
		return nil, after, nil
	}
	if err != nil {
		return nil, after, fmt.Errorf("read what other servers say: %w", err)
	}
	for _, s := range streams {
		for _, m := range s.Messages {
			after = m.ID
			entry, _ := m.Values["e"].(string)
			entries = append(entries, []byte(entry)) // one without is none of ours, and no JSON
		}
	}
	return entries, after, nil
}
