package feed_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/coder/websocket"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/feed"
)

// stream is a server of both kinds of streams. It sends texts from say to the connected client; an empty text closes
// the connection.
type stream struct {
	*httptest.Server
	say  chan string
	came chan struct{} // one token per connection, up to ten unread
}

func serve(t *testing.T) *stream {
	s := &stream{say: make(chan string), came: make(chan struct{}, 10)}
	ctx, stop := context.WithCancel(context.Background())
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case s.came <- struct{}{}:
		default:
		}
		switch r.URL.Path {
		case "/sse":
			w.Header().Set("Content-Type", "text/event-stream")
			_ = http.NewResponseController(w).Flush()
			s.pass(ctx, r.Context(), func(text string) {
				fmt.Fprint(w, text)
				_ = http.NewResponseController(w).Flush()
			})
		case "/ws":
			c, err := websocket.Accept(w, r, nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.CloseNow()
			gone := c.CloseRead(ctx)
			s.pass(ctx, gone, func(text string) {
				for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
					if data, ok := strings.CutPrefix(line, "data: "); ok {
						_ = c.Write(gone, websocket.MessageText, []byte(data))
					}
				}
			})
		default:
			http.Error(w, "no", http.StatusForbidden)
		}
	}))
	t.Cleanup(func() { stop(); s.Close() })
	return s
}

func (s *stream) pass(ctx, gone context.Context, send func(string)) {
	for {
		select {
		case text := <-s.say:
			if text == "" {
				return
			}
			send(text)
		case <-gone.Done():
			return
		case <-ctx.Done():
			return
		}
	}
}

// until waits for a price or an error that satisfies ok.
func until(t *testing.T, f *feed.Feed, symbol string, ok func(market.Price, error) bool) {
	t.Helper()
	for end := time.After(time.Minute); ; {
		p, err := f.Price(t.Context(), symbol)
		if ok(p, err) {
			return
		}
		select {
		case <-time.After(time.Millisecond): // ask again
		case <-end:
			t.Fatalf("the price of %s is %+v, %v", symbol, p, err)
		}
	}
}

func isDown(words string) func(market.Price, error) bool {
	return func(_ market.Price, err error) bool {
		return footnote.CodeOf(err) == footnote.MarketUnavailable && strings.Contains(footnote.MessageOf(err), words)
	}
}

