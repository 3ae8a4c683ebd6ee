package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/footnotehq/footnote"
)

// workKey is the key of what a request of a client on standard input does: a func(*http.Request).
type workKey struct{}

// maxLine bounds a message on standard input, in bytes.
const maxLine = 4 << 20

// Serve answers one client on a pair of streams, usually standard input and output, until the client closes in or ctx
// ends. Each of its calls is a request to api, the server that mounts this protocol; api decides who the caller is.
func (p *Protocol) Serve(ctx context.Context, api http.Handler, in io.ReadCloser, out io.WriteCloser) error {
	s := p.newServer()
	s.AddReceivingMiddleware(p.through(api, rand.Text()))
	err := s.Run(ctx, &sdk.IOTransport{Reader: in, Writer: out, MaxLineLength: maxLine})
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		return nil
	}
	return err
}

// through makes each message of a session that touches data a request to api.
func (p *Protocol) through(api http.Handler, session string) sdk.Middleware {
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (res sdk.Result, err error) {
			switch method {
			case "tools/call", "tools/list", "resources/list", "resources/read", "prompts/list", "prompts/get":
			default:
				return next(ctx, method, req)
			}
			done := false
			work := func(r *http.Request) {
				c := p.begin(r, session, nil)
				c.closingCancels = true
				defer c.end()
				res, err = next(context.WithValue(ctx, callKey{}, c), method, req)
				done = true
			}
			r, rerr := http.NewRequestWithContext(context.WithValue(ctx, workKey{}, work), http.MethodPost,
				"http://localhost"+Address, http.NoBody)
			if rerr != nil {
				return nil, rerr
			}
			r.RemoteAddr = "127.0.0.1:0"
			w := &refusal{header: http.Header{}}
			if api.ServeHTTP(w, r); !done {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: w.message()}
			}
			return res, err
		}
	}
}

// refusal is the response to a request that did not reach its work.
type refusal struct {
	header http.Header
	status int
	body   []byte
}

func (w *refusal) Header() http.Header { return w.header }

func (w *refusal) WriteHeader(status int) { w.status = status }

func (w *refusal) Write(b []byte) (int, error) {
	w.body = append(w.body, b...)
	return len(b), nil
}

// message returns what the server says about the refusal.
func (w *refusal) message() string {
	var e struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(w.body, &e) == nil && e.Error.Message != "" {
		return e.Error.Message
	}
	return footnote.MessageOf(errors.New("no message"))
}
