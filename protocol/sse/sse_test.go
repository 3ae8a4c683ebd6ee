package sse_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footnotehq/footnote/protocol/sse"
)

func TestStart(t *testing.T) {
	w := httptest.NewRecorder()
	s, err := sse.Start(w, http.StatusOK, []byte("data: 1\n\n"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Write([]byte("data: 2\n\n")), s.Write(nil), s.Ping()); err != nil {
		t.Fatal(err)
	}
	if got, want := w.Body.String(), "data: 1\n\ndata: 2\n\n: ping\n\n"; got != want {
		t.Errorf("body = %q, want %q", got, want)
	}
	for name, want := range map[string]string{
		"Content-Type":      "text/event-stream",
		"Cache-Control":     "no-cache, no-transform",
		"X-Accel-Buffering": "no",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
}

func TestStartWithoutFrames(t *testing.T) {
	w := httptest.NewRecorder()
	if _, err := sse.Start(w, http.StatusOK, nil); err != nil {
		t.Fatal(err)
	}
	if got := w.Body.String(); got != ": ping\n\n" || !w.Flushed {
		t.Errorf("body = %q, flushed = %v", got, w.Flushed)
	}
}

// opaque hides everything except the three methods of a ResponseWriter.
type opaque struct{ http.ResponseWriter }

// wrapper implements Unwrap.
type wrapper struct{ http.ResponseWriter }

func (w wrapper) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func TestWrappers(t *testing.T) {
	rec := httptest.NewRecorder()
	if _, err := sse.Start(opaque{rec}, http.StatusOK, nil); !errors.Is(err, sse.ErrUnsupported) {
		t.Errorf("Start behind an opaque wrapper = %v, want ErrUnsupported", err)
	}
	if rec.Body.Len() > 0 || len(rec.Header()) > 0 {
		t.Error("something was written although the response cannot stream")
	}
	if _, err := sse.Start(wrapper{rec}, http.StatusOK, nil); err != nil {
		t.Errorf("Start behind a wrapper with Unwrap: %v", err)
	}
}

// deadlines records the deadlines that are set.
type deadlines struct {
	*httptest.ResponseRecorder
	set []time.Time
}

func (d *deadlines) SetWriteDeadline(at time.Time) error {
	d.set = append(d.set, at)
	return nil
}

func TestDeadlineMovesAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		s, err := sse.Start(w, http.StatusOK, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 12 {
			time.Sleep(time.Second)
			if err := s.Write([]byte("data: x\n\n")); err != nil {
				t.Fatal(err)
			}
		}
		if len(w.set) != 3 {
			t.Fatalf("the deadline was set %d times in 12 seconds, want 3", len(w.set))
		}
		for i, at := range w.set {
			if want := begin.Add(time.Duration(i)*5*time.Second + 30*time.Second); !at.Equal(want) {
				t.Errorf("deadline %d = %v after the start, want %v", i, at.Sub(begin), want.Sub(begin))
			}
		}
		time.Sleep(7 * time.Second)
		if got := s.Idle(); got != 7*time.Second {
			t.Errorf("Idle = %v, want 7s", got)
		}
	})
}

func TestOverTheWire(t *testing.T) {
	release := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, err := sse.Start(w, http.StatusOK, []byte("data: first\n\n"))
		if err != nil {
			t.Error(err)
			return
		}
		<-release
		_ = s.Write([]byte("data: second\n\n"))
	}))
	defer srv.Close()
	resp, err := srv.Client().Get(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	first := make([]byte, len("data: first\n\n"))
	if _, err := io.ReadFull(resp.Body, first); err != nil || string(first) != "data: first\n\n" {
		t.Fatalf("first frame %q, %v: it must arrive before the handler continues", first, err)
	}
	close(release)
	rest, err := io.ReadAll(resp.Body)
	if err != nil || string(rest) != "data: second\n\n" {
		t.Errorf("rest = %q, %v", rest, err)
	}
}

func TestAppendEvent(t *testing.T) {
	got := string(sse.AppendEvent(nil, "run_started", "conv_1.7", []byte(`{"a":1}`)))
	if want := "id: conv_1.7\nevent: run_started\ndata: {\"a\":1}\n\n"; got != want {
		t.Errorf("AppendEvent = %q, want %q", got, want)
	}
	got = string(sse.AppendEvent(nil, "delta", "", []byte(`{}`)))
	if want := "event: delta\ndata: {}\n\n"; got != want {
		t.Errorf("AppendEvent without an id = %q, want %q", got, want)
	}
}
