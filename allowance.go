package footnote

import (
	"context"
	"sync"
)

// Allowance lets the statements of a tool call run although a database expects them to be expensive. The zero Allowance
// belongs to statements that no one can approve, and that no budget pays for.
type Allowance struct {
	CanAsk bool // a person can be asked to approve the call
	Given  bool // a person has approved it
	// Reserve reserves money for the call, in millionths of a US dollar. Its error says that the budget is too small.
	Reserve func(ctx context.Context, microUSD int64) error

	mu     sync.Mutex // guards reason
	reason string
}

type allowanceKey struct{}

// WithAllowance returns a context for the statements of a call.
func WithAllowance(ctx context.Context, c *Allowance) context.Context {
	return context.WithValue(ctx, allowanceKey{}, c)
}

// AllowanceOf returns the allowance of the call that a statement belongs to.
func AllowanceOf(ctx context.Context) *Allowance {
	if c, ok := ctx.Value(allowanceKey{}).(*Allowance); ok && c != nil {
		return c
	}
	return &Allowance{}
}

// Ask keeps the reason why a person must approve the call.
func (c *Allowance) Ask(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reason == "" {
		c.reason = reason
	}
}

// Reason returns why a person must approve the call, or "".
func (c *Allowance) Reason() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reason
}

// Pay reserves money for a statement.
func (c *Allowance) Pay(ctx context.Context, microUSD int64) error {
	if c.Reserve == nil {
		return nil
	}
	return c.Reserve(ctx, microUSD)
}
