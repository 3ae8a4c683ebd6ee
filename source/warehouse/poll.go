package warehouse

import (
	"context"
	"time"
)

// Poll calls ask until it reports that a statement has ended. The waits between calls grow from 50 ms to a second.
func Poll(ctx context.Context, ask func() (done bool, err error)) error {
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		if done, err := ask(); done || err != nil {
			return err
		}
		if err := Pause(ctx, wait); err != nil {
			return err
		}
	}
}

// Seconds returns how many seconds are left before the deadline of ctx, at least one, or otherwise if there is none.
func Seconds(ctx context.Context, otherwise int) int {
	end, ok := ctx.Deadline()
	if !ok {
		return otherwise
	}
	return int(max(time.Until(end), 0)/time.Second) + 1
}

// submitTime limits a request that starts a statement and returns its id.
const submitTime = 30 * time.Second

// Submitting returns a context for a request that starts a statement. It does not end with ctx: without the id in the
// answer, the statement could not be stopped.
func Submitting(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), submitTime)
}
