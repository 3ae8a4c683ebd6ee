package child

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
)

// Client is the server's side of an engine in a child: a source.Source. The first query starts the child; when it
// has ended, the next query starts it again.
type Client struct {
	kind   string
	config any
	opts   Options

	slots chan struct{} // one per concurrent query
	swept sync.Once     // directories of killed servers are removed
	start chan struct{} // held while a child is chosen or started

	schema schemaCache

	mu     sync.Mutex // guards below
	cur    *process
	closed bool
}

var _ source.Source = (*Client)(nil)

// New returns a client for an engine in the table passed to Main. The engine is opened with config, encoded as
// JSON, unless opts.Config returns another. New starts and checks nothing.
func New(kind string, config any, opts Options) *Client {
	opts = opts.withDefaults()
	return &Client{
		kind: kind, config: config, opts: opts,
		slots: make(chan struct{}, opts.Concurrency),
		start: make(chan struct{}, 1),
	}
}

// Dialect implements source.Source.
func (c *Client) Dialect() *source.Dialect { return c.opts.Dialect }

// Limits returns the source's limits, without zero fields.
func (c *Client) Limits() source.Limits { return c.opts.Limits }

// Schema implements source.Source.
func (c *Client) Schema(ctx context.Context) (source.Schema, error) {
	version, err := c.version(ctx)
	if err != nil {
		return source.Schema{}, err
	}
	hidden := source.HiddenFrom(ctx, c.opts.Hiding)
	version = withDigest(version, source.DigestFrom(ctx, c.opts.Hiding))
	s, err := c.schema.get(version, func() (s source.Schema, err error) {
		err = c.callWith(ctx, c.ownTime(), request{Method: "schema", Hidden: hidden}, &s)
		return source.Described(ctx, c.opts.Hiding, s), err
	})
	s.Version += c.visible(ctx)
	return s, err
}

// withDigest adds what is hidden and said about a source to a version. An unknown version stays unknown.
func withDigest(version, digest string) string {
	if version != "" && digest != "" {
		version += " with " + digest
	}
	return version
}

// visible identifies the rows that the principal may see, as a part of a version.
func (c *Client) visible(ctx context.Context) string {
	if c.opts.Filters == nil {
		return ""
	}
	return " " + c.opts.Filters.For(ctx).Digest()
}

// ownTime is the time limit for the program's own requests. It may exceed the limit for queries: that one must not
// prevent opening a source, and describing thousands of tables takes time.
func (c *Client) ownTime() time.Duration { return max(c.opts.Limits.Time, ownTime) }

const ownTime = 90 * time.Second

// Version implements source.Source. With filters, it includes the principal whose rows are visible.
func (c *Client) Version(ctx context.Context) (string, error) {
	v, err := c.version(ctx)
	if err == nil {
		v = withDigest(v, source.DigestFrom(ctx, c.opts.Hiding)) + c.visible(ctx)
	}
	return v, err
}

// version returns the version of the data, for all principals.
func (c *Client) version(ctx context.Context) (v string, err error) {
	if c.opts.Version != nil {
		return c.opts.Version()
	}
	err = c.call(ctx, c.ownTime(), "version", nil, &v)
	return v, err
}

// Probe implements source.Source.
func (c *Client) Probe(ctx context.Context) error {
	return c.call(ctx, c.ownTime(), "probe", nil, nil)
}

// Call runs a method of an engine that is a Caller. It stores the method's result in result unless that is nil. The
// only time limit is ctx's.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	const forever = 365 * 24 * time.Hour
	return c.call(ctx, forever, "call:"+method, params, result)
}

// Status describes the child that serves a client.
type Status struct {
	PID         int
	Resident    int64 // bytes, without file contents; 0 when unknown
	Confinement Confinement
}

// Status describes the child, and starts it if it is not running.
func (c *Client) Status(ctx context.Context) (Status, error) {
	p, err := c.acquire(ctx)
	if err != nil {
		return Status{}, err
	}
	defer p.release()
	rss, _ := residentMemory(p.cmd.Process.Pid)
	return Status{PID: p.cmd.Process.Pid, Resident: rss, Confinement: p.hello.Confinement}, nil
}

// PID returns the process ID of the running child, or 0 when there is none.
func (c *Client) PID() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cur == nil {
		return 0
	}
	select {
	case <-c.cur.gone:
		return 0
	default:
		return c.cur.cmd.Process.Pid
	}
}

// Close ends the child and waits for it. Running queries fail.
func (c *Client) Close() error {
	c.start <- struct{}{}
	defer func() { <-c.start }()
	c.mu.Lock()
	p := c.cur
	c.closed = true
	c.mu.Unlock()
	if p == nil {
		return nil
	}
	if !p.retireIdle() {
		p.kill(errClosed)
	}
	<-p.gone
	return nil
}

var errClosed = errors.New("the source is closed")

