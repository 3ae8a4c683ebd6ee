package httpapi_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// TestUnreadBodies checks that a client that announces a body and does not send it cannot keep its
// connection, even if no handler reads the body.
func TestUnreadBodies(t *testing.T) {
	api, _ := newAPI(t, nil)
	srv := serve(t, api)
	for _, target := range []string{"GET /healthz", "POST /v1/chat/completions"} {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", srv.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n", target)
			if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			r := bufio.NewReader(conn)
			resp, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(target, err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			if _, err := r.ReadByte(); err != io.EOF { //nolint:errorlint // a bare end
				t.Errorf("%s: the connection ends with %v", target, err)
			}
		})
	}
}
