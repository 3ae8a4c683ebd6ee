package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"sync"
	"time"
)

// statelessRevision is the first revision without sessions, in which a closed response cancels its call.
const statelessRevision = "2026-07-28"

// errCancelled ends a call that its client has cancelled.
var errCancelled = errors.New("the client cancelled the call")

// call is one message of a client that is being answered.
type call struct {
	request *http.Request // its context ends when the client leaves or cancels
	id      callID
	// closingCancels is set if a client that closes the response thereby cancels the call.
	closingCancels bool
	cancelled      bool      // the client has sent a message that cancels the call
	response       *response // nil on standard input
	cancel         context.CancelCauseFunc
	pending        *pending
	work           sync.WaitGroup // the handlers of the message
}

// callID identifies a call among those in progress. Clients number their requests themselves, so the id of the user and
// of the session belong to it.
type callID struct{ org, user, session, request string }

// pending holds the calls in progress that have an id, and those that their clients have left.
type pending struct {
	mu    sync.Mutex // guards the rest, and cancelled of the calls
	calls map[callID]*call
	left  map[callID]abandoned
}

// abandoned is a call whose run continues although its client has closed the response.
type abandoned struct {
	conversation string
	at           time.Time
}

// A client may close the response before it sends the message that cancels the call, so calls are remembered.
const (
	remembered    = time.Minute
	maxRemembered = 10_000
)

func (p *pending) add(c *call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calls == nil {
		p.calls, p.left = map[callID]*call{}, map[callID]abandoned{}
	}
	p.calls[c.id] = c
	delete(p.left, c.id)
}

func (p *pending) remove(c *call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calls[c.id] == c {
		delete(p.calls, c.id)
	}
}

// leave reports whether the client of a call that has ended early has cancelled it. If not, the client still may.
func (p *pending) leave(c *call, conversation string) (cancelled bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.cancelled || p.calls[c.id] != c {
		return c.cancelled
	}
	now := time.Now()
	maps.DeleteFunc(p.left, func(_ callID, l abandoned) bool { return now.Sub(l.at) > remembered })
	if len(p.left) < maxRemembered {
		p.left[c.id] = abandoned{conversation, now}
	}
	return false
}

// cancel ends a call that is in progress in this process. If its client has left already, cancel returns the
// conversation whose run is to be stopped. Such a call may still be among those in progress for a moment.
func (p *pending) cancel(id callID) (conversation string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l, ok := p.left[id]; ok {
		delete(p.left, id)
		return l.conversation
	}
	if c := p.calls[id]; c != nil {
		c.cancelled = true
		c.cancel(errCancelled)
	}
	return ""
}

// cancel cancels a call of the caller.
func (p *Protocol) cancel(r *http.Request, id callID) error {
	if conversation := p.pending.cancel(id); conversation != "" {
		return p.server.Stop(r, conversation)
	}
	return nil
}

type callKey struct{}

// begin registers a message.
func (p *Protocol) begin(r *http.Request, session string, id json.RawMessage) *call {
	ctx, cancel := context.WithCancelCause(r.Context())
	c := &call{cancel: cancel, pending: &p.pending}
	c.closingCancels = r.Header.Get("Mcp-Protocol-Version") >= statelessRevision
	caller := p.server.Caller(r)
	c.id = callID{caller.Org, caller.User, session, string(id)}
	c.request = r.WithContext(context.WithValue(ctx, callKey{}, c))
	if session != "" && len(id) > 0 {
		p.pending.add(c)
	}
	return c
}

// key returns the id of another request of the same client.
func (c *call) key(request json.RawMessage) callID {
	id := c.id
	id.request = string(request)
	return id
}

// end waits until the message's handlers have returned.
func (c *call) end() {
	c.pending.remove(c)
	c.cancel(nil)
	c.work.Wait()
}

// enter returns the HTTP request on whose behalf a handler of the SDK works. The request ends with the handler's
// context; leave must be called when the handler returns.
func enter(ctx context.Context) (c *call, r *http.Request, leave func(), err error) {
	c, ok := ctx.Value(callKey{}).(*call)
	if !ok {
		return nil, nil, nil, errors.New("mcp: the call has no HTTP request")
	}
	c.work.Add(1)
	own, cancel := context.WithCancelCause(c.request.Context())
	stop := context.AfterFunc(ctx, func() { cancel(errCancelled) })
	return c, c.request.WithContext(own), func() { stop(); cancel(nil); c.work.Done() }, nil
}

// wasCancelled reports whether the client of a call that ended early has cancelled it, or has left it in a way that
// means the same. Otherwise its run in the conversation continues.
func (c *call) wasCancelled(ctx context.Context, conversation string) bool {
	return c.pending.leave(c, conversation) || c.closingCancels || errors.Is(context.Cause(ctx), errCancelled)
}
