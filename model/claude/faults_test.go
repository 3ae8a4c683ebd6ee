package claude

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/model/modeltest"
)

func errorReply(f modeltest.Failure) modeltest.Reply { return modeltest.Reply{Error: &f} }

// TestFailuresBeforeAnswerAreRetried checks that failures before anything was shown are retried, or mapped to what a
// client sees.
func TestFailuresBeforeAnswerAreRetried(t *testing.T) {
	ok := modeltest.Say("fine")
	four := func(r modeltest.Reply) []modeltest.Reply { return []modeltest.Reply{r, r, r, r, ok} }
	text := modeltest.Say("one two three")
	for _, tc := range []struct {
		name    string
		replies []modeltest.Reply
		code    footnote.Code // of the error; empty: the step succeeds
		tries   int64
		message string
	}{
		{
			"429 with retry-after", []modeltest.Reply{errorReply(modeltest.Failure{Status: 429, RetryAfter: "2"}), ok},
			"", 2, "",
		},
		{"429 without, once", []modeltest.Reply{modeltest.Fail(429), ok}, "", 2, ""},
		{
			"429 without, twice", []modeltest.Reply{modeltest.Fail(429), modeltest.Fail(429), ok},
			footnote.RateLimited, 2, "",
		},
		{
			"429 for long", []modeltest.Reply{errorReply(modeltest.Failure{Status: 429, RetryAfter: "300"}), ok},
			footnote.RateLimited, 1, "",
		},
		{
			"429 spend cap", []modeltest.Reply{
				errorReply(modeltest.Failure{Status: 429, Code: "enforced_spend_limit_reached"}), ok,
			}, footnote.ModelUnavailable, 1, "spending limit",
		},
		{
			"429 ramp", []modeltest.Reply{
				errorReply(modeltest.Failure{Status: 429, Code: "ramp_limit_exceeded", RetryAfter: "1"}), ok,
			}, "", 2, "",
		},
		{"529", []modeltest.Reply{modeltest.Fail(529), modeltest.Fail(529), modeltest.Fail(529), ok}, "", 4, ""},
		{"529 for ever", four(modeltest.Fail(529)), footnote.ModelUnavailable, 4, "overloaded"},
		{"500", []modeltest.Reply{modeltest.Fail(500), ok}, "", 2, ""},
		{
			"502", []modeltest.Reply{errorReply(modeltest.Failure{Status: 502, Body: "<html>bad gateway</html>"}), ok},
			"", 2, "",
		},
		{"408", []modeltest.Reply{modeltest.Fail(408), ok}, "", 2, ""},
		{"409", []modeltest.Reply{modeltest.Fail(409), ok}, "", 2, ""},
		{"504 for ever", four(modeltest.Fail(504)), footnote.AgentTimeout, 4, ""},
		{
			"500, do not retry", []modeltest.Reply{
				errorReply(modeltest.Failure{Status: 500, ShouldRetry: "false"}), ok,
			}, footnote.ModelUnavailable, 1, "",
		},
		{
			"400, do retry", []modeltest.Reply{errorReply(modeltest.Failure{Status: 400, ShouldRetry: "true"}), ok},
			"", 2, "",
		},
		{"400", []modeltest.Reply{modeltest.Fail(400), ok}, footnote.Internal, 1, ""},
		{
			"400 too long", []modeltest.Reply{
				errorReply(modeltest.Failure{
					Status:  400,
					Message: "prompt is too long: 210000 tokens > 200000 maximum",
				}), ok,
			}, footnote.InputTooLong, 1, "",
		},
		{"401", []modeltest.Reply{modeltest.Fail(401), ok}, footnote.ModelUnavailable, 1, "refused our key"},
		{"402", []modeltest.Reply{modeltest.Fail(402), ok}, footnote.ModelUnavailable, 1, "billing"},
		{"403", []modeltest.Reply{modeltest.Fail(403), ok}, footnote.ModelUnavailable, 1, "does not let our key"},
		{"404", []modeltest.Reply{modeltest.Fail(404), ok}, footnote.ModelUnavailable, 1, "unknown or retired"},
		{"413", []modeltest.Reply{modeltest.Fail(413), ok}, footnote.TooLarge, 1, ""},
		{"422", []modeltest.Reply{modeltest.Fail(422), ok}, footnote.Internal, 1, ""},
		{
			"odd error body", []modeltest.Reply{
				errorReply(modeltest.Failure{Status: 500, Body: `{"error":"out of memory"}`}), ok,
			}, "", 2, "",
		},
		{
			"error type of another server", []modeltest.Reply{
				errorReply(modeltest.Failure{
					Status: 404,
					Body:   `{"type":"error","error":{"type":"NotFoundError","message":"no"}}`,
				}),
			}, footnote.ModelUnavailable, 1, "unknown or retired",
		},
		{"reset before the first delta", []modeltest.Reply{text.Break(modeltest.Reset, 0), ok}, "", 2, ""},
		{"drop before the first delta", []modeltest.Reply{text.Break(modeltest.Drop, 0), ok}, "", 2, ""},
		{"end before the first delta", []modeltest.Reply{text.Break(modeltest.EOF, 0), ok}, "", 2, ""},
		{"garbage before the first delta", []modeltest.Reply{text.Break(modeltest.Garbage, 0), ok}, "", 2, ""},
		{"stall before the first delta", []modeltest.Reply{text.Break(modeltest.Stall, 0), ok}, "", 2, ""},
		{"stall before the headers", []modeltest.Reply{{Wait: time.Hour}, ok}, "", 2, ""},
		{"stall after the headers", []modeltest.Reply{{Hold: time.Hour}, ok}, "", 2, ""},
		{"stalls for ever", four(modeltest.Reply{Wait: time.Hour}), footnote.AgentTimeout, 4, "in time"},
		{"error event before the first delta", []modeltest.Reply{text.Break(modeltest.ErrorIn, 0), ok}, "", 2, ""},
		{
			"error event that will not pass", []modeltest.Reply{
				{Text: "x", Fault: &modeltest.Fault{Kind: modeltest.ErrorIn, Type: "invalid_request_error"}}, ok,
			}, footnote.Internal, 1, "",
		},
		{"empty body", []modeltest.Reply{{Raw: "\n"}, ok}, "", 2, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			limit := time.Minute
			if strings.HasPrefix(tc.name, "stall") {
				limit = time.Second // the second answer must arrive within it
			}
			m, s := setup(t, replies(tc.replies...), Options{FirstByte: limit, Idle: limit})
			live := &recorder{}
			reply, err := m.Step(t.Context(), ask(user("hi")), live)
			if got := s.Metrics().Requests; got != tc.tries {
				t.Errorf("%d requests, want %d", got, tc.tries)
			}
			if len(live.retries) != int(tc.tries)-1 {
				t.Errorf("retries reported: %v", live.retries)
			}
			if tc.code == "" {
				if err != nil || textOf(reply.Message) != "fine" || len(live.bad) > 0 || live.text[0] != "fine" {
					t.Errorf("reply %+v, error %v, live %+v", reply, err, live)
				}
				return
			}
			e := stepError(t, err)
			if e.Code != tc.code || footnote.CodeOf(err) != tc.code || e.Again ||
				!strings.Contains(e.Message, tc.message) {
				t.Errorf("error = %+v, want code %s and %q", e, tc.code, tc.message)
			}
		})
	}
}

