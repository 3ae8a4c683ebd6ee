package warehouse

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
)

func newClient(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	c, err := NewClient(server.URL, nil, "hush")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// TestRetries checks that only requests that read are sent again.
func TestRetries(t *testing.T) {
	for method, want := range map[string]int32{http.MethodGet: tries, http.MethodPost: 1, http.MethodDelete: 1} {
		var n atomic.Int32
		c := newClient(t, func(w http.ResponseWriter, _ *http.Request) {
			n.Add(1)
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		status, err := c.JSON(t.Context(), Request{Method: method, Path: "/x"}, &struct{}{})
		if err != nil || status != http.StatusServiceUnavailable || n.Load() != want {
			t.Errorf("%s: %d requests, status %d, %v", method, n.Load(), status, err)
		}
	}
}

func TestAnswersAreBounded(t *testing.T) {
	c := newClient(t, func(w http.ResponseWriter, _ *http.Request) {
		part := []byte(strings.Repeat(" ", 1<<20))
		for range maxPage>>20 + 1 {
			if _, err := w.Write(part); err != nil {
				return
			}
		}
	})
	_, err := c.JSON(t.Context(), Request{Method: http.MethodPost}, &struct{}{})
	if bad, ok := errors.AsType[*source.Error](err); !ok || bad.Kind != source.Limited {
		t.Errorf("an answer that is too large: %v", err)
	}
}

func TestNotJSON(t *testing.T) {
	c := newClient(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>hush</html>")) })
	_, err := c.JSON(t.Context(), Request{Method: http.MethodGet}, &struct{}{})
	if footnote.CodeOf(err) != footnote.DatabaseUnavailable || strings.Contains(err.Error(), "hush") {
		t.Errorf("an answer that is no JSON: %v", err)
	}
}

// TestCause checks that a request ends with its context, for the context's reason.
func TestCause(t *testing.T) {
	why := errors.New("the user left")
	ctx, cancel := context.WithCancelCause(t.Context())
	c := newClient(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel(why)
		<-r.Context().Done()
	})
	begun := time.Now()
	_, err := c.JSON(ctx, Request{Method: http.MethodGet}, &struct{}{})
	if !errors.Is(err, why) || time.Since(begun) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(begun))
	}
}

func TestMessages(t *testing.T) {
	c := newClient(t, nil)
	for message, want := range map[string]string{
		"": "The database gave no reason.", " no \n": "no", "user:hush@host": "user:…@host", "\xff": "\uFFFD",
	} {
		if got := c.Clean(message); got != want {
			t.Errorf("%q: %q, want %q", message, got, want)
		}
	}
	if got := c.Clean(strings.Repeat("x", 2*maxMessage)); len(got) > maxMessage+len("…") {
		t.Errorf("a message has %d bytes", len(got))
	}
}

func TestCells(t *testing.T) {
	for _, tc := range []struct {
		kind, text string
		want       any
	}{
		{footnote.KindInteger, "9223372036854775807", int64(9223372036854775807)},
		{footnote.KindInteger, "18446744073709551615", "18446744073709551615"}, {footnote.KindNumber, "NaN", nil},
		{footnote.KindNumber, "0.1", 0.1}, {footnote.KindNumber, "-inf", nil}, {footnote.KindDecimal, "1.10", "1.10"},
		{footnote.KindBoolean, "TRUE", true},
		{footnote.KindTimestamp, "2024-05-17 18:45:00.500", "2024-05-17T18:45:00.5"},
		{footnote.KindTimestamp, "2024-05-17 18:45:00.000 UTC", "2024-05-17T18:45:00Z"},
		{footnote.KindTimestamp, "2024-05-17T18:45:00.000Z", "2024-05-17T18:45:00Z"},
		{footnote.KindBlob, "AAEC", "blob, 3 bytes"}, {footnote.KindBlob, "AAE=", "blob, 2 bytes"},
		{footnote.KindText, "\xff", "\uFFFD"},
	} {
		if got := cell(tc.kind, tc.text); got != tc.want {
			t.Errorf("%s %q: %#v, want %#v", tc.kind, tc.text, got, tc.want)
		}
	}
}

func TestAddresses(t *testing.T) {
	const example = "x://user@host/db"
	for _, address := range []string{
		"x://user:hush@host/db?readOnly=true", "x://user:hush@host/db?tls=true&tls=false", "x://user:hu%ZZsh@host/db",
		"x:user:hush@host", "x://user:hush@/db", "x://user:hush@host/db#x", "x://user:hush@host/db?a;b",
	} {
		_, err := ParseAddress("shop", address, example, "tls")
		if footnote.CodeOf(err) != footnote.InvalidRequest || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v", address, err)
		}
	}
	a, err := ParseAddress("shop", "x://user:hush@host/a/b?tls=maybe", example, "tls")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Base("1"); err == nil {
		t.Error("tls=maybe was accepted")
	}
	if _, ok := a.Parts(1); ok {
		t.Error("two parts are taken for one")
	}
}
