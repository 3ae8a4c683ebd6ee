package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/aside"
	"github.com/footnotehq/footnote/model"
)

const (
	maxErrorBody = 64 << 10    // bytes read of an error response
	drainTime    = time.Second // to read the end of a finished answer
)

// newHTTPClient returns a client for many concurrent streams. Over TLS it uses HTTP/2 if the server does;
// without TLS, HTTP/1.1.
func newHTTPClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           dial,
			TLSHandshakeTimeout:   10 * time.Second,
			ExpectContinueTimeout: time.Second,
			ForceAttemptHTTP2:     true,
			MaxIdleConns:          2048,
			MaxIdleConnsPerHost:   1024,
			IdleConnTimeout:       90 * time.Second,
			DisableCompression:    true,    // an event must not wait for a compressor's block
			WriteBufferSize:       1 << 10, // each answer occupies a connection, so its memory counts
			HTTP2:                 &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second},
		},
		CheckRedirect: noRedirect,
	}
}

var dialer = &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}

func dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return conn{c}, nil
}

// conn sends bodies from reusable buffers. By default, net/http copies each body through a new buffer.
type conn struct{ net.Conn }

var copyBuffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// ReadFrom sends everything from r.
func (c conn) ReadFrom(r io.Reader) (int64, error) {
	buf := copyBuffers.Get().(*[32 << 10]byte)
	defer copyBuffers.Put(buf)
	return io.CopyBuffer(struct{ io.Writer }{c.Conn}, r, buf[:])
}

// noRedirect refuses redirects: one would send the key to another host.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// watch cancels a call whose upstream is silent: if nothing comes within first, or nothing more for idle
// after a beat. Call beat and stop from one goroutine.
func watch(first, idle time.Duration, cancel context.CancelCauseFunc) (beat, stop func()) {
	firstTimer := time.AfterFunc(first, func() { cancel(errFirstByte) })
	var timer *time.Timer
	beat = func() {
		if timer == nil {
			firstTimer.Stop()
			timer = time.AfterFunc(idle, func() { cancel(errIdle) })
			return
		}
		timer.Reset(idle)
	}
	stop = func() {
		firstTimer.Stop()
		if timer != nil {
			timer.Stop()
		}
	}
	return beat, stop
}

// completeAnswer is the complete answer of one model.
type completeAnswer struct {
	*message
	asked   string // the requested model
	request string // the provider's request id
	prompt  int    // bytes of the request
}

// attempt makes one call of one model.
func (m *Model) attempt(ctx context.Context, model string, body *body, live model.Live) (*completeAnswer, *failure) {
	own, cancel := context.WithCancelCause(ctx)
	beat, stop := watch(m.opts.FirstByte, m.opts.Idle, cancel)
	r := newReader(live)
	res, err := m.begin(own, body, r, beat)
	if err == nil {
		err = m.receive(r, res, beat)
	}
	stop()
	if err != nil {
		f := classify(own, model, err)
		cancel(nil) // closes the upstream connection
		if res != nil {
			res.Body.Close()
			m.addPartial(f, r.msg, model, int(body.size))
		}
		return nil, f
	}
	m.drain(res.Body, cancel)
	request := res.Header.Get("Request-Id")
	return &completeAnswer{message: r.msg, asked: model, request: request, prompt: int(body.size)}, nil
}

// addPartial adds the received part of the answer to a failure.
func (m *Model) addPartial(f *failure, msg *message, model string, prompt int) {
	f.shown, f.begun, f.partial = msg.shown, msg.begun, msg.partial()
	if f.begun {
		f.usage = msg.total(prompt)
		f.cost = m.prices.Cost(served(msg, model), f.usage)
	}
}

// begin sends the request and reads the first events. It does so on another stack (aside), because both calls
// go deep. The response is nil if there is none.
func (m *Model) begin(ctx context.Context, body *body, r *reader, beat func()) (*http.Response, error) {
	return aside.Do(func() (*http.Response, error) {
		res, err := m.post(ctx, body)
		if err == nil && streamed(res) {
			err = r.read(res.Body, beat)
		}
		return res, err
	})
}

// streamed reports whether a response is an event stream. Some servers omit the content type.
func streamed(res *http.Response) bool {
	kind := res.Header.Get("Content-Type")
	if strings.HasPrefix(kind, "text/event-stream") {
		return true // not worth parsing
	}
	kind, _, _ = mime.ParseMediaType(kind)
	return kind != "application/json"
}

// newCall returns the request of a model call without its body. Each call sends a copy.
func newCall(opts Options, key string) (*http.Request, error) {
	call, err := http.NewRequest(http.MethodPost, opts.BaseURL+"/v1/messages", nil)
	if err != nil {
		return nil, err
	}
	h := call.Header
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "text/event-stream")
	h.Set("Anthropic-Version", "2026-10-21")
	h.Set("User-Agent", "footnote")
	if key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
	if opts.Profile == Compatible {
		h.Set("Anthropic-Version", "2023-06-01") // the only version that all such servers know
		if key != "" {
			h.Set("X-Api-Key", key)
		}
	}
	return call, nil
}

