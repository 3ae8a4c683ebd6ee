// Package feed follows a price stream at an address: server-sent events over http and https, messages over ws and
// wss. It reconnects when the stream ends or is silent, and keeps the newest price of each symbol.
//
// A message is a JSON object, or an array of them:
//
//	{"symbol": "EURUSD", "bid": 1.1041, "ask": 1.1043, "time": "2026-11-19T15:42:07Z"}
//
// The time is RFC 3339, or Unix seconds or milliseconds; without one it is the time of receipt. Other keys are
// ignored, and so are messages that contain no price.
package feed

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/pause"
	"github.com/footnotehq/footnote/market"
)

// Limits on a stream.
const (
	maxMessage = 64 << 10 // bytes of one message
	maxSymbols = 10_000   // symbols kept
	ahead      = time.Minute
)

// Options configures a feed. Zero fields mean the defaults.
type Options struct {
	URL string // required: http, https, ws or wss
	// Silence is how long the stream may be silent before the feed reconnects; a comment in server-sent events resets
	// it. Default 2 min.
	Silence time.Duration
	// Grace is how long an interrupted stream may take to return before the feed counts as down. Default 5 s.
	Grace time.Duration
	// Pause is the longest wait before the first reconnect; it doubles up to 30 s. Default 1 s.
	Pause  time.Duration
	Logger *slog.Logger
	Now    func() time.Time
}

const longestPause = 30 * time.Second

// connectTime limits how long connecting may take.
const connectTime = 10 * time.Second

// Feed is a market.Feed that follows a stream until it is closed.
type Feed struct {
	o      Options
	cancel context.CancelFunc
	done   chan struct{}

	mu     sync.Mutex // guards below
	prices map[string]market.Price
	lost   time.Time // when the connection was lost; zero: connected
	why    string    // why the connection was lost, safe to show
}

var _ market.Feed = (*Feed)(nil)

// Open starts following a stream. It does not wait for the connection.
func Open(o Options) (*Feed, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || !strings.Contains(" http https ws wss ", " "+u.Scheme+" ") {
		return nil, footnote.Invalidf("The address of the price feed must begin with http, https, ws or wss.")
	}
	o.Silence = cmp.Or(max(o.Silence, 0), 2*time.Minute)
	o.Grace = cmp.Or(max(o.Grace, 0), 5*time.Second)
	o.Pause = cmp.Or(max(o.Pause, 0), time.Second)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	ctx, cancel := context.WithCancel(context.Background())
	f := &Feed{
		o: o, cancel: cancel, done: make(chan struct{}),
		prices: map[string]market.Price{}, lost: o.Now(), why: "it has not been reached yet",
	}
	go func() { defer close(f.done); f.follow(ctx, u.Scheme == "ws" || u.Scheme == "wss") }()
	return f, nil
}

// Close closes the connection. It may be called twice.
func (f *Feed) Close() error {
	f.cancel()
	<-f.done
	return nil
}

// Now implements market.Feed.
func (f *Feed) Now(context.Context) (time.Time, error) { return f.o.Now(), nil }

// Price implements market.Feed. Without a connection it returns an error that mentions the last price and its age.
func (f *Feed) Price(_ context.Context, symbol string) (market.Price, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, known := f.prices[symbol]
	now := f.o.Now()
	switch {
	case !f.lost.IsZero() && (!known || now.Sub(f.lost) >= f.o.Grace):
		last := fmt.Sprintf("There was no price of %s yet.", symbol)
		if known {
			last = fmt.Sprintf("The last price of %s was %v / %v, %s ago.", symbol, p.Bid, p.Ask,
				now.Sub(p.Time).Round(time.Second))
		}
		return market.Price{}, market.Down(market.PriceFeed, fmt.Sprintf("%s. %s", f.why, last), nil)
	case !known:
		return market.Price{},
			market.Down(market.PriceFeed, fmt.Sprintf("it is connected, but has not sent a price of %s yet.", symbol),
				nil)
	}
	return p, nil
}

// follow reconnects until ctx ends.
func (f *Feed) follow(ctx context.Context, socket bool) {
	read := f.events
	if socket {
		read = f.messages
	}
	for wait := f.o.Pause; ; {
		err := read(ctx)
		if ctx.Err() != nil {
			return
		}
		if f.disconnected(err) {
			wait = f.o.Pause // the stream had connected
		}
		if pause.For(ctx, wait/2+rand.N(wait/2+1)) != nil {
			return
		}
		wait = min(2*wait, longestPause)
	}
}

// reason is an error of the stream that is safe to show.
type reason string

func (r reason) Error() string { return string(r) }

// disconnected records that the stream has ended, and reports whether it had connected.
func (f *Feed) disconnected(err error) bool {
	why := "the connection was lost"
	if r, ok := errors.AsType[reason](err); ok {
		why = string(r)
	}
	f.o.Logger.Warn("the price feed is not connected", "reason", why) // err may contain a key
	f.mu.Lock()
	defer f.mu.Unlock()
	f.why = why
	was := f.lost.IsZero()
	if was {
		f.lost = f.o.Now()
	}
	return was
}

func (f *Feed) connected() {
	f.o.Logger.Info("the price feed is connected")
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lost = time.Time{}
}

// quiet returns a context that ends unless heard is called at least once per silence period.
func (f *Feed) quiet(ctx context.Context) (_ context.Context, heard, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(f.o.Silence, func() { cancel(reason(fmt.Sprintf("it said nothing for %s", f.o.Silence))) })
	return ctx, func() { timer.Reset(f.o.Silence) }, func() { timer.Stop(); cancel(nil) }
}

