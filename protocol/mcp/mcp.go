// Package mcp makes Footnote a server of the Model Context Protocol: AI clients ask questions, run statements and read
// stored results. It speaks the protocol's revisions up to 2025-11-25, and 2026-07-28, at one address, and on standard
// input and output. The protocol's own part is the official SDK's; this package provides the tools and resources.
//
// Each call is a request of the HTTP server, also on standard input, so keys, limits, filters and the audit apply as
// in every protocol.
package mcp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/internal/strictjson"
	"github.com/footnotehq/footnote/protocol"
)

// Settings configure the protocol. The zero value has the defaults.
type Settings struct {
	Version string // of the program
	// OnDisconnect says what a question does when a client of an older revision closes its connection: agent.Continue
	// or agent.Cancel; default agent.Continue. In newer revisions, closing it cancels the question.
	OnDisconnect string
	// Wait is how long a question may take before the client gets an id to continue with, unless it asks for another
	// time; default 50 s, because many clients give up after a minute.
	Wait time.Duration
	// Issuer signs the tokens of callers, if there is one. Clients learn from the server's metadata (RFC 9728) to ask
	// it for a token for this server.
	Issuer string
	// Resource is the address of this protocol as clients know it; empty: that of each request.
	Resource string
	// TableTools names further tools for clients that know common database servers; empty: there are none.
	TableTools TableTools
	// Verified finds verified queries; nil: there is no tool verified_query, and there are no prompts.
	Verified Verified
	// ReadOnly reports whether no statement of a caller's can change data, as far as is known; nil: true for all. It
	// decides what clients read in the annotations of tools, and they may ask the person before a call without it.
	ReadOnly func(footnote.Principal) bool
	// Draw checks and draws a chart of a stored result; nil: there is no tool chart.
	Draw   func(ctx context.Context, result protocol.ResultPage, spec json.RawMessage) (Drawing, error)
	// Extend changes the options of the SDK's server, and returns a function that adds further tools, resources and
	// prompts to it; nil: there are none.
	Extend func(*sdk.ServerOptions) func(*sdk.Server)
	Logger *slog.Logger // default: discards
}

// Protocol is the protocol and its server.
type Protocol struct {
	Settings
	server  protocol.Server
	sdk     *sdk.Server
	http    http.Handler
	pending pending
	runs    map[string]bool // tools that run statements
}

// Name is the name of the protocol in the log.
const Name = "mcp"

// Address is where the protocol is served.
const Address = "/mcp"

const defaultWait = 50 * time.Second

// New returns the protocol.
func New(s Settings) *Protocol {
	s.Wait = cmp.Or(max(s.Wait, 0), defaultWait)
	s.OnDisconnect = cmp.Or(s.OnDisconnect, agent.Continue)
	s.Logger = cmp.Or(s.Logger, slog.New(slog.DiscardHandler))
	return &Protocol{Settings: s, runs: map[string]bool{}}
}

//go:embed openapi.yaml
var description []byte

// metadataDescription continues description for servers with an issuer.
//
//go:embed metadata.yaml
var metadataDescription []byte

// Routes implements protocol.Protocol.
func (p *Protocol) Routes(s protocol.Server) protocol.Routes {
	p.server = s
	p.sdk = p.newServer()
	p.http = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return p.sdk }, &sdk.StreamableHTTPOptions{
		Stateless:                    true,
		PropagateRequestCancellation: true,
		// The server has checked the Host header, and has read the body within its own limit.
		DisableLocalhostProtection: true,
		MaxRequestBodyBytes:        -1,
	})
	routes := protocol.Routes{
		OpenAPI: description,
		List:    []protocol.Route{{Method: http.MethodPost, Pattern: Address, Handler: p.post, Held: true}},
	}
	if p.Issuer != "" {
		routes.OpenAPI = slices.Concat(description, metadataDescription)
		routes.Challenge = p.challenge
		for _, pattern := range []string{metadataAddress, metadataAddress + Address} {
			routes.List = append(routes.List, protocol.Route{
				Method: http.MethodGet, Pattern: pattern, Handler: p.metadata, Open: true,
			})
		}
	}
	return routes
}

// post handles POST /mcp: one message of a client.
func (p *Protocol) post(w http.ResponseWriter, r *http.Request) error {
	if work, ok := r.Context().Value(workKey{}).(func(*http.Request)); ok {
		work(r) // of a client on standard input
		return nil
	}
	body, err := p.server.Body(w, r, 1)
	if err != nil {
		return err
	}
	m, err := parse(body)
	if err != nil {
		return err
	}
	session := r.Header.Get(sessionHeader)
	if m.Method == "initialize" {
		// The server keeps nothing for a session. Its id only tells apart clients that number their requests alike.
		session = rand.Text()
		w.Header().Set(sessionHeader, session)
	}
	call := p.begin(r, session, m.ID)
	defer call.end()
	if m.Method == "notifications/cancelled" {
		if err := p.cancel(r, call.key(m.Params.RequestID)); err != nil {
			return err
		}
	}
	r = call.request
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	out := newResponse(w)
	call.response = out
	p.http.ServeHTTP(out, r)
	return nil
}

// sessionHeader names the session of a client of an older revision.
const sessionHeader = "Mcp-Session-Id"

// message is the part of a message that cancelling needs.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		RequestID json.RawMessage `json:"requestId"`
	} `json:"params"`
}

// maxID limits the bytes of a request's id, which are kept while it can be cancelled.
const maxID = 200

// parse reads one message. A batch, which only revision 2025-03-26 knows, would be many calls for the limits of one
// request.
func parse(body []byte) (m message, err error) {
	tree, err := strictjson.Parse(body)
	switch {
	case err != nil:
		return m, footnote.Wrapf(footnote.InvalidRequest, err, "The body is not acceptable JSON: %v", err)
	case tree.Kind() != strictjson.Object:
		return m, footnote.Invalidf("The body must be one JSON-RPC message. Batches are not accepted.")
	}
	if json.Unmarshal(body, &m) != nil {
		return message{}, nil // the SDK says what is wrong with the message
	}
	if len(m.ID) > maxID || len(m.Params.RequestID) > maxID {
		return m, footnote.Invalidf("The id of a request may have at most %d bytes.", maxID)
	}
	return m, nil
}
