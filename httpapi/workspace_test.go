package httpapi_test

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/footnotehq/footnote/httpapi"
)

// oneFile is a workspace with the same file everywhere.
type oneFile struct{ httpapi.Workspaces }

func (oneFile) File(context.Context, string, string, string) ([]byte, error) {
	return []byte("<script>x</script>"), nil
}

// dated records whether writes have a deadline.
type dated struct {
	*httptest.ResponseRecorder
	until time.Time
}

func (d *dated) SetWriteDeadline(t time.Time) error { d.until = t; return nil }

// TestFileWriteDeadline checks that a client that requests a file and does not read it cannot block the
// server, and that a file is never rendered as a page.
func TestFileWriteDeadline(t *testing.T) {
	api, _ := newAPI(t, func(o *httpapi.Options) { o.Workspaces = oneFile{} })
	id := opened(t, api)
	w := &dated{ResponseRecorder: httptest.NewRecorder()}
	api.ServeHTTP(w, request("GET", "/api/conversations/"+id+"/workspace/file?path=a%22%0d%0ab.html", ""))
	if w.Code != 200 || w.until.IsZero() {
		t.Errorf("%d, deadline %v", w.Code, w.until)
	}
	h := w.Header()
	if got := h.Get("Content-Disposition"); got != `attachment; filename="a___b.html"` {
		t.Error(got)
	}
	if h.Get("Content-Type") != "text/plain; charset=utf-8" || h.Get("X-Content-Type-Options") != "nosniff" {
		t.Error(h)
	}
}
