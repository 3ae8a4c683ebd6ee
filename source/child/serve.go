package child

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/footnotehq/footnote/source"
)

const marker = "FOOTNOTE_ENGINE_CHILD" // the only variable set in a child's environment

var (
	errDeadline  = errors.New("the query's time is over")
	errCancelled = errors.New("the query was cancelled")
)

// Main serves an engine and never returns if the process was started as a child; otherwise it returns at once. Call
// it before anything looks at the arguments or opens files.
func Main(engines map[string]OpenFunc) {
	if os.Getenv(marker) == "" {
		return
	}
	in, out, err := takePipes()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	s := &server{out: out, requests: make(map[uint32]*running)}
	if err := s.run(in, engines); err != nil && !errors.Is(err, io.EOF) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// server is the child's side of the pipe.
type server struct {
	out    io.Writer
	engine Engine

	writing sync.Mutex // held for one Write to out

	mu       sync.Mutex // guards below
	requests map[uint32]*running
}

// running is a request in progress.
type running struct {
	cancel context.CancelCauseFunc
	credit chan struct{} // one token per unacknowledged batch that may still be sent
}

// run serves until the pipe ends, which also tells the child that the server is gone.
func (s *server) run(in io.Reader, engines map[string]OpenFunc) error {
	r := bufio.NewReaderSize(in, 64<<10)
	first, err := readFrame(r)
	if err != nil {
		return err
	}
	var l launch
	if err := json.Unmarshal(first.payload, &l); err != nil || first.kind != frameOpen {
		return fmt.Errorf("read launch: %w", errors.Join(errFrame, err))
	}
	frames := make(chan frame)
	ended := make(chan error, 1)
	go func() { // keep reading while the engine opens, to notice when the server is gone
		for {
			f, err := readFrame(r)
			if err != nil {
				ended <- err
				return
			}
			frames <- f
		}
	}()
	opened := make(chan hello, 1)
	go func() { opened <- s.open(l, engines) }()
	for {
		select {
		case h := <-opened:
			data, err := json.Marshal(h)
			if err != nil {
				return err
			}
			s.write(appendFrame(nil, frameHello, 0, data))
		case f := <-frames:
			if err := s.accept(f); err != nil {
				return err
			}
		case err := <-ended:
			s.cleanUp(l)
			return err
		}
	}
}

// cleanUp closes a loading engine and empties the private directory.
func (s *server) cleanUp(l launch) {
	if l.Profile == Load && s.engine != nil {
		s.engine.Close() // let a load end cleanly; a reader has nothing to lose
	}
	if l.Temp == "" {
		return
	}
	entries, _ := os.ReadDir(l.Temp)
	for _, e := range entries {
		os.RemoveAll(filepath.Join(l.Temp, e.Name()))
	}
}

func (s *server) open(l launch, engines map[string]OpenFunc) (h hello) {
	defer func() {
		if p := recover(); p != nil {
			h.Error = &wireError{Text: fmt.Sprintf("opening the database panicked: %v", p)}
			os.Stderr.Write(debug.Stack())
		}
	}()
	open, ok := engines[l.Kind]
	if !ok {
		return hello{Error: &wireError{Text: fmt.Sprintf("this program has no engine %q", l.Kind)}}
	}
	c, err := dropPrivileges(l)
	if err != nil {
		return hello{Error: &wireError{Text: "confining the engine: " + err.Error()}}
	}
	h.Confinement = c
	s.engine, err = open(context.Background(), l.Config)
	if err != nil {
		h.Error = toWire(err)
		return h
	}
	if i, ok := s.engine.(Informer); ok {
		if h.Info, err = json.Marshal(i.Info()); err != nil {
			h.Error = toWire(err)
		}
	}
	return h
}

// accept starts, feeds or cancels a request.
func (s *server) accept(f frame) error {
	switch f.kind {
	case frameQuery, frameCall:
		ctx, cancel := context.WithCancelCause(context.Background())
		req := &running{cancel: cancel, credit: make(chan struct{}, window)}
		for range window {
			req.credit <- struct{}{}
		}
		s.mu.Lock()
		s.requests[f.id] = req
		s.mu.Unlock()
		go s.serve(ctx, req, f)
	case frameCancel, frameAck:
		s.mu.Lock()
		req := s.requests[f.id]
		s.mu.Unlock()
		if req == nil {
			return nil // the request has just ended
		}
		if f.kind == frameCancel {
			req.cancel(errCancelled)
			return nil
		}
		select {
		case req.credit <- struct{}{}:
		default:
		}
	default:
		return fmt.Errorf("%w: kind %q", errFrame, f.kind)
	}
	return nil
}

// serve answers one request. A panic in the engine ends the child, whose state can no longer be trusted.
func (s *server) serve(ctx context.Context, req *running, f frame) {
	defer req.cancel(nil)
	var tail []byte
	var r reply
	if f.kind == frameQuery {
		tail, r = s.query(ctx, req, f)
	} else {
		r = s.call(ctx, f)
		if len(r.Result) > partSize {
			r = s.sendParts(ctx, req, f.id, r)
		}
	}
	s.mu.Lock()
	delete(s.requests, f.id)
	s.mu.Unlock()
	data, err := json.Marshal(r)
	if err != nil || len(data) > maxRow {
		data, _ = json.Marshal(reply{
			Error: &wireError{Text: fmt.Sprintf("the answer cannot be sent (%d bytes, %v)", len(data), err)},
		})
	}
	s.write(appendFrame(tail, frameEnd, f.id, data))
}

// sendParts sends the result of a call in parts and returns the reply without the result.
func (s *server) sendParts(ctx context.Context, req *running, id uint32, r reply) reply {
	if len(r.Result) > maxResult {
		return reply{Error: &wireError{Text: fmt.Sprintf("the answer cannot be sent (%d bytes)", len(r.Result))}}
	}
	for rest := []byte(r.Result); len(rest) > 0; {
		select {
		case <-req.credit:
		case <-ctx.Done():
			return reply{Cancelled: true}
		}
		n := min(len(rest), partSize)
		s.write(appendFrame(nil, framePart, id, rest[:n]))
		rest = rest[n:]
	}
	r.Result = nil
	return r
}

func (s *server) call(ctx context.Context, f frame) reply {
	var q request
	if err := json.Unmarshal(f.payload, &q); err != nil {
		return reply{Error: &wireError{Text: err.Error()}}
	}
	var v any
	var err error
	switch name, custom := strings.CutPrefix(q.Method, "call:"); {
	case custom:
		caller, ok := s.engine.(Caller)
		if !ok {
			return reply{Error: &wireError{Text: "the engine has no methods of its own"}}
		}
		v, err = caller.Call(ctx, name, q.Params)
	case q.Method == "schema":
		v, err = s.engine.Schema(source.WithHidden(ctx, q.Hidden))
	case q.Method == "version":
		v, err = s.engine.Version(ctx)
	case q.Method == "probe":
		err = s.engine.Probe(ctx)
	default:
		err = fmt.Errorf("unknown method %q", q.Method)
	}
	if err != nil {
		return reply{Error: toWire(err), Cancelled: ctx.Err() != nil}
	}
	data, err := json.Marshal(v)
	if err != nil {
		return reply{Error: &wireError{Text: err.Error()}}
	}
	return reply{Result: data}
}

// query runs a query and streams its rows. It returns the last rows, at most one batch, as tail, which is sent
// together with the reply.
func (s *server) query(ctx context.Context, req *running, f frame) (tail []byte, r reply) {
	q, within, err := decodeQuery(f.payload)
	if err != nil {
		return nil, reply{Error: &wireError{Text: err.Error()}}
	}
	ctx = context.WithValue(ctx, conditionsKey{}, within.Conditions)
	ctx = source.WithHidden(ctx, within.Hidden)
	ctx, stop := context.WithTimeoutCause(ctx, q.Limits.Time, errDeadline)
	defer stop()
	out := &batch{server: s, id: f.id, req: req, ctx: ctx, sent: time.Now(), meter: meter{limits: q.Limits}}
	sum, err := s.engine.Query(ctx, q, out.add)
	sum = out.meter.summary(sum, 0)
	switch {
	case errors.Is(context.Cause(ctx), errCancelled):
		return nil, reply{Cancelled: true}
	case err == nil || errors.Is(err, errEnough):
		return out.tail(), reply{Columns: sum.Columns, Tables: sum.Tables, Rows: sum.Rows, Limit: sum.Limit}
	case errors.Is(context.Cause(ctx), errDeadline):
		return out.tail(), reply{Tables: sum.Tables, TimedOut: true}
	}
	return out.tail(), reply{Tables: sum.Tables, Error: toWire(err)}
}

// batch collects the rows of one query into frames.
type batch struct {
	server *server
	id     uint32
	req    *running
	ctx    context.Context
	meter  meter
	buf    []byte
	sent   time.Time
}

func (b *batch) add(row []any) error {
	if err := b.ctx.Err(); err != nil {
		return context.Cause(b.ctx)
	}
	if err := b.meter.add(row); err != nil {
		return err
	}
	if len(b.buf) == 0 {
		b.buf = beginFrame(b.buf, frameRows, b.id)
	}
	var err error
	if b.buf, err = appendRow(b.buf, row); err != nil {
		return err
	}
	if len(b.buf) < batchSize && (b.meter.rows&63 != 0 || time.Since(b.sent) < 50*time.Millisecond) {
		return nil
	}
	select {
	case <-b.req.credit:
	case <-b.ctx.Done():
		return context.Cause(b.ctx)
	}
	b.server.write(endFrame(b.buf, 0))
	b.buf, b.sent = b.buf[:0], time.Now()
	return nil
}

func (b *batch) tail() []byte {
	if len(b.buf) == 0 {
		return nil
	}
	b.buf[4] = frameTail
	return endFrame(b.buf, 0)
}

// write sends whole frames. If the pipe is broken, the server is gone and the child exits.
func (s *server) write(frames []byte) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if _, err := s.out.Write(frames); err != nil {
		os.Exit(1)
	}
}