// acquire returns the child. It starts one if none is running or the files have been replaced. The caller must
// release it.
func (c *Client) acquire(ctx context.Context) (*process, error) {
	select {
	case c.start <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-c.start }()
	stamp, err := c.opts.Stamp()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	p, closed := c.cur, c.closed
	c.mu.Unlock()
	if closed {
		return nil, errClosed
	}
	hides := c.opts.Hiding != nil && c.opts.Hiding.Any()
	if p != nil {
		if p.hides == hides && c.opts.Same(p.hello.Info, p.stamp, stamp) && p.retain() {
			return p, nil
		}
		p.retire()
	}
	need := Need(c.opts.Limits.Memory)
	if err := c.reserve(ctx, need); err != nil {
		return nil, err
	}
	c.swept.Do(func() { sweep(cmp.Or(c.opts.TempDir, os.TempDir())) })
	p, err = startProcess(ctx, c.kind, c.config, stamp, c.opts)
	c.opts.Pool.started(p, need)
	if err != nil {
		return nil, err
	}
	p.hides = hides
	c.mu.Lock()
	c.cur = p
	c.mu.Unlock()
	return p, nil
}

// reserve waits for a place in the pool and the memory of one child.
func (c *Client) reserve(ctx context.Context, need int64) error {
	errWait := fmt.Errorf("the engine %s waited %s for memory", c.kind, c.opts.Wait)
	wctx, stop := context.WithTimeoutCause(ctx, c.opts.Wait, errWait)
	defer stop()
	err := c.opts.Pool.budget.acquire(wctx, c.opts.Pool, need)
	if errors.Is(err, errWait) {
		return crowded(err)
	}
	return err
}

// Query implements source.Source. Our engines keep no log of their own, so the server logs each statement and whom
// it ran for, at debug level.
func (c *Client) Query(ctx context.Context, q source.Query, each func(row []any) error) (source.Summary, error) {
	sum, err := c.ask(ctx, q, each)
	if c.opts.Logger.Enabled(ctx, slog.LevelDebug) {
		from := footnote.OriginOf(ctx)
		c.opts.Logger.DebugContext(ctx, "statement", "engine", c.kind, "run", from.Run, "request", from.Request,
			"rows", sum.Rows, "took_ms", sum.Elapsed.Milliseconds(), "failed", err != nil)
	}
	return sum, err
}

func (c *Client) ask(ctx context.Context, q source.Query, each func(row []any) error) (source.Summary, error) {
	started := time.Now()
	q.Limits = q.Within(c.opts.Limits)
	limit := q.Limits.Time
	if _, err := appendRow(nil, q.Args); err != nil || len(q.Args) > maxWidth {
		return source.Summary{}, source.Failf("The arguments must be null, boolean, integer, number or text.")
	}
	if len(q.SQL) > 1<<20 {
		return source.Summary{}, source.Refusef("The statement is longer than 1 MB.")
	}
	release, err := c.slot(ctx, limit)
	if err != nil {
		return source.Summary{}, err
	}
	defer release()
	// If the child ended because of another query, this one runs once more, unless it has already returned rows.
	for again := true; ; again = false {
		m := &meter{limits: q.Limits}
		q.Limits.Time = max(limit-time.Since(started), time.Millisecond)
		sum, err := c.query(ctx, q, limit, m, each)
		sum.Elapsed = time.Since(started)
		lost, ok := errors.AsType[*childLostError](err)
		if !ok {
			return sum, err
		}
		if !again || m.rows > 0 {
			return sum, lost.cause
		}
	}
}

