package footnote

import (
	"context"
	"sync"
)

// Consent lets the statements of a tool call run although a database expects them to be expensive. A nil Consent
// belongs to statements that no one can approve, and that no budget pays for.
type Consent struct {
	CanAsk bool // a person can be asked to approve the call
	Given  bool // a person has approved it
	// Reserve reserves money for the call, in millionths of a US dollar. Its error says that the budget is too small.
	Reserve func(ctx context.Context, microUSD int64) error

	mu     sync.Mutex // guards reason
	reason string
}

type consentKey struct{}

// WithConsent returns a context for the statements of a call.
func WithConsent(ctx context.Context, c *Consent) context.Context {
	return context.WithValue(ctx, consentKey{}, c)
}

// ConsentOf returns the consent of the call that a statement belongs to.
func ConsentOf(ctx context.Context) *Consent {
	if c, ok := ctx.Value(consentKey{}).(*Consent); ok && c != nil {
		return c
	}
	return &Consent{}
}

// Ask keeps the reason why a person must approve the call.
func (c *Consent) Ask(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reason == "" {
		c.reason = reason
	}
}

// Reason returns why a person must approve the call, or "".
func (c *Consent) Reason() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reason
}

// Pay reserves money for a statement.
func (c *Consent) Pay(ctx context.Context, microUSD int64) error {
	if c.Reserve == nil {
		return nil
	}
	return c.Reserve(ctx, microUSD)
}
