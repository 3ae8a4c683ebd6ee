package agent

import (
	"context"
	"time"

	"github.com/footnotehq/footnote"
)

// How often runs are looked at whose keys may have been revoked, and how long the
// answer may take.
const (
	guardEvery = 2 * time.Second
	guardTime  = 5 * time.Second
)

// guard ends runs whose API keys were revoked, until the engine stops. A request that
// is open ends with its key by itself; a run may have none, or have been taken over
// from another engine.
func (e *Engine) guard() {
	tick := time.NewTicker(guardEvery)
	defer tick.Stop()
	keys := map[string]string{}
	for {
		select {
		case <-e.ctx.Done():
			return
		case <-tick.C:
			e.endRevoked()
			keys = e.endWaiting(keys)
		}
	}
}

// endRevoked asks once for each key of the running runs. A store that does not answer
// says nothing about a key.
func (e *Engine) endRevoked() {
	byKey := map[string][]*run{}
	for _, r := range e.live() {
		if r.turn.Key != "" {
			byKey[r.turn.Key] = append(byKey[r.turn.Key], r)
		}
	}
	for key, runs := range byKey {
		if !e.withdrawn(e.ctx, key) {
			continue
		}
		for _, r := range runs {
			e.opts.Logger.InfoContext(e.ctx, "run ends with its API key", "conversation", r.stream, "run", r.id, "key",
				key)
			r.cancel(stopped{byRevoked})
		}
	}
}

// endWaiting does so for the runs that wait, which no engine drives: each engine looks
// at all of them whose users have lost a key, and the first one ends them. Keys are those
// that such runs came with, so that a log is read once for each and not at each look: who
// has changed a key goes on to wait with the new one.
func (e *Engine) endWaiting(keys map[string]string) (now map[string]string) {
	ctx, cancel := context.WithTimeout(e.ctx, guardTime)
	defer cancel()
	heads, err := e.opts.Log.Withdrawn(ctx, e.opts.Now(), 1000)
	if err != nil {
		if e.ctx.Err() == nil {
			e.opts.Logger.WarnContext(ctx, "runs that wait are not looked at for keys that were revoked", "err", err)
		}
		return keys
	}
	now = map[string]string{}
	for _, head := range heads {
		key, known := keys[head.Run]
		if !known {
			s, err := e.load(ctx, head)
			if err != nil || s.run != head.Run {
				continue // it is gone, or goes on; or is looked at again
			}
			key = s.started.Key
		}
		now[head.Run] = key
		if e.withdrawn(ctx, key) {
			e.recoverAll(ctx, []footnote.Stream{head})
		}
	}
	return now
}

// withdrawn reports whether the key that a run came with no longer stands.
func (e *Engine) withdrawn(ctx context.Context, key string) bool {
	if key == "" || e.opts.Standing == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, guardTime)
	defer cancel()
	return footnote.CodeOf(e.opts.Standing(ctx, key)) == footnote.Unauthorized
}