// slot waits until the query may run: opts.Concurrency of them run at once.
func (c *Client) slot(ctx context.Context, limit time.Duration) (release func(), err error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case c.slots <- struct{}{}:
		return func() { <-c.slots }, nil
	case <-timer.C:
		return nil, busy(limit)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func busy(limit time.Duration) *source.Error {
	return source.Limitf("The database was busy with other queries for %s. Try again.", limit.String())
}

// query makes one attempt. Limit is the time limit to report when it expires.
func (c *Client) query(ctx context.Context, q source.Query, limit time.Duration, m *meter,
	each func(row []any) error) (source.Summary, error) {
	actx, stop := context.WithTimeoutCause(ctx, q.Limits.Time, errDeadline)
	p, err := c.acquire(actx)
	stop()
	if errors.Is(err, errDeadline) || footnote.CodeOf(err) == footnote.RateLimited && c.opts.Profile != Load {
		return source.Summary{}, busy(limit)
	}
	if err != nil {
		return source.Summary{}, err
	}
	defer p.release()
	hidden := source.HiddenFrom(ctx, c.opts.Hiding)
	if len(hidden) > 0 && !p.hides {
		return source.Summary{}, source.Limitf("What you may see of the database has just changed. Try again.")
	}
	payload, err := encodeQuery(q, c.opts.Filters.For(ctx), hidden)
	if err != nil {
		return source.Summary{}, err
	}
	r := &reading{ctx: ctx, p: p, m: m, each: each, limit: limit}
	// The child enforces the deadline itself; this timer catches a child that does not.
	sum, err := r.run(frameQuery, payload, q.Limits.Time+c.opts.Grace)
	return source.Label(c.opts.Hiding, sum), hidden.Redact(q.SQL, q.Own, err)
}

// call sends one request other than a query.
func (c *Client) call(ctx context.Context, limit time.Duration, method string, params, result any) error {
	data, err := json.Marshal(params)
	if err != nil {
		return err
	}
	return c.callWith(ctx, limit, request{Method: method, Params: data}, result)
}

// callWith does the work of call.
func (c *Client) callWith(ctx context.Context, limit time.Duration, q request, result any) error {
	data, err := json.Marshal(q)
	if err != nil {
		return err
	}
	p, err := c.acquire(ctx)
	if err != nil {
		return err
	}
	defer p.release()
	r := &reading{ctx: ctx, p: p, m: &meter{}, limit: limit}
	if _, err := r.run(frameCall, data, limit); err != nil {
		if lost, ok := errors.AsType[*childLostError](err); ok {
			return lost.cause
		}
		return err
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(r.result, result); err != nil {
		return fmt.Errorf("decode the engine's %s: %w", q.Method, err)
	}
	return nil
}

// reading tracks one request until its end.
type reading struct {
	ctx    context.Context
	p      *process
	id     uint32
	answer chan frame
	m      *meter
	each   func(row []any) error
	limit  time.Duration
	width  int
	result json.RawMessage
}

// run sends the request and reads its answer. It kills a child that does not answer within the given time.
func (r *reading) run(kind byte, payload []byte, within time.Duration) (source.Summary, error) {
	r.id, r.answer = r.p.begin(kind, payload)
	defer r.p.finish(r.id)
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	for {
		var f frame
		select {
		case f = <-r.answer:
		default:
			select {
			case f = <-r.answer:
			case <-r.ctx.Done():
				return r.stop(context.Cause(r.ctx))
			case <-deadline.C:
				err := timedOut(r.limit)
				r.p.kill(&childLostError{errRestarted})
				return r.partial(), err
			case <-r.p.gone:
				if len(r.answer) > 0 {
					continue // it answered before it ended
				}
				return r.partial(), r.p.ended()
			}
		}
		if f.kind == frameEnd {
			return r.end(f)
		}
		if err := r.handleFrame(f); err != nil {
			return r.stop(err)
		}
	}
}

var errGarbled = source.Failf("The database engine sent an invalid response and was stopped. Run the query again.")

var errRestarted = source.Failf(
	"The database engine was restarted because another query had to be stopped. Run the query again.")

// handleFrame handles a frame that comes before the reply.
func (r *reading) handleFrame(f frame) error {
	if f.kind != framePart {
		return r.rows(f)
	}
	if r.each != nil || len(r.result)+len(f.payload) > maxResult {
		r.p.kill(&childLostError{errRestarted})
		return errGarbled
	}
	r.result = append(r.result, f.payload...)
	r.p.write(appendFrame(nil, frameAck, r.id, nil))
	return nil
}

// rows delivers a batch.
func (r *reading) rows(f frame) error {
	b := f.payload
	for len(b) > 0 {
		row, rest, err := takeRow(b)
		if err != nil || (r.m.rows > 0 && len(row) != r.width) || r.m.add(row) != nil {
			r.p.kill(&childLostError{errRestarted})
			return errGarbled
		}
		b, r.width = rest, len(row)
		if err := r.each(row); err != nil {
			return err
		}
	}
	if f.kind == frameRows {
		r.p.write(appendFrame(nil, frameAck, r.id, nil))
	}
	return nil
}

// end handles the reply.
func (r *reading) end(f frame) (source.Summary, error) {
	var rep reply
	if err := json.Unmarshal(f.payload, &rep); err != nil {
		return source.Summary{}, fmt.Errorf("read the engine's reply: %w", err)
	}
	sum := r.partial()
	sum.Columns = rep.Columns
	if len(r.result) == 0 { // the result is in the reply itself
		r.result = rep.Result
	}
	for _, name := range rep.Tables {
		sum.Tables = append(sum.Tables, clean(name))
	}
	switch {
	case rep.Error != nil:
		return sum, rep.Error.err()
	case rep.TimedOut: // report the whole limit, even if part of it was spent waiting
		return sum, timedOut(r.limit)
	case rep.Cancelled:
		return sum, source.Failf("The query was cancelled.")
	case rep.Rows != r.m.rows || (r.m.rows > 0 && r.width != len(rep.Columns)):
		return sum, source.Failf("The database engine lost rows. Run the query again.")
	}
	if rep.Limit == "rows" || rep.Limit == "bytes" {
		sum.Truncated, sum.Limit = true, rep.Limit
	}
	return sum, nil
}

func (r *reading) partial() source.Summary { return source.Summary{Rows: r.m.rows} }

// stop cancels the request and waits for its end. It kills a child that takes longer than the grace period.
func (r *reading) stop(why error) (source.Summary, error) {
	r.p.write(appendFrame(nil, frameCancel, r.id, nil))
	grace := time.NewTimer(r.p.opts.Grace)
	defer grace.Stop()
	for {
		select {
		case f := <-r.answer:
			if f.kind == frameEnd {
				return r.partial(), why
			}
		case <-r.p.gone:
			return r.partial(), why
		case <-grace.C:
			r.p.kill(&childLostError{errRestarted})
			return r.partial(), why
		}
	}
}
