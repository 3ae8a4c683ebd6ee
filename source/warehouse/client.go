package warehouse

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
)

const (
	maxPage     = 64 << 20               // bytes of one answer that is read as a whole
	maxMessage  = 1000                   // bytes of a message of the database
	tries       = 5                      // of a request that only reads
	firstWait   = 100 * time.Millisecond // before the second try; doubled each time
	connectTime = 10 * time.Second
	cancelTime  = 3 * time.Second // for stopping a statement
)

// Client sends requests to one server. It follows no redirects, so credentials never go to another host.
type Client struct {
	base      *url.URL
	http      *http.Client
	authorize func(ctx context.Context, h http.Header) error
	secrets   []string
}

// NewClient returns a client for a server. Its address must have the scheme https, unless the host is this machine.
// Authorize adds credentials to each request. Secrets are cut out of all messages.
func NewClient(address string, authorize func(context.Context, http.Header) error, secrets ...string) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.User != nil {
		return nil, errors.New("it names no host")
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())) {
		return nil, errors.New("it must be encrypted (https), because its host is another machine")
	}
	transport := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: connectTime}).DialContext,
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: connectTime,
		MaxIdleConnsPerHost: 8,
		IdleConnTimeout:     time.Minute,
		ForceAttemptHTTP2:   true,
	}
	return &Client{base: u, authorize: authorize, secrets: secrets, http: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Request is one request. Path is below the client's address, or the whole address of the same host.
type Request struct {
	Method string
	Path   string
	Query  url.Values
	Header http.Header
	Body   []byte
}

// address returns where a request goes. A server may send the addresses of further requests, but not to another host.
func (c *Client) address(r Request) (string, error) {
	u, err := url.Parse(r.Path)
	if err != nil {
		return "", errors.New("the server sent an address that cannot be read")
	}
	if u.IsAbs() || u.Host != "" {
		if u.Scheme != c.base.Scheme || u.Host != c.base.Host || u.User != nil {
			return "", fmt.Errorf("the server sent an address of the host %.100s, which is not its own", u.Host)
		}
	} else {
		u = c.base.JoinPath(u.Path)
		u.RawQuery = r.Query.Encode()
	}
	return u.String(), nil
}

// Do sends a request and returns the answer, whose body the caller closes. A request that only reads (GET) is sent
// again when the server is busy or the connection breaks. Errors are *footnote.Errors.
func (c *Client) Do(ctx context.Context, r Request) (*http.Response, error) {
	wait := firstWait
	for try := 1; ; try++ {
		resp, err := c.once(ctx, r)
		again := err != nil || busy(resp.StatusCode)
		if !again || r.Method != http.MethodGet || try == tries {
			return resp, err
		}
		if err == nil {
			discard(resp)
		}
		if err := Pause(ctx, wait); err != nil {
			return nil, err
		}
		wait *= 2
	}
}

func busy(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusBadGateway ||
		status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout
}

func (c *Client) once(ctx context.Context, r Request) (*http.Response, error) {
	address, err := c.address(r)
	if err != nil {
		return nil, footnote.Wrapf(footnote.DatabaseUnavailable, err, "The database's answer is not allowed.")
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, address, bytes.NewReader(r.Body))
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", withoutAddress(err))
	}
	for k, v := range r.Header {
		req.Header[k] = v
	}
	req.Header.Set("User-Agent", "footnote")
	if c.authorize != nil {
		if err := c.authorize(ctx, req.Header); err != nil {
			return nil, err
		}
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, footnote.Wrapf(footnote.DatabaseUnavailable, errors.New(c.Clean(withoutAddress(err).Error())),
			"The database cannot be reached.")
	}
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		discard(resp)
		return nil, footnote.Errorf(footnote.DatabaseUnavailable,
			"The database answered with a redirect, which is not followed. Correct its address.")
	}
	return resp, nil
}

// withoutAddress drops the address, which may hold a secret, from an error.
func withoutAddress(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// discard reads a short rest of an answer, so that its connection can be used again.
func discard(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	_ = resp.Body.Close()
}

// JSON sends a request, decodes the answer into out whatever its status, and returns the status. An answer that is no
// JSON has the status only, if that is an error's.
func (c *Client) JSON(ctx context.Context, r Request, out any) (int, error) {
	resp, err := c.Do(ctx, r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxPage+1))
	switch {
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case err != nil:
		return 0, footnote.Wrapf(footnote.DatabaseUnavailable, withoutAddress(err),
			"The connection to the database broke.")
	case len(body) > maxPage:
		return 0, source.Limitf("A part of the result is larger than %d MB. Select fewer columns or rows.", maxPage>>20)
	}
	if err := json.Unmarshal(body, out); err != nil && resp.StatusCode < 300 && len(body) > 0 {
		return 0, footnote.Errorf(footnote.DatabaseUnavailable, "The database sent an answer that cannot be read.")
	}
	return resp.StatusCode, nil
}

// Fault returns the error for a status and message that a service has no better error for.
func (c *Client) Fault(status int, message string) error {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return footnote.Errorf(footnote.DatabaseUnavailable, "The database refused the credentials: %s",
			c.Clean(message))
	case status >= 500 || status == http.StatusTooManyRequests:
		return footnote.Errorf(footnote.DatabaseUnavailable, "The database reported the status %d: %s", status,
			c.Clean(message))
	}
	return source.Failf("%s", c.Clean(message))
}

// Clean returns a message of the database without secrets, and shortened.
func (c *Client) Clean(message string) string {
	for _, s := range c.secrets {
		if s != "" {
			message = strings.ReplaceAll(message, s, "…")
		}
	}
	message = strings.TrimSpace(strings.ToValidUTF8(message, "\uFFFD"))
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "") + "…"
	}
	if message == "" {
		return "The database gave no reason."
	}
	return message
}

// Pause waits, or returns the cause of ctx.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// Stopping returns a context for stopping a statement after ctx has ended.
func Stopping(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
}
