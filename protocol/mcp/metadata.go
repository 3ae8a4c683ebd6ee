package mcp

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"

	"github.com/footnotehq/footnote/protocol"
)

// metadataAddress is where clients look for who signs the tokens of this server (RFC 9728), followed by the path of
// the protocol.
const metadataAddress = "/.well-known/oauth-protected-resource"

// metadata handles GET /.well-known/oauth-protected-resource/mcp. It needs no key, so that a client without a token
// learns where to get one.
func (p *Protocol) metadata(w http.ResponseWriter, r *http.Request) error {
	return protocol.WriteValue(w, http.StatusOK, map[string]any{
		"resource": p.base(r) + Address, "resource_name": "Footnote",
		"authorization_servers":    []string{p.Issuer},
		"bearer_methods_supported": []string{"header"},
	})
}

// challenge tells a client without a valid token where the metadata is.
func (p *Protocol) challenge(r *http.Request) string {
	return fmt.Sprintf(`, resource_metadata="%s"`, p.base(r)+metadataAddress+Address)
}

// plainHost matches the Host headers that can be part of an address.
var plainHost = regexp.MustCompile(`^[a-zA-Z0-9.:\[\]-]{1,255}$`).MatchString

// base returns the scheme and host of this server as clients know them. Behind a proxy that ends TLS, the request does
// not tell the scheme; names other than those of this machine are taken to be https.
func (p *Protocol) base(r *http.Request) string {
	if u, err := url.Parse(p.Resource); err == nil && u.Host != "" {
		return u.Scheme + "://" + u.Host
	}
	host, scheme := r.Host, "https"
	if !plainHost(host) {
		host = "localhost"
	}
	if r.TLS == nil && onThisMachine(host) {
		scheme = "http"
	}
	return scheme + "://" + host
}

// onThisMachine reports whether a Host header names the loopback interface.
func onThisMachine(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