// Local runs an engine in the server's own process, with the same counting of rows and time as in a child but
// without confinement. It is for tests and for databases on a server. The schema is read again when the engine's
// Version changes. The engine reads what Hiding, which may be nil, hides from a query with source.HiddenIn.
func Local(dialect *source.Dialect, engine Engine, limits source.Limits, hiding source.Hiding) source.Source {
	return &local{
		dialect: dialect, Engine: engine, limits: Options{Limits: limits}.withDefaults().Limits, hiding: hiding,
	}
}

type local struct {
	Engine
	dialect *source.Dialect
	limits  source.Limits
	hiding  source.Hiding
	schema  schemaCache
}

func (l *local) Dialect() *source.Dialect { return l.dialect }

// Schema implements source.Source.
func (l *local) Schema(ctx context.Context) (source.Schema, error) {
	version, err := l.Version(ctx)
	if err != nil {
		return source.Schema{}, err
	}
	return l.schema.get(version, func() (source.Schema, error) {
		s, err := l.Engine.Schema(source.WithHidden(ctx, source.HiddenFrom(ctx, l.hiding)))
		return source.Described(ctx, l.hiding, s), err
	})
}

// Version implements source.Source.
func (l *local) Version(ctx context.Context) (string, error) {
	v, err := l.Engine.Version(ctx)
	return withDigest(v, source.DigestFrom(ctx, l.hiding)), err
}

