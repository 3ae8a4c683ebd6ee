package agent_test

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
)

type memLog struct {
	mu      sync.Mutex
	heads   map[string]*footnote.Stream
	events  map[string][]footnote.Event
	blobs   map[string][]byte
	lease   map[string]int64
	expires map[string]time.Time
	fail    error
}

func newMemLog() *memLog {
	return &memLog{heads: map[string]*footnote.Stream{}, events: map[string][]footnote.Event{}, blobs: map[string][]byte{}, lease: map[string]int64{}, expires: map[string]time.Time{}}
}

func (l *memLog) CreateAppend(ctx context.Context, s footnote.Stream, a footnote.Append) ([]footnote.Event, error) {
	l.mu.Lock()
	if l.fail != nil {
		l.mu.Unlock()
		return nil, l.fail
	}
	l.heads[s.ID] = &s
	l.mu.Unlock()
	return l.Append(ctx, a)
}
func (l *memLog) Get(_ context.Context, id string) (footnote.Stream, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.heads[id]; h != nil {
		return *h, nil
	}
	return footnote.Stream{}, footnote.Errorf(footnote.NotFound, "no")
}
func (l *memLog) Find(_ context.Context, org, user, kind, cid string) (footnote.Stream, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, h := range l.heads {
		if h.Org == org && h.User == user && h.ClientID == cid {
			return *h, nil
		}
	}
	return footnote.Stream{}, footnote.Errorf(footnote.NotFound, "no")
}
func (l *memLog) Append(_ context.Context, a footnote.Append) ([]footnote.Event, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fail != nil {
		return nil, l.fail
	}
	h := l.heads[a.Stream]
	if h.Last != a.After {
		return nil, footnote.Errorf(footnote.Conflict, "after %d, last %d", a.After, h.Last)
	}
	if a.Take != nil {
		if l.lease[a.Stream] != 0 && time.Now().Before(l.expires[a.Stream]) {
			return nil, footnote.Errorf(footnote.Conflict, "held")
		}
		l.lease[a.Stream] = a.After + 1
		l.expires[a.Stream] = time.Now().Add(a.Take.TTL)
	} else if l.lease[a.Stream] != a.Lease {
		return nil, footnote.Errorf(footnote.Conflict, "lease")
	}
	for d, b := range a.Blobs {
		l.blobs[d] = b
	}
	var out []footnote.Event
	for i, b := range a.Bodies {
		ev := footnote.Event{Stream: a.Stream, Seq: a.After + int64(i) + 1, Time: time.Now(), Run: a.Run, Body: b}
		out = append(out, ev)
		switch v := b.(type) {
		case footnote.RunStarted, footnote.RunResumed:
			h.Run, h.RunState, h.Deadline = a.Run, "running", time.Time{}
		case footnote.RunParked:
			h.RunState, h.Deadline = "parked", v.Deadline
		case footnote.RunFinished, footnote.RunFailed, footnote.RunStopped:
			h.Run, h.RunState, h.Deadline = "", "", time.Time{}
		}
	}
	l.events[a.Stream] = append(l.events[a.Stream], out...)
	h.Last += int64(len(out))
	if a.Release {
		l.lease[a.Stream] = 0
	}
	return out, nil
}
func (l *memLog) Events(_ context.Context, s string, after int64) iter.Seq2[footnote.Event, error] {
	l.mu.Lock()
	evs := append([]footnote.Event(nil), l.events[s]...)
	l.mu.Unlock()
	return func(yield func(footnote.Event, error) bool) {
		for _, ev := range evs {
			if ev.Seq > after && !yield(ev, nil) {
				return
			}
		}
	}
}
func (l *memLog) Blob(_ context.Context, _ string, d footnote.Digest) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b, ok := l.blobs[d]; ok {
		return b, nil
	}
	return nil, footnote.Errorf(footnote.NotFound, "no blob")
}
func (l *memLog) Renew(_ context.Context, s string, t int64, ttl time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lease[s] != t {
		return footnote.Errorf(footnote.Conflict, "lost")
	}
	l.expires[s] = time.Now().Add(ttl)
	return nil
}
func (l *memLog) Release(_ context.Context, s string, t int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lease[s] == t {
		l.lease[s] = 0
	}
	return nil
}
func (l *memLog) Unfinished(_ context.Context, now time.Time, _ int) ([]footnote.Stream, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []footnote.Stream
	for id, h := range l.heads {
		if h.RunState == "running" && (l.lease[id] == 0 || now.After(l.expires[id])) || h.RunState == "parked" && now.After(h.Deadline) {
			out = append(out, *h)
		}
	}
	return out, nil
}
