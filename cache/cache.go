// Package cache answers a tool's call from an earlier one's result: in the memory of
// a process, or in a Redis that several share.
//
// What may be answered so is decided by the key, which holds all that a result
// follows from: the tool and how it is configured, its whole input, the org and
// what of the principal a source's policy looks at, and each source with the
// version of its data. Two calls that differ in any of it have different keys, and
// an entry holds the whole key, so that a hash or a server that mixes entries up
// gives nothing away.
//
// A cache must never be the reason why a question fails: whatever goes wrong with
// it is logged, and the tool is called.
package cache

import (
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
	"github.com/footnotehq/footnote/agent"
)

// Backend is where entries are kept. Its methods may be called from several
// goroutines, and return in a short time also when the server is gone.
type Backend interface {
	// Get returns an entry, or nil when there is none.
	Get(ctx context.Context, key string) ([]byte, error)
	// Put keeps an entry for at most ttl. Owner is the conversation it came from.
	Put(ctx context.Context, key, owner string, data []byte, ttl time.Duration) error
	// Drop removes all entries of an owner.
	Drop(ctx context.Context, owner string) error
	Close() error
}

// Source is what the key holds of one.
type Source struct {
	Name    string
	Address string // where it is: two servers may call different databases by one name
	Version string // of its data; empty where it has none, and the time to live is all
}

// Metrics counts what became of calls.
type Metrics interface {
	// CacheLooked counts a call: hit, miss, shared (with a call that was running) or
	// skipped (it has no key).
	CacheLooked(tool, outcome string)
	// CacheFailed counts what a backend could not do: get, put, drop or decode.
	CacheFailed(what string)
}

// Options configure a cache.
type Options struct {
	Backend Backend // required; Close closes it
	// Sources returns a source as it is now. An error means that calls on it are not
	// cached. Required.
	Sources func(ctx context.Context, name string) (Source, error)
	// Scope is what of a principal, beside the org, decides on the rows it sees.
	// Nil is all there is: the user, the roles and the attributes.
	Scope   func(footnote.Principal) []string
	Now     func() time.Time
	Logger  *slog.Logger
	Metrics Metrics
}

// Bounds of what is cached.
const (
	MaxTTL   = 24 * time.Hour
	maxInput = 64 << 10 // of a call
	maxEntry = 8 << 20  // encoded
)

// Cache caches the results of tools. Its methods may be called from several
// goroutines.
type Cache struct {
	opts Options

	mu      sync.Mutex // guards flights
	flights map[string]*flight
}

// flight is a call that runs now, and others wait for.
type flight struct {
	done chan struct{}
	data []byte // the entry; nil when it cannot be shared
}

// New makes a cache.
func New(o Options) *Cache {
	if o.Scope == nil {
		o.Scope = wholePrincipal
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = uncounted{}
	}
	return &Cache{opts: o, flights: map[string]*flight{}}
}

type uncounted struct{}

func (uncounted) CacheLooked(string, string) {}
func (uncounted) CacheFailed(string)         {}

// Close closes the backend.
func (c *Cache) Close() error { return c.opts.Backend.Close() }

// Forget removes what the calls of a conversation left in the cache. Where it cannot,
// entries go when their time is over.
func (c *Cache) Forget(ctx context.Context, conversation string) error {
	err := c.opts.Backend.Drop(ctx, conversation)
	if err != nil {
		c.opts.Metrics.CacheFailed("drop")
	}
	return err
}

// Rule says how a tool is cached.
type Rule struct {
	TTL time.Duration // 0: not at all
	// Config is what else the tool's results follow from, such as its limits and its
	// own statement.
	Config string
	// Source is the one source that the tool reads; empty: the one that its input
	// names, or else any of the conversation's.
	Source string
	// Remarks are fields of the input that are for people to read and never reach the
	// data. They are no part of the key.
	Remarks []string
}

