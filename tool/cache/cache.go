// Package cache answers a tool call from the result of an earlier one. It stores results in the memory of a process,
// or in a Redis that several processes share.
//
// The key decides whether a result may be reused. It contains everything a result depends on: the tool and its
// configuration, its whole input, the org, the parts of the principal that a source's policy may use, and each source
// with the version of its data. Two calls that differ in any of these have different keys. An entry contains the
// whole key, so that neither a hash collision nor a server that mixes up entries discloses anything.
//
// A cache must never make a question fail: every cache error is logged, and the tool is called.
package cache

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/tool"
)

// Backend stores entries. Its methods are safe for concurrent use, and return quickly even when the server is down.
type Backend interface {
	// Get returns an entry, or nil if there is none.
	Get(ctx context.Context, key string) ([]byte, error)
	// Put stores an entry for at most ttl. owner is the conversation it came from.
	Put(ctx context.Context, key, owner string, data []byte, ttl time.Duration) error
	// Drop removes all entries of an owner.
	Drop(ctx context.Context, owner string) error
	Close() error
}

// Source is the part of a key for one source.
type Source struct {
	Name    string
	Address string // its address: two servers may use one name for different databases
	Version string // of its data; empty if it has none: entries then only expire
}

// Metrics counts the outcomes of calls.
type Metrics interface {
	// CacheLooked counts a call: hit, miss, shared (with a call already running) or skipped (it has no key).
	CacheLooked(tool, outcome string)
	// CacheFailed counts a failed operation of a backend: get, put, drop or decode.
	CacheFailed(what string)
}

// Options configure a cache.
type Options struct {
	Backend Backend // required; Close closes it
	// Sources returns the current state of a source. Calls on a source with an error are not cached. Required.
	Sources func(ctx context.Context, name string) (Source, error)
	// Scope returns the parts of a principal, besides the org, that decide which rows it sees. The default is all of
	// them: the user, the roles and the attributes.
	Scope   func(footnote.Principal) []string
	Now     func() time.Time
	Logger  *slog.Logger
	Metrics Metrics
}

// Limits on cached results.
const (
	MaxTTL   = 24 * time.Hour
	maxInput = 64 << 10 // bytes of a call
	maxEntry = 8 << 20  // bytes, encoded
)

// Cache caches the results of tools. Its methods are safe for concurrent use.
type Cache struct {
	opts Options

	mu      sync.Mutex // guards flights
	flights map[string]*flight
}

// flight is a running call that other calls wait for.
type flight struct {
	done chan struct{}
	data []byte // the entry; nil when it cannot be shared
}

