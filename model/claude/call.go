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
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
)

const (
	maxErrorBody = 64 << 10    // bytes read of an error answer
	drainTime    = time.Second // for the end of a finished answer
)

// newHTTPClient makes a client for many streams at once. Over TLS it speaks
// HTTP/2 where the server does; in the clear, HTTP/1.1.
func newHTTPClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			TLSHandshakeTimeout:   10 * time.Second,
			ExpectContinueTimeout: time.Second,
			ForceAttemptHTTP2:     true,
			MaxIdleConns:          2048,
			MaxIdleConnsPerHost:   1024,
			IdleConnTimeout:       90 * time.Second,
			DisableCompression:    true, // an event must not wait for a compressor's block
			ReadBufferSize:        8 << 10,
			HTTP2:                 &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second},
		},
		CheckRedirect: noRedirect,
	}
}

// noRedirect refuses to follow: a redirect would carry the key to another host.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// watch ends a call whose upstream is silent: when nothing comes within first,
// and when nothing more comes for idle after a beat. beat and stop are called from
// one goroutine.
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

// attempt makes one call of one model.
func (m *Model) attempt(ctx context.Context, model string, body *body, req agent.Request, live agent.Live) (agent.Reply, *failure) {
	own, cancel := context.WithCancelCause(ctx)
	beat, stop := watch(m.opts.FirstByte, m.opts.Idle, cancel)
	res, err := m.post(own, body)
	if err != nil {
		f := classify(own, model, err)
		stop()
		cancel(nil)
		return agent.Reply{}, f
	}
	r := newReader(live)
	err = m.receive(r, res, beat)
	stop()
	prompt := int(body.size)
	if err != nil {
		f := classify(own, model, err)
		cancel(nil) // closes the upstream connection
		res.Body.Close()
		f.shown, f.begun, f.partial = r.msg.shown, r.msg.begun, r.msg.partial()
		if f.begun {
			f.usage = r.msg.total(prompt)
			f.cost = m.prices.Cost(served(r.msg, model), f.usage)
		}
		return agent.Reply{}, f
	}
	m.drain(res.Body, cancel)
	return m.reply(r.msg, model, prompt, res.Header.Get("Request-Id")), nil
}

// post sends the request and waits for the headers of the answer.
func (m *Model) post(ctx context.Context, body *body) (*http.Response, error) {
	var res *http.Response
	send := func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "text/event-stream")
		req.ContentLength = body.size
		req.GetBody = func() (io.ReadCloser, error) { return body.open(), nil }
		req.Body = body.open()
		res, err := next(req)
		if res != nil && res.StatusCode >= 400 {
			res.Body = &boundedBody{io.LimitReader(res.Body, maxErrorBody), res.Body}
		}
		return res, err
	}
	err := m.client.Post(ctx, "v1/messages", nil, &res, option.WithMiddleware(send))
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		res.Body.Close()
		return nil, fmt.Errorf("the upstream answered with status %d", res.StatusCode)
	}
	return res, nil
}

// boundedBody is a body of which only the beginning is read.
type boundedBody struct {
	io.Reader
	io.Closer
}

// receive reads the answer.
func (m *Model) receive(r *reader, res *http.Response, beat func()) error {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if kind != "application/json" {
		return r.run(res.Body, beat)
	}
	data, err := io.ReadAll(io.LimitReader(&beating{res.Body, beat}, maxMessage+1))
	switch {
	case err != nil:
		return &streamError{kind: cutShort, err: err}
	case len(data) > maxMessage:
		return &streamError{kind: oversized, err: errTooLarge}
	}
	err = r.msg.whole(data)
	if r.msg.shown {
		r.live.Flush()
	}
	return err
}

// beating tells the watchdog of every read.
type beating struct {
	io.Reader
	beat func()
}

func (b *beating) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if n > 0 {
		b.beat()
	}
	return n, err
}

// drain reads the end of a finished answer, so that its connection can be used
// again, and then ends the attempt's context.
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

// reply makes the complete message.
func (m *Model) reply(msg *message, asked string, prompt int, request string) agent.Reply {
	out := footnote.AssistantMessage{
		Upstream:   clip(msg.id, 200),
		Request:    clip(request, 200),
		Model:      clip(served(msg, asked), 200),
		Blocks:     make([]json.RawMessage, len(msg.blocks)),
		StopReason: msg.stop,
		Usage:      msg.total(prompt),
	}
	for i, b := range msg.blocks {
		out.Blocks[i] = b.done
	}
	out.Cost = m.prices.Cost(out.Model, out.Usage)
	return agent.Reply{Message: out}
}

// Check finds out whether the upstream can be used: the vendor's API is asked for
// the model, free of charge; of another server it is enough that it answers. It
// returns nil or a *footnote.Error.
func (m *Model) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	path := "v1/models"
	if m.opts.Profile == Anthropic && m.opts.Model != "" {
		path += "/" + url.PathEscape(m.opts.Model)
	}
	var raw []byte
	limit := func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		res, err := next(req)
		if res != nil {
			res.Body = &boundedBody{io.LimitReader(res.Body, 4<<20), res.Body}
		}
		return res, err
	}
	err := m.client.Get(ctx, path, nil, &raw, option.WithMiddleware(limit))
	if err == nil {
		return nil
	}
	f := classify(ctx, m.opts.Model, err)
	if m.opts.Profile == Compatible && f.message != sayUnreachable && f.message != sayRefusedKey && f.message != sayForbidden {
		return nil // it answers; few of these servers list their models
	}
	var failed *footnote.Error
	if errors.As(m.stepError(f, false), &failed) {
		return failed
	}
	return err
}
