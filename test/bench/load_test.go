package bench_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/model/modeltest"
	"github.com/footnotehq/footnote/tool"
)

// target is a system under load.
type target struct {
	name string
	url  string
	path string
	body func(order, int) []byte
	pid  int
}

// sample holds the measurements of one load.
type sample struct {
	mu      sync.Mutex
	first   []float64 // ms from sending the request to the first piece
	late    []float64 // ms from writing a piece upstream to its arrival
	deltas  atomic.Int64
	broken  atomic.Int64 // streams that failed, or lost, repeated or reordered a piece
	streams atomic.Int64
	reason  atomic.Pointer[string]
}

var client = &http.Client{
	Transport: &http.Transport{MaxIdleConns: 4096, MaxIdleConnsPerHost: 4096, DisableCompression: true},
}

// load keeps n streams open for a while. It restarts each one when it ends, and spreads out the first starts.
func load(ctx context.Context, t target, n int, window time.Duration, o order, history int) *sample {
	s := &sample{}
	ctx, cancel := context.WithTimeout(ctx, window)
	defer cancel()
	length := time.Duration(o.Deltas*o.GapMS) * time.Millisecond
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			pause(ctx, time.Duration(rand.Int64N(int64(length)+1)))
			for ctx.Err() == nil {
				s.stream(ctx, t, o, history)
			}
		})
	}
	wg.Wait()
	return s
}

// err returns an error if streams of a system broke.
func (s *sample) err(t target) error {
	if n := s.broken.Load(); n > 0 {
		return fmt.Errorf("%s: %d broken streams: %s", t.name, n, *s.reason.Load())
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// stream runs one stream and checks it.
func (s *sample) stream(ctx context.Context, t target, o order, history int) {
	if err := s.follow(ctx, t, o, history); err != nil && ctx.Err() == nil {
		s.broken.Add(1)
		s.reason.CompareAndSwap(nil, new(err.Error()))
	}
}

func (s *sample) follow(ctx context.Context, t target, o order, history int) error {
	body := t.body(o, history)
	begun := time.Now()
	res, err := post(ctx, t, body)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var late []float64
	err = pieces(res.Body, func(number int, ms float64) error {
		if number != len(late) {
			return fmt.Errorf("piece %d came where %d was due", number, len(late))
		}
		if number == 0 {
			s.firstAfter(begun)
		}
		late = append(late, ms)
		return nil
	})
	s.keep(late)
	if err != nil {
		return err
	}
	s.streams.Add(1)
	if len(late) != o.Deltas {
		return fmt.Errorf("the stream ended after %d of %d pieces", len(late), o.Deltas)
	}
	return nil
}

// pieces reads a stream to its end. It calls f for each piece, with how late it arrived, in milliseconds.
func pieces(body io.Reader, f func(number int, late float64) error) error {
	buf := make([]byte, 0, 64<<10)
	for {
		if len(buf) == cap(buf) {
			buf = append(make([]byte, 0, 2*cap(buf)), buf...)
		}
		n, err := body.Read(buf[len(buf):cap(buf)])
		now := modeltest.Monotonic()
		buf = buf[:len(buf)+n]
		used := 0
		for {
			number, written, end := modeltest.NextTimed(buf[used:])
			if end == 0 {
				break
			}
			used += end
			if err := f(number, float64(now-written)/1e6); err != nil {
				return err
			}
		}
		buf = append(buf[:0], buf[max(used, len(buf)-256):]...)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// post sends a request to a system.
func post(ctx context.Context, t target, body []byte) (*http.Response, error) {
	return send(ctx, http.MethodPost, t.url+t.path, body)
}

// send sends a request. Any status but 200 and 202 is an error.
func send(ctx context.Context, method, url string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer bench-key")
	req.Header.Set("Anthropic-Version", "2026-10-21")
	if method == http.MethodGet {
		req.Header.Set("Accept", "text/event-stream")
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusAccepted {
		defer res.Body.Close()
		words, _ := io.ReadAll(io.LimitReader(res.Body, 300))
		return nil, fmt.Errorf("status %d: %s", res.StatusCode, words)
	}
	return res, nil
}

// parallel calls f for 0 to n-1 at once and returns the first error.
func parallel(n int, f func(i int) error) error {
	var g errgroup.Group
	for i := range n {
		g.Go(func() error { return f(i) })
	}
	return g.Wait()
}

// since returns the time that has passed, in milliseconds.
func since(begun time.Time) float64 { return float64(time.Since(begun).Microseconds()) / 1000 }

// timeCall returns how long a call of a tool takes, in milliseconds, and its output.
func timeCall(ctx context.Context, t tool.Tool, input any, sources ...string) (float64, tool.Output, error) {
	data, err := json.Marshal(input)
	if err != nil {
		return 0, tool.Output{}, err
	}
	call := tool.Call{
		Name: t.Spec().Name, Input: data, Sources: sources, ResultID: "r1",
		Principal: footnote.Principal{Org: "bench", User: "bench"},
	}
	begun := time.Now()
	out, err := t.Call(ctx, call)
	took := since(begun)
	if err == nil && (out.IsError || len(out.Rows.Rows) == 0) {
		err = fmt.Errorf("%s gave no rows for %s: %.300s", call.Name, data, out.Content)
	}
	return took, out, err
}

func (s *sample) firstAfter(begun time.Time) {
	s.mu.Lock()
	s.first = append(s.first, since(begun))
	s.mu.Unlock()
}

func (s *sample) keep(late []float64) {
	s.deltas.Add(int64(len(late)))
	s.mu.Lock()
	s.late = append(s.late, late...)
	s.mu.Unlock()
}

// quantile returns a quantile of values, which it sorts.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[min(len(values)-1, int(q*float64(len(values))))]
}

func median(values []float64) float64 { return quantile(values, 0.5) }
