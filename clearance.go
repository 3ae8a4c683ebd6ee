package footnote

import (
	"context"
	"sync"
)

// Clearance lets the statements of a tool call run although a database expects them to be expensive. The zero
// Clearance belongs to statements that no one can approve, and that no budget pays for.
type Clearance struct {
	CanAsk bool // a person can be asked to approve the call
	Given  bool // a person has approved it
	// Estimate, when set, is the estimate that was approved, in words: nothing else is cleared.
	Estimate string
	// Reserve reserves money for the call, in millionths of a US dollar. Its error says that the budget is too small.
	Reserve func(ctx context.Context, microUSD int64) error

	mu     sync.Mutex // guards reason
	reason string
}

type clearanceKey struct{}

// WithClearance returns a context for the statements of a call.
func WithClearance(ctx context.Context, c *Clearance) context.Context {
	return context.WithValue(ctx, clearanceKey{}, c)
}

// ClearanceOf returns the clearance of the call that a statement belongs to.
func ClearanceOf(ctx context.Context) *Clearance {
	if c, ok := ctx.Value(clearanceKey{}).(*Clearance); ok && c != nil {
		return c
	}
	return &Clearance{}
}

// Ask keeps the reason why a person must approve the call.
func (c *Clearance) Ask(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reason == "" {
		c.reason = reason
	}
}

// Reason returns why a person must approve the call, or "".
func (c *Clearance) Reason() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reason
}

// Pay reserves money for a statement.
func (c *Clearance) Pay(ctx context.Context, microUSD int64) error {
	if c.Reserve == nil {
		return nil
	}
	return c.Reserve(ctx, microUSD)
}
