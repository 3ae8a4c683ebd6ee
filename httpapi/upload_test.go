package httpapi_test

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/httpapi"
)

// receiver accepts uploads and reads them to the end.
type receiver struct {
	httpapi.Data
	size int64 // largest upload; 0: 1 MB
}

func (r receiver) Uploads() (int64, bool) { return cmp.Or(r.size, 1<<20), true }

func (receiver) Add(_ context.Context, _ footnote.Principal, name string,
	content io.Reader) (httpapi.SourceInfo, error) {
	_, err := io.Copy(io.Discard, content)
	return httpapi.SourceInfo{Name: "got"}, err
}

// TestBadForms checks that an invalid upload form is reported as the client's error, with a clear message.
func TestBadForms(t *testing.T) {
	api, _ := newAPI(t, func(o *httpapi.Options) { o.Data = receiver{} })
	const head = "--X\r\nContent-Disposition: form-data; name=\"file\"; filename=\"NAME\"\r\n\r\n"
	for name, test := range map[string]struct {
		body string
		want int
	}{
		"plain":             {strings.Replace(head, "NAME", "a.csv", 1) + "x\r\n--X--\r\n", 201},
		"control character": {strings.Replace(head, "NAME", "a\x01b.csv", 1) + "x\r\n--X--\r\n", 400},
		"NUL":               {strings.Replace(head, "NAME", "a\x00b.csv", 1) + "x\r\n--X--\r\n", 400},
		"DEL":               {strings.Replace(head, "NAME", "a.csv\x7f", 1) + "x\r\n--X--\r\n", 400},
		"line break":        {strings.Replace(head, "NAME", "a\nb.csv", 1) + "x\r\n--X--\r\n", 400},
		"control in a header": {
			"--X\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\nX-Y: " +
				"\x02\r\n\r\nx\r\n--X--\r\n", 400,
		},
		"no header":   {"--X\r\nnonsense\r\n\r\nx\r\n--X--\r\n", 400},
		"no end":      {strings.Replace(head, "NAME", "a.csv", 1) + "x", 400},
		"damaged end": {strings.Replace(head, "NAME", "a.csv", 1) + "x\r\n--X\x01\r\n", 400},
		"long name": {
			"--X\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" + strings.Repeat("x", 100_000) +
				".csv\"\r\n\r\nx\r\n--X--\r\n", 201,
		},
	} {
		r := request(http.MethodPost, "/api/sources", test.body)
		r.Header.Set("Content-Type", "multipart/form-data; boundary=X")
		w := do(api, r)
		if w.Code != test.want || w.Code == 400 && !strings.Contains(w.Body.String(), `"invalid_request"`) {
			t.Errorf("%s: %d %s, want %d", name, w.Code, w.Body, test.want)
		}
	}
}