// TestFailuresWithinAnswerAreNotRetried checks that failures after something was shown are never retried here, and that
// the error says when a retry is worthwhile.
func TestFailuresWithinAnswerAreNotRetried(t *testing.T) {
	text := modeltest.Say("one two three")
	errorEvent := func(kind string) modeltest.Reply {
		fault := &modeltest.Fault{Kind: modeltest.ErrorIn, After: 2, Type: kind}
		return modeltest.Reply{Text: "one two three", Fault: fault}
	}
	for _, tc := range []struct {
		name  string
		reply modeltest.Reply
		code  footnote.Code
		again bool
	}{
		{"reset", text.Break(modeltest.Reset, 2), footnote.ModelUnavailable, true},
		{"drop", text.Break(modeltest.Drop, 2), footnote.ModelUnavailable, true},
		{"clean end", text.Break(modeltest.EOF, 2), footnote.ModelUnavailable, true},
		{"clean end after the last delta", text.Break(modeltest.EOF, 99), footnote.ModelUnavailable, true},
		{"garbage", text.Break(modeltest.Garbage, 2), footnote.ModelUnavailable, true},
		{"stall", text.Break(modeltest.Stall, 2), footnote.AgentTimeout, true},
		{"overloaded", text.Break(modeltest.ErrorIn, 2), footnote.ModelUnavailable, true},
		{"rate limit", errorEvent("rate_limit_error"), footnote.RateLimited, true},
		{"api_error", errorEvent("api_error"), footnote.ModelUnavailable, true},
		{"timeout_error", errorEvent("timeout_error"), footnote.AgentTimeout, true},
		{"unknown type", errorEvent("new_error"), footnote.ModelUnavailable, true},
		{"invalid request", errorEvent("invalid_request_error"), footnote.Internal, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			idle := time.Minute
			if tc.name == "stall" {
				idle = time.Second
			}
			m, s := setup(t, replies(tc.reply, modeltest.Say("never")), Options{FirstByte: time.Minute, Idle: idle})
			live := &recorder{}
			_, err := m.Step(t.Context(), ask(user("hi")), live)
			e := stepError(t, err)
			if e.Code != tc.code || e.Again != tc.again || s.Metrics().Requests != 1 || len(live.retries) > 0 {
				t.Errorf("error %+v, %d requests, retries %v", e, s.Metrics().Requests, live.retries)
			}
			if !strings.HasPrefix("one two three", e.Partial) || !strings.HasPrefix(e.Partial, "one two") ||
				live.text[0] != e.Partial {
				t.Errorf("partial = %q, shown %q", e.Partial, live.text[0])
			}
			if !e.Usage.Estimated || e.Usage.Output == 0 || e.Usage.Input == 0 || e.Cost.MicroUSD == 0 {
				t.Errorf("usage %+v, cost %+v", e.Usage, e.Cost)
			}
		})
	}
}

