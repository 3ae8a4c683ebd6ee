package mcp

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/auth/extauth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/footnotehq/footnote/internal/confine"
)

// Limits on what a server may send.
const (
	maxMessage = 8 << 20  // bytes of one message
	maxMinute  = 64 << 20 // bytes within a minute
	closeTime  = 2 * time.Second
)

var errFlood = fmt.Errorf("it sent more than %d MB within a minute", maxMinute>>20)

// transport returns how to reach the server. stop ends what belongs to it.
func (c *connection) transport() (_ sdk.Transport, stop func(), err error) {
	if len(c.server.Command) > 0 {
		return c.startProgram()
	}
	client := &http.Client{
		Transport: &boundedHTTP{
			inner:   cmp.Or(c.opts.HTTP, http.RoundTripper(http.DefaultTransport.(*http.Transport).Clone())),
			headers: c.server.Headers, hosts: []string{hostOf(c.server.URL)}, meter: new(meter),
		},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("it redirects to another address, where its credentials must not go")
		},
	}
	t := &sdk.StreamableClientTransport{
		Endpoint: c.server.URL, HTTPClient: client, MaxEventSize: maxMessage, MaxRetries: 2,
	}
	if o := c.server.OAuth; o != nil {
		if t.OAuthHandler, err = o.handler(c.server.URL, client.Transport.(*boundedHTTP).inner); err != nil {
			return nil, nil, err
		}
	}
	return t, client.CloseIdleConnections, nil
}

// handler returns what gets tokens. The secret goes only to the configured issuer, whatever the server names.
func (o OAuth) handler(server string, transport http.RoundTripper) (auth.OAuthHandler, error) {
	return extauth.NewClientCredentialsHandler(&extauth.ClientCredentialsHandlerConfig{
		Credentials: &oauthex.ClientCredentials{
			ClientID: o.ClientID, Issuer: o.Issuer,
			ClientSecretAuth: &oauthex.ClientSecretAuth{ClientSecret: o.ClientSecret},
		},
		HTTPClient: &http.Client{
			Transport: &boundedHTTP{
				inner: transport, hosts: []string{hostOf(server), hostOf(o.Issuer)}, meter: new(meter),
			},
			Timeout: connectTime,
		},
	})
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// startProgram starts the server's program.
func (c *connection) startProgram() (_ sdk.Transport, stop func(), err error) {
	folder, remove := c.server.Folder, func() {}
	if folder == "" {
		if folder, err = os.MkdirTemp("", "footnote-mcp-"); err != nil {
			return nil, nil, err
		}
		remove = func() { os.RemoveAll(folder) }
	}
	cmd := exec.Command(c.server.Command[0], c.server.Command[1:]...)
	cmd.Env, cmd.Dir = append(environment(os.LookupEnv), c.server.Environment...), folder
	printed := new(confine.Printed)
	cmd.Stderr, cmd.WaitDelay = printed, closeTime
	ownGroup(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		remove()
		return nil, nil, err
	}
	// A pipe of our own: the reader that Wait closes would race with the connection, which still reads.
	out, w, err := os.Pipe()
	if err != nil {
		remove()
		return nil, nil, err
	}
	cmd.Stdout = w
	err = cmd.Start()
	w.Close()
	if err != nil {
		out.Close()
		remove()
		return nil, nil, fmt.Errorf("start %s: %w", c.server.Command[0], err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err := cmd.Wait()
		c.log.Debug("an MCP server ended", "err", err, "stderr", printed.String())
	}()
	stop = func() {
		in.Close()
		select {
		case <-ended:
		case <-time.After(closeTime):
		}
		killGroup(cmd)
		<-ended
		out.Close()
		remove()
	}
	reader := struct {
		io.Reader
		io.Closer
	}{&metered{out, new(meter)}, out}
	return &sdk.IOTransport{Reader: reader, Writer: in, MaxLineLength: maxMessage}, stop, nil
}

// environment returns the variables of this process that a program gets: none that may hold a secret.
func environment(lookup func(string) (string, bool)) (env []string) {
	for _, name := range []string{
		"PATH", "HOME", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "TEMP", "SYSTEMROOT",
		"SSL_CERT_FILE", "SSL_CERT_DIR",
	} {
		if value, ok := lookup(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// meter counts bytes per minute.
type meter struct {
	mu    sync.Mutex // guards below
	since time.Time
	n     int64
}

func (m *meter) add(n int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := time.Now(); now.Sub(m.since) > time.Minute {
		m.since, m.n = now, 0
	}
	if m.n += int64(n); m.n > maxMinute {
		return errFlood
	}
	return nil
}

// metered is a reader that fails when a server sends too much.
type metered struct {
	inner io.Reader
	meter *meter
}

func (r *metered) Read(p []byte) (int, error) {
	n, err := r.inner.Read(p)
	if over := r.meter.add(n); over != nil {
		return 0, over
	}
	return n, err
}

// boundedHTTP contacts the given hosts only, sends the configured headers with each request, and bounds what answers
// hold.
type boundedHTTP struct {
	inner   http.RoundTripper
	headers map[string]string
	hosts   []string
	meter   *meter
}

func (b *boundedHTTP) RoundTrip(r *http.Request) (*http.Response, error) {
	// The endpoint for tokens may be elsewhere: the issuer names it.
	if !slices.Contains(b.hosts, r.URL.Host) && (r.Method != http.MethodPost || r.URL.Scheme != "https") {
		return nil, fmt.Errorf("it names an address on %s, which is not configured", r.URL.Host)
	}
	if len(b.headers) > 0 {
		r = r.Clone(r.Context())
		for name, value := range b.headers {
			r.Header.Set(name, value)
		}
	}
	resp, err := b.inner.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body := io.Reader(&metered{resp.Body, b.meter})
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		body = io.LimitReader(body, maxMessage)
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{body, resp.Body}
	return resp, nil
}
