package claude

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/model"
)

// Causes of our own timeouts.
var (
	errFirstByte = errors.New("the upstream sent nothing in time")
	errIdle      = errors.New("the upstream fell silent")
)

// Ways in which a stream fails.
const (
	cutShort  = "cut short" // the connection ended or broke
	malformed = "malformed" // it violates the protocol
	oversized = "oversized" // it exceeds our limits
	reported  = "reported"  // the upstream sent an error event
)

// streamError is a failure after the response headers.
type streamError struct {
	kind     string
	upstream errorJSON // set for reported
	err      error
}

func (e *streamError) Error() string {
	if e.kind == reported {
		return fmt.Sprintf("the upstream reported %s (%s): %s", e.upstream.Type, e.upstream.Details.Code,
			clip(e.upstream.Message, 500))
	}
	return fmt.Sprintf("the stream is %s: %v", e.kind, e.err)
}

func (e *streamError) Unwrap() error { return e.err }

// statusError is a response with an error status.
type statusError struct {
	status   int
	upstream errorJSON // zero if the body says nothing that we know
	header   http.Header
	body     string // its start
}

func (e *statusError) Error() string {
	text := fmt.Sprintf("the upstream answered with %d %s", e.status, http.StatusText(e.status))
	if id := e.header.Get("Request-Id"); id != "" {
		text += ", request " + clip(id, 200)
	}
	if e.body != "" {
		text += ": " + e.body
	}
	return text
}

// failure is a failed attempt, classified.
type failure struct {
	code      footnote.Code
	message   string // for a user
	err       error  // for the log
	transient bool   // the same call may succeed
	busy      bool   // the upstream is overloaded: wait longer, or ask another model
	once      bool   // retry only once
	elsewhere bool   // another model may succeed where this one fails
	after     time.Duration
	hasAfter  bool // the upstream sent a Retry-After

	// State of the attempt.
	shown   bool
	begun   bool // the upstream began a message, which will be billed
	partial string
	usage   footnote.Usage
	cost    footnote.Cost
}

// stepError returns f as callers see it.
func (f *failure) stepError(again bool) *model.StepError {
	return &model.StepError{
		Code: f.code, Message: f.message, Again: again, RetryAfter: f.after,
		Partial: f.partial, Usage: f.usage, Cost: f.cost, Err: f.err,
	}
}

// Messages for users. None of them contains a key or text of the upstream.
const (
	sayRefusedKey  = "The model's API refused our key. The operator has to check it."
	sayForbidden   = "The model's API does not let our key use this model. The operator has to check it."
	sayBilling     = "The model's API reports a problem with billing. The operator has to check the account."
	saySpendCap    = "The spending limit of our account with the model's API is reached. The operator has to raise it."
	sayBusy        = "The model is overloaded at the moment. Please try again shortly."
	sayUnavailable = "The model's API is not available at the moment. Please try again shortly."
	sayLimited     = "The model's API limits how often we may ask. Please try again shortly."
	sayTimeout     = "The model did not answer in time. Please try again."
	sayBroken      = "The connection to the model broke off. Please try again."
	sayBad         = "The model's API refused the request. The operator's log has the details."
	sayTooLarge    = "The conversation is too large for the model's API."
	sayTooLong     = "The conversation is too long for this model."
	sayOversized   = "The model's answer is larger than this server accepts."
	sayBudget      = "What is left of the budget does not pay for another answer."
)

// classify converts an error of a call to a failure. ctx is the attempt's own.
func classify(ctx context.Context, model string, err error) *failure {
	if answer, ok := errors.AsType[*statusError](err); ok {
		up := answer.upstream
		f := byStatus(model, answer.status, up.Type, up.Details.Code, up.Message)
		f.err = fmt.Errorf("model %s: %w", model, err)
		readHeaders(f, answer.header)
		return f
	}
	cause := context.Cause(ctx)
	if errors.Is(cause, errFirstByte) || errors.Is(cause, errIdle) {
		return &failure{
			code: footnote.AgentTimeout, message: sayTimeout, err: fmt.Errorf("model %s: %w", model, cause),
			transient: true,
		}
	}
	f := &failure{
		code: footnote.ModelUnavailable, message: unreachable(err), err: fmt.Errorf("model %s: %w", model, err),
		transient: true,
	}
	if stream, ok := errors.AsType[*streamError](err); ok {
		f.message = sayBroken
		switch stream.kind {
		case reported:
			up := stream.upstream
			f = byStatus(model, http.StatusOK, up.Type, up.Details.Code, up.Message)
			f.err = fmt.Errorf("model %s: %w", model, err)
		case oversized:
			f.transient, f.message = false, sayOversized
		}
	}
	return f
}