// Tool is t with a cache before it.
func (c *Cache) Tool(t agent.Tool, r Rule) agent.Tool {
	if r.TTL <= 0 {
		return t
	}
	r.TTL = min(r.TTL, MaxTTL)
	return tool{Tool: t, cache: c, rule: r}
}

type tool struct {
	agent.Tool
	cache *Cache
	rule  Rule
}

// Call implements agent.Tool.
func (t tool) Call(ctx context.Context, call agent.Call) (agent.Output, error) {
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
		return agent.Output{}, context.Cause(ctx)
	}
	if out, err := t.cache.decode(ctx, f.data, k, t.rule.TTL, call.ResultID); f.data != nil && err == nil {
		t.looked("shared")
		return out, nil
	}
	// What the other call gave was for itself alone: an error, or too much.
	t.looked("miss")
	return t.Tool.Call(ctx, call)
}

func (t tool) looked(outcome string) { t.cache.opts.Metrics.CacheLooked(t.Spec().Name, outcome) }

// lead answers a call for all who wait for it.
func (t tool) lead(ctx context.Context, k key, call agent.Call, f *flight) (agent.Output, error) {
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

// run calls the tool and keeps what it gives.
func (t tool) run(ctx context.Context, k key, call agent.Call, f *flight) (agent.Output, error) {
	c := t.cache
	// The tool writes the id of its result into what the model reads. Under a hit it
	// has another id, so it gets one here that nothing else can be.
	mark, id := newMark(), call.ResultID
	call.ResultID = mark
	begun := c.opts.Now()
	own, ran := footnote.WithStatements(ctx)
	out, err := t.Tool.Call(own, call)
	var tables []string
	for _, st := range ran.All() {
		footnote.NoteStatement(ctx, st)
		if strings.HasPrefix(out.SQL, st.SQL) { // an operator's has its arguments behind it
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
	// Data that changed while the statement ran may be of before or after.
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
		return // it has been said
	}
	c.opts.Logger.WarnContext(ctx, "cache failed", "what", what, "err", err)
}

// cacheable reports whether an output may answer other calls: rows of a statement
// that would give the same again.
func cacheable(out agent.Output) bool {
	return !out.IsError && out.Fault == "" && out.Rows != nil && out.Source != "" && out.SQL != "" &&
		out.Chart == nil && out.Detail == nil && !volatile.MatchString(out.SQL)
}

// volatile matches statements whose rows do not follow from the data alone. What it
// matches needlessly costs a query; so it takes no care of strings and comments.
var volatile = regexp.MustCompile(`(?i)\b(now|today|curdate|curtime|current_\w+|local_?time\w*|getdate|sysdate\w*|\w*_timestamp|timeofday|julianday|unixepoch|strftime|` +
	`\w*random\w*|rand\w*|\w*uuid\w*|nextval|currval|setseed|sample|tablesample|changes|total_changes|last_insert_rowid|pg_sleep|session_user|txid_\w+|pg_current_\w+)\b`)

// join returns the running call of a key, or makes it.
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

// leave ends a running call, also one whose tool panics.
func (c *Cache) leave(hash string, f *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.flights, hash)
	close(f.done)
}

// newMark is a stand-in for the id of a result: no text of a database holds it.
func newMark() string { return "r" + rand.Text() }

var isMark = regexp.MustCompile(`^r[A-Z2-7]{26}$`)

// entry is a result as it is kept.
type entry struct {
	Format    int               `json:"format"`
	Key       []byte            `json:"key"`
	Mark      string            `json:"mark"` // stands for the result's id in Content
	Made      time.Time         `json:"made"` // when the statement was begun
	Content   string            `json:"content"`
	Source    string            `json:"source"`
	SQL       string            `json:"sql"`
	Tables    []string          `json:"tables,omitempty"` // that the statement reads
	Columns   []footnote.Column `json:"columns"`
	Truncated bool              `json:"truncated,omitempty"`
	Rows      json.RawMessage   `json:"rows"`
}
