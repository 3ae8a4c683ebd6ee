// Package claude makes model calls over the Messages API, of Anthropic and of other servers that implement it. It sends
// requests with net/http and reads answers itself: the text of a delta is already JSON, and goes to readers and into
// the log without being decoded. scan.go is the fast path, sse.go splits the stream into events, message.go builds the
// message, block.go its blocks.
package claude

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/pause"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/model/price"
)

// Profiles of an upstream.
const (
	Anthropic  = "anthropic"  // Anthropic's API, or a gateway compatible with it
	Compatible = "compatible" // another server with /v1/messages; gets only fields that all of them support
)

// DefaultBaseURL is Anthropic's API.
const DefaultBaseURL = "https://api.anthropic.com"

// Secret is a string that does not print.
type Secret string

func (Secret) String() string { return "***" }

// GoString keeps %#v from printing the secret.
func (Secret) GoString() string { return "***" }

// LogValue keeps slog from printing the secret.
func (Secret) LogValue() slog.Value { return slog.StringValue("***") }

// MarshalText keeps JSON and YAML from printing the secret.
func (Secret) MarshalText() ([]byte, error) { return []byte("***"), nil }

// Options configure a Model. Zero fields mean the default.
type Options struct {
	Profile         string   // Anthropic (default) or Compatible
	BaseURL         string   // without /v1; default DefaultBaseURL; required for Compatible
	APIKey          Secret   // required for Anthropic
	Model           string   // used when a request names none
	Fallbacks       []string // tried in this order when a model is overloaded, failing or gone
	MaxTokens       int      // output limit of a call; default 16,000
	Effort          string   // low, medium, high, xhigh, max; default: the model's own
	ThinkingDisplay string   // "summarized" (default) or "omitted"

	FirstByte   time.Duration // longest wait for the first byte of an answer; default 60 s
	Idle        time.Duration // longest silence within an answer; default 120 s
	MaxAttempts int           // per model, before anything was shown; default 4
	MaxWait     time.Duration // longest wait that the upstream may request; default 30 s

	HTTPClient *http.Client // default: one for many streams; without CheckRedirect, no redirects are followed
	Prices     *price.Table // default: the embedded table
	Logger     *slog.Logger // default: none
}

// Model calls a Messages API. It implements model.Model and is safe for
// concurrent use.
type Model struct {
	opts   Options       // without the key
	call   *http.Request // a model call without its body
	http   *http.Client
	prices *price.Table
	log    *slog.Logger
	redact func(string) string

	sleep  func(ctx context.Context, d time.Duration) error // replaced by tests
	jitter func(limit time.Duration) time.Duration

	wg     sync.WaitGroup // connections being drained
	ctx    context.Context
	cancel context.CancelFunc
}

// New returns a Model. It does not connect; see Check.
func New(opts Options) (*Model, error) {
	if err := opts.complete(); err != nil {
		return nil, fmt.Errorf("claude: %w", err)
	}
	key := string(opts.APIKey)
	opts.APIKey = ""
	m := &Model{
		opts: opts, http: opts.HTTPClient, prices: opts.Prices, log: opts.Logger, sleep: pause.For, jitter: jitter,
	}
	m.redact = func(s string) string {
		if len(key) < 4 { // too short to be a secret, and likely to be part of a word
			return s
		}
		return strings.ReplaceAll(s, key, "***")
	}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	var err error
	if m.call, err = newCall(opts, key); err != nil {
		return nil, fmt.Errorf("claude: %w", err)
	}
	return m, nil
}