// ended returns the reason why the feed gave up on a stream if there is one, and otherwise the error that followed.
func ended(ctx context.Context, err error) error {
	if r, ok := errors.AsType[reason](context.Cause(ctx)); ok {
		return r
	}
	return err
}

// events reads server-sent events until they end.
func (f *Feed) events(parent context.Context) error {
	ctx, heard, stop := f.quiet(parent)
	defer stop()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, f.o.URL, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Cache-Control", "no-cache")
	slow := time.AfterFunc(connectTime, stop)
	answer, err := http.DefaultClient.Do(r)
	slow.Stop()
	if err != nil {
		return ended(ctx, errors.Join(reason("it cannot be reached"), err))
	}
	defer answer.Body.Close()
	if kind := answer.Header.Get("Content-Type"); answer.StatusCode != http.StatusOK ||
		!strings.HasPrefix(kind, "text/event-stream") {
		return reason(fmt.Sprintf("it answered with status %d and no event stream", answer.StatusCode))
	}
	f.connected()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, maxMessage)
	lines.Split(splitLines())
	var data []byte
	for lines.Scan() {
		heard()
		line := lines.Bytes()
		if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			if len(data)+len(value) > maxMessage {
				return reason("it sent a message that is too long")
			}
			data = append(append(data, bytes.TrimPrefix(value, []byte(" "))...), '\n')
		} else if len(line) == 0 && len(data) > 0 {
			f.take(data)
			data = data[:0]
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return reason("it sent a message that is too long")
	}
	return ended(ctx, errors.Join(reason("it ended the stream"), lines.Err()))
}

// splitLines splits lines at \n, \r\n and \r, as server-sent events allow. A \r ends its line at once; a \n that
// arrives in the next packet is then skipped.
func splitLines() bufio.SplitFunc {
	half := false
	return func(data []byte, atEOF bool) (advance int, token []byte, err error) {
		if half && len(data) > 0 {
			if half = false; data[0] == '\n' {
				return 1, nil, nil
			}
		}
		i := bytes.IndexAny(data, "\r\n")
		switch {
		case i < 0 && atEOF && len(data) > 0:
			return len(data), data, nil
		case i < 0:
			return 0, nil, nil
		case data[i] == '\r' && i+1 < len(data) && data[i+1] == '\n':
			return i + 2, data[:i], nil
		}
		half = data[i] == '\r' && i+1 == len(data)
		return i + 1, data[:i], nil
	}
}

// messages reads a WebSocket until it ends.
func (f *Feed) messages(parent context.Context) error {
	ctx, heard, stop := f.quiet(parent)
	defer stop()
	dial, cancel := context.WithTimeout(ctx, connectTime)
	conn, answer, err := websocket.Dial(dial, f.o.URL, nil)
	cancel()
	if answer != nil && answer.Body != nil {
		_ = answer.Body.Close() // the body is not used
	}
	if err != nil {
		return ended(ctx, errors.Join(reason("it cannot be reached"), err))
	}
	defer conn.CloseNow()
	conn.SetReadLimit(maxMessage)
	f.connected()
	for {
		_, data, err := conn.Read(ctx)
		if err != nil {
			if websocket.CloseStatus(err) == websocket.StatusMessageTooBig ||
				strings.Contains(err.Error(), "read limited") {
				return reason("it sent a message that is too long")
			}
			if errors.Is(err, io.EOF) || websocket.CloseStatus(err) >= 0 {
				err = errors.Join(reason("it ended the stream"), err)
			}
			return ended(ctx, err)
		}
		heard()
		f.take(data)
	}
}

// tick is one price message.
type tick struct {
	Symbol string          `json:"symbol"`
	Bid    float64         `json:"bid"`
	Ask    float64         `json:"ask"`
	Time   json.RawMessage `json:"time"`
}

// take stores the prices in a message. It ignores anything else: streams carry other messages, too.
func (f *Feed) take(data []byte) {
	data = bytes.TrimSpace(data)
	list := []json.RawMessage{data}
	if bytes.HasPrefix(data, []byte("[")) && json.Unmarshal(data, &list) != nil {
		return
	}
	now := f.o.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range list {
		var t tick
		if json.Unmarshal(one, &t) != nil {
			continue // the other elements may be prices
		}
		p, ok := t.price(now)
		old, known := f.prices[p.Symbol]
		if !ok || known && p.Time.Before(old.Time) || !known && len(f.prices) >= maxSymbols {
			continue
		}
		f.prices[p.Symbol] = p
	}
}

// price validates a tick: it needs a symbol, a bid that is not above the ask, and a time that is not in the future.
func (t tick) price(now time.Time) (market.Price, bool) {
	p := market.Price{
		Symbol: strings.ToUpper(strings.ReplaceAll(t.Symbol, "/", "")), Bid: t.Bid, Ask: t.Ask, Time: now.UTC(),
	}
	if (market.Symbol{Symbol: p.Symbol}).Check() != nil || !(t.Bid > 0) || t.Ask < t.Bid || math.IsInf(t.Ask, 0) {
		return p, false
	}
	var text string
	var unix float64
	switch {
	case len(t.Time) == 0 || string(t.Time) == "null":
		return p, true
	case json.Unmarshal(t.Time, &text) == nil:
		at, err := time.Parse(time.RFC3339, text)
		p.Time = at.UTC()
		return p, err == nil && !at.After(now.Add(ahead))
	case json.Unmarshal(t.Time, &unix) == nil && math.Abs(unix) < 1e14:
		if math.Abs(unix) < 1e11 {
			unix *= 1000
		}
		p.Time = time.UnixMilli(int64(unix)).UTC()
		return p, !p.Time.After(now.Add(ahead))
	}
	return p, false
}