// New returns a cache.
func New(o Options) *Cache {
	if o.Scope == nil {
		o.Scope = wholePrincipal
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Metrics = cmp.Or[Metrics](o.Metrics, uncounted{})
	return &Cache{opts: o, flights: map[string]*flight{}}
}

type uncounted struct{}

func (uncounted) CacheLooked(string, string) {}
func (uncounted) CacheFailed(string)         {}

// Close closes the backend.
func (c *Cache) Close() error { return c.opts.Backend.Close() }

// Forget removes the entries of a conversation's calls. Entries it cannot remove expire by themselves.
func (c *Cache) Forget(ctx context.Context, conversation string) error {
	err := c.opts.Backend.Drop(ctx, conversation)
	if err != nil {
		c.opts.Metrics.CacheFailed("drop")
	}
	return err
}

// Rule configures the caching of a tool.
type Rule struct {
	TTL time.Duration // 0: not cached
	// Config holds anything else that the tool's results depend on, such as its limits and its own statement.
	Config string
	// Source is the only source that the tool reads; empty: the source named by the input, or any of the
	// conversation's if it names none.
	Source string
	// Remarks are input fields for people, which never reach the data. They are not part of the key.
	Remarks []string
}

// Tool wraps t with the cache.
func (c *Cache) Tool(t tool.Tool, r Rule) tool.Tool {
	if r.TTL <= 0 {
		return t
	}
	r.TTL = min(r.TTL, MaxTTL)
	return cached{Tool: t, cache: c, rule: r}
}

type cached struct {
	tool.Tool
	cache *Cache
	rule  Rule
}

// Call implements tool.Tool.
func (t cached) Call(ctx context.Context, call tool.Call) (tool.Output, error) {
	k, ok := t.cache.key(ctx, t.Spec(), t.rule, call)
	if !ok {
		t.looked("skipped")
		return t.Tool.Call(ctx, call)
	}
	f, first := t.cache.join(k.hash)
	if first {
		defer t.cache.leave(k.hash, f)
		return t.lead(ctx, k, call, f)
	}
	select {
	case <-f.done:
	case <-ctx.Done():
		return tool.Output{}, context.Cause(ctx)
	}
	if out, err := t.cache.decode(ctx, f.data, k, t.rule.TTL, call.ResultID); f.data != nil && err == nil {
		t.looked("shared")
		return out, nil
	}
	// The other call had nothing to share: an error, or an output that is too large.
	t.looked("miss")
	return t.Tool.Call(ctx, call)
}

func (t cached) looked(outcome string) { t.cache.opts.Metrics.CacheLooked(t.Spec().Name, outcome) }

// lead runs a call on behalf of all callers that wait for it.
func (t cached) lead(ctx context.Context, k key, call tool.Call, f *flight) (tool.Output, error) {
	c := t.cache
	data, err := c.opts.Backend.Get(ctx, k.hash)
	if err != nil {
		c.failed(ctx, "get", err)
	}
	if data != nil {
		out, err := c.decode(ctx, data, k, t.rule.TTL, call.ResultID)
		if err == nil {
			f.data = data
			t.looked("hit")
			return out, nil
		}
		if !errors.Is(err, errOld) {
			c.failed(ctx, "decode", err)
		}
	}
	t.looked("miss")
	return t.run(ctx, k, call, f)
}

// run calls the tool and stores its output.
func (t cached) run(ctx context.Context, k key, call tool.Call, f *flight) (tool.Output, error) {
	c := t.cache
	// The tool writes the id of its result into the text for the model, and a hit has a different id. So the tool
	// gets a unique placeholder here.
	mark, id := newMark(), call.ResultID
	call.ResultID = mark
	begun := c.opts.Now()
	// The collector of the call itself, if there is one: the caller may have stopped waiting for the tool.
	ctx, ran := footnote.JoinStatements(ctx)
	out, err := t.Tool.Call(ctx, call)
	var tables []string
	for _, st := range ran.All() {
		if strings.HasPrefix(out.SQL, st.SQL) { // an operator's statement has its arguments appended
			tables = st.Tables
		}
	}
	if err != nil {
		return out, err
	}
	marked := out.Content
	out.Content = strings.ReplaceAll(out.Content, mark, id)
	if !cacheable(out) {
		return out, nil
	}
	// If the data changed during the statement, the rows may be from before or after the change.
	if after, ok := c.key(ctx, t.Spec(), t.rule, call); !ok || after.hash != k.hash {
		return out, nil
	}
	data, err := encode(entry{
		Key: k.material, Mark: mark, Made: begun.UTC(), Content: marked,
		Source: out.Source, SQL: out.SQL, Tables: tables,
	}, *out.Rows)
	if err != nil {
		c.opts.Logger.DebugContext(ctx, "result not cached", "tool", call.Name, "err", err)
		return out, nil
	}
	f.data = data
	if err := c.opts.Backend.Put(ctx, k.hash, call.Conversation, data, t.rule.TTL); err != nil {
		c.failed(ctx, "put", err)
	}
	return out, nil
}

func (c *Cache) failed(ctx context.Context, what string, err error) {
	c.opts.Metrics.CacheFailed(what)
	if errors.Is(err, ErrPaused) {
		return // already reported
	}
	c.opts.Logger.WarnContext(ctx, "cache failed", "what", what, "err", err)
}

// cacheable reports whether an output may answer other calls: it must hold rows of a statement that would return the
// same rows again.
func cacheable(out tool.Output) bool {
	return !out.IsError && out.Fault == "" && out.Rows != nil && out.Source != "" && out.SQL != "" &&
		out.Chart == nil && out.Detail == nil && !volatile.MatchString(out.SQL)
}

// volatile matches statements whose rows do not depend on the data alone. A false match only costs a query, so it
// ignores strings and comments.
var volatile = regexp.MustCompile(
	`(?i)\b(now|today|curdate|curtime|current_\w+|local_?time\w*|getdate|sysdate\w*|\w*_timestamp|utc_\w+|timeofday|` +
		`julianday|unixepoch|strftime|` +
		`\w*random\w*|rand\w*|\w*uuid\w*|nextval|currval|setseed|sample|tablesample|changes|total_changes|` +
		`last_insert_rowid|pg_sleep|session_user|txid_\w+|pg_current_\w+)\b`)

// join returns the running call of a key, or registers a new one.
func (c *Cache) join(hash string) (f *flight, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.flights[hash]; f != nil {
		return f, false
	}
	f = &flight{done: make(chan struct{})}
	c.flights[hash] = f
	return f, true
}

// leave ends a running call, even if its tool panicked.
func (c *Cache) leave(hash string, f *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.flights, hash)
	close(f.done)
}

// newMark returns a placeholder for the id of a result that no database text contains.
func newMark() string { return "r" + rand.Text() }

var isMark = regexp.MustCompile(`^r[A-Z2-7]{26}$`)

// entry is a result in its stored form.
type entry struct {
	Format    int               `json:"format"`
	Key       []byte            `json:"key"`
	Mark      string            `json:"mark"` // placeholder for the result's id in Content
	Made      time.Time         `json:"made"` // start of the statement
	Content   string            `json:"content"`
	Source    string            `json:"source"`
	SQL       string            `json:"sql"`
	Tables    []string          `json:"tables,omitempty"` // the tables the statement reads
	Columns   []footnote.Column `json:"columns"`
	Truncated bool              `json:"truncated,omitempty"`
	Rows      json.RawMessage   `json:"rows"`
}
