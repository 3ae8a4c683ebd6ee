package retention

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/pause"
	"github.com/footnotehq/footnote/store"
)

// ResultsLog is the part of a store that the expiry of results uses.
type ResultsLog interface {
	Tail(ctx context.Context, after int64, limit int) ([]store.Positioned, error)
	Events(ctx context.Context, stream string, after int64) iter.Seq2[footnote.Event, error]
	DropBlobs(ctx context.Context, stream string, digests []footnote.Digest) error
	Cursor(ctx context.Context, name string) (int64, error)
	SetCursor(ctx context.Context, name string, position int64) error
}

// Results deletes the rows of stored results that are older than Keep. The log keeps the statements, and the numbers
// that answers cite. It follows the log with a durable cursor, so that each pass reads only what has expired since.
type Results struct {
	Log    ResultsLog
	Keep   time.Duration // 0: forever
	Lead   func(ctx context.Context) (release func(), ok bool, err error)
	Logger *slog.Logger
	Now    func() time.Time
}

// Run deletes until ctx ends: shortly after the start, and then every hour.
func (r *Results) Run(ctx context.Context) {
	if r.Keep == 0 {
		return
	}
	for wait := firstDelay; pause.For(ctx, wait) == nil; wait = interval {
		n, err := r.Pass(ctx)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			r.Logger.Error("cannot delete expired results; retrying in an hour", "deleted", n, "err", err)
		case n > 0:
			r.Logger.Info("expired results", "deleted", n)
		}
	}
}

// tailPage is the number of events that a pass reads at a time.
const tailPage = 500

// Pass deletes the rows of all results that have expired, and returns the number of these results.
func (r *Results) Pass(ctx context.Context) (expired int, err error) {
	release, leader, err := r.Lead(ctx)
	if err != nil || !leader {
		return 0, err
	}
	defer release()
	after, err := r.Log.Cursor(ctx, footnote.ExpiredResults)
	for err == nil {
		var events []store.Positioned
		if events, err = r.Log.Tail(ctx, after, tailPage); err != nil {
			break
		}
		old := events[:0:0]
		for _, ev := range events {
			if r.Now().Sub(ev.Time) <= r.Keep {
				break
			}
			old = append(old, ev)
		}
		if len(old) == 0 {
			return expired, nil
		}
		n, err := r.drop(ctx, old)
		if expired += n; err != nil {
			return expired, err
		}
		after = old[len(old)-1].Position
		if err := r.Log.SetCursor(ctx, footnote.ExpiredResults, after); err != nil {
			return expired, err
		}
		if err := pause.For(ctx, batchPause); err != nil {
			return expired, err
		}
	}
	return expired, err
}

// drop deletes the rows of the results in events.
func (r *Results) drop(ctx context.Context, events []store.Positioned) (expired int, err error) {
	chunks := map[string]map[footnote.Digest]bool{} // by stream
	last := map[string]int64{}
	for _, ev := range events {
		stored := footnote.ResultOf(ev.Body)
		if stored == nil || len(stored.Chunks) == 0 {
			continue
		}
		if chunks[ev.Stream] == nil {
			chunks[ev.Stream] = map[footnote.Digest]bool{}
		}
		for _, c := range stored.Chunks {
			chunks[ev.Stream][c.Digest] = true
		}
		last[ev.Stream] = ev.Seq
		expired++
	}
	for stream, gone := range chunks {
		for ev, err := range r.Log.Events(ctx, stream, last[stream]) {
			if err != nil {
				return expired, fmt.Errorf("read %s: %w", stream, err)
			}
			if stored := footnote.ResultOf(ev.Body); stored != nil {
				for _, c := range stored.Chunks { // a newer result with the same rows
					delete(gone, c.Digest)
				}
			}
		}
		var digests []footnote.Digest
		for d := range gone {
			digests = append(digests, d)
		}
		err := r.Log.DropBlobs(ctx, stream, digests)
		if err != nil && footnote.CodeOf(err) != footnote.NotFound { // the conversation was deleted
			return expired, fmt.Errorf("delete rows of %s: %w", stream, err)
		}
	}
	return expired, nil
}