func TestUnreachableUpstream(t *testing.T) {
	m, _ := setup(t, replies(), Options{MaxAttempts: 2})
	gone := httptest.NewServer(nil)
	gone.Close()
	opts := m.opts
	opts.BaseURL, opts.APIKey = gone.URL, testKey
	m, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	m.sleep = func(context.Context, time.Duration) error { return nil }
	live := &recorder{}
	_, err = m.Step(t.Context(), ask(user("hi")), live)
	if e := stepError(t, err); e.Code != footnote.ModelUnavailable || e.Again || len(live.retries) != 1 ||
		!strings.Contains(e.Message, "at "+strings.TrimPrefix(gone.URL, "http://")+" cannot be reached. Check") {
		t.Errorf("error %+v, retries %v", e, live.retries)
	}
}

// TestSlowAnswerIsNotIdle checks that a slow answer does not count as silence.
func TestSlowAnswerIsNotIdle(t *testing.T) {
	m, _ := setup(t, replies(modeltest.Reply{Text: "slow", Loris: time.Millisecond}), Options{Idle: time.Second})
	reply, err := m.Step(t.Context(), ask(user("hi")), &recorder{})
	if err != nil || textOf(reply.Message) != "slow" {
		t.Errorf("reply: %+v, %v", reply, err)
	}
}