// TestStreams tests both kinds of streams with normal and failing connections.
func TestStreams(t *testing.T) {
	for _, kind := range []string{"/sse", "/ws"} {
		t.Run(kind, func(t *testing.T) {
			s := serve(t)
			address := s.URL + kind
			if kind == "/ws" {
				address = "ws" + strings.TrimPrefix(address, "http")
			}
			f, err := feed.Open(feed.Options{URL: address, Pause: time.Millisecond, Grace: time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			until(t, f, "EURUSD", isDown("it is connected, but has not sent a price of EURUSD yet."))
			bid := func(want float64) func(market.Price, error) bool {
				return func(p market.Price, err error) bool { return err == nil && p.Bid == want }
			}
			s.say <- "data: {\"symbol\":\"eur/usd\",\"bid\":1.1,\"ask\":1.2,\"time\":\"2026-01-02T03:04:05Z\",\"more\":1}\n\n"
			until(t, f, "EURUSD", bid(1.1))
			if p, _ := f.Price(t.Context(), "EURUSD"); p.Ask != 1.2 ||
				!p.Time.Equal(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)) {
				t.Errorf("price: %+v", p)
			}
			// Messages without a price, or with one older than the known price, change nothing.
			for _, text := range []string{`hello`, `{"symbol":"EURUSD","bid":3,"ask":2}`,
				`{"symbol":"EURUSD","bid":-1,"ask":2}`, `{"bid":1,"ask":2}`, `{"symbol":"EURUSD","bid":1e999,"ask":2}`,
				`{"symbol":"EURUSD","bid":1,"ask":2,"time":"2020-01-01T00:00:00Z"}`,
				`{"symbol":"EURUSD","bid":1,"ask":2,"time":"2999-01-01T00:00:00Z"}`,
				`{"symbol":"EURUSD","bid":1,"ask":2,"time":"soon"}`,
				`{"symbol":"EURUSD","bid":1,"ask":2,"time":{}}`, `[1]`, `null`, `{}`} {
				s.say <- "data: " + text + "\n\n"
			}
			s.say <- "data: [{\"symbol\":\"USDJPY\",\"bid\":150,\"ask\":150.1,\"time\":1767322800},{\"symbol\":\"GBPUSD\",\"bid\":\"1.2\"},7,{\"symbol\":\"XAUUSD\",\"bid\":2000,\"ask\":2001,\"time\":1767322800123}]\n\n"
			until(t, f, "XAUUSD", bid(2000))
			until(t, f, "USDJPY", bid(150))
			until(t, f, "EURUSD", bid(1.1))
			s.say <- "" // the stream ends, and returns
			s.say <- "data: {\"symbol\":\"EURUSD\",\"bid\":1.3,\"ask\":1.4}\n\n"
			until(t, f, "EURUSD", bid(1.3))
			s.say <- "data: \"" + strings.Repeat("x", 70_000) + "\"\n\n"
			heard := make(chan struct{})
			var saying sync.WaitGroup
			saying.Go(func() { // repeatedly: the closing connection may swallow it
				for {
					select {
					case s.say <- "data: {\"symbol\":\"EURUSD\",\"bid\":1.5,\"ask\":1.6}\n\n":
					case <-heard:
						return
					}
				}
			})
			until(t, f, "EURUSD", bid(1.5))
			close(heard)
			saying.Wait()
		})
	}
}

// TestLines tests every line ending, and packets that end within one. An event of two lines is one event.
func TestLines(t *testing.T) {
	const text = "data: a\r\ndata: b\r\n\r\ndata: c\rdata: d\r\rdata: e\n\n"
	want := []string{"data: a", "data: b", "", "data: c", "data: d", "", "data: e", ""}
	for name, in := range map[string]io.Reader{
		"at once":      strings.NewReader(text),
		"byte by byte": iotest.OneByteReader(strings.NewReader(text)),
	} {
		lines := bufio.NewScanner(in)
		lines.Split(feed.SplitLines())
		var got []string
		for lines.Scan() {
			got = append(got, lines.Text())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestLostStream checks that the error reports the lost stream and the age of the last price, but not the address.
func TestLostStream(t *testing.T) {
	s := serve(t)
	f, err := feed.Open(feed.Options{
		URL:   s.URL + "/sse?token=secret",
		Pause: time.Millisecond,
		Grace: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	until(t, f, "EURUSD", isDown("it is connected"))
	s.say <- "data: {\"symbol\":\"EURUSD\",\"bid\":1.3,\"ask\":1.4}\n\n"
	until(t, f, "EURUSD", func(p market.Price, err error) bool { return err == nil })
	s.Listener.Close() // first: the feed connects again at once
	s.CloseClientConnections()
	until(t, f, "EURUSD", isDown("The last price of EURUSD was 1.3 / 1.4, "))
	if _, err := f.Price(t.Context(), "USDJPY"); !isDown("There was no price of USDJPY yet.")(market.Price{}, err) ||
		strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "127.0.0.1") {
		t.Error(err)
	}
}

// TestSilence checks that a silent stream is reconnected.
func TestSilence(t *testing.T) {
	s := serve(t)
	f, err := feed.Open(feed.Options{URL: s.URL + "/sse", Pause: time.Millisecond, Silence: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for n := range 3 {
		select {
		case <-s.came:
		case <-time.After(time.Minute):
			t.Fatalf("%d connections", n)
		}
	}
}

func TestRefusedConnections(t *testing.T) {
	s := serve(t)
	f, err := feed.Open(feed.Options{URL: s.URL + "/other", Pause: time.Millisecond, Grace: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	until(t, f, "EURUSD", isDown("it answered with status 403 and no event stream."))
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"", "ftp://example.org", "http://", "prices"} {
		if _, err := feed.Open(feed.Options{URL: address}); footnote.CodeOf(err) != footnote.InvalidRequest {
			t.Errorf("%q: %v", address, err)
		}
	}
}
