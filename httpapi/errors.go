package httpapi

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/protocol"
)

// Status returns the HTTP status of a code. It is the only such table.
func Status(c footnote.Code) int {
	switch c {
	case footnote.InputTooLong, footnote.InvalidRequest, footnote.UnsupportedParameter:
		return http.StatusBadRequest
	case footnote.Unauthorized:
		return http.StatusUnauthorized
	case footnote.Forbidden:
		return http.StatusForbidden
	case footnote.NotFound, footnote.ModelNotFound:
		return http.StatusNotFound
	case footnote.Conflict, footnote.CallUnknown, footnote.CallAnswered, footnote.CallClosed:
		return http.StatusConflict
	case footnote.TooLarge:
		return http.StatusRequestEntityTooLarge
	case footnote.RateLimited, footnote.BudgetExceeded:
		return http.StatusTooManyRequests
	case footnote.ModelUnavailable, footnote.DatabaseUnavailable, footnote.StorageUnavailable,
		footnote.MarketUnavailable:
		return http.StatusServiceUnavailable
	case footnote.AgentTimeout:
		return http.StatusGatewayTimeout
	default:
		return http.StatusInternalServerError
	}
}

// fail writes an error as the response, unless the response has begun.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	sc := scopeOf(r.Context())
	sc.err = err
	rec, ok := w.(*recorder)
	sc.aborted = ok && rec.status != 0
	if r.Context().Err() != nil && (sc.aborted || errors.Is(err, context.Canceled)) {
		sc.outcome, sc.err = "client left", nil
		return
	}
	if sc.aborted {
		return
	}
	status := Status(footnote.CodeOf(err))
	if sc.status != 0 {
		status = sc.status
	}
	h := w.Header()
	for _, name := range []string{
		"Content-Length", "Content-Encoding", "Content-Disposition", "Etag", "Last-Modified",
	} {
		h.Del(name)
	}
	e, classified := errors.AsType[*footnote.Error](err)
	if classified && e.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64(math.Ceil(e.RetryAfter.Seconds())), 10))
		h.Set("Retry-After-Ms", strconv.FormatInt(e.RetryAfter.Milliseconds(), 10))
	}
	if classified && e.Limit != nil {
		s.limitHeaders(h, *e.Limit)
	}
	if protocol.IsNotRetryable(err) {
		h.Set("X-Should-Retry", "false")
	}
	if status == http.StatusUnauthorized {
		h.Set("Www-Authenticate", `Bearer realm="footnote"`+s.challenge(sc.route, r))
	}
	contentType, body := sc.envelope(err, protocol.Failure{RequestID: sc.id, UnknownURL: sc.unknown})
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may have gone; the request is logged either way
}

// challenge returns the parameters that the protocol of a route adds to WWW-Authenticate.
func (s *Server) challenge(route string, r *http.Request) string {
	if parameters := s.challenges[route]; parameters != nil {
		return parameters(r)
	}
	return ""
}

// limitHeaders reports which limit was reached, in headers that clients of other APIs know, such as
// X-Ratelimit-Remaining-Tokens.
func (s *Server) limitHeaders(h http.Header, o footnote.OverLimit) {
	unit := strings.ToUpper(o.Unit[:1]) + o.Unit[1:]
	h.Set("X-Ratelimit-Limit-"+unit, strconv.FormatFloat(o.Limit, 'f', -1, 64))
	h.Set("X-Ratelimit-Remaining-"+unit, strconv.FormatFloat(o.Left, 'f', -1, 64))
	if !o.Resets.IsZero() {
		h.Set("X-Ratelimit-Reset-"+unit,
			strconv.FormatInt(max(0, int64(math.Ceil(o.Resets.Sub(s.opts.Now()).Seconds()))), 10)+"s")
	}
}

// answerWrite is how long writing 64 KB of a response may take; see recorder.Write.
const answerWrite = 30 * time.Second

// reply sends a value as JSON, unless there is an error.
func reply(w http.ResponseWriter, v any, err error) error {
	if err != nil {
		return err
	}
	return protocol.WriteValue(w, http.StatusOK, v)
}
