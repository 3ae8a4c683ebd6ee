package consent

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"
)

// Client is a program that asks to act for people.
type Client struct {
	ID        string
	Name      string   // as it calls itself
	Host      string   // that publishes its description; empty: nobody vouches for the name
	Redirects []string // where answers may go
}

// registration holds a client's description of itself, sent when it registers or read from the document at its address.
type registration struct {
	ID        string   `json:"client_id,omitempty"`
	Name      string   `json:"client_name,omitempty"`
	Redirects []string `json:"redirect_uris"`
	Auth      string   `json:"token_endpoint_auth_method,omitempty"`
}

// Bounds of what a client says about itself.
const (
	maxRedirects  = 10
	maxRedirect   = 500 // bytes
	maxClientName = 100 // bytes
	maxClientID   = 2000
	maxDocument   = 10 << 10
)

// check returns an error if a registration cannot be used.
func (r *registration) check() error {
	if len(r.Redirects) == 0 || len(r.Redirects) > maxRedirects {
		return refusef(invalidRedirect, "A client needs 1 to %d redirect_uris.", maxRedirects)
	}
	for _, u := range r.Redirects {
		if !goodRedirect(u) {
			return refusef(invalidRedirect, "The redirect URI %.100q must be https, on this machine, or the app's own "+
				"scheme, without a fragment.", u)
		}
	}
	if r.Auth != "" && r.Auth != "none" {
		return refusef(invalidMetadata, "Only public clients are accepted; token_endpoint_auth_method must be none.")
	}
	if len(r.Name) > maxClientName || !utf8.ValidString(r.Name) || strings.ContainsFunc(r.Name, func(c rune) bool {
		return !unicode.IsGraphic(c)
	}) {
		return refusef(invalidMetadata, "client_name must be at most %d bytes of visible text.", maxClientName)
	}
	return nil
}

// editors lists schemes that programs use although they are no reversed domain name.
var editors = []string{"cursor", "vscode", "vscode-insiders", "windsurf"}

// goodRedirect reports whether answers may be sent to an address. Schemes such as javascript never pass.
func goodRedirect(text string) bool {
	u, err := url.Parse(text)
	if err != nil || len(text) > maxRedirect || u.Fragment != "" || strings.Contains(text, "#") || u.User != nil ||
		u.Opaque != "" || strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return false
	}
	switch u.Scheme {
	case "https":
		return u.Hostname() != ""
	case "http":
		return loopback(u)
	}
	return strings.Contains(u.Scheme, ".") || slices.Contains(editors, u.Scheme)
}

// loopback reports whether an address is on the person's own machine.
func loopback(u *url.URL) bool {
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
}

// allows reports whether a client may get its answer at an address: at exactly one that it has named, except that a
// program on the person's machine may choose its port (RFC 8252).
func (c Client) allows(redirect string) bool {
	if slices.Contains(c.Redirects, redirect) {
		return true
	}
	asked, err := url.Parse(redirect)
	if err != nil || asked.Scheme != "http" || !loopback(asked) || !goodRedirect(redirect) {
		return false
	}
	return slices.ContainsFunc(c.Redirects, func(text string) bool {
		named, err := url.Parse(text)
		if err != nil || named.Scheme != "http" || named.Hostname() != asked.Hostname() {
			return false
		}
		named.Host = asked.Host
		return named.String() == asked.String()
	})
}

// selfPrefix begins the id of a client that has registered. The id holds the client's description of itself, so
// nothing is stored, and nobody can fill a store with registrations.
const selfPrefix = "fnd_"

// register returns the id of a client that registers.
func register(r registration) (string, error) {
	if err := r.check(); err != nil {
		return "", err
	}
	text, err := json.Marshal(registration{Name: r.Name, Redirects: r.Redirects})
	if err != nil {
		return "", err
	}
	id := selfPrefix + base64.RawURLEncoding.EncodeToString(text)
	if len(id) > maxClientID {
		return "", refusef(invalidMetadata, "The names and redirect_uris of a client are too long.")
	}
	return id, nil
}