func TestFallbacks(t *testing.T) {
	for _, tc := range []struct {
		name      string
		first     modeltest.Reply
		fallbacks []string
		served    []string // models called, in order
		code      footnote.Code
	}{
		{
			"overloaded", modeltest.Fail(529), []string{"claude-opus-5-5"},
			[]string{"claude-sonnet-5-5", "claude-sonnet-5-5", "claude-opus-5-5"}, "",
		},
		{
			"gone", modeltest.Fail(404), []string{"claude-opus-5-5"},
			[]string{"claude-sonnet-5-5", "claude-opus-5-5"}, "",
		},
		{
			"other thinking is skipped", modeltest.Fail(404), []string{"claude-sonnet-4-5", "claude-haiku-5-5"},
			[]string{"claude-sonnet-5-5", "claude-haiku-5-5"}, "",
		},
		{
			"not permitted", modeltest.Fail(404), []string{"claude-haiku-5-5", "claude-opus-5-5"},
			[]string{"claude-sonnet-5-5", "claude-opus-5-5"}, "",
		},
		{
			"our own mistake", modeltest.Fail(400), []string{"claude-opus-5-5"},
			[]string{"claude-sonnet-5-5"}, footnote.Internal,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rule := func(r modeltest.Request) modeltest.Reply {
				if r.Model == "claude-sonnet-5-5" {
					return tc.first
				}
				return modeltest.Say("from " + r.Model)
			}
			m, s := setup(t, modeltest.Options{Rule: rule}, Options{Fallbacks: tc.fallbacks})
			req := ask(user("hi"))
			req.Permits = func(model string) bool { return tc.name != "not permitted" || model == "claude-opus-5-5" }
			reply, err := m.Step(t.Context(), req, &recorder{})
			var asked []string
			for _, r := range s.Requests() {
				asked = append(asked, r.Model)
			}
			if !slices.Equal(asked, tc.served) || tc.code != footnote.CodeOf(err) {
				t.Errorf("asked %v, error %v", asked, err)
			}
			if err == nil && reply.Message.Model != tc.served[len(tc.served)-1] {
				t.Errorf("served by %s", reply.Message.Model)
			}
		})
	}
}

// TestCancelClosesConnection checks that cancelling closes the upstream connection at once and returns the cause.
func TestCancelClosesConnection(t *testing.T) {
	why := errors.New("the person left")
	for _, started := range []bool{false, true} {
		left := make(chan struct{})
		arrived := make(chan struct{}, 1)
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer close(left)
			io.Copy(io.Discard, r.Body)
			if started {
				io.WriteString(w, `data: {"type":"message_start","message":{"id":"m","model":"claude-opus-5-5"}}`+
					"\n\n"+
					`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`+"\n\n"+
					deltaEvent("so"))
				http.NewResponseController(w).Flush()
			}
			arrived <- struct{}{}
			<-r.Context().Done()
		}))
		m, err := New(Options{BaseURL: srv.URL, APIKey: testKey, Model: "claude-opus-5-5"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		live := &recorder{}
		if started {
			live.onDelta = func() { cancel(why) }
		} else {
			go func() { <-arrived; cancel(why) }()
		}
		_, err = m.Step(ctx, ask(user("hi")), live)
		if !errors.Is(err, why) {
			t.Errorf("started %v: error = %v, want the cause", started, err)
		}
		if started {
			if e := stepError(t, err); e.Partial != "so" || e.Cost.MicroUSD == 0 || e.Again {
				t.Errorf("error = %+v", e)
			}
		} else if err != why {
			t.Errorf("error = %v, want the bare cause", err)
		}
		<-left // or the test hangs
		srv.Close()
		m.Close()
	}
}

// transport is an upstream without sockets, for a bubble with a fake clock.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// silence is a body that returns its text and then blocks until its context ends.
type silence struct {
	ctx  context.Context
	text io.Reader
}

func (s *silence) Read(p []byte) (int, error) {
	if n, err := s.text.Read(p); err == nil {
		return n, nil
	}
	<-s.ctx.Done()
	return 0, context.Cause(s.ctx)
}