// schemaCache holds the schemas of the last few versions: those of one version of the data, for principals who see
// different columns.
type schemaCache struct {
	mu      sync.Mutex // guards below
	schemas []source.Schema
}

// cachedSchemas is the number of schemas in a cache.
const cachedSchemas = 8

// get returns the schema of a version, and reads it if the cache does not have it. An empty version is never cached.
func (c *schemaCache) get(version string, read func() (source.Schema, error)) (source.Schema, error) {
	c.mu.Lock()
	for _, known := range c.schemas {
		if version != "" && known.Version == version {
			c.mu.Unlock()
			return known, nil
		}
	}
	c.mu.Unlock()
	fresh, err := read()
	if err != nil {
		return source.Schema{}, err
	}
	fresh.Version = version
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.schemas) == cachedSchemas {
		c.schemas = slices.Delete(c.schemas, 0, 1)
	}
	c.schemas = append(c.schemas, fresh)
	return fresh, nil
}

func (l *local) Query(ctx context.Context, q source.Query, each func(row []any) error) (source.Summary, error) {
	begun := time.Now()
	q.Limits = q.Within(l.limits)
	hidden := source.HiddenFrom(ctx, l.hiding)
	qctx, stop := context.WithTimeoutCause(source.WithHidden(ctx, hidden), q.Limits.Time, errDeadline)
	defer stop()
	m := meter{limits: q.Limits}
	var failed error
	sum, err := l.Engine.Query(qctx, q, func(row []any) error {
		if err := m.add(row); err != nil {
			return err
		}
		failed = each(row)
		return failed
	})
	sum = m.summary(sum, time.Since(begun))
	switch {
	case failed != nil:
		return sum, failed
	case err == nil || errors.Is(err, errEnough):
		return source.Label(l.hiding, sum), nil
	case ctx.Err() != nil:
		return sum, context.Cause(ctx)
	case qctx.Err() != nil:
		return sum, timedOut(q.Limits.Time)
	default:
		return sum, hidden.Redact(q.SQL, q.Own, err)
	}
}