// post sends the request and waits for the response headers.
func (m *Model) post(ctx context.Context, body *body) (*http.Response, error) {
	req := m.call.Clone(ctx)
	req.ContentLength = body.size
	req.GetBody = func() (io.ReadCloser, error) { return body.open(), nil }
	req.Body = body.open()
	setOrigin(req)
	res, err := m.http.Do(req)
	switch {
	case err != nil:
		return nil, err
	case res.StatusCode >= 400:
		return nil, readError(res)
	case res.StatusCode != http.StatusOK:
		res.Body.Close()
		return nil, fmt.Errorf("the upstream answered with status %d", res.StatusCode)
	}
	return res, nil
}

// Headers that identify the run. The API's own field, metadata.user_id, is for users, not runs.
const (
	headerRun     = "Footnote-Run"
	headerRequest = "Footnote-Request"
	headerTrace   = "Traceparent" // W3C trace context: a gateway continues the trace
)

// setOrigin tells the upstream, or a gateway in front of it, the run and request of a call, so that their logs can
// be correlated with ours.
func setOrigin(req *http.Request) {
	from := footnote.OriginOf(req.Context())
	for name, value := range map[string]string{
		headerRun: from.Run, headerRequest: from.Request, headerTrace: from.Trace,
	} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
}

// readError reads the start of an error response, and closes its body.
func readError(res *http.Response) error {
	defer res.Body.Close()
	data, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody)) // the status says enough
	e := &statusError{status: res.StatusCode, header: res.Header, body: string(data)}
	var body struct{ Error errorJSON }
	if json.Unmarshal(data, &body) == nil { // a gateway may answer with a page
		e.upstream = body.Error
	}
	return e
}

// receive reads the answer.
func (m *Model) receive(r *reader, res *http.Response, beat func()) error {
	if streamed(res) {
		return r.run(res.Body, beat)
	}
	data, err := io.ReadAll(io.LimitReader(&readerWithBeat{res.Body, beat}, maxMessage+1))
	switch {
	case err != nil:
		return &streamError{kind: cutShort, err: err}
	case len(data) > maxMessage:
		return &streamError{kind: oversized, err: errTooLarge}
	}
	err = r.msg.readWhole(data)
	r.msg.flush()
	return err
}

// readerWithBeat calls beat on every read.
type readerWithBeat struct {
	io.Reader
	beat func()
}

func (b *readerWithBeat) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if n > 0 {
		b.beat()
	}
	return n, err
}

// drain reads the end of a finished answer so that its connection can be reused, and then cancels the
// attempt's context.
func (m *Model) drain(body io.ReadCloser, cancel context.CancelCauseFunc) {
	m.wg.Go(func() {
		timer := time.AfterFunc(drainTime, func() { cancel(nil) })
		stop := context.AfterFunc(m.ctx, func() { cancel(nil) })
		io.Copy(io.Discard, io.LimitReader(body, maxErrorBody)) // a failure only costs the connection
		timer.Stop()
		stop()
		body.Close()
		cancel(nil)
	})
}

func served(msg *message, asked string) string {
	if msg.model != "" {
		return msg.model
	}
	return asked
}

// reply builds the complete message.
func (m *Model) reply(a *completeAnswer) model.Reply {
	out := footnote.AssistantMessage{
		Upstream:   clip(a.id, 200),
		Request:    clip(a.request, 200),
		Model:      clip(served(a.message, a.asked), 200),
		Blocks:     make([]json.RawMessage, len(a.blocks)),
		StopReason: a.stop,
		Usage:      a.total(a.prompt),
	}
	for i, b := range a.blocks {
		out.Blocks[i] = b.done
	}
	out.Cost = m.prices.Cost(out.Model, out.Usage)
	return model.Reply{Message: out}
}

// Check verifies that the upstream is usable: it asks the provider's API for the model, free of charge; from
// another server, any answer is enough. It returns nil or a *footnote.Error.
func (m *Model) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	path := "v1/models"
	if m.opts.Profile == Anthropic && m.opts.Model != "" {
		path += "/" + url.PathEscape(m.opts.Model)
	}
	err := m.get(ctx, path)
	if err == nil {
		return nil
	}
	f := classify(ctx, m.opts.Model, err)
	_, answers := errors.AsType[*statusError](err)
	if m.opts.Profile == Compatible && answers && f.message != sayRefusedKey && f.message != sayForbidden {
		return nil // few of these servers list their models
	}
	var failed *footnote.Error
	if errors.As(m.stepError(f, false), &failed) {
		return failed
	}
	return err
}

// get asks the upstream for a resource, and reads of the answer only whether it is JSON.
func (m *Model) get(ctx context.Context, path string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.opts.BaseURL+"/"+path, nil)
	if err != nil {
		return err
	}
	req.Header = m.call.Header.Clone()
	req.Header.Del("Content-Type")
	req.Header.Set("Accept", "application/json")
	res, err := m.http.Do(req)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return readError(res)
	}
	defer res.Body.Close()
	var answer json.RawMessage
	return json.NewDecoder(io.LimitReader(res.Body, 4<<20)).Decode(&answer)
}