func (s *silence) Close() error { return nil }

func answering(status int, header http.Header, body io.ReadCloser) *http.Response {
	return &http.Response{StatusCode: status, Header: header, Body: body, ProtoMajor: 1, ProtoMinor: 1}
}

func inBubble(t *testing.T, rt transport, opts Options) *Model {
	t.Helper()
	opts.HTTPClient, opts.APIKey, opts.Model = &http.Client{Transport: rt}, testKey, "claude-opus-5-5"
	m, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestTimeouts(t *testing.T) {
	begin := `data: {"type":"message_start","message":{"id":"m"}}` + "\n\n"
	text := begin + `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` +
		"\n\n" + deltaEvent("so")
	for _, tc := range []struct {
		name, text string
		want       time.Duration
		cause      error
	}{
		{"no first byte", "", time.Minute, errFirstByte},
		{"silence later", text, 2 * time.Minute, errIdle},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := inBubble(t, func(r *http.Request) (*http.Response, error) {
				return answering(200, http.Header{}, &silence{r.Context(), strings.NewReader(tc.text)}), nil
			}, Options{MaxAttempts: 1})
			begun := time.Now()
			_, err := m.Step(t.Context(), ask(user("hi")), &recorder{})
			if took := time.Since(begun); took != tc.want || !errors.Is(err, tc.cause) ||
				footnote.CodeOf(err) != footnote.AgentTimeout {
				t.Errorf("%s: after %v, %v", tc.name, took, err)
			}
			m.Close()
		})
	}
}

// TestBackoff checks that waits grow, are random up to their limit, and honour the upstream's Retry-After.
func TestBackoff(t *testing.T) {
	for _, tc := range []struct {
		name   string
		status int
		after  string
		want   []time.Duration
	}{
		{"api_error", 500, "", []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second}},
		{"overloaded", 529, "", []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}},
		{"rate limit", 429, "7", []time.Duration{7 * time.Second, 7 * time.Second, 7 * time.Second}},
		{"rate limit, no more", 429, "31", nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := inBubble(t, func(r *http.Request) (*http.Response, error) {
				h := http.Header{"Content-Type": {"application/json"}}
				if tc.after != "" {
					h.Set("Retry-After", tc.after)
				}
				return answering(tc.status, h, io.NopCloser(strings.NewReader("{}"))), nil
			}, Options{})
			m.jitter = func(limit time.Duration) time.Duration { return limit }
			begun := time.Now()
			live := &recorder{}
			_, err := m.Step(t.Context(), ask(user("hi")), live)
			var sum time.Duration
			for _, w := range tc.want {
				sum += w
			}
			if !slices.Equal(live.waits, tc.want) || time.Since(begun) != sum {
				t.Errorf("%s: waits %v, took %v", tc.name, live.waits, time.Since(begun))
			}
			if e := stepError(t, err); tc.after == "31" &&
				(e.RetryAfter != 31*time.Second || e.Code != footnote.RateLimited) {
				t.Errorf("%s: %+v", tc.name, e)
			}
			if got := jitter(time.Second); got < 0 || got >= time.Second {
				t.Errorf("jitter = %v", got)
			}
			m.Close()
		})
	}
}

// TestNoWaitBeyondDeadline checks that no wait begins that would outlast the deadline.
func TestNoWaitBeyondDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := inBubble(t, func(r *http.Request) (*http.Response, error) {
			return answering(429, http.Header{"Retry-After": {"20"}}, io.NopCloser(strings.NewReader("{}"))), nil
		}, Options{})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		begun := time.Now()
		_, err := m.Step(ctx, ask(user("hi")), &recorder{})
		if e := stepError(t, err); e.Code != footnote.RateLimited || e.RetryAfter != 20*time.Second ||
			time.Since(begun) != 0 {
			t.Errorf("%+v after %v", e, time.Since(begun))
		}
		m.Close()
	})
}

var _ model.Model = (*Model)(nil)
