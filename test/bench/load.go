package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/footnotehq/footnote/model/modeltest"
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
	next := 0
	buf := make([]byte, 0, 64<<10)
	for {
		if len(buf) == cap(buf) {
			buf = append(make([]byte, 0, 2*cap(buf)), buf...)
		}
		n, err := res.Body.Read(buf[len(buf):cap(buf)])
		now := modeltest.Monotonic()
		buf = buf[:len(buf)+n]
		if next == 0 && n > 0 && bytes.Contains(buf, []byte("aaaaaa:")) {
			s.firstAfter(time.Since(begun))
		}
		used := 0
		for {
			number, written, end := modeltest.NextTimed(buf[used:])
			if end == 0 {
				break
			}
			used += end
			if number != next {
				return fmt.Errorf("piece %d came where %d was due", number, next)
			}
			next++
			late = append(late, float64(now-written)/1e6)
		}
		buf = append(buf[:0], buf[max(used, len(buf)-256):]...)
		if err != nil && !errors.Is(err, io.EOF) {
			s.keep(late)
			return err
		}
		if err != nil {
			break
		}
	}
	s.keep(late)
	s.streams.Add(1)
	if next != o.Deltas {
		return fmt.Errorf("the stream ended after %d of %d pieces", next, o.Deltas)
	}
	return nil
}

func post(ctx context.Context, t target, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url+t.path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer bench-key")
	req.Header.Set("Anthropic-Version", "2026-10-21")
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		defer res.Body.Close()
		words, _ := io.ReadAll(io.LimitReader(res.Body, 300))
		return nil, fmt.Errorf("status %d: %s", res.StatusCode, words)
	}
	return res, nil
}

func (s *sample) firstAfter(d time.Duration) {
	s.mu.Lock()
	s.first = append(s.first, float64(d.Microseconds())/1000)
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
