package mcp

import (
	"context"
	"testing"
)

// TestCancelBehindLeave checks that a client's message finds the run whichever comes first, the message or the end of
// the connection, and also if the call has not quite ended.
func TestCancelBehindLeave(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	c := &call{id: callID{request: "1"}, cancel: cancel}
	var p pending
	p.add(c)
	if p.leave(c, "conv_1") {
		t.Error("a client that left has cancelled nothing yet")
	}
	if got := p.cancel(c.id); got != "conv_1" {
		t.Errorf("before the call has ended, the message stops %q", got)
	}
	p.add(c)
	if got := p.cancel(c.id); got != "" || context.Cause(ctx) != errCancelled || !p.leave(c, "conv_1") {
		t.Errorf("a call in progress: %q, %v", got, context.Cause(ctx))
	}
	p.add(c)
	c.cancelled = false
	p.leave(c, "conv_2")
	p.remove(c)
	if first, again := p.cancel(c.id), p.cancel(c.id); first != "conv_2" || again != "" {
		t.Errorf("after the call has ended, the message stops %q, then %q", first, again)
	}
}
