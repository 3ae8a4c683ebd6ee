// Package redis implements relay.Pipe with a Redis server: each owner of a run has a stream, which is limited
// in length and expires minutes after its last entry.
package redis

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/footnotehq/footnote/internal/redispool"
)

// Limits of one stream.
const (
	maxEntries    = 4_000 // approximately; the oldest are dropped first
	kept          = 5 * time.Minute
	maxPerReceive = 200 // entries returned by one Receive
)

// replyTime limits one command. A slower server counts as unavailable.
const replyTime = time.Second

// maxFollowed is the maximum number of runs of other servers that can be followed at a time. Readers of
// further runs see complete blocks only.
const maxFollowed = 256

// prefix is the key prefix of this package.
const prefix = "footnote:live:"

// Pipe implements relay.Pipe.
type Pipe struct{ pool *redispool.Pool }

// Open returns a pipe through the server at a URL. It does not check that the server is available, because it
// may come and go. Errors never contain the URL's password.
func Open(url string) (*Pipe, error) {
	pool, err := redispool.Open(url, redispool.Options{Time: replyTime, Conns: maxFollowed})
	if err != nil {
		return nil, err
	}
	return &Pipe{pool}, nil
}

// Close closes the connections.
func (p *Pipe) Close() error { return p.pool.Close() }

// Send implements relay.Pipe.
func (p *Pipe) Send(ctx context.Context, key string, entry []byte) error {
	ctx, cancel := context.WithTimeout(ctx, replyTime)
	defer cancel()
	return p.pool.Together(ctx,
		redispool.Command{"XADD", prefix + key, "MAXLEN", "~", maxEntries, "*", "e", entry},
		redispool.Command{"PEXPIRE", prefix + key, kept.Milliseconds()})
}

// Receive implements relay.Pipe.
func (p *Pipe) Receive(ctx context.Context, key, after string,
	wait time.Duration) (entries [][]byte, next string, err error) {
	after = cmp.Or(after, "0")
	ctx, cancel := context.WithTimeout(ctx, wait+replyTime)
	defer cancel()
	reply, err := p.pool.Do(ctx, "XREAD", "COUNT", maxPerReceive, "BLOCK", max(wait.Milliseconds(), 1),
		"STREAMS", prefix+key, after)
	if reply == nil && err == nil {
		return nil, after, nil
	}
	messages, err := stored(reply, err)
	if err != nil {
		return nil, after, fmt.Errorf("read the pipe from other servers: %w", err)
	}
	for _, m := range messages {
		var fields []string
		if _, err := redis.Scan(m, &after, &fields); err != nil {
			return nil, after, fmt.Errorf("read an entry of the pipe from other servers: %w", err)
		}
		var entry []byte // of another program: fails to decode
		if len(fields) == 2 && fields[0] == "e" {
			entry = []byte(fields[1])
		}
		entries = append(entries, entry)
	}
	return entries, after, nil
}

// stored returns the messages in the reply to XREAD for one stream, each an id and a list of fields.
func stored(reply any, err error) (messages [][]any, _ error) {
	streams, err := redis.Values(reply, err)
	if err != nil || len(streams) != 1 {
		return nil, err
	}
	stream, err := redis.Values(streams[0], nil)
	if err != nil || len(stream) != 2 {
		return nil, err
	}
	all, err := redis.Values(stream[1], nil)
	for _, one := range all {
		if m, ok := one.([]any); ok {
			messages = append(messages, m)
		}
	}
	return messages, err
}
