package telemetry_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// received is a span that a collector received.
type received struct {
	Trace, ID, Parent string
	Name              string
	Kind              int
	Attributes        map[string]any // string, int64, float64, bool or []string
	Links             []string       // span ids
	Failed            bool
	Start, End        int64
	Resource          map[string]any
}

// otlpCollector is a collector of traces. It accepts OTLP over HTTP, in its JSON form, and keeps the spans it receives.
type otlpCollector struct {
	URL string

	mu      sync.Mutex // guards below
	spans   []received
	raw     strings.Builder
	headers http.Header
	busy    int // number of requests still to reject
	wrong   []string
}

// startCollector starts a collector that runs until the test ends.
func startCollector(tb testing.TB) *otlpCollector {
	tb.Helper()
	c := &otlpCollector{}
	s := httptest.NewServer(http.HandlerFunc(c.take))
	c.URL = s.URL
	tb.Cleanup(func() {
		s.Close()
		for _, w := range c.wrong {
			tb.Error(w)
		}
	})
	return c
}

// Refuse rejects the next n requests with 503.
func (c *otlpCollector) Refuse(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = n
}

// Spans returns all received spans, in order.
func (c *otlpCollector) Spans() []received {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.spans[:len(c.spans):len(c.spans)]
}

// Text returns everything received, unchanged.
func (c *otlpCollector) Text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.raw.String()
}

// Header returns the header of the newest request.
func (c *otlpCollector) Header() http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.headers
}

func (c *otlpCollector) take(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headers = r.Header
	if c.busy > 0 {
		c.busy--
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if err == nil {
		err = c.keep(r, body)
	}
	if err != nil {
		c.wrong = append(c.wrong, fmt.Sprintf("the collector was sent what it cannot read: %v: %.500s", err, body))
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, "{}")
}

type attributes []struct {
	Key   string
	Value struct {
		String *string  `json:"stringValue"`
		Int    *string  `json:"intValue"`
		Double *float64 `json:"doubleValue"`
		Bool   *bool    `json:"boolValue"`
		Array  *struct {
			Values []struct {
				String string `json:"stringValue"`
			}
		} `json:"arrayValue"`
	}
}

func (list attributes) plain() (map[string]any, error) {
	out := map[string]any{}
	for _, a := range list {
		v := a.Value
		switch {
		case v.String != nil:
			out[a.Key] = *v.String
		case v.Int != nil:
			n, err := strconv.ParseInt(*v.Int, 10, 64)
			if err != nil {
				return nil, err
			}
			out[a.Key] = n
		case v.Double != nil:
			out[a.Key] = *v.Double
		case v.Bool != nil:
			out[a.Key] = *v.Bool
		case v.Array != nil:
			words := []string{}
			for _, s := range v.Array.Values {
				words = append(words, s.String)
			}
			out[a.Key] = words
		default:
			return nil, fmt.Errorf("the attribute %s has no value", a.Key)
		}
	}
	return out, nil
}

func (c *otlpCollector) keep(r *http.Request, body []byte) error {
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/v1/traces") ||
		r.Header.Get("Content-Type") != "application/json" {
		return fmt.Errorf("%s %s, %s", r.Method, r.URL, r.Header.Get("Content-Type"))
	}
	var in struct {
		ResourceSpans []struct {
			Resource   struct{ Attributes attributes }
			ScopeSpans []struct {
				Spans []struct {
					TraceID           string
					SpanID            string
					ParentSpanID      string
					Name              string
					Kind              int
					StartTimeUnixNano string
					EndTimeUnixNano   string
					Attributes        attributes
					Links             []struct{ TraceID, SpanID string }
					Status            struct{ Code int }
				}
			}
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return err
	}
	c.raw.Write(body)
	for _, rs := range in.ResourceSpans {
		resource, err := rs.Resource.Attributes.plain()
		if err != nil {
			return err
		}
		for _, ss := range rs.ScopeSpans {
			for _, s := range ss.Spans {
				set, err := s.Attributes.plain()
				if err != nil {
					return err
				}
				out := received{
					Trace: s.TraceID, ID: s.SpanID, Parent: s.ParentSpanID, Name: s.Name, Kind: s.Kind, Attributes: set,
					Failed: s.Status.Code == 2, Resource: resource,
				}
				if out.Start, err = strconv.ParseInt(s.StartTimeUnixNano, 10, 64); err != nil {
					return err
				}
				if out.End, err = strconv.ParseInt(s.EndTimeUnixNano, 10, 64); err != nil || out.End < out.Start ||
					len(s.TraceID) != 32 || len(s.SpanID) != 16 {
					return fmt.Errorf("span %+v (%v)", s, err)
				}
				for _, l := range s.Links {
					out.Links = append(out.Links, l.SpanID)
				}
				c.spans = append(c.spans, out)
			}
		}
	}
	return nil
}