// registered reads the id of a client that has registered.
func registered(id string) (Client, error) {
	var r registration
	text, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(id, selfPrefix))
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return Client{}, refusef(invalidClient, "The client_id is damaged. Let the client register again.")
	}
	return Client{ID: id, Name: r.Name, Redirects: r.Redirects}, r.check()
}

// documents fetches the descriptions of clients whose id is an address (client-id metadata documents).
type documents struct {
	client *http.Client
	local  bool // also documents on this machine, for tests
	now    func() time.Time

	mu    sync.Mutex // guards below
	known map[string]document
}

type document struct {
	client Client
	at     time.Time
}

// How long a document is kept, how many are, and how long fetching one may take.
const (
	documentTime = 10 * time.Minute
	maxDocuments = 200
	fetchTime    = 5 * time.Second
)

var errAddress = errors.New("the address is not a public one")

// newDocuments returns documents that are fetched from public addresses only: a name that resolves to the network of
// this server must not make it call its neighbours.
func newDocuments(local bool, now func() time.Time) *documents {
	dialer := &net.Dialer{Timeout: fetchTime, Control: func(_, address string, _ syscall.RawConn) error {
		if ap, err := netip.ParseAddrPort(address); local || err == nil && public(ap.Addr().Unmap()) {
			return nil
		}
		return errAddress
	}}
	return &documents{local: local, now: now, known: map[string]document{}, client: &http.Client{
		Timeout: fetchTime,
		Transport: &http.Transport{
			DialContext: dialer.DialContext, DisableKeepAlives: true, MaxResponseHeaderBytes: 16 << 10,
			TLSHandshakeTimeout: fetchTime,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// reserved lists networks that are not public although Go's methods do not know them.
var reserved = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("64:ff9b::/96"),
	netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("fec0::/10"),
}

// public reports whether an address belongs to the internet.
func public(ip netip.Addr) bool {
	return ip.IsGlobalUnicast() && !ip.IsPrivate() &&
		!slices.ContainsFunc(reserved, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// get returns the client that is described at an address.
func (d *documents) get(ctx context.Context, id string) (Client, error) {
	u, err := url.Parse(id)
	if err != nil || u.Scheme != "https" && !(d.local && u.Scheme == "http") || u.Hostname() == "" || u.User != nil ||
		len(u.Path) < 2 || path.Clean(u.Path) != u.Path || strings.Contains(id, "#") || len(id) > maxRedirect {
		return Client{}, refusef(invalidClient, "A client_id that is an address must be https, with a path.")
	}
	d.mu.Lock()
	known, ok := d.known[id]
	d.mu.Unlock()
	if ok && d.now().Sub(known.at) < documentTime {
		return known.client, nil
	}
	r, err := d.fetch(ctx, id)
	if err == nil && r.ID != id {
		err = refusef(invalidClient, "The document at the client_id describes another client.")
	}
	if err == nil {
		err = r.check()
	}
	if err != nil {
		return Client{}, err
	}
	c := Client{ID: id, Name: r.Name, Host: u.Host, Redirects: r.Redirects}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.known) >= maxDocuments {
		clear(d.known)
	}
	d.known[id] = document{c, d.now()}
	return c, nil
}

func (d *documents) fetch(ctx context.Context, id string) (r registration, err error) {
	refused := refusef(invalidClient, "The document at the client_id cannot be read. It must be JSON of at most %d "+
		"bytes at a public address, without redirects.", maxDocument)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, id, http.NoBody)
	if err != nil {
		return r, refused
	}
	req.Header.Set("Accept", "application/json")
	res, err := d.client.Do(req)
	if err != nil {
		return r, refused.because(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxDocument+1))
	if err == nil && (res.StatusCode != http.StatusOK || len(text) > maxDocument) {
		err = errors.New(res.Status)
	}
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return r, refused.because(err)
	}
	return r, nil
}