// complete fills in defaults and validates the rest.
func (o *Options) complete() error {
	o.Profile = cmp.Or(o.Profile, Anthropic)
	switch {
	case o.Profile != Anthropic && o.Profile != Compatible:
		return fmt.Errorf("the profile is %q; it must be %q or %q", o.Profile, Anthropic, Compatible)
	case o.Profile == Anthropic && o.APIKey == "":
		return errors.New("api.anthropic.com needs a key")
	case o.Profile == Compatible && o.BaseURL == "":
		return errors.New("a compatible server needs a base URL")
	}
	if err := o.checkURL(); err != nil {
		return err
	}
	if err := o.checkThinking(); err != nil {
		return err
	}
	if o.MaxTokens < 0 || o.MaxAttempts < 0 || o.FirstByte < 0 || o.Idle < 0 || o.MaxWait < 0 {
		return errors.New("a limit is negative")
	}
	o.MaxTokens = cmp.Or(o.MaxTokens, 16_000)
	o.MaxAttempts = cmp.Or(o.MaxAttempts, 4)
	o.FirstByte = cmp.Or(o.FirstByte, time.Minute)
	o.Idle = cmp.Or(o.Idle, 2*time.Minute)
	o.MaxWait = cmp.Or(o.MaxWait, 30*time.Second)
	if o.HTTPClient == nil {
		o.HTTPClient = newHTTPClient()
	}
	if o.HTTPClient.CheckRedirect == nil {
		client := *o.HTTPClient
		client.CheckRedirect = noRedirect
		o.HTTPClient = &client
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Prices == nil {
		var err error
		if o.Prices, err = price.Load(nil); err != nil {
			return err
		}
	}
	return nil
}

func (o *Options) checkURL() error {
	o.BaseURL = cmp.Or(o.BaseURL, DefaultBaseURL)
	o.BaseURL = strings.TrimSuffix(strings.TrimRight(o.BaseURL, "/"), "/v1")
	u, err := url.Parse(o.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		// hide it: it may hold a password
		return errors.New("the base URL must be http://host or https://host, without a user")
	}
	return nil
}

func (o *Options) checkThinking() error {
	o.ThinkingDisplay = cmp.Or(o.ThinkingDisplay, "summarized")
	if o.ThinkingDisplay != "summarized" && o.ThinkingDisplay != "omitted" {
		return fmt.Errorf("the thinking display is %q; it must be summarized or omitted", o.ThinkingDisplay)
	}
	if !slices.Contains([]string{"", "low", "medium", "high", "xhigh", "max"}, o.Effort) {
		return fmt.Errorf("the effort is %q; it must be low, medium, high, xhigh or max", o.Effort)
	}
	return nil
}

// Close waits, at most a second, until finished answers have been drained, and closes idle connections. It
// does not end running steps.
func (m *Model) Close() {
	m.cancel()
	m.wg.Wait()
	m.http.CloseIdleConnections()
}

// jitter returns a random duration up to limit.
func jitter(limit time.Duration) time.Duration { return rand.N(max(limit, 1)) }

// Step makes one model call; see model.Model. Until something was shown, it retries and then tries the
// fallback models. If ctx ends after the upstream has begun to answer, the error is a StepError that wraps
// ctx's cause and has the cost of the partial answer.
func (m *Model) Step(ctx context.Context, req model.Request, live model.Live) (model.Reply, error) {
	r, err := m.step(ctx, &req, live)
	if err != nil {
		return model.Reply{}, err
	}
	return m.reply(r), nil
}

// step implements Step. It keeps the stack frame in which it waits small.
func (m *Model) step(ctx context.Context, req *model.Request, live model.Live) (*completeAnswer, error) {
	models := m.candidates(req)
	if len(models) == 0 {
		return nil, &model.StepError{Code: footnote.ModelNotFound, Message: "No model is chosen."}
	}
	var last *failure
	attempt := 0
	for i, model := range models {
		body, f := m.build(model, req)
		if f != nil && last != nil {
			continue // the budget does not cover this fallback; report the earlier failure
		}
		if f != nil {
			return nil, m.stepError(f, false)
		}
		if last != nil {
			live.Retrying(attempt, last.code, 0) // with another model
		}
		more := i+1 < len(models)
		for n := 1; ; n++ {
			attempt++
			a, f := m.attempt(ctx, model, body, live)
			if f == nil {
				return a, nil
			}
			last = f
			if ctx.Err() != nil {
				return nil, ended(ctx, f)
			}
			m.logFailure(ctx, model, attempt, f)
			if f.shown {
				return nil, m.stepError(f, f.transient)
			}
			wait, again := m.wait(ctx, f, n, more)
			if !again {
				break
			}
			live.Retrying(attempt, f.code, wait)
			if err := m.sleep(ctx, wait); err != nil {
				return nil, ended(ctx, f)
			}
		}
		if !last.elsewhere {
			break
		}
	}
	return nil, m.stepError(last, false)
}

func (m *Model) logFailure(ctx context.Context, model string, attempt int, f *failure) {
	m.log.WarnContext(ctx, "model call failed", "model", model, "attempt", attempt, "code", string(f.code), "err",
		m.redact(f.err.Error()))
}

// ended returns the error of a step whose context is over.
func ended(ctx context.Context, f *failure) error {
	if !f.begun {
		return context.Cause(ctx)
	}
	cause := context.Cause(ctx)
	f.code, f.message, f.err = footnote.CodeOf(cause), footnote.MessageOf(cause), cause
	if errors.Is(cause, context.DeadlineExceeded) {
		f.code, f.message = footnote.AgentTimeout, sayTimeout
	}
	return f.stepError(false)
}

func (m *Model) stepError(f *failure, again bool) *model.StepError {
	e := f.stepError(again)
	if e.Err != nil {
		e.Err = &redacted{err: e.Err, text: clip(m.redact(e.Err.Error()), 4096)}
	}
	return e
}

// redacted is an error with the key removed from its text. Its chain is kept for errors.Is and errors.As.
type redacted struct {
	err  error
	text string
}

func (e *redacted) Error() string { return e.text }
func (e *redacted) Unwrap() error { return e.err }

// candidates returns the models to try, in order. A fallback must accept the same thinking type, because
// otherwise the history could not be sent to it, and the principal must be allowed to use it.
func (m *Model) candidates(req *model.Request) []string {
	primary, effort := req.Model, req.Effort
	if primary == "" {
		primary = m.opts.Model
	}
	if primary == "" {
		return nil
	}
	out := []string{primary}
	known, _ := m.prices.Model(primary)
	kind := m.thinkingType(known, effort)
	for _, id := range m.opts.Fallbacks {
		other, _ := m.prices.Model(id)
		if m.thinkingType(other, effort) == kind && !slices.Contains(out, id) &&
			(req.Permits == nil || req.Permits(id)) {
			out = append(out, id)
		}
	}
	return out
}

// wait returns how long to wait before trying the same model again after its n-th failure, and whether to try
// at all.
func (m *Model) wait(ctx context.Context, f *failure, n int, more bool) (time.Duration, bool) {
	limit := m.opts.MaxAttempts
	if f.once || f.busy && more {
		limit = min(limit, 2)
	}
	if !f.transient || n >= limit || f.hasAfter && f.after > m.opts.MaxWait {
		return 0, false
	}
	wait := f.after
	if !f.hasAfter {
		first, most := 500*time.Millisecond, 8*time.Second
		if f.busy {
			first, most = time.Second, 16*time.Second
		}
		wait = m.jitter(min(first<<min(n-1, 10), most))
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {
		return 0, false // the deadline would pass during the wait
	}
	return wait, true
}