// unreachable says which server did not answer, and what to do.
func unreachable(err error) string {
	host := ""
	if call, ok := errors.AsType[*url.Error](err); ok {
		if u, err := url.Parse(call.URL); err == nil && u.Host != "" {
			host = " at " + u.Host
		}
	}
	return "The model's API" + host + " cannot be reached. Check the network, the server, and the setting base_url " +
		"(ANTHROPIC_BASE_URL)."
}

// byStatus classifies an error that the upstream reported. An error event has status 200; as with everything
// that has an error type, the type decides.
func byStatus(model string, status int, kind, code, message string) *failure {
	if strings.HasSuffix(code, "_spend_limit_reached") {
		return &failure{code: footnote.ModelUnavailable, message: saySpendCap}
	}
	if code == "ramp_limit_exceeded" {
		status = http.StatusTooManyRequests
	}
	if status == http.StatusOK {
		status = statusOf(kind)
	}
	f, known := failures[status]
	if !known && (status == http.StatusConflict || status >= 500) {
		f, known = failures[http.StatusInternalServerError], true
	}
	switch {
	case status == http.StatusNotFound:
		f.message = fmt.Sprintf("The model %q is unknown or retired. The operator has to choose another.",
			clip(model, 80))
		return &f
	case known:
		return &f
	// The API has no code for a prompt that exceeds the context window, only this text. If it changes, the
	// failure becomes an internal one, like other rejections.
	case strings.Contains(message, "prompt is too long"):
		return &failure{code: footnote.InputTooLong, message: sayTooLong}
	}
	return &failure{code: footnote.Internal, message: sayBad}
}

// statusOverloaded is the status of Anthropic's API for an overloaded model.
const statusOverloaded = 529

// failures are the failures that the upstream reports, by HTTP status.
var failures = map[int]failure{
	http.StatusUnauthorized:          {code: footnote.ModelUnavailable, message: sayRefusedKey},
	http.StatusForbidden:             {code: footnote.ModelUnavailable, message: sayForbidden},
	http.StatusPaymentRequired:       {code: footnote.ModelUnavailable, message: sayBilling},
	http.StatusNotFound:              {code: footnote.ModelUnavailable, elsewhere: true},
	http.StatusRequestEntityTooLarge: {code: footnote.TooLarge, message: sayTooLarge},
	http.StatusTooManyRequests:       passing(footnote.RateLimited, sayLimited),
	http.StatusRequestTimeout:        passing(footnote.AgentTimeout, sayTimeout),
	http.StatusGatewayTimeout:        passing(footnote.AgentTimeout, sayTimeout),
	http.StatusInternalServerError:   passing(footnote.ModelUnavailable, sayUnavailable),
	statusOverloaded: {
		code: footnote.ModelUnavailable, message: sayBusy, transient: true, busy: true, elsewhere: true,
	},
}

// passing returns a failure after which the same call may succeed, or another model may.
func passing(code footnote.Code, message string) failure {
	return failure{code: code, message: message, transient: true, elsewhere: true}
}

// statusOf returns the HTTP status that corresponds to an error event. Unknown types count as a failure of
// the upstream.
func statusOf(kind string) int { return cmp.Or(statuses[kind], http.StatusInternalServerError) }

var statuses = map[string]int{
	"invalid_request_error": http.StatusBadRequest,
	"authentication_error":  http.StatusUnauthorized,
	"billing_error":         http.StatusPaymentRequired,
	"permission_error":      http.StatusForbidden,
	"not_found_error":       http.StatusNotFound,
	"request_too_large":     http.StatusRequestEntityTooLarge,
	"rate_limit_error":      http.StatusTooManyRequests,
	"timeout_error":         http.StatusGatewayTimeout,
	"overloaded_error":      statusOverloaded,
}

// readHeaders adds what the headers say about retries.
func readHeaders(f *failure, h http.Header) {
	switch h.Get("X-Should-Retry") {
	case "true":
		f.transient = true
	case "false":
		f.transient = false
	}
	f.after, f.hasAfter = retryAfter(h)
	// A rate limit states when it ends; one without a time may be a spending cap.
	f.once = f.code == footnote.RateLimited && !f.hasAfter
}

// retryAfter reads how long to wait, in milliseconds, seconds or as a date.
func retryAfter(h http.Header) (time.Duration, bool) {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return clampDuration(ms / 1000), true
	}
	value := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(value, 64); err == nil {
		return clampDuration(s), true
	}
	if t, err := http.ParseTime(value); err == nil {
		return clampDuration(time.Until(t).Seconds()), true
	}
	return 0, false
}

// clampDuration converts seconds to a duration between 0 and a day.
func clampDuration(seconds float64) time.Duration {
	if !(seconds > 0) { // also true for NaN
		return 0
	}
	return time.Duration(min(seconds, 86_400) * float64(time.Second))
}

// clip shortens an untrusted text.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
